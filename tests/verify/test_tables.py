"""Tables in memory are judged as files are, whatever kind they are and however they are ordered."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadFile, BadTrace, Misuse
from antecede.trace import Assumed, encode_assumed
from antecede.verify import Answer, tables, verify_into, verify_table, verify_trace
from antecede.verify.findings import FINDINGS
from tests.pipeline.traces import random_rows, write
from tests.trace.builders import deliver, positioned, send, table
from tests.verify.test_incomplete import KINDS, Execution

RUNS = [(f"r{seed:02}", random_rows(seed)) for seed in range(30)]
RUNS.append(("silent", positioned(send("a", 1, "b"))))


@pytest.fixture(scope="module")
def whole() -> pa.Table:
    return pa.concat_tables([table(*rows, run=name) for name, rows in RUNS])


def shuffled(rows: pa.Table, seed: int = 3) -> pa.Table:
    order = list(range(len(rows)))
    Random(seed).shuffle(order)
    return rows.take(order)


def polars_types(rows: pa.Table) -> pa.Table:
    """In the types in which Polars hands over text and lists."""
    types = {pa.string(): pa.string_view(), rows["destinations"].type: pa.large_list(pa.string())}
    fields = [(field.name, types.get(field.type, field.type)) for field in rows.schema]
    return rows.cast(pa.schema(fields))


def test_every_kind_of_table_in_any_order(whole: pa.Table, tmp_path: Path) -> None:
    expected = verify_trace(write(tmp_path / "t.parquet", *RUNS))
    assert expected.violations > 10
    kinds = [whole, shuffled(whole), polars_types(whole), whole.to_pandas()]
    for kind in kinds:
        assert verify_table(kind) == expected
    (batch,) = whole.combine_chunks().to_batches()
    assert verify_table(batch) == expected


def test_positions_may_be_missing(whole: pa.Table) -> None:
    bare = whole.drop_columns(["position"])
    counts = replace(verify_table(whole), witnesses=(), delays=verify_table(bare).delays)
    assert replace(verify_table(bare), witnesses=()) == counts
    assert verify_table(shuffled(bare)) == verify_table(bare)


def test_a_row_a_run(whole: pa.Table) -> None:
    rows = {row["run"]: row for row in tables.verdicts(shuffled(whole)).to_pylist()}
    assert list(rows) == [name for name, _ in RUNS]
    answers = set()
    for name, run in RUNS:
        verdict = verify_table(table(*run, run=name))
        row = rows[name]
        answers.add(verdict.answer)
        assert row["answer"] == verdict.answer
        assert row["doubts"] == [doubt.what for doubt in verdict.doubts]
        assert (row["violations"], row["messages"]) == (verdict.violations, verdict.messages)
        assert row["timed"] == verdict.delays.deliveries
        assert row["own_s"] == pytest.approx(verdict.delays.own_s)
    assert answers == set(Answer)


def test_violations_are_the_findings_and_have_proofs(whole: pa.Table, tmp_path: Path) -> None:
    trace = write(tmp_path / "t.parquet", *RUNS)
    verdict = verify_into(trace, tmp_path / "out")
    findings = pq.read_table(tmp_path / "out" / "findings").to_pylist()
    found = tables.violations(shuffled(whole))
    names = FINDINGS.names
    assert sorted(map(str, found.select(names).to_pylist())) == sorted(map(str, findings))
    sentences = [witness.sentence() for witness in verdict.witnesses]
    assert sorted(found["sentence"].to_pylist()) == sorted(sentences)


def test_deliveries_add_up_to_the_verdict(whole: pa.Table) -> None:
    verdict = verify_table(whole)
    found = tables.deliveries(shuffled(whole))
    delivered = [row for row in whole.to_pylist() if row["kind"] == "deliver"]
    own = sum(row["sender"] == row["process"] for row in delivered)
    assert len(found) == verdict.deliveries - own
    assert sum(found["early"].to_pylist()) == verdict.violations
    for part in ("forced_s", "inherited_s", "own_s"):
        told = [x for x in found[part].to_pylist() if x is not None]
        assert len(told) == verdict.delays.deliveries
        assert sum(told) == pytest.approx(getattr(verdict.delays, part))


def test_less_than_causal_order(tmp_path: Path) -> None:
    """Exactly what the messages ask for is judged."""
    for kinds in KINDS:
        execution = Execution(5, kinds)
        (tmp_path / "t.parquet").unlink(missing_ok=True)
        execution.write(tmp_path / "t.parquet", "r")
        rows = pq.read_table(tmp_path / "t.parquet")
        verdict = verify_trace(tmp_path / "t.parquet")
        assert verify_table(rows) == verdict
        assert len(tables.violations(rows)) == verdict.violations
        assert sum(tables.deliveries(rows)["early"].to_pylist()) == verdict.violations


def test_what_was_assumed_goes_with_the_verdict() -> None:
    rows = table(*positioned(send("a", 1, "b"), deliver("b", "a:1")))
    doubt = Assumed("guess", "a guess was made")
    assert verify_table(rows).answer is Answer.KEPT
    assert verify_table(rows, assumed=[doubt]).answer is Answer.CANNOT_TELL
    footer = {f"antecede.{key}": text for key, text in encode_assumed([doubt]).items()}
    noted = rows.replace_schema_metadata(footer)
    assert verify_table(noted).assumed == (doubt,)
    assert tables.verdicts(noted)["caveats"].to_pylist() == [["a guess was made"]]


def test_nothing_delivered_is_not_kept() -> None:
    rows = table(*positioned(send("a", 1, "b")))
    assert tables.verdicts(rows)["doubts"].to_pylist() == [["nothing"]]
    assert tables.deliveries(rows).to_pylist() == tables.violations(rows).to_pylist() == []
    assert len(tables.verdicts(rows.slice(0, 0))) == 0


def test_refused_in_words() -> None:
    rows = table(*positioned(send("a", 1, "b"), deliver("b", "a:1")))
    with pytest.raises(Misuse, match="a dict is no table: give one of Arrow, pandas or Polars"):
        verify_table({})
    with pytest.raises(BadFile, match="column 'kind' is missing"):
        verify_table(rows.drop_columns(["kind"]))
    half = rows.to_pandas().assign(number=[1.0, 1.5])
    with pytest.raises(BadFile, match="column 'number' has a number that is not whole"):
        verify_table(half)
    with pytest.raises(BadTrace, match="row 0 of the table in the order of its positions"):
        verify_table(rows.slice(1))
    with pytest.raises(Misuse, match="there is no layer 'top'"):
        verify_table(rows, "top")
