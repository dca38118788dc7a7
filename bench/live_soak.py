"""Live members for an hour: a group of 4 and one of 16 durable members at the same time, under
load, while this happens to them in turn: a member is killed and started again; started again with
its clock set back by an hour; stopped for a while; deaf for a while; out of disk; everybody is sent
malformed input. Members judge what they get (`soak_member`); in the end all must have the same.

`python -m bench.live_soak [SECONDS [MOST]] [--write]`: an hour unless it is said, of the time in
which it runs (it may be paused), and no longer than MOST seconds by the clock; with `--write` it
writes docs/results/live-soak.md.
"""

import asyncio
import json
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from math import inf
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench.docs import ROOT, markdown
from bench.live import machine
from bench.made import signed
from tests.live.malformed import malformed

PAGE = ROOT / "docs" / "results" / "live-soak.md"
SIZES: Final = {4: 0.05, 16: 0.5}
"""Members, and how long each pauses between two messages, in seconds."""
HOUR_S: Final = 3600.0
ENOUGH_S: Final = 600.0
_STEP_S: Final = 0.2
_MALFORMED: Final = 200
_ROOM_BYTES: Final = 300_000
"""What any file of a member that will be out of disk may have: its log gets there in seconds."""


class Member:
    """One of them, in one process after the other."""

    def __init__(self, group: "Soak", name: str, port: int) -> None:
        self.group, self.name, self.port = group, name, port
        self.said: dict[str, Any] = {}
        """The last thing of each kind."""
        self.views: list[list[str]] = []
        self.process: asyncio.subprocess.Process | None = None

    async def start(self, *, clock_back_s: float = 0.0, file_bytes: int = 0) -> None:
        group = self.group
        settings = {
            "name": self.name, "port": self.port, "folder": str(group.folder),
            "seeds": [one.port for one in group.members], "pause_s": SIZES[group.size],
            "clock_back_s": clock_back_s, "file_bytes": file_bytes, "sends": group.has_begun,
        }  # fmt: skip
        self.said, self.views = {}, []
        pipe = asyncio.subprocess.PIPE
        self.process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "bench.soak_member", json.dumps(settings),
            stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, cwd=ROOT,
        )  # fmt: skip
        group.tasks.create_task(self._read(self.process))

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while line := await process.stdout.readline():
            said = json.loads(line)
            if "problem" in said:
                if not self.group.problems:
                    print(f"{self.group.size} members: {self.name}: {said['problem']}", flush=True)
                self.group.problems.append(f"{self.name}: {said['problem']}")
            self.group.tally["exclusions"] += "excluded" in said
            self.group.tally["gaps that may be"] += "gap" in said
            if "late" in said:
                self.group.note_late(said["late"], said["may_be"])
            if "mib" in said:
                self.group.note(self, said)
            if process is self.process:
                self.said |= said
        if process is self.process:
            self.said["over"] = await process.wait()

    def tell(self, **order: Any) -> None:
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(order).encode() + b"\n")

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(number)

    def sees(self, *names: str) -> bool:
        return set(self.said.get("view", ())) == set(names)


class Soak:
    """One group. The first member is never killed, so that its memory can be looked at."""

    def __init__(self, size: int, folder: Path, tasks: asyncio.TaskGroup, seed: int) -> None:
        self.size, self.folder, self.tasks = size, folder, tasks
        self.chance = random.Random(seed)
        self.has_begun = False
        """Who comes for the first time is not owed what was sent before."""
        self.problems: list[str] = []
        self.tally: Counter[str] = Counter()
        self.memory: list[float] = []
        """Of the first member, in MiB, as time goes by."""
        self.delivered: dict[tuple[str, int], int] = {}
        self.late: dict[str, bool] = {}
        """Messages that came after what was sent upon them: whether a member knows why."""
        with ExitStack() as held:
            free = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(size)]
            ports = [one.getsockname()[1] for one in free]
        self.members = [Member(self, f"m{number}", port) for number, port in enumerate(ports)]

    def note(self, member: Member, said: dict[str, Any]) -> None:
        assert member.process is not None
        if member is self.members[0]:
            self.memory.append(said["mib"])
        self.delivered[member.name, member.process.pid] = said["delivered"]

    def note_late(self, message: str, may_be: bool) -> None:
        self.tally["messages late"] += message not in self.late
        self.late[message] = may_be or self.late.get(message, False)

    async def until(self, condition: Callable[[], bool], what: str) -> None:
        waited_s = 0.0
        while not condition():
            await asyncio.sleep(_STEP_S)
            waited_s += _STEP_S
            if waited_s > ENOUGH_S:
                seen = {one.name: sorted(one.said.get("view", ())) for one in self.members}
                raise RuntimeError(f"{self.size} members: {what} did not come to pass: {seen}")

    async def all_in(self) -> None:
        names = [one.name for one in self.members]
        await self.until(lambda: all(one.sees(*names) for one in self.members), "one view")

    async def run(self, until: "Clock") -> None:
        for member in self.members:
            await member.start()
        await self.all_in()
        self.has_begun = True
        for member in self.members:
            member.tell(sends=True)
        ways = [self._kill, self._set_back, self._stop, self._deafen, self._fill, self._bother]
        turn = 0
        while not until.is_over:
            await asyncio.sleep(self.chance.uniform(1.0, 4.0))
            await ways[turn % len(ways)](self.chance.choice(self.members[1:]))
            await self.all_in()
            if self.problems:
                until.is_over = True
                break
            turn += 1
        for member in self.members:
            member.tell(sends=False)
        await asyncio.sleep(12.0)  # Until all have said what they have seen since.
        if not self.problems:
            await self.until(self._agree, "the same at all members")
            unexplained = [message for message, may_be in self.late.items() if not may_be]
            self.problems += [f"{one} came after what was sent upon it" for one in unexplained]
        for member in self.members:
            member.signal(signal.SIGKILL)

    def _agree(self) -> bool:
        """All have the same, and nothing more to come."""
        had = {json.dumps(one.said.get("last"), sort_keys=True) for one in self.members}
        return len(had) == 1 and not any(one.said.get("owed") for one in self.members)

    # -- what happens to them

    async def _kill(self, victim: Member, **settings: Any) -> None:
        self.tally["kills"] += 1
        victim.signal(signal.SIGKILL)
        await self.until(lambda: "over" in victim.said, f"the end of {victim.name}")
        if self.chance.random() < 0.5:  # Else it may be back before anybody has noticed.
            others = [one for one in self.members if one is not victim]
            names = [one.name for one in others]
            await self.until(lambda: all(one.sees(*names) for one in others), "the others go on")
        await victim.start(**settings)

    async def _set_back(self, victim: Member) -> None:
        self.tally["clocks set back"] += 1
        await self._kill(victim, clock_back_s=HOUR_S)

    async def _stop(self, victim: Member) -> None:
        self.tally["stops"] += 1
        victim.signal(signal.SIGSTOP)
        await asyncio.sleep(self.chance.uniform(0.2, 6.0))
        victim.signal(signal.SIGCONT)

    async def _deafen(self, victim: Member) -> None:
        self.tally["slow receivers"] += 1
        victim.tell(deaf_s=self.chance.uniform(2.0, 10.0))

    async def _fill(self, victim: Member) -> None:
        """It ends, says why, and goes on where it was when there is room again."""
        await self._kill(victim, file_bytes=_ROOM_BYTES)
        await self.until(lambda: "over" in victim.said, f"no room for {victim.name}")
        if "failed" not in victim.said:
            self.problems.append(f"{victim.name} ended without a word when its disk was full")
        self.tally["full disks"] += 1
        await victim.start()

    async def _bother(self, victim: Member) -> None:
        """Everybody gets malformed input."""
        for member in self.members:
            for _ in range(_MALFORMED):
                with suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", member.port)
                    writer.write(malformed(self.chance))
                    self.tally["malformed inputs"] += 1
                    writer.close()

    def row(self) -> tuple[str, ...]:
        part = max(1, len(self.memory) // 4)
        seconds, last = (median(self.memory[part : 2 * part] or [0.0]), median(self.memory[-part:]))
        numbers = [f"{self.tally[what]:,}" for what in HAPPENED]
        delivered = f"{sum(self.delivered.values()):,}"
        return (str(self.size), delivered, *numbers, f"{seconds:.0f}", f"{last:.0f}")


HAPPENED: Final = (
    "kills", "clocks set back", "stops", "slow receivers", "full disks", "malformed inputs",
    "exclusions", "gaps that may be", "messages late",
)  # fmt: skip
HEAD: Final = (
    "members", "deliveries", *HAPPENED, "MiB in the second quarter", "in the last quarter"
)  # fmt: skip
INTRODUCTION: Final = """# A long run of live members

Written by `python -m bench.live_soak --write`; do not edit. Two groups of durable members, in
processes of their own on one machine, at the same time and under load, for {minutes:.0f} minutes.
In turn one of them is killed and started again, started again with its clock set back by an hour,
stopped, deaf, or out of disk, and all are sent malformed input. Members that stood still for long
are excluded and come back by themselves. Every member judged what it was given, over all its lives:
nothing was lost, nothing came twice, and nothing before what it depends on but as documented, where
several were excluded at once ([order](../live.md)): of members that a *gap that may be* had named,
and *messages late*, of lives of their senders that had gone with the others who had them. In the
end nothing was owed, and all had the same. Memory is that of the member that is never killed, the
median of a quarter of the time.
{machine}, shared with other work.

"""


class Clock:
    """Counts the seconds in which this process runs."""

    def __init__(self, seconds: float, most_s: float) -> None:
        self.left_s = seconds
        self.passed_s = 0.0
        self.is_over = False
        self._ends_at = time.monotonic() + most_s

    async def run(self, tell: Callable[[], None]) -> None:
        told_s = self.left_s
        while self.left_s > 0 and time.monotonic() < self._ends_at and not self.is_over:
            before = time.monotonic()
            await asyncio.sleep(0.5)
            ran_s = min(time.monotonic() - before, 1.0)
            self.left_s -= ran_s
            self.passed_s += ran_s
            if told_s - self.left_s > 60:
                told_s = self.left_s
                tell()
        self.is_over = True


async def soak(clock: Clock, seed: int = 1) -> list[Soak]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            async with asyncio.TaskGroup() as tasks:
                groups = []
                for size in SIZES:
                    path = Path(folder) / str(size)
                    path.mkdir()
                    groups.append(Soak(size, path, tasks, seed))
                    tasks.create_task(groups[-1].run(clock))
                tasks.create_task(clock.run(lambda: _tell(groups, clock)))
        finally:
            for group in groups:
                for member in group.members:
                    member.signal(signal.SIGKILL)
    return groups


def _tell(groups: list[Soak], clock: Clock) -> None:
    for group in groups:
        memory = f"{group.memory[-1]:.0f} MiB" if group.memory else "?"
        happened = ", ".join(f"{count} {what}" for what, count in group.tally.items())
        delivered = f"{sum(group.delivered.values()):,} deliveries"
        print(
            f"{clock.left_s:.0f} s left; {group.size} members: {delivered}, {happened}, {memory}",
            flush=True,
        )


def main(seconds: float = HOUR_S, most_s: float = inf, *, write: bool = False) -> None:
    clock = Clock(seconds, most_s)
    groups = asyncio.run(soak(clock))
    problems = [problem for group in groups for problem in group.problems]
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(1)
    table = markdown(HEAD, [group.row() for group in groups])
    print(table)
    if write:
        text = INTRODUCTION.format(minutes=clock.passed_s / 60, machine=machine())
        PAGE.write_text(signed(text + table), "utf-8")


if __name__ == "__main__":
    numbers = [float(one) for one in sys.argv[1:] if one != "--write"]
    main(*numbers, write="--write" in sys.argv[1:])
