"""Causal order for messages: run it, simulate it, verify it."""

from antecede.errors import (
    AntecedeError,
    BadFile,
    BadInput,
    BadTrace,
    BrokenInvariant,
    MalformedStamp,
    Misuse,
)
from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Gives,
    Held,
    Options,
    Order,
    Packet,
    Scope,
    Stamp,
    Traits,
    Transmit,
    Wake,
)
from antecede.orders import Condition, Counting
from antecede.protocols import create, find, names
from antecede.wire import decode_packet, encode_packet

__version__ = "0.1.0"

__all__ = [
    "Addressing",
    "AntecedeError",
    "Awaited",
    "BadFile",
    "BadInput",
    "BadTrace",
    "BrokenInvariant",
    "Condition",
    "Count",
    "Counting",
    "Deliver",
    "Effect",
    "Gives",
    "Held",
    "MalformedStamp",
    "Membership",
    "Message",
    "MessageId",
    "Misuse",
    "Options",
    "Order",
    "Packet",
    "Scope",
    "Stamp",
    "Traits",
    "Transmit",
    "Wake",
    "__version__",
    "create",
    "decode_packet",
    "encode_packet",
    "find",
    "members",
    "names",
    "process_set",
]
