"""Members in processes of their own, and a judge of what they recorded."""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from antecede.live import finish
from antecede.verify import verify_trace

ROOT = Path(__file__).resolve().parents[2]
MAIN = "from antecede.cli import main; main()"
ENOUGH_S = 60.0
"""For anything that must not hang; nothing waits for it to pass."""


class Process:
    """A program that talks in lines of JSON."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, text: bool = False) -> None:
        self.name = name
        self.process = process
        self._text = text
        self.said: list[dict[str, Any]] = []
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while line := await self.process.stdout.readline():
            plain = {"event": "line", "line": line.decode().rstrip()}
            self.said.append(plain if self._text else json.loads(line))
            self._news.set()
        self.said.append({"event": "over", "line": ""})
        self._news.set()

    def tell(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() + b"\n")

    def do(self, what: str, **details: Any) -> None:
        self.tell(json.dumps({"do": what, **details}))

    async def until(
        self,
        condition: Callable[[dict[str, Any]], bool],
        since: int = 0,
        seconds: float = ENOUGH_S,
    ) -> Any:
        """Something that it says, or has said since then."""
        try:
            async with asyncio.timeout(seconds):
                while True:
                    for said in self.said[since:]:
                        if condition(said):
                            return said
                    if self.said and self.said[-1]["event"] == "over":
                        raise AssertionError(f"{self.name} ended: {self.said[-5:]}")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(f"{self.name} said only {self.said[-8:]}") from None

    async def says(self, event: str, since: int = 0, group: str | None = None) -> dict[str, Any]:
        found: dict[str, Any] = await self.until(
            lambda said: said["event"] == event and group in (None, said.get("group")), since
        )
        return found

    async def sees(self, *members: str, since: int = 0, group: str = "vector") -> None:
        """The members of a view are these."""
        await self.until(
            lambda said: (
                said["event"] == "view"
                and said["group"] == group
                and set(said["members"]) == set(members)
            ),
            since,
        )

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def over(self) -> int:
        """Wait for its end."""
        return await asyncio.wait_for(self.process.wait(), ENOUGH_S)

    async def close(self) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()
        await self._reading


class Cluster:
    def __init__(self, folder: Path, protocols: tuple[str, ...]) -> None:
        self.folder = folder
        self.protocols = protocols
        self.members: dict[str, Process] = {}
        self.ports: dict[str, int] = {}
        self._all: list[Process] = []

    async def spawn(self, name: str, *command: str, text: bool = False) -> Process:
        """A process that talks in JSON, or in plain lines."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        )
        started = Process(name, process, text)
        self._all.append(started)
        return started

    async def start(self, name: str, *peers: str, **settings: Any) -> Process:
        """Start a member and wait until it listens."""
        chosen = {
            "name": name,
            "peers": [self.ports[peer] for peer in peers],
            "protocols": self.protocols,
            "record": str(self.folder),
            "seed": len(self._all),
            **settings,
        }
        member = await self.spawn(name, "-m", "tests.live.member", json.dumps(chosen))
        self.ports[name] = (await member.says("listening"))["port"]
        self.members[name] = member
        return member

    async def start_all(self, *names: str) -> list[Process]:
        """Several members, the first of which founds the group; all see each other."""
        first, *others = names
        members = [await self.start(first)]
        members += await asyncio.gather(*(self.start(name, first) for name in others))
        for member in members:
            for protocol in self.protocols:
                await member.sees(*names, group=protocol)
        return members

    async def sent(self, *members: Process) -> None:
        """They have sent what they were told to."""
        for member in members:
            for protocol in self.protocols:
                await member.says("sent", group=protocol)

    async def end(self, *members: Process) -> None:
        """All that was sent has arrived, and the members leave."""
        marks = [len(member.said) for member in members]
        for member in members:
            member.do("end")
        for member, mark in zip(members, marks, strict=True):
            for protocol in self.protocols:
                await member.says("ended", since=mark, group=protocol)
        for member in members:
            member.do("leave")
        for member in members:
            assert await member.over() == 0, f"{member.name}: {member.said[-3:]}"

    async def close(self) -> None:
        for process in self._all:
            await process.close()


@asynccontextmanager
async def cluster(folder: Path, *protocols: str) -> AsyncIterator[Cluster]:
    made = Cluster(folder, protocols or ("vector",))
    try:
        yield made
    finally:
        await made.close()


def load(processes: Iterable[Process], count: int = 150, pause_s: float = 0.02) -> None:
    for process in processes:
        process.do("send", count=count, pause_s=pause_s)


def judge(folder: Path, *, causal: bool = True, early: str = "") -> Counter[str]:
    """What was recorded is as promised. Counts what happened, for tests to see that it did.
    `early` left while others talked, and is owed nothing more."""
    finish(folder)
    verdict = verify_trace(folder)
    if causal:
        assert verdict.violations == 0, verdict.witnesses[:3]
    table = pq.read_table(folder)
    rows = table.to_pylist()
    tally: Counter[str] = Counter(row["kind"] for row in rows)
    crashed = {row["process"] for row in rows if row["kind"] == "crash"}
    delivered: dict[tuple[str, int], list[str]] = {}
    for row in rows:
        if row["kind"] == "deliver":
            delivered.setdefault((row["sender"], row["number"]), []).append(row["process"])
    for row in rows:
        if row["kind"] != "send":
            continue
        message = (row["process"], row["number"])
        got = delivered.get(message, [])
        assert len(got) == len(set(got)), f"{message} came twice somewhere"
        owed = {to for to in row["destinations"] if to.split(".")[0] != early} - crashed
        if row["process"] not in crashed or owed & set(got):
            missing = owed - set(got)
            assert not missing, f"{message} of {row['process']} never reached {missing}"
    tally["crashed"] = len(crashed)
    return tally
