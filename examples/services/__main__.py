"""`python -m examples.services [--orders N] [--out DIR]`

Starts three services with certificates of their own, kills one of them in the middle of its work,
starts it again with the same command, and looks whether anything was lost, doubled or out of order.
"""

import argparse
import asyncio
import json
import signal
import socket
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from antecede.errors import Misuse
from antecede.live import finish
from antecede.live.certificates import make_certificates
from antecede.verify import verify_trace
from antecede.view import write_view
from examples.services.service import TOPICS

NAMES = sorted(TOPICS)
KILLED = "stock"
_ENOUGH_S = 120.0
"""For anything that must not hang."""


class Service:
    """A process, and what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.said: list[dict[str, Any]] = []

    async def until(self, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The next thing of that kind that it says."""
        assert self.process.stdout is not None  # noqa: S101 - for the type checker
        with suppress(TimeoutError):
            async with asyncio.timeout(_ENOUGH_S):
                while line := await self.process.stdout.readline():
                    self.said.append(json.loads(line))
                    if is_it(self.said[-1]):
                        return self.said[-1]
        raise Misuse(f"a service ended or stands still; it said {self.said[-3:]}")

    def tell(self, customers: int) -> None:
        assert self.process.stdin is not None  # noqa: S101
        self.process.stdin.write(b"%d\n" % customers)

    def close_input(self) -> None:
        assert self.process.stdin is not None  # noqa: S101
        self.process.stdin.close()

    async def end(self) -> None:
        """Ask it to leave, and wait until it has."""
        with suppress(ProcessLookupError):  # It has left by itself.
            self.process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(_ENOUGH_S):
            await self.process.communicate()

    async def sees(self, *members: str) -> None:
        await self.until(lambda said: set(said.get("members", ())) == {*members})


class Shop:
    """The three of them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with ExitStack() as stack:
            sockets = [stack.enter_context(socket.socket()) for _ in NAMES]
            for one in sockets:
                one.bind(("127.0.0.1", 0))
            self.seeds = [f"127.0.0.1:{one.getsockname()[1]}" for one in sockets]
        self.running: dict[str, Service] = {}

    async def start(self, name: str) -> Service:
        """For the first time and again: it is the same command."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "examples.services.service", name, str(self.folder), *self.seeds,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        self.running[name] = Service(process)
        return self.running[name]

    async def close(self) -> None:
        for service in self.running.values():
            if service.process.returncode is None:
                service.process.kill()
            await service.process.wait()


async def open_shop(shop: Shop, orders: int) -> dict[str, Any]:
    """A day in the shop; what the desk says in the end."""
    try:
        desk, stock, _ = [await shop.start(name) for name in NAMES]
        await desk.sees(*NAMES)
        print(f"started: {', '.join(NAMES)}")
        early = max(orders // 3, 1)
        desk.tell(early)
        await desk.until(lambda said: said.get("count", 0) >= early // 2)
        stock.process.kill()
        await stock.process.wait()
        print(f"killed: {KILLED}, while it was at work on {early} orders")
        await desk.sees(*(name for name in NAMES if name != KILLED))
        desk.tell(orders - early)
        print(f"meanwhile {orders - early} more orders came")
        await shop.start(KILLED)
        print(f"started again: {KILLED}, with the same command")
        desk.close_input()
        done = await desk.until(lambda said: said["event"] == "done")
        for service in shop.running.values():
            await service.end()
        done["complaints"] += sum(said["event"] == "complaint" for said in desk.said)
        return done
    finally:
        await shop.close()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.services", description=__doc__)
    parser.add_argument("--orders", type=int, default=60)
    parser.add_argument("--out", type=Path, help="a new folder; by default a temporary one")
    chosen = parser.parse_args(arguments)
    folder = chosen.out or Path(tempfile.mkdtemp(prefix="services-"))
    try:
        if folder.exists() and any(folder.iterdir()):
            raise Misuse(f"{folder} has logs of another day, or other files; name a new folder")
        make_certificates(NAMES, folder / "certs")
        done = asyncio.run(open_shop(Shop(folder), chosen.orders))
    except Misuse as error:
        print(f"services: {error}", file=sys.stderr)
        return 2
    traces = folder / "traces"
    finish(traces)
    verdict = verify_trace(traces)
    print(f"charged: {chosen.orders} orders; earned {done['earned']} of {done['expected']}")
    print(f"complaints: {done['complaints']}")
    print(f"the auditor: {verdict.deliveries} deliveries, {verdict.violations} out of order")
    page = write_view(traces, folder / "page.html", force=True)
    print(f"recordings: {traces}; as a picture: {page}")
    is_well = done["earned"] == done["expected"] and not done["complaints"]
    return 0 if is_well and not verdict.violations else 1


if __name__ == "__main__":
    sys.exit(main())
