"""Commands whose paths are addresses do what they do with paths, and leave nothing here."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from antecede.files import path_of, write_whole
from antecede.live import finish
from antecede.verify import verify_trace
from tests.campaigns.test_campaign import outcome
from tests.cli.conftest import Antecede
from tests.live import test_growing as growing
from tests.pipeline.clusters import wait_until
from tests.pipeline.traces import random_rows, write
from tests.stores.server import names_in

CAMPAIGN = """name = "stored"
question = "Does it matter where the results are?"
seeds = 6
processes = [6]
traces = "interesting"
protocols = ["vector", "none"]

[[networks]]
name = "flat"
delay = "exponential:0.2"

[[workloads]]
name = "broadcast"
kind = "broadcast"
messages = "20n"
"""
RUNS = 12
CLAIM = "elsewhere 7 1 x"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory, which stays empty but for what a test says."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    yield folder
    assert not [path.name for path in folder.iterdir() if ":" in path.name]


def test_from_a_simulation_to_a_page(antecede: Antecede, store: str, here: Path) -> None:
    far = f"{store}/one"
    flags = ("--protocol", "none", "--processes", "4", "--messages", "100")
    assert antecede("simulate", *flags, "--out", f"{far}/run.parquet").status == 0
    assert antecede("simulate", *flags, "--out", here / "run.parquet").status == 0
    refused = antecede("simulate", *flags, "--out", f"{far}/run.parquet")
    assert refused.status == 2
    assert f"{far}/run.parquet exists already; use --force" in refused.err
    near = antecede("verify", here / "run.parquet", "--json", "--out", here / "verdict")
    told = antecede("verify", f"{far}/run.parquet", "--json", "--out", f"{far}/verdict")
    assert (told.status, told.out) == (1, near.out)
    folder = path_of(f"{far}/verdict")
    assert names_in(folder) == {"verdict.json", "findings/0.parquet"}
    findings = (folder / "findings" / "0.parquet").read_bytes()
    assert findings == (here / "verdict" / "findings" / "0.parquet").read_bytes()
    again = ("verify", f"{far}/run.parquet", "--out", f"{far}/verdict")
    assert "exists already" in antecede(*again).err
    assert antecede(*again, "--force").status == 1
    assert names_in(folder) == {"verdict.json", "findings/0.parquet"}
    witness = json.loads(told.out)["witnesses"][0]
    which = ("--message", witness["path"][-1], "--process", witness["process"])
    explained = antecede("explain", f"{far}/run.parquet", *which)
    assert explained == antecede("explain", here / "run.parquet", *which)
    assert explained.status == 1
    page = ("view", f"{far}/run.parquet", "--out", f"{far}/page.html", "--shiviz", f"{far}/log")
    assert antecede(*page).status == 0
    assert antecede("audit", f"{far}/log", "--out", f"{far}/audit").status == 3
    assert names_in(path_of(far)) >= {"page.html", "log", "audit/page.html", "audit/trace.parquet"}
    assert "is in a store, where a file cannot grow" in (
        antecede("audit", "--listen", "127.0.0.1:0", "--out", f"{far}/heard").err
    )


def test_folders_of_runs(antecede: Antecede, store: str, here: Path) -> None:
    """Partitioned as Spark does it, with odd names."""
    for run in ("run=a%20b", "run=%2F"):
        (here / run).mkdir()
        trace = write(here / run / "part.parquet", ("", random_rows(len(run))))
        pq.write_table(pq.read_table(trace, partitioning=None).drop_columns("run"), trace)
        path_of(f"{store}/runs/{run}/part.parquet").write_bytes(trace.read_bytes())
    path_of(f"{store}/runs/_SUCCESS").write_bytes(b"")
    far = verify_trace(f"{store}/runs")
    assert far == verify_trace(here)
    assert far.runs == 2
    missing = antecede("verify", f"{store}/nothing.parquet")
    assert missing.status == 2
    assert missing.err.startswith(f"antecede: {store}/nothing.parquet: 1 mistake")


def test_a_log_of_several_runs(antecede: Antecede, store: str, here: Path) -> None:
    log = here / "log.csv"
    lines = ["run,process,kind,sender,number,destinations"]
    for run in "ab":
        lines += [f"{run},p,send,p,1,q", f"{run},q,deliver,p,1,"]
    log.write_text("\n".join(lines) + "\n")
    out = path_of(f"{store}/imported")
    for force in ((), ("--force",)):
        told = antecede("import", "csv", log, "--out", out, *force)
        assert (told.status, told.err) == (0, "")
        assert names_in(out) == {"a.parquet", "b.parquet"}
    assert verify_trace(out).runs == 2


def test_a_campaign_is_killed_and_resumes(antecede: Antecede, store: str, here: Path) -> None:
    file, far = here / "campaign.toml", f"{store}/campaign"
    file.write_text(CAMPAIGN)
    command = ["campaign", "run", str(file), "--master", "here", "--out", far]
    folder = path_of(far)

    def results() -> dict[str, int]:
        found = (folder / "results").listed()  # type: ignore[attr-defined]
        return {file.name: file.stat().st_mtime_ns for file in found}

    with subprocess.Popen(
        [sys.executable, "-m", "antecede", *command], stderr=subprocess.DEVNULL
    ) as running:
        wait_until(lambda: running.poll() is not None or len(results()) > 1)
        os.kill(running.pid, signal.SIGKILL)
    before = results()
    assert 1 < len(before) < RUNS, "it was not killed in mid-campaign"
    assert "campaign.json" not in names_in(folder)
    resumed = antecede(*command)
    assert resumed.status == 0
    assert f"{RUNS} runs" in resumed.out
    after = results()
    assert len(after) == RUNS
    assert before.items() <= after.items()
    near = here / "near"
    assert antecede(*command[:-1], near).status == 0
    assert outcome(folder) == outcome(near)
    assert not [name for name in names_in(folder) if name.startswith("work/")]
    assert antecede("campaign", "report", far).status == 0
    assert antecede("campaign", "report", near).status == 0
    assert "views/" in (near / "report.html").read_text("utf-8")
    assert {path.name for path in (folder / "views").iterdir()} == {
        path.name for path in (near / "views").iterdir()
    }
    assert (folder / "report.html").read_text("utf-8") == (near / "report.html").read_text("utf-8")
    (folder / ".lock" / CLAIM).write_bytes(b"")
    refused = antecede(*command)
    assert (refused.status, refused.out) == (2, "")
    assert f"another process is working in {far}; if it was killed" in refused.err


def test_fuzzing_goes_on(antecede: Antecede, store: str, here: Path) -> None:
    command = ("fuzz", "--protocol", "vector", "--master", "here", "--out", f"{store}/fuzz")
    assert antecede(*command, "--runs", "2").out.startswith("2 runs, ")
    assert "2 of these runs now" in antecede(*command, "--runs", "4").out


@pytest.mark.parametrize(
    "arguments",
    [
        ("verify", "weird+scheme://x/y"),
        ("simulate", "--protocol", "vector", "--out", "ftp://x/y"),
        ("campaign", "run", "demo", "--master", "here", "--out", "http://x/y"),
    ],
)
def test_unknown_stores_are_refused(
    antecede: Antecede, here: Path, arguments: tuple[str, ...]
) -> None:
    status, out, err = antecede(*arguments)
    assert (status, out) == (2, "")
    assert f"antecede: '{arguments[-1]}': there is no kind of store" in err


def test_what_lives_on_one_machine_is_refused(antecede: Antecede, here: Path) -> None:
    for arguments in (
        ("certs", "a", "--out", "s3://b/certs"),
        ("cluster", "--dir", "gs://b/cluster"),
        ("node", "--name", "a", "--durable", "s3://b/log"),
    ):
        status, out, err = antecede(*arguments)
        assert (status, out) == (2, "")
        told = f"antecede: {arguments[-1]} is in a store, but `antecede {arguments[0]}` keeps"
        assert err.startswith(told)


def test_recordings_in_a_store(antecede: Antecede, store: str, tmp_path: Path) -> None:
    """Files that come, of the recorder and of a node; none is read twice."""
    folder = f"{store}/recordings"
    own = [json.dumps(row) for row in growing.BROKEN]
    lines = "\n".join(['{"antecede":"recording"}', *own, ""])
    write_whole(path_of(f"{folder}/all.trace"), lines)
    growing.recorded(tmp_path)
    (node,) = finish(tmp_path)
    found, places = growing.news(path_of(folder), {})
    write_whole(path_of(f"{folder}/{node.name}"), node.read_bytes())
    more, places = growing.news(path_of(folder), places)
    assert [len(part) for part in (*found, *more)] == [5, 31]
    assert growing.news(path_of(folder), places)[0] == []
    told = antecede("watch", folder, "--for", "0")
    assert told.status == 1
    assert "r delivered m2 at 3.5 s without m1" in told.out
