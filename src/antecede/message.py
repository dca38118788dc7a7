"""Identities, destination sets and messages.

Inside, a process is a small integer and a set of processes is an integer used as a bit set (bit p
stands for process p); names exist only at the edges (traces, scenarios, the live runtime).
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

ProcessSet = int
"""A set of processes: bit p is set when process p is a member."""


def process_set(processes: Iterable[int]) -> ProcessSet:
    """The set of these processes; `members` is its inverse. Raises `ValueError` for a negative
    number.

        assert process_set([0, 2]) == 0b101
    """
    bits = 0
    for process in processes:
        bits |= 1 << process
    return bits


def members(bits: ProcessSet) -> Iterator[int]:
    """The processes of a set, in increasing order; `process_set` is its inverse. Raises
    nothing.

        assert list(members(0b101)) == [0, 2]
    """
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def set_to_bytes(bits: ProcessSet) -> bytes:
    """A set as it travels: little-endian, without trailing zero bytes."""
    return bits.to_bytes((bits.bit_length() + 7) // 8, "little")


def set_from_bytes(wire: bytes) -> ProcessSet:
    return int.from_bytes(wire, "little")


class MessageId(NamedTuple):
    """The identity of a message: `number` counts the messages of `sender` from 1, whatever their
    destinations."""

    sender: int
    number: int

    def __str__(self) -> str:
        return f"{self.sender}:{self.number}"


NO_GROUP = -1


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What an application sends. `group` is the index of the group it is addressed to, or
    `NO_GROUP` when it is addressed to a set of processes."""

    id: MessageId
    destinations: ProcessSet
    group: int = NO_GROUP
    payload: bytes = b""


class Membership(msgspec.Struct, frozen=True):
    """Who takes part: `size` processes, and the groups they form. Without groups there is one, of
    everybody."""

    size: int
    groups: tuple[ProcessSet, ...] = ()

    @property
    def everybody(self) -> ProcessSet:
        return (1 << self.size) - 1

    def group(self, index: int) -> ProcessSet:
        """The members of a group."""
        return self.groups[index] if self.groups else self.everybody

    def groups_of(self, process: int) -> list[int]:
        """The indices of the groups that a process is a member of."""
        if not self.groups:
            return [0]
        return [index for index, group in enumerate(self.groups) if group >> process & 1]
