"""The judge sees every kind of failure, and excuses what has to be excused."""

import re
from typing import Any

import pytest

from antecede.errors import BrokenInvariant
from antecede.fuzzing.judging import judge
from antecede.message import Membership, Message, MessageId, process_set
from antecede.order import Deliver, Effect, Options, Order, Packet, Transmit
from antecede.orders.blocks_slow import BlocksSlow, SlowOptions
from antecede.orders.fifo import Fifo
from antecede.orders.none import Unordered
from antecede.orders.vector import Vector
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.books import Books
from antecede.simulate.duty import Duty
from antecede.simulate.excuses import Excuses
from antecede.simulate.judgement import early, undelivered

SMALL = {"processes": 3, "messages": 30, "rate": 100.0}


def scenario(protocol: str, **fields: object) -> Scenario:
    return make_scenario({"protocol": protocol, **SMALL, **fields})


class Careless(Unordered):
    """Says that it keeps causal order, and does not."""

    traits = Vector.traits


class Forgetful(Unordered):
    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        effects = super().receive(packet, now)
        is_forgotten = packet.message is not None and packet.message.id == (0, 2)
        return [] if is_forgotten and self.process == 1 else effects


class Selfless(Unordered):
    """Forgets to deliver to itself."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [one for one in super().send(message, now) if not isinstance(one, Deliver)]


class Raising(Unordered):
    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        raise BrokenInvariant("a cause")


class Repeating(Unordered):
    """Answers every packet with one of its own."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        effects = [] if packet.message is None else super().receive(packet, now)
        return [*effects, Transmit(Packet(self.process, None, packet.stamp), 1 << packet.source)]


class Fat(Vector):
    def entries_bound(self) -> int:
        return 2


class Deaf(BlocksSlow):
    """Does not listen to what it is asked for."""

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        super().__init__(process, membership, SlowOptions())


@pytest.mark.parametrize(
    ("order", "protocol", "kind", "words"),
    [
        (Careless, "vector", "early", "delivered"),
        (Forgetful, "none", "undelivered", "p1 never delivered p0:2"),
        (Selfless, "none", "undelivered", "p0 never delivered p0:1"),
        (Raising, "none", "BrokenInvariant", "a cause"),
        (Repeating, "none", "endless", "never comes to rest"),
        (Fat, "vector", "state-bound", "3 elements, and 2"),
    ],
)
def test_a_failure_is_seen(
    order: type[Order], protocol: str, kind: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("antecede.fuzzing.judging.MOST_ROUNDS", 2_000)
    failure = judge(scenario(protocol), order).failure
    assert failure is not None
    assert failure.kind == kind
    assert words in failure.sentence
    assert judge(scenario(protocol)).failure is None


def test_a_total_order_that_is_none_is_seen() -> None:
    asked = scenario("blocks-slow", options={"total": True}, seed=3)
    assert judge(asked).failure is None
    failure = judge(asked, Deaf).failure
    assert failure is not None
    assert failure.kind == "disagreement"


def test_fifo_is_judged_by_sender() -> None:
    """Causal order it need not keep, the order of one sender it must."""

    class Hasty(Unordered):
        traits = Fifo.traits

    assert judge(scenario("fifo")).failure is None
    failure = judge(scenario("fifo"), Hasty).failure
    assert failure is not None
    assert failure.kind == "early"
    assert re.fullmatch(r"p\d delivered (p\d):\d+ before \1:\d+", failure.sentence)


def test_counts() -> None:
    outcome = judge(scenario("none"))
    assert (outcome.messages, outcome.deliveries) == (30, 90)
    assert outcome.events == 30 + 60


# Crashes, from the books alone: 0 sends to 1 and 2, 1 delivers it and sends to 2.


def books() -> Books:
    log = Books(scenario("none"))
    log.send(0, 0, 1, process_set([1, 2]))
    log.deliver(1, 0, 1)
    log.send(1, 1, 1, process_set([2]))
    log.deliver(2, 1, 1)
    return log


class Told(Excuses):
    """Of these messages it was told that they are lost, and they are."""

    def __init__(self, *messages: tuple[int, int]) -> None:
        self._messages = messages

    def cut_off(self, message: MessageId, delivered: int, process: int) -> bool:
        return False

    def stop(self, message: MessageId, delivered: int, process: int) -> bool:
        return False

    def loss(self, message: MessageId, process: int, *, has_come: bool) -> bool:
        return False

    def gap(self, message: MessageId, process: int) -> bool:
        return message in self._messages


def missing(log: Books, owed: Duty = Duty.SURVIVORS, excuses: Excuses | None = None) -> list[str]:
    orders = [Unordered(process, Membership(3)) for process in range(3)]
    found = undelivered(owed, log, orders, excuses or Told())
    return [failure.sentence for failure in found]


def test_what_a_survivor_has_delivered_all_survivors_deliver() -> None:
    log = books()
    log.crash(0)
    assert missing(log) == ["p2 never delivered p0:1"]
    assert [failure.kind for failure in early(log, Told())] == ["early"]


def test_what_died_with_all_who_had_it_is_excused_but_overtaken_only_if_that_is_told() -> None:
    log = books()
    log.crash(0)
    log.crash(1)
    assert missing(log) == []
    assert list(early(log, Told((0, 1)))) == []
    assert [failure.kind for failure in early(log, Told((1, 1)))] == ["early"]


def test_what_a_survivor_sent_is_excused_only_if_it_is_lost_and_told() -> None:
    log = books()
    log.crash(1)
    assert missing(log) == ["p2 never delivered p0:1"]
    assert missing(log, excuses=Told((0, 1))) == []


def test_what_crashed_processes_have_not_delivered_is_excused() -> None:
    log = books()
    log.crash(2)
    assert missing(log) == []


def test_what_has_not_arrived_is_excused_where_only_arrivals_count() -> None:
    assert missing(books(), Duty.ARRIVED) == missing(books(), Duty.NOTHING) == []
