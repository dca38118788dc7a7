"""Planted bugs: what shows that tests can fail.

A mutant replaces one piece of the text of a protocol's file or folder, or of a private file (with
an underscore) beside it with a class that it is built on. The file, and whatever is built on it, is
then executed as another module.
"""

import inspect
import re
import sys
from functools import cache
from types import ModuleType

import msgspec

from antecede.order import Order
from antecede.protocols import find, reference

_PLAIN = str.maketrans("-:", "__")
_IMPORTED = re.compile(r"^from ([\w.]+) import", re.MULTILINE)


class Mutant(msgspec.Struct, frozen=True):
    """One planted bug: `old` occurs exactly once in the protocol's own file, or else in one private
    file; of a folder, in one of its files."""

    name: str
    old: str
    new: str


@cache
def mutated(order: str | type[Order], mutant: Mutant) -> type[Order]:
    """The protocol, by its name or class, with this bug planted. Raises `LookupError` unless the
    old text occurs once and differs from the new, and `Misuse` for a name that no protocol has.

        broken = mutated("vector", Mutant("not-later", old="theirs[sender] - 1 >", new="-1 >"))
    """
    original = find(order) if isinstance(order, str) else order
    sources, protocol = _sources(original), reference(original)
    own = [*sources][-1]
    places = [own] if mutant.old in sources[own] else [*sources]
    found = {name: count for name in places if (count := sources[name].count(mutant.old))}
    if [*found.values()] != [1] or mutant.old == mutant.new:
        raise LookupError(
            f"mutant {mutant.name} of {protocol}: its text must occur once and change; "
            f"it occurs in {found or 'no file'}"
        )
    planted = f"{__name__}.planted.{protocol}.{mutant.name}".translate(_PLAIN)
    renamed: dict[str, str] = {}
    module = sys.modules[original.__module__]
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
    mutant_order: type[Order] = getattr(module, original.__name__)
    mutant_order.name = protocol
    return mutant_order


@cache
def _sources(order: type[Order]) -> dict[str, str]:
    """The files that a protocol consists of, each after those that it imports, its own last."""
    own, protocol = order.__module__, reference(order).replace("-", "_")
    folder = own.rpartition(".")[0]
    inside = f"{folder}." if folder.endswith(f".{protocol}") else f"{folder}._"
    found: dict[str, str] = {}

    def visit(name: str) -> None:
        source = inspect.getsource(sys.modules[name])
        for other in _IMPORTED.findall(source):
            if other.startswith(inside) and other not in found:
                visit(other)
        found[name] = source

    visit(own)
    return found
