"""What is wrong with a cluster is said before the work begins."""

import json
import socket
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import make_plan
from antecede.errors import CannotWrite, Misuse
from antecede.pipeline.audit.verify import verify_on_spark
from antecede.pipeline.campaigns.elsewhere import prepare
from antecede.pipeline.cluster import preflight
from antecede.pipeline.session import build_session
from antecede.pipeline.spread import spread
from tests.campaigns.files import SMALL, save
from tests.campaigns.test_campaign import run
from tests.pipeline import tasks
from tests.pipeline.traces import random_rows, write


@pytest.fixture
def remote(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session, taken for one on a cluster."""
    monkeypatch.setattr(preflight, "is_remote", lambda _: True)
    return spark


@pytest.fixture
def unshared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is another one for executors: they were started elsewhere."""
    monkeypatch.chdir(tmp_path)
    return Path("/proc/self/cwd")


def test_no_master() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        with pytest.raises(Misuse, match="no master of a cluster answers at 'spark://127"):
            preflight.check_master(f"spark://127.0.0.1:{unused.getsockname()[1]}")
    with pytest.raises(Misuse, match="write spark://HOST:PORT"):
        preflight.check_master("spark://here")


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("yarn", "set HADOOP_CONF_DIR to its folder"),
        ("sc://127.0.0.1:1", "no Connect server answers at 'sc://127.0.0.1:1': .*refused"),
        ("sc://", "write sc://HOST:PORT"),
        ("sc://a:b:c", "write sc://HOST:PORT"),
        ("k8s://https://127.0.0.1:1", "no Kubernetes API server answers at .*refused"),
        ("k8s://http://", "write k8s://HOST:PORT"),
        ("mesos://x", "there is no master 'mesos://x'; say local"),
        ("local[two]", "there is no master 'local\\[two\\]'"),
        ("", "there is no master ''"),
    ],
)
def test_masters_that_no_java_starts_for(
    master: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("antecede.pipeline.session.find_java", None)  # calling it would be an error
    with pytest.raises(Misuse, match=told):
        build_session(master)
    monkeypatch.setenv("YARN_CONF_DIR", "/etc/hadoop")
    for fine in ("yarn", "local", "local[*]", "local[2,3]"):
        preflight.check_master(fine)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        for kind in ("k8s://https://", "k8s://", "spark://127.0.0.1:1,", "sc://"):
            preflight.check_master(f"{kind}127.0.0.1:{port}")
        preflight.check_master(f"sc://127.0.0.1:{port}/;user_id=me")


def test_connect_without_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "CONNECT", ("no_such_module",))
    with pytest.raises(Misuse, match=r"needs no_such_module; pip install 'antecede\[connect\]'"):
        preflight.check_master("sc://127.0.0.1:15002")


def test_one_of_several_masters() -> None:
    with socket.create_server(("127.0.0.1", 0)) as standing, socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        ports = [each.getsockname()[1] for each in (unused, standing)]
        preflight.check_master(f"spark://127.0.0.1:{ports[0]},127.0.0.1:{ports[1]}")


def test_workers_that_lack_a_module(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    preflight.check_workers(spark)
    monkeypatch.setattr(preflight, "NEEDED", (*preflight.NEEDED, "no_such_module"))
    with pytest.raises(Misuse, match=r"the workers' Python, .*, has no no_such_module, which"):
        preflight.check_workers(spark)


def test_nobody_waits_for_ever(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a cluster that has no core to give."""
    monkeypatch.setattr(preflight, "PATIENCE_S", 0.1)
    go = tmp_path / "this.go"
    busy = spread(spark, ["at once", *[str(go)] * 2], tasks.wait_for, slices=3)
    assert next(busy) == "at once"
    with pytest.raises(Misuse, match=r"has taken a task for 0\.1 s: are there workers"):
        preflight.check_workers(spark)
    go.touch()
    assert list(busy) == [str(go)] * 2


def test_a_campaign_in_a_folder_of_its_own(remote: SparkSession, unshared: Path) -> None:
    file = save(unshared)
    with pytest.raises(Misuse, match="does not see /proc/self/cwd/out/work as it is here"):
        run(file, unshared / "out", lambda: remote)
    assert not [*(unshared / "out" / "results").iterdir()]


GRAPHML = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="a"/><node id="b"/><node id="c"/><edge source="a" target="b"/><edge source="b" target="c"/>
</graph></graphml>"""


@pytest.mark.parametrize("name", ["net.graphml", "largest:net.graphml"])
def test_files_get_whole_names(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """For executors look elsewhere than where the command was given. The run stays the same."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.graphml").write_text(GRAPHML)
    runs = make_plan(load_campaign(save_with(tmp_path, name))).distinct()
    prepared = prepare(remote, runs)
    whole = name.replace("net.graphml", str(tmp_path / "net.graphml"))
    assert {json.loads(run.scenario)["topology"] for run in prepared} == {whole}
    assert [run.run for run in prepared] == [run.run for run in runs]


def test_what_is_no_file_keeps_its_name(remote: SparkSession, tmp_path: Path) -> None:
    runs = make_plan(load_campaign(save(tmp_path))).distinct()
    assert prepare(remote, runs) == runs


def test_a_campaign_on_a_topology_in_a_file(
    remote: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.graphml").write_text(GRAPHML)
    finished = run(save_with(tmp_path, "net.graphml"), tmp_path / "out", lambda: remote)
    assert (finished.runs, finished.failed) == (2, 0)


def save_with(folder: Path, topology: str) -> Path:
    """A small campaign on this topology."""
    text = SMALL.replace('name = "flat"', f'name = "flat"\ntopology = "{topology}"')
    return save(folder, text.replace("seeds = 2", "seeds = 1").replace('"vector", "fifo", ', ""))


def test_a_trace_that_others_do_not_see(remote: SparkSession, unshared: Path) -> None:
    trace = write(unshared / "run.parquet", ("r", random_rows(1)))
    with pytest.raises(Misuse, match=r"does not see /proc/self/cwd/run\.parquet .* move the trace"):
        verify_on_spark(remote, trace)


def test_a_verdict_that_others_do_not_see(remote: SparkSession, unshared: Path) -> None:
    trace = write(unshared.resolve() / "run.parquet", ("r", random_rows(1)))
    with pytest.raises(Misuse, match=r"does not see /proc/self/cwd/.* with --out"):
        verify_on_spark(remote, trace, out=unshared / "out")
    assert not (unshared / "out").exists()


def test_what_all_see(remote: SparkSession, tmp_path: Path) -> None:
    trace = write(tmp_path / "run.parquet", ("r", random_rows(1)))
    preflight.check_files(remote, [str(trace)], "")
    preflight.check_folder(remote, tmp_path, "")
    assert [*tmp_path.iterdir()] == [trace]
    with pytest.raises(CannotWrite, match="No such file or directory"):
        preflight.check_folder(remote, tmp_path / "missing", "")


def test_on_this_machine_nothing_is_asked(spark: SparkSession, tmp_path: Path) -> None:
    preflight.check_folder(spark, tmp_path / "missing", "")
    preflight.check_files(spark, [str(tmp_path / "missing")], "")
