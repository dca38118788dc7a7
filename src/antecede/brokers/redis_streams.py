"""Redis Streams: a stream is a lane, an entry's id its place.

Stamps travel in the field `causal`, as text, for many clients decode all fields. A group's frontier
is the hash `antecede:group:NAME`, written by a script that refuses whoever is no longer its reader:
the last one that has opened it. The server's own consumer groups are not used: they hand the
entries of one stream to several readers.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

from redis.exceptions import (
    BusyLoadingError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from antecede.brokers.lanes import Frontier
from antecede.brokers.log import (
    Arrival,
    Superseded,
    as_bytes,
    as_text,
    decode_frontier,
    encode_frontier,
)
from antecede.brokers.stamps import HEADER, PLACE_BITS, SEQUENCE_BITS
from antecede.brokers.stamps import as_text as stamp_text
from antecede.brokers.stamps import from_text as stamp_from_text
from antecede.errors import BadInput, MalformedStamp, Misuse

PAYLOAD: Final = "payload"
"""The field of a message's payload; its headers are the other fields."""
_HEADER_BYTES: Final = HEADER.encode()
_PAYLOAD_BYTES: Final = PAYLOAD.encode()
_BLOCK_MS: Final = 2_000
_PAUSED_MS: Final = 50
_COUNT: Final = 500
_COMMIT: Final = """
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'frontier', ARGV[2])
return 1
"""


def place_of(entry: Any) -> int:
    """An id as a place: larger for later ones."""
    milliseconds, _, sequence = (
        entry.partition(b"-") if isinstance(entry, bytes) else entry.partition("-")
    )
    time, low = int(milliseconds), int(sequence or 0)
    if low >> SEQUENCE_BITS or time >> PLACE_BITS - SEQUENCE_BITS:
        raise BadInput(
            f"entry {as_text(entry)}: ids are milliseconds since 1970 and at most "
            f"{1 << SEQUENCE_BITS:,} numbers in each; let the server choose them, and XDEL this one"
        )
    return time << SEQUENCE_BITS | low


def id_of(place: int) -> str:
    return f"{place >> SEQUENCE_BITS}-{place & (1 << SEQUENCE_BITS) - 1}"


class RedisStreams:
    """Streams of a `redis.asyncio.Redis`, for one bus."""

    troubles: tuple[type[BaseException], ...] = (
        RedisConnectionError,
        RedisTimeoutError,
        BusyLoadingError,
        ReadOnlyError,
        TryAgainError,
        OSError,
    )
    pipelined = False  # The client may send each command over another connection.

    def __init__(
        self,
        client: Any,
        reads: Sequence[str],
        group: str | None = None,
        start: str = "new",
        owner: str = "",
        maximal_length: int | None = None,
    ) -> None:
        self._client = client
        self._reads = list(dict.fromkeys(reads))
        self._key = None if group is None else f"antecede:group:{group}"
        self._start = start
        self._owner = owner
        self._trim: dict[str, Any] = {}
        if maximal_length is not None:
            self._trim = {"maxlen": maximal_length, "approximate": True}
        self._last: dict[str, int] = {}

    async def open(self) -> tuple[Frontier, Sequence[Sequence[str]]]:
        stored = Frontier({}, {})
        for lane in self._reads:
            if as_text(await self._client.type(lane)) not in ("stream", "none"):
                raise Misuse(f"'{lane}' is not a stream; choose another")
        if self._key is not None:
            await self._client.hset(self._key, "owner", self._owner)
            found = await self._client.hget(self._key, "frontier")
            if found is not None:
                stored = decode_frontier(stamp_from_text(as_text(found)))
        for lane in self._reads:
            if lane in stored.places:
                self._last[lane] = stored.places[lane]
            else:
                self._last[lane] = 0 if self._start == "first" else await self.end(lane)
        frontier = Frontier(dict(self._last), stored.past)
        if self._key is not None:
            await self.commit(frontier)
        return frontier, [self._reads] if self._reads else []

    async def read(self, lanes: Sequence[str]) -> Sequence[Arrival]:
        wanted = {lane: id_of(self._last[lane]) for lane in lanes}
        # While a lane is paused, look soon whether it still is.
        block_ms = _BLOCK_MS if len(lanes) == len(self._reads) else _PAUSED_MS
        found = await self._client.xread(wanted, count=_COUNT, block=block_ms)
        arrivals = []
        for name, batches in found.items() if isinstance(found, dict) else found:
            lane = as_text(name)
            # One list of entries or, under RESP3, a list of such lists.
            entries = batches[0] if batches and isinstance(batches[0], list) else batches
            for entry, fields in entries:
                place = place_of(entry)
                self._last[lane] = place
                arrivals.append(_arrival(lane, place, fields))
        return arrivals

    async def lane_of(self, topic: str) -> str:
        return topic

    async def send(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: bytes
    ) -> Awaitable[int]:
        fields: dict[Any, Any] = {as_bytes(n): as_bytes(v) for n, v in (headers or {}).items()}
        fields[PAYLOAD] = payload
        fields[HEADER] = stamp_text(stamp)
        return self._append(topic, fields)

    async def _append(self, lane: str, fields: dict[Any, Any]) -> int:
        return place_of(await self._client.xadd(lane, fields, **self._trim))

    async def end(self, lane: str) -> int:
        try:
            told = await self._client.xinfo_stream(lane)
        except ResponseError as error:
            if "no such key" in str(error):
                return 0
            if "WRONGTYPE" in str(error):
                raise Misuse(f"'{lane}' is not a stream; choose another") from None
            raise
        last = told.get("last-generated-id", told.get(b"last-generated-id"))
        return place_of(last)

    async def following(self, lane: str, place: int) -> int | None:
        found = await self._client.xrange(lane, min=id_of(place + 1), max="+", count=1)
        return place_of(found[0][0]) if found else None

    async def commit(self, frontier: Frontier) -> None:
        if self._key is None:
            return
        stored = stamp_text(encode_frontier(frontier))
        if not await self._client.eval(_COMMIT, 1, self._key, self._owner, stored):
            raise Superseded(f"another reader has opened {self._key}")

    async def close(self) -> None:
        """Nothing is open but the client, which is the caller's."""


def _arrival(lane: str, place: int, fields: dict[Any, Any]) -> Arrival:
    stamp: bytes | None = None
    text = fields.pop(_HEADER_BYTES, None) or fields.pop(HEADER, None)
    if text is not None:
        try:
            stamp = stamp_from_text(text)
        except MalformedStamp:
            stamp = b""  # The bus tells of it.
    payload = fields.pop(_PAYLOAD_BYTES, None)
    if payload is None:
        payload = as_bytes(fields.pop(PAYLOAD, b""))
    headers = {as_text(name): as_text(value) for name, value in fields.items()} if fields else {}
    return Arrival(lane, place, stamp, payload, headers, "", (place >> SEQUENCE_BITS) / 1e3)
