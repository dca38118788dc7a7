"""`simulate` and the fuzzer judge alike, and neither excuses what somebody has.

The two keep books of their own: `simulate` counts what is left of each message, the fuzzer reads
what the oracle was told. The referee here is a third, which knows no excuse at all: where nobody
crashes and every cut heals, everything is delivered in order or the run has failed.
"""

import json
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
from antecede.simulate import Scenario, make_scenario, simulate
from antecede.simulate.books import Books
from antecede.simulate.duty import Duty, duty, owed_of
from antecede.simulate.excuses import Excuses, mark, telling
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
    if len(to_others) != owed_of(scenario, summary.leftover):
        return f"{len(to_others)} undelivered, and {owed_of(scenario, summary.leftover)} owed"
    verdict = books.finish()
    is_whole = not scenario.crashes and duty(scenario) is Duty.SURVIVORS
    has_lost = verdict.undelivered > 0 or (verdict.violations > 0 and scenario.promises_order)
    if is_whole and has_lost and not found:
        return f"{verdict.undelivered} undelivered, {verdict.violations} early, and no failure"
    return None


def _is_own(sentence: str, processes: list[str]) -> bool:
    return any(sentence.startswith(f"{one} never delivered {one}:") for one in processes)


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
        assert judge(scenario, order).failure


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)
def test_what_a_dead_sender_alone_had_is_excused_if_it_is_told(order: type[Order]) -> None:
    scenario = plain(protocol="vector", crashes=[{"process": 0, "time_s": 200.0}])
    assert difference(scenario, order) is None
    assert (judge(scenario, order).failure is None) == (order in (Telling, Honest, Selfish))


def _told_at_all(self: Excuses, message: MessageId, process: int) -> bool:
    return any(notice.event is Event.GAP for notice in self._chronicle.notices)


def _sent_by_a_survivor(self: Excuses, message: MessageId, process: int) -> bool:
    return bool(self._living >> message.sender & 1)


@pytest.mark.parametrize("gap", [_told_at_all, _sent_by_a_survivor])
def test_a_judge_that_excuses_too_much_is_found_out(
    gap: Callable[[Excuses, MessageId, int], bool], monkeypatch: pytest.MonkeyPatch
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


def test_both_tell_what_was_let_go_though_somebody_has_it(
    antecede: Antecede, tmp_path: Path
) -> None:
    """Cuts that outlast `forget_after_s`: what is excused by that promise is not hidden."""
    cuts = [(3.485, 12.2, range(6)), (13.684, 17.221, (0, 5)), (17.533, 24.134, (0, 4, 5))]
    scenario = make_scenario(
        {
            "protocol": "daisy",
            "processes": 9,
            "options": {"sizes": [3], "tick_s": 0.3, "tidy_s": 0.0108, "forget_after_s": 5.53},
            "workload": {"kind": "multicast", "size": 4, "cascade": 0.0785},
            "messages": 59,
            "rate": 0.25,
            "network": {
                "delay": "exponential:0.0227",
                "loss": 0.0828,
                "partitions": [
                    {"start_s": start_s, "end_s": end_s, "sides": [[*side]], "packets": "lost"}
                    for start_s, end_s, side in cuts
                ],
            },
            "patience_s": 50.649,
            "seed": 800000944,
        }
    )
    file = tmp_path / "scenario.toml"
    file.write_text(scenario.to_toml(), "utf-8")
    replayed = antecede("fuzz", "--replay", file, "--json")
    simulated = antecede("simulate", "--scenario", file, "--json")
    let_go = json.loads(replayed.out)["let_go"]
    assert let_go > 0
    assert json.loads(simulated.out)["leftover"]["let_go"] == let_go
    assert simulated.status == replayed.status == 0
    told = antecede("simulate", "--scenario", file).out
    assert "let go after forget_after_s though somebody has the message" in " ".join(told.split())


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


def test_who_is_never_let_in_is_excused_where_it_has_said_so_and_nobody_is_left() -> None:
    chronicle = Chronicle()
    scenario = make_scenario({"protocol": "daisy", "processes": 6})
    chronicle.add(3, Notice(Event.STOPPED, "group 0", members=0b110111), 20.0)
    outside = process_set([3, 4])
    assert Excuses(scenario, chronicle, 0b100111, 50.0, dict).outside(3, outside)
    assert not Excuses(scenario, chronicle, 0b100011, 50.0, dict).outside(3, outside)
    assert not Excuses(scenario, chronicle, 0b100111, 50.0, dict).outside(4, outside)


@pytest.mark.parametrize(
    ("quorum", "dead", "is_excused"),
    [
        ("majority", 0b001101, True),
        ("majority", 0b000101, False),  # most of it live
        ("survivors", 0b001101, False),  # those that are left go on
    ],
)
def test_who_asks_a_group_that_has_lost_its_majority_is_excused(
    quorum: str, dead: int, is_excused: bool
) -> None:
    """0 alone has seen the group that all others but 1 were to found, and 1 has heard of it."""
    chronicle = Chronicle()
    options = {"sizes": [3], "quorum": quorum}
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "options": options})
    chronicle.add(0, Notice(Event.VIEW, "group 9", 1, 0b111101), 3.0)
    chronicle.add(1, Notice(Event.STOPPED, "group 9", members=0b111101), 20.0)
    assert Excuses(scenario, chronicle, dead, 50.0, dict).outside(1, 0b10) == is_excused
    chronicle.add(4, Notice(Event.MERGE, "group 7 and group 9"), 20.0)  # and can call it there
    assert not Excuses(scenario, chronicle, dead, 50.0, dict).outside(1, 0b10)


def test_who_asks_a_group_that_nobody_has_seen_is_owed_an_answer_of_those_that_live() -> None:
    chronicle = Chronicle()
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "options": {"sizes": [3]}})
    chronicle.add(1, Notice(Event.STOPPED, "group 8", members=0b111101), 21.0)
    assert not Excuses(scenario, chronicle, 0b001101, 50.0, dict).outside(1, 0b10)


def test_who_was_in_and_finds_nobody_who_lets_it_back_has_stopped() -> None:
    """As long as one of those it asked lives, or somebody lets it in, it has not."""
    chronicle = Chronicle()
    scenario = make_scenario({"protocol": "daisy", "processes": 6})
    for process in (3, 4):
        chronicle.add(process, Notice(Event.VIEW, "group 1", 1, 0b111000), 0.1)
    chronicle.add(3, Notice(Event.STOPPED, "group 1", members=0b110000), 20.0)
    assert Excuses(scenario, chronicle, 0b110000, 50.0, dict).stopped == 0b001000
    assert Excuses(scenario, chronicle, 0b100000, 50.0, dict).stopped == 0
    chronicle.add(3, Notice(Event.VIEW, "group 1", 2, 0b001000), 30.0)
    assert Excuses(scenario, chronicle, 0b110000, 50.0, dict).stopped == 0


@pytest.mark.parametrize(
    ("sides", "end_s", "stopped"),
    [
        ([[3], [4]], 1000.0, 0b001000),
        ([[3], [4]], 40.0, 0),  # that is over
        ([[3], [5]], 1000.0, 0),  # 4 can let it in
        ([[4], [5]], 1000.0, 0),
    ],
)
def test_who_is_cut_off_for_good_from_all_that_live_and_it_has_asked_has_stopped(
    sides: list[list[int]], end_s: float, stopped: int
) -> None:
    """3 asked 4 and 5, and 5 is dead."""
    chronicle = Chronicle()
    cut = {"start_s": 1.0, "end_s": end_s, "sides": sides}
    network = {"partitions": [cut]}
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": network})
    chronicle.add(3, Notice(Event.STOPPED, "group 1", members=0b110000), 20.0)
    assert Excuses(scenario, chronicle, 0b100000, 50.0, dict).stopped == stopped


def test_who_stops_in_the_group_that_it_founded_has_no_excuse_if_most_of_it_live() -> None:
    """Nobody tells of the views that all begin with."""
    scenario = make_scenario({"protocol": "daisy", "processes": 3, "options": {"sizes": [3]}})
    view = Notice(Event.VIEW, "group 0", 1, 0b111)
    simulation = Simulation(scenario, Recorder(None, None), counts=False)
    assert [*simulation.chronicle.founding.values()] == [view]
    chronicle = Chronicle({"group 0": view})
    chronicle.add(1, Notice(Event.STOPPED, "group 0"), 5.0)
    assert Excuses(scenario, chronicle, 0b001, 50.0, dict).stopped == 0
    assert Excuses(scenario, chronicle, 0b101, 50.0, dict).stopped == 0b010


def test_a_view_that_only_the_dead_have_seen_is_no_majority() -> None:
    """Of four, one who is dead had agreed with 2 and 3 to go on without 0, and told nobody."""
    chronicle = Chronicle()
    scenario = make_scenario({"protocol": "daisy", "processes": 4})
    for process in range(4):
        chronicle.add(process, Notice(Event.VIEW, "group 0", 1, 0b1111), 0.1)
    chronicle.add(1, Notice(Event.VIEW, "group 0", 2, 0b1110), 4.0)
    for process in (2, 3):
        chronicle.add(process, Notice(Event.STOPPED, "group 0"), 6.0)
    assert Excuses(scenario, chronicle, 0b0011, 50.0, dict).stopped == 0b1100
    chronicle.add(2, Notice(Event.VIEW, "group 0", 2, 0b1110), 7.0)
    chronicle.add(2, Notice(Event.STOPPED, "group 0"), 8.0)
    assert Excuses(scenario, chronicle, 0b0011, 50.0, dict).stopped == 0


@pytest.mark.parametrize(
    ("where", "view", "quorum", "stopped"),
    [
        ("group 0", 0b010, "majority", 0b101),
        ("group 0", 0b011, "majority", 0),  # 0 may be the most senior: it can go on alone
        ("group 0", 0b010, "survivors", 0),  # others go on as well
        ("servers 0", 0b010, "majority", 0),  # these can begin anew
    ],
)
def test_those_who_are_bound_to_a_view_of_the_dead_cannot_go_on(
    where: str, view: int, quorum: str, stopped: int
) -> None:
    """1 has gone on without the others, as they had agreed, and has died."""
    chronicle = Chronicle()
    scenario = make_scenario(
        {"protocol": "daisy", "processes": 3, "options": {"sizes": [3], "quorum": quorum}}
    )
    for process in range(3):
        chronicle.add(process, Notice(Event.VIEW, where, 1, 0b111), 0.1)
    for process in (0, 2):
        chronicle.add(process, Notice(Event.STOPPED, where), 6.0)
    assert Excuses(scenario, chronicle, 0b010, 50.0, dict).stopped == 0
    chronicle.add(1, Notice(Event.VIEW, where, 2, view), 4.0)
    assert Excuses(scenario, chronicle, 0b010, 50.0, dict).stopped == stopped


def test_who_has_halted_in_the_group_after_a_split_counts_no_more_among_the_servers() -> None:
    """0 is dead. 3 served for group 1, and was to go on in group 2 with 4, who is dead as well."""
    scenario = make_scenario({"protocol": "daisy", "processes": 6})

    def stopped(split_s: float, *, has_halted: bool = True, is_first: bool = False) -> int:
        chronicle = Chronicle()
        split = Notice(Event.SPLIT, "group 1", 1, 0b111000)
        if is_first:
            chronicle.add(3, split, split_s)
        for process in (1, 3):
            chronicle.add(process, Notice(Event.VIEW, "servers", 2, 0b001011), 5.0)
        chronicle.add(3, split, split_s)
        chronicle.add(3, Notice(Event.VIEW, "group 2", 1, 0b011000), 7.0)
        if has_halted:
            chronicle.add(3, Notice(Event.STOPPED, "group 2"), 9.0)
        chronicle.add(1, Notice(Event.STOPPED, "servers"), 9.5)
        return Excuses(scenario, chronicle, 0b010001, 50.0, dict).stopped

    assert stopped(6.0) == 0b001010
    assert stopped(5.0) == 0b001010  # told in the moment of that view, but after it
    assert stopped(5.0, is_first=True) == 0b001000  # it serves for what came after the split
    assert stopped(4.0, is_first=True) == 0b001000
    assert stopped(6.0, has_halted=False) == 0


@pytest.mark.parametrize(
    ("dead", "quorum", "stopped"),
    [
        (0o7701, "majority", 0b10),  # two of four groups are left
        (0o7001, "majority", 0),  # three are: they can found servers
        (0o7701, "survivors", 0),
        (0o7771, "survivors", 0b10),
    ],
)
def test_who_finds_no_servers_is_excused_where_half_of_the_groups_are_lost(
    dead: int, quorum: str, stopped: int
) -> None:
    """Four groups of three, and 1 looks for servers, as others do."""
    groups = {f"group {index}": 0b111 << 3 * index for index in range(4)}
    founding = {where: Notice(Event.VIEW, where, 0, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    for process in (1, 4, 7):
        others = 0o7777 & ~(0b111 << 3 * (process // 3))
        chronicle.add(process, Notice(Event.STOPPED, "servers 4", members=others), 20.0)
    options = {"sizes": [3], "quorum": quorum}
    scenario = make_scenario({"protocol": "daisy", "processes": 12, "options": options})
    found = Excuses(scenario, chronicle, dead, 50.0, dict)
    assert found.stopped & 0b10 == stopped


@pytest.mark.parametrize(
    ("dead", "quorum", "told", "stopped"),
    [
        (0o7600, "majority", "since", 0o10),
        (0o7200, "majority", "since", 0),  # three of four groups can found servers anew
        (0o7600, "majority", "before", 0),  # 0 has served again
        (0o7600, "majority", "again", 0),
        (0o7600, "majority", "elsewhere", 0),  # in a group that has given way
        (0o7600, "majority", "never", 0),
        (0o7600, "survivors", "since", 0),
    ],
)
def test_who_was_replaced_at_home_counts_no_more_among_servers_if_most_groups_are_lost(
    dead: int, quorum: str, told: str, stopped: int
) -> None:
    """Four groups of three, whose servers were 0, 3, 6 and 9. 9 is dead; 6 lives, but most of its
    group may not; 3 has stopped among the servers."""
    groups = {f"group {index}": 0b111 << 3 * index for index in range(4)}
    founding = {where: Notice(Event.VIEW, where, 0, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    replaced = Notice(Event.SERVER, "group 0", 2, 0b010)
    if told == "before":
        chronicle.add(1, replaced, 4.0)
    for process in (0, 3, 6):
        chronicle.add(process, Notice(Event.VIEW, "servers 4", 2, 0o1111), 5.0)
    if told not in ("before", "never"):
        chronicle.add(1, replaced, 6.0)
    if told == "again":
        chronicle.add(1, Notice(Event.SERVER, "group 0", 3, 0b001), 7.0)
    if told == "elsewhere":
        chronicle.add(1, Notice(Event.MERGE, "group 0 and group 5", 3), 7.0)
    chronicle.add(3, Notice(Event.STOPPED, "servers 4"), 8.0)
    options = {"sizes": [3], "quorum": quorum}
    scenario = make_scenario({"protocol": "daisy", "processes": 12, "options": options})
    assert Excuses(scenario, chronicle, dead, 50.0, dict).stopped & 0o10 == stopped


@pytest.mark.parametrize(
    ("dead", "home_s", "stopped"),
    [
        (0o7700, 6.0, 0o10),  # it hears at home that it was replaced
        (0o7700, 4.5, 0),  # that was before the servers' view: it may serve again
        (0o7700, None, 0),
        (0o7000, 6.0, 0),  # three of four groups can found servers anew
    ],
)
def test_who_was_replaced_before_the_view_of_the_servers_and_came_home_since(
    dead: int, home_s: float | None, stopped: int
) -> None:
    """Four groups of three. 1 serves in the place of 0, which has gone on among the servers with 3
    before it came home."""
    groups = {f"group {index}": 0b111 << 3 * index for index in range(4)} | {"servers 4": 0o1111}
    founding = {where: Notice(Event.VIEW, where, 0, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    told = [(1, Notice(Event.SERVER, "group 0", 2, 0b010), 4.0)]
    told += [(one, Notice(Event.VIEW, "servers 4", 2, 0o11), 5.0) for one in (0, 3)]
    told += [(3, Notice(Event.STOPPED, "servers 4"), 8.0)]
    if home_s is not None:
        told.append((0, Notice(Event.VIEW, "group 0", 3, 0b111), home_s))
    for process, notice, time_s in sorted(told, key=lambda one: one[2]):
        chronicle.add(process, notice, time_s)
    scenario = make_scenario({"protocol": "daisy", "processes": 12, "options": {"sizes": [3]}})
    assert Excuses(scenario, chronicle, dead, 50.0, dict).stopped & 0o10 == stopped


@pytest.mark.parametrize(
    ("parts", "dead", "are_replaced", "stopped"),
    [
        (2, 0b110000, True, 0b10000010),
        (2, 0b100000, True, 0),  # most of group 1 live, so servers are founded anew
        (2, 0b110000, False, 0),
        (3, 0b110000, True, 0b10),  # two of three groups of servers are enough
    ],
)
def test_servers_are_lost_with_half_of_the_groups_of_servers_below_them(
    parts: int, dead: int, are_replaced: bool, stopped: int
) -> None:
    """Two groups of three are below each group of servers, and these below one at the top. At home
    1 serves in the place of 0, and 7 in the place of 6; group 1 may have lost its majority."""
    groups = {f"group {index}": 0b111 << 3 * index for index in range(2 * parts)}
    groups |= {f"servers {10 + index}": 0b1001 << 6 * index for index in range(parts)}
    groups["servers 20"] = sum(0b1 << 6 * index for index in range(parts))
    chronicle = Chronicle({w: Notice(Event.VIEW, w, 0, those) for w, those in groups.items()})
    for server in (1, 7) if are_replaced else ():
        where = f"group {server // 3}"
        chronicle.add(server, Notice(Event.SERVER, where, 1, 1 << server), 4.0)
    views = {"servers 10": 0b11, "servers 11": 0b1010 << 6}
    for where, joined in (*views.items(), ("servers 20", groups["servers 20"] | 1 << 7)):
        chronicle.add(0, Notice(Event.VIEW, where, 2, joined), 5.0)
        chronicle.add(7, Notice(Event.VIEW, where, 2, joined), 5.0)
    for process in (0, 6):
        where = f"group {process // 3}"
        chronicle.add(process, Notice(Event.VIEW, where, 3, groups[where]), 6.0)
    chronicle.add(1, Notice(Event.STOPPED, "servers 10"), 8.0)
    chronicle.add(7, Notice(Event.STOPPED, "servers 20"), 8.0)
    size = 6 * parts
    scenario = make_scenario({"protocol": "daisy", "processes": size, "options": {"sizes": [3, 2]}})
    assert Excuses(scenario, chronicle, dead, 50.0, dict).stopped == stopped


@pytest.mark.parametrize(("dead", "stopped"), [(0o7700, 0o10), (0o7000, 0)])
def test_groups_that_the_last_servers_left_out_count_where_these_were_replaced(
    dead: int, stopped: int
) -> None:
    """Four groups of three. 0 and 3 have gone on among the servers without 6 and 9; then 0 was
    replaced at home. Servers are founded anew by most of all groups, not of these two."""
    groups = {f"group {index}": 0b111 << 3 * index for index in range(4)} | {"servers 4": 0o1111}
    founding = {where: Notice(Event.VIEW, where, 0, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    for process in (0, 3):
        chronicle.add(process, Notice(Event.VIEW, "servers 4", 2, 0o11), 5.0)
    chronicle.add(1, Notice(Event.SERVER, "group 0", 2, 0b010), 6.0)
    chronicle.add(3, Notice(Event.STOPPED, "servers 4"), 8.0)
    scenario = make_scenario({"protocol": "daisy", "processes": 12, "options": {"sizes": [3]}})
    assert Excuses(scenario, chronicle, dead, 50.0, dict).stopped & 0o10 == stopped


@pytest.mark.parametrize("dead", [0b111000, 0b100000])
def test_half_of_the_groups_are_not_most_however_they_were_split(dead: int) -> None:
    """Of two groups of three, the first was split in two and one, which cannot found servers
    alone."""
    groups = {"group 0": 0b111, "group 1": 0b111000}
    founding = {where: Notice(Event.VIEW, where, 0, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    for process in range(3):
        chronicle.add(process, Notice(Event.SPLIT, "group 0", 1), 1.0)
        where, those = ("group 3", 0b011) if process < 2 else ("group 4", 0b100)
        chronicle.add(process, Notice(Event.VIEW, where, 1, those), 2.0)
    chronicle.add(0, Notice(Event.STOPPED, "servers 2", members=0b111110), 20.0)
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "options": {"sizes": [3]}})
    excuses_ = Excuses(scenario, chronicle, dead, 50.0, dict)
    assert excuses_.outside(0, 0) == (dead == 0b111000)


def test_servers_that_have_lost_most_excuse_what_goes_through_them() -> None:
    """Inside of a group there is another way."""
    pairs = set(reached(excuses(0b001000, {0: "servers"})))
    assert {(0, 1), (1, 0), (1, 2), (2, 1), (4, 5), (5, 4)} <= pairs
    assert not pairs & {(0, 4), (4, 0), (1, 4), (4, 1)}


def test_who_is_cut_off_for_good_is_excused_and_others_are_not() -> None:
    pairs = set(reached(excuses(0, {2: "group 0"}, cut=[2])))
    assert {(1, 4), (0, 1), (3, 0)} <= pairs
    assert not any(2 in pair for pair in pairs)


def test_what_somebody_has_delivered_can_come_from_there() -> None:
    found = excuses(0b000110, {0: "group 0"})
    assert found.stop(MessageId(1, 1), process_set([0]), 4)
    assert not found.stop(MessageId(1, 1), process_set([0, 5]), 4)


# Gaps: what was told, who has the message, and for how long the faults lasted.


def excused(
    notice: Notice,
    teller: int,
    process: int,
    holders: list[int],
    cut_s: float,
    dead: int = 0,
    before: tuple[Notice, ...] = (),
    founding: tuple[str, ...] = (),
    heard: tuple[int, ...] = (),
) -> tuple[bool, bool]:
    """Whether a message of process 4 that is for this one is, where it is kept for 30 s; and
    whether it is though somebody has it. Process 4 says that it has stopped, if others are dead;
    who tells of the gap has said what is `before`, and so have those that `heard` it."""
    message = MessageId(4, 1)
    chronicle = Chronicle({where: Notice(Event.VIEW, where, 1, 0b1010) for where in founding})
    for where, members in VIEWS.items():
        chronicle.add(0, Notice(Event.VIEW, where, 1, members), 0.1)
    for earlier in before:
        for one in (teller, *heard):
            chronicle.add(one, earlier, 20.0)
    chronicle.add(teller, notice, 40.0)
    if dead:
        chronicle.add(4, Notice(Event.STOPPED, "group 1"), 5.0)
    states = {who: mark(message) if who in holders else b"" for who in range(6)}
    cuts = [{"start_s": 1.0, "end_s": 1.0 + cut_s, "sides": [[1]]}]
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": {"partitions": cuts}})
    told = {telling(teller, notice): states}
    found = Excuses(scenario, chronicle, dead, 50.0, lambda: told)
    return found.gap(message, process), found.let_go(message, process)


BY_NAME = Notice(Event.GAP, "group 0", messages=(MessageId(4, 1),))
OTHERS = Notice(Event.GAP, "servers", members=0b111000)


@pytest.mark.parametrize(
    ("notice", "teller", "process", "holders", "cut_s", "expected"),
    [
        (BY_NAME, 1, 1, [4], 35.0, True),
        (BY_NAME, 1, 1, [4], 25.0, True),  # with the time to be back
        (BY_NAME, 1, 1, [4], 20.0, False),  # it should have been kept
        (BY_NAME, 1, 1, [], 20.0, False),  # its sender, who lives, should have it
        (BY_NAME, 1, 1, [], 35.0, True),  # nobody has it
        (BY_NAME, 1, 2, [4], 35.0, False),  # another has told
        (msgspec.structs.replace(BY_NAME, where="servers"), 0, 2, [4], 35.0, True),  # its server
        (msgspec.structs.replace(BY_NAME, messages=(LOST,)), 1, 1, [4], 35.0, False),
        (OTHERS, 0, 1, [4, 5], 35.0, True),  # they alone have it
        (OTHERS, 0, 1, [2, 4], 35.0, False),
        (OTHERS, 0, 1, [4], 20.0, False),
    ],
)
def test_a_gap_excuses_what_was_not_to_be_kept(
    notice: Notice, teller: int, process: int, holders: list[int], cut_s: float, expected: bool
) -> None:
    let_go = expected and bool(holders)
    assert excused(notice, teller, process, holders, cut_s) == (expected, let_go)


def test_who_speaks_for_others_when_it_tells_a_gap() -> None:
    """One that serves them then, though it did not before; not one that has stopped."""
    gap = msgspec.structs.replace(BY_NAME, where="servers")
    another = Notice(Event.VIEW, "servers", 2, 0b001010)  # 1 serves, in the place of 0
    stop = Notice(Event.STOPPED, "group 0")
    assert excused(gap, 1, 0, [4], 35.0) == (False, False)
    assert excused(gap, 1, 0, [4], 35.0, before=(another,)) == (True, True)
    assert excused(gap, 1, 0, [4], 35.0, before=(another, stop)) == (False, False)
    back = Notice(Event.RESUMED, "group 0", 1)
    assert excused(gap, 1, 0, [4], 35.0, before=(another, stop, back)) == (True, True)


def test_who_was_let_in_among_servers_after_it_had_left_is_told_as_its_group_is() -> None:
    """1 serves in the place of 2, which was let in as well and has not heard of it."""
    gap = msgspec.structs.replace(BY_NAME, where="servers")
    both = Notice(Event.VIEW, "servers", 2, 0b001110)
    assert excused(gap, 1, 2, [4], 35.0, before=(both,)) == (True, True)
    assert excused(gap, 1, 2, [4], 20.0, before=(both,)) == (False, False)
    # It has heard of it, and has to tell for itself.
    assert excused(gap, 1, 2, [4], 35.0, before=(both,), heard=(2,)) == (False, False)
    # Who tells serves another group.
    assert excused(gap, 1, 3, [4], 35.0, before=(both,)) == (False, False)
    # Who tells was lost at home, or is not in that view.
    stop = Notice(Event.STOPPED, "group 0")
    assert excused(gap, 1, 2, [4], 35.0, before=(both, stop)) == (False, False)
    without = Notice(Event.VIEW, "servers", 2, 0b001100)
    assert excused(gap, 1, 2, [4], 35.0, before=(without,)) == (False, False)
    # It has founded the group of servers, and their groups have merged since.
    gap, merged = msgspec.structs.replace(BY_NAME, where="servers 4"), 0b111111
    before = (Notice(Event.VIEW, "group 5", 1, merged),)
    assert excused(gap, 1, 3, [4], 35.0, before=before, founding=("servers 4",)) == (False, False)


@pytest.mark.parametrize(
    ("stopped", "founding", "is_excused"),
    [
        ("servers 6", ("servers 4", "servers 6"), True),
        ("servers 6", ("servers 4",), False),  # nobody knows where that one is
        ("servers 4", ("servers 4", "servers 6"), False),
        ("group 0", ("group 0", "servers 4", "servers 6"), False),
    ],
)
def test_who_has_stopped_above_speaks_for_others_below(
    stopped: str, founding: tuple[str, ...], is_excused: bool
) -> None:
    gap = msgspec.structs.replace(BY_NAME, where="servers 4")
    told = excused(
        gap, 1, 0, [4], 35.0, before=(Notice(Event.STOPPED, stopped),), founding=founding
    )
    assert told == (is_excused, is_excused)


def test_a_group_without_a_majority_for_good_is_a_fault_that_lasts() -> None:
    assert excused(BY_NAME, 1, 1, [4], 20.0) == (False, False)
    assert excused(BY_NAME, 1, 1, [4], 20.0, dead=0b101000) == (True, True)
    assert excused(BY_NAME, 1, 1, [4], 20.0, dead=0b001000) == (False, False)  # two of three live


def test_who_could_reach_those_who_go_on_has_no_excuse() -> None:
    """The servers have gone on without 0, which is cut off no more."""
    chronicle = Chronicle()
    for process, members in ((0, 0b0001001), (3, 0b1001000)):
        number = 1 + (process > 0)
        chronicle.add(process, Notice(Event.VIEW, "servers", number, members), float(number))
    chronicle.add(0, Notice(Event.STOPPED, "servers"), 5.0)

    def stopped(cut_until_s: float) -> int:
        cuts = [{"start_s": 1.0, "end_s": cut_until_s, "sides": [[0]]}]
        network = {"partitions": cuts}
        scenario = make_scenario({"protocol": "daisy", "processes": 7, "network": network})
        return Excuses(scenario, chronicle, 0, 50.0, dict).stopped

    assert stopped(100.0) == 1
    assert stopped(20.0) == 0


@pytest.mark.parametrize(("end_s", "is_over"), [(1000.0, False), (20.0, True)])
def test_a_cut_is_not_over_because_packets_that_it_held_come_after_all(
    end_s: float, is_over: bool
) -> None:
    """Of two groups of two, the servers cannot hear each other. Patience runs out before a cut ends
    that lasts; then nothing happens but that its packets come."""
    link = {"start_s": 0.5, "end_s": end_s, "sides": [[0], [2]], "packets": "held"}
    scenario = make_scenario(
        {
            "protocol": "daisy",
            "processes": 4,
            "options": {"sizes": [2], "tick_s": 0.3},
            "messages": 12,
            "rate": 1.0,
            "network": {"delay": "constant:0.05", "partitions": [link]},
            "patience_s": 30.0,
        }
    )
    assert judge(scenario).failure is None
    simulation = Simulation(scenario, Recorder(None, None))
    simulation.run()
    assert bool(simulation.leftover().stopped) is not is_over
    assert simulation.now >= end_s


# Cuts that last for ever.


def lasting(
    *sides: list[list[int]], end_s: float = 1000.0, one_way: bool = False
) -> dict[str, Any]:
    cut = {"start_s": 1.0, "end_s": end_s, "one_way": one_way, "packets": "lost"}
    cuts = [{**cut, "sides": [*one]} for one in sides]
    return {"partitions": cuts}


@pytest.mark.parametrize(
    ("sides", "dead", "local", "is_excused"),
    [
        ([[[0], [3]]], 0, "broadcast", False),
        ([[[3], [0]]], 0b010000, "broadcast", False),  # 0 is one of three: 1 or 2 serves
        ([[[0], [3]]], 0b010010, "broadcast", True),  # two are left of both groups
        ([[[0], [3]]], 0, "recipients", True),
        ([[[0], [3]], [[0], [4]]], 0, "broadcast", True),  # more than one link
        ([[[0], [3]], [[1], [2]]], 0, "broadcast", True),
    ],
)
@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize("is_alone", [False, True])
def test_one_link_between_the_only_two_servers_is_no_excuse_if_another_member_can_serve(
    sides: list[list[list[int]]],
    dead: int,
    local: str,
    is_excused: bool,
    one_way: bool,
    is_alone: bool,
) -> None:
    """3 has stopped among the servers, who are 0 and itself; 0 may have gone on alone."""
    chronicle = Chronicle()
    for where, those in VIEWS.items():
        chronicle.add(0, Notice(Event.VIEW, where, 1, those), 0.1)
    if is_alone:
        chronicle.add(0, Notice(Event.VIEW, "servers", 2, 0b1), 4.0)
    chronicle.add(3, Notice(Event.STOPPED, "servers"), 5.0)
    options = {"sizes": [3], "local": local}
    scenario = make_scenario(
        {
            "protocol": "daisy",
            "processes": 6,
            "options": options,
            "network": lasting(*sides, one_way=one_way),
        }
    )
    found = Excuses(scenario, chronicle, dead, 50.0, dict)
    assert found.stopped == (0b001000 if is_excused else 0)
    assert found.stop(MessageId(1, 1), 0, 5) == is_excused


@pytest.mark.parametrize(
    ("sides", "end_s", "servers", "group", "is_excused"),
    [
        ([[[2], [0]]], 1000.0, 0b000001, 0b000011, True),
        ([[[0], [2]]], 1000.0, 0b000001, 0b000011, True),
        ([[[2], [0]]], 20.0, 0b000001, 0b000011, False),  # that is over
        ([[[3], [0]]], 1000.0, 0b000001, 0b000011, False),
        ([[[2], [0]]], 1000.0, 0b000001, 0b100011, False),  # 1 or 5 can serve
        ([[[2], [0]]], 1000.0, 0b010001, 0b000011, False),  # 4 hands on
        ([[[2], [0]], [[4], [2]]], 1000.0, 0b010001, 0b000011, True),
    ],
)
def test_who_is_shut_out_by_a_link_has_stopped_where_no_group_gives_way(
    sides: list[list[list[int]]], end_s: float, servers: int, group: int, is_excused: bool
) -> None:
    """2 serves 3 and itself, and looks for servers. Only one direction of its link is cut."""
    network = lasting(*sides, end_s=end_s, one_way=True)
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": network})
    groups = {"group 0": group, "group 1": 0b001100, "group 2": 0b010000}
    groups["servers"] = servers | 0b100
    founding = {where: Notice(Event.VIEW, where, 1, those) for where, those in groups.items()}
    chronicle = Chronicle(founding)
    chronicle.add(0, Notice(Event.VIEW, "servers", 2, servers), 4.0)
    chronicle.add(2, Notice(Event.STOPPED, "servers", members=0b110011), 40.0)
    assert Excuses(scenario, chronicle, 0, 50.0, dict).stopped == (0b100 if is_excused else 0)


@pytest.mark.parametrize("one_way", [False, True])
@pytest.mark.parametrize(
    ("sides", "end_s", "dead", "is_excused"),
    [
        ([[[1, 2]]], 1000.0, 0, True),
        ([[[1, 2]]], 20.0, 0, False),  # that is over
        ([[[1], [4]]], 1000.0, 0, False),  # others can hand it on
        ([[[1, 2], [3, 4, 5]]], 1000.0, 0, False),  # 0 can
        ([[[1, 2], [3, 4, 5]]], 1000.0, 0b1, True),
        ([[[1], [0, 3, 4, 5]], [[2], [0, 3, 4, 5]]], 1000.0, 0, True),
    ],
)
def test_what_no_chain_of_links_can_carry_is_excused(
    sides: list[list[list[int]]], end_s: float, dead: int, is_excused: bool, one_way: bool
) -> None:
    """A message of 1 for 4 and others; nobody says that it has stopped."""
    network = lasting(*sides, end_s=end_s, one_way=one_way)
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": network})
    found, message = Excuses(scenario, Chronicle(), dead, 50.0, dict), MessageId(1, 1)
    assert found.cut_off(message, 0, 4) == is_excused
    assert not found.cut_off(message, 0, 2)
    assert not found.cut_off(message, 1 << 3, 4)  # 3 has it
    assert not found.cut_off(MessageId(5, 1), 0, 4)


@pytest.mark.parametrize(
    ("sides", "is_stopped", "is_excused"),
    [
        ([[0, 3, 4, 5]], True, True),  # those of its group have it, on the other side
        ([[0, 3, 4, 5]], False, False),
        ([[0], [1, 2]], True, False),  # these can bring it
    ],
)
def test_what_stopped_processes_alone_have_on_this_side_is_excused(
    sides: list[list[int]], is_stopped: bool, is_excused: bool
) -> None:
    """A message of 0 for 4 that 1 and 2 have. 0 is cut off from both, and has stopped."""
    chronicle = Chronicle()
    for where, those in VIEWS.items():
        chronicle.add(0, Notice(Event.VIEW, where, 1, those), 0.1)
    chronicle.add(1, Notice(Event.VIEW, "group 0", 2, 0b110), 4.0)
    chronicle.add(1, Notice(Event.VIEW, "servers", 2, 0b1010), 4.5)
    if is_stopped:
        chronicle.add(0, Notice(Event.STOPPED, "group 0"), 5.0)
    network = lasting(sides)
    scenario = make_scenario({"protocol": "daisy", "processes": 6, "network": network})
    found = Excuses(scenario, chronicle, 0, 50.0, dict)
    assert found.stop(MessageId(0, 1), 0b110, 4) == is_excused
    assert not found.cut_off(MessageId(0, 1), 0b110, 4)


@pytest.mark.parametrize(
    ("sides", "end_s", "known_by", "stopped"),
    [
        ([[0, 3]], 1000.0, 3, 0b111000),  # 4 and 5 cannot hear of it
        ([[0, 3]], 20.0, 3, 0),  # they can
        ([[0, 3]], 1000.0, 4, 0b001000),  # they are most of it
        ([[3], [0]], 1000.0, 3, 0),  # they do without that link
    ],
)
def test_each_side_of_a_cut_is_where_its_own_last_view_has_left_it(
    sides: list[list[int]], end_s: float, known_by: int, stopped: int
) -> None:
    """Of the four in group 1, 6 is dead; one knows that three go on. All say that they have
    stopped."""
    scenario = make_scenario(
        {"protocol": "daisy", "processes": 7, "network": lasting(sides, end_s=end_s)}
    )
    chronicle = Chronicle({"group 1": Notice(Event.VIEW, "group 1", 1, 0b1111000)})
    chronicle.add(known_by, Notice(Event.VIEW, "group 1", 2, 0b0111000), 4.0)
    for process in (3, 4, 5):
        chronicle.add(process, Notice(Event.STOPPED, "group 1"), 6.0)
    assert Excuses(scenario, chronicle, 0b1000000, 50.0, dict).stopped == stopped


@pytest.mark.parametrize(
    ("sides", "one_way"), [([[0], [2]], False), ([[0], [2]], True), ([[2], [0]], True)]
)
def test_a_link_between_two_couples_is_judged_alike_in_all_directions(
    sides: list[list[int]], one_way: bool
) -> None:
    """Neither group gives way; which server is excluded depends on who hears whom."""
    scenario = make_scenario(
        {
            "protocol": "daisy",
            "processes": 4,
            "messages": 20,
            "rate": 0.625,
            "workload": {"kind": "multicast", "size": 2},
            "network": {"delay": "exponential:0.05", **lasting(sides, one_way=one_way)},
            "options": {"sizes": [2]},
            "patience_s": 200.0,
        }
    )
    simulation = Simulation(scenario, Recorder(None, None), counts=False)
    simulation.run()
    assert judge(scenario).failure is None
    assert simulation.excuses.stopped == 0b100
    assert simulation.leftover().unexcused == 0 < simulation.leftover().stopped
