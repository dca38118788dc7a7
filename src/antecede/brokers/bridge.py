"""Topics re-published as one causally ordered stream, for readers that cannot be changed.

The bridge is a durable reader that publishes each message into one lane, in the order in which it
gets them, with the header `antecede-origin: LANE:PLACE`. One lane is read in order by everybody. It
commits after publishing: one that is killed in between publishes some messages again. JetStream
drops these by their ids (for two minutes, by default), the Redis bridge looks at what was published
after the place that it committed; in Kafka readers see them twice, with the same origin.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from antecede.brokers import causal
from antecede.brokers.bus import Message
from antecede.brokers.connect import client_of, extra_of, kafka_bus
from antecede.brokers.log import Unconfirmed, as_text
from antecede.errors import Misuse

LOGGER = logging.getLogger("antecede.brokers")
ORIGIN: Final = "antecede-origin"
COMMIT_EVERY: Final = 100
_RETRY_S: Final = 0.2
_PAGE: Final = 1_000


def origin_of(message: Message) -> str:
    return f"{message.lane}:{message.place}"


def run_bridge(
    url: str,
    topics: Sequence[str],
    to: str,
    group: str,
    *,
    patience_s: float | None = None,
    messages: int | None = None,
    idle_s: float | None = None,
    tell: Callable[[int], None] = lambda count: None,
) -> int:
    """Bridge until control-C, until so many messages were bridged, or until none came for so long;
    gives how many were."""
    if not topics:
        raise Misuse("say which topics to bridge")
    if to in topics:
        raise Misuse(f"'{to}' is one of the topics that are read; choose another target")
    count = Count(messages, tell)
    options = {"group": group, "start": "first", "patience_s": patience_s}
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        if extra_of(url) == "kafka":
            _bridge_kafka(url, topics, to, options, idle_s, count)
        else:
            asyncio.run(_bridge(url, topics, to, options, idle_s, count))
    return count.bridged


class Count:
    """How far a bridge has come."""

    def __init__(self, limit: int | None, tell: Callable[[int], None]) -> None:
        self.bridged = 0
        self._limit = limit
        self._tell = tell

    def add(self) -> None:
        self.bridged += 1
        self._tell(self.bridged)

    def is_over(self) -> bool:
        return self._limit is not None and self.bridged >= self._limit


async def _bridge(
    url: str, topics: Sequence[str], to: str, options: dict[str, Any], idle_s: Any, count: Count
) -> None:
    async with client_of(url) as client:
        bus: Any
        async with causal(client, topics, commit_every=COMMIT_EVERY, **options) as bus:
            await bus.check(to)
            published = await _published(client, bus, to) if extra_of(url) == "redis" else set()
            while not count.is_over():
                try:
                    message = await asyncio.wait_for(anext(bus), idle_s)
                except TimeoutError:
                    return
                # A pattern may match the target, too.
                if message.topic != to and origin_of(message) not in published:
                    await _publish(bus, to, message, carried_by(extra_of(url), message))
                    count.add()


def carried_by(extra: str, message: Message) -> dict[str, str]:
    """The headers of a message that is published again."""
    headers = dict(message.headers)
    if extra == "nats":
        # Orders to the server are not passed on: it would take them for the target.
        headers = {name: value for name, value in headers.items() if not name.startswith("Nats-")}
        headers["Nats-Msg-Id"] = origin_of(message)
    headers[ORIGIN] = origin_of(message)
    if message.topic != message.lane:
        headers["antecede-topic"] = message.topic
    return headers


async def _publish(bus: Any, to: str, message: Message, headers: dict[str, str]) -> None:
    while True:
        try:
            await bus.publish(to, message.payload, headers)
            return
        except Unconfirmed as error:
            LOGGER.warning("cannot publish %s: %s; trying again", origin_of(message), error)
            await asyncio.sleep(_RETRY_S)


async def _published(client: Any, bus: Any, to: str) -> set[str]:
    """What a former life may have published and not committed, whoever else writes there."""
    from antecede.brokers.redis_streams import id_of, place_of  # noqa: PLC0415 - an extra

    last = await bus.known_end(to)
    found = set()
    while entries := await client.xrange(to, min=id_of(last + 1), count=_PAGE):
        for _, fields in entries:
            for name, value in fields.items():
                if as_text(name) == ORIGIN:
                    found.add(as_text(value))
        last = place_of(entries[-1][0])
    return found


def _bridge_kafka(
    url: str, topics: Sequence[str], to: str, options: dict[str, Any], idle_s: Any, count: Count
) -> None:
    with kafka_bus(url, topics, commit_every=COMMIT_EVERY, **options) as bus:
        bus.check(to)
        waited_s = 0.0
        while not count.is_over():
            message = bus.poll(0.5)
            if message is None:
                waited_s += 0.5
                if idle_s is not None and waited_s >= idle_s:
                    return
                continue
            waited_s = 0.0
            if message.topic == to:
                continue
            while True:
                try:
                    bus.publish(to, message.payload, carried_by("kafka", message), partition=0)
                    bus.flush()
                    break
                except Unconfirmed as error:
                    LOGGER.warning("cannot publish %s: %s; trying again", origin_of(message), error)
            count.add()
