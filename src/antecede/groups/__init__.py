"""Groups: reliable causal broadcast among members that crash, over a network that loses,
duplicates, delays and reorders.

One `GroupMember` is one process in one group; a process in several groups has one object for each,
told apart by the group's number on every packet. It is a pure state machine: its owner feeds it and
carries out the effects it returns.

::

    member = GroupMember(GroupConfig(group=7), MemberId(0, 0), founding=founding_view((0, 1, 2)))
    effects = member.start(now)  # a founder
    member = GroupMember(GroupConfig(group=7), MemberId(3, 0), contacts=process_set([0, 1, 2]))
    effects = member.start(now)  # joins; ViewInstalled says when it is in

    member.send(payload, now)  # to all members, or to=process_set([...])
    member.tell(process, payload, now)  # to one member alone: reliable, FIFO, no more
    member.receive(packet, now)  # what the network brought
    member.wake(now)  # a time it asked for has come
    member.release(ids, now)  # with `retains`: these need not be kept
    member.provide_state(view_number, state, now)  # the answer to StateWanted
    member.leave(now)  # Stopped(LEFT) follows

Every input returns a list of effects (`api`), to be carried out **in order, first in, first out**:
when a delivery makes the owner send, the effects of that `send` go behind those already waiting.

What it promises (the tests' checker states it again, in its own words):

- *Views*: members that install a view with a number install the same view, and the numbers that a
  member sees are consecutive.
- *Virtual synchrony*: two members that go from one view to the next together have delivered the
  same messages in the first. So whatever depends only on deliveries (who is elected, what was
  released) is the same at all of them when the view is installed.
- *Order*: within a view causal (a vector of the view's size on each message), and a message is
  delivered in the view it was sent in; hence causal throughout. Exactly once, and FIFO.
- *Liveness*: what a member sends is delivered by all that stay, as long as a quorum stays and hears
  each other; nobody waits for the dead; stable messages are dropped.
- *Partitions*: at most one part goes on (`Quorum.MAJORITY`), the others say `Suspended`. When the
  network heals, who was left behind is told `Stopped(EXCLUDED)` and returns as a new incarnation.

`send` is always accepted until `leave`: during a change of views, while joining or suspended and
beyond the window messages wait inside, in order. `unreleased()` lists what is retained, oldest
first. When `ViewInstalled` is carried out, those of earlier views are the same at all members (and
equal to what newcomers are handed), as long as the owner's releases follow from its deliveries.
"""

from antecede.groups.api import (
    Deliver,
    Effect,
    GroupConfig,
    Quorum,
    Resumed,
    Stable,
    StateWanted,
    Stopped,
    StopReason,
    Suspended,
    Told,
    Transmit,
    ViewInstalled,
    Wake,
)
from antecede.groups.identities import (
    EVERYBODY,
    GroupMessage,
    GroupMessageId,
    MemberId,
    View,
    founding_view,
)
from antecede.groups.member import GroupMember
from antecede.groups.packets import Packet, decode, encode

__all__ = [
    "EVERYBODY",
    "Deliver",
    "Effect",
    "GroupConfig",
    "GroupMember",
    "GroupMessage",
    "GroupMessageId",
    "MemberId",
    "Packet",
    "Quorum",
    "Resumed",
    "Stable",
    "StateWanted",
    "StopReason",
    "Stopped",
    "Suspended",
    "Told",
    "Transmit",
    "View",
    "ViewInstalled",
    "Wake",
    "decode",
    "encode",
    "founding_view",
]
