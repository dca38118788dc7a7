"""Whether a cluster can do the work, asked before the work begins: it would hang, or fail late.

Its master answers; somebody takes a task; the Python there has what Antecede needs; the folder that
executors are to write to is the one that this process reads.
"""

import os
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import uuid4

from antecede.errors import Misuse
from antecede.files import path_of, write_whole
from antecede.pipeline.connect import is_connect, parallelism
from antecede.pipeline.spread import WorkLost, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Answer = TypeVar("Answer")

NEEDED: Final = ("msgspec", "networkx", "numba", "numpy", "pyarrow", "pydantic")
"""What tasks import."""
CONNECT: Final = ("grpc", "grpc_status", "google.rpc", "zstandard")
"""What the client of Spark Connect imports."""
CONNECT_PORT: Final = 15002
PATIENCE_S: Final = 300.0
"""Seconds that a cluster has for its first task."""
_LOCAL: Final = re.compile(r"local(\[(\*|[1-9]\d*)(,\d+)?\]|-cluster\[\d+,\d+,\d+\])?")
_ADDRESS: Final = re.compile(r"(\[[^]]+\]|[^:/;,\[\]]+)(?::(\d+))?")
_YARN: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_ANSWER_S: Final = 10.0
_TASKS_PER_CORE: Final = 4
"""So that it is not one worker who does all of them."""


def is_remote(spark: "SparkSession") -> bool:
    """Whether tasks run in processes of a cluster, elsewhere."""
    return is_connect(spark) or not str(spark.sparkContext.master).startswith("local")


def check_master(master: str) -> None:
    """Raise an error if Spark cannot run there: before any Java starts, and in words. Spark itself
    takes a minute to say that nobody answers."""
    if _LOCAL.fullmatch(master):
        return
    kind, mark, address = master.partition("://")
    if master == "yarn":
        if not any(os.environ.get(name) for name in _YARN):
            raise Misuse(f"YARN is found by its configuration: set {_YARN[0]} to its folder")
    elif kind == "sc" and mark:
        _check_client()
        _check_answer(master, "Connect server", _addresses(address.partition(";")[0], CONNECT_PORT))
    elif kind == "spark" and mark:
        _check_answer(master, "master of a cluster", _addresses(address))
    elif kind == "k8s" and mark:
        scheme, _, rest = address.rpartition("://")
        addresses = _addresses(rest, 80 if scheme == "http" else 443)
        _check_answer(master, "Kubernetes API server", addresses)
    else:
        raise Misuse(
            f"there is no master '{master}'; say local[2], local[*], spark://HOST:PORT, "
            "sc://HOST:PORT, yarn or k8s://ADDRESS"
        )


def _addresses(text: str, port: int | None = None) -> list[tuple[str, int]]:
    """Hosts, and their ports or this one; none if a text is no such thing."""
    found = [_ADDRESS.fullmatch(one) for one in text.partition("/")[0].split(",")]
    pairs = [(one[1].strip("[]"), one[2] or port) for one in found if one]
    return [(host, int(at)) for host, at in pairs if at is not None] * (len(pairs) == len(found))


def _check_answer(master: str, server: str, addresses: Sequence[tuple[str, int]]) -> None:
    """Raise an error if nobody listens at any of these."""
    if not addresses:
        kind = master.partition("://")[0]
        raise Misuse(f"'{master}' is no address of a {server}; write {kind}://HOST:PORT")
    reasons = []
    for address in addresses:
        try:
            socket.create_connection(address, _ANSWER_S).close()
        except (OSError, OverflowError) as error:
            reasons.append(str(error))
        else:
            return
    raise Misuse(f"no {server} answers at '{master}': {reasons[0]}")


def _check_client() -> None:
    """Raise an error if what speaks with Connect servers is not installed."""
    missing = [name for name in CONNECT if find_spec(name) is None]
    if missing:
        raise Misuse(f"Spark Connect needs {missing[0]}; pip install 'antecede[connect]'")


def check_workers(spark: "SparkSession") -> None:
    """Raise an error if no worker takes a task, or one lacks a module."""
    try:
        _ask(spark, partial(_require, NEEDED))
    except WorkLost as lost:
        missing = re.search(r"No module named '([\w.]+)'", str(lost))
        if missing is None:
            raise
        name = "" if is_connect(spark) else f", {spark.sparkContext.pythonExec},"
        raise Misuse(
            f"the workers' Python{name} has no {missing[1]}, which Antecede needs; install it "
            "there, or name another Python by PYSPARK_PYTHON"
        ) from lost


def check_folder(spark: "SparkSession", folder: Path, fix: str) -> None:
    """Raise an error if the executors of a cluster do not see what is written into this folder;
    `fix` says what to do about it."""
    if not is_remote(spark):
        return
    mark = folder / f".reach-{uuid4().hex}"
    write_whole(mark, b"reached")
    try:
        _check_seen(spark, [str(mark)], str(folder), fix)
    finally:
        mark.unlink(missing_ok=True)


def check_files(spark: "SparkSession", files: Sequence[str], fix: str) -> None:
    """Raise an error if the executors of a cluster do not see these files."""
    if is_remote(spark):
        _check_seen(spark, files, "", fix)


def _check_seen(spark: "SparkSession", files: Sequence[str], named: str, fix: str) -> None:
    sizes = [(file, path_of(file).stat().st_size) for file in files]
    for unseen in _ask(spark, partial(_unseen, sizes)):
        if unseen is not None:
            file, host = unseen
            raise Misuse(
                f"a worker on {host} does not see {named or file} as it is here; on a cluster it "
                f"has to be on a file system that all workers share with this machine: {fix}"
            )


def _require(modules: Sequence[str], _: int) -> None:
    """On an executor, where importing Antecede may have failed in the same way."""
    for module in modules:
        if find_spec(module) is None:
            raise ModuleNotFoundError(f"No module named '{module}'")


def _unseen(sizes: Sequence[tuple[str, int]], _: int) -> tuple[str, str] | None:
    """On an executor: the first of these files that is not there, and where that is."""
    for file, size in sizes:
        with suppress(OSError):
            if path_of(file).stat().st_size == size:
                continue
        return file, socket.gethostname()
    return None


def _ask(spark: "SparkSession", task: Callable[[int], Answer]) -> list[Answer]:
    """What executors answer. A cluster without a free worker never says that it has none."""
    tagged: Any = spark if is_connect(spark) else spark.sparkContext
    add, remove, cancel = (
        (tagged.addTag, tagged.removeTag, tagged.interruptTag)
        if is_connect(spark)
        else (tagged.addJobTag, tagged.removeJobTag, tagged.cancelJobsWithTag)
    )
    tag = f"antecede-{uuid4()}"
    over, in_vain = Event(), Event()

    def give_up() -> None:
        while not over.wait(PATIENCE_S):
            in_vain.set()
            cancel(tag)

    waiting = Thread(target=give_up, daemon=True)
    waiting.start()
    add(tag)
    try:
        count = _TASKS_PER_CORE * parallelism(spark)
        return list(spread(spark, range(count), task, slices=count))
    except WorkLost as lost:
        if not in_vain.is_set():
            raise
        master = "the Connect server" if is_connect(spark) else f"'{tagged.master}'"
        raise Misuse(
            f"no worker of {master} has taken a task for {PATIENCE_S:g} s: are there "
            "workers, with cores and memory that no other application has taken?"
        ) from lost
    finally:
        over.set()
        waiting.join()
        remove(tag)
