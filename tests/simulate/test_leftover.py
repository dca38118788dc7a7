"""Why copies are undelivered: the first reason that applies, and who is to blame."""

import pytest

from antecede.message import MessageId
from antecede.order import Event, Notice
from antecede.simulate import make_scenario, simulate
from antecede.simulate.excuses import Excuses, Left
from antecede.simulate.leftover import Leftover, explain
from antecede.simulate.notices import Chronicle
from tests.mutants import mutated
from tests.mutants.daisy import RULES

DEAD, OTHERS = 0b00011, 0b11000


class Excused(Excuses):
    """Excuses what goes through process 2, if it has stopped; and a gap, if it is told."""

    def __init__(self, stopped: int, is_gap: bool) -> None:
        self.stopped = stopped
        self._is_gap = is_gap
        self._lost_with, self._lacking = 0b10, 0b100

    def cut_off(self, message: MessageId, delivered: int, process: int) -> bool:
        return message.number == 3

    def stop(self, message: MessageId, delivered: int, process: int) -> bool:
        return bool(self.stopped)

    def gap(self, message: MessageId, process: int) -> bool:
        return self._is_gap

    def let_go(self, message: MessageId, process: int) -> bool:
        return self._is_gap and message.number > 1


@pytest.mark.parametrize(
    ("left", "stopped", "is_gap", "expected"),
    [
        (Left(MessageId(0, 1), OTHERS, 0, 0), 0, False, Leftover(from_crashed=2)),
        (Left(MessageId(0, 1), OTHERS, 0, 0b10), 0, False, Leftover(from_crashed=2)),
        (Left(MessageId(0, 1), 0b1000, 0, 0b10000), 0, False, Leftover(disagreed=1)),
        (
            Left(MessageId(3, 1), 0b00100, 0b11000, 0),
            *(0b100, True, Leftover(stopped=1, behind_stopped=1)),
        ),
        (Left(MessageId(2, 1), OTHERS, 0, 0), 0b100, False, Leftover(stopped=2)),
        (Left(MessageId(0, 1), OTHERS, 0, 0b100), 0b100, False, Leftover(behind_stopped=2)),
        (Left(MessageId(3, 1), 0b10000, 0, 0), 0, True, Leftover(gap=1)),
        (Left(MessageId(3, 2), 0b10000, 0, 0), 0, True, Leftover(let_go=1)),
        (Left(MessageId(3, 3), 0b10000, 0, 0), 0, True, Leftover(cut_off=1)),
        (Left(MessageId(3, 3), 0b10000, 0, 0), 0b100, True, Leftover(behind_stopped=1)),
        (Left(MessageId(3, 1), 0b10000, 0, 0), 0, False, Leftover(missing=1)),
        (Left(MessageId(3, 1), 0b01, 0b10000, 0), 0, False, Leftover(waiting=1, missing=1)),
        (Left(MessageId(3, 1), 0b10000, 0b100, 0), 0, False, Leftover(lost=1, missing=1)),
        (Left(MessageId(3, 1), 0b100, 0, 0), 0, False, Leftover(missing=1)),
        (Left(MessageId(1, 1), 0b10000, 0, 0b100), 0, False, Leftover(lost=1)),
    ],
)
def test_the_first_reason_counts(
    left: Left, stopped: int, is_gap: bool, expected: Leftover
) -> None:
    excuses = Excused(stopped, is_gap)
    assert explain([left], 0, DEAD, excuses) == expected
    assert explain([left, left], 7, DEAD, excuses) == Leftover(
        7, *(2 * count for count in expected[1:])
    )


def test_the_sentence_names_who_has_stopped() -> None:
    assert Leftover(for_crashed=88, stopped=1200, behind_stopped=3).sentence(["p2"]) == (
        "88 for crashed processes; 1,200 for or from p2, which has stopped; "
        "3 that would have to go through it"
    )
    assert Leftover(behind_stopped=1).sentence(["p2", "p3"]) == (
        "1 that would have to go through p2, p3, which have stopped"
    )


def test_a_protocol_that_forgets_to_go_on_owes() -> None:
    """No new server takes over: what groups have for each other has no excuse."""
    mutant = next(one for one in RULES if one.name == "no-new-server")
    fields = {"protocol": "daisy", "processes": 9, "messages": 60, "patience_s": 10.0}
    scenario = make_scenario({**fields, "crashes": [{"process": 0, "time_s": 0.5}]})
    sound = simulate(scenario).leftover
    assert sum(sound) == sound.for_crashed
    broken = simulate(scenario, order_type=mutated("daisy", mutant)).leftover
    assert broken.missing > 0


def test_stops_of_several_are_one_line_for_each_time() -> None:
    chronicle = Chronicle()
    stop, view = Notice(Event.STOPPED, "group 0"), Notice(Event.VIEW, "group 0", 2, 0b111)
    for process, time_s in ((1, 1.0), (2, 1.5), (2, 1.6)):
        chronicle.add(process, stop, time_s)
    chronicle.add(1, Notice(Event.VIEW, "group 9", 2, 0b10), 1.7)
    assert {process for process, _ in chronicle.stops} == {1, 2}
    for process in (1, 2):
        chronicle.add(process, view, 4.0 + process)
    assert not chronicle.stops
    chronicle.add(0, stop, 7.0)
    chronicle.add(0, Notice(Event.RESUMED, "group 0", 2), 7.5)
    chronicle.add(0, stop, 8.0)
    assert set(chronicle.stops) == {(0, "group 0")}
    told = chronicle.sentences(make_scenario({"protocol": "daisy", "processes": 3}), 9.0)
    assert [sentence for sentence in told if "stop" in sentence] == [
        "1.000 s to 1.500 s: p1, p2 are cut off from most of group 0 and stop, until 6.000 s",
        "7.000 s: p0 is cut off from most of group 0 and stops, until 7.500 s",
        "8.000 s: p0 is cut off from most of group 0 and stops",
    ]
