"""The package as `pip install` puts it: built, unpacked apart from the repository, and used."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "-w", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    ZipFile(wheel).extractall(folder / "site")
    return folder / "site"


@pytest.fixture(scope="module")
def outside(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the example package beside it."""
    folder = tmp_path_factory.mktemp("outside")
    build = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    source = folder / "source"
    shutil.copytree(ROOT / "examples" / "protocol", source)
    subprocess.run([*build, "-w", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    site = folder / "site"
    shutil.copytree(installed, site)
    ZipFile(wheel).extractall(site)
    return site


def antecede(installed: Path, folder: Path, *words: str) -> str:
    """What the installed command prints when it is called in a folder of the user's."""
    told = subprocess.run(
        [sys.executable, "-m", "antecede", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return told.stdout


def test_what_ships_is_in_the_wheel_and_goes_by_name(installed: Path, tmp_path: Path) -> None:
    code = "import antecede; print(antecede.__file__)"
    environment = os.environ | {"PYTHONPATH": str(installed)}
    path = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert path.startswith(str(installed))
    assert (installed / "antecede_command" / "__init__.py").exists()

    listed = antecede(installed, tmp_path, "examples")
    for kind in ("campaigns", "scenarios"):
        for file in (ROOT / kind).glob("*.toml"):
            assert f"{kind.removesuffix('s')} {file.stem}: " in listed
    assert "demo" in antecede(installed, tmp_path, "campaign", "plan", "demo", "--json")
    antecede(installed, tmp_path, "simulate", "--scenario", "answers", "--messages", "20")


def test_an_example_is_copied_with_what_it_needs(installed: Path, tmp_path: Path) -> None:
    copied = antecede(installed, tmp_path, "examples", "separators-table-7-1", "--out", "mine")
    assert sorted(copied.split()) == [
        "mine/separators-network.graphml",
        "mine/separators-table-7-1.toml",
    ]
    antecede(installed, tmp_path, "campaign", "plan", "mine/separators-table-7-1.toml")


GRID = """
name = "outside"
question = "What do direct dependencies cost?"
seeds = 1
processes = [3]
protocols = ["direct", "vector"]

[[networks]]
name = "flat"
delay = "exponential:0.1"

[[workloads]]
name = "broadcast"
kind = "broadcast"
messages = 20
"""


def test_a_protocol_of_another_package_goes_by_its_name(outside: Path, tmp_path: Path) -> None:
    """In every command, on the executors of Spark too."""
    assert "direct dependencies" in antecede(outside, tmp_path, "protocols", "direct")
    small = ("--processes", "3", "--messages", "3")
    assert "in order" in antecede(outside, tmp_path, "explore", "--protocol", "direct", *small)
    antecede(outside, tmp_path, "fuzz", "--protocol", "direct", "--runs", "5", "--master", "here")
    (tmp_path / "grid.toml").write_text(GRID)
    run = ("campaign", "run", "grid.toml", "--out", "results", "--master", "local[1]")
    told = antecede(outside, tmp_path, *run)
    assert "2 runs" in told, told


def test_the_tests_of_another_package_pass(outside: Path, tmp_path: Path) -> None:
    tests = ROOT / "examples" / "protocol" / "tests"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, tests],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(outside)},
        check=True,
    )


def test_a_class_goes_by_its_module_from_the_current_folder(installed: Path) -> None:
    folder = ROOT / "examples" / "protocol" / "src"
    told = antecede(
        installed,
        folder,
        "simulate",
        *("--protocol", "antecede_direct:Direct", "--processes", "3", "--messages", "20"),
    )
    assert "antecede_direct:Direct" in told


NO_SPARK = """
from importlib.machinery import PathFinder

found = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name == "pyspark" else found(name, *rest)
"""


def test_without_spark_everything_runs_in_this_process(installed: Path, tmp_path: Path) -> None:
    """And says so, in one line."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(NO_SPARK)
    (tmp_path / "grid.toml").write_text(GRID.replace('"direct", ', ""))
    path = os.pathsep.join([str(hidden), str(installed)])

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "antecede", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    run = call("campaign", "run", "grid.toml", "--out", "results")
    fuzzed = call("fuzz", "--protocol", "vector", "--runs", "3")
    for told in (run, fuzzed):
        assert told.returncode == 0, told.stderr
        assert told.stderr.count("Spark is not installed") == 1, told.stderr
    asked = call("fuzz", "--protocol", "vector", "--runs", "3", "--master", "local[2]")
    assert asked.returncode == 2
    assert "pip install 'antecede[spark]'" in asked.stderr
