"""Sanchez and Alvarez, section 3: what the text leaves open, with counterexamples."""

import pytest

from antecede.errors import Misuse
from antecede.explore import Flaw, explore
from antecede.message import Membership, MessageId
from antecede.order import Effect, Order
from antecede.orders.bounded import Bounded, BoundedOptions
from tests.mutants import Mutant, mutants_of, mutated
from tests.papers.harness import Early, Network, early, run, team, traffic


def columns(order: Order) -> list[list[int]]:
    """The rows of the non-zero entries of each column."""
    return [sorted(column) for column in order.state.M]


class Endless(Exception):
    """Fifty extra messages in one step."""


class Unchecked(Bounded):
    """Takes any k, and gives up after fifty extra messages in one step."""

    def insist(self, k: int) -> None:
        self.k = k
        self.patience = 50

    def _clear_column(self, destination: int) -> None:
        self.patience -= 1
        if not self.patience:
            raise Endless
        super()._clear_column(destination)


def test_k_of_n_minus_1_never_stops_sending() -> None:
    orders = [Unchecked(process, Membership(4)) for process in range(4)]
    orders[0].insist(3)
    net = Network(orders)
    net.send(0, 1)
    net.send(0, 2)
    with pytest.raises(Endless):
        net.send(0, 3)  # three entries, one in each column: none can be spared
    with pytest.raises(Misuse, match="from 4 to 16"):
        team("bounded", 4, k=3)


def test_k_of_n_is_enough() -> None:
    net = Network(team("bounded", 4, k=4))
    for destination in (1, 2, 3):
        net.send(0, destination)
    assert net.orders[0].entries() == net.orders[0].entries_bound() == 3
    assert all(flight.packet.message for flight in net.history.flights)


class Peaking(Bounded):
    """Remembers the largest matrix it had within a step."""

    peak = 0

    def _insert_extra_messages(self) -> list[Effect]:
        self.peak = max(self.peak, self.entries())
        return super()._insert_extra_messages()


@pytest.mark.parametrize("size", [3, 4, 5, 8])
def test_one_delivery_may_cause_n_minus_2_extra_messages(size: int) -> None:
    orders = [Peaking(p, Membership(size), BoundedOptions(k=size)) for p in range(size)]
    net = Network(orders)
    for destination in range(1, size):
        net.send(0, destination)
    for destination in range(2, size):
        net.send(1, destination)
    before = len(net.history.flights)
    net.bring(net.send(1, 0), 0)
    extra = net.history.flights[before + 1 :]
    assert [(f.packet.source, f.packet.message) for f in extra] == [(0, None)] * (size - 2)
    assert orders[0].peak == (size - 1) + (size - 2)  # k - 1 before, and all that arrived
    assert orders[0].entries() == orders[0].entries_bound() == size - 1


def test_a_multicast_peaks_higher() -> None:
    """Found at random: five processes, two destinations a message, k = n."""
    orders = [Peaking(p, Membership(5), BoundedOptions(k=5)) for p in range(5)]
    run(orders, traffic(5, 40, 182, 2), 182)
    assert max(order.peak for order in orders) == 2 * (5 - 1) + 1


def test_a_matrix_peaks_at_twice_its_bound() -> None:
    orders = [Peaking(p, Membership(4), BoundedOptions(k=4)) for p in range(4)]
    net = Network(orders)
    net.send(1, 2)
    net.send(3, 2)
    net.bring(net.send(3, 1), 1)
    net.send(1, 3)
    net.bring(net.send(3, 0), 0)
    net.send(0, 2)
    net.send(2, 1)
    net.bring(net.send(2, 0), 0)
    assert columns(net.orders[0]) == [[], [2, 3], [0], []]
    net.bring(net.send(1, 0), 0)
    assert orders[0].peak == 2 * orders[0].entries_bound() == 6
    assert orders[0].entries() == 3


def test_merging_brings_back_what_a_send_had_cleared() -> None:
    net = Network(team("bounded", 3, k=9))
    net.send(0, 2)
    net.bring(net.send(0, 1), 1)
    net.send(1, 2)
    assert columns(net.orders[1])[2] == [1]
    net.bring(net.send(0, 1), 1)
    assert columns(net.orders[1])[2] == [0, 1]  # although 1:1 stands for it


def two_destinations(orders: list[Order]) -> Network:
    """0 sends a to 1 and 2; 1 delivers it and sends b to 2; b reaches 2 before a."""
    net = Network(orders)
    a = net.send(0, 1, 2)
    net.bring(a, 1)
    net.bring(net.send(1, 2), 2)
    net.bring(a, 2)
    return net


def test_a_copy_that_does_not_tell_of_the_other_copies_is_overtaken() -> None:
    (mutant,) = [m for m in mutants_of("bounded") if m.name == "other-destinations-untold"]
    order = mutated("bounded", mutant)
    net = two_destinations([order(process, Membership(3)) for process in range(3)])
    assert net.history.deliveries(2) == ["1:1", "0:1"]
    assert early(net.history) == [Early(2, MessageId(0, 1), MessageId(1, 1))]


def test_a_copy_tells_of_the_other_copies() -> None:
    net = two_destinations(team("bounded", 3))
    assert net.history.deliveries(2) == ["0:1", "1:1"]


def test_a_copy_to_several_exceeds_the_bound_by_the_others() -> None:
    net = Network(team("bounded", 4, k=4))
    net.send(0, 3)
    for sender in (1, 2):
        net.send(sender, 3)
        net.bring(net.send(sender, 0), 0)
    assert columns(net.orders[0]) == [[], [], [], [0, 1, 2]]
    copies = net.send(0, 1, 2)
    sizes = [net.find(to, 0, copies).packet.stamp.entries() for to in (1, 2)]
    assert net.orders[0].entries_bound() == 3
    assert sizes == [4, 4]


def test_a_message_to_oneself_is_delivered_at_once_and_not_counted() -> None:
    net = Network(team("bounded", 2))
    net.send(0, 0)
    net.send(0, 0, 1)
    assert net.history.deliveries(0) == ["0:1", "0:2"]
    assert columns(net.orders[0]) == [[], [0]]


@pytest.mark.parametrize(
    "mutant",
    [
        Mutant(
            name="extra-message-without-number",
            old="self._clear_column(fullest)",
            new="M[fullest] = {self.process: M[fullest].get(self.process, 0)}",
        ),
        Mutant(
            name="column-cleared-but-not-sent",
            old="_triples([(fullest, M[fullest])])",
            new="_triples([(fullest, {i: c for i, c in M[fullest].items() if i == self.process})])",
        ),
    ],
    ids=lambda mutant: mutant.name,
)
def test_bugs_of_the_extra_messages_are_found(mutant: Mutant) -> None:
    """An extra message must take a number and carry the column that it clears."""
    order = mutated("bounded", mutant)

    def planted(process: int, membership: Membership) -> Order:
        return order(process, membership, BoundedOptions(k=membership.size))

    found = explore(planted, 3, 4, addressing="sets")
    assert found.failure is not None
    assert found.failure.kind is Flaw.EARLY
