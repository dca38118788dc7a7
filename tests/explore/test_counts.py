"""States and schedules of programs that are small enough to count by hand."""

import pytest

from antecede.explore import Program, Send, Settings, explore_program
from antecede.message import Membership
from antecede.order import Channels, Gives
from antecede.orders.none import Unordered

EVERYTHING = Settings(reduction=False, expect=Gives.NOTHING)
REDUCED = Settings(expect=Gives.NOTHING)


def _count(program: Program, settings: Settings) -> tuple[int, int]:
    found = explore_program(Unordered, program, settings)
    assert found.passed
    return found.states, found.schedules


@pytest.mark.parametrize("settings", [EVERYTHING, REDUCED])
def test_one_message(settings: Settings) -> None:
    program = Program(Membership(2), ((Send(0b10),), ()))
    # Before, in flight, delivered; or before, after, and a tail in which process 1 receives.
    assert _count(program, settings) == (3, 1)


def test_two_messages_on_one_channel() -> None:
    program = Program(Membership(2), ((Send(0b10), Send(0b10)), ()))
    # Each message is unsent, in flight or delivered, and the second is not sent before the first.
    assert _count(program, EVERYTHING) == (7, 3)
    # s s, then the arrivals in either order.
    assert _count(program, REDUCED)[1] == 2


def test_two_messages_on_one_fifo_channel() -> None:
    program = Program(Membership(2), ((Send(0b10), Send(0b10)), ()))
    settings = Settings(reduction=False, channels=Channels.FIFO)
    # s r s r and s s r r.
    assert _count(program, settings) == (6, 2)
    assert _count(program, Settings(channels=Channels.FIFO))[1] == 1


def test_two_senders() -> None:
    program = Program(Membership(3), ((Send(0b100),), (Send(0b100),), ()))
    assert _count(program, EVERYTHING) == (9, 6)
    assert _count(program, REDUCED)[1] == 2


def test_a_question_and_an_answer() -> None:
    program = Program(Membership(2), ((Send(0b10),), (Send(0b01),)))
    # Each message is unsent, in flight or delivered: 9. When one is delivered and the other in
    # flight, the second was sent before or after the delivery of the first: 2 more.
    assert _count(program, EVERYTHING) == (11, 6)
    # Either is sent first, the other before or after the arrival of that; the rest is tails.
    assert _count(program, REDUCED)[1] == 4


def test_one_broadcast() -> None:
    program = Program(Membership(3), ((Send(0b111, 0),), (), ()))
    assert _count(program, EVERYTHING) == (5, 2)
    assert _count(program, REDUCED)[1] == 1
