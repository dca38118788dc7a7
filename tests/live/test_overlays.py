"""Overlays as real processes, from the files that the simulator takes."""

import asyncio
import signal
import socket
from pathlib import Path

import pytest

from antecede.simulate import load_scenario
from tests.cli.conftest import Antecede, antecede
from tests.live.cluster import MAIN, Cluster, Process, cluster, judge

__all__ = ["antecede"]  # a fixture

LINE = """
protocol = "separators"
topology = "line.graphml"
attach = ["west", "east", "east"]
messages = 10
"""
GRAPH = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">
<node id="west"/><node id="east"/><edge source="west" target="east"/></graph></graphml>"""
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
    scenario = load_scenario(file)
    names = scenario.process_names
    ports = free_ports(len(names))
    addresses = folder / "addresses.toml"
    lines = [f'"{name}" = "127.0.0.1:{port}"' for name, port in zip(names, ports, strict=True)]
    addresses.write_text("\n".join(lines))
    found = {}
    for number, name in enumerate(names):
        role = "application" if number < scenario.applications.size else "router"
        flags = f"--name {name} --role {role} --scenario {file} --addresses {addresses}"
        record = folder / "record"
        command = ["node", *flags.split(), "--plain-tcp", "--record", str(record)]
        found[name] = await nodes.spawn(name, "-c", MAIN, *command)
    return found


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


def test_routers(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            every = await start(nodes, tmp_path, LINE)
            p0, p1, p2 = (every[f"p{number}"] for number in range(3))
            routers = [process for name, process in every.items() if name not in ("p0", "p1", "p2")]
            assert routers
            p0.tell("first")
            for process in (p1, p2):
                await delivered(process, "first")
            p1.tell("@p2,p0 second")
            await delivered(p2, "second")
            for number in range(20):
                for process in (p0, p1, p2):
                    process.tell(f"{process.name} {number}")
            for process in (p0, p1, p2):
                await delivered(process, "p0 19", "p1 19", "p2 19")
            await leave(p0, p1, p2)
            await leave(*routers)

    asyncio.run(run())
    tally = judge(tmp_path / "record")
    assert tally["send"] == 62
    assert tally["crashed"] == 0


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
