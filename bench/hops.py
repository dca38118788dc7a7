"""Hop messages on a network of zones, and the elements of every stamp and of the histories.

`run_overlay` runs the overlay `separators`, which decides by itself how messages travel and what
its routers filter. `run` makes both the experiment: a `Network` says who forwards what, and
`Separator`s are given. Where both can do the same they count the same, message by message.
"""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, Literal

from antecede.message import Membership, Message, MessageId, ProcessSet, members
from antecede.order import Deliver, Effect, Order, Packet, Transmit
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.zones import Zone, Zones, structure
from antecede.topology.separator import Separator

Local = Literal["direct", "together", "server", "each"]
"""How a message gets to other processes of a local network: directly, apart from the hop to routers
(`direct`) or with it, in one multicast (`together`); or by the server of the node, in one multicast
(`server`) or in one hop to each of them (`each`, where each is linked to the server alone)."""


class Network:
    """Sets and zones, as in the overlay, and the groups that the first `applications` processes
    send to."""

    def __init__(
        self,
        size: int,
        applications: int,
        zones: Zones,
        groups: Sequence[ProcessSet],
        forwarding: Literal["one", "all"] = "all",
        local: Local = "direct",
    ) -> None:
        self.size = size
        self.applications = applications
        self.groups = [
            [group for group in groups if group >> process & 1] for process in range(applications)
        ]
        self.zones = zones
        self.structure = structure(size, zones)
        self._places = self.structure.places
        self._own = (1 << applications) - 1
        self._is_one = forwarding == "one"
        self._local = local

    def hops(self, process: int, source: int | None, message: Message) -> list[ProcessSet]:
        """Whom a process passes a message on to that came from `source`, or from itself."""
        place = self._places[process]
        others = message.destinations & ~(1 << message.id.sender)
        routers = list(members(place.members))
        found = []
        for number, (zone, own) in enumerate(place.zones):
            is_entrance = source is not None and any(
                port.members >> source & 1 for port in zone.ports if port is not own
            )
            if is_entrance:
                # A server sends on what it has from a local process, to the others.
                if self._local == "server" and source == message.id.sender:
                    found.append(zone.next_hop(own, others) & self._own)
            elif not self._is_one or routers[number % len(routers)] == process:
                found += self._parts(process, zone, zone.next_hop(own, others))
        return [to for to in found if to]

    def _parts(self, process: int, zone: Zone, to: ProcessSet) -> list[ProcessSet]:
        """The hops into a zone: to applications, and to routers."""
        servers = self._routers(zone)
        if self._local == "server" and self._own >> process & 1 and servers:
            return [servers if to else 0]
        if self._local == "together":
            return [to]
        return [to & self._own, to & ~self._own]

    def _routers(self, zone: Zone) -> ProcessSet:
        return sum(port.members for port in zone.ports) & ~self._own


@dataclass
class Counted:
    """How many stamps had so many elements; and, by process, how many times its history was found
    with so many."""

    stamps: Counter[int] = field(default_factory=Counter)
    histories: dict[int, Counter[int]] = field(default_factory=dict)


def mean(counts: Counter[int]) -> float:
    return sum(size * times for size, times in counts.items()) / max(1, counts.total())


def run(
    network: Network,
    separators: Iterable[Separator],
    *,
    messages: int,
    rate: float,
    mean_delay_s: float,
    seed: int,
    own_implied: bool = True,
    gateways: bool = True,
    watched: Sequence[int] = (),
    senders: ProcessSet | None = None,
) -> Counted:
    """So many messages, sent at this rate by each process to one of its groups. Counts the stamps
    of the hop messages of `senders`, or of all, and after every event at them the histories of
    those who are watched."""
    options = HistoriesOptions(rules="R1-R9", own_implied=own_implied, gateways=gateways)
    chosen = tuple(separators)
    membership = Membership(network.size)
    orders = [
        Histories(
            process,
            membership,
            options,
            Surroundings(process, network.structure.neighbours(process), chosen),
        )
        for process in range(network.size)
    ]
    loop = _Loop(network, orders, random.Random(seed), mean_delay_s, senders)
    loop.counted.histories = {process: Counter() for process in watched}
    for _ in range(messages):
        loop.send_next(rate)
    loop.run_until(float("inf"))
    return loop.counted


def run_overlay(
    network: Network,
    filters: Sequence[ProcessSet],
    *,
    forwarding: Literal["one", "all"],
    messages: int,
    rate: float,
    mean_delay_s: float,
    seed: int,
    own_implied: bool = True,
    gateways: bool = True,
    watched: Sequence[int] = (),
    senders: ProcessSet | None = None,
) -> Counted:
    """The same traffic through the overlay that ships, with R9 at these sets of routers."""
    options = SeparatorsOptions(
        applications=network.applications,
        zones=network.zones,
        forwarding=forwarding,
        filters=tuple(tuple(members(one)) for one in filters) or "none",
        own_implied=own_implied,
        gateways=gateways,
    )
    membership = Membership(network.size)
    orders = [Separators(process, membership, options) for process in range(network.size)]
    loop = _Overlaid(network, orders, random.Random(seed), mean_delay_s, senders)
    loop.counted.histories = {process: Counter() for process in watched}
    for _ in range(messages):
        loop.send_next(rate)
    loop.run_until(float("inf"))
    return loop.counted


class _Loop:
    def __init__(
        self,
        network: Network,
        orders: Sequence[Order],
        source: random.Random,
        mean_delay_s: float,
        senders: ProcessSet | None,
    ) -> None:
        self.counted = Counted()
        self._network = network
        self._orders = orders
        self._random = source
        self._mean_delay_s = mean_delay_s
        self._senders = (1 << network.size) - 1 if senders is None else senders
        self._heap: list[tuple[float, int, int, Packet[Any]]] = []
        self._sequence = count()
        self._sent = [0] * network.applications
        self._hops = [0] * network.size
        self._carried: dict[MessageId, Message] = {}
        self._passed: list[set[MessageId]] = [set() for _ in orders]
        self._now = 0.0

    def send_next(self, rate: float) -> None:
        """Let time pass until the next send, and send."""
        network = self._network
        time = self._now + self._random.expovariate(rate * network.applications)
        self.run_until(time)
        self._now = time
        sender = self._random.randrange(network.applications)
        self._sent[sender] += 1
        message_id = MessageId(sender, self._sent[sender])
        message = Message(message_id, self._random.choice(network.groups[sender]))
        self._passed[sender].add(message_id)
        self._pass_on(sender, None, message)

    def run_until(self, time: float) -> None:
        while self._heap and self._heap[0][0] <= time:
            self._now, _, process, packet = heappop(self._heap)
            for effect in self._orders[process].receive(packet):
                if isinstance(effect, Deliver):
                    message = self._carried[effect.message.id]
                    if message.id not in self._passed[process]:
                        self._passed[process].add(message.id)
                        self._pass_on(process, effect.message.id.sender, message)
            self._watch(process)

    def _pass_on(self, process: int, source: int | None, message: Message) -> None:
        for to in self._network.hops(process, source, message):
            self._hops[process] += 1
            hop = Message(MessageId(process, self._hops[process]), to)
            self._carried[hop.id] = message
            for effect in self._orders[process].send(hop):
                if isinstance(effect, Transmit):
                    if self._senders >> process & 1:
                        self.counted.stamps[effect.packet.stamp.entries()] += 1
                    for neighbour in members(effect.to):
                        self._fly(neighbour, effect.packet)
        self._watch(process)

    def _fly(self, neighbour: int, packet: Packet[Any]) -> None:
        delay_s = self._random.expovariate(1 / self._mean_delay_s)
        heappush(self._heap, (self._now + delay_s, next(self._sequence), neighbour, packet))

    def _watch(self, process: int) -> None:
        found = self.counted.histories.get(process)
        if found is not None:
            found[self._orders[process].entries()] += 1


class _Overlaid(_Loop):
    """The orders pass messages on by themselves."""

    def run_until(self, time: float) -> None:
        while self._heap and self._heap[0][0] <= time:
            self._now, _, process, packet = heappop(self._heap)
            self._carry_out(process, self._orders[process].receive(packet))

    def _pass_on(self, process: int, source: int | None, message: Message) -> None:
        self._carry_out(process, self._orders[process].send(message))

    def _carry_out(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                if self._senders >> process & 1:
                    self.counted.stamps[effect.packet.stamp.entries()] += 1
                for neighbour in members(effect.to):
                    self._fly(neighbour, effect.packet)
        self._watch(process)
