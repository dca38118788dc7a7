"""What the network does to a packet: delay, loss, duplication, reordering, partitions.

Common random numbers: on the same seed every protocol sees the same fate for the same copy of the
same application message. The fates of all copies are drawn together when the application sends,
from streams of the sender, one stream each for delay, loss and duplication; packets that a protocol
sends on its own account draw from other streams. So the n-th message of a process meets the same
delays whatever the protocol, as long as the messages before it had as many destinations.

A partition that holds packets behaves like a reliable transport: what is sent across while it lasts
sets out when it heals. One that loses packets drops them. What was on its way already arrives.
"""

from collections.abc import Sequence
from math import inf, log

import numpy as np

from antecede.simulate.parts import Constant, Delay, Exponential, Lognormal, Uniform
from antecede.simulate.randomness import Draws, Filler, generator, uniforms
from antecede.simulate.scenario import Scenario

_DRAWN_AHEAD = 1 << 18
"""The numbers that all processes together draw ahead for one purpose: 8 MiB."""

Fate = tuple[float, ...]
"""The delays of the copies that arrive: none if it is lost, two if it is duplicated."""


class Lane:
    """The fates of the packets of one purpose (application or control), drawn by their source."""

    def __init__(self, scenario: Scenario, purpose: str) -> None:
        network = scenario.network
        size = scenario.membership.size
        self._seed = scenario.seed
        self._purpose = purpose
        self._fill = _filler(network.delay)
        self._loss = network.loss
        self._duplication = network.duplication
        self._delays: list[Draws | None] = [None] * size
        self._largest = min(4096, max(64, _DRAWN_AHEAD // size))
        self._chances: dict[tuple[str, int], Draws] = {}
        self._special_delays: dict[tuple[int, int], Draws] = {}
        self._special_losses: dict[tuple[int, int], float] = {}
        for link in network.links:
            for source in map(scenario.index, link.source):
                for destination in map(scenario.index, link.to):
                    if link.loss is not None:
                        self._special_losses[source, destination] = link.loss
                    if link.delay is not None:
                        stream = generator(self._seed, purpose, "delay", source, destination)
                        draws = Draws(stream, _filler(link.delay))
                        self._special_delays[source, destination] = draws
        self._loses = network.loss > 0 or any(self._special_losses.values())
        self.is_plain = not (self._loses or network.duplication or self._special_delays)
        """Whether every packet arrives once, after a delay of the same kind."""

    def delays(self, source: int, count: int) -> list[float]:
        """The delays of so many packets that a process sends together."""
        draws = self._delays[source]
        if draws is None:
            stream = generator(self._seed, self._purpose, "delay", source)
            draws = self._delays[source] = Draws(stream, self._fill, self._largest)
        return draws.take(count)

    def fates(self, source: int, destinations: Sequence[int]) -> list[Fate]:
        """The fates of the packets that a process sends together, one to each destination."""
        count = len(destinations)
        delays = self.delays(source, count)
        for index, destination in enumerate(destinations if self._special_delays else ()):
            special = self._special_delays.get((source, destination))
            if special is not None:
                delays[index] = special.one()
        fates: list[Fate] = [(delay,) for delay in delays]
        if self._duplication:
            chances = self._chance("duplication", source).take(count)
            seconds = self._chance("duplicate", source, self._fill).take(count)
            for index, chance in enumerate(chances):
                if chance < self._duplication:
                    fates[index] += (seconds[index],)
        if self._loses:
            chances = self._chance("loss", source).take(count)
            for index, chance in enumerate(chances):
                if chance < self._special_losses.get((source, destinations[index]), self._loss):
                    fates[index] = ()
        return fates

    def _chance(self, what: str, source: int, fill: Filler | None = None) -> Draws:
        draws = self._chances.get((what, source))
        if draws is None:
            name = (self._purpose, what, source)
            draws = (
                Draws(generator(self._seed, *name), fill, self._largest)
                if fill
                else uniforms(self._seed, *name, largest=self._largest)
            )
            self._chances[what, source] = draws
        return draws


class Links:
    """When a packet arrives that sets out now and has this delay."""

    def __init__(self, scenario: Scenario) -> None:
        self.application = Lane(scenario, "application")
        self.control = Lane(scenario, "control")
        self._is_fifo = scenario.fifo_links
        self._last_arrival: dict[tuple[int, int], float] = {}
        self._partitions = sorted(
            (
                partition.start_s,
                partition.end_s,
                partition.packets == "lost",
                partition.one_way,
                _sides(scenario, sides),
            )
            for partition in scenario.network.partitions
            for sides in [partition.sides]
        )
        self.is_direct = not (self._is_fifo or self._partitions)
        """Whether a packet arrives after its delay, and nothing else counts."""

    def arrival(self, source: int, destination: int, now: float, delay: float) -> float:
        """Infinity if it is lost in a partition."""
        departure = now
        for start_s, end_s, loses, is_one_way, side in self._partitions:
            if start_s <= departure < end_s and _separated(side, source, destination):
                if is_one_way and side[source]:
                    continue
                if loses:
                    return inf
                departure = end_s
        time = departure + delay
        if self._is_fifo:
            link = (source, destination)
            time = max(time, self._last_arrival.get(link, 0.0))
            self._last_arrival[link] = time
        return time


def _sides(scenario: Scenario, sides: list[list[int | str]]) -> tuple[int, ...]:
    """By process, the side it stands on; -1 for none. A single side stands against all others."""
    nowhere = 1 if len(sides) == 1 else -1
    side = [nowhere] * scenario.membership.size
    for index, processes in enumerate(sides):
        for process in processes:
            side[scenario.index(process)] = index
    return tuple(side)


def _separated(side: tuple[int, ...], source: int, destination: int) -> bool:
    one, other = side[source], side[destination]
    return one != other and one >= 0 and other >= 0


def _filler(delay: Delay) -> Filler:
    """How to draw delays of this kind."""
    match delay:
        case Constant(value_s=value_s):
            return lambda random, count: np.full(count, value_s)
        case Uniform(low_s=low_s, high_s=high_s):
            return lambda random, count: random.uniform(low_s, high_s, count)
        case Exponential(mean_s=mean_s):
            return lambda random, count: random.exponential(mean_s, count)
        case Lognormal(median_s=median_s, sigma=sigma):
            return lambda random, count: random.lognormal(log(median_s), sigma, count)
