"""The kernel agrees with the oracle and with the naive one on hundreds of small executions with
every kind of fault, whole, in shards and with narrow cells; and the comparison finds
the bugs planted in it."""

import inspect
from collections.abc import Callable, Iterable
from random import Random
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede import compiled
from antecede.errors import BrokenInvariant, Misuse
from antecede.trace import CRASH, intake, rows
from antecede.trace.joined import NEVER, Prepared
from antecede.trace.prepare import prepare
from antecede.verify import audit, judge, kernel, passes, witness
from tests.verify import brute
from tests.verify.executions import FAULTS, Execution, random_execution
from tests.verify.test_agreement import compare


def check_counts(execution: Execution) -> None:
    """The verdict is the oracle's, and every witness proves what it says."""
    run = execution.to_run()
    found, expected = audit(run), judge(run)
    assert found == expected
    compare(execution, audit)


def check_delays(execution: Execution, random: Random) -> None:
    times = execution.times(random)
    found = audit(execution.to_run(times)).delays
    expected = brute.delays(execution, times).values()
    assert found.deliveries == len(expected)
    assert found.forced_s == pytest.approx(sum(delay.forced for delay in expected))
    assert found.inherited_s == pytest.approx(sum(delay.inherited for delay in expected))
    assert found.own_s == pytest.approx(sum(delay.own for delay in expected))


def check_parts(execution: Execution, random: Random) -> None:
    """Shards and narrow cells give what one pass gives, on ranks of both kinds."""
    run = execution.to_run()
    joined = prepare(run.layer(0), len(run.processes))
    never = joined.prepared.rank == NEVER
    for columns in (joined.prepared, joined.by_arrival()):
        whole = passes.last_predecessors(columns, np.int32)

        def same(last: Any, expected: Any = whole) -> None:
            # Of a copy that is never delivered nobody asks what came before.
            assert np.where(never, 0, last).tolist() == np.where(never, 0, expected).tolist()

        for infinity in (2, 3, 7):
            same(passes.last_predecessors(columns, np.uint8, infinity))
        same(_by_shards(columns, random))


def _by_shards(columns: Prepared, random: Random) -> Any:
    last = np.zeros(len(columns.rank), np.int32)
    of_shard = np.array([random.randrange(3) for _ in columns.column_of])
    for number in range(3):
        narrow, kept = passes.shard(columns, np.flatnonzero(of_shard == number))
        last[kept] = passes.last_predecessors(narrow)
    return last


def check_seed(seed: int) -> None:
    execution = random_execution(Random(seed))
    check_counts(execution)
    check_delays(execution, Random(seed))
    check_parts(execution, Random(seed))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(min_value=0, max_value=2**32))
def test_agreement(seed: int) -> None:
    check_seed(seed)


def test_hundreds() -> None:
    """The counts alone are quick to compare."""
    for seed in range(500):
        run = random_execution(Random(seed)).to_run()
        assert audit(run) == judge(run)


def test_the_faults_bite() -> None:
    """Each kind of fault changes executions, and all but the crash and the loss alone break order
    in many; these two leave messages undelivered."""
    for fault in FAULTS:
        changed = broken = undelivered = 0
        for seed in range(100):
            random = Random(seed)
            execution = random_execution(random)
            faulty = fault(random, execution)
            if faulty.is_possible() and faulty != execution:
                changed += 1
                broken += bool(brute.early_deliveries(faulty))
                undelivered += bool(brute.undelivered(faulty))
        assert changed > 10, fault
        assert broken > 5, fault
        assert undelivered > 5, fault


def test_crashes_are_among_them() -> None:
    runs = [random_execution(Random(seed)).to_run() for seed in range(100)]
    verdicts = [audit(run) for run in runs if (run.events.kind == CRASH).any()]
    assert sum(verdict.undelivered_at_crashed > 0 for verdict in verdicts) > 5


def test_more_processes_than_memory_holds() -> None:
    with pytest.raises(Misuse, match=r"10,000,000 processes take up to .* --engine spark judges"):
        passes.empty_cells(10**7, 10**7, np.dtype(np.uint16))


@pytest.fixture
def always_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MUCH", 0)


@pytest.mark.usefixtures("always_compiled")
def test_compiled() -> None:
    for seed in range(40):
        check_seed(seed)


BUGS = [
    (kernel, "if known > here[q]:", "if known > here[q] + 1:", "last predecessor overlooked"),
    (kernel, "elif ahead > cell:", "elif cell == 0:", "own sends forgotten"),
    (kernel, "carried[q] if carried[q] > row[q] else row[q]", "carried[q]", "past forgotten"),
    (kernel, "row[q] = infinity\n", "row[q] = row[q]\n", "lost messages forgotten"),
    (kernel, "last[copy] = NEVER\n", "last[copy] = 0\n", "lost messages excused"),
    (kernel, "if left[m] == 0:", "if left[m] <= 1:", "row freed too early"),
    (kernel, "cell - moved if cell > moved else 0", "cell", "cells not moved with the base"),
    (kernel, "        if cell != infinity:\n", "        if True:\n", "infinity moved along"),
    (kernel, "if ahead >= infinity:", "if ahead > infinity:", "straggler taken for infinity"),
    (kernel, "stragglers[late] = copy", "stragglers[late] = 0", "wrong straggler"),
    (rows, "delivered_here[p] += 1", "delivered_here[p] += m % 2", "ranks repeat"),
    (rows, "if q == p:", "if False:", "own copies count"),
    (rows, "copy += column[place] < p", "copy += column[place] <= p", "wrong copy"),
    (rows, "if timed and arrival[copy] == NEVER:", "if timed:", "arrives again and again"),
    (passes, "is_late[late] = True", "is_late[late[:1]] = True", "one straggler for all"),
    (passes, "np.where(chosen, prepared.rank, 0)", "0 * prepared.rank", "none are stragglers"),
    (passes, "more[prepared.rank[kept] == NEVER] = 0\n", "more[:] = 0\n", "stragglers in vain"),
    (witness, "rank[copy] > early_rank[early]", "rank[copy] != early_rank[early]",
     "not overtaken"),
    (witness, "|= lanes_of_message[m - first_message, lane]", "|= np.uint64(0)",
     "past without messages"),
    (witness, "early_rank[begin[q]] < rank[copy]", "early_rank[begin[q]] == rank[copy]",
     "stretch too short"),
    (witness, "if place >= 0 else 0", "if True else 0", "messages from before the stretch"),
    (witness, "away < nearest[1, p]", "away <= nearest[1, p] + 1", "not the shortest path"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "old", "new"), [pytest.param(*bug[:3], id=bug[3]) for bug in BUGS]
)
def test_the_comparison_finds_planted_bugs(
    module: ModuleType, old: str, new: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(module, old, new, monkeypatch.setattr)

    def compare_many() -> None:
        for seed in range(400):
            check_seed(seed)

    with pytest.raises((AssertionError, IndexError, BrokenInvariant, Misuse)):
        compare_many()


def plant(
    module: ModuleType,
    old: str,
    new: str,
    put: Callable[[Any, str, Any], None],
    users: Iterable[Any] = (kernel, rows, intake, passes, witness, inspect.getmodule(audit)),
) -> None:
    """Put functions from a copy of a module, in which one piece of text is replaced, in place of
    those of the same name in every module that uses them."""
    source = inspect.getsource(module)
    if source.count(old) != 1:
        raise LookupError(f"'{old}' occurs {source.count(old)} times, expected once")
    broken = SimpleNamespace(__name__=f"{module.__name__}.broken")
    exec(compile(source.replace(old, new), broken.__name__, "exec"), vars(broken))
    changed = {
        getattr(module, name): value
        for name, value in vars(broken).items()
        if inspect.isfunction(value) and value.__globals__ is vars(broken)
    }
    for user in users:
        for name, value in list(vars(user).items()):
            if inspect.isfunction(value) and value in changed:
                put(user, name, changed[value])
