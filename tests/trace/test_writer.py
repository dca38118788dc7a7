"""The writer: what comes back, and what is left when something goes wrong."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.errors import CannotWrite, Misuse
from antecede.trace import (
    APP,
    CRASH,
    DELIVER,
    HOP,
    NO_TIME,
    SCHEMA,
    SEND,
    VIEW,
    TraceWriter,
    read_metadata,
    read_trace,
)
from antecede.trace.encoder import NOBODY, ROW

NAMES = ["p", "q", "r"]
P, Q, R = range(3)


def write_some(path: Path, force: bool = False) -> None:
    with TraceWriter(path, "seed 7", NAMES, {"scenario": "small"}, force=force) as writer:
        writer.send(P, 1, 0.5, 1 << Q | 1 << R, 3, 12)
        writer.send(P, 1, 0.5, 1 << Q, layer=HOP)
        writer.receive(Q, P, 1, 1.5, HOP)
        writer.deliver(Q, P, 1, 1.5)
        writer.membership(CRASH, R, NO_TIME)


def write_many(path: Path, rows: int = 400_000) -> None:
    """Three row groups and more."""
    with TraceWriter(path, "long", NAMES) as writer:
        for number in range(1, rows // 2 + 1):
            writer.send(number % 3, (number + 2) // 3, number / 8, 0b111)
            writer.membership(VIEW, P, number / 8)


def left_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_rows_as_any_reader_sees_them(tmp_path: Path) -> None:
    write_some(tmp_path / "t.parquet")
    table = pq.read_table(tmp_path / "t.parquet")
    # Files say of some columns that they hold no null, which lets them be read faster.
    assert table.cast(SCHEMA).schema.equals(SCHEMA, check_metadata=False)
    assert [field.name for field in table.schema if not field.nullable] == [
        "run", "layer", "process", "seq", "kind", "position",
    ]  # fmt: skip
    nothing = {"destinations": None, "stamp_entries": None, "stamp_bytes": None}
    common = {"run": "seed 7", "layer": "app", "sender": "p", "number": 1, **nothing}
    expected = [
        {"process": "p", "kind": "send", "seq": 0, "time": 0.5, "position": 0,
         "destinations": ["q", "r"], "stamp_entries": 3, "stamp_bytes": 12},
        {"process": "p", "kind": "send", "seq": 1, "time": 0.5, "position": 1,
         "destinations": ["q"], "layer": "hop"},
        {"process": "q", "kind": "receive", "seq": 0, "time": 1.5, "position": 2, "layer": "hop"},
        {"process": "q", "kind": "deliver", "seq": 1, "time": 1.5, "position": 3},
        {"process": "r", "kind": "crash", "seq": 0, "time": None, "position": 4,
         "sender": None, "number": None},
    ]  # fmt: skip
    assert table.to_pylist() == [{**common, **row} for row in expected]
    assert read_metadata(tmp_path / "t.parquet") == {"scenario": "small"}


def test_round_trip(tmp_path: Path) -> None:
    write_some(tmp_path / "t.parquet")
    (run,) = read_trace(tmp_path / "t.parquet").runs
    assert run.name == "seed 7"
    assert run.processes == NAMES
    app = run.layer(APP)
    assert app.kind.tolist() == [SEND, DELIVER, CRASH]
    assert app.process.tolist() == [P, Q, R]
    assert app.destination_start.tolist() == [0, 2, 2, 2]
    assert app.destination.tolist() == [Q, R]
    assert app.stamp_bytes.tolist()[0] == 12
    assert run.layer(HOP).message.tolist() == [0, 0]


def test_seq_and_position_count_on_over_row_groups(tmp_path: Path) -> None:
    write_many(tmp_path / "t.parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").num_row_groups == 4
    (run,) = read_trace(tmp_path / "t.parquet").runs
    assert run.events.position.tolist() == list(range(400_000))


def test_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.parquet", "b.parquet"):
        write_many(tmp_path / name)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_rows_fed_in_bulk_are_the_same_rows(tmp_path: Path) -> None:
    one_by_one, in_bulk = tmp_path / "a.parquet", tmp_path / "b.parquet"
    with TraceWriter(one_by_one, "r", NAMES) as writer:
        writer.send(P, 1, 0.5, 1 << Q, 3, 12)
        writer.deliver(Q, P, 1, 1.5)
        writer.membership(CRASH, R, NO_TIME)
    packed = [
        ROW.pack(SEND, APP, P, P, 1, 0.5),
        ROW.pack(DELIVER, APP, Q, P, 1, 1.5),
        ROW.pack(CRASH, APP, R, NOBODY, 0, NO_TIME),
    ]
    with TraceWriter(in_bulk, "r", NAMES) as writer:
        writer.extend(b"".join(packed), [(1 << Q, 3, 12)])
    assert in_bulk.read_bytes() == one_by_one.read_bytes()


def test_unusual_names(tmp_path: Path) -> None:
    names = ["a b", "进程", "pröcess:1", "", "🦆", "a\nb"]
    with TraceWriter(tmp_path / "Spur №1.parquet", "прогон 1", names) as writer:
        writer.send(1, 1, 0.0, 0b111111)
        for process in range(6):
            writer.deliver(process, 1, 1, 1.0)
    (run,) = read_trace(tmp_path / "Spur №1.parquet").runs
    assert run.name == "прогон 1"
    assert run.processes == names
    assert run.events.destination.tolist() == [0, 1, 2, 3, 4, 5]


def test_more_processes_than_bits_in_a_word(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.parquet", "r", [f"p{i}" for i in range(131)]) as writer:
        writer.send(0, 1, 0.0, 1 << 130 | 1 << 64 | 1)
        writer.send(0, 2, 0.0, 0)
    table = pq.read_table(tmp_path / "t.parquet")
    assert table["destinations"].to_pylist() == [["p0", "p64", "p130"], []]


def test_no_events(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.parquet", "r", NAMES):
        pass
    assert read_trace(tmp_path / "t.parquet").runs == []


def test_an_existing_target_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    target.write_text("precious")
    with pytest.raises(Misuse, match=r"t\.parquet exists already; use --force to replace it"):
        TraceWriter(target, "r", NAMES)
    assert left_in(tmp_path) == ["t.parquet"]
    assert target.read_text() == "precious"
    write_some(target, force=True)
    assert len(read_trace(target).runs) == 1


def test_a_target_that_appears_meanwhile_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    writer = TraceWriter(target, "r", NAMES)
    target.write_text("precious")
    with pytest.raises(Misuse, match="exists already"):
        writer.close()
    assert left_in(tmp_path) == ["t.parquet"]
    assert target.read_text() == "precious"


def test_a_folder_is_refused_even_by_force(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="is a folder"):
        TraceWriter(tmp_path, "r", NAMES, force=True)


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CannotWrite, match=r"no/t\.parquet: No such file or directory"):
        TraceWriter(tmp_path / "no" / "t.parquet", "r", NAMES)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_exception_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    old = tmp_path / "t.parquet"
    write_some(old)
    before = old.read_bytes()

    def stop() -> None:
        with TraceWriter(old, "r", NAMES, force=True) as writer:
            writer.send(P, 1, 0.0, 1 << Q)
            writer.flush()
            raise error

    with pytest.raises(error):
        stop()
    assert left_in(tmp_path) == ["t.parquet"]
    assert old.read_bytes() == before


def test_nothing_can_be_added_after_the_end(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.parquet", "r", NAMES) as writer:
        pass
    with pytest.raises(Misuse, match="the trace is closed"):
        writer.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("rows", [2, 200_000], ids=["at the end", "on the way"])
def test_a_full_disk(tmp_path: Path, rows: int) -> None:
    """The unfinished file is a link to the device that has no space left."""
    (tmp_path / f".t.parquet.partial-{os.getpid()}").symlink_to("/dev/full")
    with pytest.raises(CannotWrite) as caught:
        write_many(tmp_path / "t.parquet", rows)
    assert str(caught.value) == (
        f"cannot write {tmp_path}/t.parquet: No space left on device; nothing of it was kept"
    )
    assert left_in(tmp_path) == []


def test_a_killed_writer_leaves_only_a_hidden_file(tmp_path: Path) -> None:
    program = """
import sys, time
from antecede.trace import TraceWriter
writer = TraceWriter(sys.argv[1], "r", ["p", "q"])
for number in range(1, 100_000):
    writer.send(0, number, 0.0, 2)
print("half way", flush=True)
time.sleep(60)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "t.parquet")], stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"half way\n"
        child.send_signal(signal.SIGKILL)
    assert left_in(tmp_path) == [f".t.parquet.partial-{child.pid}"]
    write_some(tmp_path / "t.parquet")
    assert [run.name for run in read_trace(tmp_path).runs] == ["seed 7"]


def test_misuse_of_processes(tmp_path: Path) -> None:
    target = tmp_path / "t.parquet"
    with pytest.raises(Misuse, match="two processes of run 'r' have the same name"):
        TraceWriter(target, "r", ["p", "p"])
    with (
        pytest.raises(Misuse, match="process 3 is none of the 3"),
        TraceWriter(target, "r", NAMES) as writer,
    ):
        writer.deliver(3, 0, 1, 0.0)
    with (
        pytest.raises(Misuse, match="process -1 is none of the 3"),
        TraceWriter(target, "r", NAMES) as writer,
    ):
        writer.deliver(-1, 0, 1, 0.0)
    with (
        pytest.raises(Misuse, match="a destination is none of the 3"),
        TraceWriter(target, "r", NAMES) as writer,
    ):
        writer.send(0, 1, 0.0, 0b1000)
    with (
        pytest.raises(Misuse, match="kind 0 is not one of 3 to 6"),
        TraceWriter(target, "r", NAMES) as writer,
    ):
        writer.membership(SEND, 0, 0.0)
    with (
        pytest.raises(Misuse, match="1 lots of destinations for 0 sends"),
        TraceWriter(target, "r", NAMES) as writer,
    ):
        writer.extend(ROW.pack(DELIVER, APP, Q, P, 1, 1.5), [(1 << Q, 3, 12)])
    assert left_in(tmp_path) == []
