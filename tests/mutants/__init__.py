"""Planted bugs: what shows that the conformance suite and the explorer can fail.

`tests/mutants/<protocol>.py` (underscores for hyphens) lists the mutants of a protocol; each
replaces one piece of the text of the protocol's file or folder, or of a private file with a class
that it is built on. The file, and whatever is built on it, is then executed as another module.
"""

import inspect
import re
import sys
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

import msgspec

from antecede.order import Order
from antecede.orders import order_in
from antecede.protocols import find

_IMPORTED = re.compile(r"^from ([\w.]+) import", re.MULTILINE)


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the protocol's own file, or else in one private
    file; of a folder, in one of its files."""

    name: str
    old: str
    new: str


def mutants_of(protocol: str) -> list[Mutant]:
    """The mutants of a protocol: two or more."""
    module = f"{__name__}.{protocol.replace('-', '_')}"
    mutants: list[Mutant] = import_module(module).MUTANTS if find_spec(module) else []
    if len(mutants) < 2:
        raise LookupError(f"{protocol} needs two mutants or more, in module {module}")
    if len({mutant.name for mutant in mutants}) != len(mutants):
        raise LookupError(f"two mutants of {protocol} have the same name")
    return mutants


@cache
def mutated(protocol: str, mutant: Mutant) -> type[Order]:
    """The protocol with this bug planted."""
    sources = _sources(protocol)
    own = [*sources][-1]
    places = [own] if mutant.old in sources[own] else [*sources]
    found = {name: count for name in places if (count := sources[name].count(mutant.old))}
    if [*found.values()] != [1] or mutant.old == mutant.new:
        raise LookupError(
            f"mutant {mutant.name} of {protocol}: its text must occur once and change; "
            f"it occurs in {found or 'no file'}"
        )
    planted = f"{__name__}.planted.{protocol}.{mutant.name}".replace("-", "_")
    renamed: dict[str, str] = {}
    module = sys.modules[find(protocol).__module__]
    for name, source in sources.items():
        if name not in found and not renamed.keys() & set(_IMPORTED.findall(source)):
            continue
        text = source.replace(mutant.old, mutant.new) if name in found else source
        for old, new in renamed.items():
            text = text.replace(f"from {old} import", f"from {new} import")
        renamed[name] = f"{planted}.{name.rpartition('.')[2]}"
        module = ModuleType(renamed[name])
        module.__file__ = sys.modules[name].__file__
        sys.modules[module.__name__] = module  # msgspec looks up annotations by the module's name
        exec(compile(text, module.__name__, "exec"), vars(module))
    order = order_in(module)
    order.name = protocol
    return order


@cache
def _sources(protocol: str) -> dict[str, str]:
    """The files that a protocol consists of, each after those that it imports, its own last."""
    own = find(protocol).__module__
    folder = own.rpartition(".")[0]
    inside = f"{folder}." if folder.endswith(f".{protocol.replace('-', '_')}") else f"{folder}._"
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        source = inspect.getsource(sys.modules[name])
        for other in _IMPORTED.findall(source):
            if other.startswith(inside) and other not in found:
                visit(other)
        found[name] = source

    visit(own)
    return found
