"""`python -m bench.compiled FOLDER`: a copy of the package in which the daisy, its groups and the
simulator are compiled by mypyc, for searches that take hours; then check and time it.

    PYTHONPATH=FOLDER antecede fuzz --protocol daisy --runs 100000 --guided --out found

Nothing of it is shipped: the same runs come out, as the digests say that it prints, only sooner.
It takes a C compiler, and a minute."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.docs import ROOT

SEEDS = range(1, 301)

PLAIN = {"__init__", "draws", "options"}
"""Modules that stay as they are: they set what belongs to a class, which mypyc takes for what
belongs to an object."""
FOLDERS = ("groups", "overlays/daisy")
SIMULATOR = ("agenda", "attendance", "clocks", "flights", "links", "randomness", "run", "transport")

NOT_NATIVE = "from mypy_extensions import mypyc_attr\n\n\n@mypyc_attr(native_class=False)\n"
"""What makes of a class an ordinary one, with compiled methods: `Daisy` sets what belongs to it."""

BUILD = """
import sys
from mypyc.build import mypycify
from setuptools import setup

modules = mypycify(["--ignore-missing-imports", *sys.argv[3:]], opt_level="3", group_name="daisy")
del sys.argv[3:]
setup(name="compiled", ext_modules=modules)
"""
MEASURE = """
from hashlib import sha256
from time import process_time
from antecede.fuzzing import draw, judge

began_s, digest, runs = process_time(), sha256(), range({first}, {end})
for seed in runs:
    outcome = judge(draw("daisy", seed))
    digest.update(repr(outcome).encode())
per_s = len(runs) / (process_time() - began_s)
print(f"{{per_s:.1f}} runs per CPU second, digest {{digest.hexdigest()[:16]}}")
"""


def sources(package: Path) -> list[Path]:
    """What is compiled. The structs of msgspec are not: mypyc drops their settings."""
    found = [file for folder in FOLDERS for file in sorted((package / folder).glob("*.py"))]
    found = [file for file in found if file.stem not in PLAIN and not _has_structs(file)]
    return found + [package / "simulate" / f"{name}.py" for name in SIMULATOR]


def _has_structs(file: Path) -> bool:
    return "(msgspec.Struct" in file.read_text("utf-8")


def compile_into(folder: Path) -> None:
    """Copy the package, and compile it there."""
    shutil.copytree(ROOT / "src" / "antecede", folder / "antecede")
    protocol = folder / "antecede" / "overlays" / "daisy" / "protocol.py"
    text = protocol.read_text("utf-8")
    protocol.write_text(text.replace("class Daisy(", f"{NOT_NATIVE}class Daisy("), "utf-8")
    files = [str(file.relative_to(folder)) for file in sources(folder / "antecede")]
    command = [sys.executable, "-c", BUILD, "build_ext", "--inplace", *files]
    log = folder / "build.log"
    with log.open("wb") as output:
        if subprocess.run(
            command, cwd=folder, stdout=output, stderr=output, check=False
        ).returncode:
            sys.exit(f"mypyc failed: see {log}")


def measure(package: Path) -> str:
    """How fast the package in a folder runs, and a digest of what came out."""
    code = MEASURE.format(first=SEEDS[0], end=SEEDS[-1] + 1)
    environment = {**os.environ, "PYTHONPATH": str(package)}
    command = [sys.executable, "-c", code]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> None:
    if len(sys.argv) != 2 or Path(sys.argv[1]).exists():
        sys.exit("usage: python -m bench.compiled FOLDER, which is made")
    folder = Path(sys.argv[1]).resolve()
    compile_into(folder)
    print("plain:   ", measure(ROOT / "src"))
    print("compiled:", measure(folder))


if __name__ == "__main__":
    main()
