"""Programs: who sends what to whom, without saying when; and all programs of a given size.

Of programs that are renamings of each other one is enough: the least. Which renamings these may
be, and why that is so, is said in `symmetry`.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import combinations, product
from typing import NamedTuple

import msgspec

from antecede.errors import Misuse
from antecede.explore.symmetry import Renaming
from antecede.explore.symmetry import renamings as all_renamings
from antecede.message import (
    NO_GROUP,
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
)
from antecede.order import Addressing


class Send(NamedTuple):
    """One send of a program."""

    destinations: ProcessSet
    group: int = NO_GROUP


class Program(msgspec.Struct, frozen=True):
    """For each process its sends, in order."""

    membership: Membership
    sends: tuple[tuple[Send, ...], ...]

    def message(self, process: int, index: int) -> Message:
        """The message of a process' send number `index`, counted from 0."""
        send = self.sends[process][index]
        return Message(MessageId(process, index + 1), send.destinations, send.group)

    def messages(self) -> list[list[Message]]:
        """The messages of each process."""
        return [
            [self.message(process, index) for index in range(len(sends))]
            for process, sends in enumerate(self.sends)
        ]

    def __str__(self) -> str:
        lines = []
        for process, sends in enumerate(self.sends):
            names = [
                f"{process}:{number} to {braces(send.destinations)}"
                for number, send in enumerate(sends, 1)
            ]
            lines.append(f"process {process} sends {', '.join(names) or 'nothing'}")
        return "\n".join(lines)


def braces(processes: ProcessSet) -> str:
    """A set of processes for people."""
    return "{" + ", ".join(map(str, members(processes))) + "}"


class Kind(StrEnum):
    """Whom the messages of the programs are addressed to."""

    UNICAST = "unicast"
    """One other process."""
    SETS = "sets"
    """Every non-empty set of other processes."""
    SETS_AND_SELF = "sets-and-self"
    """Every non-empty set of processes, the sender included or not."""
    GROUP = "group"
    """Everybody."""
    GROUPS = "groups"
    """Every group that the sender is a member of."""


def default_kind(addressing: Addressing, membership: Membership) -> Kind:
    """What to explore when nothing is said: groups if there are any and, for a protocol that
    addresses sets of processes, all sets among three processes and single ones among more, because
    the number of programs grows with the number of sets to the power of the messages."""
    if membership.groups:
        return Kind.GROUPS
    if addressing is not Addressing.SETS:
        return Kind.GROUP
    return Kind.SETS if membership.size <= 3 else Kind.UNICAST


def choices(
    kind: Kind, membership: Membership, reach: Sequence[ProcessSet] | None = None
) -> list[list[Send]]:
    """What each process may send; `reach` is whom each may address, if that is not everybody."""
    if kind is Kind.GROUPS and not membership.groups:
        raise Misuse("addressing 'groups' needs groups")
    if kind is not Kind.GROUPS and membership.groups:
        raise Misuse(f"addressing '{kind}' knows no groups; use addressing 'groups'")
    if reach is None:
        reach = [membership.everybody] * membership.size
    found = [_choices(kind, process, membership, bits) for process, bits in enumerate(reach)]
    if not any(found):
        raise Misuse(f"addressing '{kind}': no process can address anybody so on this network")
    return found


def _choices(kind: Kind, process: int, membership: Membership, reach: ProcessSet) -> list[Send]:
    everybody = list(members(reach))
    others = [other for other in everybody if other != process]
    match kind:
        case Kind.UNICAST:
            return [Send(1 << other) for other in others]
        case Kind.SETS:
            return [Send(bits) for bits in _subsets(others)]
        case Kind.SETS_AND_SELF:
            return [Send(bits) for bits in _subsets(everybody)]
        case Kind.GROUP:
            return [Send(reach, 0)] if reach == membership.everybody else []
        case Kind.GROUPS:
            groups = [(group, membership.group(group)) for group in membership.groups_of(process)]
            return [Send(bits, group) for group, bits in groups if not bits & ~reach]


def _subsets(processes: Sequence[int]) -> list[ProcessSet]:
    return [
        process_set(subset)
        for size in range(1, len(processes) + 1)
        for subset in combinations(processes, size)
    ]


def programs(
    membership: Membership,
    messages: int,
    kind: Kind,
    renamings: Sequence[Renaming] | None = None,
    reach: Sequence[ProcessSet] | None = None,
) -> Iterator[Program]:
    """All programs of exactly this many messages; of those that these renamings map to each other,
    one. They are closed under composition; unless told otherwise, all that map groups to groups.
    `reach`: as for `choices`; the renamings keep it."""
    allowed = choices(kind, membership, reach)
    renamings = all_renamings(membership) if renamings is None else renamings
    for shares in _shares(messages, membership.size):
        renamed = [tuple([shares[p] for p in renaming.origin]) for renaming in renamings]
        if any(other > shares for other in renamed):
            continue
        keeping = [r for r, other in zip(renamings, renamed, strict=True) if other == shares]
        columns = [
            list(product(allowed[process], repeat=share)) for process, share in enumerate(shares)
        ]
        for sends in product(*columns):
            if not any(_is_less(renaming, sends) for renaming in keeping):
                yield Program(membership, sends)


def renamed_program(program: Program, renaming: Renaming) -> Program:
    """The same program among processes of other names."""
    sends = [_renamed(program.sends[origin], renaming) for origin in renaming.origin]
    return Program(program.membership, tuple(sends))


def _renamed(sends: tuple[Send, ...], renaming: Renaming) -> tuple[Send, ...]:
    image, groups = renaming.image, renaming.groups
    return tuple(
        [
            Send(image[bits], group if group < 0 or not groups else groups[group])
            for bits, group in sends
        ]
    )


def _is_less(renaming: Renaming, sends: tuple[tuple[Send, ...], ...]) -> bool:
    """Whether the renamed program comes before the program itself."""
    for process, own in enumerate(sends):
        renamed = _renamed(sends[renaming.origin[process]], renaming)
        if renamed != own:
            return renamed < own
    return False


def _shares(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to share `total` messages among `parts` processes."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _shares(total - first, parts - 1):
            yield first, *rest
