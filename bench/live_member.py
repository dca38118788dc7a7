"""One member process of the live benchmark: `python -m bench.live_member SETTINGS`, JSON in and
out. The kinds `bare` and `batched` are asyncio streams without any order, to compare with; a kind
may go on with `durable` (a log that is written to the disk) or `uvloop`, after a comma."""

import asyncio
import importlib
import json
import resource
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from antecede.groups import GroupConfig
from antecede.live import PLAIN_TCP, Delivery, Group, join

PAYLOAD_BYTES = 100
BATCH = 64
CONFIG = GroupConfig(suspect_after_s=20.0, flush_timeout_s=20.0)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def hear() -> dict[str, Any]:
    heard: dict[str, Any] = json.loads(sys.stdin.readline())
    return heard


def cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_kib() -> int:
    """The most memory that this process has had (`ru_maxrss` may be that of whoever started it)."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def payload() -> bytes:
    """The time, and something to fill it up."""
    return time.monotonic_ns().to_bytes(8, "big").ljust(PAYLOAD_BYTES, b".")


def latency_s(text: bytes | memoryview) -> float:
    return (time.monotonic_ns() - int.from_bytes(text[:8], "big")) / 1e9


class Tally:
    """What arrives."""

    def __init__(self, expected: int) -> None:
        self.expected = expected
        self.count = 0
        self.latencies: list[float] = []
        self.all = asyncio.Event()

    def note(self, text: bytes | memoryview) -> None:
        self.count += 1
        if not self.count % 16:
            self.latencies.append(latency_s(text))
        if self.count >= self.expected:
            self.all.set()


Send = Callable[[int], Awaitable[None]]


async def paced(settings: dict[str, Any], send: Send) -> None:
    """Send so many in turns of a batch, or at a rate."""
    left, rate, batch = settings["messages"], settings.get("rate"), settings.get("batch", BATCH)
    started = time.monotonic()
    sent = 0
    while left:
        count = 1 if rate else min(batch, left)
        await send(count)
        left -= count
        sent += count
        pause = started + sent / rate - time.monotonic() if rate else 0
        await asyncio.sleep(max(pause, 0))


async def bare(settings: dict[str, Any], tally: Tally) -> tuple[Send, Callable[[], int]]:
    """Length-prefixed messages on asyncio streams."""
    batched = settings["kind"].startswith("batched")

    async def read_one_by_one(reader: asyncio.StreamReader) -> None:
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            tally.note(await reader.readexactly(size))

    async def read_batches(reader: asyncio.StreamReader) -> None:
        rest = b""
        while data := await reader.read(1 << 18):
            rest += data
            at, end = 0, len(rest)
            while (
                at + 4 <= end and at + 4 + (size := int.from_bytes(rest[at : at + 4], "big")) <= end
            ):
                tally.note(rest[at + 4 : at + 4 + size])
                at += 4 + size
            rest = rest[at:]

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await (read_batches if batched else read_one_by_one)(reader)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()  # The end of the run.

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    say(port=server.sockets[0].getsockname()[1])
    ports = (await asyncio.to_thread(hear))["ports"]
    others = [port for at, port in enumerate(ports) if at != settings["number"]]
    writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for port in others]
    written = 0

    async def send(count: int) -> None:
        nonlocal written
        texts = [payload() for _ in range(count)]
        framed = [len(text).to_bytes(4, "big") + text for text in texts]
        for text in texts:
            tally.note(text)
        for writer in writers:
            for piece in [b"".join(framed)] if batched else framed:
                writer.write(piece)
                written += len(piece)
        for writer in writers:
            await writer.drain()

    return send, lambda: written


async def ordered(
    settings: dict[str, Any], tally: Tally, stack: AsyncExitStack
) -> tuple[Send, Callable[[], int]]:
    """A member of a group."""
    folder = stack.enter_context(tempfile.TemporaryDirectory())
    first = settings["number"] == 0
    ports = [] if first else (await asyncio.to_thread(hear))["ports"]
    group = await stack.enter_async_context(
        join(
            "bench",
            name=f"m{settings['number']}",
            listen=("127.0.0.1", 0),
            security=PLAIN_TCP,
            peers=[("127.0.0.1", port) for port in ports],
            protocol=settings["kind"].partition(",")[0],
            config=CONFIG,
            log=Path(folder) / "log" if "durable" in settings["kind"] else None,
        )
    )
    say(port=group.address[1])
    while len(group.members) < settings["members"]:
        await anext(group)
    stack.callback(asyncio.create_task(take(group, tally)).cancel)

    async def send(count: int) -> None:
        for _ in range(count):
            if not group.send_now(text := payload()):
                await group.send(text)

    return send, lambda: sum(link.bytes_sent for link in group.links.values())


async def take(group: Group, tally: Tally) -> None:
    async for event in group:
        for one in (event, *group.take_ready()):
            if type(one) is Delivery:
                tally.note(one.payload)


async def main(settings: dict[str, Any]) -> None:
    tally = Tally(settings["messages"] * settings["members"])
    async with AsyncExitStack() as stack:
        if settings["kind"].startswith(("bare", "batched")):
            send, written = await bare(settings, tally)
        else:
            send, written = await ordered(settings, tally, stack)
        say(ready=True)
        await asyncio.to_thread(hear)
        before, bytes_before = cpu_s(), written()
        await paced(settings, send)
        await tally.all.wait()
        latencies = sorted(tally.latencies)
        say(
            cpu_s=cpu_s() - before,
            deliveries=tally.count,
            bytes=written() - bytes_before,
            p50_s=latencies[len(latencies) // 2],
            p99_s=latencies[len(latencies) * 99 // 100],
            memory_kib=peak_kib(),
        )
        await asyncio.to_thread(hear)


if __name__ == "__main__":
    chosen = json.loads(sys.argv[1])
    factory = None
    if "uvloop" in chosen["kind"]:
        factory = importlib.import_module("uvloop").new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(main(chosen))
