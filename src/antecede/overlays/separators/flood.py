"""Routes by flooding: headers over all links, messages along shortest ways, and no stamps.

A header says which message is on its way, and to whom. Over FIFO links every node passes each
header once over every link but the one that brought it, in the order in which headers first came;
so they come to every node in causal order (docs/separators.md has the proof). The message itself
takes a shortest way (`forwarding=one`), or travels with its header (`all`). A destination delivers
in the order of headers; a message follows its header over every link, and never comes before it.

A process knows how many hop messages it has sent; of each sender, how many headers have come, which
come in the order of their numbers; the headers that name it and wait for delivery, in their order;
and the messages that came ahead of their turn.

Invariant: if m precedes m', the header of m comes to every node before that of m'. Routers may
crash: what is passed on is passed on, and as long as those who live are connected, headers come to
all of them. With `forwarding=all` so do the messages.

Papers: R. Friedman, S. Manor, "Causal ordering in deterministic overlay networks", Technion
CS-2004-04, 2004; B. Nédelec, P. Molli, A. Mostéfaoui, "Breaking the scalability barrier of causal
broadcast for large and dynamic systems", SRDS 2018. Both flood the messages themselves to all.
"""

from typing import Annotated

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.message import (
    Membership,
    Message,
    MessageId,
    ProcessSet,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import (
    Addressing,
    Awaited,
    Channels,
    Count,
    Deliver,
    Effect,
    Held,
    Options,
    Packet,
    Traits,
    Transmit,
)
from antecede.overlays import HopStamp, Overlay
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.ways import Ways, are_connected, linked

Number = Annotated[int, msgspec.Meta(ge=1)]


class Header(HopStamp, frozen=True, tag=1):
    """A message is on its way. Where the packet carries the message itself (`forwarding=all`), the
    header is that of the message, and these fields are empty."""

    sender: Count = 0
    count: Count = 0
    destinations: bytes = b""

    def entries(self) -> int:
        """One header."""
        return 1


class Payload(HopStamp, frozen=True, tag=2):
    """The message in this packet is for these of its destinations."""

    to: bytes

    def entries(self) -> int:
        """It orders nothing."""
        return 0


class FloodState(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here. `got`: of each neighbour, the number of the
    last one. `headers`: of each sender, how many headers have come. `queue`: those that name this
    process, undelivered, in their order. `arrived`: the messages that came ahead of their turn."""

    sent: int
    got: dict[int, int]
    headers: dict[int, int]
    queue: list[MessageId]
    arrived: dict[MessageId, Message]


class Flood(Overlay):
    name = "separators"
    traits = Traits(
        title="causal order by flooded headers",
        paper="Friedman, Manor 2004",
        addressing=Addressing.SETS,
        channels=Channels.FIFO,
        prompt=False,
    )
    options_type = SeparatorsOptions
    stamp_type = Header | Payload
    state_type = FloodState
    state: FloodState
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        near = self._network = linked(membership.size, chosen.links)
        self._near = near[process] if process < membership.size else 0
        self._ways = Ways(process, near)
        self._hosts = membership.everybody
        if chosen.applications is not None:
            self._hosts &= (1 << chosen.applications) - 1
        super().__init__(process, membership, chosen)

    def initial_state(self) -> FloodState:
        return FloodState(0, {}, {}, [], {})

    def resume(self) -> None:
        self.hops = []

    @property
    def hosts(self) -> ProcessSet:
        return self._hosts

    # Sending and passing on.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self.hops = []
        effects = self._announce(message, self._near)
        effects += self._hand_on(message, message.destinations & ~(1 << self.process))
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def _announce(self, message: Message, to: ProcessSet) -> list[Effect]:
        """The header of a message over these links; its number comes next from its sender."""
        sender, count = message.id
        self.state.headers[sender] = count
        if not to:
            return []
        self.state.sent += 1
        if self.options.forwarding == "all":
            packet = Packet(self.process, message, Header(self.state.sent))
        else:
            destinations = set_to_bytes(message.destinations)
            header = Header(self.state.sent, sender, count, destinations)
            packet = Packet(self.process, None, header)
        return [Transmit(packet, to)]

    def _hand_on(self, message: Message, to: ProcessSet) -> list[Effect]:
        """The message itself, along the ways to these destinations."""
        effects: list[Effect] = []
        if self.options.forwarding == "all":
            return effects
        for next_, there in self._ways.next_hops(to):
            self.state.sent += 1
            payload = Payload(self.state.sent, set_to_bytes(there))
            effects.append(Transmit(Packet(self.process, message, payload), 1 << next_))
        return effects

    # Receiving.

    def receive(self, packet: Packet[Header | Payload], now: float = 0.0) -> list[Effect]:
        message, to = self._read(packet)
        self.hops = []
        if packet.stamp.number <= self.state.got.get(packet.source, 0):
            return []  # the channel stutters
        self.state.got[packet.source] = packet.stamp.number
        self.hops.append(MessageId(packet.source, packet.stamp.number))
        if isinstance(packet.stamp, Payload):
            effects = self._hand_on(message, to & ~(1 << self.process))
        elif message.id.number <= self.state.headers.get(message.id.sender, 0):
            return []
        else:
            effects = self._announce(message, self._near & ~(1 << packet.source))
            if message.destinations >> self.process & 1:
                self.state.queue.append(message.id)
            if packet.message is not None:
                to = message.destinations
        if to >> self.process & 1:
            self.state.arrived[message.id] = message
        return effects + self._deliver()

    def _deliver(self) -> list[Effect]:
        """What has come, in the order of headers."""
        queue, arrived = self.state.queue, self.state.arrived
        effects: list[Effect] = []
        while queue and queue[0] in arrived:
            effects.append(Deliver(arrived.pop(queue.pop(0))))
        return effects

    def _read(self, packet: Packet[Header | Payload]) -> tuple[Message, ProcessSet]:
        """The message that a packet brings or announces, and whom it brings it to."""
        stamp = packet.stamp
        if packet.source >= self.membership.size or not self._near >> packet.source & 1:
            raise MalformedStamp("source", f"is {packet.source}, to which there is no link")
        message = packet.message
        if message is None:
            if isinstance(stamp, Payload):
                raise MalformedStamp("message", "is missing")
            bits = set_from_bytes(stamp.destinations)
            message = Message(MessageId(stamp.sender, stamp.count), bits)
        sender, number = message.id
        if sender >= self.membership.size:
            raise MalformedStamp("sender", f"is {sender}")
        if sender == self.process and number > self.state.headers.get(sender, 0):
            raise MalformedStamp("sender", f"is {sender}, which has not sent number {number}")
        if number < 1:
            raise MalformedStamp("number", f"is {number}; messages are numbered from 1")
        if not message.destinations or message.destinations & ~self._hosts:
            raise MalformedStamp("destinations", "contains processes that no application lives at")
        if isinstance(stamp, Payload) and number > self.state.headers.get(sender, 0):
            raise MalformedStamp("number", f"is {number}: {sender}:{number} overtakes its header")
        to = set_from_bytes(stamp.to) if isinstance(stamp, Payload) else 0
        if to & ~message.destinations or (isinstance(stamp, Payload) and not to):
            raise MalformedStamp("to", "is not among the destinations")
        return message, to

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """A message that goes everywhere with its header needs no router in particular."""
        is_everywhere = isinstance(options, SeparatorsOptions) and options.forwarding == "all"
        return msgspec.structs.replace(cls.traits, survives_crashes=is_everywhere)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as ways lead between all who live."""
        return are_connected(self._network, self._hosts & ~crashed, crashed)

    def held(self) -> list[Held]:
        """What has come waits for all that is before it in the queue."""
        found = []
        for message in sorted(self.state.arrived):
            before = self.state.queue[: self.state.queue.index(message)]
            awaited = [Awaited(sender, number) for sender, number in sorted(before)]
            found.append(Held(message, tuple(awaited)))
        return found

    def entries(self) -> int:
        """The senders whose headers are counted, and the headers that wait."""
        return len(self.state.headers) + len(self.state.queue)
