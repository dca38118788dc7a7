"""From a URL to a bus, for the command line."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

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


def shown(url: str) -> str:
    """A URL without credentials and settings, for messages."""
    if "://" not in url:
        return url.rpartition("@")[2].partition("?")[0]
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def extra_of(url: str) -> str:
    """Which broker a URL speaks of."""
    scheme = urlsplit(url).scheme
    if scheme not in EXTRAS:
        raise Misuse(
            f"{shown(url)}: write nats://host:port, redis://host:port or kafka://host:port"
        )
    return EXTRAS[scheme]


def place_teller(url: str) -> Callable[[int], str]:
    """How the broker at a URL writes a place in one of its logs."""
    if extra_of(url) != "redis":
        return str
    try:
        from antecede.brokers.redis_streams import id_of  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_extra("redis") from None
    return id_of


def missing_extra(extra: str) -> Misuse:
    return Misuse(f"the client is not installed; pip install 'antecede[{extra}]'")


def kafka_settings(url: str) -> dict[str, Any]:
    """kafka://host:port,host:port?security.protocol=ssl as settings of the client."""
    parts = urlsplit(url)
    return {"bootstrap.servers": parts.netloc, **dict(parse_qsl(parts.query))}


@contextmanager
def kafka_bus(url: str, topics: Sequence[str], **options: Any) -> Iterator[Any]:
    """A bus over a cluster that answers and has these topics. What the client cannot mend by itself
    is told in words; of what it tries again it says at most that no broker is there."""
    try:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra

        from antecede.brokers import kafka  # noqa: PLC0415
    except ImportError:
        raise missing_extra("kafka") from None

    def tell(error: Any) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._AUTHENTICATION):
            LOGGER.warning("%s: %s", shown(url), error.str())

    settings = {"log_level": 2, "error_cb": tell, **kafka_settings(url)}
    try:
        with kafka.causal(settings, topics, **options) as bus:
            for topic in topics:
                bus.check(topic)
            yield bus
    except KafkaException as error:
        raise Misuse(f"{shown(url)}: {error.args[0].str()}") from None


def nats_options(url: str) -> dict[str, Any]:
    """Options of the client from nats://host:port?ca=FILE&cert=FILE&key=FILE&creds=FILE."""
    given = dict(parse_qsl(urlsplit(url).query))
    if unknown := given.keys() - {"ca", "cert", "key", "creds"}:
        raise Misuse(f"{shown(url)}: '{min(unknown)}' is not known; write ca, cert, key or creds")
    options: dict[str, Any] = {}
    try:
        if given.keys() & {"ca", "cert"}:
            options["tls"] = ssl.create_default_context(cafile=given.get("ca"))
            if "cert" in given:
                options["tls"].load_cert_chain(given["cert"], given.get("key"))
    except (OSError, ssl.SSLError) as error:
        raise Misuse(f"{shown(url)}: ca, cert or key: {error}") from None
    if "creds" in given:
        options["user_credentials"] = given["creds"]
    return options


@asynccontextmanager
async def client_of(url: str, *, live: bool = False) -> AsyncIterator[Any]:
    """A connected client: Redis or JetStream; `live` its pub/sub or NATS core. Credentials and TLS
    as its URLs have them."""
    extra = extra_of(url)
    connect = _redis if extra == "redis" else _nats
    async with connect(url, live) as client:
        yield client


@asynccontextmanager
async def _redis(url: str, live: bool) -> AsyncIterator[Any]:
    try:
        import redis.asyncio  # noqa: PLC0415 - an extra
        import redis.exceptions  # noqa: PLC0415
    except ImportError:
        raise missing_extra("redis") from None
    try:
        client = redis.asyncio.Redis.from_url(url)
    except ValueError as error:
        raise Misuse(f"{shown(url)}: {error}") from None
    try:
        try:
            await client.ping()
        # A setting in the URL that is not known is a TypeError of the connection.
        except (redis.exceptions.RedisError, OSError, TypeError, ValueError) as error:
            raise Misuse(f"{shown(url)}: {error}") from None
        yield client.pubsub() if live else client
    finally:
        await client.aclose()


@asynccontextmanager
async def _nats(url: str, live: bool) -> AsyncIterator[Any]:
    try:
        import nats  # noqa: PLC0415 - an extra
        import nats.errors  # noqa: PLC0415
    except ImportError:
        raise missing_extra("nats") from None

    last: list[Exception] = []

    async def tell(error: Exception) -> None:
        last[:] = [error]
        LOGGER.warning("%s: %s", shown(url), error)

    address = urlsplit(url)._replace(query="").geturl()
    try:
        connecting = nats.connect(
            address, max_reconnect_attempts=-1, error_cb=tell, **nats_options(url)
        )
        connection = await asyncio.wait_for(connecting, _CONNECT_S)
    except (nats.errors.Error, OSError, TimeoutError) as error:
        reason = str(error) or (str(last[0]) if last else "no server answers")
        raise Misuse(f"{shown(url)}: {reason}") from None
    try:
        yield connection if live else connection.jetstream()
    finally:
        await connection.close()
