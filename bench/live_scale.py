"""Large live groups: how long they take to form one view, what they take of a core while nothing
happens, and whether anybody is excluded while the machine is busy. The most senior member, which
has most to do, has a process to itself; the others share processes, some in each, with an event
loop a process, and CPU time is that of the processes, divided by their members.
`python -m bench.live_scale [tls] 32 [MEMBERS ...]` for other sizes."""

import asyncio
import json
import logging
import os
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import trustme

from antecede.live import PLAIN_TCP, Certificates, Excluded, Group, Security, ViewChange, join
from antecede.live.logs import LOGGER
from bench.docs import ROOT, markdown
from bench.live import machine
from bench.made import signed
from tests.live.served import certificates

PAGE = ROOT / "docs" / "results" / "live-scale.md"
HEAD = (
    "members", "links", "one view after, s", "all links after, s",
    "idle: % of a core for the most senior", "for others", "views while idle",
    "views with busy processes",
)  # fmt: skip
RUNS = ((64, True), (64, False), (32, False), (8, False))
IN_A_PROCESS = 8
IDLE_S = 10.0
LOAD = 20
LOAD_S = 20.0
ENOUGH_S = 600.0
HANDSHAKES = 200


def main(runs: Sequence[tuple[int, bool]] = RUNS) -> None:
    with tempfile.TemporaryDirectory() as folder:
        authority = trustme.CA()
        for number in range(max(size for size, tls in runs) if any(t for _, t in runs) else 0):
            certificates(Path(folder), authority, f"m{number}")
        rows = [asyncio.run(_measure(size, folder if tls else "")) for size, tls in runs]
        handshake_s = _handshake_s(folder) if any(tls for _, tls in runs) else 0.0
    if runs is RUNS:
        largest = max(size for size, tls in runs if tls)
        pairs, cores = largest * (largest - 1), os.cpu_count() or 1
        text = INTRODUCTION.format(
            busy=LOAD, load_s=LOAD_S, idle_s=IDLE_S, machine=machine(), largest=largest,
            pairs=f"{pairs:,}", handshake_ms=1000 * handshake_s, cores=cores,
            floor_s=pairs * handshake_s / cores,
        )  # fmt: skip
        PAGE.write_text(
            signed(text + markdown(HEAD, sorted(rows, key=lambda row: (int(row[0]), row[1])))),
            "utf-8",
        )


INTRODUCTION = """# Large live groups

Written by `python -m bench.live_scale`; do not edit. All members but one start at once and ask
that one to be let in. The most senior member, which has most to do, has a process to itself; the
others share processes, eight in each. Links between all pairs stand a while after the view: until
then the most senior member says who lives. CPU time is over {idle_s:g} s after that, in which
nothing is sent, divided by the members of a process. Then {busy} other processes keep the machine
busy for {load_s:g} s: views that come then would be of members that were wrongly taken for dead.

With TLS, {largest} members shake hands {pairs} times, once in each direction of each pair. One
handshake (TLS 1.3, both ends prove who they are, ECDSA on P-256 as `antecede certs` makes them)
takes {handshake_ms:.1f} ms of CPU at both ends together, without any network: so {cores} cores need
{floor_s:.1f} s for that alone. {machine}.

"""


def _handshake_s(folder: str) -> float:
    """CPU time of one handshake, both ends."""
    security = Certificates(*(Path(folder) / one for one in ("authority.pem", "m0.pem", "m0.key")))
    server, client = security.server(), security.client()
    began = time.process_time()
    for _ in range(HANDSHAKES):
        to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            client.wrap_bio(to_client, to_server),
            server.wrap_bio(to_server, to_client, server_side=True),
        )
        for end in (*ends, *ends):
            with suppress(ssl.SSLWantReadError):
                end.do_handshake()
    return (time.process_time() - began) / HANDSHAKES


async def _measure(size: int, folder: str) -> tuple[str, ...]:
    """One run, as a row of the table; with a folder of certificates, with TLS."""
    workers = [await Worker.start(size, 0, folder)]
    try:
        founder = await workers[0].says("port")
        firsts = range(1, size, IN_A_PROCESS)
        workers += [await Worker.start(size, first, folder) for first in firsts]
        for worker in workers[1:]:
            await worker.says("ready")
        began = time.monotonic()
        for worker in workers:
            worker.tell({"port": founder["port"]})
        formed = [(await worker.says("formed"))["formed"] for worker in workers]
        formed_s = time.monotonic() - began
        print(
            f"{size} members: one view after {formed_s:.1f} s, {formed[0]} views till then",
            flush=True,
        )
        for worker in workers:
            await worker.says("linked")
        linked_s = time.monotonic() - began
        print(f"{size} members: all links after {linked_s:.1f} s", flush=True)
        shares, idle_views = await _over(workers, IDLE_S)
        print(
            f"{size} members: idle, {100 * shares[0]:.2f} % of a core for the most senior, "
            f"{100 * max(shares[1:]):.2f} % for others, {idle_views} views",
            flush=True,
        )
        busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(LOAD)]
        try:
            _, views = await _over(workers, LOAD_S)
        finally:
            for one in busy:
                one.kill()
                one.wait()
        print(f"{size} members: {LOAD} busy processes for {LOAD_S:g} s, {views} views", flush=True)
        percent = [f"{100 * one:.2f}" for one in (shares[0], max(shares[1:]))]
        links = "TLS" if folder else "TCP"
        times = (f"{formed_s:.1f}", f"{linked_s:.1f}")
        return (str(size), links, *times, *percent, str(idle_views), str(views))
    finally:
        for worker in workers:
            await worker.end()


async def _over(workers: "list[Worker]", seconds: float) -> tuple[list[float], int]:
    """The share of a core of a member in each process, and the most views that anybody saw."""
    before = [await worker.asked() for worker in workers]
    began = time.monotonic()
    await asyncio.sleep(seconds)
    after = [await worker.asked() for worker in workers]
    passed = time.monotonic() - began
    pairs = list(zip(before, after, strict=True))
    shares = [(b["cpu_s"] - a["cpu_s"]) / passed / b["members"] for a, b in pairs]
    return shares, max(b["views"] - a["views"] for a, b in pairs)


class Worker:
    """A process with some members."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, size: int, first: int, folder: str) -> "Worker":
        pipe = asyncio.subprocess.PIPE
        what = ("bench.live_scale", "worker", str(size), str(first), folder)
        command = (sys.executable, "-m", *what)
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))

    def tell(self, what: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(what).encode() + b"\n")

    async def says(self, key: str) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await asyncio.wait_for(self.process.stdout.readline(), ENOUGH_S)
        found: dict[str, Any] = json.loads(line)
        if key not in found:
            raise RuntimeError(f"a process with members says {found}, not {key}")
        return found

    async def asked(self) -> dict[str, Any]:
        self.tell({})
        return await self.says("cpu_s")

    async def end(self) -> None:
        self.process.kill()
        await self.process.wait()


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def _security(folder: str, name: str) -> Security:
    if not folder:
        return PLAIN_TCP
    files = (Path(folder) / one for one in ("authority.pem", f"{name}.pem", f"{name}.key"))
    return Certificates(*files)


async def _work(size: int, first: int, folder: str) -> None:
    """Members from the first on."""
    LOGGER.setLevel(logging.ERROR)  # All wait for each other for a while, and say so.
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    last = min(first + IN_A_PROCESS, size) if first else 1
    names = [f"m{number}" for number in range(first, last)]
    groups: list[Group] = []
    views: dict[str, int] = {}
    async with AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:

        async def be(name: str, port: int) -> None:
            group = await stack.enter_async_context(
                join(
                    "scale", name=name, listen=("127.0.0.1", 0), security=_security(folder, name),
                    peers=[("127.0.0.1", port)] if port else [],
                )
            )  # fmt: skip
            groups.append(group)
            tasks.create_task(listen(group))

        async def listen(group: Group) -> None:
            async for event in group:
                if isinstance(event, ViewChange | Excluded):
                    views[group.me] = views.get(group.me, 0) + 1

        if first:
            _say(ready=True)
        else:
            await be(names.pop(0), 0)
            _say(port=groups[0].address[1])
        port = json.loads(await reader.readline())["port"]
        for name in names:
            await be(name, port)
        while not all(len(group.members) == size for group in groups):
            await asyncio.sleep(0.02)
        _say(formed=max(views.values()))
        while not all(
            sum(link.connected for link in group.links.values()) == size - 1 for group in groups
        ):
            await asyncio.sleep(0.02)
        _say(linked=True)
        while await reader.readline():
            _say(cpu_s=time.process_time(), members=len(groups), views=max(views.values()))


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        asyncio.run(_work(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]))
    else:
        sizes = [int(one) for one in sys.argv[1:] if one != "tls"]
        main([(size, "tls" in sys.argv[1:]) for size in sizes] or RUNS)
