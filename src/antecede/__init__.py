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
from antecede.order import Deliver, Effect, Held, Order, Packet, Transmit, Wake
from antecede.protocols import create, find, names
from antecede.wire import decode_packet, encode_packet

__version__ = "0.1.0"

__all__ = [
    "AntecedeError",
    "BadFile",
    "BadInput",
    "BadTrace",
    "BrokenInvariant",
    "Deliver",
    "Effect",
    "Held",
    "MalformedStamp",
    "Membership",
    "Message",
    "MessageId",
    "Misuse",
    "Order",
    "Packet",
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
