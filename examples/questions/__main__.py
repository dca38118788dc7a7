"""`python -m examples.questions [--broker redis|nats] [--url URL] [--out DIR]`

Runs the shop against a broker (one that it starts itself, unless there is a URL), shows the
dashboard what was published, first as it comes and then in causal order, and writes a page with
both side by side.
"""

import argparse
import asyncio
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from antecede.brokers import causal
from antecede.brokers.connect import client_of, place_teller
from antecede.brokers.record import Record
from antecede.errors import Misuse
from antecede.verify import verify_trace
from antecede.view import write_view
from examples.questions.shop import TOPICS, Dashboard, customer, desk, till

CUSTOMERS = ("alice", "bob")
VISITS = 20
PROGRAMS = {"redis": "redis-server", "nats": "nats-server"}


@contextmanager
def broker(name: str) -> Iterator[str]:
    """A broker of our own on loopback: its URL."""
    program = PROGRAMS[name]
    path = shutil.which(program, path=sysconfig.get_path("scripts")) or shutil.which(program)
    if path is None:
        raise Misuse(f"there is no {program} here; install one, or give --url")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with tempfile.TemporaryDirectory() as folder:
        if name == "redis":
            command = [path, "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", folder]
        else:
            command = [path, "--addr", "127.0.0.1", "--port", port, "-js", "-sd", folder]
        quiet = subprocess.DEVNULL
        server = subprocess.Popen(command, stdout=quiet, stderr=quiet)
        try:
            until = time.monotonic() + 20
            while time.monotonic() < until:
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                        break
                time.sleep(0.05)
            yield f"{name}://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


async def prepare(client: Any) -> None:
    """JetStream wants its streams made first; Redis makes them by itself."""
    if hasattr(client, "add_stream"):
        for topic in TOPICS:
            await client.add_stream(name=topic, subjects=[topic])
    bus: Any
    async with causal(client, TOPICS) as bus:
        if used := [topic for topic, end in sorted(bus.places().items()) if end]:
            raise Misuse(f"topics hold another day's messages: {', '.join(used)}; delete them")


async def open_shop(url: str, out: Path) -> list[Dashboard]:
    """A day in the shop, and two looks at it."""
    visits = len(CUSTOMERS) * VISITS
    async with client_of(url) as client:
        await prepare(client)
        await asyncio.gather(
            *[customer(client, name, VISITS) for name in CUSTOMERS],
            desk(client, visits),
            till(client, visits),
        )
        boards = []
        for hold, name in ((False, "broken"), (True, "mended")):
            board = Dashboard()
            record = Record(place_teller(url))
            await board.follow(client, 4 * visits, hold, record)
            record.write(out / f"{name}.parquet", name, force=True)
            boards.append(board)
    return boards


def tell(title: str, board: Dashboard, trace: Path) -> None:
    verdict = verify_trace(trace)
    print(f"{title}: {len(board.complaints)} complaints, {board.earned} earned")
    for complaint in board.complaints[:3]:
        print(f"  {complaint}")
    print(f"  the auditor: {verdict.violations} early deliveries of {verdict.deliveries}")
    if verdict.witnesses:
        print(f"  {verdict.witnesses[0].sentence()}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.questions", description=__doc__)
    parser.add_argument("--broker", choices=sorted(PROGRAMS), default="redis")
    parser.add_argument("--url", help="a broker that runs already; its topics should be empty")
    parser.add_argument("--out", type=Path, default=Path("build/questions"))
    chosen = parser.parse_args(arguments)
    chosen.out.mkdir(parents=True, exist_ok=True)
    try:
        if chosen.url:
            boards = asyncio.run(open_shop(chosen.url, chosen.out))
        else:
            with broker(chosen.broker) as url:
                boards = asyncio.run(open_shop(url, chosen.out))
    except Misuse as error:
        print(f"questions: {error}", file=sys.stderr)
        return 2
    broken, mended = chosen.out / "broken.parquet", chosen.out / "mended.parquet"
    tell("as it comes", boards[0], broken)
    tell("in causal order", boards[1], mended)
    print(f"  longest wait: {1e3 * boards[1].longest_wait_s:.1f} ms")
    page = write_view(broken, chosen.out / "page.html", compare=mended, force=True)
    print(f"both side by side: {page}")
    return 0 if not boards[1].complaints else 1


if __name__ == "__main__":
    sys.exit(main())
