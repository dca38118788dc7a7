"""The definition of causal delivery, one small example for each of its clauses."""

import tracemalloc

import pytest

from antecede.errors import BadTrace
from antecede.message import MessageId
from antecede.trace import HOP, rules
from antecede.verify import (
    WITNESS_LIMIT,
    Answer,
    OnlineOracle,
    Verdict,
    Violation,
    Witness,
    judge,
)
from tests.trace.builders import Row, deliver, event, load, positioned, receive, send


def judged(*rows: Row) -> Verdict:
    return judge(load(*positioned(*rows)))


def test_first_in_first_out() -> None:
    verdict = judged(
        *[send("p", 1, "q"), send("p", 2, "q")],
        *[deliver("q", "p:2", time=3.1), deliver("q", "p:1")],
    )
    witness = Witness("r", "q", "p:1", "p:2", ("p:1", "p:2"), 3.1)
    assert verdict == Verdict(1, 2, 2, 1, 0, 0, (witness,))


def test_across_processes() -> None:
    verdict = judged(
        *[send("p", 1, "qr"), deliver("q", "p:1"), send("q", 1, "r")],
        *[deliver("r", "q:1"), deliver("r", "p:1")],
    )
    assert [(w.first, w.second, w.path) for w in verdict.witnesses] == [
        ("p:1", "q:1", ("p:1", "q:1"))
    ]


def test_through_a_message_that_went_elsewhere() -> None:
    verdict = judged(
        *[send("p", 1, "r"), send("p", 2, "q"), deliver("q", "p:2")],
        *[send("q", 1, "s"), deliver("s", "q:1"), send("s", 1, "r")],
        *[deliver("r", "s:1"), deliver("r", "p:1")],
    )
    assert [w.path for w in verdict.witnesses] == [("p:1", "p:2", "q:1", "s:1")]


def test_concurrent_messages_come_in_any_order() -> None:
    verdict = judged(
        *[send("p", 1, "rs"), send("q", 1, "rs")],
        *[deliver("r", "p:1"), deliver("r", "q:1"), deliver("s", "q:1"), deliver("s", "p:1")],
    )
    assert verdict == Verdict(1, 2, 4, 0, 0, 0, ())
    assert verdict.answer is Answer.KEPT


def test_one_violation_however_many_were_overtaken() -> None:
    verdict = judged(
        *[send("p", 1, "q"), send("p", 2, "q"), send("p", 3, "q")],
        *[deliver("q", "p:3"), deliver("q", "p:2"), deliver("q", "p:1")],
    )
    assert [(w.first, w.second) for w in verdict.witnesses] == [("p:1", "p:3"), ("p:1", "p:2")]
    assert verdict.violations == 2


def test_reception_is_not_delivery() -> None:
    verdict = judged(
        *[send("p", 1, "qr"), receive("q", "p:1"), send("q", 1, "r")],
        *[deliver("r", "q:1"), deliver("r", "p:1"), receive("r", "p:1")],
    )
    assert verdict.answer is Answer.KEPT
    assert verdict.undelivered == 1


def test_undelivered_is_no_violation_but_what_depends_on_it_is() -> None:
    lost = [send("p", 1, "q")]
    assert judged(*lost) == Verdict(1, 1, 0, 0, 1, 0, ())
    assert judged(*lost, send("p", 2, "q"), deliver("q", "p:2")).violations == 1


def test_own_copies_order_nothing() -> None:
    """p's copy of p:1 comes after p:2 went out and r:1 came in; nobody minds."""
    verdict = judged(
        *[send("p", 1, "pr"), deliver("r", "p:1"), send("r", 1, "p"), deliver("p", "r:1")],
        *[send("p", 2, "p"), deliver("p", "p:2"), deliver("p", "p:1")],
    )
    assert verdict == Verdict(1, 3, 4, 0, 0, 0, ())


def test_own_copy_without_a_row_is_not_undelivered() -> None:
    assert judged(send("p", 1, "pq"), deliver("q", "p:1")) == Verdict(1, 1, 1, 0, 0, 0, ())


def test_crashed_destinations_are_counted_apart() -> None:
    verdict = judged(send("p", 1, "qr"), event("crash", "r"))
    assert (verdict.undelivered, verdict.undelivered_at_crashed) == (2, 1)


def test_each_layer_by_itself() -> None:
    """Hops overtake each other while the messages that they carry arrive in order."""
    run = load(
        *positioned(
            *[send("p", 1, "q"), send("p", 1, "q", layer="hop")],
            *[send("p", 2, "q"), send("p", 2, "q", layer="hop")],
            *[deliver("q", "p:2", layer="hop"), deliver("q", "p:1", layer="hop")],
            *[deliver("q", "p:1"), event("crash", "q")],
        )
    )
    assert judge(run) == Verdict(1, 2, 1, 0, 1, 1, ())
    assert judge(run, HOP).violations == 1


def test_the_order_may_have_to_be_computed() -> None:
    run = load(
        *[deliver("q", "p:2"), deliver("q", "p:1")],
        *[send("p", 1, "q"), send("p", 2, "q")],
    )
    assert judge(run).violations == 1


def test_online() -> None:
    oracle = OnlineOracle(["p", "q"], "live")
    oracle.send(0, 0, 1, 0b10)
    oracle.send(0, 0, 2, 0b11)
    assert oracle.deliver(0, 0, 2) is None
    violation = Violation(1, MessageId(0, 1), MessageId(0, 2), 3.1)
    assert oracle.deliver(1, 0, 2, 3.1) == violation
    assert oracle.witness(violation).sentence() == (
        "q delivered p:2 at 3.1 s without p:1, which p:2 directly depends on"
    )
    assert oracle.finish() == Verdict(1, 2, 2, 1, 1, 0, (oracle.witness(violation),))
    oracle.crash(1)
    assert oracle.finish().undelivered_at_crashed == 1
    assert oracle.deliver(1, 0, 1) is None
    assert oracle.finish().undelivered == 0


def test_the_path_is_a_shortest_one() -> None:
    """Round by b, c and d it would be longer than by e; a:1 is what f misses."""
    verdict = judged(
        *[send("a", 1, "f"), send("a", 2, "be")],
        *[deliver("b", "a:2"), send("b", 1, "c"), deliver("c", "b:1"), send("c", 1, "d")],
        *[deliver("e", "a:2"), send("e", 1, "d"), deliver("d", "e:1"), deliver("d", "c:1")],
        *[send("d", 1, "f"), deliver("f", "d:1")],
    )
    assert [w.path for w in verdict.witnesses] == [("a:1", "a:2", "e:1", "d:1")]


def test_no_path_between_concurrent_messages() -> None:
    oracle = OnlineOracle(["p", "q"])
    oracle.send(0, 0, 1, 0b10)
    oracle.send(1, 1, 1, 0b01)
    assert oracle.path(MessageId(0, 1), MessageId(1, 1)) == []


def test_what_no_run_can_hold_is_refused_and_changes_nothing() -> None:
    oracle = OnlineOracle(["p", "q", "r"], "live")
    oracle.send(0, 0, 1, 0b10)
    oracle.deliver(1, 0, 1)
    before = oracle.finish()
    with pytest.raises(BadTrace, match="p:1 was sent again") as caught:
        oracle.send(0, 0, 1, 0b10)
    assert caught.value.rule == rules.SENT_ONCE
    with pytest.raises(BadTrace, match="q:1 was sent by another process") as caught:
        oracle.send(0, 1, 1, 0b10)
    assert caught.value.rule == rules.SEND_AT_SENDER
    with pytest.raises(BadTrace, match="q:1 was delivered, which nobody sent") as caught:
        oracle.deliver(0, 1, 1)
    assert caught.value.rule == rules.HAS_SEND
    with pytest.raises(BadTrace, match="p:1 was delivered again") as caught:
        oracle.deliver(1, 0, 1)
    assert caught.value.rule == rules.DELIVERED_ONCE
    with pytest.raises(BadTrace, match="p:1 was delivered, not addressed to it") as caught:
        oracle.deliver(2, 0, 1)
    assert caught.value.rule == rules.AT_DESTINATION
    assert caught.value.where == "run 'live', process 'r'"
    assert oracle.finish() == before


def test_all_are_counted_the_first_are_told() -> None:
    oracle = OnlineOracle(["p", "q"])
    for number in range(1, 152):
        oracle.send(0, 0, number, 0b10)
    for number in range(151, 0, -1):
        oracle.deliver(1, 0, number)
    verdict = oracle.finish()
    assert verdict.violations == 150
    assert len(verdict.witnesses) == WITNESS_LIMIT
    assert [w.second for w in verdict.witnesses[:2]] == ["p:151", "p:150"]


def test_what_is_delivered_everywhere_takes_little_memory() -> None:
    """Ten thousand pasts of up to ten thousand messages each would be 6 MB more."""
    oracle = OnlineOracle(["p", "q"])
    tracemalloc.start()
    for number in range(1, 10_001):
        oracle.send(0, 0, number, 0b11)
        oracle.deliver(1, 0, number)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 6_000_000
