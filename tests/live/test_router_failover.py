"""Routers that die and come back under live processes: their pure cores, on a clock of our own, so
that who is silent is silent by design. The bytes are those of the links."""

from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import pytest

from antecede.live.ordering.effects import Delivery
from antecede.live.ordering.items import decode_items
from antecede.live.outputs import Identity, Output, Remember, ToPeer
from antecede.live.overlay_machine import OverlayMachine
from antecede.order import Wake
from antecede.simulate import load_scenario
from tests.live.test_overlays import MEMORY, P0_RETURNS, TWIN_GRAPH

SCENARIO = """
protocol = "separators"
topology = "twins.graphml"
attach = ["west", "east"]
messages = 10
"""
HOP_S = 0.01
SPAN_S = 1.0


class Links:
    """The cores of a scenario, and what is on its way between them."""

    def __init__(self, file: Path) -> None:
        self.scenario = load_scenario(file)
        self.names = self.scenario.process_names
        self.late = [self.names[one.process] for one in self.scenario.latecomers]
        self.cores: dict[str, OverlayMachine] = {}
        self.heard: dict[str, list[str]] = {name: [] for name in self.names}
        self.memories: dict[str, bytes] = {}
        """What each has in stable memory."""
        self.now = 0.0
        self._due: list[tuple[float, int, str, Any]] = []
        self._count = 0
        for name in self.names:
            if name not in self.late:
                self.come(name)

    def come(self, name: str) -> None:
        scenario = self.scenario
        order = scenario.order(self.names.index(name), scenario.membership, scenario.order_options)
        addresses = {one: ("127.0.0.1", number + 1) for number, one in enumerate(self.names)}
        core = self.cores[name] = OverlayMachine(
            Identity(name, addresses[name], 1),
            order,
            addresses,
            "separators",
            applications=scenario.application_names,
            late=self.late,
            memory=Path(name.rstrip("'")),
        )
        order.recall(self.memories.get(name.rstrip("'"), b""))
        self._carry_out(name, core.start(self.now))
        for other in self.cores:
            if other != name:
                self._carry_out(name, core.welcomed(other, 1, self.now))
                self._carry_out(other, self.cores[other].welcomed(name, 1, self.now))

    def kill(self, name: str) -> None:
        del self.cores[name]

    def send(self, name: str, text: str) -> None:
        self._carry_out(name, self.cores[name].send(text.encode(), None, None, self.now))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._due and self._due[0][0] <= end:
            self.now, _, to, event = heappop(self._due)
            core = self.cores.get(to)
            if core is None:
                continue
            if event is None:
                self._carry_out(to, core.wake(self.now))
            else:
                source, item = event
                items = decode_items(b"\x91" + item, core.stamp_type)
                self._carry_out(to, core.receive(source, 1, items, self.now))
        self.now = end

    def _carry_out(self, name: str, outputs: list[Output]) -> None:
        for place, output in enumerate(outputs):
            if isinstance(output, Remember):
                assert not any(isinstance(earlier, ToPeer) for earlier in outputs[:place])
                self.memories[str(output.file)] = output.memory
            elif isinstance(output, ToPeer):
                self._plan(self.now + HOP_S, output.name, (name, output.item))
            elif isinstance(output, Wake):
                self._plan(output.at, name, None)
            elif isinstance(output, Delivery):
                self.heard[name].append(output.payload.decode())

    def _plan(self, at_s: float, to: str, event: Any) -> None:
        self._count += 1
        heappush(self._due, (at_s, self._count, to, event))


def links_of(folder: Path, options: str, more: str = "") -> Links:
    (folder / "twins.graphml").write_text(TWIN_GRAPH)
    file = folder / "scenario.toml"
    file.write_text(f"{SCENARIO}{more}[options]\nsuspect_after_s = {SPAN_S}\n{options}")
    return Links(file)


def talk(links: Links, text: str, count: int = 10) -> list[str]:
    """p0 and p1 in turn, faster than a message takes."""
    said = []
    for number in range(count):
        name = f"p{number % 2}"
        links.send(name, f"{text} {number}")
        said.append(f"{text} {number}")
        links.run(HOP_S / 2)
    return said


@pytest.mark.parametrize(
    "options",
    ["", 'routes = "flood"', 'routes = "shortest"\nwrite_ahead = true'],
    ids=["tree", "flood", "shortest"],
)
@pytest.mark.parametrize("victim", ["north", "south"])
def test_the_forwarder_dies_and_the_other_takes_over(
    options: str, victim: str, tmp_path: Path
) -> None:
    """One of the two forwards: what it had is sent again, and nothing is lost."""
    links = links_of(tmp_path, options)
    said = talk(links, "before")
    links.kill(victim)
    said += talk(links, "after")
    links.run(6 * SPAN_S)
    for name in ("p0", "p1"):
        assert sorted(links.heard[name]) == sorted(said)


@pytest.mark.parametrize("routes", ["flood", "shortest"])
def test_a_router_comes_back_and_then_the_other_dies(routes: str, tmp_path: Path) -> None:
    options = f'routes = "{routes}"\n' + "write_ahead = true\n" * (routes == "shortest")
    crash = 'crashes = [{ process = "north", time_s = 1, back_s = 9 }]\n'
    links = links_of(tmp_path, options, crash)
    (back,) = links.late
    said = talk(links, "before")
    links.kill("north")
    said += talk(links, "without")
    links.run(6 * SPAN_S)
    links.come(back)
    links.run(6 * SPAN_S)
    said += talk(links, "with")
    links.kill("south")
    said += talk(links, "through")
    links.run(6 * SPAN_S)
    for name in ("p0", "p1"):
        assert sorted(links.heard[name]) == sorted(said)


@pytest.mark.parametrize("is_kept", [True, False])
def test_who_comes_back_opens_what_its_stable_memory_has(is_kept: bool, tmp_path: Path) -> None:
    links = links_of(tmp_path, MEMORY, P0_RETURNS)
    (back,) = links.late
    talk(links, "before", 3)
    links.run(SPAN_S)
    links.kill("p0")
    links.run(6 * SPAN_S)
    if not is_kept:
        del links.memories["p0"]
    links.come(back)
    links.run(6 * SPAN_S)
    links.send("p1", "after")
    links.run(6 * SPAN_S)
    assert links.heard[back] == ["after"] * is_kept


def test_without_a_watch_what_the_forwarder_had_is_lost(tmp_path: Path) -> None:
    """The tests above can fail."""
    (tmp_path / "twins.graphml").write_text(TWIN_GRAPH)
    (tmp_path / "scenario.toml").write_text(SCENARIO)
    links = Links(tmp_path / "scenario.toml")
    talk(links, "before")
    links.kill("north")
    said = talk(links, "after")
    links.run(6 * SPAN_S)
    assert any(set(said) - set(links.heard[name]) for name in ("p0", "p1"))
