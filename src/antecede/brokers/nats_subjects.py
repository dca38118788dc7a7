"""NATS core: a stamp is a header."""

from collections.abc import Mapping, Sequence
from typing import Any

from antecede.brokers.channels import Handler
from antecede.brokers.stamps import HEADER


class NatsSubjects:
    """Subjects of a `nats.aio.client.Client`."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._subscriptions: list[Any] = []

    async def subscribe(self, topics: Sequence[str], handler: Handler) -> None:
        async def take(message: Any) -> None:
            headers = dict(message.headers or {})
            await handler(message.subject, headers.pop(HEADER, None), message.data, headers)

        for topic in topics:
            self._subscriptions.append(await self._client.subscribe(topic, cb=take))
        # The client's ping overtakes what it has not written yet: the second one comes after it.
        await self._client.flush()
        await self._client.flush()

    async def publish(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: str
    ) -> None:
        await self._client.publish(topic, payload, headers={**(headers or {}), HEADER: stamp})

    async def close(self) -> None:
        for subscription in self._subscriptions:
            if not self._client.is_closed:
                await subscription.unsubscribe()
