"""Kafka: a partition is a lane, the offset after a message its place.

Synchronous, as the client is.

::

    with causal({"bootstrap.servers": "…"}, reads=["questions", "answers"], group="carol") as bus:
        bus.publish("questions", b"Where?", key=b"lunch")
        for message in bus:
            ...

Partitions are those that the consumer group assigns to this member, or all of them without a group.
What is committed are offsets, as always, with the group's past as their metadata. Ends of
partitions (`enable.partition.eof`) tell of offsets that hold no message: compacted ones, marks of
transactions.
"""

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Literal, Self
from zlib import crc32

import msgspec
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Producer
from confluent_kafka import TopicPartition as Partition

from antecede.brokers.bus import Message, encode_past, new_publisher, observe_past
from antecede.brokers.holdback import Effect, Held, Missing, Patience, Pause, Probe, Resume
from antecede.brokers.lanes import Lanes
from antecede.brokers.log import MadeAnew, Unconfirmed, as_bytes
from antecede.brokers.log import as_text as as_header
from antecede.brokers.stamps import HEADER, as_text, decode_lanes, encode_lanes, from_text
from antecede.errors import MalformedStamp, Misuse

LOGGER = logging.getLogger("antecede.brokers")
_BATCH: Final = 500
_ANSWER_S: Final = 10.0
_METADATA_BYTES: Final = 4_000
"""What a broker stores with an offset, by default."""
_LATER: Final = frozenset(
    {
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError._WAIT_COORD,
        KafkaError._TIMED_OUT,
        KafkaError._TRANSPORT,
    }
)
"""Why a commit may have to wait."""
_NOTHING: Final[dict[str, str]] = {}
_FULL_S: Final = 0.05
_CONSUMER_ONLY: Final = ("group.", "auto.", "enable.auto", "enable.partition", "session.")


def lane_name(topic: str, partition: int) -> str:
    return f"{topic}/{partition}"


def partition_of(lane: str) -> Partition:
    topic, _, number = lane.rpartition("/")
    return Partition(topic, int(number))


class KafkaBus:
    """One reader and publisher of a Kafka cluster; `causal` makes one."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        reads: Sequence[str],
        group: str | None,
        start: str,
        patience: Patience,
        commit_every: int,
    ) -> None:
        self._settings = dict(settings)
        self._reads = list(dict.fromkeys(reads))
        self._group = group
        self._start = start
        self._commit_every = commit_every
        self._machine = Lanes(new_publisher(), patience)
        self._counts: dict[str, int] = {}
        self._lanes: dict[tuple[str, int], str] = {}
        """The lanes of the partitions that are assigned to this member."""
        self._uncommitted = 0
        self._failure: str | None = None
        self._closing = False
        self._producer: Any = None
        self._consumer: Any = None

    def __enter__(self) -> Self:
        common = {
            name: value
            for name, value in self._settings.items()
            if not name.startswith(_CONSUMER_ONLY)
        }
        self._producer = Producer({**common, "enable.idempotence": True})
        if self._reads:
            self._consumer = Consumer(
                {
                    **self._settings,
                    "group.id": self._group or f"antecede-{new_publisher():012x}",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    # Where to begin is said by `_assign`: this is for what retention deletes.
                    "auto.offset.reset": "earliest",
                }
            )
            if self._group is None:
                partitions = [p for topic in self._reads for p in self._partitions(topic)]
                self._assign(self._consumer, partitions)
            else:
                self._consumer.subscribe(
                    self._reads, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lost
                )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.flush()
                if self._uncommitted:
                    self._store()
        finally:
            if self._consumer is not None:
                self._uncommitted = 0  # What was not processed is not committed by leaving.
                self._closing = True
                self._consumer.close()

    # Which partitions are read

    def _partitions(self, topic: str) -> list[Partition]:
        return [Partition(topic, number) for number in range(self._count(topic))]

    def _count(self, topic: str) -> int:
        """How many partitions a topic has."""
        count = self._counts.get(topic)
        if count is None:
            found = self._producer.list_topics(topic, timeout=_ANSWER_S).topics[topic]
            if found.error is not None and not found.partitions:
                raise Misuse(f"topic '{topic}': {found.error.str()}")
            count = self._counts[topic] = len(found.partitions)
        return count

    def check(self, topic: str) -> None:
        """Raise `Misuse` unless there is such a topic."""
        self._count(topic)

    def _assign(self, consumer: Any, partitions: list[Any]) -> None:
        if self._closing:
            return  # The group hands out partitions to somebody who is leaving.
        now = time.monotonic()
        stored = consumer.committed(partitions, _ANSWER_S) if self._group else partitions
        for partition in stored:
            place = partition.offset
            lane = lane_name(partition.topic, partition.partition)
            first, end = consumer.get_watermark_offsets(partition, _ANSWER_S)
            if place < 0:
                place = first if self._start == "first" else end
            elif place > end:
                raise MadeAnew(lane, place, end)
            elif partition.metadata:
                self._machine.observe(_past_from(partition.metadata))
            partition.offset = place = max(place, first)
            self._lanes[partition.topic, partition.partition] = lane
            self._machine.open(lane, place, now)
        strategy = str(self._settings.get("partition.assignment.strategy", ""))
        if self._group is not None and "cooperative" in strategy:
            consumer.incremental_assign(stored)
        else:
            consumer.assign(stored)

    def _revoke(self, consumer: Any, partitions: list[Any]) -> None:
        """Somebody else reads these from now on; what was taken before is processed, for the next
        message has been asked for."""
        if self._uncommitted:
            self._store()
        self._lost(consumer, partitions)

    def _lost(self, consumer: Any, partitions: list[Any]) -> None:
        for partition in partitions:
            lane = self._lanes.pop((partition.topic, partition.partition), None)
            if lane is not None:
                self._machine.close(lane)

    # Reading

    def __iter__(self) -> Iterator[Message]:
        while True:
            message = self.poll(1.0)
            if message is not None:
                yield message

    def poll(self, timeout_s: float = 0.0) -> Message | None:
        """The next message in causal order; None if there is none in time. Asking for it says that
        the one before is processed."""
        if self._uncommitted >= self._commit_every:
            self._store()
        message = self._take()
        if message is not None:
            return message
        until = time.monotonic() + timeout_s
        while True:
            if not self._reads:
                raise Misuse("this bus reads no topics")
            if self._uncommitted:
                self._store()
            now = time.monotonic()
            due = self._machine.due()
            wait_s = max(0.0, min(until, until if due is None else due) - now)
            is_empty = not self._fetch(wait_s)
            message = self._take()
            if message is not None or (is_empty and time.monotonic() >= until):
                return message

    def _fetch(self, wait_s: float) -> bool:
        messages = self._consumer.consume(_BATCH, 0)
        if not messages:  # `consume` would wait until all of a batch is there
            message = self._consumer.poll(wait_s)
            messages = [] if message is None else [message]
        now = time.monotonic()
        for message in messages:
            self._arrive(message, now)
        for effect in self._machine.wake(now):
            if isinstance(effect, Probe):
                self._probe(effect)
            elif isinstance(effect, Missing):
                LOGGER.warning("%s:%d is given up", effect.lane, effect.place)
        return bool(messages)

    def _arrive(self, message: Any, now: float) -> None:
        lane = self._lanes.get((message.topic(), message.partition()))
        error = message.error()
        if error is not None:
            self._hear(error, lane, message.offset(), now)
            return
        if lane is None:
            return  # It was on its way here when the partition went to somebody else.
        place = message.offset() + 1
        stamp = None
        headers = _NOTHING
        for name, value in message.headers() or ():
            if name == HEADER:
                try:
                    stamp = decode_lanes(value or b"")
                except MalformedStamp as broken:
                    LOGGER.warning("%s:%d has a %s; it waits for nothing", lane, place, broken)
            elif value is not None:
                if headers is _NOTHING:
                    headers = {}
                headers[name] = as_header(value)
        effects = self._machine.arrive(lane, place, stamp, (message, lane, stamp, headers), now)
        if effects:
            self._obey(effects)

    def _hear(self, error: Any, lane: str | None, offset: int, now: float) -> None:
        """What the client says of a partition, or of itself."""
        if error.code() == KafkaError._PARTITION_EOF:
            if lane is not None:
                reached = self._machine.state.queues.queues[self._machine.keys.add(lane)].last
                if offset < reached:
                    raise MadeAnew(lane, reached, offset)
                self._machine.advance(lane, offset, now)
        elif not error.retriable():
            raise KafkaException(error)

    def _take(self) -> Message | None:
        delivered, effects = self._machine.take(time.monotonic())
        if effects:
            self._obey(effects)
        if delivered is None:
            return None
        if self._group is not None:
            self._uncommitted += 1
        message, lane, stamp, headers = delivered.content
        without = delivered.without
        if without:
            name = self._machine.keys.name
            without = tuple([(name(key), place) for key, place in without])
        return Message(
            message.topic(),
            message.value() or b"",
            headers,
            lane,
            delivered.place,
            delivered.held_s,
            delivered.late,
            without,
            message.timestamp()[1] / 1e3,
            stamp,
        )

    def places(self) -> dict[str, int]:
        """For each partition that is read the place up to which it is delivered."""
        return self._machine.frontier().places

    def held(self) -> list[Held]:
        """What waits here, and for which place of which partition."""
        return self._machine.held()

    def _obey(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Pause):
                self._consumer.pause([partition_of(effect.lane)])
            elif isinstance(effect, Resume):
                self._consumer.resume([partition_of(effect.lane)])

    def _probe(self, probe: Probe) -> None:
        partition = partition_of(probe.lane)
        now = time.monotonic()
        try:
            _, end = self._consumer.get_watermark_offsets(partition, _ANSWER_S)
            [position] = self._consumer.position([partition])
        except KafkaException:
            self._machine.unanswered(probe.lane, now)
            return
        read = probe.after if position.offset == OFFSET_INVALID else position.offset
        # Up to its end the partition is on its way, or an end of partition will say otherwise.
        self._machine.probed(probe.lane, read + 1 if read < end else None, end, now)

    def commit(self) -> None:
        """Store that all messages taken so far are processed, now rather than soon. Raises
        `Unconfirmed` while the group is forming anew."""
        if self._group is None:
            raise Misuse("there is nothing to commit for: give a group")
        if not self._store():
            raise Unconfirmed("nothing can be committed now; it is tried again with the next poll")

    def _store(self) -> bool:
        """Commit, if the group lets us: while it forms anew it does not, and who has lost its
        partitions has nothing to commit."""
        frontier = self._machine.frontier()
        metadata = as_text(msgspec.msgpack.encode(frontier.past))
        if len(metadata) > _METADATA_BYTES:
            LOGGER.warning("the past names too many lanes to be stored: %d", len(frontier.past))
            metadata = ""
        offsets = []
        for lane, place in frontier.places.items():
            partition = partition_of(lane)
            offsets.append(Partition(partition.topic, partition.partition, place, metadata))
        try:
            if offsets:
                self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            if error.args[0].code() not in _LATER:
                raise
            LOGGER.info("cannot commit: %s; trying again", error)
            return False
        self._uncommitted = 0
        return True

    # Publishing

    def publish(
        self,
        topic: str,
        payload: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        key: bytes | None = None,
        partition: int | None = None,
    ) -> None:
        """Publish a message after all that this bus has delivered and published. It is confirmed
        later: `flush` waits for it, and so does a message to another partition."""
        if partition is None:
            partition = self._choose(topic, key)
        lane = lane_name(topic, partition)
        self._settle(lane)
        stamp = encode_lanes(self._machine.publish(lane))
        carried: list[tuple[str, bytes]] = [(HEADER, stamp)]
        if headers:
            carried += [(name, as_bytes(value)) for name, value in headers.items()]
        produce, confirm = self._producer.produce, self._confirm
        while True:
            try:
                produce(topic, payload, key, partition, headers=carried, on_delivery=confirm)
                break
            except BufferError:  # The client has too much to send: it takes this one later.
                self._producer.poll(_FULL_S)
            except KafkaException as error:
                self._machine.doubt(lane)
                raise Unconfirmed(f"{lane}: {error}") from error
        self._producer.poll(0)

    def _choose(self, topic: str, key: bytes | None) -> int:
        """The partition that the client would choose by default (`consistent`, CRC-32)."""
        chosen = str(self._settings.get("partitioner", "consistent"))
        if not chosen.startswith("consistent"):
            raise Misuse(f"say which partition: the partitioner '{chosen}' is not known here")
        return crc32(key or b"") % self._count(topic)

    def _settle(self, lane: str) -> None:
        while blockers := self._machine.blockers(lane):
            for blocker in blockers:
                if self._machine.is_doubtful(blocker):
                    try:
                        self._machine.settle(blocker, self._end(blocker))
                    except KafkaException as error:
                        raise Unconfirmed(f"{blocker}: {error}") from error
            self._producer.poll(0.01)

    def _end(self, lane: str) -> int:
        if self._consumer is None:
            self._consumer = Consumer({**self._settings, "group.id": "antecede-ends"})
        return int(self._consumer.get_watermark_offsets(partition_of(lane), _ANSWER_S)[1])

    def past(self) -> bytes:
        """All that this bus has delivered, and published and flushed, as a token to hand to another
        process by other means."""
        return encode_past(self._machine)

    def observe(self, past: bytes) -> None:
        """What is published from now on comes after all that another bus told with `past`."""
        observe_past(self._machine, past)

    def _confirm(self, error: Any, message: Any) -> None:
        lane = lane_name(message.topic(), message.partition())
        if error is None:
            self._machine.confirm(lane, message.offset() + 1)
        else:
            self._machine.doubt(lane)
            self._failure = f"{lane}: {error.str()}"

    def flush(self) -> None:
        """Wait until all is confirmed; raises `Unconfirmed` for what is not."""
        self._producer.flush()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise Unconfirmed(failure)


def _past_from(metadata: str) -> dict[int, int]:
    try:
        return msgspec.msgpack.decode(from_text(metadata), type=dict[int, int])
    except (MalformedStamp, msgspec.DecodeError):
        return {}  # Somebody else's metadata.


def causal(
    settings: Mapping[str, Any],
    reads: Sequence[str] = (),
    *,
    group: str | None = None,
    start: Literal["first", "new"] = "new",
    patience_s: float | None = None,
    limit: int = 10_000,
    hold: bool = True,
    commit_every: int = 1_000,
) -> KafkaBus:
    """A bus over Kafka; `settings` are those of the client (addresses, TLS, credentials).

    `reads` are topics. The other arguments are those of `antecede.brokers.causal`; with a `group`
    the partitions are shared among its members, and order holds for each of them by itself."""
    if start not in ("first", "new"):
        raise Misuse(f"start is '{start}'; it can be 'first' or 'new'")
    patience = Patience(patience_s=patience_s, limit=limit, hold=hold)
    return KafkaBus(settings, reads, group, start, patience, commit_every)
