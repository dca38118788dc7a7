"""`simulate` and the fuzzer judge alike, and neither excuses what somebody has.

The two keep books of their own: `simulate` counts what is left of each message, the fuzzer reads
what the oracle was told. The referee here is a third, which knows no excuse at all: where nobody
crashes and every cut heals, everything is delivered in order or the run has failed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antecede.fuzzing import draw, judge
from antecede.message import Message, MessageId, process_set
from antecede.order import Deliver, Effect, Event, Notice, Order, Packet
from antecede.orders.none import Unordered
from antecede.orders.vector import Vector
from antecede.protocols import names
from antecede.simulate import Scenario, Summary, make_scenario, simulate
from antecede.simulate.books import Books
from antecede.simulate.duty import Duty, duty
from antecede.simulate.excuses import Excuses
from antecede.simulate.judgement import UNDELIVERED, failures
from antecede.simulate.notices import Chronicle
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from tests.cli.conftest import Antecede, antecede

__all__ = ["antecede"]

LOST = MessageId(0, 2)
"""What the protocols below lose on its way to process 1."""


class State(msgspec.Struct, array_like=True):
    seen: set[MessageId] = set()
    kept: dict[MessageId, Message] = {}


class Losing(Unordered):
    """Loses a message, and says nothing about it. Its sender has it for ever."""

    state_type = State  # type: ignore[assignment]
    state: State  # type: ignore[assignment]
    traits = Vector.traits
    tells: bool | None = False
    """Whether the gap is told; None if that is done later, when the message is let go."""
    lets_go = False

    def initial_state(self) -> State:  # type: ignore[override]
        return State()

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        if not self.lets_go or message.id != LOST:
            self.state.kept[message.id] = message
        return super().send(message, now)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = self.check_header(packet)
        if self.process != 1 or message.id != LOST:
            return [Deliver(message)]
        return [Notice(Event.GAP, "all", members=1)] if self.tells else []


class Telling(Losing):
    """Tells that it is lost, though its sender has it."""

    tells = True


class Honest(Telling):
    """Tells that it is lost, and nobody has it."""

    lets_go = True


class Silent(Losing):
    """Nobody has it, and nobody tells."""

    lets_go = True


class Elsewhere(Honest):
    """Nobody has it, and a gap is told that it does not belong to."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        effects = super().receive(packet, now)
        return [
            msgspec.structs.replace(one, members=0b100) if isinstance(one, Notice) else one
            for one in effects
        ]


class Selfish(Unordered):
    """Forgets its own copies."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        return [one for one in super().send(message, now) if not isinstance(one, Deliver)]


def plain(**fields: Any) -> Scenario:
    network = {"delay": "constant:0.01", "fifo": True}
    data = {"protocol": "none", "processes": 3, "messages": 12, "rate": 0.5, "network": network}
    return make_scenario({**data, **fields})


def owed(scenario: Scenario, summary: Summary) -> int:
    """As the command counts it."""
    left = summary.leftover
    match duty(scenario):
        case Duty.NOTHING:
            return 0
        case Duty.ARRIVED:
            return left.waiting
        case Duty.SURVIVORS:
            return left.disagreed + left.waiting + left.missing


def difference(scenario: Scenario, order: type[Order] | None = None) -> str | None:
    """In what the judges differ from each other, or from the referee."""
    summary, outcome = simulate(scenario, order_type=order), judge(scenario, order)
    if summary.failure != outcome.failure:
        return f"simulate: {summary.failure}; fuzz: {outcome.failure}"
    books = Books(scenario)
    simulation = Simulation(scenario, Recorder(None, books), order)
    simulation.run()
    found = list(failures(scenario, books, simulation))
    names_ = scenario.process_names
    to_others = [
        one for one in found if one.kind == UNDELIVERED and not _is_own(one.sentence, names_)
    ]
    if len(to_others) != owed(scenario, summary):
        return f"{len(to_others)} undelivered, and {owed(scenario, summary)} owed"
    verdict = books.finish()
    is_whole = not scenario.crashes and duty(scenario) is Duty.SURVIVORS
    has_lost = verdict.undelivered > 0 or (verdict.violations > 0 and scenario.promises_order)
    if is_whole and has_lost and not found and not is_honest(order):
        return f"{verdict.undelivered} undelivered, {verdict.violations} early, and no failure"
    return None


def _is_own(sentence: str, processes: list[str]) -> bool:
    return any(sentence.startswith(f"{one} never delivered {one}:") for one in processes)


def is_honest(order: type[Order] | None) -> bool:
    return order is not None and order.__name__ == "Honest"


def test_they_agree_on_drawn_runs() -> None:
    for protocol in names():
        for seed in range(1, 9):
            assert difference(draw(protocol, seed)) is None, (protocol, seed)


ORDERS = [Losing, Telling, Honest, Silent, Elsewhere, Selfish]


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_they_agree_on_broken_protocols(order: type[Order]) -> None:
    for protocol in ("none", "vector"):
        scenario = plain(protocol=protocol)
        assert difference(scenario, order) is None
        assert (judge(scenario, order).failure is None) == is_honest(order)


def _told_at_all(self: Excuses, message: MessageId) -> bool:
    return any(notice.event is Event.GAP for notice in self._chronicle.notices)


def _sent_by_a_survivor(self: Excuses, message: MessageId) -> bool:
    return bool(self._living >> message.sender & 1)


@pytest.mark.parametrize("gap", [_told_at_all, _sent_by_a_survivor])
def test_a_judge_that_excuses_too_much_is_found_out(
    gap: Callable[[Excuses, MessageId], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Excuses, "gap", gap)
    assert any(difference(plain(protocol="vector"), order) for order in ORDERS)


def test_two_judges_that_differ_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two excuses what the other does not."""
    monkeypatch.setattr("antecede.simulate.leftover._reason", lambda *_: "gap")
    assert any(difference(plain(), order) for order in ORDERS)


def test_their_exit_statuses_agree(antecede: Antecede, tmp_path: Path) -> None:
    scenarios = [draw(protocol, seed) for protocol in ("daisy", "vector") for seed in (1, 2)]
    refuted = {"protocol": "vector", "options": {"carry": "own"}}
    ring = {"processes": 4, "groups": {"layout": "ring", "count": 4}, "messages": 300}
    scenarios += [make_scenario({**refuted, **ring, "seed": seed}) for seed in (1, 2, 3)]
    statuses = []
    for scenario in scenarios:
        file = tmp_path / "scenario.toml"
        file.write_text(scenario.to_toml(), "utf-8")
        simulated = antecede("simulate", "--scenario", file)
        replayed = antecede("fuzz", "--replay", file)
        assert simulated.status == replayed.status, simulated.out + replayed.out
        statuses.append(simulated.status)
    assert set(statuses) == {0, 1}


# Stops: what was told, by whom, and who lives.

VIEWS = {"group 0": 0b000111, "group 1": 0b111000, "servers": 0b001001}


def excuses(dead: int, stops: dict[int, str], cut: list[int] | None = None) -> Excuses:
    """Two groups of three, and their servers 0 and 3."""
    chronicle = Chronicle()
    for where, members in VIEWS.items():
        for process in range(6):
            if members >> process & 1:
                chronicle.add(process, Notice(Event.VIEW, where, 1, members), 0.1)
    for process, where in stops.items():
        chronicle.add(process, Notice(Event.STOPPED, where), 5.0)
    cuts = [{"start_s": 1.0, "end_s": 100.0, "sides": [cut]}] if cut else []
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": {"partitions": cuts}})
    return Excuses(scenario, chronicle, dead, 50.0, dict)


def reached(found: Excuses) -> Iterator[tuple[int, int]]:
    """From whom to whom messages have to get."""
    for sender in range(6):
        for process in range(6):
            if sender != process and not found.stop(MessageId(sender, 1), 0, process):
                yield sender, process


def test_who_stops_though_most_of_the_group_lives_has_no_excuse() -> None:
    assert len(list(reached(excuses(0, {1: "group 0"})))) == 30
    assert len(list(reached(excuses(0b100, {1: "group 0"})))) == 30


def test_a_group_that_has_lost_most_of_its_members_excuses_its_own_copies_alone() -> None:
    found = excuses(0b000110, {0: "group 0"})
    assert found.stopped == 0b1
    assert {pair for pair in reached(found) if max(pair) > 2 and min(pair) > 2} == {
        (a, b) for a in (3, 4, 5) for b in (3, 4, 5) if a != b
    }
    assert not any(0 in pair for pair in reached(found))


def test_servers_that_have_lost_most_excuse_what_goes_through_them() -> None:
    """Inside of a group there is another way."""
    pairs = set(reached(excuses(0b001000, {0: "servers"})))
    assert {(1, 2), (2, 1), (4, 5), (5, 4)} <= pairs
    assert not pairs & {(1, 4), (4, 1), (0, 1)}


def test_who_is_cut_off_for_good_is_excused_and_others_are_not() -> None:
    pairs = set(reached(excuses(0, {2: "group 0"}, cut=[2])))
    assert {(1, 4), (0, 1), (3, 0)} <= pairs
    assert not any(2 in pair for pair in pairs)


def test_what_somebody_has_delivered_can_come_from_there() -> None:
    found = excuses(0b000110, {0: "group 0"})
    assert found.stop(MessageId(1, 1), process_set([0]), 4)
    assert not found.stop(MessageId(1, 1), process_set([0, 5]), 4)
