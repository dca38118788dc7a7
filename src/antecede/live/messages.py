"""What an application is told where payloads have types, or belong to topics or requests."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from antecede.errors import Misuse
from antecede.live.ordering.effects import Delivery


class Message(msgspec.Struct, frozen=True):
    """A message in causal order, with its payload decoded: where the group or the topic has a
    codec, and in topics."""

    sender: str
    payload: Any
    """What the codec made of it; bytes without one."""
    topic: str | None
    delivery: Delivery
    """The delivery that brought it, with its number, label and context."""


class Undecodable(msgspec.Struct, frozen=True):
    """A message that cannot be decoded. It is its sender's mistake; everybody goes on."""

    sender: str
    reason: str
    topic: str | None
    delivery: Delivery


class TopicChange(msgspec.Struct, frozen=True):
    """A member has come to topics, and left others, that this process knows of because it is in
    them, or was. What this process is given of a topic begins and ends with its own. Who leaves
    the group leaves its topics: then there is a `ViewChange`."""

    member: str
    came: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True)
class Request:
    """Somebody asks, and waits for an answer: `await request.reply(payload)`."""

    sender: str
    payload: Any
    id: tuple[int, int]
    """Of the request, among all of its sender."""
    answer: Callable[["Request", Any], Awaitable[bool]] = field(repr=False, compare=False)

    async def reply(self, payload: Any) -> bool:
        """Answer. Waits as `send` does; false if who asked is not there any more."""
        return await self.answer(self, payload)


class Answer(msgspec.Struct, frozen=True):
    """What a request has brought."""

    sender: str
    payload: Any


class NoAnswer(Misuse):
    """Nobody has answered, or not everybody: who was asked is gone, or the time is over."""

    def __init__(self, reason: str, answers: list[Answer]) -> None:
        super().__init__(reason, answers)
        self.reason = reason
        self.answers = answers
        """Those that have come."""

    def __str__(self) -> str:
        return self.reason
