"""Routes along a tree: rules R1 to R9 of Rodrigues and Verissimo, hop by hop.

The extended communication graph: application processes are linked to the servers of their nodes,
these to routers, and a multicast becomes a chain of hop messages between neighbours. Every hop is
stamped and ordered by `histories`, among hop messages, and every set of routers is a separator of
what lies on its different sides: it filters by R9. A stamp so grows with the neighbourhood of a
link, not with the system.

A process knows the zones that its set stands in (`zones` says what sets and zones are, and which
conditions they keep); the hop messages it has sent; the histories of the hops; and, of the hop
messages that it holds, the application messages they carry. It delivers a message that is addressed
to it when the hop that brought it is delivered, and forwards it at once into every other zone that
leads to a destination.

Invariant: of two messages of which one precedes the other, all members of a set that both pass
deliver the first before the second. Order of the hops alone does not give that: if the routers of a
set shared the work message by message, two messages could part and overtake each other. Hence
one router of a set forwards into a zone, always the same one; or all do, and whoever has passed
a message drops its copies.

Without zones and links everybody is linked with everybody, and every message takes one hop.

Paper: L. Rodrigues, P. Verissimo, "Causal separators and topological timestamping: an approach to
support causal multicast in large-scale systems", report, INESC 1994; in part at ICDCS 1995.
"""

from functools import lru_cache

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.message import (
    Membership,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Event,
    Held,
    Notice,
    Options,
    Packet,
    Scope,
    Traits,
    Transmit,
)
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions, Timestamp
from antecede.orders.histories import State as HopState
from antecede.overlays import HopStamp, Overlay
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.plan import plan_zones
from antecede.overlays.separators.ways import Network, hosts_of, late_of, with_latecomers
from antecede.overlays.separators.zones import Place, Port, Structure, Zone, Zones, structure
from antecede.topology.separator import Separator

_LISTED_BYTES = 3
"""What a process takes in a list."""


class Hop(HopStamp, frozen=True):
    """`H`: what the hop message cites, as in `histories`; but a hop has few destinations among many
    processes, so they are listed where that is shorter."""

    H: tuple[tuple[Count, Count, bytes | tuple[Count, ...]], ...]

    def entries(self) -> int:
        """The identifiers."""
        return len(self.H)


class State(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here. `hops`: the histories of the hops. `carried`:
    what held hop messages carry. `passed`: where all forward, the number of the last message of
    each process that has come by."""

    sent: int
    hops: HopState
    carried: dict[MessageId, Message]
    passed: dict[int, int]


class Tree(Overlay):
    name = "separators"
    traits = Traits(
        title="separators on a routed overlay",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        alike=True,
        prompt=False,
        state_bound="(n−1)² hop messages in the causal history",
    )
    options_type = SeparatorsOptions
    stamp_type = Hop
    state_type = State
    state: State
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        self._structure = _structure(membership.size, chosen)
        self._hosts = _hosts(self._structure, membership, chosen)
        if not 0 <= process < membership.size:
            raise Misuse(f"process {process} is not one of the {membership.size} processes")
        self._place = self._structure.places[process]
        self._doors = _doors(self._place)
        places = range(membership.size)
        near = tuple([self._structure.neighbours(one) for one in places])
        self.network = Network(near, self._hosts, late_of(chosen))
        self.neighbours = near[process]
        self.gone: ProcessSet = 0
        """Who has crashed, as far as somebody has told."""
        self.passed_on: list[tuple[Message, int]] = []
        """What the last event has passed on, and from which zone."""
        self._order = Histories(
            process,
            Membership(membership.size),
            HistoriesOptions(
                rules="R1-R9", own_implied=chosen.own_implied, gateways=chosen.gateways
            ),
            Surroundings(process, self.neighbours, _separators(self._place, chosen)),
        )
        super().__init__(process, membership, options)

    def initial_state(self) -> State:
        return State(0, self._order.initial_state(), {}, {})

    def resume(self) -> None:
        self._order.state = self.state.hops
        self._order.resume()
        self.hops = []

    @property
    def hosts(self) -> ProcessSet:
        return self._hosts

    # Sending and forwarding.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self.hops = []
        effects: list[Effect] = []
        for zone, own in self._place.zones:
            effects += self._hop(message, zone, own)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def _hop(self, message: Message, zone: Zone, own: Port) -> list[Effect]:
        """The hop of a message into a zone: one multicast to all members of all next sets. To those
        who have crashed nothing is transmitted."""
        to = zone.next_hop(own, message.destinations)
        if not to:
            return []
        number = self.count()
        return [
            Transmit(_carrying(message, number, effect.packet), effect.to & ~self.gone)
            for effect in self._order.send(Message(MessageId(self.process, number), to))
            if isinstance(effect, Transmit) and effect.to & ~self.gone
        ]

    def count(self) -> int:
        """The number of the next hop message."""
        self.state.sent += 1
        return self.state.sent

    def forwarder(self, message: Message, place: int) -> int:
        """Which member of the set forwards a message into its zone number `place`."""
        return self._in_charge(place)

    def _in_charge(self, place: int) -> int:
        """Always the same one, until it has crashed."""
        routers = list(members(self._place.members))
        chosen = routers[place % len(routers)]
        if self.gone >> chosen & 1:
            routers = [one for one in routers if not self.gone >> one & 1]
            chosen = routers[place % len(routers)] if routers else chosen
        return chosen

    @property
    def is_alone(self) -> bool:
        """Whether nobody else is in the set."""
        return self._place.members == 1 << self.process

    def own_zones(self) -> list[int]:
        """The zones that this process forwards into."""
        zones = range(len(self._place.zones))
        return [place for place in zones if self._in_charge(place) == self.process]

    def forward(self, message: Message, place: int) -> list[Effect]:
        """A message that has passed goes into a zone, perhaps again."""
        return self._hop(message, *self._place.zones[place])

    def _pass_on(self, message: Message, source: int) -> list[Effect]:
        """A hop has brought a message: deliver it, and forward it into the other zones."""
        effects: list[Effect] = []
        if self.options.forwarding == "all" or self.options.suspect_after_s:
            sender, number = message.id
            if number <= self.state.passed.get(sender, 0):
                return []
            self.state.passed[sender] = number
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        entrance, _ = self._doors[source]
        if self.options.suspect_after_s:
            (came,) = [at for at, (zone, _) in enumerate(self._place.zones) if zone is entrance]
            self.passed_on.append((message, came))
        for place, (zone, own) in enumerate(self._place.zones):
            if zone is not entrance and (
                self.options.forwarding == "all" or self.forwarder(message, place) == self.process
            ):
                effects += self._hop(message, zone, own)
        return effects

    # Receiving.

    def receive(self, packet: Packet[Hop], now: float = 0.0) -> list[Effect]:
        message, hop = self._read(packet)
        stamp = _unlisted(packet.stamp, self.membership.size)
        delivered = self._order.receive(Packet(packet.source, hop, stamp))
        if hop.id in self._order.state.held:
            self.state.carried.setdefault(hop.id, message)
        self.hops = [effect.message.id for effect in delivered if isinstance(effect, Deliver)]
        effects: list[Effect] = []
        self.passed_on = []
        for passed in self.hops:
            carried = message if passed == hop.id else self.state.carried.pop(passed)
            effects += self._pass_on(carried, passed.sender)
        return effects

    def _read(self, packet: Packet[Hop]) -> tuple[Message, Message]:
        """The application message and the hop message that a packet stands for. Whom the hop is
        addressed to follows from its source and its destinations."""
        message = packet.message
        if message is None:
            raise MalformedStamp("message", "is missing")
        if packet.source not in self._doors:
            raise MalformedStamp("source", f"is {packet.source}, to which there is no link")
        zone, port = self._doors[packet.source]
        sender, number = message.id
        if sender >= self.membership.size or not port.side >> sender & 1:
            raise MalformedStamp("sender", f"is {sender}, which is not behind {packet.source}")
        if number < 1:
            raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
        if message.destinations & ~self._hosts:
            raise MalformedStamp("destinations", "contains processes that no application lives at")
        to = zone.next_hop(port, message.destinations)
        if not to >> self.process & 1:
            raise MalformedStamp("destinations", f"does not lead to process {self.process}")
        return message, Message(MessageId(packet.source, packet.stamp.number), to)

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """Nothing lies behind who comes later on a tree, so it is in at once."""
        self.hops = []
        return [Notice(Event.VIEW, "the network", 0, self.neighbours)]

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        """The tree stays as it is."""
        self.hops = []
        return []

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """Where all routers of a set forward, none of them is needed in particular."""
        is_shared = isinstance(options, SeparatorsOptions) and options.forwarding == "all"
        return msgspec.structs.replace(cls.traits, survives_crashes=is_shared)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as somebody is left of every set that forwards: routers of a set stand in for
        each other."""
        places = self._structure.places
        return all(
            len(places[process].zones) < 2 or places[process].members & ~crashed
            for process in members(crashed)
        )

    def held(self) -> list[Held]:
        """Where all forward, copies of a message that has passed are not held, and of the others
        the one that comes first is shown."""
        found: dict[MessageId, Held] = {}
        for held in self._order.held():
            message = self.state.carried[held.message].id
            if message.number > self.state.passed.get(message.sender, 0) and message not in found:
                awaited = [Awaited(one.process, one.count, Scope.HOP) for one in held.awaited]
                found[message] = Held(message, tuple(awaited))
        return [found[message] for message in sorted(found)]

    def entries(self) -> int:
        """The hop messages in H."""
        return self._order.entries()

    def entries_bound(self) -> int | None:
        return self._order.entries_bound()


def _carrying(message: Message, number: int, hop: Packet[Timestamp]) -> Packet[Hop]:
    """A hop message as it travels, with the message that it carries."""
    cited = [(sender, count, _listed(to)) for sender, count, to in hop.stamp.H]
    return Packet(hop.source, message, Hop(number, tuple(cited)))


@lru_cache(maxsize=1 << 14)
def _listed(wire: bytes) -> bytes | tuple[int, ...]:
    """A set of processes as a list, if that is likely to be shorter."""
    bits = set_from_bytes(wire)
    return tuple(members(bits)) if _LISTED_BYTES * bits.bit_count() < len(wire) else wire


def _unlisted(stamp: Hop, size: int) -> Timestamp:
    """What `histories` knows of a stamp."""
    cited = []
    for place, (sender, count, to) in enumerate(stamp.H):
        if isinstance(to, tuple):
            if max(to, default=0) >= size:
                raise MalformedStamp(f"H[{place}]", f"{sender}:{count} has unknown destinations")
            to = _set_of(to)  # noqa: PLW2901
        cited.append((sender, count, to))
    return Timestamp(tuple(cited), ())


@lru_cache(maxsize=1 << 14)
def _set_of(listed: tuple[int, ...]) -> bytes:
    return set_to_bytes(process_set(listed))


def _structure(size: int, options: SeparatorsOptions) -> Structure:
    zones, late, later = options.zones, options.latecomers, options.later_links
    links = tuple([link for link in options.links if link not in later])
    added = [(process, before) for process, before in late if process != before]
    if not zones:
        first = size - len(added)
        everybody = (tuple((process,) for process in range(first)),) if first > 1 else ()
        apart = None if options.applications is None else (1 << options.applications) - 1
        is_direct = options.routes == "direct"
        zones = plan_zones(first, links, apart, is_direct) if links else everybody
    for process, before in added:
        zones = tuple([(*zone, (process,)) if (before,) in zone else zone for zone in zones])
    if links:
        links = (*with_latecomers(links, late), *added)  # these two never talk to each other
    _check_latecomers(zones, options)
    found = structure(size, zones, links)
    for one in () if isinstance(options.filters, str) else options.filters:
        if process_set(one) not in {place.members for place in found.places}:
            raise Misuse(f"filters: {list(one)} is none of the sets")
    return found


def _check_latecomers(zones: Zones, options: SeparatorsOptions) -> None:
    """Who comes later must have nothing behind it: it needs no history then (section 4.4, case i),
    and nobody has to know of it before a message is for it."""
    for _, before in options.latecomers:
        if sum((before,) in zone for zone in zones) != 1:
            raise Misuse(
                f"routes={options.routes} lets no router in, and process {before} forwards for "
                f"others; routes=shortest and routes=flood let routers in"
            )


def _hosts(found: Structure, membership: Membership, options: SeparatorsOptions) -> ProcessSet:
    """The processes that applications live at. Each must be alone in its set."""
    if options.applications is None:
        return found.hosts
    hosts = hosts_of(membership, options)
    for process in members(hosts & ~found.hosts):
        raise Misuse(
            f"an application lives at process {process}, which shares a set with "
            f"{[p for p in members(found.places[process].members) if p != process]}; applications "
            f"live at processes that are alone in their sets"
        )
    return hosts


def _doors(place: Place) -> dict[int, tuple[Zone, Port]]:
    """By neighbour, the zone that it shares with a process, and its port there."""
    return {
        process: (zone, port)
        for zone, own in place.zones
        for port in zone.ports
        if port is not own
        for process in members(port.members)
    }


def _separators(place: Place, options: SeparatorsOptions) -> tuple[Separator, ...]:
    """The own set as a separator of what lies beyond one of its zones from all the rest."""
    filters = options.filters
    if len(place.zones) < 2 or filters == "none":
        return ()
    if not isinstance(filters, str) and place.members not in map(process_set, filters):
        return ()
    beyond = [zone.beyond(own) for zone, own in place.zones]
    return tuple([Separator(place.members, ahead, sum(beyond) - ahead) for ahead in beyond])
