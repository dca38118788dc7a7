"""What rule R9 of `histories` knows of the network: the neighbours of a process and the separators
it is a member of."""

from functools import lru_cache

import msgspec

from antecede.errors import BadInput, MalformedStamp, Misuse
from antecede.message import Message, ProcessSet, members, process_set
from antecede.topology.separator import Separator, check_separator

Links = tuple[tuple[int, int], ...]
"""Pairs of processes that talk to each other."""


class Sides(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A separator as people write it: S, F and B as lists of processes."""

    members: tuple[int, ...]
    front: tuple[int, ...]
    back: tuple[int, ...]


class Cut(msgspec.Struct, frozen=True):
    """A separator at one of its members, made ready for the test: what is addressed to `front`
    alone need not cite what is addressed to `back` alone and has been reported to `told`."""

    front: ProcessSet
    back: ProcessSet
    told: ProcessSet


class Surroundings(msgspec.Struct, frozen=True):
    """The neighbours of a process, and separators. That they separate is whoever makes them to
    see to."""

    process: int
    neighbours: ProcessSet
    separators: tuple[Separator, ...]

    def cuts(self, *, own_implied: bool, gateways: bool) -> list[Cut]:
        """The separators that the process is a member of."""
        own = 1 << self.process
        return [
            Cut(
                front=separator.front,
                back=separator.back | (separator.members if gateways else 0),
                told=separator.members & ~own if own_implied else separator.members,
            )
            for separator in self.separators
            if separator.members & own
        ]

    def check_destinations(self, message: Message) -> None:
        """Refuse a message to others than neighbours: word of it could come round a separator."""
        strangers = message.destinations & ~(self.neighbours | 1 << self.process)
        if strangers:
            raise Misuse(
                f"message {message.id} is addressed to {list(members(strangers))}, and process "
                f"{self.process} is linked to {list(members(self.neighbours))} alone; with rule R9 "
                f"a process addresses its neighbours only"
            )

    def check_source(self, source: int) -> None:
        """Refuse a packet of a process that is no neighbour."""
        if not self.neighbours >> source & 1:
            raise MalformedStamp("source", f"is {source}, to which there is no link")


def survey(process: int, size: int, links: Links, separators: tuple[Sides, ...]) -> Surroundings:
    """What a process of a network knows of it. Refuses links and separators that cannot be."""
    neighbours, known = _survey(size, links, separators)
    return Surroundings(process, neighbours[process], known)


@lru_cache(maxsize=16)
def _survey(
    size: int, links: Links, separators: tuple[Sides, ...]
) -> tuple[list[ProcessSet], tuple[Separator, ...]]:
    """The neighbours of everybody and the separators of a network, looked at once for all."""
    neighbours = [0] * size
    for first, second in links:
        if not 0 <= first < size or not 0 <= second < size or first == second:
            raise Misuse(f"there is no link {first} – {second} among processes 0 to {size - 1}")
        neighbours[first] |= 1 << second
        neighbours[second] |= 1 << first
    if not links and size > 1:
        raise Misuse("rule R9 needs to know who is linked to whom; give it links")
    known = []
    for sides in separators:
        if any(one < 0 for one in (*sides.members, *sides.front, *sides.back)):
            raise Misuse("a separator names a process below 0")
        separator = Separator(*map(process_set, (sides.members, sides.front, sides.back)))
        try:
            check_separator(neighbours, separator)
        except BadInput as error:
            raise Misuse(str(error)) from None
        known.append(separator)
    return neighbours, tuple(known)
