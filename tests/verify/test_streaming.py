"""The verdict on a trace that is read in one go is the one on a run in memory, to the last digit,
wherever row groups, files and runs end; and every trace that is not usual is left to the reader
that takes its time, with the same errors as ever."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede import compiled
from antecede.errors import AntecedeError, BadFile, BadTrace
from antecede.trace import APP, HOP, TraceWriter, batches, intake, read_trace, rows
from antecede.trace.batch import Unusual
from antecede.verify import Verdict, audit, check, judge, streaming, verify_trace
from tests.trace import test_rules as rule_by_rule
from tests.trace.builders import Row, deliver, event, positioned, receive, send, table
from tests.trace.test_rows import cases
from tests.verify.executions import Execution, random_execution
from tests.verify.test_kernel import plant


def rows_of(execution: Execution, random: Random, *, receptions: bool, timed: bool) -> list[Row]:
    """What happened, in one order in which it can have happened, and some more that orders nothing:
    copies that processes send to themselves, membership, messages of the other layer."""
    times = execution.times(random)
    told: list[Row] = []
    hops = 0
    for happened in sorted(times, key=times.__getitem__):
        process, message = happened.process, happened.message
        time = times[happened] if timed and random.random() < 0.9 else None
        if happened.kind == "send":
            to = random.sample(sorted(happened.destinations), len(happened.destinations))
            to += random.choices(to, k=2) if to and random.random() < 0.2 else []
            told.append(send(process, message.number, to, time=time))
            if process not in to and random.random() < 0.3:
                told.append(deliver(process, str(message), time=time))
        elif happened.kind == "crash":
            told.append(event("crash", process, time=time))
        elif happened.kind == "deliver":
            told.append(deliver(process, str(message), time=time))
        elif receptions:
            told.append(receive(process, str(message), time=time))
        if random.random() < 0.1:
            hops += 1
            told.append(send("router", hops, [process], layer="hop"))
            told.append(deliver(process, f"router:{hops}", layer="hop"))
            told.append(event("view", process))
    return positioned(*told)


def write(path: Path, tables: Sequence[pa.Table], random: Random) -> None:
    """One or more files with small row groups, whatever they cut in two."""
    whole = pa.concat_tables(tables)
    path.mkdir()
    cut = random.randint(0, len(whole))
    for name, part in (("a", whole.slice(0, cut)), ("b", whole.slice(cut))):
        pq.write_table(
            part,
            path / f"{name}.parquet",
            row_group_size=random.choice([1, 4, 9, 20]),
            write_statistics=random.random() < 0.7,
            use_dictionary=random.random() < 0.7,
        )


def stream(path: Path, layer: int) -> Verdict | None:
    """The verdict on a trace as it is read; nothing if it is not a usual one."""
    try:
        return check._add_up(streaming.stream_runs(path, layer), lambda *_: None)
    except Unusual:
        return None


def in_memory(path: Path, layer: int) -> Verdict:
    return sum((audit(run, layer) for run in read_trace(path).runs), Verdict())


def check_seed(folder: Path, seed: int) -> Verdict:
    random = Random(seed)
    tables = []
    for number in range(random.choice([1, 1, 3])):
        receptions, timed = random.random() < 0.5, random.random() < 0.7
        told = rows_of(random_execution(random), random, receptions=receptions, timed=timed)
        tables.append(table(*told, run=f"run {number}"))
    path = folder / str(seed)
    write(path, tables, random)
    layer = APP if random.random() < 0.9 else HOP
    found = stream(path, layer)
    runs = read_trace(path).runs
    assert found is not None
    same(found, sum((audit(run, layer) for run in runs), Verdict()), exact=len(tables) == 1)
    plain = sum((judge(run, layer) for run in runs), Verdict())
    assert found.to_json() | {"delays": None} == plain.to_json() | {"delays": None}
    return found


def same(found: Verdict, expected: Verdict, *, exact: bool) -> None:
    """Several runs may name their processes in another order, and add in another order."""
    if exact:
        assert found == expected
        return
    told, wanted = found.to_json(), expected.to_json()
    delays, wanted_delays = told.pop("delays"), wanted.pop("delays")
    assert told == wanted
    assert (delays or {}) == pytest.approx(wanted_delays or {})


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(st.integers(min_value=10_000, max_value=2**32))
def test_agreement(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check_seed(tmp_path_factory.mktemp("agreement"), seed)


def test_many_seeds(tmp_path: Path) -> None:
    verdicts = [check_seed(tmp_path, seed) for seed in range(40)]
    assert sum(verdict.violations > 0 for verdict in verdicts) > 15
    assert sum(verdict.undelivered_at_crashed > 0 for verdict in verdicts) > 3
    assert sum(verdict.delays.deliveries > 0 for verdict in verdicts) > 7
    witnesses = [witness for verdict in verdicts for witness in verdict.witnesses]
    assert sum(witness.time is not None for witness in witnesses) > 20
    assert sum(verdict.runs > 1 for verdict in verdicts) > 7


def test_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "MUCH", 0)
    for seed in range(6):
        check_seed(tmp_path, seed)


def test_large_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which are read in parts."""
    monkeypatch.setattr(batches, "LARGE_GROUP", 3)
    monkeypatch.setattr(batches, "PART", 2)
    for seed in range(8):
        check_seed(tmp_path, seed)


def error_of(work: Any) -> str:
    with pytest.raises(AntecedeError) as caught:
        work()
    return str(caught.value)


def test_errors_are_the_same(tmp_path: Path) -> None:
    for number, case in enumerate(cases(rule_by_rule.test_broken_rule)):
        for place in (lambda *told: [*told], positioned):
            path = tmp_path / f"{number}-{place.__name__}.parquet"
            pq.write_table(table(*place(*case.values[0])), path, row_group_size=2)
            assert stream(path, APP) is None
            assert error_of(lambda path=path: verify_trace(path)) == error_of(
                lambda path=path: read_trace(path)
            )


BROKEN = [
    pytest.param(3, {"seq": 7}, "seq is 2, expected 1", id="seq"),
    pytest.param(3, {"position": 0}, "position 0 is also that of", id="position"),
    pytest.param(3, {"kind": "explode"}, "unknown kind 'explode'", id="kind"),
    pytest.param(3, {"layer": "lower"}, "unknown layer 'lower'", id="layer"),
    pytest.param(3, {"sender": None}, "column 'sender' is null", id="no sender"),
    pytest.param(3, {"number": 3}, "deliver of p:3, which nobody sent", id="no send"),
    pytest.param(3, {"number": 1}, "delivers p:1 again", id="twice"),
    pytest.param(2, {"number": 3}, "sends p:3, expected number 2", id="number"),
    pytest.param(7, {"destinations": None}, "column 'destinations' is null", id="no list"),
    pytest.param(2, {"destinations": ["r"]}, "which is not addressed to it", id="elsewhere"),
    pytest.param(2, {"destinations": ["q", None]}, "'destinations' is null", id="nobody"),
    pytest.param(
        7, {"sender": "r", "number": 1}, "sends r:1, a message of another process", id="another"
    ),
    pytest.param(
        6,
        {"process": "p", "sender": "p", "number": 1, "seq": 3},
        "delivers p:1 again",
        id="own twice",
    ),
    pytest.param(0, {"run": None}, "column 'run' is null", id="no run"),
]


@pytest.mark.parametrize(("row", "change", "said"), BROKEN)
@pytest.mark.parametrize("group", [1, 3])
def test_errors_across_row_groups(
    row: int, change: Row, said: str, group: int, tmp_path: Path
) -> None:
    told = positioned(
        send("p", 1, "q"), deliver("q", "p:1"), send("p", 2, "q"), deliver("q", "p:2"),
        deliver("p", "p:1"), send("q", 1, "p"), deliver("q", "q:1"),
        send("q", 2, "p"),
    )  # fmt: skip
    told[row] |= change
    path = tmp_path / "t.parquet"
    pq.write_table(table(*told), path, row_group_size=group)
    assert stream(path, APP) is None
    with pytest.raises(BadTrace, match=said):
        verify_trace(path)


def test_unusual_traces_are_left_to_the_reader(tmp_path: Path) -> None:
    """Allowed, but not in one go: they get their verdict all the same."""
    usual = positioned(send("p", 1, "q"), send("p", 2, "q"), deliver("q", "p:2"))
    one, two = table(*usual, run="one"), table(*usual, run="two")
    cases = {
        "without positions": [table(send("p", 1, "q"), deliver("q", "p:1"))],
        "without the column": [one.drop_columns(["position"])],
        "out of order": [one.slice(1), one.slice(0, 1)],
        "in pieces": [one.slice(0, 1), two, one.slice(1)],
    }
    for name, tables in cases.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.concat_tables(tables), path)
        assert stream(path, APP) is None, name
        assert verify_trace(path) == in_memory(path, APP)


def test_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with TraceWriter(path, "r", ["p", "q"]) as writer:
        for number in range(1, 2000):
            writer.send(0, number, number / 7, 2)
    whole = path.read_bytes()
    first = pq.read_metadata(path).row_group(0).column(3).data_page_offset
    damaged = bytearray(whole)
    damaged[first + 100] ^= 1
    path.write_bytes(damaged)
    assert stream(path, APP) is None
    with pytest.raises(BadFile, match="no Parquet file, or a damaged one"):
        verify_trace(path)


def test_names_in_any_script_and_in_long_lists(tmp_path: Path) -> None:
    """A list that is long and out of order, names that need quoting, a run named by its folder."""
    names = [f"näme {index} 名" for index in range(100)]
    told = [event("join", name) for name in names]
    addressed = [Random(number).sample(names[1:], 90) for number in (1, 2)]
    told += [send(names[0], number, to) for number, to in enumerate(addressed, 1)]
    for number in (2, 1):
        told += [deliver(name, f"{names[0]}:{number}") for name in addressed[number - 1]]
    folder = tmp_path / "run=a%20b"
    folder.mkdir()
    rows_without_run = table(*positioned(*told)).drop_columns(["run"])
    pq.write_table(rows_without_run, folder / "t.parquet", row_group_size=7)
    found = stream(tmp_path, APP)
    assert found is not None
    assert found == in_memory(tmp_path, APP)
    assert found.violations == len({*addressed[0]} & {*addressed[1]})
    assert {witness.run for witness in found.witnesses} == {"a b"}


def test_empty_traces_and_single_events(tmp_path: Path) -> None:
    traces: dict[str, list[Row]] = {
        "none": [],
        "one": [send("p", 1, "q")],
        "crash": [event("crash", "p")],
    }
    for name, told in traces.items():
        path = tmp_path / f"{name}.parquet"
        pq.write_table(table(*positioned(*told)), path)
        assert stream(path, APP) == in_memory(path, APP)


def test_statistics_that_are_cut_short_are_not_believed(tmp_path: Path) -> None:
    """Two runs whose names differ only far behind."""
    common = "x" * 100
    tables = [
        table(*positioned(send("p", 1, "q"), deliver("q", "p:1")), run=common + end) for end in "ab"
    ]
    pq.write_table(pa.concat_tables(tables), tmp_path / "t.parquet")
    found = stream(tmp_path, APP)
    assert found is not None
    assert found.runs == 2


def test_very_many_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than fit into two bytes, from the beginning on or later."""
    for most in (0, 3):
        monkeypatch.setattr(intake, "NARROW", most)
        for seed in range(10):
            check_seed(tmp_path, 1000 * most + seed)


BUGS = [
    (rows, "if seq[event] != next_seq[p]:", "if False:", "seq unchecked"),
    (rows, "position[event] <= before", "False", "positions unchecked"),
    (rows, "what > VIEW", "False", "kinds unchecked"),
    (rows, "if s != p or (n", "if (n", "sends elsewhere"),
    (rows, "n != sent[s] + 1 and", "False and", "numbers unchecked"),
    (rows, "and not (listed[bit >> 3] >> (bit & 7)) & 1", "and False", "lists unchecked"),
    (rows, "        if n > sent[s]:", "        if False:", "unsent messages"),
    (rows, "                if own_delivered[m]:", "                if False:", "own twice"),
    (rows, "if column[copy] == p else -1", "if True else -1", "not addressed"),
    (rows, "        if rank[copy] != NEVER:", "        if False:", "delivered twice"),
    (rows, "if q == p:", "if False:", "own copies count"),
    (rows, "    if in_order:", "    if True:", "lists out of order"),
    (rows, "or column[copy] != column[kept - 1]:", "or True:", "twice in a list"),
    (rows, "if timed and arrival[copy] == NEVER:", "if timed:", "arrives again and again"),
    (rows, "if many_layers and layer_code[layer[event]] != wanted:", "if False:", "layers mixed"),
    (rows, "crashed[p] = True", "crashed[p] = False", "crashes forgotten"),
    (streaming, 'crosses = (kind == DELIVER) & (column["process"] != column["sender"])',
     "crosses = kind == DELIVER", "times of other rows"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("module", "old", "new"), [pytest.param(*bug[:3], id=bug[3]) for bug in BUGS]
)
def test_planted_bugs_are_found(
    module: Any, old: str, new: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(module, old, new, monkeypatch.setattr, users=(rows, intake, streaming))

    def everything() -> None:
        broken: list[Any] = BROKEN
        for number, case in enumerate(broken):
            folder = tmp_path / f"broken {number}"
            folder.mkdir()
            row, change, said = case.values
            test_errors_across_row_groups(row, change, said, 3, folder)
        test_unusual_traces_are_left_to_the_reader(tmp_path)
        for seed in range(60):
            check_seed(tmp_path, seed)

    with pytest.raises((AssertionError, IndexError, pytest.fail.Exception)):
        everything()
