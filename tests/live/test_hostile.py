"""One hostile process with valid certificates against three honest members: nobody is killed,
spoken for, evicted or starved by it. Each row of docs/security.md that is a promise is a test
here."""

import asyncio
import os
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pytest
import trustme

from antecede.live import Delivery, Excluded, Group, Settings, ViewChange, join
from antecede.live.member_machine import MemberMachine
from tests.live.cluster import ENOUGH_S, Cluster, Process
from tests.live.gathering import HERE
from tests.live.hostile import CONFIG, Hostile
from tests.live.served import certificates

T = TypeVar("T")
HONEST = ("a", "b", "c")
HOSTILE = tuple(f"m{number}" for number in range(40))
MEBIBYTE = 1 << 20
FLOODS = {
    "next": "messages for the next view",
    "ahead": "messages for views far ahead",
    "window": "messages beyond the window",
    "small": "many small items",
    "settle": "words of others",
}
"""What a hostile member sends too much of."""


class Arena:
    """Three honest members in this process, and a hostile one in another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.members: dict[str, Group] = {}
        self.events: dict[str, list[Any]] = {name: [] for name in HONEST}
        self._stack = AsyncExitStack()
        self._listening: list[asyncio.Task[None]] = []
        self._names = iter(HOSTILE)
        self._rounds = 0
        self.hostile: Process

    async def open(self) -> None:
        authority = trustme.CA()
        for name in (*HONEST, *HOSTILE):
            certificates(self.folder, authority, name)
        for name in HONEST:
            await self.add(name, Settings())
        for name in HONEST:
            await self.until(lambda name=name: set(self.members[name].members) == {*HONEST})
        self._cluster = Cluster(self.folder, ())
        port = str(self.members["a"].address[1])
        self.hostile = await self._cluster.spawn(
            "hostile", "-m", "tests.live.hostile", str(self.folder), port
        )
        await self.hostile.says("ready")

    async def add(self, name: str, settings: Settings) -> None:
        peers = [self.members["a"].address] if self.members else []
        security = Hostile(self.folder, 0).security(name)
        log = self.folder / "c.log" if name == "c" else None  # Attacks have to fail there, too.
        group = await self._stack.enter_async_context(
            join(
                "room", name=name, listen=HERE, security=security, peers=peers, config=CONFIG,
                settings=settings, log=log,
            )
        )  # fmt: skip
        self.members[name] = group
        self.events.setdefault(name, [])
        self._listening.append(asyncio.create_task(self._listen(name, group)))

    async def _listen(self, name: str, group: Group) -> None:
        async for event in group:
            if not isinstance(event, Delivery) or len(event.payload) < 100:
                self.events[name].append(event)

    async def close(self) -> None:
        await self._cluster.close()
        for task in self._listening:
            task.cancel()
        for group in self.members.values():
            group.pump.has_left = True
        await self._stack.aclose()

    async def until(self, condition: Any, seconds: float = 40.0) -> None:
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    # -- the hostile process

    async def enter(self, **details: Any) -> str:
        """Another hostile member, which all honest ones see."""
        name = next(self._names)
        since = len(self.hostile.said)
        self.hostile.do("join", name=name, **details)
        await self.hostile.until(lambda said: said == {"event": "in", "name": name}, since)
        await self.until(lambda: all(name in one.members for one in self.members.values()))
        return name

    async def attack(self, what: str, name: str = "", **details: Any) -> None:
        since = len(self.hostile.said)
        self.hostile.do(what, name=name, **details)
        seconds = details.get("seconds", 0.0) + ENOUGH_S
        await self.hostile.until(lambda said: said.get("what") == what, since, seconds)

    async def go(self, *names: str) -> None:
        """These die without a word; the honest ones go on alone."""
        for name in names:
            self.hostile.do("go", name=name)
        await self.until(lambda: all({*HONEST} == {*one.members} for one in self.members.values()))

    # -- what must hold

    async def is_well(self) -> None:
        """The honest members are there, and hear each other; nobody was evicted or forged."""
        self._rounds += 1
        text = b"well %d" % self._rounds
        for name in HONEST:
            async with asyncio.timeout(30.0):
                await self.members[name].send(text)
        await self.until(
            lambda: all(
                {*HONEST} <= {one.sender for one in self.said(name) if one.payload == text}
                for name in HONEST
            ),
            30.0,
        )
        for name in HONEST:
            assert {*HONEST} <= {*self.members[name].members}
            assert not any(isinstance(event, Excluded) for event in self.events[name])
            for event in self.events[name]:
                if isinstance(event, ViewChange):
                    assert not {*event.departed} & {*HONEST}
            assert not any(one.payload == b"forged" for one in self.said(name)), name
            assert self.members[name].pump.failure is None

    def said(self, name: str) -> list[Delivery]:
        return [event for event in self.events[name] if isinstance(event, Delivery)]

    def facts(self) -> dict[str, Any]:
        """What a stranger may know of the group."""
        core = self.members["a"].pump.core
        assert isinstance(core, MemberMachine)
        assert core.member is not None
        assert core.member.view is not None
        view = core.member.view
        return {"view": view.number, "members": [list(one) for one in view.members]}


class Running:
    """An event loop that outlives a test."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()

    def __call__(self, what: Coroutine[Any, Any, T], seconds: float = 120.0) -> T:
        return self._runner.run(asyncio.wait_for(what, seconds))

    def close(self) -> None:
        self._runner.close()


@pytest.fixture(scope="module")
def running() -> Iterator[Running]:
    made = Running()
    yield made
    made.close()


@pytest.fixture(scope="module")
def arena(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    made = Arena(tmp_path_factory.mktemp("arena"))
    running(made.open())
    yield made
    running(made.close())


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("what", ["lamport", "number", "short", "garbage", "untaken"])
def test_numbers_and_bytes_that_cannot_be(running: Running, arena: Arena, what: str) -> None:
    async def test() -> None:
        name = await arena.enter()
        await arena.attack(what, name)
        await arena.until(
            lambda: all({*HONEST} == {*one.members} for one in arena.members.values())
        )
        await arena.is_well()
        await arena.go(name)

    running(test())


@pytest.mark.parametrize("what", ["leaving", "shun", "decide", "decide_later", "reborn", "lead"])
def test_nobody_is_evicted_by_one_word(running: Running, arena: Arena, what: str) -> None:
    async def test() -> None:
        name = await arena.enter()
        await arena.attack(what, name, of="b")
        await arena.is_well()
        await arena.go(name)
        await arena.is_well()

    running(test())


def test_words_of_the_departed_cannot_be_made_up(running: Running, arena: Arena) -> None:
    async def test() -> None:
        liar, victim = await arena.enter(), await arena.enter()
        await arena.until(lambda: all(victim in one.members for one in arena.members.values()))
        await arena.attack("send", victim, text="true")
        await arena.attack("copies", liar, of=victim)
        await arena.attack("copies", liar, of="b")
        arena.hostile.do("go", name=victim)
        await arena.until(lambda: all(victim not in one.members for one in arena.members.values()))
        await arena.is_well()
        for name in HONEST:
            assert (victim, b"true") in [(one.sender, one.payload) for one in arena.said(name)]
        await arena.go(liar)

    running(test())


def test_messages_that_do_not_exist_hold_up_no_change_of_views(
    running: Running, arena: Arena
) -> None:
    async def test() -> None:
        liar, other = await arena.enter(), await arena.enter()
        await arena.attack("promise", liar)
        await arena.go(other, liar)
        await arena.is_well()

    running(test())


@pytest.mark.parametrize("what", ["direct", "decide", "leaving", "carried", "shun"])
def test_a_stranger_may_only_introduce_itself(running: Running, arena: Arena, what: str) -> None:
    async def test() -> None:
        port = arena.members["a"].address[1]
        await arena.attack("say", next(arena._names), item=what, port=port, **arena.facts())
        await arena.is_well()

    running(test())


class Flooded(NamedTuple):
    """Bytes: those that the hostile process sent, those that came, and by how much the honest
    process grew at most."""

    sent: int
    came: int
    grown: int


async def flood(arena: Arena, how: str, megabytes: int, seconds: float) -> Flooded:
    """A hostile member sends so much to one honest one, again and again when it is cut off."""
    name = await arena.enter()
    counters = arena.members["a"].pump._listener.counters
    came, before = counters.bytes_received, resident_bytes()
    most = before
    flooding = asyncio.create_task(
        arena.attack("flood", name, how=how, to="a", megabytes=megabytes, seconds=seconds)
    )
    while not flooding.done():
        await asyncio.sleep(0.02)
        most = max(most, resident_bytes())
    await flooding
    said = [one for one in arena.hostile.said if one["event"] == "flooded"]
    await arena.go(name)
    await arena.is_well()
    sent = said[-1]["megabytes"] * MEBIBYTE
    return Flooded(sent, counters.bytes_received - came, most - before)


@pytest.mark.parametrize("how", FLOODS)
def test_what_is_kept_of_a_peer_is_bounded(running: Running, arena: Arena, how: str) -> None:
    async def test() -> None:
        flooded = await flood(arena, how, megabytes=100, seconds=5.0)
        assert flooded.grown < 64 * MEBIBYTE, flooded

    running(test())


def test_mutated_traffic(running: Running, arena: Arena) -> None:
    async def test() -> None:
        for seed in range(3):
            name = await arena.enter()
            await arena.attack("mutate", name, seed=seed, count=40)
            await arena.is_well()
            await arena.go(name)

    running(test())


def test_half_open_connections_keep_nobody_out(running: Running, arena: Arena) -> None:
    """A newcomer joins within 5 s; on a busy machine, where anybody takes long, not much later than
    without them."""

    async def joined_in() -> tuple[str, float]:
        began = asyncio.get_running_loop().time()
        return await arena.enter(), asyncio.get_running_loop().time() - began

    async def test() -> None:
        name, usual_s = await joined_in()
        await arena.go(name)
        for name in HONEST:
            await arena.attack("half_open", count=2000 // 3, port=arena.members[name].address[1])
        name, took_s = await joined_in()
        assert took_s < max(5.0, 5 * usual_s)
        await arena.attack("close")
        await arena.go(name)
        await arena.is_well()

    running(test())
