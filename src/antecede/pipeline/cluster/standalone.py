"""A Spark cluster on this machine, from the installed PySpark alone.

A master and some workers, each a process of its own with a session of its own, on loopback
addresses and ports that were free. They live as long as the object that started them: when it is
closed, or its process dies in whatever way, a reaper (`antecede.pipeline.cluster.reaper`) ends them
with all that they have started and removes their files.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir, mkdtemp
from types import TracebackType
from typing import Final, Self

from antecede.errors import Misuse
from antecede.files import complaining
from antecede.pipeline.cluster import reaper
from antecede.pipeline.session import INSTALL, find_java

LOOPBACK: Final = "127.0.0.1"
EXECUTOR_MIB: Final = 1024
"""What Spark asks of a worker for an executor, if nobody says otherwise."""
START_S: Final = 300.0
"""Seconds after which a process that says nothing is given up."""
_PAUSE_S: Final = 0.05

# The pipe to the reaper is the standard input of this shell, open for writing. So the reaper knows
# the process before it becomes Java, and no moment is left in which nobody would end it.
_REGISTER = 'echo $$ >&0 && exec "$@" </dev/null'

_MASTER_READY = re.compile(r"Starting Spark master at (spark://\S+)")
_PAGE = re.compile(r"started at (http://\S+)")
_WORKER_READY = re.compile(r"Successfully registered with master")


class Cluster:
    """A master and its workers. A context manager; entering it returns when all are ready.

    `cores` and `memory` (`1g`, `1500m`) are what each worker offers to applications. Files go into
    a new folder in `directory`, or where the system keeps temporary files."""

    def __init__(
        self,
        workers: int = 2,
        *,
        cores: int = 1,
        memory: str = "1g",
        directory: str | os.PathLike[str] | None = None,
        java: str = "auto",
    ) -> None:
        check_memory(memory)
        if workers < 1 or cores < 1:
            raise Misuse("a cluster has at least one worker, and a worker one core")
        self._home = _spark_home()
        self._wanted = workers
        self._offer = ("--cores", str(cores), "--memory", memory)
        self._directory = directory
        self._java = java
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._reaper: subprocess.Popen[bytes] | None = None
        self.folder: Path
        """Its files: logs, and what executors write."""
        self.master: str
        """What `--master` takes."""
        self.page: str
        """The address of a page that shows what it does."""

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def workers(self) -> tuple[str, ...]:
        """The names of the workers."""
        return tuple(name for name in self._processes if name != "master")

    def ended(self) -> tuple[str, ...]:
        """The names of the processes that have come to an end, for whatever reason."""
        return tuple(name for name, process in self._processes.items() if _has_ended(process))

    def kill_worker(self, name: str) -> None:
        """End a worker and its executors at once, as a machine does that fails."""
        os.killpg(self._processes[name].pid, 9)

    def close(self) -> None:
        """End everything and leave nothing. A second call does nothing."""
        if self._reaper is None:
            return
        self._reaper.communicate()  # closes the pipe
        for process in self._processes.values():
            process.wait()
        self._reaper = None

    def _start(self) -> None:
        with complaining(Path(self._directory or gettempdir())):
            self.folder = Path(mkdtemp(prefix="antecede-cluster-", dir=self._directory))
        self._reaper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(reaper.__file__), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,  # or control-C would end it with its owner
        )
        environment = self._environment()
        address = ("--host", LOOPBACK, "--port", "0", "--webui-port", "0")
        self._launch("master", "master.Master", address, environment)
        self.master = self._wait_for("master", _MASTER_READY)
        self.page = self._wait_for("master", _PAGE)
        for number in range(1, self._wanted + 1):
            work = ("--work-dir", str(self.folder / f"work-{number}"), self.master)
            options = (*address, *self._offer, *work)
            self._launch(f"worker {number}", "worker.Worker", options, environment)
        for name in self.workers:
            self._wait_for(name, _WORKER_READY)

    def _environment(self) -> dict[str, str]:
        """Nothing of a Spark that somebody has set up otherwise."""
        (self.folder / "conf").mkdir()
        others = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SPARK_", "PYSPARK_"))
        }
        return others | {
            "JAVA_HOME": find_java(self._java, self.folder),
            "SPARK_HOME": str(self._home),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            # Another way to send it work, which nobody takes here, on a port that is always one.
            "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        }

    def _launch(
        self, name: str, kind: str, options: tuple[str, ...], environment: dict[str, str]
    ) -> None:
        command = [str(self._home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        with self._log(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                ["/bin/sh", "-c", _REGISTER, "sh", *command, *options],
                stdin=self._reaper.stdin if self._reaper else None,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=self.folder,
                start_new_session=True,
            )

    def _log(self, name: str) -> Path:
        return self.folder / f"{name.replace(' ', '-')}.log"

    def _wait_for(self, name: str, ready: re.Pattern[str]) -> str:
        """The last thing that the pattern finds in the log, once it finds something."""
        text = ""
        for text in self._growing(name):
            if found := ready.search(text):
                return found.group(found.lastindex or 0)
        lines = text.strip().splitlines()
        raise Misuse(
            f"the {name} of the cluster did not start: {lines[-1] if lines else 'silence'}"
        )

    def _growing(self, name: str) -> Iterator[str]:
        """A log, again and again, until its process has ended or has taken too long."""
        deadline = time.monotonic() + START_S
        over = False
        while not over:
            over = _has_ended(self._processes[name]) or time.monotonic() > deadline
            yield self._log(name).read_text("utf-8", errors="replace")
            time.sleep(_PAUSE_S)


def check_memory(memory: str) -> None:
    """Refuse what no executor would fit into: applications would wait for ever."""
    found = re.fullmatch(r"(\d+)([mg])", memory)
    if not found:
        raise Misuse(f"memory '{memory}': write it as 1500m or 2g")
    if int(found[1]) * (1024 if found[2] == "g" else 1) < EXECUTOR_MIB:
        raise Misuse(f"memory '{memory}' is too little: an executor needs {EXECUTOR_MIB}m")


def _spark_home() -> Path:
    """The folder of the installed PySpark, which is not imported for it."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise Misuse(f"Spark is not installed; {INSTALL}")
    return Path(found.origin).parent


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Without taking note of it: as long as nobody does, its number goes to no other process, and
    the reaper cannot kill a stranger."""
    if process.returncode is not None:
        return True
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
