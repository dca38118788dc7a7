"""Sanchez and Alvarez, section 4: the propositions, lemmas and theorems."""

from itertools import product
from typing import Any

import pytest

from antecede.explore import explore
from antecede.message import Membership, Message
from antecede.order import Deliver, Effect, Packet
from antecede.orders.bounded import Bounded, BoundedOptions, Constraints
from tests.papers.harness import early, run, team, traffic, undelivered

Matrix = list[dict[int, int]]
"""By columns, without the zeros."""
Claim = tuple[str, Matrix, Matrix]
"""Wherever the constraints of the first matrix hold from now on, those of the second do."""


def copied(columns: Matrix) -> Matrix:
    return [dict(column) for column in columns]


def unpacked(stamp: Constraints, size: int) -> Matrix:
    columns: Matrix = [{} for _ in range(size)]
    for i, j, count in stamp.triples:
        columns[j][i] = count
    return columns


class Claiming(Bounded):
    """Makes the claims of lemmas 2 and 3 at every event, and checks all claims of all processes."""

    claims: list[Claim]
    everyone: list["Claiming"]

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        before = copied(self.state.M)
        effects = super().send(message, now)
        self.claims.append(("lemma 2", copied(self.state.M), before))
        self.check_claims()
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        before = copied(self.state.M)
        effects = super().receive(packet, now)
        after = copied(self.state.M)
        self.claims.append(("lemma 2", after, before))
        if any(isinstance(effect, Deliver) for effect in effects[:1]):
            carried = unpacked(packet.stamp, self.membership.size)
            self.claims.append(("lemma 3", after, carried))
        self.check_claims()
        return effects

    def satisfies(self, columns: Matrix) -> bool:
        column = columns[self.process]
        return all(self.state.DELIV[i] >= count for i, count in column.items())

    def check_claims(self) -> None:
        for order in self.everyone:
            for name, stronger, weaker in self.claims:
                assert order.satisfies(weaker) or not order.satisfies(stronger), name


@pytest.mark.parametrize(("k", "fanout"), list(product([4, 5, 8, 16], [1, None])))
def test_lemmas_2_and_3_constraints_never_weaken(k: int, fanout: int | None) -> None:
    for seed in range(4):
        orders = [Claiming(p, Membership(4), BoundedOptions(k=k)) for p in range(4)]
        claims: list[Claim] = []
        for order in orders:
            order.claims, order.everyone = claims, orders
        run(orders, traffic(4, 25, seed, fanout), seed)
        assert {name for name, _, _ in claims} == {"lemma 2", "lemma 3"}


def test_lemma_3_a_single_destination_gets_the_matrix_before_the_send() -> None:
    class Compared(Bounded):
        def send(self, message: Message, now: float = 0.0) -> list[Effect]:
            before = copied(self.state.M)
            effects = super().send(message, now)
            assert unpacked(effects[0].packet.stamp, 4) == before  # type: ignore[union-attr]
            return effects

    for seed in range(5):
        orders = [Compared(p, Membership(4)) for p in range(4)]
        run(orders, traffic(4, 25, seed, fanout=1), seed)


def test_proposition_5_deliv_counts_the_packets_of_a_sender_in_order() -> None:
    """The n-th packet from i to j is delivered when DELIV[i] becomes n, extra messages included."""
    for seed in range(5):
        orders = team("bounded", 4, k=4)
        history = run(orders, traffic(4, 30, seed), seed)
        for i, j in product(range(4), repeat=2):
            packets = [f for f in history.flights if (f.packet.source, f.to) == (i, j)]
            assert orders[j].state.DELIV[i] == len(packets)


THRESHOLDS = {"n": 3, "n+1": 4, "2n": 6, "n²": 9, "one each": [3, 4, 9]}


@pytest.mark.parametrize("k", THRESHOLDS.values(), ids=list(THRESHOLDS))
def test_theorems_4_and_6_in_all_schedules(k: Any) -> None:
    found = explore("bounded", 3, 4, addressing="unicast", options={"k": k}, symmetry=False)
    assert found.passed
    found = explore("bounded", 3, 3, addressing="sets", options={"k": k})
    assert found.passed


@pytest.mark.parametrize("fanout", [1, 2, None])
@pytest.mark.parametrize("k", [5, 6, 10, 25, [5, 25, 6, 24, 10]])
def test_theorems_4_and_6_by_chance(k: Any, fanout: int | None) -> None:
    for seed in range(6):
        history = run(team("bounded", 5, k=k), traffic(5, 40, seed, fanout), seed, duplicate=0.1)
        assert early(history) == []
        assert undelivered(history) == []


@pytest.mark.parametrize("fanout", [1, None])
@pytest.mark.parametrize("size", [2, 3, 5, 7])
def test_the_matrix_is_within_its_bound_after_every_event(size: int, fanout: int | None) -> None:
    class Measured(Bounded):
        def send(self, message: Message, now: float = 0.0) -> list[Effect]:
            effects = super().send(message, now)
            assert self.entries() <= self.entries_bound() == self.k - 1
            return effects

        def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
            effects = super().receive(packet, now)
            assert self.entries() <= self.entries_bound()
            return effects

    for k in sorted({size, size + 1, 2 * size, size**2}):
        for seed in range(3):
            orders = [Measured(p, Membership(size), BoundedOptions(k=k)) for p in range(size)]
            history = run(orders, traffic(size, 40, seed, fanout), seed)
            extra = [flight for flight in history.flights if flight.packet.message is None]
            assert max(flight.packet.stamp.entries() for flight in history.flights) < k + size
            assert not extra or k < size**2


def test_a_larger_k_needs_fewer_extra_messages() -> None:
    """Section 5, the first question, in small."""
    extra = []
    for k in (8, 9, 16, 32, 64):
        history = run(team("bounded", 8, k=k), traffic(8, 150, 1, fanout=1), 1)
        extra.append(sum(flight.packet.message is None for flight in history.flights))
    assert extra == sorted(extra, reverse=True)
    assert extra[0] > extra[2] > extra[-1] == 0
