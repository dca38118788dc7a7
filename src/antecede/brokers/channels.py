"""What applications see of a broker without a log: publish, and iterate in causal order.

Nothing is kept and nothing is confirmed: what the broker drops is told, and not waited for longer
than patience allows.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from antecede.brokers.bus import WAKE_EVERY, Message, new_publisher
from antecede.brokers.holdback import Held, Missing, Patience
from antecede.brokers.numbers import Numbers
from antecede.brokers.stamps import TopicStamp, decode_topics, encode_topics, from_text
from antecede.brokers.stamps import as_text as stamp_text
from antecede.errors import MalformedStamp, Misuse

LOGGER = logging.getLogger("antecede.brokers")
Handler = Any
"""Awaited with (topic, stamp or None, payload, headers) for each message that arrives."""


class Channels(Protocol):
    """A broker without a log, for one bus."""

    async def subscribe(self, topics: Sequence[str], handler: Handler) -> None: ...

    async def publish(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: str
    ) -> None: ...

    async def close(self) -> None: ...


class ChannelBus:
    """One subscriber and publisher of a broker without a log; `causal` makes one."""

    def __init__(
        self, channels: Channels, reads: Sequence[str], patience: Patience | None = None
    ) -> None:
        for topic in reads:
            if set(topic) & set("*>?["):
                raise Misuse(f"'{topic}': name the topics one by one, patterns have no order")
        self._channels = channels
        self._reads = list(dict.fromkeys(reads))
        self._machine = Numbers(new_publisher(), patience)
        self._unstamped: list[Message] = []
        self._limit = (patience or Patience()).limit
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._turn = asyncio.Lock()
        self._taken = 0

    async def __aenter__(self) -> Self:
        for topic in self._reads:
            self._machine.subscribe(topic)
        await self._channels.subscribe(self._reads, self._arrive)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._channels.close()

    async def _arrive(
        self, topic: str, text: str | None, payload: bytes, headers: Mapping[str, str]
    ) -> None:
        """Take in a message. While the application lags behind, the client has to wait: it drops
        what it cannot keep, by its own rules. What waits for others never makes it wait, for what
        they wait for may be next."""
        while self._machine.is_behind(self._limit) or len(self._unstamped) >= self._limit:
            self._room.clear()
            await self._room.wait()
        stamp: TopicStamp | None = None
        if text is not None:
            try:
                stamp = decode_topics(from_text(text))
            except MalformedStamp as error:
                LOGGER.warning("%s: %s; it waits for nothing", topic, error)
        if stamp is None:
            self._unstamped.append(Message(topic, payload, headers, topic, 0))
        else:
            content = (topic, payload, headers, stamp)
            self._tell(self._machine.arrive(topic, stamp, content, time.monotonic()))
        self._news.set()

    def _tell(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            if isinstance(effect, Missing):
                LOGGER.warning("%s: number %d did not come", effect.lane, effect.place)

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        if self._taken >= WAKE_EVERY:
            self._taken = 0
            self._tell(self._machine.wake(time.monotonic()))
        while (message := self.take()) is None:
            self._news.clear()
            due = self._machine.due()
            try:
                timeout = None if due is None else max(0.0, due - time.monotonic())
                await asyncio.wait_for(self._news.wait(), timeout)
            except TimeoutError:
                self._tell(self._machine.wake(time.monotonic()))
        return message

    def take(self) -> Message | None:
        """The next message if one is ready now."""
        self._room.set()
        self._taken += 1
        if self._unstamped:
            return self._unstamped.pop(0)
        delivered, _ = self._machine.take(time.monotonic())
        if delivered is None:
            return None
        topic, payload, headers, stamp = delivered.content
        name = self._machine.name
        return Message(
            topic,
            payload,
            headers,
            name(delivered.lane),
            delivered.place,
            delivered.held_s,
            delivered.late,
            tuple([(name(channel), number) for channel, number in delivered.without]),
            None,
            stamp,
        )

    def held(self) -> list[Held]:
        """What waits here, and for which number of which publisher in which topic."""
        return self._machine.held()

    async def publish(
        self, topic: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> int:
        """Publish a message after all that this bus has delivered and published; gives its number.
        The broker does not say whether anybody got it."""
        async with self._turn:
            stamp = self._machine.publish(topic)
            text = stamp_text(encode_topics(stamp))
            await self._channels.publish(topic, payload, headers, text)
        return stamp.number
