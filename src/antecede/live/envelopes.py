"""What a payload carries besides the application's bytes: topics, requests and answers.

An ordinary payload travels as it is. One that belongs to a topic or a request is put into an
envelope, an array of MessagePack behind two bytes that begin neither text nor MessagePack; an
ordinary payload that begins with these is put into one, too.
"""

from typing import Annotated, Final

import msgspec

SEAL: Final = b"\xc1\xac"
"""What an envelope begins with; who is in a hurry compares it without a call."""
_NAMES: Final = 4096
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Whole = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Plain(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=0):
    """An ordinary payload that looks like an envelope."""

    payload: bytes


class InTopic(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=1):
    """For those who are in the topic."""

    topic: Text
    payload: bytes


class Subscribed(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=2):
    """From here on the sender is in these topics, and in no others."""

    life: Whole
    """Which of the sender's lives says so."""
    topics: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_NAMES)]


class Ask(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=3):
    """A request of these members, or of everybody else where there are none."""

    life: Whole
    number: Whole
    to: Annotated[tuple[Text, ...], msgspec.Meta(max_length=_NAMES)]
    payload: bytes


class Reply(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=4):
    """The answer to a request."""

    life: Whole
    number: Whole
    to: Text
    payload: bytes


Envelope = Plain | InTopic | Subscribed | Ask | Reply
_decoder: Final[msgspec.msgpack.Decoder[Envelope]] = msgspec.msgpack.Decoder(Envelope)
_encode: Final = msgspec.msgpack.Encoder().encode


def wrapped(envelope: Envelope) -> bytes:
    """An envelope as a payload."""
    return SEAL + _encode(envelope)


def plain(payload: bytes) -> bytes:
    """An ordinary payload, as it travels."""
    return wrapped(Plain(bytes(payload))) if payload[:2] == SEAL else payload


def is_wrapped(payload: bytes) -> bool:
    return payload[:2] == SEAL


def unwrapped(payload: bytes) -> Envelope:
    """The envelope of a payload; `ValueError` if it is none."""
    try:
        return _decoder.decode(memoryview(payload)[2:])
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error)) from None
