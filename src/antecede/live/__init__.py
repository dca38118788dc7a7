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
loop and a pure `machine`: `member_machine` (members that come and go) or `overlay_machine` (routers
and causal servers), which return `outputs`. Below them are `durable` (newcomers and logs),
`ordering` (a protocol, view by view) and `transport` (links). `bootstrap` is how seeds found a
group, `seeding` when; `seeds` finds them. `roster` and `introduction` know who is who,
`protocol_choice` what all members have in common; `conversation` is what payloads are to the
application (`codecs`, `topics`, `requests`); `recording`, `metrics` and `logs` are for seeing.
"""

from antecede.groups import GroupConfig, Quorum
from antecede.live.codecs import Codec
from antecede.live.durable.journal import Durability, Synchronous
from antecede.live.events import (
    Event,
    Excluded,
    Gap,
    Interrupted,
    Missing,
    Restored,
    Settings,
    SlowMember,
    State,
    StateWanted,
    Waiting,
)
from antecede.live.group import Group
from antecede.live.lookout import CannotJoin
from antecede.live.messages import (
    Answer,
    Message,
    NoAnswer,
    Request,
    TopicChange,
    Undecodable,
)
from antecede.live.node import Node, join, join_overlay, open_node
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.effects import Delivery, ViewChange
from antecede.live.ordering.incomplete import Context, merged
from antecede.live.recorder import finish
from antecede.live.topics import Topic
from antecede.live.transport.handshake import Refused
from antecede.live.transport.outgoing import Address, LinkLimits
from antecede.live.transport.tls import PLAIN_TCP, Certificates, PlainTcp, Security

__all__ = [
    "PLAIN_TCP",
    "Address",
    "Answer",
    "CannotJoin",
    "Certificates",
    "Codec",
    "Context",
    "Delivery",
    "Durability",
    "Event",
    "Excluded",
    "FullyDelivered",
    "Gap",
    "Group",
    "GroupConfig",
    "Interrupted",
    "LinkLimits",
    "Message",
    "Missing",
    "NoAnswer",
    "Node",
    "PlainTcp",
    "Quorum",
    "Refused",
    "Request",
    "Restored",
    "Security",
    "Settings",
    "SlowMember",
    "State",
    "StateWanted",
    "Synchronous",
    "Topic",
    "TopicChange",
    "Undecodable",
    "ViewChange",
    "Waiting",
    "finish",
    "join",
    "join_overlay",
    "merged",
    "open_node",
]
