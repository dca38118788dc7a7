"""Who is who in a group: members, views, messages."""

from typing import Annotated, NamedTuple

import msgspec

from antecede.message import ProcessSet, process_set

Count = Annotated[int, msgspec.Meta(ge=0)]
"""A number that a peer may not send below zero."""
EVERYBODY: ProcessSet = 0
"""As the destinations of a message: all members of the view."""


class MemberId(NamedTuple):
    """A process in one of its lives. A process that returns after a crash or after an exclusion
    has a higher incarnation, and is another member."""

    process: Count
    incarnation: Count

    def __str__(self) -> str:
        return f"{self.process}.{self.incarnation}"


class GroupMessageId(NamedTuple):
    """The identity of a message in its group: `number` counts the messages of the sender in this
    group from 1, through all views."""

    sender: MemberId
    number: int

    def __str__(self) -> str:
        return f"{self.sender}:{self.number}"


class View(msgspec.Struct, frozen=True, array_like=True):
    """Who is in the group. Members are in the order of seniority: the position of a member is its
    *rank*, and the most senior member that lives coordinates the next change."""

    number: Count
    members: tuple[MemberId, ...]

    def rank(self, member: MemberId) -> int | None:
        """The position of a member; None for a stranger."""
        return self.members.index(member) if member in self.members else None

    @property
    def processes(self) -> ProcessSet:
        return process_set(member.process for member in self.members)


def founding_view(processes: tuple[int, ...], incarnation: int = 0) -> View:
    """The first view of a group that these processes found."""
    return View(1, tuple(MemberId(process, incarnation) for process in processes))


class GroupMessage(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A message as it was sent in a view. `vector` has one entry a rank: how many messages of that
    member, sent in this view, the sender had delivered; its own entry counts this message."""

    sender: MemberId
    number: Count
    view: Count
    vector: tuple[Count, ...]
    to: ProcessSet
    payload: bytes

    @property
    def id(self) -> GroupMessageId:
        return GroupMessageId(self.sender, self.number)

    def concerns(self, process: int) -> bool:
        return self.to == EVERYBODY or bool(self.to >> process & 1)


class Waiting(msgspec.Struct, frozen=True):
    """A message that has come and is not delivered, and the messages it still waits for. Nothing is
    awaited where a change of views or a suspension holds it."""

    message: GroupMessageId
    awaited: tuple[GroupMessageId, ...]
