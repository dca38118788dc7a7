"""Why copies are undelivered: the first reason that applies, and who is to blame."""

import pytest

from antecede.order import Event, Notice
from antecede.simulate import make_scenario, simulate
from antecede.simulate.leftover import Left, Leftover, explain
from antecede.simulate.notices import Chronicle
from tests.mutants import mutated
from tests.mutants.daisy import RULES

DEAD, STOPPED, OTHERS = 0b00011, 0b00100, 0b11000
NEVER = -1.0


@pytest.mark.parametrize(
    ("left", "stopped", "gap_s", "expected"),
    [
        (Left(0, 1.0, OTHERS, 0, 0), 0, NEVER, Leftover(from_crashed=2)),
        (Left(0, 1.0, OTHERS, 0, 0b00010), 0, NEVER, Leftover(from_crashed=2)),
        (Left(0, 1.0, 0b01000, 0, 0b10000), 0, NEVER, Leftover(disagreed=1)),
        (Left(3, 1.0, 0b00100, 0b11000, 0), STOPPED, NEVER, Leftover(stopped=1, behind_stopped=1)),
        (Left(2, 1.0, OTHERS, 0, 0), STOPPED, NEVER, Leftover(stopped=2)),
        (Left(0, 1.0, OTHERS, 0, 0b00100), STOPPED, NEVER, Leftover(behind_stopped=2)),
        (Left(3, 1.0, 0b10000, 0, 0), 0, 2.0, Leftover(gap=1)),
        (Left(3, 3.0, 0b10000, 0, 0), 0, 2.0, Leftover(missing=1)),
        (Left(3, 1.0, 0b10000, 0b00100, 0), 0, NEVER, Leftover(waiting=1, missing=1)),
    ],
)
def test_the_first_reason_counts(
    left: Left, stopped: int, gap_s: float, expected: Leftover
) -> None:
    assert explain([left], 0, DEAD, stopped, gap_s) == expected
    assert explain([left, left], 7, DEAD, stopped, gap_s) == Leftover(
        7, *(2 * count for count in expected[1:])
    )


def test_the_sentence_names_who_has_stopped() -> None:
    assert Leftover(for_crashed=88, stopped=1200, behind_stopped=3).sentence(["p2"]) == (
        "88 for crashed processes; 1,200 for or from p2, which has stopped; "
        "3 that may have to go through it"
    )
    assert Leftover(behind_stopped=1).sentence(["p2", "p3"]) == (
        "1 that may have to go through p2, p3, which have stopped"
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
    assert chronicle.stopped == 0b110
    for process in (1, 2):
        chronicle.add(process, view, 4.0 + process)
    assert chronicle.stopped == 0
    chronicle.add(0, stop, 7.0)
    chronicle.add(0, Notice(Event.RESUMED, "group 0", 2), 7.5)
    chronicle.add(0, stop, 8.0)
    assert chronicle.stopped == 0b001
    told = chronicle.sentences(make_scenario({"protocol": "daisy", "processes": 3}), 9.0)
    assert [sentence for sentence in told if "stop" in sentence] == [
        "1.000 s to 1.500 s: p1, p2 are cut off from most of group 0 and stop, until 6.000 s",
        "7.000 s: p0 is cut off from most of group 0 and stops, until 7.500 s",
        "8.000 s: p0 is cut off from most of group 0 and stops",
    ]
