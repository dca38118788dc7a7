"""NATS JetStream: a stream is a lane, the stream's sequence number the place.

Each lane is read by an ephemeral pull consumer without acknowledgements, made anew after whatever
happens to it: the reader's own places are what it resumes from. A group's frontier is a key of the
key-value bucket `antecede_groups`; each write names the revision before it, so whoever is no longer
the group's reader is refused.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy
from nats.js.errors import (
    APIError,
    BadRequestError,
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
    NotFoundError,
    ServiceUnavailableError,
)

from antecede.brokers.lanes import Frontier
from antecede.brokers.log import Arrival, MadeAnew, Superseded, decode_frontier, encode_frontier
from antecede.brokers.stamps import HEADER, as_text, from_text
from antecede.errors import MalformedStamp, Misuse

BUCKET: Final = "antecede_groups"
_BATCH: Final = 200
_WAIT_S: Final = 2.0
_IDLE_S: Final = 300.0
_ACKNOWLEDGED_S: Final = 5.0


class _Stored(msgspec.Struct, array_like=True):
    """A group's entry."""

    owner: str
    frontier: bytes


class JetStream:
    """Streams of a `JetStreamContext`, for one bus; `reads` are subjects."""

    troubles: tuple[type[BaseException], ...] = (nats.errors.Error, APIError, OSError, TimeoutError)
    pipelined = True

    def __init__(
        self,
        client: JetStreamContext,
        reads: Sequence[str],
        group: str | None = None,
        start: str = "new",
        owner: str = "",
    ) -> None:
        self._client = client
        self._reads = list(dict.fromkeys(reads))
        self._group = group
        self._start = start
        self._owner = owner
        self._lanes: dict[str, str] = {}
        self._subjects: dict[str, list[str]] = {}
        self._last: dict[str, int] = {}
        self._consumers: dict[str, Any] = {}
        self._bucket: Any = None
        self._revision = 0

    async def open(self) -> tuple[Frontier, Sequence[Sequence[str]]]:
        try:
            for subject in self._reads:
                self._subjects.setdefault(await self.lane_of(subject), []).append(subject)
        except ServiceUnavailableError:
            raise Misuse("this server has no JetStream; enable it, or use NATS core") from None
        stored = Frontier({}, {})
        if self._group is not None:
            stored = await self._take_over(self._group)
        for lane in self._subjects:
            info = await self._client.stream_info(lane)
            if info.config.retention not in (None, RetentionPolicy.LIMITS):
                raise Misuse(
                    f"stream {lane} deletes what is acknowledged (retention "
                    f"'{info.config.retention}'); order needs a stream with retention 'limits'"
                )
            if lane in stored.places:
                self._last[lane] = stored.places[lane]
                if info.state.last_seq < stored.places[lane]:
                    raise MadeAnew(lane, stored.places[lane], info.state.last_seq)
            else:
                self._last[lane] = 0 if self._start == "first" else info.state.last_seq
        frontier = Frontier(dict(self._last), stored.past)
        if self._group is not None:
            await self.commit(frontier)
        return frontier, [[lane] for lane in self._subjects]

    async def _take_over(self, group: str) -> Frontier:
        try:
            self._bucket = await self._client.key_value(BUCKET)
        except BucketNotFoundError:
            self._bucket = await self._client.create_key_value(bucket=BUCKET)
        try:
            entry = await self._bucket.get(group)
        except KeyNotFoundError:
            return Frontier({}, {})
        self._revision = entry.revision
        return decode_frontier(msgspec.msgpack.decode(entry.value, type=_Stored).frontier)

    async def read(self, lanes: Sequence[str]) -> Sequence[Arrival]:
        [lane] = lanes
        consumer = self._consumers.get(lane) or await self._consume(lane)
        try:
            messages = await consumer.fetch(_BATCH, timeout=_WAIT_S)
        except TimeoutError:
            await self._doubt(lane, consumer)
            return []
        except nats.errors.Error:
            self._consumers.pop(lane, None)
            raise
        arrivals = [_arrival(lane, message) for message in messages]
        if arrivals:
            self._last[lane] = arrivals[-1].place
        return arrivals

    async def _doubt(self, lane: str, consumer: Any) -> None:
        """Nothing came: nothing is there, or the server that had the consumer is gone. Unless the
        consumer says that it has nothing, another one is made."""
        self._consumers.pop(lane, None)
        end = await self.end(lane)
        if end < self._last[lane]:
            raise MadeAnew(lane, self._last[lane], end)
        if (await consumer.consumer_info()).num_pending == 0:
            self._consumers[lane] = consumer

    async def _consume(self, lane: str) -> Any:
        """A consumer that begins after the last place that has arrived."""
        end = await self.end(lane)
        if end < self._last[lane]:
            raise MadeAnew(lane, self._last[lane], end)
        name = f"antecede-{secrets.token_hex(6)}"
        subjects = self._subjects[lane]
        config = ConsumerConfig(
            name=name,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last[lane] + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=_IDLE_S,
            filter_subject=subjects[0] if len(subjects) == 1 else None,
            filter_subjects=subjects if len(subjects) > 1 else None,
        )
        try:
            await self._client.add_consumer(lane, config)
        except BadRequestError as error:  # Trying again would not help.
            raise Misuse(f"{', '.join(subjects)} of stream {lane}: {error.description}") from None
        consumer = await self._client.pull_subscribe_bind(consumer=name, stream=lane)
        self._consumers[lane] = consumer
        return consumer

    async def lane_of(self, topic: str) -> str:
        lane = self._lanes.get(topic)
        if lane is None:
            try:
                lane = str(await self._client.find_stream_name_by_subject(topic))
            except NotFoundError:
                raise Misuse(
                    f"no stream keeps subject '{topic}'; create one first, or use NATS core "
                    "(antecede broker audit --live)"
                ) from None
            self._lanes[topic] = lane
        return lane

    async def send(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: bytes
    ) -> Awaitable[int]:
        carried = {**(headers or {}), HEADER: as_text(stamp)}
        acknowledged = await self._client.publish_async(topic, payload, headers=carried)
        return _place(acknowledged)

    async def end(self, lane: str) -> int:
        return int((await self._client.stream_info(lane)).state.last_seq)

    async def following(self, lane: str, place: int) -> int | None:
        found: list[int] = []
        for subject in self._subjects[lane]:
            try:
                message = await self._client.get_msg(lane, place + 1, subject=subject, next=True)
            except NotFoundError:
                continue
            if message.seq is not None:
                found.append(message.seq)
        return min(found, default=None)

    async def commit(self, frontier: Frontier) -> None:
        if self._group is None:
            return
        stored = msgspec.msgpack.encode(_Stored(self._owner, encode_frontier(frontier)))
        try:
            self._revision = await self._bucket.update(self._group, stored, self._revision)
        except KeyWrongLastSequenceError:
            # Somebody else has written; or we have, and did not hear of it.
            entry = await self._bucket.get(self._group)
            if msgspec.msgpack.decode(entry.value, type=_Stored).owner != self._owner:
                raise Superseded(f"another reader has opened group {self._group}") from None
            self._revision = await self._bucket.update(self._group, stored, entry.revision)

    async def close(self) -> None:
        """The consumers go by themselves when nobody asks them; sooner is better."""
        for lane, consumer in self._consumers.items():
            try:
                info = await consumer.consumer_info()
                await consumer.unsubscribe()
                await self._client.delete_consumer(lane, info.name)
            except self.troubles:
                continue
        self._consumers.clear()


async def _place(acknowledged: Awaitable[Any]) -> int:
    return int((await asyncio.wait_for(acknowledged, _ACKNOWLEDGED_S)).seq)


def _arrival(lane: str, message: Msg) -> Arrival:
    headers = message.headers
    stamp: bytes | None = None
    if headers and HEADER in headers:
        try:
            stamp = from_text(headers[HEADER])
        except MalformedStamp:
            stamp = b""  # The bus tells of it.
        headers = {name: value for name, value in headers.items() if name != HEADER}
    told = message.metadata
    published_s = told.timestamp.timestamp()
    place = told.sequence.stream
    return Arrival(lane, place, stamp, message.data, headers or {}, message.subject, published_s)
