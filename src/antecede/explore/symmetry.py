"""Which programs stand for others: renamings of the processes that nothing tells apart.

A renaming π is a permutation of the processes. It is a *symmetry* of an exploration if it maps the
groups to each other, keeps what every option says (`says_the_same`) and the wake-ups that each
process is granted, and if the protocol treats processes that are not told apart alike
(`Traits.alike`): a step of p on a state and an input, and the step of π(p) on the renamed state and
input, end in states that are renamings of each other, transmit renamed packets to renamed
processes, ask for the same wake-ups, and deliver renamed messages, in the same order as far as one
precedes the other.

*One program of each class is enough.* Let P be a program, π a symmetry, πP the program in which
π(p) sends what p sends in P, renamed. Initial states are renamings of each other, because groups
and options are the same after π. By induction over its steps, π maps every schedule of P to one of
πP whose states, packets in flight and deliveries are renamings of each other; π⁻¹ is a symmetry as
well, so that this is a bijection. Causal precedence is defined by sends and deliveries alone, so
what precedes what is renamed, too; hence a delivery is early, stray or double in one schedule
exactly if its renaming is in the other, and something is undelivered at the end of both or of none.
So P fails exactly if πP does. Symmetries are closed under composition and inverse: programs fall
into classes, and `programs` yields the least of each.

Where a protocol lets the smaller number decide (which of two columns that are equally full is
sent), it is not alike, and every program is explored, unless a caller presumes that such ties
decide nothing. An option of which nothing is stated tells all processes apart.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import permutations
from typing import Any, NamedTuple

import msgspec

from antecede.message import Membership, ProcessSet
from antecede.order import Options, Order, Says

_MOST_RENAMED = 7
"""Processes, at most, whose permutations are all tried; among more nothing is taken for alike."""
Target = Sequence[int]
"""`target[p]` is the new name of process p."""


class Renaming(NamedTuple):
    """A permutation of the processes that maps the groups to each other."""

    origin: tuple[int, ...]
    """`origin[p]` is the process that is renamed to p."""
    image: tuple[ProcessSet, ...]
    """What each set of processes is renamed to."""
    groups: tuple[int, ...]
    """What each group is renamed to."""


def renamings(
    membership: Membership, keeps: Callable[[Target], bool] = lambda target: True
) -> list[Renaming]:
    """All that map the groups to each other and keep whatever else is to be kept."""
    found = []
    for target in permutations(range(membership.size)):
        if not keeps(target):
            continue
        image = [0]
        for process in range(membership.size):
            image += [bits | 1 << target[process] for bits in image]
        # Groups of the same members are mapped in the order of their indices: with this choice
        # the renamings still form a group, and one program of each class is the least.
        places: dict[ProcessSet, list[int]] = {}
        for index, group in enumerate(membership.groups):
            places.setdefault(group, []).append(index)
        mapped = [image[group] for group in membership.groups]
        if sorted(mapped) != sorted(membership.groups):
            continue
        groups = tuple([places[group].pop(0) for group in mapped])
        origin = sorted(range(membership.size), key=target.__getitem__)
        found.append(Renaming(tuple(origin), tuple(image), groups))
    return found


def symmetries(
    orders: Sequence[Order],
    max_wakes: tuple[int, ...],
    *,
    presume_alike: bool = False,
) -> list[Renaming]:
    """Those of an exploration; `orders` are the protocol at every process."""
    membership = orders[0].membership
    is_alike = presume_alike or all(order.traits.alike for order in orders)
    options = [order.options for order in orders]
    if membership.size > _MOST_RENAMED:
        return []

    def keeps(target: Target) -> bool:
        if list(target) == sorted(target):
            return True
        if not is_alike or any(one != options[0] for one in options):
            return False
        return max_wakes == tuple(_moved(max_wakes, target)) and says_the_same(options[0], target)

    return renamings(membership, keeps)


def says_the_same(options: Options, target: Target) -> bool:
    """Whether the options still say the same when every process p is called `target[p]`."""
    for field in msgspec.structs.fields(options):
        says = options.says.get(field.name)
        if not _is_kept(says, getattr(options, field.name), field.default, target):
            return False
    return True


def _is_kept(says: Says | None, value: Any, default: Any, target: Target) -> bool:
    match says:
        case Says.NOTHING:
            return True
        case Says.EACH:
            return not isinstance(value, (list, tuple)) or bool([*value] == _moved(value, target))
        case Says.PROCESSES:
            return bool(_canonical(value, target) == _canonical(value, range(len(target))))
        case Says.NUMBERS:
            return bool(value == default)
        case None:
            return False


def _moved(values: Iterable[Any], target: Target) -> list[Any]:
    """The values in the places that their processes are renamed to."""
    placed = dict(zip(target, values, strict=True))
    return [placed[process] for process in range(len(target))]


def _canonical(value: Any, target: Target) -> Any:
    """Processes renamed; lists without order, records field by field."""
    if isinstance(value, msgspec.Struct):
        fields = [_canonical(getattr(value, name), target) for name in value.__struct_fields__]
        return ("record", *fields)
    if isinstance(value, (list, tuple)):
        return ("list", *sorted(_canonical(one, target) for one in value))
    return ("process", target[value])
