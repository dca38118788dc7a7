"""The oracle agrees with a naive one on hundreds of small executions, and the comparison finds
every bug planted in the oracle."""

import inspect
from collections.abc import Callable
from itertools import pairwise
from random import Random
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede.trace import SEND, Run
from antecede.verify import Verdict, judge, oracle
from tests.verify import brute
from tests.verify.executions import Execution, Message, random_execution

Judge = Callable[[Run], Verdict]


def compare(execution: Execution, judged_by: Judge) -> None:
    """Both oracles say the same, and every witness proves what it says."""
    run = execution.to_run()
    verdict = judged_by(run)
    expected = {(f.process, str(f.message)): f for f in brute.early_deliveries(execution)}
    assert {(w.process, w.second) for w in verdict.witnesses} == set(expected)
    assert verdict.violations == len(verdict.witnesses) == len(expected)
    assert verdict.undelivered == len(brute.undelivered(execution))
    sends = [run.message_of(at) for at in range(len(run.events)) if run.events.kind[at] == SEND]
    assert verdict.messages == len(sends)
    needs = brute.direct_dependencies(execution)
    for witness in verdict.witnesses:
        overtaken = expected[witness.process, witness.second].overtaken
        assert witness.first == min(map(str, overtaken), key=sends.index)
        path = [_message(text) for text in witness.path]
        assert [str(path[0]), str(path[-1])] == [witness.first, witness.second]
        assert all(one in needs[other] for one, other in pairwise(path))
        assert len(path) - 1 == brute.distance(execution, path[0], path[-1])


def _message(text: str) -> Message:
    sender, _, number = text.rpartition(":")
    return Message(sender, int(number))


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=2**32))
def test_both_oracles_agree(seed: int) -> None:
    compare(random_execution(Random(seed)), judge)


def test_the_executions_are_worth_comparing() -> None:
    """They are broken in many ways, and many are not broken at all."""
    findings = [brute.early_deliveries(random_execution(Random(seed))) for seed in range(300)]
    assert sum(not found for found in findings) > 50
    assert sum(len(found) > 1 for found in findings) > 30
    assert sum(len(f.overtaken) > 1 for found in findings for f in found) > 20


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "overtaken = past & self._awaited[process]", "overtaken = 0", id="no check at all"
        ),
        pytest.param(
            "self._past[process] |= past | 1 << index",
            "self._past[process] |= 1 << index",
            id="not transitive",
        ),
        pytest.param("        self._past[process] |= bit\n", "", id="own sends forgotten"),
        pytest.param(
            "        self._awaited[process] ^= 1 << index\n", "", id="deliveries forgotten"
        ),
        pytest.param(
            "if others := destinations & ~(1 << sender):",
            "if others := destinations:",
            id="own copies awaited",
        ),
        pytest.param(
            "first = (overtaken & -overtaken).bit_length() - 1",
            "first = overtaken.bit_length() - 1",
            id="not the earliest",
        ),
        pytest.param("index = queue.popleft()", "index = queue.pop()", id="not the shortest path"),
        pytest.param(
            "missing & ~(1 << sent.id.sender)", "missing", id="own copies undelivered"
        ),
    ],
)  # fmt: skip
def test_the_comparison_finds_planted_bugs(old: str, new: str) -> None:
    broken = mutated(old, new)

    def compare_many() -> None:
        for seed in range(2000):
            compare(random_execution(Random(seed)), broken)

    with pytest.raises(AssertionError):
        compare_many()


def mutated(old: str, new: str) -> Judge:
    """`judge` from a copy of the oracle's file in which one piece of text is replaced."""
    source = inspect.getsource(oracle)
    if source.count(old) != 1:
        raise LookupError(f"'{old}' occurs {source.count(old)} times in the oracle, expected once")
    module = ModuleType("tests.verify.broken_oracle")
    exec(compile(source.replace(old, new), module.__name__, "exec"), vars(module))
    broken: Judge = module.judge
    return broken
