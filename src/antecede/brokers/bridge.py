"""Topics re-published as one causally ordered stream, for readers that cannot be changed.

The bridge is a durable reader that publishes each message into one lane, in the order in which it
gets them, with the header `antecede-origin: LANE:PLACE`. One lane is read in order by everybody. It
commits after publishing: one that is killed in between publishes some messages again. JetStream
drops these by their ids (for two minutes, by default), the Redis bridge looks at what it published
last; in Kafka readers see them twice, with the same origin.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from antecede.brokers import causal
from antecede.brokers.bus import Message
from antecede.brokers.connect import client_of, extra_of, kafka_settings, missing_extra
from antecede.brokers.log import Unconfirmed, as_text
from antecede.errors import Misuse

ORIGIN: Final = "antecede-origin"
COMMIT_EVERY: Final = 100
_RETRY_S: Final = 0.2


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
        published = await _published(client, url, to)
        bus: Any
        async with causal(client, topics, commit_every=COMMIT_EVERY, **options) as bus:
            while not count.is_over():
                try:
                    message = await asyncio.wait_for(anext(bus), idle_s)
                except TimeoutError:
                    return
                if origin_of(message) not in published:
                    await _publish(bus, to, message)
                    count.add()


async def _publish(bus: Any, to: str, message: Message) -> None:
    origin = origin_of(message)
    headers = {**message.headers, ORIGIN: origin, "Nats-Msg-Id": origin}
    if message.topic != message.lane:
        headers["antecede-topic"] = message.topic
    while True:
        try:
            await bus.publish(to, message.payload, headers)
            return
        except Unconfirmed:
            await asyncio.sleep(_RETRY_S)


async def _published(client: Any, url: str, to: str) -> set[str]:
    """What a former life may have published and not committed."""
    if extra_of(url) != "redis":
        return set()
    last = await client.xrevrange(to, count=2 * COMMIT_EVERY)
    found = set()
    for _, fields in last:
        for name, value in fields.items():
            if as_text(name) == ORIGIN:
                found.add(as_text(value))
    return found


def _bridge_kafka(
    url: str, topics: Sequence[str], to: str, options: dict[str, Any], idle_s: Any, count: Count
) -> None:
    try:
        from antecede.brokers import kafka  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("kafka") from None
    settings = kafka_settings(url)
    with kafka.causal(settings, topics, commit_every=COMMIT_EVERY, **options) as bus:
        waited_s = 0.0
        while not count.is_over():
            message = bus.poll(0.5)
            if message is None:
                waited_s += 0.5
                if idle_s is not None and waited_s >= idle_s:
                    return
                continue
            waited_s = 0.0
            headers = {**message.headers, ORIGIN: origin_of(message)}
            bus.publish(to, message.payload, headers, partition=0)
            bus.flush()
            count.add()
