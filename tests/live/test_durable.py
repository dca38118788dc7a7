"""Durable members that are killed and started again, in processes of their own: over all lives of
all members nothing is lost, doubled or out of order."""

import asyncio
import json
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.live.cluster import ENOUGH_S, Process, cluster


class Seen(NamedTuple):
    sender: str
    number: int
    token: str
    after: dict[str, int]


class Lives:
    """Members by name, each of them in one life after the other."""

    def __init__(self, folder: Path, spawn: Callable[..., Any]) -> None:
        self.folder = folder
        self._spawn = spawn
        self.members: dict[str, Process] = {}
        self._ports: dict[str, int] = {}
        self._count: dict[str, int] = {}
        self._reserved: dict[str, int] = {}

    def reserve(self, *names: str) -> list[int]:
        """Ports that these members listen on, in all their lives."""
        with ExitStack() as held:
            for name in names:
                free = held.enter_context(socket.create_server(("127.0.0.1", 0)))
                self._reserved[name] = free.getsockname()[1]
        return list(self._reserved.values())

    async def start(self, name: str, *peers: str, **settings: Any) -> Process:
        self._count[name] = self._count.get(name, 0) + 1
        chosen = {
            "name": name,
            "life": self._count[name],
            "folder": str(self.folder),
            "peers": [self._ports[peer] for peer in peers],
            "port": self._reserved.get(name, 0),
            **settings,
        }
        command = ("-m", "tests.live.durable_member", json.dumps(chosen))
        member: Process = await self._spawn(name, *command)
        self._ports[name] = (await member.says("listening"))["port"]
        self.members[name] = member
        return member

    async def start_all(self, *names: str, **settings: Any) -> None:
        first, *others = names
        await self.start(first, **settings)
        for name in others:
            await self.start(name, first, **settings)
        for member in self.members.values():
            await member.sees(*names, group="durable")

    async def kill(self, name: str) -> None:
        """The others go on without it."""
        marks = {one: len(member.said) for one, member in self.members.items()}
        self.members.pop(name).signal(signal.SIGKILL)
        names = tuple(self.members)
        for one, member in self.members.items():
            await member.sees(*names, since=marks[one], group="durable")

    async def return_(self, name: str, **settings: Any) -> Process:
        peer, *_ = self.members
        member = await self.start(name, peer, **settings)
        await member.sees(*self.members, group="durable")
        return member

    def sent(self) -> set[str]:
        return {
            json.loads(line)[0]
            for file in self.folder.glob("*.sent")
            for line in file.read_text().splitlines()
        }

    def seen(self, name: str) -> list[Seen]:
        """What the application of a member saw over all its lives, without what it was given again
        because it had not asked for more when it was killed."""
        whole: list[Seen] = []
        for life in range(1, self._count[name] + 1):
            lines = (self.folder / f"{name}.{life}.seen").read_text().splitlines()
            part = [Seen(*json.loads(line)) for line in lines]
            tokens = [one.token for one in part]
            again = 0
            for length in range(min(len(whole), len(part)), 0, -1):
                if [one.token for one in whole[-length:]] == tokens[:length]:
                    again = length
                    break
            whole += part[again:]
        return whole

    async def until_all_seen(self, *names: str) -> None:
        """Every message whose sending was over has come to all of these."""
        async with asyncio.timeout(ENOUGH_S):
            while any(self.sent() - {one.token for one in self.seen(name)} for name in names):
                await asyncio.sleep(0.1)


@asynccontextmanager
async def lives(folder: Path) -> AsyncIterator[Lives]:
    async with cluster(folder) as processes:
        yield Lives(folder, processes.spawn)


def problems(found: Lives, *names: str) -> list[str]:
    wrong = []
    for name in names:
        seen = found.seen(name)
        place = {(one.sender, one.number): at for at, one in enumerate(seen)}
        last: dict[str, int] = {}
        for at, one in enumerate(seen):
            if one.number != last.get(one.sender, 0) + 1:
                before = last.get(one.sender, 0)
                wrong.append(f"{name} got {one.sender}:{one.number} after {before}")
            last[one.sender] = one.number
            wrong += [
                f"{name} got {one.sender}:{one.number} before {sender}:{number}"
                for sender, number in one.after.items()
                if place.get((sender, number), len(seen)) > at
            ]
    return wrong


def load(members: Any, count: int = 100, pause_s: float = 0.01) -> None:
    for member in members:
        member.do("send", count=count, pause_s=pause_s)


def test_killed_under_load_and_started_again_one_by_one(tmp_path: Path) -> None:
    async def run() -> None:
        async with lives(tmp_path) as found:
            await found.start_all("a", "b", "c")
            load(found.members.values(), count=400)
            for name in ("c", "b", "a"):
                await asyncio.sleep(0.3)
                await found.kill(name)
                again = await found.return_(name)
                load([again])
            await found.until_all_seen("a", "b", "c")
            assert not problems(found, "a", "b", "c")
            assert len(found.seen("a")) > 500

    asyncio.run(run())


def test_killed_while_it_catches_up(tmp_path: Path) -> None:
    async def run() -> None:
        async with lives(tmp_path) as found:
            await found.start_all("a", "b", "c", frame_bytes=60_000)
            await found.kill("c")
            load(found.members.values(), count=300, pause_s=0)
            for member in found.members.values():
                await member.says("sent")
            dying = await found.start("c", "a", frame_bytes=60_000, dies_at=50)
            assert await dying.over() == -signal.SIGKILL
            del found.members["c"]
            assert len(found.seen("c")) == 50
            await found.return_("c", frame_bytes=60_000)
            await found.until_all_seen("a", "b", "c")
            assert not problems(found, "a", "b", "c")

    asyncio.run(run())


def test_stopped_for_too_long_under_load(tmp_path: Path) -> None:
    """Excluded while it sends, it joins anew by itself and loses nothing."""

    async def run() -> None:
        async with lives(tmp_path) as found:
            await found.start_all("a", "b", "c")
            a, c = found.members["a"], found.members["c"]
            load(found.members.values(), count=300)
            await asyncio.sleep(0.3)
            mark = len(a.said)
            c.signal(signal.SIGSTOP)
            await a.sees("a", "b", since=mark, group="durable")
            c.signal(signal.SIGCONT)
            await c.says("excluded")
            for member in found.members.values():
                await member.says("sent")
            await found.until_all_seen("a", "b", "c")
            assert not problems(found, "a", "b", "c")
            assert len(found.seen("c")) == 900

    asyncio.run(run())


def test_killed_as_soon_as_it_had_sent(tmp_path: Path) -> None:
    async def run() -> None:
        async with lives(tmp_path) as found:
            await found.start_all("a", "b", "c")
            for _ in range(3):
                found.members["c"].do("send", count=1, pause_s=0, dies=True)
                del found.members["c"]
                await found.return_("c")
            await found.until_all_seen("a", "b", "c")
            assert len(found.sent()) == 3
            assert not problems(found, "a", "b", "c")

    asyncio.run(run())


def test_all_killed_at_once_and_the_group_founded_anew(tmp_path: Path) -> None:
    async def run() -> None:
        async with lives(tmp_path) as found:
            await found.start_all("a", "b", "c")
            load(found.members.values(), count=50)
            await asyncio.sleep(0.2)
            for member in found.members.values():
                member.signal(signal.SIGKILL)
            found.members.clear()
            first = await found.start("b", found_anew=True)
            await found.start("c", "b")
            await found.start("a", "b")
            await first.sees("a", "b", "c", group="durable")
            await found.until_all_seen("a", "b", "c")
            for name in ("a", "b", "c"):
                seen = [(one.sender, one.number) for one in found.seen(name)]
                assert len(set(seen)) == len(seen)

    asyncio.run(run())


def test_the_giver_of_a_state_dies(tmp_path: Path) -> None:
    async def run() -> None:
        async with lives(tmp_path) as found:
            a = await found.start("a", durable=False, stalls=True)
            b = await found.start("b", "a", durable=False)
            await b.sees("a", "b", group="durable")
            load([a, b], count=20)
            for member in (a, b):
                await member.says("sent")
            c = await found.start("c", "a", durable=False, wants_state=True)
            await a.says("wanted")
            load([b], count=20)
            a.signal(signal.SIGKILL)
            state = (await c.says("state"))["tokens"]
            del found.members["a"]
            load([b], count=20)
            await c.until(lambda said: said.get("members") == ["b", "c"])
            async with asyncio.timeout(ENOUGH_S):
                while len(found.seen("b")) < 80:
                    await asyncio.sleep(0.05)
                while len(found.seen("c")) + len(state) < 80:
                    await asyncio.sleep(0.05)
            before = [one.token for one in found.seen("b")]
            after = state + [one.token for one in found.seen("c")]
            assert sorted(after) == sorted(before)

    asyncio.run(run())
