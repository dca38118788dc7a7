"""What readers of a broker really see: recorded as it comes, judged, and what waiting would cost.

The audit reads as any consumer does, without holding anything back. Beside it runs the machine that
would hold back (`lanes`, `numbers`), fed with the same arrivals: when it would have delivered each
message is the price of order here.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import msgspec

from antecede.brokers import PATIENCE_S, causal
from antecede.brokers.bus import Message
from antecede.brokers.connect import client_of, extra_of, kafka_bus, place_teller
from antecede.brokers.holdback import Patience
from antecede.brokers.lanes import Lanes
from antecede.brokers.numbers import Numbers
from antecede.brokers.record import Record
from antecede.errors import Misuse
from antecede.verify import Verdict, verify_trace


class Shadow:
    """The machine that would have held back, of one reader."""

    def __init__(self, machine: Lanes | Numbers) -> None:
        self._machine = machine
        self.held_s: list[float] = []
        self.waiting = 0
        self.most_waiting = 0

    @classmethod
    def of_lanes(cls, places: dict[str, int]) -> Self:
        lanes = Lanes(1, Patience(probe_s=None, limit=1 << 62))
        for lane, place in places.items():
            lanes.open(lane, place)
        return cls(lanes)

    @classmethod
    def of_topics(cls, topics: Sequence[str]) -> Self:
        """What the broker drops is waited for as long as `causal` would."""
        numbers = Numbers(1, Patience(patience_s=PATIENCE_S, probe_s=None, limit=1 << 62))
        for topic in topics:
            numbers.subscribe(topic)
        return cls(numbers)

    def see(self, message: Message, now: float) -> None:
        machine = self._machine
        if isinstance(machine, Lanes):
            machine.arrive(message.lane, message.place, message.stamp, None, now)
        elif message.stamp is None:
            self.held_s.append(0.0)
            return
        else:
            machine.arrive(message.topic, message.stamp, None, now)
        self.waiting += 1
        machine.wake(now)
        while (taken := machine.take(now)[0]) is not None:
            self.waiting -= 1
            self.held_s.append(taken.held_s)
        self.most_waiting = max(self.most_waiting, self.waiting)


@dataclass(frozen=True)
class Cost:
    """What holding back would have cost the readers of an audit."""

    messages: int
    held: int
    """How many messages would have waited at all."""
    mean_s: float
    p50_s: float
    p99_s: float
    """Of those that would have waited."""
    most_waiting: int
    still_waiting: int
    """At the end of the audit."""


@dataclass
class Audit:
    """The result."""

    readers: int
    messages: int
    unstamped: int
    seconds: float
    trace: Path
    verdict: Verdict
    dropped: int = 0
    """Without a log: numbers between others that no reader saw."""
    contradictions: int = 0
    """What stamps name although it cannot be."""
    cost: Cost = field(default_factory=lambda: Cost(0, 0, 0.0, 0.0, 0.0, 0, 0))

    @property
    def can_tell(self) -> bool:
        """Whether there was anything to be judged."""
        return self.messages > self.unstamped


def cost_of(shadows: Sequence[Shadow]) -> Cost:
    held_s = sorted(one for shadow in shadows for one in shadow.held_s if one > 0)
    last = len(held_s) - 1
    return Cost(
        messages=sum(len(shadow.held_s) for shadow in shadows),
        held=len(held_s),
        mean_s=sum(held_s) / len(held_s) if held_s else 0.0,
        p50_s=held_s[last // 2] if held_s else 0.0,
        p99_s=held_s[round(last * 0.99)] if held_s else 0.0,
        most_waiting=max((shadow.most_waiting for shadow in shadows), default=0),
        still_waiting=sum(shadow.waiting for shadow in shadows),
    )


class Watching:
    """One audit under way."""

    def __init__(
        self, record: Record, seconds: float | None, messages: int, tell: Callable[[int], None]
    ) -> None:
        self.record = record
        self.shadows: list[Shadow] = []
        self.begun = time.monotonic()
        self._until = None if seconds is None else self.begun + seconds
        self._messages = messages
        self._tell = tell
        self._nameless = 0

    def reader(self, name: str, shadow: Shadow, places: dict[str, int] | None = None) -> Shadow:
        self.record.reader(name, places or {})
        self.shadows.append(shadow)
        return shadow

    def see(self, name: str, shadow: Shadow, message: Message) -> None:
        if not message.place:  # Without a log and a stamp a message has no name.
            self._nameless += 1
            message = msgspec.structs.replace(
                message, lane=f"{message.topic} at {name}", place=self._nameless
            )
        self.record.see(name, message, time.time())
        shadow.see(message, time.monotonic())
        self._tell(len(self.record))

    def is_over(self) -> bool:
        is_late = self._until is not None and time.monotonic() >= self._until
        return is_late or len(self.record) >= self._messages


def audit_broker(
    url: str,
    topics: Sequence[str],
    out: Path,
    *,
    readers: int = 1,
    seconds: float | None = None,
    messages: int = 1_000_000,
    start: Literal["first", "new"] = "new",
    live: bool = False,
    force: bool = False,
    tell: Callable[[int], None] = lambda count: None,
) -> Audit:
    """Watch until the time is over, enough messages were seen, or control-C; then judge. `out` is
    the trace. `live`: listen to NATS core or Redis pub/sub, which keep nothing."""
    if not topics:
        raise Misuse("say which topics to read")
    is_kafka = extra_of(url) == "kafka"
    if live and is_kafka:
        raise Misuse("Kafka keeps what is published: audit it without --live")
    if live and start == "first":
        raise Misuse("nothing is kept to start from: --live hears what is published from now on")
    record = Record() if live else Record(place_teller(url))
    watching = Watching(record, seconds, messages, tell)
    with suppress(KeyboardInterrupt, asyncio.CancelledError):
        if is_kafka:
            _watch_kafka(watching, url, topics, readers, start)
        else:
            asyncio.run(_watch(watching, url, topics, readers, start, live))
    watching.record.write(out, "audit", force=force)
    return Audit(
        readers=len(watching.shadows),
        messages=len(watching.record),
        unstamped=watching.record.unstamped,
        seconds=time.monotonic() - watching.begun,
        trace=out,
        verdict=verify_trace(out),
        dropped=watching.record.skipped(),
        contradictions=watching.record.contradictions,
        cost=cost_of(watching.shadows),
    )


async def _watch(
    watching: Watching, url: str, topics: Sequence[str], readers: int, start: Any, live: bool
) -> None:
    async with AsyncExitStack() as stack:
        tasks = []
        for number in range(readers):
            client = await stack.enter_async_context(client_of(url, live=live))
            bus: Any = causal(client, topics, start=start, hold=False)
            await stack.enter_async_context(bus)
            name = f"reader {number + 1}"
            if live:
                shadow = watching.reader(name, Shadow.of_topics(topics))
            else:
                places = bus.places()
                shadow = watching.reader(name, Shadow.of_lanes(places), places)
            tasks.append(asyncio.create_task(_follow(watching, bus, name, shadow)))
        try:
            while not watching.is_over() and not any(task.done() for task in tasks):
                await asyncio.sleep(0.05)
            for task in tasks:
                if task.done():
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(watching: Watching, bus: Any, name: str, shadow: Shadow) -> None:
    async for message in bus:
        watching.see(name, shadow, message)


def _watch_kafka(
    watching: Watching, url: str, topics: Sequence[str], readers: int, start: Any
) -> None:
    with ExitStack() as stack:
        buses = []
        for number in range(readers):
            bus = stack.enter_context(kafka_bus(url, topics, start=start, hold=False))
            places = bus.places()
            name = f"reader {number + 1}"
            buses.append((name, bus, watching.reader(name, Shadow.of_lanes(places), places)))
        while not watching.is_over():
            for name, bus, shadow in buses:
                message = bus.poll(0.05 / readers)
                if message is not None:
                    watching.see(name, shadow, message)
