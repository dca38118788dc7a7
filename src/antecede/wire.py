"""Stamps and packets as bytes: what would be sent is what is counted.

MessagePack, arrays without field names; a small integer takes one byte. A packet is
``[source, [sender, number, destinations, group, payload] or nil, stamp]``.
"""

import re
from typing import Any

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, set_from_bytes, set_to_bytes
from antecede.order import Count, Packet, Stamp

_encoder = msgspec.msgpack.Encoder()
encode_stamp = _encoder.encode
"""The bytes of a stamp."""


class _Header(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    sender: Count
    number: Count
    destinations: bytes
    group: int
    payload: bytes


class _Frame(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    source: Count
    header: _Header | None
    stamp: msgspec.Raw


def encode_packet(packet: Packet[Any]) -> bytes:
    """The bytes of a packet. Raises `OverflowError` for a number of more than 64 bits, and for
    destinations that are negative.

        packet = order.send(message)[0].packet
        wire = encode_packet(packet)
        assert decode_packet(wire, order.stamp_type) == packet
    """
    message = packet.message
    header = None
    if message is not None:
        sender, number = message.id
        destinations = set_to_bytes(message.destinations)
        header = _Header(sender, number, destinations, message.group, message.payload)
    stamp = msgspec.Raw(_encoder.encode(packet.stamp))
    return _encoder.encode(_Frame(packet.source, header, stamp))


def decode_packet(wire: bytes, stamp_type: type[Stamp]) -> Packet[Any]:
    """The packet that these bytes stand for; see `encode_packet`. Raises `MalformedStamp`, which
    names the field that is wrong, for bytes that are no packet or have no stamp of this type."""
    try:
        frame = msgspec.msgpack.decode(wire, type=_Frame)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp(_field(str(error), _Frame), str(error)) from None
    stamp = decode_stamp(frame.stamp, stamp_type)
    header = frame.header
    if header is None:
        return Packet(frame.source, None, stamp)
    message = Message(
        MessageId(header.sender, header.number),
        set_from_bytes(header.destinations),
        header.group,
        header.payload,
    )
    return Packet(frame.source, message, stamp)


def decode_stamp(wire: bytes | msgspec.Raw, stamp_type: type[Stamp]) -> Stamp:
    """The stamp that these bytes stand for, or `MalformedStamp` with the field that is wrong."""
    try:
        return msgspec.msgpack.decode(wire, type=stamp_type)
    except (msgspec.DecodeError, RecursionError) as error:
        raise MalformedStamp(_field(str(error), stamp_type), str(error)) from None


def _field(error: str, struct: type[msgspec.Struct]) -> str:
    """The name of the field that msgspec gives as a path such as ``$[2][0]``."""
    place = re.search(r"\$\[(\d+)\](\S*?)`", error)
    if place is None:
        return struct.__name__
    return struct.__struct_fields__[int(place[1])] + place[2]
