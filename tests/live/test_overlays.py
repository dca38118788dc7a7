"""Overlays as real processes, from the files that the simulator takes."""

import asyncio
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from antecede.errors import BadFile, Misuse
from antecede.live import PLAIN_TCP, Delivery, Event, Group, Refused, finish, join_overlay
from antecede.order import Notice
from antecede.simulate import load_scenario
from antecede.verify import verify_trace
from tests.cli.conftest import Antecede, antecede
from tests.live.cluster import ENOUGH_S, MAIN, Cluster, Process, cluster, judge

__all__ = ["antecede"]  # a fixture

LINE = """
protocol = "separators"
topology = "line.graphml"
attach = ["west", "east", "east"]
messages = 10
"""
GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="west"/><node id="east"/><edge source="west" target="east"/></graph></graphml>"""
TWINS = """
protocol = "separators"
topology = "twins.graphml"
attach = ["west", "east", "east"]
messages = 10
[options]
forwarding = "all"
"""
TWIN_GRAPH = GRAPH.replace(
    '<edge source="west" target="east"/>',
    '<node id="north"/><node id="south"/>'
    + "".join(
        f'<edge source="{end}" target="{router}"/>'
        for end in ("west", "east")
        for router in ("north", "south")
    ),
)
"""West and east, joined by two routers that stand in for each other."""
MEMORY = """routes = "shortest"
write_ahead = true
recovery = "memory"
tidy = 0
regions = [[1, 2, 3, 4, 5]]
"""
"""What p0 knows is left out of all that goes to the others, and nobody else can put it back."""
P0_RETURNS = 'crashes = [{ process = "p0", time_s = 1, back_s = 9 }]\n'
DAISY = """
protocol = "daisy"
processes = 4
messages = 10
[options]
groups = [[0, 1], [2, 3]]
quorum = "survivors"
tick_s = 0.1
suspect_after_s = 2.5
flush_timeout_s = 2.5
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


async def start(nodes: Cluster, folder: Path, text: str) -> dict[str, Process]:
    """All processes of a scenario."""
    file = folder / "scenario.toml"
    file.write_text(text)
    (folder / "line.graphml").write_text(GRAPH)
    (folder / "twins.graphml").write_text(TWIN_GRAPH)
    scenario = load_scenario(file)
    names = scenario.process_names
    ports = free_ports(len(names))
    addresses = folder / "addresses.toml"
    lines = [f'"{name}" = "127.0.0.1:{port}"' for name, port in zip(names, ports, strict=True)]
    addresses.write_text("\n".join(lines))
    routers = names[scenario.applications.size :]
    return {
        name: await start_one(nodes, folder, name, "router" if name in routers else "application")
        for name in names
    }


async def start_one(
    nodes: Cluster, folder: Path, name: str, role: str = "application", record: str = "record"
) -> Process:
    flags = {
        "--name": name,
        "--role": role,
        "--scenario": str(folder / "scenario.toml"),
        "--addresses": str(folder / "addresses.toml"),
        "--record": str(folder / record),
    }
    listed = [text for flag in flags.items() for text in flag]
    return await nodes.spawn(name, "-c", MAIN, "node", "--plain-tcp", *listed)


def texts(process: Process) -> list[str]:
    return [said["text"] for said in process.said if said["event"] == "deliver"]


async def delivered(process: Process, *wanted: str) -> None:
    await process.until(lambda _: set(wanted) <= set(texts(process)))


async def leave(*processes: Process) -> None:
    for process in processes:
        assert process.process.stdin is not None
        process.process.stdin.close()
    for process in processes:
        assert await process.over() == 0


def test_routers_and_the_death_of_one_that_another_stands_in_for(tmp_path: Path) -> None:
    """Nothing is lost, whenever it happens: they talk on while north is killed."""

    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            every = await start(nodes, tmp_path, TWINS)
            p0, p1, p2, west, east, north, south = every.values()
            p0.tell("first")
            for process in (p1, p2):
                await delivered(process, "first")
            p1.tell("@p2,p0 second")
            await delivered(p2, "second")
            for number in range(20):
                for process in (p0, p1, p2):
                    process.tell(f"{process.name} {number}")
                if number == 10:
                    north.signal(signal.SIGKILL)
            for process in (p0, p1, p2):
                await delivered(process, "p0 19", "p1 19", "p2 19")
            await leave(p0, p1, p2)
            await leave(west, east, south)

    asyncio.run(run())
    tally = judge(tmp_path / "record")
    assert tally["send"] == 62
    assert tally["crashed"] == 1


def test_causal_servers_and_the_death_of_one(tmp_path: Path) -> None:
    """p0 and p2 are the servers of two local groups. p0 is killed, and p1 takes its place."""

    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            every = await start(nodes, tmp_path, DAISY)
            p0, p1, p2, p3 = every.values()
            for number in range(10):
                for process in every.values():
                    process.tell(f"{process.name} {number}")
            for process in every.values():
                await delivered(process, *(f"{name} 9" for name in every))
            p0.signal(signal.SIGKILL)
            for number in range(10, 20):
                for process in (p1, p2, p3):
                    process.tell(f"{process.name} {number}")
            for process in (p1, p2, p3):
                await delivered(process, "p1 19", "p2 19", "p3 19")
            await p1.says("server")
            await leave(p1, p2, p3)

    asyncio.run(run())
    tally = judge(tmp_path / "record")
    assert tally["crashed"] == 1


LEVELS = """
protocol = "daisy"
processes = 8
messages = 10
crashes = [{process = "p0", time_s = 1, back_s = 2}]
[options]
sizes = [2, 2, 2]
quorum = "survivors"
suspect_after_s = 5.0
flush_timeout_s = 5.0
"""


class Petal:
    """A process of a daisy in this event loop, and what it has seen."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.seen: list[Event] = []
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for event in self.group:
            self.seen.append(event)

    def texts(self) -> list[str]:
        return [event.payload.decode() for event in self.seen if isinstance(event, Delivery)]

    async def hears(self, *wanted: str) -> None:
        while not set(wanted) <= set(self.texts()):
            await asyncio.sleep(0.02)

    def notices(self, event: str) -> list[str]:
        """Where they come from."""
        return [one.where for one in self.seen if isinstance(one, Notice) and one.event == event]


class Garden:
    """The processes of a scenario, in this event loop."""

    def __init__(self, file: Path, record: Path) -> None:
        self.scenario = scenario = load_scenario(file)
        self.names = scenario.process_names
        ports = free_ports(len(self.names))
        self._addresses = {
            name: ("127.0.0.1", port) for name, port in zip(self.names, ports, strict=True)
        }
        self._record = record
        self.late = [self.names[one.process] for one in scenario.latecomers]

    @asynccontextmanager
    async def petal(
        self, name: str, *, is_recorded: bool = True, memory: Path | None = None
    ) -> AsyncIterator[Petal]:
        """A process that ends without a word to the others."""
        scenario = self.scenario
        order = scenario.order(self.names.index(name), scenario.membership, scenario.order_options)
        async with join_overlay(
            "daisy",
            name=name,
            addresses=self._addresses,
            order=order,
            applications=self.scenario.application_names,
            security=PLAIN_TCP,
            late=self.late,
            record=self._record if is_recorded else None,
            memory=memory,
        ) as group:
            found = Petal(group)
            try:
                yield found
            finally:
                await group.close()
                await asyncio.wait([found.reading])


def test_three_levels_lose_the_server_of_all_and_somebody_comes_in_its_place(
    tmp_path: Path,
) -> None:
    """p0 serves its local group, the group of servers above it and the one above that. It is
    killed; its return under its name is refused; p0' comes instead, hears everybody and is
    heard."""
    (tmp_path / "scenario.toml").write_text(LEVELS)
    garden = Garden(tmp_path / "scenario.toml", tmp_path / "record")
    first, *names = [name for name in garden.names if name not in garden.late]

    async def talk(petals: list[Petal], text: str) -> None:
        for petal in petals:
            await petal.group.send(f"{petal.group.me} {text}".encode())
        for petal in petals:
            await petal.hears(*(f"{one.group.me} {text}" for one in petals))

    async def run() -> None:
        async with AsyncExitStack() as stack:
            others = [await stack.enter_async_context(garden.petal(name)) for name in names]
            async with garden.petal(first) as server:
                await talk([server, *others], "all")
            await talk(others, "alone")
            served = {where for one in others for where in one.notices("server")}
            assert len(served) == 3  # One group on each level.
            async with garden.petal(first, is_recorded=False) as same:
                await asyncio.wait([same.reading])
                with pytest.raises(Refused, match="'p0' has been here before"):
                    same.reading.result()
                assert not same.texts()
            late = await stack.enter_async_context(garden.petal(garden.late[0]))
            for petal in (*others, late):
                while late.group.me not in petal.group.members:
                    await asyncio.sleep(0.02)
            await talk([*others, late], "together")
            assert not any(text.endswith(("all", "alone")) for text in late.texts())

    asyncio.run(asyncio.wait_for(run(), ENOUGH_S))
    finish(tmp_path / "record")
    assert verify_trace(tmp_path / "record").violations == 0


def test_stable_memory_outlives_its_process(tmp_path: Path) -> None:
    """p0' opens by the file of p0 what p1 sends it."""
    (tmp_path / "twins.graphml").write_text(TWIN_GRAPH)
    text = TWINS.replace('forwarding = "all"', f"suspect_after_s = 2\n{MEMORY}")
    text = text.replace(', "east"]', "]").replace("[options]", f"{P0_RETURNS}[options]")
    (tmp_path / "scenario.toml").write_text(text)
    garden = Garden(tmp_path / "scenario.toml", tmp_path / "record")
    (late,) = garden.late

    def memory(name: str) -> Path:
        return tmp_path / f"{name}.memory"

    async def run() -> None:
        async with AsyncExitStack() as stack:
            others = [
                await stack.enter_async_context(garden.petal(name, memory=memory(name)))
                for name in garden.names[1:-1]
            ]
            p1 = others[0]
            async with garden.petal("p0", memory=memory("p0")) as p0:
                await p0.group.send(b"before")
                await p1.hears("before")
            with pytest.raises(BadFile, match="has what another process left"):
                await stack.enter_async_context(garden.petal("p1", memory=memory("p0")))
            with pytest.raises(Misuse, match="name a file for it, as `memory`"):
                await stack.enter_async_context(garden.petal(late))
            back = await stack.enter_async_context(garden.petal(late, memory=memory("p0")))
            while late not in p1.group.members:
                await asyncio.sleep(0.02)
            await p1.group.send(b"after")
            await back.hears("after")

    asyncio.run(asyncio.wait_for(run(), ENOUGH_S))


def test_a_router_that_was_killed_cannot_return(tmp_path: Path) -> None:
    """What would go through it waits; the rest goes on, in order."""

    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            every = await start(nodes, tmp_path, LINE)
            p0, p1, p2, west, east = every.values()
            p0.tell("first")
            for process in (p1, p2):
                await delivered(process, "first")
            west.signal(signal.SIGKILL)
            p1.tell("to all")
            await delivered(p2, "to all")
            again = await start_one(nodes, tmp_path, west.name, "router", record="refused")
            assert await again.over() == 2
            p2.tell("@p1 after")
            await delivered(p1, "after")
            assert texts(p0) == ["first"]
            for process in (p0, p1, p2, east):
                process.signal(signal.SIGKILL)

    asyncio.run(run())
    finish(tmp_path / "record")
    assert verify_trace(tmp_path / "record").violations == 0


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--name", "p9"], "--name p9 is none of p0, p1, p2"),
        (["--name", "p0", "--role", "router"], "not for routers"),
    ],
)
def test_misuse(flags: list[str], message: str, tmp_path: Path, antecede: Antecede) -> None:
    file, addresses = tmp_path / "scenario.toml", tmp_path / "addresses.toml"
    file.write_text('protocol = "daisy"\nprocesses = 3\n')
    addresses.write_text("\n".join(f'p{number} = "127.0.0.1:{number}"' for number in range(3)))
    command = ["node", "--scenario", str(file), "--addresses", str(addresses), "--plain-tcp"]
    outcome = antecede(*command, *flags)
    assert outcome.status == 2
    assert message in outcome.err
