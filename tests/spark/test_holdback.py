"""What a group releases, against the definition: a list that is looked through again and again."""

from random import Random
from typing import Any

import pyarrow as pa
import pytest

from antecede.spark.holdback import Group
from antecede.spark.resequencing import Columns, order_bucket

COLUMNS = Columns("group", "sender", "number", "after", "time")
SCHEMA = pa.schema(
    [
        *(("group", pa.string()), ("sender", pa.string()), ("number", pa.int64())),
        *(("after", pa.map_(pa.string(), pa.int64())), ("time", pa.float64())),
        ("payload", pa.list_(pa.int32())),
    ]
)
Row = dict[str, Any]


def traffic(seed: int, messages: int = 60, groups: str = "xyz") -> list[Row]:
    """Messages of processes that hear of each other, in the order in which they were sent."""
    random = Random(seed)
    heard: dict[tuple[str, str], dict[str, int]] = {}
    rows: list[Row] = []
    for index in range(messages):
        group, sender = random.choice(groups), random.choice("abcd")
        known = heard.setdefault((group, sender), {})
        for other in "abcd":
            if random.random() < 0.4:
                for who, number in heard.get((group, other), {}).items():
                    known[who] = max(known.get(who, 0), number)
        after = {who: number for who, number in known.items() if who != sender}
        known[sender] = known.get(sender, 0) + 1
        rows.append(row(group, sender, known[sender], after, 0.0, [index]))
    return rows


def row(
    group: str, sender: str, number: int, after: dict[str, int], time: float, payload: list[int]
) -> Row:
    kept = list(after.items())
    values = (group, sender, number, kept, time, payload)
    return dict(zip(SCHEMA.names, values, strict=True))


def arriving(rows: list[Row], seed: int, spread: float = 20.0) -> list[Row]:
    """In another order: each comes some time after it was sent, no two at the same time."""
    random = Random(seed)
    times = [index + random.random() * spread for index in range(len(rows))]
    come = [{**one, "time": time} for one, time in zip(rows, times, strict=True)]
    return sorted(come, key=lambda one: float(one["time"]))


def batch_order(rows: list[Row], group: str) -> list[Row]:
    """Of one group, by the definition: whenever one comes, the first that is free leaves, again
    and again."""
    waiting: list[Row] = []
    left: list[Row] = []
    done: set[tuple[str, int]] = set()

    def is_free(one: Row) -> bool:
        named = [(one["sender"], one["number"] - 1), *one["after"]]
        return all((who, n) in done for who, last in named for n in range(1, last + 1))

    for one in (one for one in rows if one["group"] == group):
        waiting.append(one)
        while free := [each for each in waiting if is_free(each)]:
            first = min(free, key=lambda each: float(each["time"]))
            waiting.remove(first)
            done.add((first["sender"], first["number"]))
            left.append(first)
    return left


def feed(rows: list[Row], cuts: list[int], patience: float | None = None) -> list[Row]:
    """What comes out of a bucket, with the rows cut into batches here."""
    known, out = None, list[Row]()
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        table = pa.Table.from_pylist(rows[first:last], schema=SCHEMA)
        known, released = order_bucket(COLUMNS, patience, known, [table])
        out += released.to_pylist() if released is not None else []
    return out


def of(out: list[Row], group: str) -> list[Row]:
    """One group by position, which is dense."""
    found = sorted((one for one in out if one["group"] == group), key=lambda one: one["position"])
    assert [one["position"] for one in found] == list(range(len(found)))
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_batch_order_wherever_batches_are_cut(seed: int) -> None:
    rows = arriving(traffic(seed), seed)
    random = Random(seed)
    for cuts in ([], list(range(1, len(rows))), sorted(random.sample(range(60), 4))):
        shuffled = [*rows]
        if not cuts:
            random.shuffle(shuffled)  # a shuffle keeps no order inside a batch
        out = feed(shuffled, cuts)
        assert {one["kind"] for one in out} == {"message"}
        for group in "xyz":
            expected = [{**one, "kind": "message"} for one in batch_order(rows, group)]
            got = [{name: one[name] for name in (*SCHEMA.names, "kind")} for one in of(out, group)]
            assert got == expected


@pytest.mark.parametrize("seed", range(12))
def test_what_is_lost_is_told_and_what_comes_late_is_marked(seed: int) -> None:
    """Nothing before what it names, unless that was told as a gap; no row twice, none missing."""
    random = Random(seed)
    rows = arriving(traffic(seed, 120, "x"), seed)
    lost = random.sample(rows, 8)
    late = [{**one, "time": 400.0 + index} for index, one in enumerate(lost[:3])]
    last = {row_["sender"]: row_["number"] for row_ in sorted(rows, key=lambda o: int(o["number"]))}
    end = row("x", "z", 1, last, 300.0, [])  # names everything
    beat = row("x", "y", 1, {}, 390.0, [])  # by then patience is over
    rows = [one for one in rows if one not in lost] + [end, beat, *late]
    outs = [feed(rows, cuts, 40.0) for cuts in ([], list(range(1, len(rows))))]
    outs.append(feed(rows * 2, [len(rows)], 40.0))  # everything once more: dropped
    for out in outs:
        assert of(out, "x") == of(outs[0], "x")
    done: set[tuple[str, int]] = set()
    told: set[tuple[str, int]] = set()
    for one in of(outs[0], "x"):
        name = (one["sender"], one["number"])
        if one["kind"] == "gap":
            numbers = range(one["number"], one["until"] + 1)
            told |= {(one["sender"], number) for number in numbers}
            continue
        named = [(one["sender"], one["number"] - 1), *one["after"]]
        needs = {(who, n) for who, until in named for n in range(1, until + 1)}
        assert needs <= done | told
        assert (one["kind"] == "late") == (name in told)
        assert name not in done
        done.add(name)
    assert told == {(one["sender"], one["number"]) for one in lost}
    assert done == {(one["sender"], one["number"]) for one in rows}


def test_a_planted_bug_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that looks at numbers of the same sender only, or forgets what it gave up."""
    only_own = lambda _, one: [(one.sender, one.number - 1)]  # noqa: E731
    with monkeypatch.context() as planted:
        planted.setattr(Group, "_needs", only_own)
        with pytest.raises(AssertionError):
            test_the_batch_order_wherever_batches_are_cut(1)
    monkeypatch.setattr(Group, "_kept_gaps", lambda *_: [])
    with pytest.raises(AssertionError):
        test_what_is_lost_is_told_and_what_comes_late_is_marked(1)


def test_a_number_out_of_this_world() -> None:
    rows = [row("x", "a", 1, {"b": 10**18}, 0.0, []), row("x", "c", 1, {}, 50.0, [])]
    told = [(one["kind"], one["sender"], one["until"]) for one in feed(rows, [1], 9.0)]
    assert told == [("gap", "b", 10**18), ("message", "a", None), ("message", "c", None)]
