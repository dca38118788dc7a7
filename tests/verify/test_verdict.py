"""The verdict on a whole trace, as machines and people get it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import Misuse
from antecede.trace import TraceWriter
from antecede.verify import WITNESS_LIMIT, Answer, Verdict, Witness, verify_trace
from tests.trace.builders import deliver, send, table

FAULTY = [send("p", 1, "q"), send("p", 2, "q"), deliver("q", "p:2"), deliver("q", "p:1")]


def test_json(tmp_path: Path) -> None:
    good = [send("p", 1, "qr"), deliver("q", "p:1")]
    runs = [table(*good, run="good"), table(*FAULTY, run="faulty")]
    pq.write_table(pa.concat_tables(runs), tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path)
    assert json.loads(json.dumps(verdict.to_json())) == {
        "answer": "broken",
        "doubts": [],
        "assumed": [],
        "runs": 2,
        "messages": 3,
        "deliveries": 3,
        "violations": 1,
        "undelivered": 1,
        "undelivered_at_crashed": 0,
        "delays": None,
        "witnesses": [
            {
                "run": "faulty",
                "process": "q",
                "first": "p:1",
                "second": "p:2",
                "path": ["p:1", "p:2"],
                "time": None,
            }
        ],
    }
    assert verdict.answer is Answer.BROKEN


def test_sentences() -> None:
    def said(*path: str, time: float | None = None) -> str:
        return Witness("r", "q", path[0], path[-1], path, time).sentence()

    assert said("p1:4", "p2:5", "p3:7", time=3.1) == (
        "q delivered p3:7 at 3.1 s without p1:4, which p3:7 depends on through p2:5"
    )
    assert said("a:1", "b:1", "c:1", "d:1") == (
        "q delivered d:1 without a:1, which d:1 depends on through b:1, c:1"
    )
    assert said("a:1", "a:2") == "q delivered a:2 without a:1, which a:2 directly depends on"


def test_many_runs(tmp_path: Path) -> None:
    """The witnesses are cut, the counts are not."""
    runs = [table(*FAULTY, run=f"seed {seed}") for seed in range(WITNESS_LIMIT + 20)]
    pq.write_table(pa.concat_tables(runs), tmp_path / "t.parquet")
    verdict = verify_trace(tmp_path)
    assert verdict.runs == verdict.violations == WITNESS_LIMIT + 20
    assert [w.run for w in verdict.witnesses] == [f"seed {seed}" for seed in range(WITNESS_LIMIT)]


def test_layers(tmp_path: Path) -> None:
    rows = [{**row, "layer": "hop"} for row in FAULTY]
    pq.write_table(table(*rows), tmp_path / "t.parquet")
    assert verify_trace(tmp_path) == Verdict(runs=1)
    assert verify_trace(tmp_path, layer="hop").violations == 1
    with pytest.raises(Misuse, match="there is no layer 'wire'; the layers are app and hop"):
        verify_trace(tmp_path, layer="wire")


def test_no_runs(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.parquet", "r", ["p"]):
        pass
    assert verify_trace(tmp_path / "t.parquet") == Verdict()
