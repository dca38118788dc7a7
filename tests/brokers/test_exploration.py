"""Every schedule of small systems, and planted bugs that one of them must show."""

from itertools import islice

import pytest

from tests.brokers import lane_world, number_world
from tests.brokers.lane_world import Case, Sent
from tests.brokers.number_world import Case as NumberCase
from tests.brokers.planted import LANES, NUMBERS, Planted, plant
from tests.brokers.survey import lane_cases, number_cases
from tests.brokers.world import Flaw

A, B, C = Sent(0), Sent(1), Sent(2)
QUESTIONS = ((A, B), (B,), ())
LANE_CASES = {
    "answers": Case((0b00, 0b01, 0b11), ((A,), (B,), ())),
    "answers taken late": Case((0b00, 0b01, 0b11), ((A,), (B,), ()), eager=False),
    "two in flight": Case((0b00, 0b01, 0b11), QUESTIONS),
    "through a lane nobody reads": Case((0b000, 0b001, 0b010, 0b101), ((A,), (B,), (C,), ())),
    "filtered": Case((0b00, 0b01, 0b11), ((A, Sent(1, 0b100)), (B,), ()), probes=True),
    "filtered and named": Case(
        (0b00, 0b01, 0b11), ((Sent(0, 0b100),), (B,), ()), probes=True
    ),
    "the publisher starts again": Case((0b00, 0b01, 0b11), QUESTIONS, crashes=0b010),
    "starts again, passing on": Case(
        (0b000, 0b001, 0b010, 0b101), ((A,), (B,), (C,), ()), crashes=0b100
    ),
    "the reader starts again": Case((0b00, 0b01, 0b11), ((A,), (B,), ()), crashes=0b100),
    "unheard": Case((0b00, 0b01, 0b11), QUESTIONS, loses=0b001),
    "a late reader": Case((0b00, 0b01, 0b11), QUESTIONS, late=0b100),
}  # fmt: skip
NUMBER_CASES = {
    "answers": NumberCase((0b00, 0b01, 0b11), ((0,), (1,), ())),
    "two topics": NumberCase((0b00, 0b01, 0b11), ((0, 1), (1,), ())),
    "through a topic": NumberCase((0b000, 0b001, 0b010, 0b101), ((0,), (1,), (2,), ())),
    "concurrent, then passed on": NumberCase((0b00, 0b00, 0b01, 0b11), ((0,), (0,), (1,), ())),
    "back and forth": NumberCase((0b10, 0b01, 0b11), ((0, 0), (1,), ())),
    "lost": NumberCase((0b00, 0b01, 0b11), ((0, 0), (1,), ()), losses=1),
    "lost in between": NumberCase((0b0, 0b1), ((0, 0, 0), ()), losses=1),
    "two fronts": NumberCase((0, 0, 0b011, 0b110), ((1,), (0, 0), (2,), ())),
    "late": NumberCase((0b00, 0b01, 0b11), ((0, 1), (1,), ()), late=0b100),
}


@pytest.mark.parametrize("name", LANE_CASES)
def test_lanes(name: str) -> None:
    explorer = lane_world.Explorer(LANE_CASES[name])
    explorer.search()
    assert explorer.deliveries > 5
    assert explorer.waits > 0  # somewhere something had to wait


@pytest.mark.parametrize("name", NUMBER_CASES)
def test_numbers(name: str) -> None:
    explorer = number_world.Explorer(NUMBER_CASES[name])
    explorer.search()
    assert explorer.deliveries > 5


def test_all_cases_of_two_messages_and_some_of_three() -> None:
    lanes = [*lane_cases(3, 2, 2), *islice(lane_cases(3, 2, 3), 0, None, 90)]
    for case in lanes:
        lane_world.Explorer(case).search()
    numbers = [*number_cases(3, 2, 2), *islice(number_cases(3, 2, 3), 0, None, 90)]
    for number_case in numbers:
        number_world.Explorer(number_case).search()
    assert len(lanes) == len(numbers) == 87 + 3


@pytest.mark.parametrize("bug", LANES, ids=lambda bug: bug.name)
def test_planted_bugs_of_lanes_are_caught(bug: Planted) -> None:
    machine = plant(bug, "lanes").Lanes
    with pytest.raises(Flaw):
        lane_world.Explorer(LANE_CASES[bug.case], machine).search()


@pytest.mark.parametrize("bug", NUMBERS, ids=lambda bug: bug.name)
def test_planted_bugs_of_numbers_are_caught(bug: Planted) -> None:
    machine = plant(bug, "numbers").Numbers
    with pytest.raises(Flaw):
        number_world.Explorer(NUMBER_CASES[bug.case], machine).search()
