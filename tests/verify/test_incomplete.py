"""Less than causal order, judged by both engines, and by a third that only this test has."""

from itertools import pairwise, product
from pathlib import Path
from random import Random
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest

from antecede.errors import BadTrace, Misuse
from antecede.simulate import load_scenario, make_scenario, simulate
from antecede.trace import DELIVER, SEND, TraceWriter, read_trace
from antecede.trace.encoder import ROW
from antecede.verify import Verdict, judge, verify_into, verify_trace
from antecede.verify.scopes import Scope, parse

NAMES = ["a", "b", "c", "d"]
SCENARIOS = Path(__file__).resolve().parent.parent.parent / "scenarios"
Id = tuple[int, int]


class Sent(NamedTuple):
    scope: Scope
    to: frozenset[int]


class Execution:
    """Sends and deliveries at random, in no order at all."""

    def __init__(self, seed: int, kinds: list[str]) -> None:
        chance = Random(seed)
        self.sent: dict[Id, Sent] = {}
        self.events: list[tuple[int, int, Id]] = []
        """Kind, process, message."""
        flying: list[tuple[int, Id]] = []
        for _ in range(chance.randrange(5, 40)):
            if flying and chance.random() < 0.6:
                process, message = flying.pop(chance.randrange(len(flying)))
                self.events.append((DELIVER, process, message))
                continue
            process = chance.randrange(len(NAMES))
            number = 1 + sum(sender == process for sender, _ in self.sent)
            message = (process, number)
            kind = chance.choice(kinds)
            seen = [one for _, here, one in self.events if here == process]
            seen = [one for one in seen if self.sent[one].scope.kind == "after"]
            after = chance.sample(seen, chance.randrange(min(3, len(seen)) + 1))
            scope = Scope(
                kind,
                label=str(chance.randrange(2)) if kind == "label" else "",
                priority=chance.randrange(3) if kind == "priority" else 0,
                after=tuple((NAMES[s], n) for s, n in after) if kind == "after" else (),
            )
            others = [one for one in range(len(NAMES)) if one != process]
            to = frozenset(chance.sample(others, chance.randrange(1, len(others) + 1)))
            self.sent[message] = Sent(scope, to)
            self.events.append((SEND, process, message))
            flying += [(one, message) for one in to if chance.random() < 0.95]

    def write(self, path: Path, run: str = "r") -> None:
        with TraceWriter(path, run, NAMES, scoped=True) as writer:
            packed = [ROW.pack(kind, 0, p, *m, float(i)) for i, (kind, p, m) in self.numbered()]
            sends = [self.sent[m] for kind, _, m in self.events if kind == SEND]
            bits = [(sum(1 << one for one in sent.to), -1, -1) for sent in sends]
            writer.extend(b"".join(packed), bits, [sent.scope.text for sent in sends])

    def numbered(self) -> list[tuple[int, tuple[int, int, Id]]]:
        return list(enumerate(self.events))

    def before(self, message: Id) -> set[Id]:
        """What a message directly comes after, of its own kind."""
        scope = self.sent[message].scope
        if scope.kind == "after":
            return {(NAMES.index(sender), number) for sender, number in scope.after}
        if scope.kind == "none":
            return set()
        found = set[Id]()
        for kind, process, one in self.events:
            if (kind, one) == (SEND, message):
                return found
            other = self.sent[one].scope
            if process == message[0] and (other.kind, other.label) == (scope.kind, scope.label):
                found.add(one)
        raise AssertionError

    def past(self, message: Id) -> set[Id]:
        """What it comes after, at however many removes."""
        found, new = set[Id](), self.before(message)
        while new:
            found |= new
            new = {one for step in new for one in self.before(step)} - found
        return found

    def follows(self, message: Id) -> set[Id]:
        """What has to be delivered before it, where that is addressed."""
        priority = self.sent[message].scope.priority
        return {one for one in self.past(message) if self.sent[one].scope.priority >= priority}

    def early(self) -> set[tuple[str, str]]:
        """(process, message) of every delivery that came too early."""
        found, here = set(), set[tuple[int, Id]]()
        for kind, process, message in self.events:
            if kind == DELIVER:
                for one in self.follows(message):
                    if process in self.sent[one].to and (process, one) not in here:
                        found.add((NAMES[process], name(message)))
                here.add((process, message))
        return found

    def findings(self) -> list[tuple[str, str, int]]:
        """The same as the table of findings has it."""
        apart = [(process, *message.split(":")) for process, message in self.early()]
        return sorted((process, sender, int(number)) for process, sender, number in apart)


def name(message: Id) -> str:
    return f"{NAMES[message[0]]}:{message[1]}"


def told(verdict: Verdict, execution: Execution) -> set[tuple[str, str]]:
    """What the witnesses say; each path goes from message to message that it comes after."""
    found = set()
    for witness in verdict.witnesses:
        path = [(NAMES.index(step[0]), int(step[2:])) for step in witness.path]
        assert path[0] in execution.follows(path[-1])
        assert all(first in execution.past(second) for first, second in pairwise(path))
        found.add((witness.process, witness.second))
    return found


KINDS = [["label"], ["priority"], ["after"], ["none", "label"], ["label", "priority", "after"]]


@pytest.mark.parametrize("kinds", KINDS, ids=["+".join(kinds) for kinds in KINDS])
def test_both_engines_find_exactly_what_the_definition_does(
    kinds: list[str], tmp_path: Path
) -> None:
    broken = 0
    for seed in range(40):
        execution = Execution(seed, kinds)
        path = tmp_path / f"{seed}.parquet"
        execution.write(path)
        early = execution.early()
        broken += bool(early)
        for engine in ("local", "oracle"):
            verdict = verify_trace(path, engine=engine)
            assert told(verdict, execution) == early, (seed, engine)
            assert verdict.violations == len(early)
            assert verdict.messages == len(execution.sent)
            assert verdict.runs == 1
    assert broken > 10


def test_all_findings_are_kept(tmp_path: Path) -> None:
    found = 0
    for place, (seed, kinds) in enumerate(product(range(8), KINDS)):
        execution, path = Execution(seed, kinds), tmp_path / f"{place}.parquet"
        execution.write(path)
        verify_into(path, tmp_path / "out", force=True)
        assert kept(tmp_path / "out") == execution.findings()
        found += len(execution.findings())
    assert found > 20


def kept(out: Path) -> list[tuple[str, str, int]]:
    """The table of findings that a verification has left, without runs and times."""
    rows = pq.read_table(out / "findings").to_pylist()
    assert all(row["time"] is not None for row in rows)
    return sorted((row["process"], row["sender"], row["number"]) for row in rows)


def test_whoever_does_not_know_the_column_reads_the_rest(tmp_path: Path) -> None:
    """And judges by causal order, which is more."""
    scoped = causal = 0
    for seed in range(10):
        Execution(seed, ["label", "none"]).write(tmp_path / f"{seed}.parquet")
        scoped += verify_trace(tmp_path / f"{seed}.parquet").violations
        [run] = read_trace(tmp_path / f"{seed}.parquet").runs
        causal += judge(run).violations
    assert 0 < scoped < causal


@pytest.mark.parametrize("kind", ["labels", "priorities", "contexts"])
def test_a_simulated_run_is_in_the_order_that_it_asks_for(kind: str, tmp_path: Path) -> None:
    plain = load_scenario(SCENARIOS / f"{kind}.toml").model_dump(by_alias=True, exclude_none=True)
    scenario = make_scenario({**plain, "messages": 300})
    summary = simulate(scenario, tmp_path / "t.parquet")
    assert summary.failure is None
    assert summary.violations == summary.undelivered == 0
    for engine in ("local", "oracle"):
        assert verify_trace(tmp_path / "t.parquet", engine=engine).violations == 0
    [run] = read_trace(tmp_path / "t.parquet").runs
    assert judge(run).violations > 0  # causal order it is not


def test_without_order_the_labels_are_broken() -> None:
    plain = load_scenario(SCENARIOS / "labels.toml").model_dump(by_alias=True, exclude_none=True)
    summary = simulate(make_scenario({**plain, "protocol": "none"}))
    assert summary.violations


@pytest.mark.parametrize("text", ["labels:1", "priority:high", "after:p0", "after:[1]", "nothing"])
def test_what_is_no_scope_is_refused(text: str) -> None:
    with pytest.raises(BadTrace, match="ordered is a label"):
        parse(text, "run 'r'")


def test_what_cannot_be_asked_for_is_refused() -> None:
    plain = load_scenario(SCENARIOS / "labels.toml").model_dump(by_alias=True, exclude_none=True)
    with pytest.raises(Misuse, match="priorities are made of histories"):
        make_scenario({**plain, "protocol": "vector", "incomplete": {"kind": "priorities"}})
    with pytest.raises(Misuse, match="from beginning to end"):
        make_scenario({**plain, "crashes": [{"process": 1, "time_s": 1.0}]})
