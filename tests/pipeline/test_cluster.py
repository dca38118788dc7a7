"""A real cluster of two workers, one of which is killed; and what a cluster leaves behind: nothing.

The life of its processes is tested with processes that are not Spark, for they start at once.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from antecede.errors import CannotWrite, Misuse
from antecede.files import path_of, write_whole
from antecede.pipeline.cluster import standalone as clusters
from antecede.pipeline.cluster.standalone import Cluster
from antecede.verify import verify_into, verify_trace
from tests.campaigns.test_campaign import outcome, run
from tests.pipeline.clusters import FakeSpark, make_python, processes_in, wait_until
from tests.pipeline.traces import random_rows, write
from tests.stores.server import names_in

CAMPAIGN = """name = "cluster"
question = "Does it matter where it runs?"
seeds = 5
processes = [8]
traces = "interesting"
protocols = ["vector", "fifo", "matrix", "none"]

[[networks]]
name = "flat"
delay = "exponential:0.2"

[[workloads]]
name = "broadcast"
kind = "broadcast"
messages = "50n"
rate = 20.0
"""
RUNS = 20
FINDING = [(name, "ascending") for name in ("run", "process", "sender", "number")]

MANY = """
import json, sys
from antecede import cli
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["antecede", *arguments]
    try:
        cli.main()
    except SystemExit as end:
        print("status", end.code or 0, flush=True)
        print("status", end.code or 0, file=sys.stderr, flush=True)
"""
"""Several commands in one process, for Java takes its time to start."""


@pytest.fixture(scope="module")
def cluster(store: str) -> Iterator[Cluster]:
    """Its workers know where the store is."""
    with Cluster(workers=2) as running:
        yield running
    assert not running.folder.exists()
    wait_until(lambda: not processes_in(running.folder))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without Antecede."""
    names = ("antecede", "_editable_impl_antecede.pth")
    made = make_python(tmp_path_factory.mktemp("python"), lacking=names)
    told = subprocess.run(
        [made, "-c", "import pyarrow, antecede"], capture_output=True, text=True, check=False
    )
    assert "No module named 'antecede'" in told.stderr
    return made


def processes_of(cluster: Cluster, worker: str) -> list[str]:
    """What its executors consist of."""
    return processes_in(cluster.folder / worker.replace("worker ", "work-"))


def test_a_worker_that_is_killed_costs_no_result(
    spark: SparkSession, cluster: Cluster, python: Path, store: str, tmp_path: Path
) -> None:
    """With its executor, in mid-campaign; then the other one fuzzes and verifies. The executors'
    Python has no Antecede of its own. All files but the campaign's are in a store."""
    file, out = tmp_path / "campaign.toml", path_of(f"{store}/cluster")
    file.write_text(CAMPAIGN)
    trace = write(tmp_path / "run.parquet", *((f"r{seed}", random_rows(seed)) for seed in (1, 2)))
    write_whole(path_of(f"{store}/run.parquet"), trace.read_bytes())
    verdict_folder = path_of(f"{store}/verdict")
    commands = [
        ["campaign", "run", file.name, "--out", str(out)],
        ["fuzz", "--protocol", "vector", "--runs", "20", "--out", f"{store}/fuzzed"],
        ["verify", f"{store}/run.parquet", "--engine", "spark", "--json"],
    ]
    commands[-1] += ["--out", str(verdict_folder)]
    given = json.dumps([[*command, "--master", cluster.master] for command in commands])
    with subprocess.Popen(
        [sys.executable, "-c", MANY, given],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": str(python)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        wait_until(lambda: running.poll() is not None or [*(out / "results").glob("*.json")])
        # Whoever made a result has Java and Python at work.
        busiest = max(cluster.workers, key=lambda name: len(processes_of(cluster, name)))
        assert len(processes_of(cluster, busiest)) > 1
        cluster.kill_worker(busiest)
        done = len([*(out / "results").glob("*.json")])
        wait_until(cluster.ended)
        told, errors = running.communicate()
    stages = ("plan", "runs", "traces", "tables", "commit")
    first = errors.partition("status")[0]
    assert [line for line in first.splitlines() if not line.startswith(stages)] == []
    assert done < RUNS, "it was not killed in mid-campaign"
    assert cluster.ended() == (busiest,)
    assert len([*(out / "results").glob("*.json")]) == RUNS
    unbroken = tmp_path / "unbroken"
    run(file, unbroken, lambda: spark)
    assert outcome(out) == outcome(unbroken)
    _, fuzzed, verdict = told.split("status 0\n", 2)
    expected = verify_trace(trace)
    assert fuzzed.startswith("20 runs, ")
    verdict, status = verdict.split("status ")
    assert json.loads(verdict) == expected.to_json()
    assert int(status) == int(expected.violations > 0)
    near = tmp_path / "verdict"
    verify_into(trace, near)
    assert names_in(verdict_folder) >= {"verdict.json"}
    far, here = (pq.read_table(folder / "findings") for folder in (verdict_folder, near))
    assert far.sort_by(FINDING) == here.sort_by(FINDING)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeSpark:
    made = FakeSpark(tmp_path / "spark")
    monkeypatch.setattr(clusters, "_spark_home", lambda: made.home)
    return made


def test_nothing_is_left(fake: FakeSpark, tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with Cluster(workers=3, directory=place) as running:
        assert running.master == "spark://127.0.0.1:1"
        assert running.workers == ("worker 1", "worker 2", "worker 3")
        assert [*place.iterdir()] == [running.folder]
        wait_until(lambda: len(fake.alive()) == 8)
        assert running.ended() == ()
        running.kill_worker("worker 2")
        wait_until(lambda: len(fake.alive()) == 6)
        assert running.ended() == ("worker 2",)
    assert fake.left() == []
    assert [*place.iterdir()] == []
    running.close()


def test_a_worker_that_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = FakeSpark(tmp_path / "spark", worker="echo no more threads; exit 1")
    monkeypatch.setattr(clusters, "_spark_home", lambda: fake.home)
    with (
        pytest.raises(Misuse, match="the worker 1 of the cluster did not start: no more threads"),
        Cluster(workers=2, directory=tmp_path) as running,
    ):
        pytest.fail(f"{running.master} is there")
    assert fake.left() == []
    assert [path.name for path in tmp_path.iterdir()] == ["spark"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_its_end_is_that_of_the_command(fake: FakeSpark, tmp_path: Path, number: int) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with subprocess.Popen(
        fake.command("--dir", str(place)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "spark://127.0.0.1:1\n"
        wait_until(lambda: len(fake.alive()) == 6)
        command.send_signal(number)
        command.communicate()
    assert command.returncode == (-number if number == signal.SIGKILL else 0)
    wait_until(lambda: not fake.alive())
    wait_until(lambda: not [*place.iterdir()])


def test_a_cluster_without_workers_ends(fake: FakeSpark) -> None:
    with subprocess.Popen(
        fake.command("--workers", "1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as command:
        assert command.stdout is not None
        command.stdout.readline()
        wait_until(lambda: len(fake.alive()) == 4)
        _, _, worker, _ = fake.alive()
        os.killpg(os.getpgid(worker), signal.SIGKILL)
        _, errors = command.communicate()
    assert command.returncode == 1
    assert "the worker 1 has ended\nso this cluster is of no use any more\n" in errors
    assert fake.left() == []


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"memory": "much"}, "memory 'much': write it as 1500m or 2g"),
        ({"memory": "512m"}, "memory '512m' is too little: an executor needs 1024m"),
        ({"workers": 0}, "a cluster has at least one worker"),
        ({"cores": 0}, "and a worker one core"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        Cluster(**options)  # type: ignore[arg-type]


def test_a_folder_that_is_not_there(fake: FakeSpark, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with pytest.raises(CannotWrite, match="No such file or directory"), Cluster(directory=missing):
        pytest.fail("it runs")
