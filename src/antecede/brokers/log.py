"""What a bus needs of a broker with a log. The adapters are this, over the usual clients."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from antecede.brokers.lanes import Frontier
from antecede.errors import AntecedeError, BadInput


class Unconfirmed(AntecedeError):
    """The broker did not confirm what was published: it has it, or not. Publishing it again may
    publish it twice. Order is kept either way."""


class Superseded(AntecedeError):
    """Another reader has taken over this group; this one has stored nothing since."""


class MadeAnew(BadInput):
    """A lane ends before the place up to which this reader has read it: it was deleted and made
    anew under its old name, or restored from an old copy."""

    def __init__(self, lane: str, place: int, end: int) -> None:
        super().__init__(lane, place, end)
        self.lane = lane
        self.place = place
        self.end = end

    def __str__(self) -> str:
        return (
            f"{self.lane} ends at {self.end:,}, but has been read up to {self.place:,}: it was "
            "made anew; give its readers another group, or start them again where they have none"
        )


class Arrival(msgspec.Struct, frozen=True, gc=False):
    """A message as the broker handed it over."""

    lane: str
    place: int
    stamp: bytes | None
    payload: bytes
    headers: Mapping[str, str]
    topic: str = ""
    """The subject or topic, where it is not the lane."""
    published_s: float | None = None
    """When, by the broker's clock, since 1970."""


class Log(Protocol):
    """A broker with a log, for one bus."""

    troubles: tuple[type[BaseException], ...]
    """What the client raises when the broker cannot be reached, or not now."""
    pipelined: bool
    """Whether what is sent to one lane without waiting arrives in this order."""

    async def open(self) -> tuple[Frontier, Sequence[Sequence[str]]]:
        """Where to begin; and the lanes, each group of which is read by calls of its own."""

    async def read(self, lanes: Sequence[str]) -> Sequence[Arrival]:
        """What comes next in these lanes, each in order; waits some seconds at most."""

    async def lane_of(self, topic: str) -> str:
        """The lane in which messages to a topic end up."""

    async def send(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: bytes
    ) -> Awaitable[int]:
        """Give a message to the broker; its place can then be awaited."""

    async def end(self, lane: str) -> int:
        """The last place that the lane has given."""

    async def following(self, lane: str, place: int) -> int | None:
        """The place of the first message for this reader after a place."""

    async def commit(self, frontier: Frontier) -> None:
        """Store how far the group has come; `Superseded` where somebody else reads for it."""

    async def close(self) -> None:
        """Free what `open` has taken; the client stays the caller's."""


def encode_frontier(frontier: Frontier) -> bytes:
    return msgspec.msgpack.encode(frontier)


def decode_frontier(stored: bytes) -> Frontier:
    return msgspec.msgpack.decode(stored, type=Frontier)


def as_text(value: Any) -> str:
    """Names and headers, whether the client decodes or not."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def as_bytes(value: Any) -> bytes:
    """Payloads, whether the client decodes or not."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
