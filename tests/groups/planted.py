"""How a bug is planted in the group substrate: one piece of the text of one file is replaced, and
the package is executed under another name."""

import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import msgspec

import antecede.groups
from tests.groups.lab import Schedule
from tests.groups.named import SCHEDULES
from tests.groups.schedules import draw

FOLDER = Path(antecede.groups.__file__).parent
PACKAGE = "antecede.groups"
ORDER = (
    "identities",
    "packets",
    "api",
    "state",
    "core",
    "streams",
    "admission",
    "channels",
    "reporting",
    "detours",
    "learner",
    "acceptor",
    "flush",
    "reception",
    "member",
    "__init__",
)
"""The files, each after those that it imports."""


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the file. A schedule, random (`seed`) or by
    name, shows it: the checker has a finding with this pattern in it."""

    name: str
    expects: str
    file: str
    old: str
    new: str
    seed: int = 0
    scene: str = ""

    @property
    def schedule(self) -> Schedule:
        return SCHEDULES[self.scene] if self.scene else draw(self.seed)


OWN_CHECK = "if tuple(state.delivered) != decision.cut:"
"""What the substrate checks itself when a view begins; in mutants it is up to the checker."""


@cache
def planted(mutant: Mutant) -> ModuleType:
    """The package with this bug."""
    name = "planted_groups_" + re.sub(r"\W+", "_", mutant.name.lower())
    package = ModuleType(name)
    package.__path__ = []
    sys.modules[name] = package
    for file in ORDER:
        source = (FOLDER / f"{file}.py").read_text()
        if file == mutant.file:
            source = _replaced(source, mutant.old, mutant.new, f"{mutant.name}: {file}")
        if file == "learner":
            source = _replaced(source, OWN_CHECK, "if False:", file)
        source = source.replace(PACKAGE, name)
        module = package if file == "__init__" else ModuleType(f"{name}.{file}")
        module.__file__ = str(FOLDER / f"{file}.py")
        sys.modules[module.__name__] = module
        exec(compile(source, module.__name__, "exec"), vars(module))
    return package


def _replaced(source: str, old: str, new: str, place: str) -> str:
    occurrences = source.count(old)
    if occurrences != 1:
        raise LookupError(f"{place}: the text to replace occurs {occurrences} times")
    return source.replace(old, new)
