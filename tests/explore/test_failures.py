"""What the explorer finds wrong, the schedule it shows, and what it makes of it."""

from itertools import product

import pytest

from antecede.errors import BadInput, Misuse
from antecede.explore import (
    Exploration,
    Explorer,
    Failure,
    Flaw,
    Kind,
    Program,
    Send,
    Settings,
    Step,
    explore,
    explore_program,
    replay,
)
from antecede.explore import survey as survey_module
from antecede.explore.schedule import Impossible, Run, shrink
from antecede.message import Membership
from antecede.order import Channels, Gives, Order
from antecede.protocols import find
from tests.explore.planted import (
    Chatterer,
    Deaf,
    DeepSleeper,
    Eavesdropper,
    Echo,
    Fragile,
    Impostor,
    Insomniac,
    Inventor,
    Shouter,
    Sleeper,
    Stutterer,
)

CAUSAL = Settings(expect=Gives.CAUSAL)
TRIANGLE = Program(Membership(3), ((Send(0b100), Send(0b010)), (Send(0b100),), ()))
TWICE = Program(Membership(2), ((Send(0b10), Send(0b10)), ()))
BROKEN = "process 0 broke down: BrokenInvariant"


def _failure(order: type[Order], program: Program, settings: Settings | None = None) -> Failure:
    failure = explore_program(order, program, settings).failure
    assert failure is not None
    return failure


def test_the_triangle_breaks_fifo() -> None:
    failure = _failure(find("fifo"), TRIANGLE, CAUSAL)
    assert str(failure) == (
        "early delivery: process 2 delivered 1:1 without 0:1, which it depends on through 0:2\n"
        "1. process 0 sends 0:1 to {2}\n"
        "2. process 0 sends 0:2 to {1}\n"
        "3. process 1 receives 0:2 and delivers 0:2\n"
        "4. process 1 sends 1:1 to {2}\n"
        "5. process 2 receives 1:1 and delivers 1:1\n"
        "No schedule of this program fails in fewer steps."
    )


def test_the_first_unicast_program_that_breaks_fifo_is_a_triangle() -> None:
    found = explore("fifo", 3, 4, addressing=Kind.UNICAST, settings=CAUSAL)
    assert found.failure is not None
    assert sum(map(len, found.failure.program.sends)) == 3
    assert len(found.failure.steps) == 5


def test_one_channel_breaks_none() -> None:
    for expect in (Gives.FIFO, Gives.CAUSAL):
        failure = explore("none", 3, 3, settings=Settings(expect=expect)).failure
        assert failure is not None
        assert failure.program.sends == ((Send(0b10), Send(0b10)), (), ())
        assert failure.steps == (Step("send", 0), Step("send", 0), Step("receive", 1, 0, 2))
        assert failure.sentence == "process 1 delivered 0:2 without 0:1, which it depends on"


def test_fifo_channels_save_none_from_itself_but_not_from_the_triangle() -> None:
    settings = Settings(expect=Gives.CAUSAL, channels=Channels.FIFO)
    assert explore("none", 2, 4, settings=settings).passed
    failure = _failure(find("none"), TRIANGLE, settings)
    assert failure.channels is Channels.FIFO
    assert len(failure.steps) == 5


def test_a_copy_to_oneself_orders_nothing() -> None:
    """Process 0 hears of 1:1 from process 1 alone; its own 0:1, addressed to itself, too, was
    never due from anybody."""
    program = Program(Membership(2), ((Send(0b01), Send(0b11)), (Send(0b01),)))
    assert explore_program(find("fifo"), program, CAUSAL).passed


def test_each_protocol_is_held_to_what_it_promises() -> None:
    assert explore("none", 3, 3).passed
    assert explore("fifo", 3, 3).passed


@pytest.mark.parametrize(
    ("order", "kind", "sentence"),
    [
        (Deaf, Flaw.UNDELIVERED, "process 1 never delivers 0:2; it does not hold it"),
        (Stutterer, Flaw.DOUBLE, "process 1 delivered 0:1 twice"),
        (Eavesdropper, Flaw.STRAY, "process 0 delivered 0:1, which is addressed to {1}"),
        (Inventor, Flaw.INVENTED, "process 1 delivered 0:2, which was never sent"),
        (Fragile, Flaw.ERROR, "process 1 broke down: ZeroDivisionError('too much')"),
        (Impostor, Flaw.ERROR, f"{BROKEN}('process 0 transmits a packet whose source is 1')"),
        (Shouter, Flaw.ERROR, f"{BROKEN}('a packet is transmitted to 0b110: no such process')"),
    ],
)
def test_what_can_be_wrong(order: type[Order], kind: Flaw, sentence: str) -> None:
    program = TWICE if order in (Deaf, Fragile) else Program(Membership(2), ((Send(0b10),), ()))
    failure = _failure(order, program)
    assert (failure.kind, failure.sentence) == (kind, sentence)


def test_a_planted_deadlock_is_found_with_its_reason() -> None:
    class Waiting(find("fifo")):  # type: ignore[misc]
        def unmet(self, packet):  # type: ignore[no-untyped-def]
            """Waits for one message more than there is."""
            serial = packet.stamp.serial
            return (packet.source, serial) if serial == 2 else super().unmet(packet)

    failure = _failure(Waiting, TWICE)
    assert failure.kind is Flaw.UNDELIVERED
    assert failure.sentence == "process 1 never delivers 0:2; it holds it and waits for nothing"
    assert len(failure.steps) == 4
    assert failure.lines[-1] == "process 1 receives 0:2"


def test_no_schedule_of_the_triangle_is_shorter() -> None:
    """Every sequence of up to four steps, possible or not, is tried on real orders."""
    failure = _failure(find("fifo"), TRIANGLE, CAUSAL)
    steps = [
        *(Step("send", process) for process in range(3)),
        *(Step("receive", p, q, n) for p, q, n in product(range(3), range(3), (1, 2)) if p != q),
    ]
    for length in range(1, 5):
        for sequence in product(steps, repeat=length):
            run = Run(TRIANGLE, find("fifo"), Gives.CAUSAL, Channels.ANY)
            try:
                for step in sequence:
                    run.step(step)
            except Impossible:
                continue
            assert run.finding is None
    assert len(failure.steps) == 5


def test_a_failure_survives_being_written_down() -> None:
    failure = explore("fifo", 3, 3, settings=CAUSAL).failure
    assert failure is not None
    again = Failure.from_text(failure.to_text())
    assert again == failure
    finding = replay(again)
    assert finding is not None
    assert finding.sentence == failure.sentence
    with pytest.raises(BadInput, match="not a failure"):
        Failure.from_text("{}")


def test_a_schedule_runs_against_another_order() -> None:
    failure = _failure(find("fifo"), TRIANGLE, CAUSAL)
    finding = replay(failure, find("none"))
    assert finding is not None
    assert finding.kind is Flaw.EARLY
    assert replay(failure, find("matrix")) is None
    with pytest.raises(Misuse, match="names no protocol"):
        replay(failure)


def test_a_step_that_another_order_makes_impossible_is_left_out() -> None:
    program = Program(Membership(2), ((Send(0b10),), ()))
    steps = (Step("send", 0), Step("receive", 1, 0, 1), Step("receive", 0, 1, 1))
    failure = Failure(kind=Flaw.EARLY, sentence="", program=program, steps=steps, lines=())
    assert replay(failure, Echo) is None
    assert replay(failure, find("none")) is None


def test_what_is_left_after_the_steps_happens_too() -> None:
    failure = _failure(find("fifo"), TRIANGLE, CAUSAL)
    finding = replay(failure, Deaf)  # the early delivery is not prevented
    assert finding is not None
    assert finding.kind is Flaw.UNDELIVERED


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Step("receive", 1, 0, 1), "is not on its way"),
        (Step("send", 2), "nothing more to send"),
        (Step("wake", 0), "has not asked"),
        (Step("sleep", 0), "there is no step 'sleep'"),
    ],
)
def test_a_step_that_cannot_happen(step: Step, reason: str) -> None:
    run = Run(TRIANGLE, find("none"), Gives.CAUSAL, Channels.ANY)
    with pytest.raises(Impossible, match=reason):
        run.step(step)


def test_a_replay_keeps_fifo_channels() -> None:
    run = Run(TWICE, find("none"), Gives.CAUSAL, Channels.FIFO)
    run.step(Step("send", 0))
    run.step(Step("send", 0))
    with pytest.raises(Impossible, match="overtakes"):
        run.step(Step("receive", 1, 0, 2))


def test_needless_steps_are_left_out() -> None:
    program = Program(Membership(3), ((Send(0b10), Send(0b110)), (), (Send(0b10),)))
    steps = (
        Step("send", 2),
        Step("send", 0),
        Step("receive", 1, 2, 1),
        Step("send", 0),
        Step("receive", 2, 0, 1),
        Step("receive", 1, 0, 2),
    )
    failure = Failure(kind=Flaw.EARLY, sentence="", program=program, steps=steps, lines=())
    assert shrink(failure, find("none")) == [steps[1], steps[3], steps[5]]


def test_a_schedule_too_far_for_breadth_first_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is then taken from the reduced schedules and shrunk."""
    monkeypatch.setattr(survey_module, "_MAX_SHORTEST", 1)
    failure = _failure(find("fifo"), TRIANGLE, CAUSAL)
    assert len(failure.steps) == 5
    assert not failure.is_shortest
    assert str(failure).endswith("There may be a shorter schedule: too many to try them all.")
    liveness = _failure(Deaf, TWICE)
    assert liveness.kind is Flaw.UNDELIVERED
    assert not liveness.is_shortest


def test_a_wake_up_is_a_step() -> None:
    failure = _failure(Sleeper, TWICE, CAUSAL)
    assert failure.lines == (
        "process 0 sends 0:1 to {1}",
        "process 0 sends 0:2 to {1}",
        "process 1 receives 0:2",
        "process 1 wakes at 1 and delivers 0:2",
    )
    assert explore_program(Sleeper, TWICE).passed


def test_too_few_wake_ups_are_no_pass() -> None:
    found = explore_program(DeepSleeper, TWICE)
    assert found.failure is None
    assert not found.passed
    assert "wake-up" in found.incomplete
    with pytest.raises(Misuse, match="3 numbers for 2 processes"):
        Explorer(Sleeper, Membership(2), Settings(max_wakes=(1, 1, 1)))


@pytest.mark.parametrize("max_wakes", [0, 4])
@pytest.mark.parametrize("reduction", [True, False])
def test_wake_ups_beyond_the_limit_are_owned_up_to(max_wakes: int, reduction: bool) -> None:
    """It breaks down on the fifth wake-up; whoever does not wait for that sees nothing wrong."""
    program = Program(Membership(2), ((Send(0b10),), ()))
    settings = Settings(max_wakes=max_wakes, reduction=reduction)
    found = explore_program(Insomniac, program, settings)
    assert found.passed
    assert found.wakes_cut
    assert Exploration().plus(found).wakes_cut
    assert found.plus(Exploration()).wakes_cut
    failure = _failure(Insomniac, program, Settings(max_wakes=5, reduction=reduction))
    assert failure.sentence == "process 1 broke down: ZeroDivisionError('too tired')"
    assert [step.kind for step in failure.steps] == ["send", "receive", *["wake"] * 5]


def test_wake_ups_that_all_came_are_not_cut() -> None:
    assert not explore_program(Sleeper, TWICE).wakes_cut
    assert explore_program(Sleeper, TWICE, Settings(max_wakes=0)).wakes_cut
    assert not explore_program(find("none"), TWICE, Settings(max_wakes=0)).wakes_cut


def test_too_many_states_are_no_pass() -> None:
    for reduction in (True, False):
        found = explore_program(find("none"), TRIANGLE, Settings(reduction=reduction, max_states=4))
        assert found.failure is None
        assert not found.passed
        assert found.incomplete == "the limit of 4 states was hit"


def test_a_protocol_that_never_rests_is_no_pass() -> None:
    found = explore_program(Chatterer, TWICE)
    assert not found.passed
    assert "earlier state" in found.incomplete
