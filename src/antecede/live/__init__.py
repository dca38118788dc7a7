"""The live runtime: real processes exchange messages in causal order, and go on when one dies.

::

    async with join(
        "room",
        name="alice",
        listen="alice.example:7001",
        security=certificates,
        seeds=["alice.example:7001", "bob.example:7001", "carol.example:7001"],
    ) as room:
        await room.send(b"hello")
        async for event in room:
            match event:
                case Delivery(sender, payload):
                    ...
                case ViewChange(members=members):
                    ...

The protocols are those of `antecede.protocols`, the very same objects as in the simulator.

From the application down: `node` makes groups; `group` with its `pump` stands between the event
loop and one of two pure machines, `viewed` (members that come and go) and `overlaid` (routers and
causal servers), which return `outputs`. Below them are the packages `durable` (newcomers and logs),
`ordering` (a protocol, view by view) and `transport` (links). `bootstrap` is how seeds found a
group, `seeding` when; `seeds` finds them. `roster` and `introduction` know who is who, `chosen`
what all members have in common; `recording`, `metrics` and `logs` are for seeing.
"""

from antecede.groups import GroupConfig, Quorum
from antecede.live.durable.journal import Durability, Synchronous
from antecede.live.events import (
    Event,
    Excluded,
    Gap,
    Interrupted,
    Missing,
    Restored,
    Settings,
    State,
    StateWanted,
    ViewChange,
    Waiting,
)
from antecede.live.group import Group
from antecede.live.node import Node, join, join_overlay, open_node
from antecede.live.ordering.effects import Delivery
from antecede.live.ordering.lesser import Context, merged
from antecede.live.pump import CannotJoin
from antecede.live.recording import finish
from antecede.live.transport.handshake import Refused
from antecede.live.transport.outgoing import Address, LinkLimits
from antecede.live.transport.tls import PLAIN_TCP, Certificates, PlainTcp, Security

__all__ = [
    "PLAIN_TCP",
    "Address",
    "CannotJoin",
    "Certificates",
    "Context",
    "Delivery",
    "Durability",
    "Event",
    "Excluded",
    "Gap",
    "Group",
    "GroupConfig",
    "Interrupted",
    "LinkLimits",
    "Missing",
    "Node",
    "PlainTcp",
    "Quorum",
    "Refused",
    "Restored",
    "Security",
    "Settings",
    "State",
    "StateWanted",
    "Synchronous",
    "ViewChange",
    "Waiting",
    "finish",
    "join",
    "join_overlay",
    "merged",
    "open_node",
]
