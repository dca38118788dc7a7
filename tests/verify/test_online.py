"""The online judge finds what the definition finds, however rows come, wherever it is stopped."""

import inspect
from random import Random
from types import ModuleType
from typing import Any

import pytest

from antecede.errors import BadTrace, Misuse
from antecede.trace.schema import LAYERS
from antecede.verify import online
from antecede.verify.audit import audit
from antecede.verify.online import Early, Row, Watcher
from tests.verify.brute import early_deliveries
from tests.verify.executions import Execution, random_execution

COUNTS = ("messages", "deliveries", "violations", "undelivered", "undelivered_at_crashed")


def rows_of(execution: Execution, named: bool, random: Random) -> list[Row]:
    """As the trace format has them or, `named`, as the recorder does; anyhow, or nearly as they
    happened."""
    found = []
    times = execution.times(random)
    blur = random.choice([0.0, 2.0, 1000.0])
    for process, events in execution.local.items():
        for seq, event in enumerate(events):
            row = Row(process, seq, event.kind, time=times[event] + blur * random.random())
            if event.kind != "crash":
                if named:
                    row.message = f"m{event.message}"
                else:
                    row.sender, row.number = event.message
            if event.kind == "send":
                row.destinations = sorted(event.destinations)
            found.append(row)
    return sorted(found, key=lambda row: row.time or 0.0)


def watched(rows: list[Row], random: Random, module: Any = online) -> tuple[list[Early], Any]:
    """All of the rows in random batches, with a restart now and then."""
    watcher = module.Watcher("r")
    left, found = rows, []
    while left:
        size = random.choice([1, 2, 5, len(left)])
        found += watcher.feed(left[:size])
        left = left[size:]
        if random.random() < 0.3:
            watcher = module.Watcher.from_bytes(watcher.to_bytes(), "r")
    return found, watcher.finish()


def compare(seed: int, module: Any = online) -> None:
    random = Random(seed)
    execution = random_execution(random)
    found, verdict = watched(rows_of(execution, seed % 3 == 0, random), random, module)
    expected = {(one.process, one.message): one.overtaken for one in early_deliveries(execution)}
    assert len(found) == len(expected)
    for one in found:
        overtaken = expected[one.process, (one.sender, one.number)]  # type: ignore[index]
        assert one.without in {f"{'m' * (seed % 3 == 0)}{message}" for message in overtaken}
    judged = audit(execution.to_run())
    assert [getattr(verdict, name) for name in COUNTS] == [getattr(judged, name) for name in COUNTS]
    assert verdict.answer == judged.answer


def test_the_same_as_the_definition_and_as_verify() -> None:
    for seed in range(400):
        compare(seed)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (oldest <= past).any():", "if False:"),
        ("np.maximum(mine, past, out=mine)", "pass"),
        ("        self._past[p, p] = number\n", ""),
        ("self._oldest[q, s] = min(numbers[0] if numbers else NONE, self._lost[q, s])", "pass"),
        ("del numbers[bisect_left(numbers, flight.number)]", "del numbers[0]"),
        ("for name in row.destinations} - {p})", "for name in row.destinations})"),
        ("ready += self._blocked.pop(row.key, ())", "self._blocked.pop(row.key, ())"),
        (
            "            self._oldest[at] = min(self._oldest[at], numbers[0])\n",
            "            pass\n",
        ),
        ("self._blocked.setdefault(head.key, []).append(p)", "pass"),
    ],
)
def test_the_comparison_finds_planted_bugs(old: str, new: str) -> None:
    source = inspect.getsource(online)
    assert source.count(old) == 1
    broken = ModuleType("tests.verify.broken_online")
    exec(compile(source.replace(old, new), broken.__name__, "exec"), vars(broken))

    def compare_many() -> None:
        for seed in range(400):
            compare(seed, broken)

    with pytest.raises((AssertionError, BadTrace, KeyError, IndexError)):
        compare_many()


def broadcast(count: int, lost: int) -> list[Row]:
    """p sends to q and r; what is lost is lost at both."""
    rows = [Row("p", n, "send", "p", n + 1, ["q", "r"]) for n in range(count)]
    for process in "qr":
        kept = [number for number in range(1, count + 1) if number % lost]
        rows += [Row(process, seq, "deliver", "p", number) for seq, number in enumerate(kept)]
    return rows


def test_what_is_lost_takes_bounded_memory_and_stays_lost() -> None:
    """Every tenth of 1,000 messages is lost; at most 20 are remembered."""
    rows = sorted(broadcast(1_000, 10), key=lambda row: (row.number, row.kind != "send"))
    watcher = Watcher("r", limit=20)
    sizes = []
    found = []
    for row in rows:
        found += watcher.feed([row])
        sizes.append(len(watcher.to_bytes()))
        assert watcher.under_way <= 20
    assert max(sizes) < 2_500
    free = Watcher("r")
    assert {(e.process, e.number) for e in found} == {
        (e.process, e.number) for e in free.feed(rows)
    }
    assert watcher.finish() == free.finish()
    assert watcher.forgotten == 80


def test_what_was_forgotten_and_comes_after_all() -> None:
    watcher = Watcher("r", limit=2)
    watcher.feed([Row("p", n, "send", "p", n + 1, ["q"]) for n in range(3)][:2])
    watcher.feed([Row("p", 2, "send", "p", 3, ["q"])])
    with pytest.raises(Misuse, match="p:1, which was forgotten: more than 2 messages"):
        watcher.feed([Row("q", 0, "deliver", "p", 1)])


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([Row("p", 0, "crash"), Row("p", 0, "crash")], "seq is 0, which was there already"),
        ([Row("p", 0, "send", "q", 1, ["q"])], "sends q:1, a message of another process"),
        ([Row("p", 0, "send", "p", 2, ["q"])], "sends p:2, expected number 1"),
        ([Row("p", 0, "send", "p", 1)], "column 'destinations' is null"),
        ([Row("p", 0, "send", "p")], "column 'number' is null"),
        ([Row("p", 0, "sned")], "unknown kind 'sned'"),
        ([Row("p", 0, "sned", layer="hop")], "unknown kind 'sned'"),
        ([Row("p", 0, "crash", layer="hops")], "unknown layer 'hops'"),
        ([Row("p", 0, "send", None, None, ["q"], message="m")] * 2, "was there already"),
        ([Row("p", n, "send", None, None, ["q"], message="m") for n in (0, 1)], "sends m again"),
        (
            [Row("p", 0, "send", "p", 1, ["q"]), Row("r", 0, "deliver", "p", 1)],
            "delivers p:1 again, or not for it",
        ),
        ([Row("p", 1, "crash")], "seq is 1, expected 0"),
        ([Row("p", 0, "deliver", "q", 1)], "deliver of q:1, which nobody sent"),
        (
            [
                Row("p", 0, "deliver", "q", 1),
                Row("p", 1, "send", "p", 1, ["q"]),
                Row("q", 0, "deliver", "p", 1),
                Row("q", 1, "send", "q", 1, ["p"]),
            ],
            "deliver of q:1 before its send",
        ),
    ],
)
def test_broken_rules(rows: list[Row], told: str) -> None:
    def judge() -> None:
        watcher = Watcher("r")
        watcher.feed(rows)
        watcher.finish()

    with pytest.raises(BadTrace, match=told):
        judge()


def test_a_row_without_a_layer_is_of_the_application() -> None:
    rows = [Row("p", 0, "send", "p", 1, ["q"]), Row("q", 0, "deliver", "p", 1)]
    found = {layer: Watcher("r", layer) for layer in LAYERS}
    for watcher in found.values():
        watcher.feed(rows)
    assert [found[layer].deliveries for layer in LAYERS] == [1, 0]


def test_a_recording_that_is_missing_is_named() -> None:
    watcher = Watcher("r", limit=3)
    with pytest.raises(BadTrace, match=r"more than 3 rows wait .*: deliver of x:1, which nobody"):
        watcher.feed([Row("p", seq, "deliver", "x", seq + 1) for seq in range(4)])
