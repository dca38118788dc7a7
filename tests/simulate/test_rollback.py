"""`pairs` with rollback (Schiper, Eggli, Sandoz, section 4.3) in the simulator, and how a trace
speaks of what was taken back."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.explore.schedule import factory_of
from antecede.fuzzing.drawing import draw
from antecede.fuzzing.judging import judge
from antecede.live.protocol_choice import ProtocolChoice
from antecede.message import Membership, Message, MessageId
from antecede.order import Deliver, Effect, Packet, TakeBack, Transmit
from antecede.orders import _recovering
from antecede.orders._recovering import Recovering
from antecede.orders._rollback import Recoverable, time_of_failure
from antecede.orders.pairs import OrderingBuffers, PairsOptions
from antecede.simulate import Scenario, make_scenario, simulate
from antecede.simulate.judgement import EARLY
from antecede.simulate.recorder import Recorder
from antecede.simulate.records import ARRIVE, pack_record
from antecede.simulate.undoing import Undoing
from antecede.trace import SEND, read_trace
from antecede.verify import OnlineOracle
from antecede.verify.oracle import judge as judge_run
from bench import rollback

PRINTED_STUCK = 167
"""A seed of the fuzzer with which the paper's own N leaves messages waiting for ever."""


def scenario(seed: int, **changes: Any) -> Scenario:
    """Copies get lost, and a process takes some of its messages to the grave."""
    plain = {
        "protocol": "pairs",
        "options": {"recovery": "rollback"},
        "processes": 5,
        "messages": 150,
        "seed": seed,
        "workload": {"kind": "unicast", "cascade": 0.3},
        "network": {"delay": "exponential:0.05", "loss": 0.15},
        "crashes": [{"process": 1, "time_s": 1.5}],
        "patience_s": 20.0,
    }
    return make_scenario({**plain, **changes})


@pytest.mark.parametrize("seed", [2, 7])
def test_survivors_roll_back_and_the_trace_is_what_they_are_left_with(
    seed: int, tmp_path: Path
) -> None:
    summary = simulate(scenario(seed), tmp_path / "trace.parquet")
    assert summary.undone is not None
    assert summary.undone.agreements == 1
    assert summary.undone.taken_back > 20
    assert summary.undone.void > 20
    assert summary.undone.lost_s > summary.undone.stopped_s > 0
    views = [told.split(": ", 1)[1] for told in summary.notices if "view" in told]
    first, second = "p0, p1, p2, p3, p4", "p0, p2, p3, p4"
    assert views == [f"view 1 of the sites: {first}", f"view 2 of the sites: {second}"]
    [run] = read_trace(tmp_path / "trace.parquet").runs  # which checks every rule of the format
    verdict = judge_run(run)
    assert verdict.messages == summary.messages < 150
    assert verdict.violations == summary.violations == 0
    left = summary.leftover
    assert left.waiting == left.missing == left.disagreed == 0
    assert sum(left) == summary.undelivered == verdict.undelivered


def test_without_rollback_the_survivors_are_cut_off_from_each_other() -> None:
    summary = simulate(scenario(2, options={}))
    assert summary.leftover.waiting > 0


def test_two_failures_are_agreed_on_one_after_the_other() -> None:
    crashes = [{"process": 1, "time_s": 1.5}, {"process": 4, "time_s": 1.5}]
    summary = simulate(scenario(3, processes=7, crashes=crashes))
    assert summary.undone is not None
    assert summary.undone.agreements == 2
    assert summary.undone.taken_back > 0
    left = summary.leftover
    assert left.waiting == left.missing == left.disagreed == summary.violations == 0


def test_who_is_cut_off_for_long_is_out_and_says_so() -> None:
    cut = {"start_s": 0.5, "end_s": 6.0, "sides": [[0]], "packets": "lost"}
    network = {"delay": "exponential:0.05", "partitions": [cut]}
    summary = simulate(scenario(1, network=network, crashes=[], messages=400))
    assert summary.stopped == ("p0",)
    assert summary.undone is not None
    assert summary.undone.agreements == 1
    assert summary.leftover.waiting == summary.violations == 0


def test_nobody_goes_on_without_a_majority() -> None:
    crashes = [{"process": process, "time_s": 1.5} for process in range(3)]
    summary = simulate(scenario(2, crashes=crashes))
    assert summary.undone is not None
    assert summary.undone.agreements == summary.undone.taken_back == 0
    assert summary.stopped == ("p3", "p4")


@pytest.mark.parametrize("make", [ProtocolChoice, factory_of], ids=["live", "explore"])
def test_where_nothing_can_be_taken_back_it_is_refused(make: Callable[..., object]) -> None:
    with pytest.raises(Misuse, match="takes deliveries back"):
        make("pairs", {"recovery": "rollback"})


# What would be wrong is noticed.


def test_the_printed_time_of_failure_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = draw("pairs", PRINTED_STUCK)
    assert judge(drawn).failure is None
    monkeypatch.setattr(
        _recovering, "time_of_failure", lambda reports: time_of_failure(reports, printed=True)
    )
    assert judge(drawn).failure is not None


def test_void_messages_that_are_not_dropped_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Recoverable, "is_void", lambda self, packet: False)
    assert judge(scenario(2)).failure is not None


def test_a_history_that_is_taken_back_is_judged_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """An order that waits for nothing until the first failure is caught, though all that it did
    wrong may be undone."""
    monkeypatch.setattr(OrderingBuffers, "unmet", lambda self, packet: None)
    failure = judge(scenario(2)).failure
    assert failure is not None
    assert failure.kind == EARLY


def test_an_undone_violation_counts_though_the_trace_does_not_show_it() -> None:
    """0 sends 1 to 2, then 2 to 1, who sends 1 to 2, which overtakes the first and is void."""
    recorder = Recorder(None, OnlineOracle(["p0", "p1", "p2"]))
    recorder.undoing = Undoing()

    def note(kind: int, process: int, sender: int, number: int) -> None:
        recorder.buffer += pack_record(kind, process, sender, number, 1.0, 0.0, 1.0)

    for process, number, to in ((0, 1, 2), (0, 2, 1)):
        note(SEND, process, process, number)
        recorder.sends.append((1 << to, 0, 0))
    note(ARRIVE, 1, 0, 2)
    note(SEND, 1, 1, 1)
    recorder.sends.append((1 << 2, 0, 0))
    note(ARRIVE, 2, 1, 1)
    recorder.take_back(2, [MessageId(1, 1)], 2.0)
    recorder.undoing.void.add(MessageId(1, 1))
    recorder.flush()
    assert recorder.violations == 0
    assert recorder.messages == 2
    assert len(recorder.undone_violations) == 1


# The rules that random runs hardly ever need.


def site(process: int) -> Recovering:
    return Recovering(process, Membership(3), PairsOptions(recovery="rollback"))


def packets(effects: list[Effect], to: int) -> list[Packet[Any]]:
    found = [effect for effect in effects if isinstance(effect, Transmit)]
    return [effect.packet for effect in found if effect.to >> to & 1]


def delivered(effects: list[Effect]) -> list[MessageId]:
    return [effect.message.id for effect in effects if isinstance(effect, Deliver)]


def test_a_message_from_after_a_decision_waits_until_that_is_known() -> None:
    """1 has decided on the failure of 2 already, and rolled back; 0 has not."""
    zero, one = site(0), site(1)
    one._suspect(0b100, 1.0)
    one._decide(2, 1, 1.0)
    [message] = [p for p in packets(one.send(Message(MessageId(1, 1), 0b001), 2.0), 0) if p.message]
    assert delivered(zero.receive(message, 2.1)) == []
    assert [held.message for held in zero.held()] == [MessageId(1, 1)]
    status = one._say().packet
    assert delivered(zero.receive(status, 2.2)) == [MessageId(1, 1)]
    assert zero.state.decisions == one.state.decisions


def test_what_arrives_after_the_report_waits_for_the_decision() -> None:
    zero, one = site(0), site(1)
    [message] = [p for p in packets(one.send(Message(MessageId(1, 1), 0b001), 0.0), 0) if p.message]
    zero._suspect(0b100, 1.0)
    zero.state.report = zero._site.report(2)
    assert delivered(zero.receive(message, 1.1)) == []
    assert delivered(zero._decide(2, 1, 1.2)) == [MessageId(1, 1)]


def test_copies_of_void_messages_are_sent_no_more() -> None:
    """0 delivers a message of 2 that turns out to be void, and has sent one since."""
    zero, two = site(0), site(2)
    [lost] = [p for p in packets(two.send(Message(MessageId(2, 1), 0b001), 0.0), 0) if p.message]
    assert delivered(zero.receive(lost, 0.1)) == [MessageId(2, 1)]
    zero.send(Message(MessageId(0, 1), 0b010), 0.2)
    assert list(zero.state.copies) == [(1, MessageId(0, 1))]
    zero._suspect(0b100, 4.0)
    effects = zero._decide(2, 1, 4.1)
    [taken] = [effect for effect in effects if isinstance(effect, TakeBack)]
    assert taken.deliveries == (MessageId(2, 1),)
    assert taken.void == (MessageId(0, 1), MessageId(2, 1))
    assert zero.state.copies == {}


def test_a_site_resumes_from_its_snapshot() -> None:
    zero, two = site(0), site(2)
    for packet in packets(two.send(Message(MessageId(2, 1), 0b001), 0.0), 0):
        zero.receive(packet, 0.1)
    zero.send(Message(MessageId(0, 1), 0b010), 0.2)
    again = site(0)
    again.restore(zero.snapshot())
    assert again.snapshot() == zero.snapshot()
    for one in (zero, again):
        one._suspect(0b100, 4.0)
    assert again._decide(2, 1, 4.1) == zero._decide(2, 1, 4.1)


def test_the_page_says_what_its_generator_does() -> None:
    page = rollback.PAGE.read_text("utf-8")
    assert page.startswith(rollback.introduction()), "run `python -m bench.rollback`"
    line = rollback.measured("To one process", 0.02, "`pairs`")
    assert f"| {' | '.join(line)} |" in page, "run `python -m bench.rollback`"
