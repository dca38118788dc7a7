"""Questions in one topic, answers in another: what the tests publish, and the judge.

Payloads are numbers. The judge knows nothing of stamps: answer n after question n, questions and
answers each in order, nothing missing, nothing twice but what may be.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import nats
import redis.asyncio

from antecede.brokers import Message, Unconfirmed
from antecede.brokers import causal as over

QUESTIONS, ANSWERS = "questions", "answers"


@asynccontextmanager
async def client_of(kind: str, *ports: int, replicas: int = 1) -> AsyncIterator[Any]:
    """A client of one kind, connected."""
    if kind in ("streams", "pubsub"):
        connected = redis.asyncio.Redis(port=ports[0])
        try:
            yield connected if kind == "streams" else connected.pubsub()
        finally:
            await connected.aclose()
        return

    async def quiet(_: Exception) -> None:
        return None

    client = await nats.connect(
        [f"nats://127.0.0.1:{port}" for port in ports],
        reconnect_time_wait=0.1,
        max_reconnect_attempts=-1,
        error_cb=quiet,
    )
    try:
        if kind == "core":
            yield client
        else:
            streams = client.jetstream(timeout=3)
            for name in (QUESTIONS, ANSWERS):
                await add_stream(streams, name, replicas)
            yield streams
    finally:
        await client.close()


async def add_stream(streams: Any, name: str, replicas: int) -> None:
    """A cluster elects its leader first: that may take a while."""
    for _ in range(50):
        try:
            await streams.add_stream(name=name, subjects=[name, f"{name}.*"], num_replicas=replicas)
            return
        except (nats.errors.Error, nats.js.errors.Error, TimeoutError):
            await asyncio.sleep(0.2)
    raise RuntimeError(f"no stream {name}")


async def publish(bus: Any, topic: str, number: int) -> None:
    """Until it is confirmed; it may then be there twice."""
    while True:
        try:
            await bus.publish(topic, str(number).encode())
            return
        except Unconfirmed:
            await asyncio.sleep(0.05)


async def ask(client: Any, count: int, pause_s: float = 0.0, before: bytes = b"") -> None:
    async with over(client) as bus:
        if before:
            bus.observe(before)  # type: ignore[union-attr]
        for number in range(count):
            await publish(bus, QUESTIONS, number)
            if pause_s:
                await asyncio.sleep(pause_s)


async def answer(client: Any, count: int, **options: Any) -> None:
    """Answer each question once."""
    done: set[int] = set()
    async with over(client, [QUESTIONS], start="first", **options) as bus:
        async for message in bus:
            number = int(message.payload)
            if number not in done:
                done.add(number)
                await publish(bus, ANSWERS, number)
            if len(done) == count:
                return


async def read(client: Any, count: int, **options: Any) -> list[Message]:
    """All questions and answers, `count` of each."""
    found: list[Message] = []
    distinct: set[tuple[str, bytes]] = set()
    options.setdefault("start", "first")
    async with over(client, [ANSWERS, QUESTIONS], **options) as bus:
        async for message in bus:
            found.append(message)
            distinct.add((message.topic, message.payload))
            if len(distinct) == 2 * count:
                return found
    return found


def early_answers(found: list[tuple[str, int]]) -> int:
    """How many answers came before their questions."""
    asked: set[int] = set()
    early = 0
    for topic, number in found:
        if topic == QUESTIONS:
            asked.add(number)
        else:
            early += number not in asked
    return early


def judge(found: list[tuple[str, int]], count: int, *, twice: int = 0) -> None:
    """Nothing early, nothing missing, first deliveries in the order of their topic."""
    assert early_answers(found) == 0
    for topic in (QUESTIONS, ANSWERS):
        numbers = [number for where, number in found if where == topic]
        firsts = list(dict.fromkeys(numbers))
        assert firsts == list(range(count)), topic
        assert len(numbers) - len(firsts) <= twice, topic


def plain(messages: list[Message]) -> list[tuple[str, int]]:
    return [(message.topic, int(message.payload)) for message in messages]
