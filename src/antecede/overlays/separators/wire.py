"""Contexts as they travel."""

from functools import lru_cache
from typing import Annotated

import msgspec

from antecede.message import (
    MessageId,
    ProcessSet,
    members,
    process_set,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import Count
from antecede.overlays.separators.contexts import Context, Token

Index = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
"""Of a process: a set of few of them must not take much room."""
Number = Annotated[int, msgspec.Meta(ge=1)]
Destinations = bytes | tuple[Index, ...]
"""A set as a bitmap or a list, whichever is likely to be shorter."""
Cited = tuple[tuple[Count, Count, Destinations], ...]
Tokens = tuple[tuple[Count, Count, Count], ...]

_LISTED_BYTES = 3
"""What a process takes in a list."""


@lru_cache(maxsize=1 << 14)
def encode_set(bits: ProcessSet) -> Destinations:
    wire = set_to_bytes(bits)
    return tuple(members(bits)) if _LISTED_BYTES * bits.bit_count() < len(wire) else wire


@lru_cache(maxsize=1 << 14)
def decode_set(wire: Destinations) -> ProcessSet:
    return set_from_bytes(wire) if isinstance(wire, bytes) else process_set(wire)


_identity = lru_cache(maxsize=1 << 16)(MessageId)
"""Contexts are long, and name the same messages again and again."""


def encode_waits(waits: dict[MessageId, ProcessSet]) -> Cited:
    return tuple([(id_[0], id_[1], encode_set(waits[id_])) for id_ in sorted(waits)])


def encode_tokens(tokens: dict[Token, int]) -> Tokens:
    return tuple([(*token, tokens[token]) for token in sorted(tokens)])


def context_of(cited: Cited, tokens: Tokens) -> Context:
    """The context that these stand for."""
    return Context(
        {_identity(sender, number): decode_set(to) for sender, number, to in cited},
        {(region, member): epoch for region, member, epoch in tokens},
    )
