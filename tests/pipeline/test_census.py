"""Which runs there are and how they are dealt out, without Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadTrace
from antecede.pipeline.audit import runs as census
from antecede.pipeline.audit.job import Limits
from antecede.pipeline.audit.runs import find_runs, pack
from tests.pipeline.plain import plain_job
from tests.pipeline.traces import write
from tests.trace.builders import send, table

ROWS = [send("p", number, "q") for number in range(1, 9)]


def test_footers_tell_without_a_look_at_the_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = write(tmp_path / "run.parquet", ("r", ROWS), ("s", ROWS), group=4)
    monkeypatch.setattr(census, "_look", lambda _: pytest.fail("rows were looked at"))
    runs = find_runs(plain_job(trace, tmp_path / "work", Limits()))
    assert [(run.name, run.rows, run.stretches) for run in runs] == [
        ("r", 8, ((0, 7),)),
        ("s", 8, ((8, 15),)),
    ]


def test_mixed_runs_are_read_by_few(tmp_path: Path) -> None:
    """Where every lot has to read everything, there are fewer of them."""
    names = [f"run {index}" for index in range(12)]
    tables = [table(*ROWS, run=name) for name in names]
    mixed = [table.slice(at, 1) for at in range(len(ROWS)) for table in tables]
    apart, together = tmp_path / "apart.parquet", tmp_path / "mixed.parquet"
    pq.write_table(pa.concat_tables(tables), apart, row_group_size=8)
    pq.write_table(pa.concat_tables(mixed), together, row_group_size=8)
    for trace, lots in ((apart, 6), (together, 2)):
        job = plain_job(trace, tmp_path / "work", Limits())
        runs = find_runs(job)
        assert [(run.name, run.rows) for run in runs] == [(name, 8) for name in names]
        packed = pack(runs, job.source.files, rows=16, most=48)
        assert len(packed) == lots
        assert [name for lot in packed for name in lot.runs] == names


def test_a_row_of_no_run(tmp_path: Path) -> None:
    pq.write_table(table(*ROWS, run=None), tmp_path / "run.parquet")
    with pytest.raises(BadTrace, match=r"row 0 of .*: column 'run' is null"):
        find_runs(plain_job(tmp_path, tmp_path / "work", Limits()))
