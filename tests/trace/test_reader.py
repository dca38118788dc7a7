"""The reader: which files it takes, in which shapes, and what it says about the others."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadFile, BadTrace
from antecede.trace import NULL, SCHEMA, TraceWriter, read_metadata, read_trace, trace_from_tables
from tests.trace.builders import deliver, positioned, send, shown, table

ROWS = positioned(send("p", 1, "q", time=0.5), deliver("q", "p:1", time=1.5))
SHOWN = ["p send p:1", "q deliver p:1"]


def replaced(column: str, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    whole = table(*ROWS)
    return whole.set_column(whole.schema.get_field_index(column), column, values)


def cast(column: str, kind: pa.DataType) -> pa.Table:
    return replaced(column, table(*ROWS)[column].cast(kind))


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(cast("process", pa.large_string()), id="large strings"),
        pytest.param(cast("process", pa.string_view()), id="string views"),
        pytest.param(cast("kind", pa.dictionary(pa.int8(), pa.string())), id="dictionary"),
        pytest.param(cast("destinations", pa.large_list(pa.large_string())), id="large lists"),
        pytest.param(cast("number", pa.uint8()), id="small integers"),
        pytest.param(cast("time", pa.float32()), id="small floats"),
        pytest.param(replaced("layer", pa.nulls(2)), id="no type"),
        pytest.param(
            table(*ROWS).drop_columns(
                ["layer", "time", "position", "stamp_entries", "stamp_bytes"]
            ),
            id="without optional columns",
        ),
        pytest.param(table(*ROWS).append_column("more", pa.array([1, 2])), id="more columns"),
        pytest.param(table(*ROWS).select(list(reversed(SCHEMA.names))), id="other order"),
    ],
)
def test_shapes(tmp_path: Path, found: pa.Table) -> None:
    pq.write_table(found, tmp_path / "t.parquet")
    for trace in (read_trace(tmp_path / "t.parquet"), trace_from_tables([found], "memory")):
        (run,) = trace.runs
        assert shown(run) == SHOWN
        assert run.events.destination.tolist() == [1]


def test_required_columns_without_values() -> None:
    for column in ("destinations", "sender"):
        with pytest.raises(BadTrace, match=f"column '{column}' is null"):
            trace_from_tables([replaced(column, pa.nulls(2))], "memory")


def test_nulls() -> None:
    (run,) = trace_from_tables([table(send("p", 1, "q"), deliver("q", "p:1"))], "memory").runs
    assert run.events.position.tolist() == [NULL, NULL]
    assert run.events.stamp_entries.tolist() == [NULL, NULL]
    assert np.isnan(run.events.time).all()
    assert run.events.layer.tolist() == [0, 0]


def test_a_folder_of_files_and_runs_that_spread_over_them(tmp_path: Path) -> None:
    pq.write_table(table(*ROWS[:1], run="one"), tmp_path / "a.parquet")
    both = [table(*ROWS[1:], run="one"), table(*ROWS, run="two")]
    pq.write_table(pa.concat_tables(both), tmp_path / "b.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "_temporary").mkdir()
    (tmp_path / "_temporary" / "c.parquet").write_text("unfinished")
    (tmp_path / ".d.parquet").write_text("hidden")
    runs = read_trace(tmp_path).runs
    assert [(run.name, shown(run)) for run in runs] == [("one", SHOWN), ("two", SHOWN)]
    assert [run.place_of(1) for run in runs] == [
        f"row 0 of {tmp_path}/b.parquet",
        f"row 2 of {tmp_path}/b.parquet",
    ]


def test_each_run_knows_only_its_own_processes() -> None:
    tables = [
        table(send("a", 1, "b"), run="one"),
        table(send("c", 1, "a"), run="two"),
    ]
    first, second = trace_from_tables(tables, "memory").runs
    assert (first.processes, first.events.destination.tolist()) == (["a", "b"], [1])
    assert (second.processes, second.events.destination.tolist()) == (["a", "c"], [0])


def test_interleaved_runs() -> None:
    one, two = table(*ROWS, run="one"), table(*ROWS, run="two")
    mixed = [two.slice(0, 1), one, two.slice(1)]
    runs = trace_from_tables(mixed, "memory").runs
    assert [(run.name, shown(run)) for run in runs] == [("two", SHOWN), ("one", SHOWN)]


def test_a_dictionary_may_hold_more_than_the_rows() -> None:
    runs = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["gone", "here"]))
    kinds = pa.DictionaryArray.from_arrays(
        pa.array([0, 2]), pa.array(["send", "explode", "deliver"])
    )
    filtered = replaced("run", runs)
    filtered = filtered.set_column(4, "kind", kinds)
    (run,) = trace_from_tables([filtered], "memory").runs
    assert (run.name, shown(run)) == ("here", SHOWN)


def test_hive_partitions(tmp_path: Path) -> None:
    for run in ("one", "number 2/3"):
        folder = tmp_path / ("run=" + run.replace(" ", "%20").replace("/", "%2F"))
        folder.mkdir()
        pq.write_table(table(*ROWS).drop_columns(["run"]), folder / "part-0.parquet")
    assert [run.name for run in read_trace(tmp_path).runs] == ["number 2/3", "one"]
    assert [run.name for run in read_trace(tmp_path / "run=one").runs] == ["one"]


def test_hive_partition_of_null(tmp_path: Path) -> None:
    folder = tmp_path / "run=__HIVE_DEFAULT_PARTITION__"
    folder.mkdir()
    pq.write_table(table(*ROWS).drop_columns(["run"]), folder / "part-0.parquet")
    with pytest.raises(BadTrace, match="column 'run' is null"):
        read_trace(tmp_path)


def test_no_rows(tmp_path: Path) -> None:
    pq.write_table(SCHEMA.empty_table(), tmp_path / "t.parquet")
    assert read_trace(tmp_path / "t.parquet").runs == []
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "_SUCCESS").touch()
    assert read_trace(tmp_path / "spark").runs == []


def test_all_mistakes_of_a_schema_at_once(tmp_path: Path) -> None:
    wrong = cast("seq", pa.string()).drop_columns(["run", "destinations"])
    pq.write_table(wrong, tmp_path / "t.parquet")
    with pytest.raises(BadFile) as caught:
        read_trace(tmp_path)
    assert caught.value.file == f"{tmp_path}/t.parquet"
    assert caught.value.mistakes == [
        "column 'run' is missing, expected string",
        "column 'seq' has type string, expected int64",
        "column 'destinations' is missing, expected list<string>",
    ]


@pytest.mark.parametrize(
    ("column", "kind", "mistake"),
    [
        ("run", pa.binary(), "column 'run' has type binary, expected string"),
        ("time", pa.string(), "column 'time' has type string, expected double"),
        (
            "destinations",
            pa.list_(pa.binary()),
            "column 'destinations' has type list<item: binary>, expected list<string>",
        ),
    ],
)
def test_wrong_types(column: str, kind: pa.DataType, mistake: str) -> None:
    with pytest.raises(BadFile) as caught:
        trace_from_tables([cast(column, kind)], "memory")
    assert caught.value.mistakes == [mistake]


def test_damaged_files(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    with TraceWriter(file, "r", ["p", "q"]) as writer:
        for number in range(1, 2000):
            writer.send(0, number, number / 7, 2)
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 3] ^= 1
    for damaged in (b"", b"no Parquet", whole[:-1], whole[: len(whole) // 2], bytes(flipped)):
        file.write_bytes(damaged)
        with pytest.raises(BadFile, match=r"no Parquet file, or a damaged one.*audit") as caught:
            read_trace(tmp_path)
        assert caught.value.file == str(file)


def test_no_text(tmp_path: Path) -> None:
    names = pa.array([b"\xff", b"\xff"]).view(pa.string())
    pq.write_table(replaced("process", names), tmp_path / "t.parquet")
    with pytest.raises(BadFile, match="a string is no UTF-8 text"):
        read_trace(tmp_path / "t.parquet")


def test_another_version_of_the_format(tmp_path: Path) -> None:
    newer = table(*ROWS).replace_schema_metadata({"antecede.trace": "2"})
    pq.write_table(newer, tmp_path / "t.parquet")
    with pytest.raises(BadFile, match="trace format 2, but this is a reader of 1"):
        read_trace(tmp_path / "t.parquet")


def test_metadata_of_others(tmp_path: Path) -> None:
    noted = table(*ROWS).replace_schema_metadata({"pandas": "{}", "antecede.seed": "7"})
    pq.write_table(noted, tmp_path / "t.parquet")
    assert read_metadata(tmp_path / "t.parquet") == {"seed": "7"}
    pq.write_table(table(*ROWS), tmp_path / "t.parquet", store_schema=False)
    assert read_metadata(tmp_path / "t.parquet") == {}


def test_nothing_to_read(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="there is no such file or folder"):
        read_trace(tmp_path / "t.parquet")
    with pytest.raises(BadFile, match=r"there is no file \*\.parquet in this folder"):
        read_trace(tmp_path)
