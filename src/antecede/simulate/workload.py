"""Traffic: who sends what to whom, and when.

Open traffic does not look at the network: the times, senders and destinations follow from the seed
alone. Cascades and replays react to deliveries, so that *when* things are sent depends on the
protocol; *what* is sent still does not, as far as that is possible: whether a delivery causes a
send, and to whom, follows from the chain of causes, not from the moment.
"""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

import msgspec
import numpy as np

from antecede.errors import BrokenInvariant
from antecede.message import NO_GROUP, Membership, ProcessSet, process_set
from antecede.simulate.circles import Circles
from antecede.simulate.parts import (
    Broadcast,
    Groups,
    Multicast,
    Open,
    Requests,
    Talks,
    Token,
    Unicast,
)
from antecede.simulate.randomness import Draws, as_uniform, generator, mix, uniforms
from antecede.simulate.scenario import Scenario

_BLOCK = 256
_ANSWERED = -1
_ANSWER = 1 << 32
"""Tells the key of an answer from the key of the decision to answer."""


class Send(msgspec.Struct, frozen=True, gc=False):
    """The process sends to these destinations at this time. `tag` comes back with deliveries."""

    time: float
    process: int
    destinations: ProcessSet
    group: int
    tag: int


class Traffic(ABC):
    reacts: bool
    """Whether deliveries cause sends."""

    @abstractmethod
    def opening(self) -> Iterator[Send]:
        """The sends that wait for nothing, in the order of time."""

    @abstractmethod
    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        """What the delivery of the message with this tag causes at once; `own` says that the
        process has sent it itself."""

    def regroup(self, membership: Membership) -> None:
        """The groups are others from now on."""
        raise BrokenInvariant("this traffic does not know of groups")

    def readdressed(self, send: Send) -> Send | None:
        """A send as the groups are now; None if its sender is in none."""
        raise BrokenInvariant("this traffic does not know of groups")


class Addresses(ABC):
    """Whom messages are addressed to. A key stands for a choice."""

    def __init__(self, scenario: Scenario) -> None:
        self.membership = scenario.applications
        self.senders = list(range(self.membership.size))
        """Who can send."""

    def sender(self, chance: float) -> int:
        """Who sends next, by a number below 1."""
        return self.senders[int(chance * len(self.senders))]

    @abstractmethod
    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        """Destinations and group of a message."""


class ToEverybody(Addresses):
    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        return self.membership.everybody, 0


class ToOneGroup(Addresses):
    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.regroup(self.membership)

    def regroup(self, membership: Membership) -> None:
        self.membership = membership
        self._groups = [membership.groups_of(process) for process in range(membership.size)]
        self.senders = [process for process in range(membership.size) if self._groups[process]]

    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        groups = self._groups[process]
        group = groups[key % len(groups)]
        return self.membership.group(group), group


class ToOneProcess(Addresses):
    def __init__(self, scenario: Scenario, unicast: Unicast) -> None:
        super().__init__(scenario)
        self._circles = Circles(scenario, unicast.local)

    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        others = self._circles.choose(process, key)
        return 1 << others[key % len(others)], NO_GROUP


class ToSomeProcesses(Addresses):
    def __init__(self, scenario: Scenario, multicast: Multicast) -> None:
        super().__init__(scenario)
        self._size = multicast.size
        self._probability = multicast.probability or 0.0
        self._circles = Circles(scenario, multicast.local)

    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        random = np.random.Generator(np.random.PCG64(key))
        others = self._circles.choose(process, key)
        if self._size is not None:
            others = self._circles.wide_enough(process, others, self._size)
            chosen = random.choice(len(others), min(self._size, len(others)), replace=False)
        else:
            chosen = np.flatnonzero(random.random(len(others)) < self._probability)
            if not len(chosen):
                chosen = random.integers(len(others), size=1)
        return process_set(others[place] for place in chosen.tolist()), NO_GROUP


class ToThoseListed(Addresses):
    """Who talks to whom, by shares."""

    def __init__(self, scenario: Scenario, workload: Talks) -> None:
        super().__init__(scenario)
        self._to: dict[int, list[ProcessSet]] = {}
        self._up_to: dict[int, list[float]] = {}
        """By sender, the sums of shares up to each of its destinations."""
        for talk in workload.talks:
            sender = scenario.index(talk.sender)
            self._to.setdefault(sender, []).append(scenario.members(talk.to))
            sums = self._up_to.setdefault(sender, [])
            sums.append((sums[-1] if sums else 0.0) + talk.share)
        self._talking = sorted(self._to)
        self._sums = list(accumulate(self._up_to[sender][-1] for sender in self._talking))

    def sender(self, chance: float) -> int:
        return self._talking[_place(self._sums, chance)]

    def choose(self, process: int, key: int) -> tuple[ProcessSet, int]:
        return self._to[process][_place(self._up_to[process], as_uniform(key))], NO_GROUP


def _place(sums: list[float], chance: float) -> int:
    """Where a number below 1 falls, by sums of shares."""
    return min(bisect_right(sums, chance * sums[-1]), len(sums) - 1)


class OpenTraffic(Traffic):
    """A Poisson process at every sender, and answers to deliveries. A message's tag is a number
    that follows from its chain of causes."""

    def __init__(self, scenario: Scenario, workload: Open, addresses: Addresses) -> None:
        self.reacts = workload.cascade > 0
        self._cascade = workload.cascade
        self._addresses = addresses
        self._left = scenario.message_limit
        senders = addresses.senders
        gap_s = 1 / (scenario.rate * len(senders))
        seed = scenario.seed
        self._gaps = Draws(
            generator(seed, "gaps"), lambda random, count: random.exponential(gap_s, count)
        )
        self._choices = uniforms(seed, "senders")
        self._keys = generator(seed, "keys")

    def opening(self) -> Iterator[Send]:
        time = 0.0
        while True:
            gaps, choices = self._gaps.take(_BLOCK), self._choices.take(_BLOCK)
            keys = self._keys.integers(1 << 64, size=_BLOCK, dtype=np.uint64).tolist()
            for gap, choice, key in zip(gaps, choices, keys, strict=True):
                if not self._left:
                    return
                self._left -= 1
                time += gap
                yield self._send(time, self._addresses.sender(choice), key)

    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        if own or not self._left or as_uniform(mix(tag, process)) >= self._cascade:
            return ()
        self._left -= 1
        return (self._send(now, process, mix(tag, process + _ANSWER)),)

    def _send(self, time: float, process: int, key: int) -> Send:
        destinations, group = self._addresses.choose(process, key)
        return Send(time, process, destinations, group, key)

    def regroup(self, membership: Membership) -> None:
        if isinstance(self._addresses, ToOneGroup):
            self._addresses.regroup(membership)

    def readdressed(self, send: Send) -> Send | None:
        if send.process not in self._addresses.senders:
            return None
        return self._send(send.time, send.process, send.tag)


class RequestTraffic(Traffic):
    """Requests of clients as a Poisson process, and the answers of servers. The tag of a request is
    its client, that of an answer is `_ANSWERED`."""

    reacts = True

    def __init__(self, scenario: Scenario, workload: Requests) -> None:
        self._servers = workload.servers
        self._clients = range(workload.servers, scenario.applications.size)
        self._left = scenario.message_limit
        gap_s = 1 / (scenario.rate * len(self._clients))
        seed = scenario.seed
        self._gaps = Draws(
            generator(seed, "gaps"), lambda random, count: random.exponential(gap_s, count)
        )
        self._choices = uniforms(seed, "senders")

    def opening(self) -> Iterator[Send]:
        time = 0.0
        while self._left:
            self._left -= 1
            (gap,) = self._gaps.take(1)
            client, server = self._choices.take(2)
            time += gap
            process = self._clients[int(client * len(self._clients))]
            yield Send(time, process, 1 << int(server * self._servers), NO_GROUP, process)

    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        if own or tag == _ANSWERED or not self._left:
            return ()
        self._left -= 1
        return (Send(now, process, 1 << tag, NO_GROUP, _ANSWERED),)


class TokenTraffic(Traffic):
    """Replicated data, updated by whoever has the token (Schiper, Eggli, Sandoz, figure 2). A
    token's tag says how often it has been handed on, and of which data it is, plus one; the tag of
    a write is 0."""

    reacts = True

    def __init__(self, scenario: Scenario, workload: Token) -> None:
        self._workload = workload
        self._seed = scenario.seed
        self._everybody = scenario.applications.everybody
        self._size = scenario.applications.size
        self._left = scenario.message_limit

    def opening(self) -> Iterator[Send]:
        for data in range(self._workload.tokens):
            yield from self._tenure(0.0, data, data, 0)

    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        if not tag:
            return ()
        turn, data = divmod(tag - 1, self._workload.tokens)
        return self._tenure(now, process, data, turn)

    def _tenure(self, now: float, process: int, data: int, turn: int) -> list[Send]:
        """All that a process does while it has the token."""
        tag = (turn + 1) * self._workload.tokens + data + 1
        other = mix(mix(self._seed, data), turn) % (self._size - 1)
        to = 1 << other + (other >= process)
        sends = [Send(now, process, self._everybody, 0, 0)] * self._workload.writes
        sends = [*sends, Send(now, process, to, NO_GROUP, tag)][: self._left]
        self._left -= len(sends)
        return sends


class ReplayTraffic(Traffic):
    """A real causal graph. A message's tag is its event."""

    reacts = True

    def __init__(self, scenario: Scenario) -> None:
        graph = scenario.graph
        if graph is None:
            raise BrokenInvariant("the scenario replays no graph")
        self._everybody = scenario.applications.everybody
        self._processes = graph.processes
        self._missing = [len(parents) for parents in graph.parents]
        self._effects: list[list[int]] = [[] for _ in graph.parents]
        for event, parents in enumerate(graph.parents):
            for parent in parents:
                self._effects[parent].append(event)

    def opening(self) -> Iterator[Send]:
        for event, missing in enumerate(list(self._missing)):
            if not missing:
                yield self._send(0.0, event)

    def delivered(self, process: int, tag: int, now: float, own: bool) -> Iterable[Send]:
        caused = []
        for event in self._effects[tag]:
            if self._processes[event] == process:
                self._missing[event] -= 1
                if not self._missing[event]:
                    caused.append(self._send(now, event))
        return caused

    def _send(self, time: float, event: int) -> Send:
        return Send(time, self._processes[event], self._everybody, 0, event)


def traffic_of(scenario: Scenario) -> Traffic:
    """The traffic that a scenario asks for."""
    workload = scenario.workload
    match workload:
        case Broadcast():
            return OpenTraffic(scenario, workload, ToEverybody(scenario))
        case Groups():
            return OpenTraffic(scenario, workload, ToOneGroup(scenario))
        case Unicast():
            return OpenTraffic(scenario, workload, ToOneProcess(scenario, workload))
        case Requests():
            return RequestTraffic(scenario, workload)
        case Multicast():
            return OpenTraffic(scenario, workload, ToSomeProcesses(scenario, workload))
        case Talks():
            return OpenTraffic(scenario, Open(), ToThoseListed(scenario, workload))
        case Token():
            return TokenTraffic(scenario, workload)
        case _:
            return ReplayTraffic(scenario)
