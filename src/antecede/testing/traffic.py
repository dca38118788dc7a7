"""Who is there, in which groups, and whom the messages of a run are addressed to."""

from random import Random

import msgspec

from antecede.message import NO_GROUP, Membership, ProcessSet, process_set
from antecede.order import Addressing


class Layout(msgspec.Struct, frozen=True):
    """A membership, and how the messages of a run are addressed in it."""

    name: str
    membership: Membership
    addressing: Addressing

    def senders(self) -> list[int]:
        """The processes that may send: where groups are addressed, the members of one."""
        everyone = range(self.membership.size)
        return [process for process in everyone if self.membership.groups_of(process)]

    def address(self, random: Random, sender: int) -> tuple[ProcessSet, int]:
        """Draw the destinations and the group of a message."""
        if self.addressing is not Addressing.SETS:
            group = random.choice(self.membership.groups_of(sender))
            return self.membership.group(group), group
        size = self.membership.size
        kind = random.randrange(8)
        if kind == 0:
            return self.membership.everybody, NO_GROUP
        if kind == 1:
            return 1 << sender, NO_GROUP
        if kind <= 4:
            return 1 << random.randrange(size), NO_GROUP
        return random.randrange(1, 1 << size), NO_GROUP


def layouts(size: int, addressing: Addressing) -> list[Layout]:
    """What a protocol of this addressing must cope with, at this number of processes."""
    found = [Layout("one group", Membership(size), Addressing.ONE_GROUP)]
    if addressing >= Addressing.GROUPS:
        shapes = {
            "chain": _chain(size),
            "cycle": _cycle(size),
            "identical": (_range(0, size), _range(0, size)),
            "nested": (_range(0, size), _range(0, (size + 1) // 2 + 1), _range(0, 2)),
            "common pair": (_range(0, size - 1), _range(max(0, size - 3), size)),
        }
        found += [
            Layout(name, Membership(size, groups), Addressing.GROUPS)
            for name, groups in shapes.items()
        ]
    if addressing >= Addressing.SETS:
        found.append(Layout("any sets", Membership(size), Addressing.SETS))
    return found


def _range(first: int, end: int) -> ProcessSet:
    return process_set(range(first, end))


def _chain(size: int) -> tuple[ProcessSet, ...]:
    """Groups that overlap in one process each, the last one with the one before."""
    step = max(1, size // 5)
    return tuple(_range(first, min(first + step + 1, size)) for first in range(0, size - 1, step))


def _cycle(size: int) -> tuple[ProcessSet, ...]:
    """The same, closed to a ring."""
    step = max(1, size // 5)
    return tuple(
        process_set((first + offset) % size for offset in range(step + 1))
        for first in range(0, size, step)
    )
