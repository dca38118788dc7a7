"""A verdict on disk is there as a whole, or not at all."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.errors import CannotWrite, Misuse
from antecede.verify import Verdict, verify_into, verify_trace
from antecede.verify.findings import FINDINGS
from antecede.verify.output import output_folder
from tests.pipeline.traces import write
from tests.trace.builders import deliver, positioned, send

EARLY = positioned(
    *[send("p", 1, "q"), send("p", 2, "q", time=1.0)],
    *[deliver("q", "p:2", time=2.0), deliver("q", "p:1", time=3.0)],
)


def test_verdict_and_findings(tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", EARLY), ("s", EARLY))
    verdict = verify_into(trace, tmp_path / "out")
    assert verdict == verify_trace(trace)
    assert json.loads((tmp_path / "out" / "verdict.json").read_text()) == verdict.to_json()
    found = pq.read_table(tmp_path / "out" / "findings")
    assert found.schema.equals(FINDINGS)
    assert found.to_pylist() == [
        {"run": run, "process": "q", "sender": "p", "number": 2, "time": 2.0} for run in "rs"
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "run.parquet"]


def test_an_existing_folder_is_refused(tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", EARLY))
    verify_into(trace, tmp_path / "out")
    with pytest.raises(Misuse, match="use --force to replace it"):
        verify_into(trace, tmp_path / "out")
    (tmp_path / "out" / "verdict.json").write_text("old")
    verify_into(trace, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "verdict.json").read_text() != "old"


def test_what_is_no_verdict_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    trace = write(tmp_path / "run.parquet", ("r", EARLY))
    with pytest.raises(Misuse, match="is no verdict of ours"):
        verify_into(trace, tmp_path / "mine", force=True)


def interrupted(out: Path) -> None:
    with output_folder(out) as output:
        (output.work / "half").write_text("x")
        output.write(Verdict())
        raise KeyboardInterrupt


def test_an_interrupted_verification_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupted(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_kill_leaves_no_half_verdict(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from antecede.verify.output import output_folder\n"
        "from antecede.verify import Verdict\n"
        "with output_folder(sys.argv[1]) as output:\n"
        "    output.write(Verdict())\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    out = tmp_path / "out"
    killed = subprocess.run([sys.executable, "-c", code, str(out)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not out.exists()
    trace = write(tmp_path / "run.parquet", ("r", EARLY))
    verify_into(trace, out)
    assert (out / "verdict.json").is_file()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(CannotWrite, match="cannot write"), output_folder(tmp_path / "file" / "out"):
        pass
