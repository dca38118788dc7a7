"""Redis pub/sub: it has no headers, so a stamp travels on a channel of its own, `causal:NAME`.

Both are published in one transaction, the stamp just before its message. Whoever knows nothing of
it sees the message alone.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from antecede.brokers.bus import cancel
from antecede.brokers.channels import Handler
from antecede.brokers.log import as_bytes, as_text
from antecede.brokers.stamps import HEADER
from antecede.errors import Misuse

LOGGER = logging.getLogger("antecede.brokers")
_RETRY_S: Final = 0.2
_CONFIRMED_S: Final = 10.0


class RedisChannels:
    """Channels of a `redis.asyncio.client.PubSub`."""

    def __init__(self, pubsub: Any) -> None:
        self._client: Any = Redis(connection_pool=pubsub.connection_pool)
        self._pubsub = pubsub
        self._task: asyncio.Task[None] | None = None

    async def subscribe(self, topics: Sequence[str], handler: Handler) -> None:
        if not topics:
            return
        channels = [*topics, *[f"{HEADER}:{topic}" for topic in topics]]
        await self._pubsub.subscribe(*channels)
        confirmed: asyncio.Queue[str] = asyncio.Queue()
        self._task = asyncio.create_task(self._listen(set(topics), handler, confirmed))
        left = set(channels)
        while left:
            left.discard(await asyncio.wait_for(confirmed.get(), _CONFIRMED_S))

    async def _listen(
        self, topics: set[str], handler: Handler, confirmed: asyncio.Queue[str]
    ) -> None:
        stamps: dict[str, str] = {}
        while True:
            try:
                message = await self._pubsub.get_message(timeout=5)
            except (RedisConnectionError, RedisTimeoutError, OSError) as error:
                LOGGER.warning("pub/sub: %s; trying again", error)
                stamps.clear()
                await asyncio.sleep(_RETRY_S)
                continue
            if message is None:
                continue
            channel = as_text(message["channel"])
            if message["type"] != "message":
                confirmed.put_nowait(channel)
            elif channel in topics:
                await handler(channel, stamps.pop(channel, None), as_bytes(message["data"]), {})
            else:
                stamps[channel.removeprefix(f"{HEADER}:")] = as_text(message["data"])

    async def publish(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: str
    ) -> None:
        if headers:
            raise Misuse("Redis pub/sub has no headers")
        async with self._client.pipeline(transaction=True) as both:
            both.publish(f"{HEADER}:{topic}", stamp)
            both.publish(topic, payload)
            await both.execute()

    async def close(self) -> None:
        if self._task is not None:
            await cancel([self._task])
        await self._pubsub.aclose()
