"""What the network does to a packet: delay, loss, duplication, reordering, partitions.

Common random numbers: on the same seed every protocol sees the same fate for the same copy of the
same application message. The fates of all copies are drawn together when the application sends,
from streams of the sender, one stream each for delay, loss and duplication; packets that a protocol
sends on its own account draw from other streams. So the n-th message of a process meets the same
delays whatever the protocol, as long as the messages before it had as many destinations.

A partition that holds packets behaves like a reliable transport: what is sent across while it lasts
sets out when it heals. One that loses packets drops them. What was on its way already arrives.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import inf, log

import numpy as np

from antecede.simulate.parts import Constant, Delay, Exponential, Lognormal, Uniform
from antecede.simulate.randomness import Draws, Filler, generator
from antecede.simulate.scenario import Scenario

_DRAWN_AHEAD = 1 << 18
"""The numbers that all processes together draw ahead for one purpose: 8 MiB."""

_uniform: Filler = np.random.Generator.random
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
        self._largest = min(4096, max(64, _DRAWN_AHEAD // size))
        self._delays = _BySource(partial(self._stream, "delay", self._fill))
        self._losses = _BySource(partial(self._stream, "loss", _uniform))
        self._duplications = _BySource(partial(self._stream, "duplication", _uniform))
        self._second_delays = _BySource(partial(self._stream, "duplicate", self._fill))
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
        return self._delays[source].take(count)

    def fates(self, source: int, destinations: Sequence[int]) -> list[Fate]:
        """The fates of the packets that a process sends together, one to each destination."""
        if self.is_plain:
            return list(zip(self.delays(source, len(destinations))))
        return [self._fate(source, destination) for destination in destinations]

    def _fate(self, source: int, destination: int) -> Fate:
        """Of one packet. From every stream a number is taken for it, whether it matters or not."""
        delay, link = self._delays[source].one(), (source, destination)
        if link in self._special_delays:
            delay = self._special_delays[link].one()
        fate: Fate = (delay,)
        if self._duplication:
            second = self._second_delays[source].one()
            if self._duplications[source].one() < self._duplication:
                fate = (delay, second)
        if self._loses:
            chance = self._losses[source].one()
            if chance < self._special_losses.get(link, self._loss):
                fate = ()
        return fate

    def _stream(self, what: str, fill: Filler, source: int) -> Draws:
        return Draws(generator(self._seed, self._purpose, what, source), fill, self._largest)


class _BySource(dict[int, Draws]):
    """Streams of numbers by process, each made when it is asked for."""

    def __init__(self, make: Callable[[int], Draws]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, source: int) -> Draws:
        draws = self[source] = self._make(source)
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
            if start_s > departure:
                break  # nor have those after it begun
            if departure < end_s and _separated(side, source, destination):
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
