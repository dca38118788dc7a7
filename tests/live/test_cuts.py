"""The daisy in processes of their own, whose links are really cut and healed: the schedule of two
overlapping cuts in which servers lose each other, and groups their servers."""

import asyncio
from itertools import product
from pathlib import Path
from random import Random

from antecede.live import finish
from tests.cli.conftest import Antecede, antecede
from tests.live.cluster import ENOUGH_S, MAIN, Cluster, Process, cluster
from tests.live.network import Network
from tests.live.test_overlays import free_ports, leave, texts

__all__ = ["antecede"]

NAMES = [f"p{number}" for number in range(9)]
SCENARIO = """
protocol = "daisy"
processes = 9
messages = 10
"""
CUTS = [(0.8, 4.8, ("p1", "p2")), (4.4, 10.4, ("p0", "p3", "p6", "p7"))]
"""From when to when, and who is cut off from the others."""
PAUSE_S = 0.22
"""Between two messages: as many as nine senders of one in two seconds send."""
TRAFFIC_S = 12.0

Pairs = list[tuple[str, str]]


async def start(network: Network, nodes: Cluster, folder: Path) -> dict[str, Process]:
    """Nine processes, which reach each other through the network."""
    (folder / "scenario.toml").write_text(SCENARIO)
    ports = dict(zip(NAMES, free_ports(len(NAMES)), strict=True))
    through = {name: await network.port_for(name) for name in NAMES}
    for name, port in ports.items():
        network.lead(name, port)
        addresses = "".join(
            f'{other} = "127.0.0.1:{port if other == name else through[other]}"\n'
            for other in NAMES
        )
        (folder / f"{name}.toml").write_text(addresses)
    return {name: await start_one(nodes, folder, name) for name in NAMES}


async def start_one(nodes: Cluster, folder: Path, name: str) -> Process:
    flags = {
        "--name": name,
        "--scenario": str(folder / "scenario.toml"),
        "--addresses": str(folder / f"{name}.toml"),
        "--record": str(folder / "record"),
    }
    listed = [text for flag in flags.items() for text in flag]
    return await nodes.spawn(name, "-c", MAIN, "node", "--plain-tcp", *listed)


async def cut_and_heal(network: Network) -> None:
    """A link stays cut as long as one of the cuts lasts that it is in."""

    def links(side: tuple[str, ...]) -> Pairs:
        return list(product(side, [name for name in NAMES if name not in side]))

    moments = sorted({time_s for start_s, end_s, _ in CUTS for time_s in (start_s, end_s)})
    now_s = 0.0
    for moment_s in moments:
        await asyncio.sleep(moment_s - now_s)
        now_s = moment_s
        network.heal()
        for start_s, end_s, side in CUTS:
            if start_s <= now_s < end_s:
                network.cut(*links(side))


async def talk(processes: dict[str, Process]) -> dict[str, set[str]]:
    """Each message is for two others; the answer is who has to hear what."""
    random = Random(6)
    owed: dict[str, set[str]] = {name: set() for name in NAMES}
    for number in range(int(TRAFFIC_S / PAUSE_S)):
        sender = random.choice(NAMES)
        to = random.sample([name for name in NAMES if name != sender], 2)
        processes[sender].tell(f"@{','.join(to)} {sender} {number}")
        for name in to:
            owed[name].add(f"{sender} {number}")
        await asyncio.sleep(PAUSE_S)
    return owed


def test_two_overlapping_cuts_lose_nothing(tmp_path: Path, antecede: Antecede) -> None:
    async def run() -> None:
        async with Network() as network, cluster(tmp_path) as nodes:
            processes = await start(network, nodes, tmp_path)
            for process in processes.values():
                process.tell(f"{process.name} is there")
            for process in processes.values():
                await hears(process, {f"{name} is there" for name in NAMES})
            owed, _ = await asyncio.gather(talk(processes), cut_and_heal(network))
            for name, process in processes.items():
                await hears(process, owed[name])
            stopped = [name for name, one in processes.items() if told(one, "stopped")]
            assert stopped, "the cuts were never noticed"
            await leave(*processes.values())

    asyncio.run(run())
    finish(tmp_path / "record")
    judged = antecede("verify", tmp_path / "record", "--holes")
    assert judged.status == 0, judged.out


async def hears(process: Process, wanted: set[str]) -> None:
    """Nine processes take their time to start, and to catch up, where there are few processors."""
    async with asyncio.timeout(5 * ENOUGH_S):
        while not wanted <= set(texts(process)):
            await asyncio.sleep(0.1)
            assert not told(process, "over"), process.said[-5:]


def told(process: Process, event: str) -> bool:
    return any(said["event"] == event for said in process.said)
