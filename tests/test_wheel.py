"""The package as `pip install` puts it: built, unpacked apart from the repository, and used."""

import os
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
