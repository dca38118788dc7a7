"""What tests of clusters need: a Spark that is none, a Python that lacks something, and a Connect
server."""

import os
import re
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from antecede.pipeline.session import _SHORT, find_java

_FAKE = """#!/bin/sh
echo $$ >> "{pids}"
case "$1" in
    *Master)
        echo "INFO MasterWebUI: Bound it to 127.0.0.1, and started at http://localhost:2"
        echo "INFO Master: Starting Spark master at spark://127.0.0.1:1"
        ;;
    *Worker)
        {worker}
        echo "INFO Worker: Successfully registered with master spark://127.0.0.1:1"
        ;;
esac
sleep 1000 &  # as a worker has an executor
echo $! >> "{pids}"
wait
"""

_PYTHON = """#!/bin/sh
export PYTHONPATH="$PYTHONPATH:{packages}"
exec "{python}" -S "$@"
"""


class FakeSpark:
    """A folder that looks like PySpark's, with processes that do nothing but wait."""

    def __init__(self, home: Path, worker: str = ":") -> None:
        self.home = home
        self._pids = home / "pids"
        _write_script(home / "bin" / "spark-class", _FAKE.format(pids=self._pids, worker=worker))

    def alive(self) -> list[int]:
        """The processes that were started and are still there."""
        started = [int(line) for line in self._pids.read_text().split()]
        return [pid for pid in started if is_alive(pid)]

    def left(self) -> list[int]:
        """Those that are still there when all who were killed have had the time to die."""
        until = time.monotonic() + 30
        while self.alive() and time.monotonic() < until:
            time.sleep(0.02)
        return self.alive()

    def command(self, *arguments: str) -> list[str]:
        """Of `antecede cluster`, with this in the place of Spark."""
        code = (
            "from pathlib import Path; import antecede.cli; "
            "import antecede.pipeline.cluster.standalone as cluster; "
            f"cluster._spark_home = lambda: Path({str(self.home)!r}); antecede.cli.main()"
        )
        return [sys.executable, "-c", code, "cluster", *arguments]


def make_python(folder: Path, lacking: Collection[str]) -> Path:
    """A Python with all packages that this one has, apart from some. It does not read the files by
    which an editable installation adds its source."""
    packages = folder / "packages"
    packages.mkdir(parents=True)
    for package in sorted(Path(sysconfig.get_path("purelib")).iterdir()):
        if package.name not in lacking:
            (packages / package.name).symlink_to(package)
    script = _PYTHON.format(packages=packages, python=sys.executable)
    return _write_script(folder / "python", script)


def is_alive(pid: int) -> bool:
    """Whether this process does anything; one that nobody has waited for does not."""
    told = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return bool(told.stdout.strip()) and not told.stdout.startswith("Z")


def processes_in(folder: Path) -> list[str]:
    """The processes that have their working directory in there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            place = os.readlink(process / "cwd")
        except OSError:
            continue
        if Path(place).is_relative_to(folder):
            found.append(process.name)
    return found


def wait_until(condition: Callable[[], object]) -> None:
    """However long it takes."""
    while not condition():
        time.sleep(0.02)


def _write_script(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


_HOME = Path(pyspark.__file__).parent
_CONNECT = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    **_SHORT,
}


@contextmanager
def connect_server(folder: Path) -> Iterator[str]:
    """The address of a Connect server of the installed package, with two cores."""
    log = folder / "log"
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    command = [str(_HOME / "bin" / "spark-submit"), "--class", server, "--master", "local[2,2]"]
    for name, value in _CONNECT.items():
        command += ["--conf", f"{name}={value}"]
    environment = {
        **os.environ,
        "SPARK_HOME": str(_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_HOME": find_java("auto", folder),
        "PYSPARK_PYTHON": sys.executable,
    }

    def address() -> re.Match[str] | None:
        return re.search(r"server started at: (127\.0\.0\.1:\d+)", log.read_text())

    with (
        log.open("wb") as told,
        subprocess.Popen(
            [*command, "spark-internal"], stdout=told, stderr=told, env=environment, cwd=folder
        ) as running,
    ):
        try:
            wait_until(lambda: running.poll() is not None or address())
            found = address()
            assert found is not None, log.read_text()
            yield f"sc://{found[1]}"
        finally:
            running.terminate()
