"""From a URL to a bus, for the command line."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urlsplit

from antecede.errors import Misuse

LOGGER = logging.getLogger("antecede.brokers")
_CONNECT_S: Final = 5.0
EXTRAS: Final = {
    "nats": "nats",
    "tls": "nats",
    "redis": "redis",
    "rediss": "redis",
    "kafka": "kafka",
}
"""URL schemes, and the extra of the package that each needs."""


def extra_of(url: str) -> str:
    """Which broker a URL speaks of."""
    scheme = urlsplit(url).scheme
    if scheme not in EXTRAS:
        raise Misuse(f"{url}: write nats://host:port, redis://host:port or kafka://host:port")
    return EXTRAS[scheme]


def missing_extra(extra: str) -> Misuse:
    return Misuse(f"the client is not installed; pip install 'antecede[{extra}]'")


def kafka_settings(url: str) -> dict[str, Any]:
    """kafka://host:port,host:port as settings of the client."""
    return {"bootstrap.servers": urlsplit(url).netloc}


@asynccontextmanager
async def client_of(url: str) -> AsyncIterator[Any]:
    """A connected client: Redis, or JetStream. Credentials and TLS as its URLs have them."""
    extra = extra_of(url)
    try:
        if extra == "redis":
            import redis.asyncio  # noqa: PLC0415 - an extra
            import redis.exceptions  # noqa: PLC0415

            client = redis.asyncio.Redis.from_url(url)
            try:
                await client.ping()
            except (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError) as error:
                raise Misuse(f"{url}: {error}") from None
            try:
                yield client
            finally:
                await client.aclose()
            return
        import nats  # noqa: PLC0415 - an extra
        import nats.errors  # noqa: PLC0415
    except ImportError:
        raise missing_extra(extra) from None

    async def tell(error: Exception) -> None:
        LOGGER.warning("%s: %s", url, error)

    try:
        connecting = nats.connect(url, max_reconnect_attempts=-1, error_cb=tell)
        connection = await asyncio.wait_for(connecting, _CONNECT_S)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        raise Misuse(f"{url}: {str(error) or 'no server answers'}") from None
    try:
        yield connection.jetstream()
    finally:
        await connection.close()
