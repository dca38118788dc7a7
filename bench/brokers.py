"""Causal order over brokers: answers before their questions without and with it, and what it costs.

CPU is that of the reading (or publishing) process for one message, against the bare client that
reads the same messages from the same server; bytes are those of the stamp, as it travels. Messages
have 100 bytes."""

import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from nats.js.api import AckPolicy, ConsumerConfig

from antecede.brokers import causal
from antecede.brokers import kafka as kafka_bus
from antecede.brokers.lanes import Lanes
from antecede.brokers.stamps import as_text, decode_lanes, encode_lanes
from bench.docs import ROOT, markdown
from tests.brokers import servers
from tests.brokers.questions import ANSWERS, QUESTIONS, answer, ask, client_of, early_answers
from tests.brokers.questions import read as read_questions

PAGE = ROOT / "docs" / "results" / "brokers.md"
PAYLOAD = b"x" * 100
MESSAGES = 6_000
COUNT = 1_000
SIZES = ((2, 1), (2, 4), (16, 4), (64, 4), (64, 16))
"""(publishers, lanes)."""
REPEATS = 3


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


def spent(action: Callable[[], Any]) -> float:
    """CPU seconds of this process."""
    begun = time.process_time()
    action()
    return time.process_time() - begun


# Answers before questions


def kafka_questions(settings: dict[str, Any]) -> tuple[int, int]:
    with kafka_bus.causal(settings) as asker:
        for number in range(COUNT):
            asker.publish(QUESTIONS, str(number).encode(), partition=0)
    with kafka_bus.causal(settings, [QUESTIONS], start="first") as answerer:
        for _ in range(COUNT):
            answerer.publish(ANSWERS, next(iter(answerer)).payload, partition=0)
    found = []
    for hold in (False, True):
        with kafka_bus.causal(settings, [ANSWERS, QUESTIONS], start="first", hold=hold) as bus:
            seen = [next(iter(bus)) for _ in range(2 * COUNT)]
        found.append(early_answers([(m.topic, int(m.payload)) for m in seen]))
    return found[0], found[1]


def early_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for title, kind, live in (
        ("Redis Streams, live", "streams", True),
        ("Redis Streams, catching up", "streams", False),
        ("JetStream, live", "jetstream", True),
        ("JetStream, catching up", "jetstream", False),
        ("NATS core, live", "core", True),
        ("Redis pub/sub, live", "pubsub", True),
    ):
        # A fresh server each time, for what is live must not find what is kept.
        counts = []
        for hold in (False, True) if live else (None,):
            with server_of(kind) as port:
                counts += asyncio.run(questions(kind, port, hold))
        rows.append((title, f"{counts[0]:,}", f"{counts[1]:,}"))
    with server_of("kafka") as settings:
        without, with_it = kafka_questions(settings)
    rows.append(("Kafka's protocol, catching up", f"{without:,}", f"{with_it:,}"))
    return rows


async def questions(kind: str, port: int, hold: bool | None) -> list[int]:
    """Live with or without holding back (one run); None: catching up, both."""
    async with (
        client_of(kind, port) as one,
        client_of(kind, port) as two,
        client_of(kind, port) as three,
    ):
        if hold is None:
            await asyncio.gather(ask(one, COUNT), answer(two, COUNT))
            runs = [await read_questions(three, COUNT, hold=flag) for flag in (False, True)]
        else:
            task = asyncio.create_task(read_questions(three, COUNT, hold=hold))
            answering = asyncio.create_task(answer(two, COUNT))
            await asyncio.sleep(0.5)
            await asyncio.gather(ask(one, COUNT), answering)
            runs = [await task]
    return [early_answers([(m.topic, int(m.payload)) for m in seen]) for seen in runs]


# What it costs


@asynccontextmanager
async def filled(kind: str, port: Any, publishers: int, lanes: int) -> AsyncIterator[Any]:
    """A client, and lanes filled by publishers each of whom knows of all lanes."""
    names = [f"lane{number}" for number in range(lanes)]
    async with client_of(kind, port) as client:
        if kind == "jetstream":
            for name in names:
                await client.add_stream(name=name, subjects=[name])
        past = b"\x80"
        for number in range(publishers):
            async with causal(client) as bus:
                bus.observe(past)  # type: ignore[union-attr]
                for message in range(MESSAGES // publishers):
                    await bus.publish(names[(number + message) % lanes], PAYLOAD)
                past = bus.past()  # type: ignore[union-attr]
        yield client


async def bare(kind: str, client: Any, lanes: int, total: int) -> None:
    """The same messages by the client alone, as its documentation has it."""
    names = [f"lane{number}" for number in range(lanes)]
    found = 0
    if kind == "streams":
        last: dict[Any, Any] = dict.fromkeys(names, "0")
        while found < total:
            streams = await client.xread(last, count=500, block=1000)
            for name, batches in streams.items() if isinstance(streams, dict) else streams:
                entries = batches[0] if batches and isinstance(batches[0], list) else batches
                for entry, fields in entries:
                    found += bool(fields[b"payload"])
                    last[name.decode() if isinstance(name, bytes) else name] = entry
        return
    for name in names:
        settings = ConsumerConfig(ack_policy=AckPolicy.NONE)
        consumer = await client.pull_subscribe(name, stream=name, config=settings)
        left = (await client.stream_info(name)).state.messages
        while left:
            for message in await consumer.fetch(min(200, left)):
                left -= bool(message.data)


async def ordered(client: Any, lanes: int, total: int) -> None:
    names = [f"lane{number}" for number in range(lanes)]
    found = 0
    async with causal(client, names, start="first") as bus:
        async for message in bus:
            found += bool(message.payload)
            if found == total:
                return


def costs(kind: str, publishers: int, lanes: int) -> tuple[float, float]:
    """µs of CPU a delivery: the bare client's, and with order."""
    total = MESSAGES // publishers * publishers

    async def measure(port: Any) -> tuple[float, float]:
        async with filled(kind, port, publishers, lanes) as client:
            best = [1e9, 1e9]
            for _ in range(REPEATS):
                begun = time.process_time()
                await bare(kind, client, lanes, total)
                middle = time.process_time()
                await ordered(client, lanes, total)
                ended = time.process_time()
                best = [min(best[0], middle - begun), min(best[1], ended - middle)]
            return 1e6 * best[0] / total, 1e6 * best[1] / total

    with server_of(kind) as port:
        return asyncio.run(measure(port))


def kafka_costs(publishers: int, lanes: int) -> tuple[float, float]:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    total = MESSAGES // publishers * publishers
    names = [f"lane{number}" for number in range(lanes)]
    with server_of("kafka") as settings:
        past: dict[int, int] = {}
        for number in range(publishers):
            with kafka_bus.causal(settings) as bus:
                bus._machine.observe(past)
                for message in range(MESSAGES // publishers):
                    bus.publish(names[(number + message) % lanes], PAYLOAD, partition=0)
                bus.flush()
                past = dict(bus._machine.state.past)

        def read_bare() -> None:
            consumer = Consumer({**settings, "group.id": "bare", "auto.offset.reset": "earliest"})
            consumer.assign([TopicPartition(name, p, 0) for name in names for p in range(4)])
            found = 0
            while found < total:
                for message in consumer.consume(500, 0.05):
                    found += bool(message.value())
            consumer.close()

        def read_ordered() -> None:
            with kafka_bus.causal(settings, names, start="first") as bus:
                found = 0
                for message in bus:
                    found += bool(message.payload)
                    if found == total:
                        return

        bare_s = min(spent(read_bare) for _ in range(REPEATS))
        ordered_s = min(spent(read_ordered) for _ in range(REPEATS))
    return 1e6 * bare_s / total, 1e6 * ordered_s / total


def stamp_bytes(lanes: int, place: int) -> tuple[int, int]:
    """Of a stamp that names this place in all lanes: binary, and as text."""
    machine = Lanes(1 << 47)
    for number in range(lanes):
        machine.observe({machine.keys.add(f"lane{number}"): place})
    stamp = encode_lanes(machine.publish("lane0"))
    decode_lanes(stamp)
    return len(stamp), len(as_text(stamp))


def cost_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    kinds = {"Redis Streams": "streams", "JetStream": "jetstream", "Kafka": "kafka"}
    for title, kind in kinds.items():
        for publishers, lanes in SIZES:
            if kind == "kafka":
                without, with_it = kafka_costs(publishers, lanes)
            else:
                without, with_it = costs(kind, publishers, lanes)
            place = 1_800_000_000_000 << 22 if kind == "streams" else 1_000_000
            binary, text = stamp_bytes(lanes, place)
            rows.append(
                (
                    title,
                    str(publishers),
                    str(lanes),
                    str(binary if kind == "kafka" else text),
                    f"{without:.1f}",
                    f"{with_it:.1f}",
                    f"{with_it / without:.2f}",
                )
            )
            print(rows[-1], file=sys.stderr)
    return rows


def machine_rows() -> list[tuple[str, ...]]:
    """The pure machine alone: arrive and take."""
    rows: list[tuple[str, ...]] = []
    count = 50_000
    for lanes in (1, 4, 16):
        machine = Lanes(1)
        names = [f"lane{number}" for number in range(lanes)]
        for name in names:
            machine.open(name, 0)
            machine.arrive(name, 1, None, None)
            machine.take()
        writer = Lanes(2, past={machine.keys.add(name): 1 for name in names})
        stamp = encode_lanes(writer.publish(names[0]))
        begun = time.process_time()
        for number in range(count):
            machine.arrive(names[number % lanes], 2 + number, decode_lanes(stamp), None)
            machine.take()
        rows.append((str(lanes), f"{1e6 * (time.process_time() - begun) / count:.1f}"))
    return rows


# Waiting


def waits(title: str, kind: str) -> tuple[str, ...]:
    """How long messages are here before they are delivered, live at some hundred a second."""

    async def measure(port: int, hold: bool) -> list[float]:
        async with (
            client_of(kind, port) as one,
            client_of(kind, port) as two,
            client_of(kind, port) as three,
        ):
            reading = asyncio.create_task(read_questions(three, COUNT, hold=hold))
            answering = asyncio.create_task(answer(two, COUNT))
            await asyncio.sleep(0.5)
            await asyncio.gather(ask(one, COUNT, pause_s=0.002), answering)
            return sorted(message.held_s for message in await reading)

    cells = [title]
    for hold in (False, True):
        with server_of(kind) as port:
            held = asyncio.run(measure(port, hold))
        cells += [f"{1e3 * held[len(held) // 2]:.2f}", f"{1e3 * held[len(held) * 99 // 100]:.2f}"]
    return tuple(cells)


def wait_rows() -> list[tuple[str, ...]]:
    return [waits("Redis Streams", "streams"), waits("JetStream", "jetstream")]


EARLY = ("", "answers first, without", "with")
COSTS = ("", "publishers", "lanes", "stamp, bytes", "µs a delivery, bare", "with order", "ratio")
MACHINE = ("lanes", "µs a delivery")
WAITS = ("", "p50, ms, without", "p99", "p50, ms, with", "p99")
INTRODUCTION = """# Causal order over brokers: how often it breaks, and what it costs

Written by `python -m bench.brokers`; do not edit. {machine}. Servers on loopback: Redis 6.2, NATS
2.15, and for Kafka the mock cluster of its client, which is no real broker: read its ratios with
care. Other work on the machine changes the times more than the ratios.

## Answers before their questions, of {count:,}

One process asks, one answers what it reads, one reads both; nothing is delayed on purpose. *Live*:
all three at once. *Catching up*: the reader comes later. One run; where a broker's order is a
matter of moments, the next one counts differently.

"""
COSTS_TEXT = """
## Cost of a delivery

{messages:,} messages of {payload} bytes are read from the start by one reader, best of {repeats}:
CPU of its process, with the bare client and with order. Every publisher knows of all lanes, so
every stamp names all of them; its bytes are those that travel (text for Redis and NATS, binary for
Kafka), without the header's name. The bare JetStream client acknowledges nothing, as the bus; a
topic of the mock cluster has four partitions, of which one is filled.

"""
MACHINE_TEXT = """
The machine alone, stamps decoded, nothing held:

"""
WAITS_TEXT = """
## Waiting

Time from a message's arrival at the client to its delivery, questions and answers live, {count:,}
of each, some hundred a second.

"""


def main() -> None:
    print(markdown(EARLY, early_rows()))
    print(markdown(COSTS, cost_rows()))
    print(markdown(MACHINE, machine_rows()))
    print(markdown(WAITS, wait_rows()))


def write() -> None:
    """The page."""
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    text = INTRODUCTION.format(machine=machine, count=COUNT)
    text += markdown(EARLY, early_rows())
    text += COSTS_TEXT.format(messages=MESSAGES, payload=len(PAYLOAD), repeats=REPEATS)
    text += markdown(COSTS, cost_rows()) + MACHINE_TEXT + markdown(MACHINE, machine_rows())
    text += WAITS_TEXT.format(count=COUNT)
    text += markdown(WAITS, wait_rows())
    PAGE.write_text(text, "utf-8")
    print(json.dumps({"written": str(PAGE)}))


if __name__ == "__main__":
    write()
