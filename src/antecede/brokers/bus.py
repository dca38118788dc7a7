"""What applications see of a broker with a log: publish, and iterate over messages in causal order.

A thin pump: tasks read lanes and feed the machine (`lanes`), the application takes what is ready. A
message counts as processed when the next one is asked for; what is processed is committed after
`commit_every` messages, when nothing more is there, and at the end.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import msgspec

from antecede.brokers.holdback import Deliver, Effect, Held, Missing, Patience, Pause, Probe, Resume
from antecede.brokers.lanes import Lanes
from antecede.brokers.log import Arrival, Log, Superseded, Unconfirmed
from antecede.brokers.stamps import PUBLISHER_BITS, LaneStamp, decode_lanes, encode_lanes
from antecede.errors import MalformedStamp, Misuse

LOGGER = logging.getLogger("antecede.brokers")
WAKE_EVERY = 200
"""After so many messages patience has its turn, however much there is to deliver."""
_RETRY_S = 0.05
_RETRY_AT_MOST_S = 2.0


class Message(msgspec.Struct, frozen=True, gc=False):
    """A message, delivered."""

    topic: str
    """Where it was published: a stream, subject, channel or topic."""
    payload: bytes
    headers: Mapping[str, str]
    lane: str
    place: int
    held_s: float = 0.0
    """How long it was here before it was delivered."""
    late: bool = False
    """It had been given up: something that depends on it may have been delivered before it."""
    without: tuple[tuple[str, int], ...] = ()
    """(lane, place) of what was given up so that it could be delivered."""
    published_s: float | None = None
    """When, by the broker's clock, since 1970."""
    stamp: Any = None
    """Who published it, and what it depends on; None for what was published without a stamp."""


async def cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    """End tasks. Clients may take a cancellation for a lost connection, and try again: insist."""
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_RETRY_S)


def encode_past(machine: Lanes) -> bytes:
    return msgspec.msgpack.encode(machine.state.past)


def observe_past(machine: Lanes, past: bytes) -> None:
    try:
        machine.observe(msgspec.msgpack.decode(past, type=dict[int, int]))
    except msgspec.DecodeError as error:
        raise MalformedStamp("past", f"is no token of a bus: {error}") from None


def new_publisher() -> int:
    """The name of one life of a publisher."""
    return secrets.randbits(PUBLISHER_BITS) | 1


class CausalBus:
    """One reader and publisher of a broker with a log; `causal` makes one."""

    def __init__(
        self,
        log: Log,
        *,
        patience: Patience | None = None,
        commits: bool = False,
        commit_every: int = 100,
    ) -> None:
        self._log = log
        self._patience = patience or Patience()
        self._commits = commits
        self._commit_every = commit_every
        self._publisher = new_publisher()
        self._machine = Lanes(self._publisher, self._patience)
        self._taken = 0
        self._uncommitted = 0
        self._paused: set[str] = set()
        self._news = asyncio.Event()
        self._resumed = asyncio.Event()
        self._landed = asyncio.Event()
        self._turn = asyncio.Lock()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: BaseException | None = None
        self._closed = False

    async def __aenter__(self) -> Self:
        frontier, units = await self._log.open()
        self._machine = Lanes(self._publisher, self._patience, frontier.past)
        now = time.monotonic()
        for lane, place in frontier.places.items():
            self._machine.open(lane, place, now)
        self._tasks = [asyncio.create_task(self._pump(list(unit))) for unit in units]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._closed = True
        await cancel(self._tasks)
        try:
            if kind is None and self._uncommitted:
                await self._commit()
        finally:
            await self._log.close()

    # Reading

    def __aiter__(self) -> AsyncIterator[Message]:
        return self

    async def __anext__(self) -> Message:
        """The next message in causal order. Asking for it says that the one before is processed;
        use `async with`, so that the last one is, too."""
        if self._uncommitted >= self._commit_every:
            await self._commit()
        if self._taken >= WAKE_EVERY:
            await self._wake()
        while True:
            self._news.clear()  # before looking: what arrives while we commit must not be missed
            message = self.take()
            if message is not None:
                return message
            if self._failure is not None:
                raise self._failure
            if self._closed:
                raise StopAsyncIteration
            if self._uncommitted:
                await self._commit()
            await self._wait()

    def take(self) -> Message | None:
        """The next message if one is ready now."""
        now = time.monotonic()
        delivered, effects = self._machine.take(now)
        if effects:
            self._obey(effects)
        if delivered is None:
            return None
        self._taken += 1
        self._uncommitted += self._commits
        return self._message(delivered)

    def _message(self, delivered: Deliver) -> Message:
        arrival, stamp = delivered.content
        without = delivered.without
        if without:
            name = self._machine.keys.name
            without = tuple([(name(key), place) for key, place in without])
        return Message(
            arrival.topic or arrival.lane,
            arrival.payload,
            arrival.headers,
            arrival.lane,
            arrival.place,
            delivered.held_s,
            delivered.late,
            without,
            arrival.published_s,
            stamp,
        )

    def places(self) -> dict[str, int]:
        """For each lane that is read the place up to which it is delivered."""
        return self._machine.frontier().places

    def held(self) -> list[Held]:
        """What waits here, and for which place of which lane."""
        return self._machine.held()

    async def _pump(self, unit: list[str]) -> None:
        """Read some lanes for ever."""
        retry_s = _RETRY_S
        while not self._closed:
            lanes = [lane for lane in unit if lane not in self._paused]
            if not lanes:
                self._resumed.clear()
                await self._resumed.wait()
                continue
            try:
                arrivals = await self._log.read(lanes)
                retry_s = _RETRY_S
            except self._log.troubles as error:
                LOGGER.warning("cannot read %s: %s; trying again", ", ".join(lanes), error)
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _RETRY_AT_MOST_S)
                continue
            except asyncio.CancelledError:
                raise
            except BaseException as error:  # noqa: BLE001 - told to whoever reads
                self._failure = error
                self._news.set()
                return
            if arrivals:
                self._feed(arrivals)
                self._news.set()
            else:
                await asyncio.sleep(0)

    def _feed(self, arrivals: Sequence[Arrival]) -> None:
        now = time.monotonic()
        arrive = self._machine.arrive
        for arrival in arrivals:
            stamp = self._stamp_of(arrival)
            effects = arrive(arrival.lane, arrival.place, stamp, (arrival, stamp), now)
            if effects:
                self._obey(effects)

    def _stamp_of(self, arrival: Arrival) -> LaneStamp | None:
        if arrival.stamp is None:
            return None
        try:
            return decode_lanes(arrival.stamp)
        except MalformedStamp as error:
            where = f"{arrival.lane}:{arrival.place}"
            LOGGER.warning("%s has a %s; it waits for nothing", where, error)
            return None

    async def _wait(self) -> None:
        """Until something arrives, or patience asks for something."""
        due = self._machine.due()
        try:
            timeout = None if due is None else max(0.0, due - time.monotonic())
            await asyncio.wait_for(self._news.wait(), timeout)
        except TimeoutError:
            await self._wake()

    async def _wake(self) -> None:
        """Let patience ask for what it is time to ask for, or give it up."""
        self._taken = 0
        for effect in self._machine.wake(time.monotonic()):
            if isinstance(effect, Probe):
                await self._probe(effect)
            elif isinstance(effect, Missing):
                LOGGER.warning(
                    "%s:%d is named and does not come; given up after %.1f s",
                    effect.lane, effect.place, effect.waited_s,
                )  # fmt: skip

    async def _probe(self, probe: Probe) -> None:
        """Ask how far a lane goes: its end first, so that nothing up to it can come later."""
        try:
            end = await self._log.end(probe.lane)
            following = await self._log.following(probe.lane, probe.after)
        except self._log.troubles:
            self._machine.unanswered(probe.lane, time.monotonic())
        else:
            self._machine.probed(probe.lane, following, end, time.monotonic())

    def _obey(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Pause):
                self._paused.add(effect.lane)
            elif isinstance(effect, Resume):
                self._paused.discard(effect.lane)
                self._resumed.set()

    async def _commit(self) -> None:
        frontier, count = self._machine.frontier(), self._uncommitted
        retry_s = _RETRY_S
        while True:
            try:
                await self._log.commit(frontier)
                self._uncommitted -= count  # Not before: who is cancelled here commits at the end.
                return
            except Superseded:
                self._uncommitted = 0
                raise
            except self._log.troubles as error:
                LOGGER.warning("cannot commit: %s; trying again", error)
                if self._closed:
                    return  # It is delivered again, that is all.
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, _RETRY_AT_MOST_S)

    async def commit(self) -> None:
        """Store that all messages taken so far are processed, now rather than soon."""
        if not self._commits:
            raise Misuse("there is nothing to commit for: give a group")
        await self._commit()

    # Publishing

    async def publish(
        self, topic: str, payload: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> int:
        """Publish a message after all that this bus has delivered and published; gives its place.

        Raises `Unconfirmed` where the broker does not answer."""
        log, machine = self._log, self._machine
        try:
            async with self._turn:
                lane = await log.lane_of(topic)
                await self._settle(lane)
                stamp = encode_lanes(machine.publish(lane))
                try:
                    landing = await log.send(topic, payload, headers, stamp)
                    if not log.pipelined:
                        return self._confirm(lane, await landing)
                except BaseException:
                    self._doubt(lane)
                    raise
            try:
                return self._confirm(lane, await landing)
            except BaseException:
                self._doubt(lane)
                raise
        except log.troubles as error:
            raise Unconfirmed(f"{topic}: {str(error) or type(error).__name__}") from error

    async def check(self, topic: str) -> None:
        """Raise `Misuse` unless one can publish to this topic."""
        await self._log.lane_of(topic)

    async def known_end(self, topic: str) -> int:
        """The last place of a topic that was known at the last commit, before anything is read:
        what this group has published and not committed is after it. A new group commits the end."""
        lane = await self._log.lane_of(topic)
        past, key = self._machine.state.past, self._machine.keys.add(lane)
        if key not in past:
            self._machine.settle(lane, await self._log.end(lane))
            await self._commit()
        return past[key]

    async def _settle(self, lane: str) -> None:
        """Wait until all that was published in other lanes has its place."""
        machine = self._machine
        while blockers := machine.blockers(lane):
            doubtful = [blocker for blocker in blockers if machine.is_doubtful(blocker)]
            for blocker in doubtful:
                machine.settle(blocker, await self._log.end(blocker))
            if not doubtful:
                self._landed.clear()
                await self._landed.wait()

    def _confirm(self, lane: str, place: int) -> int:
        self._machine.confirm(lane, place)
        self._landed.set()
        return place

    def _doubt(self, lane: str) -> None:
        self._machine.doubt(lane)
        self._landed.set()

    def past(self) -> bytes:
        """All that this bus has delivered and published, as a token to hand to another process by
        other means."""
        return encode_past(self._machine)

    def observe(self, past: bytes) -> None:
        """What is published from now on comes after all that another bus told with `past`."""
        observe_past(self._machine, past)
