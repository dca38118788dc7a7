"""Kept, broken, or cannot tell: no engine and no reader says "kept" of what it has not seen."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadFile
from antecede.trace import Assumed, encode_assumed, read_assumed
from antecede.trace.assumed import OWN
from antecede.verify import Answer, Verdict, explain, verify_into, verify_trace
from antecede.verify.verdict import NOTHING
from tests.cli.conftest import Antecede, antecede
from tests.trace.builders import Row, deliver, event, positioned, receive, send, table

__all__ = ["antecede"]

GOOD = [send("p", 1, "q"), deliver("q", "p:1")]
EARLY = [send("p", 1, "q"), send("p", 2, "q"), deliver("q", "p:2")]
CLOCKS = Assumed("clocks", "only clocks were there", "nothing early can be seen", 3, "line 7")
NOTE = Assumed("duplicates", "some came twice", "the first counts", 2, doubt=False)

EMPTY: dict[str, list[Row]] = {
    "no row": [],
    "no delivery": [send("p", 1, "q"), receive("q", "p:1")],
    "membership alone": [event("join", "p"), event("crash", "p")],
    "another layer": [{**row, "layer": "hop"} for row in GOOD],
}


def written(path: Path, rows: list[Row], footer: dict[str, str] | None = None) -> Path:
    whole: pa.Table = table(*positioned(*rows))
    notes = {f"antecede.{key}": text for key, text in (footer or {}).items()}
    pq.write_table(whole.replace_schema_metadata(notes), path)
    return path


Engine = Callable[[Path], Verdict]
ENGINES: dict[str, Engine] = {
    "local": verify_trace,
    "oracle": lambda path: verify_trace(path, engine="oracle"),
    "into": lambda path: verify_into(path, path.parent / "out"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EMPTY)
def test_nothing_was_kept_where_nothing_was_delivered(
    tmp_path: Path, engine: str, name: str
) -> None:
    verdict = ENGINES[engine](written(tmp_path / "t.parquet", EMPTY[name]))
    assert (verdict.answer, verdict.doubts) == (Answer.CANNOT_TELL, (NOTHING,))


@pytest.mark.parametrize("engine", ENGINES)
def test_what_processes_tell_themselves_orders_nothing(tmp_path: Path, engine: str) -> None:
    own = [send("p", 1, "pq"), deliver("p", "p:1"), send("p", 2, "p"), deliver("p", "p:2")]
    verdict = ENGINES[engine](written(tmp_path / "t.parquet", own))
    assert (verdict.deliveries, verdict.answer, verdict.doubts) == (2, Answer.CANNOT_TELL, (OWN,))
    (tmp_path / "second").mkdir()
    second = written(tmp_path / "second" / "t.parquet", [*own, deliver("q", "p:1")])
    assert ENGINES[engine](second).answer is Answer.KEPT


@pytest.mark.parametrize("engine", ENGINES)
def test_what_was_assumed_stays_with_the_trace(tmp_path: Path, engine: str) -> None:
    footer = encode_assumed([CLOCKS, NOTE])
    verdict = ENGINES[engine](written(tmp_path / "t.parquet", GOOD, footer))
    assert verdict.assumed == (CLOCKS, NOTE)
    assert (verdict.answer, verdict.doubts) == (Answer.CANNOT_TELL, (CLOCKS,))


def test_the_three_answers() -> None:
    kept = Verdict(runs=1, deliveries=1)
    unsure = replace(kept, assumed=(CLOCKS,))
    assert kept.answer is replace(kept, assumed=(NOTE,)).answer is Answer.KEPT
    assert unsure.answer is Verdict().answer is Answer.CANNOT_TELL
    assert replace(unsure, violations=1).answer is Answer.BROKEN
    assert (kept + unsure).answer is Answer.CANNOT_TELL


def test_files_add_up(tmp_path: Path) -> None:
    for name in "ab":
        written(tmp_path / f"{name}.parquet", [], encode_assumed([CLOCKS]))
    (one,) = read_assumed(tmp_path)
    assert one.sentence() == (
        "only clocks were there (6, the first at line 7): nothing early can be seen"
    )


def test_footers_of_old_and_broken_ones(tmp_path: Path) -> None:
    """Importers used to leave a text, which was as good a reason for doubt."""
    old = written(tmp_path / "old.parquet", GOOD, {"warnings": "clocks alone"})
    assert [one.sentence() for one in verify_trace(old).doubts] == ["clocks alone"]
    silent = written(tmp_path / "silent.parquet", GOOD, {"warnings": ""})
    assert verify_trace(silent).answer is Answer.KEPT
    with pytest.raises(BadFile, match="the footer's 'assumed' cannot be read"):
        verify_trace(written(tmp_path / "broken.parquet", GOOD, {"assumed": "[3]"}))


def test_the_command(antecede: Antecede, tmp_path: Path) -> None:
    trace = tmp_path / "t.parquet"
    written(trace, GOOD, encode_assumed([CLOCKS, NOTE]))
    told = antecede("verify", trace)
    assert told.status == 3
    assert told.out.splitlines()[2:] == [
        "no early delivery was found, but whether causal order was kept CANNOT BE TOLD:",
        "  only clocks were there (3, the first at line 7): nothing early can be seen",
        "assumed from the log:",
        "  some came twice (2): the first counts",
    ]
    spoken = json.loads(antecede("verify", trace, "--json").out)
    assert (spoken["answer"], spoken["doubts"]) == ("cannot tell", ["clocks"])
    assert [one["what"] for one in spoken["assumed"]] == ["clocks", "duplicates"]
    explained = antecede("explain", trace, "--process", "q", "--message", "p:1")
    assert explained.status == 3
    assert "Whether that kept causal order cannot be told:\n  only clocks" in explained.out
    written(trace, EARLY, encode_assumed([CLOCKS]))
    broken = antecede("verify", trace)
    assert broken.status == 1
    assert broken.out.splitlines()[-2:] == ["assumed from the log:", f"  {CLOCKS.sentence()}"]
    assert antecede("verify", written(trace, GOOD, encode_assumed([NOTE]))).status == 0


def test_a_message_that_never_came_kept_nothing(tmp_path: Path) -> None:
    trace = written(tmp_path / "t.parquet", EMPTY["no delivery"])
    assert explain(trace, "q", "p:1").answer is Answer.CANNOT_TELL
