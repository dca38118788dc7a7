"""Publishing through a bus, and how long messages wait for each other while publishers are at work.

Publishers live in a process of their own (`python -m bench.broker_waits KIND ADDRESS PUBLISHERS
LANES`): each knows all that was published before, so every message depends on all before it."""

import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from antecede.brokers import causal
from antecede.brokers import kafka as kafka_bus
from tests.brokers import servers
from tests.brokers.questions import client_of

BROKERS = {"Redis Streams": "streams", "JetStream": "jetstream", "Kafka": "kafka"}
PUBLISHERS = (2, 8, 64)
LANES = (1, 4, 16)
COUNT = 300
A_SECOND = 400
PAYLOAD = b"x" * 100
PUBLISHED = 1_000
FETCH_MS = 10
WARM = 20
"""Messages at the beginning that are not counted: connections are made."""


@contextmanager
def server_of(kind: str) -> Iterator[Any]:
    """A port, or the settings of a Kafka client: the mock cluster in a process of its own."""
    if kind == "kafka":
        program = (
            "import sys; from confluent_kafka import Producer; "
            "p = Producer({'bootstrap.servers': 'x', 'test.mock.num.brokers': 1, 'log_level': 0}); "
            "b = p.list_topics(timeout=20).brokers.values(); "
            "print(','.join(f'{x.host}:{x.port}' for x in b), flush=True); sys.stdin.read()"
        )
        pipe = subprocess.PIPE
        host = subprocess.Popen([sys.executable, "-c", program], stdin=pipe, stdout=pipe, text=True)
        try:
            address = host.stdout.readline().strip() if host.stdout else ""
            yield {"bootstrap.servers": address, "log_level": 0}
        finally:
            host.communicate()
        return
    with tempfile.TemporaryDirectory() as folder:
        is_redis = kind in ("streams", "pubsub")
        server = servers.redis(Path(folder), "no") if is_redis else servers.nats(Path(folder))
        server.start()
        try:
            yield server.port
        finally:
            server.kill()


def lanes_of(count: int) -> list[str]:
    return [f"lane{number}" for number in range(count)]


async def add_lanes(kind: str, client: Any, names: list[str]) -> None:
    if kind == "jetstream":
        for name in names:
            await client.add_stream(name=name, subjects=[name])


# Publishers, in a process of their own


async def publish_paced(kind: str, address: Any, publishers: int, lanes: int) -> None:
    """All publishers at once, each after a pause of its own."""
    names, choose = lanes_of(lanes), random.Random(1)
    async with AsyncExitStack() as stack:
        buses: list[Any] = []
        for _ in range(publishers):
            client = await stack.enter_async_context(client_of(kind, address))
            buses.append(await stack.enter_async_context(causal(client)))
        past = buses[0].past()

        async def publish(bus: Any, count: int) -> None:
            nonlocal past
            for _ in range(count):
                await asyncio.sleep(choose.expovariate(A_SECOND / publishers))
                bus.observe(past)
                lane = choose.choice(names)
                await bus.publish(lane, str(time.monotonic()).encode())
                bus.observe(past)
                past = bus.past()

        share, rest = divmod(COUNT, publishers)
        await asyncio.gather(*[publish(bus, share + (n < rest)) for n, bus in enumerate(buses)])


def publish_paced_kafka(settings: Any, publishers: int, lanes: int) -> None:
    """One after the other: the client is synchronous."""
    names, choose = lanes_of(lanes), random.Random(1)
    with ExitStack() as stack:
        buses = [
            stack.enter_context(kafka_bus.causal({**settings, "linger.ms": 0}))
            for _ in range(publishers)
        ]
        past = buses[0].past()
        for number in range(COUNT):
            time.sleep(choose.expovariate(A_SECOND))
            bus = buses[number % publishers]
            bus.observe(past)
            bus.publish(choose.choice(names), str(time.monotonic()).encode(), partition=0)
            bus.flush()
            past = bus.past()


# The reader, in this one

Times = tuple[list[float], list[float]]
"""From arrival to delivery, and from publication to delivery, in seconds and sorted."""


def times_of(messages: list[Any]) -> Times:
    counted = messages[WARM:]
    return sorted(m.held_s for m, _ in counted), sorted(at - float(m.payload) for m, at in counted)


async def read(kind: str, address: Any, lanes: int, start: Callable[[], Any]) -> list[Times]:
    """Two readers of the same messages: without order, and with it."""
    names = lanes_of(lanes)

    async def follow(bus: Any) -> Times:
        found: list[Any] = []
        async for message in bus:
            found.append((message, time.monotonic()))
            if len(found) == COUNT:
                break
        return times_of(found)

    async with client_of(kind, address) as one, client_of(kind, address) as two:
        await add_lanes(kind, one, names)
        async with (
            causal(one, names, start="first", hold=False) as loose,
            causal(two, names, start="first") as whole,
        ):
            start()
            return list(await asyncio.gather(follow(loose), follow(whole)))


def read_kafka(settings: Any, lanes: int, hold: bool, start: Callable[[], Any]) -> Times:
    found: list[Any] = []
    settings = {**settings, "fetch.wait.max.ms": FETCH_MS}
    with kafka_bus.causal(settings, lanes_of(lanes), start="first", hold=hold) as bus:
        start()
        for message in bus:
            found.append((message, time.monotonic()))
            if len(found) == COUNT:
                break
    return times_of(found)


def wait_times(kind: str, publishers: int, lanes: int) -> list[Times]:
    """Without order, and with it."""
    found: list[Times] = []
    for hold in (False, True) if kind == "kafka" else (True,):
        with server_of(kind) as address:
            own = [json.dumps(address), str(publishers), str(lanes)]
            command = [sys.executable, "-m", "bench.broker_waits", kind, *own]
            started: list[subprocess.Popen[bytes]] = []

            def start(
                begun: list[subprocess.Popen[bytes]] = started, what: list[str] = command
            ) -> None:
                begun.append(subprocess.Popen(what))

            if kind == "kafka":
                found.append(read_kafka(address, lanes, hold, start))
            else:
                found += asyncio.run(read(kind, address, lanes, start))
            started[0].wait()
    return found


def cells_of(times: list[float]) -> tuple[str, str]:
    """p50 and p99 in ms."""
    return f"{1e3 * times[len(times) // 2]:.2f}", f"{1e3 * times[len(times) * 99 // 100]:.2f}"


def wait_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for title, kind in BROKERS.items():
        for publishers in PUBLISHERS:
            for lanes in LANES:
                (_, loose), (held, whole) = wait_times(kind, publishers, lanes)
                size = (title, str(publishers), str(lanes))
                rows.append((*size, *cells_of(held), *cells_of(loose), *cells_of(whole)))
                print(rows[-1], file=sys.stderr)
    return rows


# What publishing costs


async def timed(publish: Callable[[str], Awaitable[Any]], lanes: int) -> tuple[float, float]:
    """µs a message: CPU, and by the clock."""
    names = lanes_of(lanes)
    cpu, clock = time.process_time(), time.perf_counter()
    for number in range(PUBLISHED):
        await publish(names[number % lanes])
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    return 1e6 * cpu / PUBLISHED, 1e6 * clock / PUBLISHED


async def publish_times(kind: str, address: Any, lanes: int) -> list[tuple[float, float]]:
    """With the bare client, and with a bus."""
    async with client_of(kind, address) as client:
        await add_lanes(kind, client, lanes_of(lanes))

        async def bare(lane: str) -> None:
            if kind == "streams":
                await client.xadd(lane, {"payload": PAYLOAD})
            else:
                await client.publish(lane, PAYLOAD)

        async with causal(client) as bus:
            return [
                await timed(bare, lanes),
                await timed(lambda lane: bus.publish(lane, PAYLOAD), lanes),
            ]


def kafka_publish_times(settings: Any, lanes: int) -> list[tuple[float, float]]:
    """All is confirmed at the end. A bus that changes partitions waits for the last one's place."""
    from confluent_kafka import Producer  # noqa: PLC0415

    producer = Producer({**settings, "enable.idempotence": True, "linger.ms": 0})

    async def bare(lane: str) -> None:
        producer.produce(lane, PAYLOAD, partition=0)
        producer.poll(0)

    async def measure() -> list[tuple[float, float]]:
        found = [await timed(bare, lanes)]
        producer.flush()
        with kafka_bus.causal({**settings, "linger.ms": 0}) as bus:

            async def publish(lane: str) -> None:
                bus.publish(lane, PAYLOAD, partition=0)

            found.append(await timed(publish, lanes))
        return found

    return asyncio.run(measure())


def publish_rows() -> list[tuple[str, ...]]:
    rows = []
    for title, kind in BROKERS.items():
        for lanes in (1, 4):
            with server_of(kind) as address:
                if kind == "kafka":
                    bare, bus = kafka_publish_times(address, lanes)
                else:
                    bare, bus = asyncio.run(publish_times(kind, address, lanes))
            cells = [f"{value:.0f}" for pair in zip(bare, bus, strict=True) for value in pair]
            rows.append((title, str(lanes), *cells[:2], f"{bus[0] / bare[0]:.2f}", *cells[2:]))
            print(rows[-1], file=sys.stderr)
    return rows


PUBLISH = (
    *("", "lanes", "µs of CPU, bare", "with order", "ratio"),
    *("µs by the clock, bare", "with order"),
)
PUBLISH_TEXT = f"""
## Cost of publishing

One publisher, {PUBLISHED:,} messages of {len(PAYLOAD)} bytes, one after the other, in one lane or
in four by turns; CPU is that of its process. The bare Kafka client does not wait for confirmations,
nor does the bus in one lane; when it changes lanes it has to know the place of the last message
first (rule L1): it waits a round trip, and its client sends each message alone.

"""
WAITS = (
    *("", "publishers", "lanes", "waits here, ms, p50", "p99"),
    *("published to delivered, ms, without: p50", "p99", "with order: p50", "p99"),
)
WAITS_TEXT = f"""
## Waiting

{COUNT} messages, {A_SECOND} a second at most, by publishers in another process, in lanes drawn by
lot; each publisher knows all that was confirmed before it publishes, so nearly every message
depends on all before it. Without and with order are two readers at once, over Kafka two runs.
Kafka's publishers take turns; the mock cluster answers a reader only when
the time is over that it is ready to wait, here {FETCH_MS} ms. *Waits here*: from arrival at the
client to delivery, with order. The first {WARM} messages are not counted. One run each; publishers,
server and reader share two cores, so p99 is as much the machine's as the broker's.

"""

if __name__ == "__main__":
    broker, at, how_many, wide = sys.argv[1:]
    if broker == "kafka":
        publish_paced_kafka(json.loads(at), int(how_many), int(wide))
    else:
        asyncio.run(publish_paced(broker, json.loads(at), int(how_many), int(wide)))
