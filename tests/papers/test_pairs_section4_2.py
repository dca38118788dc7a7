"""Schiper, Eggli, Sandoz, section 4.2: the algorithm, its example and its bounds."""

from collections.abc import Sequence
from typing import Any

import pytest

from antecede.errors import MalformedStamp
from antecede.explore import explore
from antecede.message import Membership, Message, MessageId
from antecede.order import Effect, Order, Packet
from antecede.orders._counting import Condition
from antecede.orders.pairs import OrderingBuffers, Pairs, PairsOptions, State
from antecede.vectortime import behind, precedes
from tests.mutants import mutants_of, mutated
from tests.papers.harness import Early, Network, early, late, run, team, traffic, undelivered

OPTIONS = [
    {"tick_on_delivery": tick, "delete_obsolete": delete}
    for tick in (False, True)
    for delete in (False, True)
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


class Watched(OrderingBuffers):
    """`pairs` that checks after every event what the paper says of every state."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = super().send(message, now)
        self.watch()
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        effects = super().receive(packet, now)
        self.watch()
        return effects

    def watch(self) -> None:
        buffer = self.state.buffer
        for site, vector in buffer.items():
            assert site != self.process
            assert precedes(vector, self.state.time), "lemma 2"
        assert len(buffer) <= self.membership.size - 1
        assert self.entries() <= self.entries_bound()


def _mutants(size: int, name: str) -> list[Order]:
    [mutant] = [mutant for mutant in mutants_of("pairs") if mutant.name == name]
    order = mutated("pairs", mutant)
    return [order(process, Membership(size)) for process in range(size)]


def _states(orders: Sequence[Order]) -> list[State]:
    return [order.state for order in orders]


@every_option
@pytest.mark.parametrize("fanout", [1, None], ids=["unicast", "multicast"])
def test_lemma_2_the_bound_and_the_theorems_on_random_runs(
    options: dict[str, Any], fanout: int | None
) -> None:
    """Safety and liveness (4.2.5), no needless wait, and after every event lemma 2 and the bound of
    N − 1 pairs."""
    for seed in range(40):
        size = 2 + seed % 5
        orders = [
            Watched(process, Membership(size), PairsOptions(**options)) for process in range(size)
        ]
        program = traffic(size, 25, seed, min(fanout, size - 1) if fanout else None)
        history = run(orders, program, seed, duplicate=0.2)
        assert early(history) == []
        assert undelivered(history) == []
        assert late(history) == []
        for flight in history.flights:
            assert len(flight.packet.stamp.pairs) <= size - 1
            assert flight.packet.stamp.entries() <= orders[0].entries_bound()


@every_option
@pytest.mark.parametrize(("messages", "addressing"), [(4, "unicast"), (3, "sets")])
def test_4_2_5_safety_and_liveness_in_all_schedules_of_three_sites(
    options: dict[str, bool], messages: int, addressing: str
) -> None:
    exploration = explore("pairs", 3, messages, addressing=addressing, options=options)
    assert exploration.failure is None
    assert exploration.passed


def test_4_2_1_the_pair_of_a_message_is_inserted_after_it_is_sent() -> None:
    network = Network(team("pairs", 3))
    network.send(0, 1)
    assert network.in_flight[0].packet.stamp.pairs == ()
    assert network.orders[0].state.buffer == {1: (1, 0, 0)}
    network.send(0, 1)
    assert network.in_flight[1].packet.stamp.pairs == ((1, (1, 0, 0)),)
    assert network.orders[0].state.buffer == {1: (2, 0, 0)}  # the older pair is discarded


def test_4_2_1_messages_of_one_sender_keep_order_on_channels_that_do_not() -> None:
    network = Network(team("pairs", 2))
    first, second = network.send(0, 1), network.send(0, 1)
    network.bring(second, 1)
    assert network.history.deliveries(1) == []
    network.bring(first, 1)
    assert network.history.deliveries(1) == ["0:1", "0:2"]


def test_4_2_1_each_copy_of_a_multicast_carries_the_pairs_of_the_other_destinations() -> None:
    network = Network(team("pairs", 4))
    network.send(0, 1)
    network.send(0, 0, 1, 2, 3)
    copies = [network.find(to, message=None).packet.stamp.pairs for to in (2, 3)]
    assert copies == [((1, ()), (3, ())), ((1, ()), (2, ()))]
    # and of its own destination only what was there before
    assert network.in_flight[1].packet.stamp.pairs == ((1, (1, 0, 0, 0)), (2, ()), (3, ()))


def test_4_2_1_without_the_pairs_of_the_other_destinations_an_answer_overtakes() -> None:
    network = Network(_mutants(3, "other-destinations-not-told"))
    question = network.send(2, 0, 1)
    network.bring(question, 1)
    answer = network.send(1, 0)
    network.bring(answer, 0)
    assert early(network.history) == [Early(0, question, answer)]


def test_4_2_1_stamped_before_the_tick_the_second_message_overtakes_the_first() -> None:
    network = Network(_mutants(2, "stamp-before-tick"))
    first, second = network.send(0, 1), network.send(0, 1)
    network.bring(second, 1)
    assert early(network.history) == [Early(1, first, second)]


class Strict(OrderingBuffers):
    """4.2.2 with a "<" that excludes equality."""

    def unmet(self, packet: Packet[Any]) -> Condition | None:
        lagging = dict(packet.stamp.pairs).get(self.process)
        missing = super().unmet(packet)
        if lagging is None or missing is not None:
            return missing
        is_equal = behind(packet.stamp.time, lagging) == tuple(self.state.time)
        return (self.process, self.state.time[self.process] + 1) if is_equal else None


@pytest.mark.parametrize(
    ("tick_on_delivery", "delivered"), [(False, ["0:1"]), (True, ["0:1", "0:2"])]
)
def test_4_2_2_a_strict_comparison_deadlocks_unless_deliveries_tick(
    tick_on_delivery: bool, delivered: list[str]
) -> None:
    options = PairsOptions(tick_on_delivery=tick_on_delivery)
    network = Network([Strict(process, Membership(2), options) for process in range(2)])
    network.send(0, 1)
    network.send(0, 1)
    network.settle()
    assert network.history.deliveries(1) == delivered


def test_4_2_2_pairs_for_the_same_site_merge_to_their_supremum() -> None:
    network = Network(team("pairs", 4))
    for sender in (0, 1):
        network.send(sender, 3)
        network.bring(network.send(sender, 2), 2)
    assert network.orders[2].state.buffer == {3: (1, 1, 0, 0)}


def test_4_2_2_the_own_pair_is_not_merged() -> None:
    network = Network(team("pairs", 3))
    first, second = network.send(0, 1), network.send(0, 1)
    network.bring(first, 1)
    network.bring(second, 1)
    assert network.orders[1].state.buffer == {}


def test_4_2_3_figure_5_step_by_step() -> None:
    """The figure's arrows are completed from the text: S1 sends M1, M2, M3 to S3, S2, S4; S2 sends
    M4, M5 to S3, S4 after M2; S4 sends M6 to S3 after M3 and M5, which are concurrent. Everything
    reaches S3 in the wrong order. Sites are counted from 0 here; clocks tick as printed."""
    orders = team("pairs", 4, tick_on_delivery=True)
    network = Network(orders)
    s1, s2, s3, s4 = _states(orders)

    m1, m2, m3 = network.send(0, 2), network.send(0, 1), network.send(0, 3)
    assert s1.time == [3, 0, 0, 0]
    assert s1.buffer == {2: (1, 0, 0, 0), 1: (2, 0, 0, 0), 3: (3, 0, 0, 0)}

    network.bring(m2, 1)
    assert s2.time == [2, 1, 0, 0]
    assert s2.buffer == {2: (1, 0, 0, 0)}
    m4, m5 = network.send(1, 2), network.send(1, 3)
    assert s2.buffer == {2: (2, 2, 0, 0), 3: (2, 3, 0, 0)}

    network.bring(m5, 3)  # concurrent with M3: delivered in the order of arrival
    assert s4.time == [2, 3, 0, 1]
    network.bring(m3, 3)
    assert s4.time == [3, 3, 0, 2]
    assert s4.buffer == {1: (2, 0, 0, 0), 2: (2, 2, 0, 0)}
    m6 = network.send(3, 2)

    network.bring(m6, 2)
    network.bring(m4, 2)
    assert s3.time == [0, 0, 0, 0]
    assert [str(held.message) for held in orders[2].held()] == [str(m4), str(m6)]
    assert [awaited.sentence() for awaited in orders[2].held()[1].awaited] == [
        "a message that knows of time 2 of process 0",
        "a message that knows of time 2 of process 1",
    ]
    network.bring(m1, 2)
    assert network.history.deliveries(2) == [str(m1), str(m4), str(m6)]
    assert s3.time == [3, 3, 3, 3]
    assert early(network.history) == []


def test_4_2_3_figure_5_the_time_of_the_first_delivery_at_s3() -> None:
    """<1,0,1,0>: the time that the figure shows where M1 is delivered."""
    network = Network(team("pairs", 4, tick_on_delivery=True))
    network.bring(network.send(0, 2), 2)
    assert network.orders[2].state.time == [1, 0, 1, 0]


def test_4_2_4_a_message_from_a_site_that_has_reached_its_pair_deletes_it() -> None:
    for delete, buffer in ((True, {}), (False, {1: (1, 0)})):
        network = Network(team("pairs", 2, delete_obsolete=delete))
        network.bring(network.send(0, 1), 1)
        network.bring(network.send(1, 0), 0)
        assert network.orders[0].state.buffer == buffer


def test_4_2_4_a_pair_that_is_not_reached_stays() -> None:
    network = Network(team("pairs", 2))
    first = network.send(0, 1)
    network.bring(network.send(1, 0), 0)  # sent without knowledge of the first
    second = network.send(0, 1)
    network.bring(second, 1)
    assert network.history.deliveries(1) == []
    network.bring(first, 1)
    assert network.history.deliveries(1) == [str(first), str(second)]


def test_4_2_4_deletion_makes_stamps_smaller() -> None:
    program = traffic(8, 300, seed=1, fanout=1)
    entries = []
    for delete in (False, True):
        history = run(team("pairs", 8, delete_obsolete=delete), program, seed=1)
        entries.append(sum(flight.packet.stamp.entries() for flight in history.flights))
    assert entries[1] < entries[0]


@pytest.mark.parametrize("tick_on_delivery", [False, True])
def test_4_2_5_the_step_of_the_liveness_proof_that_does_not_hold(tick_on_delivery: bool) -> None:
    """The proof takes the event VT[i] of an unfulfilled pair (S, VT) for an emission to S. Here
    event 1 of site 0 in the pair for site 2 is an emission to site 1; the message is delivered all
    the same once the one it depends on is."""
    orders = team("pairs", 3, tick_on_delivery=tick_on_delivery)
    network = Network(orders)
    network.bring(network.send(0, 1), 1)
    first, second = network.send(1, 2), network.send(1, 2)
    network.bring(second, 2)
    [held] = orders[2].held()
    assert (0, 1) in [(awaited.process, awaited.count) for awaited in held.awaited]
    network.bring(first, 2)
    assert network.history.deliveries(2) == [str(first), str(second)]


def test_the_numbers_of_a_run_stay_smaller_when_deliveries_do_not_tick() -> None:
    program = traffic(6, 200, seed=3, fanout=1)
    largest = []
    for tick in (True, False):
        orders = team("pairs", 6, tick_on_delivery=tick)
        run(orders, program, seed=3)
        largest.append(max(max(state.time) for state in _states(orders)))
    assert largest[1] < largest[0]


@pytest.mark.parametrize(
    ("time", "pairs", "field"),
    [
        ((1, 0), (), "time"),
        ((0, 0, 0), (), "time"),  # does not count the send itself
        ((1, 1, 0), (), "time"),  # the receiver has done nothing yet
        ((2, 0, 0), ((0, (1, 0, 0)),), "pairs[0]"),  # a pair for the sender
        ((2, 0, 0), ((3, (1, 0, 0)),), "pairs[0]"),  # there is no such site
        ((2, 0, 0), ((2, ()), (2, ())), "pairs[1]"),
        ((2, 0, 0), ((2, ()), (1, (1, 0, 0))), "pairs[1]"),
        ((2, 0, 0), ((2, (1, 0)),), "pairs[0]"),
        ((2, 0, 0), ((2, (3, 0, 0)),), "pairs[0]"),  # a time below zero
        ((2, 0, 0), ((1, ()),), "pairs[0]"),  # the message would wait for itself
        ((2, 0, 1), ((1, (0, 0, 1)),), "pairs[0]"),
    ],
)
def test_a_stamp_that_cannot_be_right_is_refused_and_changes_nothing(
    time: tuple[int, ...], pairs: tuple[tuple[int, tuple[int, ...]], ...], field: str
) -> None:
    order = OrderingBuffers(1, Membership(3))
    before = order.snapshot()
    message = Message(MessageId(0, 1), 0b110)
    with pytest.raises(MalformedStamp) as refusal:
        order.receive(Packet(0, message, Pairs(time, pairs)))
    assert refusal.value.field == field
    assert order.snapshot() == before
