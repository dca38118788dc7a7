"""Causal order over brokers: answers before their questions without and with it, and what it costs.

CPU is that of the reading (or publishing) process for one message, against the bare client that
reads the same messages from the same server; bytes are those of the stamp, as it travels. Messages
have 100 bytes."""

import asyncio
import json
import os
import platform
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from nats.js.api import AckPolicy, ConsumerConfig

from antecede.brokers import causal
from antecede.brokers import kafka as kafka_bus
from antecede.brokers.lanes import Lanes
from antecede.brokers.stamps import LaneStamp, as_text, decode_lanes, encode_lanes
from bench.broker_waits import (
    PUBLISH,
    PUBLISH_TEXT,
    WAITS,
    WAITS_TEXT,
    publish_rows,
    server_of,
    wait_rows,
)
from bench.docs import ROOT, markdown
from tests.brokers.questions import ANSWERS, QUESTIONS, answer, ask, client_of, early_answers
from tests.brokers.questions import read as read_questions

PAGE = ROOT / "docs" / "results" / "brokers.md"
PAYLOAD = b"x" * 100
MESSAGES = 3_200
COUNT = 1_000
SIZES = ((2, 1), (2, 4), (16, 4), (64, 4), (64, 16))
"""(publishers, lanes)."""
REPEATS = 3


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


async def ordered(client: Any, lanes: int, total: int) -> LaneStamp:
    """Gives the last stamp, which names all lanes."""
    names = [f"lane{number}" for number in range(lanes)]
    found = 0
    async with causal(client, names, start="first") as bus:
        async for message in bus:
            found += bool(message.payload)
            if found == total:
                break
    stamp: LaneStamp = message.stamp
    return stamp


def costs(kind: str, publishers: int, lanes: int) -> tuple[int, float, float]:
    """Bytes of a stamp; µs of CPU a delivery, the bare client's, and with order."""
    total = MESSAGES // publishers * publishers

    async def measure(port: Any) -> tuple[int, float, float]:
        async with filled(kind, port, publishers, lanes) as client:
            best = [1e9, 1e9]
            size = 0
            for _ in range(REPEATS):
                begun = time.process_time()
                await bare(kind, client, lanes, total)
                middle = time.process_time()
                stamp = await ordered(client, lanes, total)
                ended = time.process_time()
                best = [min(best[0], middle - begun), min(best[1], ended - middle)]
                size = len(as_text(encode_lanes(stamp)))
            return size, 1e6 * best[0] / total, 1e6 * best[1] / total

    with server_of(kind) as port:
        return asyncio.run(measure(port))


def kafka_costs(publishers: int, lanes: int) -> tuple[int, float, float]:
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    total = MESSAGES // publishers * publishers
    names = [f"lane{number}" for number in range(lanes)]
    with server_of("kafka") as settings:
        past = b"\x80"
        stamps: list[Any] = []
        for number in range(publishers):
            with kafka_bus.causal(settings) as bus:
                bus.observe(past)
                for message in range(MESSAGES // publishers):
                    bus.publish(names[(number + message) % lanes], PAYLOAD, partition=0)
                bus.flush()
                past = bus.past()

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
                        stamps.append(message.stamp)
                        return

        times = [(spent(read_bare), spent(read_ordered)) for _ in range(REPEATS)]
    bare_s, ordered_s = (min(column) for column in zip(*times, strict=True))
    return len(encode_lanes(stamps[-1])), 1e6 * bare_s / total, 1e6 * ordered_s / total


def cost_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    kinds = {"Redis Streams": "streams", "JetStream": "jetstream", "Kafka": "kafka"}
    for title, kind in kinds.items():
        for publishers, lanes in SIZES:
            if kind == "kafka":
                size, without, with_it = kafka_costs(publishers, lanes)
            else:
                size, without, with_it = costs(kind, publishers, lanes)
            ratio = f"{with_it / without:.2f}"
            cells = (str(publishers), str(lanes), str(size), f"{without:.1f}", f"{with_it:.1f}")
            rows.append((title, *cells, ratio))
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


EARLY = ("", "answers first, without", "with")
COSTS = ("", "publishers", "lanes", "stamp, bytes", "µs a delivery, bare", "with order", "ratio")
MACHINE = ("lanes", "µs a delivery")
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

The aims are at most 1.5 times the bare client's CPU, and at most 64 bytes with 64 publishers and 4
lanes. Where the ratio is larger: Kafka's client is written in C and hands 500 messages over in one
call, while a delivery in order is some twenty calls of Python (the machine alone is below), so
against one busy topic no Python can keep the aim. What the client spends on several topics of the
mock cluster is mostly its own threads, which ask for empty partitions. With 16 lanes a stamp names
16 places, and each of them is decoded, compared and remembered.

"""
MACHINE_TEXT = """
The machine alone, stamps decoded, nothing held:

"""


def main() -> None:
    print(markdown(EARLY, early_rows()))
    print(markdown(COSTS, cost_rows()))
    print(markdown(MACHINE, machine_rows()))
    print(markdown(PUBLISH, publish_rows()))
    print(markdown(WAITS, wait_rows()))


def answers_part() -> str:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    return INTRODUCTION.format(machine=machine, count=COUNT) + markdown(EARLY, early_rows())


def deliveries_part() -> str:
    text = COSTS_TEXT.format(messages=MESSAGES, payload=len(PAYLOAD), repeats=REPEATS)
    return text + markdown(COSTS, cost_rows()) + MACHINE_TEXT + markdown(MACHINE, machine_rows())


def publishing_part() -> str:
    return PUBLISH_TEXT + markdown(PUBLISH, publish_rows())


def waiting_part() -> str:
    return WAITS_TEXT + markdown(WAITS, wait_rows())


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "answers": ("Answers before", answers_part),
    "deliveries": ("Cost of a delivery", deliveries_part),
    "publishing": ("Cost of publishing", publishing_part),
    "waiting": ("Waiting", waiting_part),
}
"""The page: how each heading begins, and what makes the part. The first has the title, too."""


def former_parts() -> dict[str, str]:
    """The parts of the page as it is."""
    sections = PAGE.read_text("utf-8").split("\n## ") if PAGE.exists() else []
    found = {}
    for section in sections[1:]:
        for name, (heading, _) in PARTS.items():
            if section.startswith(heading):
                before = sections[0] if name == "answers" else ""
                found[name] = f"{before}\n## {section.rstrip()}\n"
    return found


def write(wanted: Sequence[str]) -> None:
    """Make these parts of the page anew, one after the other, and keep the others."""
    for name in wanted:
        text = PARTS[name][1]()
        parts = {**former_parts(), name: text}
        PAGE.write_text("".join([parts[name] for name in PARTS if name in parts]), "utf-8")
        print(json.dumps({"written": name, "page": str(PAGE)}), flush=True)


if __name__ == "__main__":
    if unknown := set(sys.argv[1:]) - set(PARTS):
        sys.exit(f"{', '.join(unknown)}: the parts are {', '.join(PARTS)}")
    write(sys.argv[1:] or list(PARTS))
