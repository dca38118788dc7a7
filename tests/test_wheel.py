"""The package as `pip install` puts it: built, installed apart from the repository into an
environment that has what the package asks for and nothing else, and used."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent


def build(source: Path, folder: Path) -> Path:
    """The wheel of a package."""
    command = [sys.executable, "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "-w", str(folder), str(source)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, wheels: list[Path], *asked: str) -> Path:
    """The Python of an environment with these wheels, and with what is asked for and all that it
    needs in turn: links to the packages of this one."""
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))
    for wheel in wheels:
        ZipFile(wheel).extractall(site)
    left, known = [Requirement(one) for one in asked], set[str]()
    while left:
        wanted = left.pop()
        known.add(str(wanted))
        ours = Distribution.discover(name=wanted.name, path=[str(site)])
        found = next(iter(ours), None) or distribution(wanted.name)
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(found.locate_file(name))))
        for text in found.requires or ():
            one = Requirement(text)
            extras = [{"extra": extra} for extra in wanted.extras or {""}]
            if one.marker is None or any(map(one.marker.evaluate, extras)):
                left += [one] * (str(one) not in known)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As by `pip install antecede`."""
    return make_environment(tmp_path_factory.mktemp("plain"), [wheel], "antecede")


@pytest.fixture(scope="module")
def outside(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As by `pip install 'antecede[spark]' pytest`, with the example package beside it."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(ROOT / "examples" / "protocol", folder / "source")
    wheels = [wheel, build(folder / "source", folder)]
    return make_environment(folder / "environment", wheels, "antecede[spark]", "pytest")


def call(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """What the installed command does when it is called in a folder of the user's."""
    return subprocess.run(
        [python, *words],
        cwd=folder,
        # Other tests have named this environment's Python to Spark.
        env={one: text for one, text in os.environ.items() if not one.startswith(("PY", "SPARK"))},
        capture_output=True,
        text=True,
        check=False,
    )


def antecede(python: Path, folder: Path, *words: str) -> str:
    """What it prints."""
    told = call(python, folder, "-m", "antecede", *words)
    assert told.returncode == 0, told.stderr
    return told.stdout


def test_what_ships_is_in_the_wheel_and_goes_by_name(installed: Path, tmp_path: Path) -> None:
    code = "import antecede, antecede_command; print(antecede.__file__)"
    path = call(installed, tmp_path, "-c", code).stdout
    assert path.startswith(str(installed.parent.parent))

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
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(tests))
    told = call(outside, tmp_path, *words)
    assert told.returncode == 0, told.stdout


def test_a_class_goes_by_its_module_from_the_current_folder(installed: Path) -> None:
    folder = ROOT / "examples" / "protocol" / "src"
    told = antecede(
        installed,
        folder,
        "simulate",
        *("--protocol", "antecede_direct:Direct", "--processes", "3", "--messages", "20"),
    )
    assert "antecede_direct:Direct" in told


def test_without_spark_everything_runs_in_this_process(installed: Path, tmp_path: Path) -> None:
    """And says so, in one line."""
    (tmp_path / "grid.toml").write_text(GRID.replace('"direct", ', ""))
    run = call(installed, tmp_path, "-m", "antecede", "campaign", "run", "grid.toml")
    fuzz = ("-m", "antecede", "fuzz", "--protocol", "vector", "--runs", "3")
    for told in (run, call(installed, tmp_path, *fuzz)):
        assert told.returncode == 0, told.stderr
        assert told.stderr.count("Spark is not installed") == 1, told.stderr
    asked = call(installed, tmp_path, *fuzz, "--master", "local[2]")
    assert asked.returncode == 2
    assert "pip install 'antecede[spark]'" in asked.stderr
    (tmp_path / "log.csv").write_text("process,kind,message,to\na,send,m,b\nb,deliver,m,\n")
    assert "causal order was kept" in antecede(installed, tmp_path, "audit", "log.csv")
    judged = antecede(installed, tmp_path, "verify", "audit/trace.parquet")
    assert "causal order was kept" in judged
    assert (tmp_path / "audit" / "page.html").is_file()
    advised = antecede(installed, tmp_path, "advise", "--processes", "3", "--workload", "unicast")
    assert advised.startswith("Take ")
