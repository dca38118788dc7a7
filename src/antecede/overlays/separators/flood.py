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
all of them. With `forwarding=all` so do the messages; else their sender keeps them until they are
known to be delivered, and with `suspect_after_s` sends them again on other ways (`gossip`).

Who comes later, and links that do: over a link that opens, a node first passes all headers that it
has passed and that are not known to be delivered everywhere, in their order. So what comes over it
later has nothing before it that anybody still waits for.

Papers: R. Friedman, S. Manor, "Causal ordering in deterministic overlay networks", Technion
CS-2004-04, 2004; B. Nédelec, P. Molli, A. Mostéfaoui, "Breaking the scalability barrier of causal
broadcast for large and dynamic systems", SRDS 2018. Both flood the messages themselves to all.
"""

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
from antecede.overlays.separators.gossip import (
    Alive,
    Gossip,
    GossipState,
    LinksWord,
    Word,
    check_word,
)
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.ways import network_of
from antecede.overlays.separators.zones import Links


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


Stamps = Header | Payload | Word | LinksWord | Alive


class FloodState(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here. `got`: of each neighbour, the number of the
    last one. `headers`: of each sender, how many headers have come. `queue`: those that name this
    process, undelivered, in their order. `arrived`: the messages that came ahead of their turn.
    `passed`: where links may open later, the headers that have passed, in their order, and who may
    not have delivered them. `kept`: the own messages, and the same. `untold`: what was delivered
    here since that was told, and `untold_count`: how much. `gossip`: see there."""

    sent: int
    got: dict[int, int]
    headers: dict[int, int]
    queue: list[MessageId]
    arrived: dict[MessageId, Message]
    passed: dict[MessageId, tuple[Message, ProcessSet]] = {}
    kept: dict[MessageId, tuple[Message, ProcessSet]] = {}
    untold: dict[int, int] = {}
    untold_count: int = 0
    gossip: GossipState = msgspec.field(default_factory=GossipState)


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
    stamp_type = Header | Payload | Word | LinksWord | Alive
    state_type = FloodState
    state: FloodState
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        self._network = network_of(membership, chosen)
        self._gossip = Gossip(process, self._network, chosen.suspect_after_s, self._count)
        self._changes = bool(chosen.latecomers or chosen.later_links)
        super().__init__(process, membership, chosen)

    def initial_state(self) -> FloodState:
        return FloodState(0, {}, {}, [], {}, gossip=self._gossip.initial())

    def resume(self) -> None:
        self.hops = []
        self._gossip.resume(self.state.gossip)

    @property
    def hosts(self) -> ProcessSet:
        return self._network.hosts

    @property
    def _all(self) -> ProcessSet:
        """Whom a link leads to, be it there yet or not."""
        return self._network.all[self.process]

    @property
    def _open(self) -> ProcessSet:
        """Whom a link leads to that is open."""
        return self._gossip.near & ~self.state.gossip.absent

    # Sending and passing on.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self.hops = []
        effects = self._gossip.begin(now)
        effects += self._announce(message, self._open)
        others = message.destinations & ~(1 << self.process)
        effects += self._hand_on(message, others)
        if self._watches and others:
            self.state.kept[message.id] = (message, others)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def _announce(self, message: Message, to: ProcessSet) -> list[Effect]:
        """The header of a message over these links; its number comes next from its sender."""
        sender, count = message.id
        self.state.headers[sender] = count
        waiting = message.destinations & ~(1 << sender | self.state.gossip.gone)
        if self._changes and waiting:
            is_whole = self.options.forwarding == "all"
            bare = message if is_whole else Message(message.id, message.destinations)
            self.state.passed[message.id] = (bare, waiting)
        return self._pass(message, to)

    def _pass(self, message: Message, to: ProcessSet) -> list[Effect]:
        if not to:
            return []
        if self.options.forwarding == "all":
            packet = Packet(self.process, message, Header(self._count()))
        else:
            destinations = set_to_bytes(message.destinations)
            header = Header(self._count(), *message.id, destinations)
            packet = Packet(self.process, None, header)
        return [Transmit(packet, to)]

    def _hand_on(self, message: Message, to: ProcessSet) -> list[Effect]:
        """The message itself, along the ways to these destinations."""
        effects: list[Effect] = []
        if self.options.forwarding == "all":
            return effects
        for next_, there in self._gossip.ways.next_hops(to):
            payload = Payload(self._count(), set_to_bytes(there))
            effects.append(Transmit(Packet(self.process, message, payload), 1 << next_))
        return effects

    def _count(self) -> int:
        self.state.sent += 1
        return self.state.sent

    @property
    def _watches(self) -> bool:
        """Whether messages may have to be sent again."""
        return self.options.suspect_after_s > 0 and self.options.forwarding == "one"

    # Receiving.

    def receive(self, packet: Packet[Stamps], now: float = 0.0) -> list[Effect]:
        source, stamp = packet.source, packet.stamp
        if source >= self.membership.size or not self._all >> source & 1:
            raise MalformedStamp("source", f"is {source}, to which there is no link")
        if isinstance(stamp, Word):
            check_word(stamp, self.membership.size)
        known = self._read(packet.message, stamp) if isinstance(stamp, Header | Payload) else None
        self.hops = []
        effects = self._gossip.begin(now)
        if stamp.number <= self.state.got.get(source, 0):
            return effects  # the channel stutters
        self._gossip.note(source, now)
        self.state.got[source] = stamp.number
        self.hops.append(MessageId(source, stamp.number))
        if isinstance(stamp, Word):
            effects += self._hear(stamp, source, now)
        elif known is not None:
            effects += self._take(packet, *known)
        return effects

    def _take(self, packet: Packet[Stamps], message: Message, to: ProcessSet) -> list[Effect]:
        """A header or a message, for these processes."""
        if isinstance(packet.stamp, Payload):
            effects = self._hand_on(message, to & ~(1 << self.process))
        elif message.id.number <= self.state.headers.get(message.id.sender, 0):
            return []
        else:
            effects = self._announce(message, self._open & ~(1 << packet.source))
            if message.destinations >> self.process & 1:
                self.state.queue.append(message.id)
            if packet.message is not None:
                to = message.destinations
        if to >> self.process & 1 and message.id in self.state.queue:
            self.state.arrived[message.id] = message
        return effects + self._deliver()

    def _deliver(self) -> list[Effect]:
        """What has come, in the order of headers."""
        queue, arrived = self.state.queue, self.state.arrived
        effects: list[Effect] = []
        while queue and queue[0] in arrived:
            effects.append(Deliver(arrived.pop(queue.pop(0))))
        if self._watches or self._changes:
            for effect in effects:
                if isinstance(effect, Deliver):
                    self.state.untold[effect.message.id.sender] = effect.message.id.number
            self.state.untold_count += len(effects)
            if self.options.tidy and self.state.untold_count >= self.options.tidy:
                effects += self._gossip.tell(tuple(sorted(self.state.untold.items())))
                self.state.untold, self.state.untold_count = {}, 0
        return effects

    # Going round those who have crashed.

    def _hear(self, word: Word, source: int, now: float) -> list[Effect]:
        effects = self._gossip.hear(word, source)
        if effects is None:
            return []
        self._keep_less(self.state.passed, 1 << word.origin, dict(word.done))
        self._keep_less(self.state.kept, 1 << word.origin, dict(word.done))
        gone, came, links = self._gossip.news(word)
        if gone:
            effects += self._go_round(gone, now)
        if came:
            effects += self._gossip.welcome(came, now) + self._catch_up(came & self._open)
        if links:
            effects += self._connect(links, now)
        return effects

    def _keep_less(
        self,
        kept: dict[MessageId, tuple[Message, ProcessSet]],
        who: ProcessSet,
        done: dict[int, int] | None = None,
    ) -> None:
        """These have delivered all up to these numbers, by sender, or will deliver nothing."""
        for id_, (message, to) in list(kept.items()):
            if to & who and (done is None or id_.number <= done.get(id_.sender, 0)):
                kept[id_] = (message, to & ~who)
                if not to & ~who:
                    del kept[id_]

    def wake(self, now: float) -> list[Effect]:
        self.hops = []
        effects, silent, is_known = self._gossip.wake(now)
        if is_known:
            effects += self._send_again()
        if silent:
            effects += self._gossip.tell(gone=silent)
            effects += self._go_round(silent, now)
        return effects

    def _go_round(self, gone: ProcessSet, now: float) -> list[Effect]:
        """These have crashed: take other ways, and send again what may have been lost; and once
        more when everybody takes other ways."""
        self._gossip.lose(gone, now)
        self._keep_less(self.state.passed, gone)
        self._keep_less(self.state.kept, gone)
        return self._send_again()

    def _send_again(self) -> list[Effect]:
        effects: list[Effect] = []
        for id_ in sorted(self.state.kept):
            effects += self._hand_on(*self.state.kept[id_])
        return effects

    # Links that open later.

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """Tell everybody; neighbours open their links. It is in when everybody knows of it."""
        self.hops = []
        return self._gossip.join(now)

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        self.hops = []
        link = (min(self.process, other), max(self.process, other))
        return self._gossip.begin(now) + self._connect((link,), now)

    def _connect(self, links: Links, now: float) -> list[Effect]:
        effects, new = self._gossip.connect(links, now)
        return effects + self._catch_up(new)

    def _catch_up(self, new: ProcessSet) -> list[Effect]:
        """Links to these open: first the headers that somebody may still wait for."""
        effects: list[Effect] = []
        for message, _ in self.state.passed.values():
            effects += self._pass(message, new)
        return effects

    def _read(self, message: Message | None, stamp: Header | Payload) -> tuple[Message, ProcessSet]:
        """The message that a packet brings or announces, and whom it brings it to."""
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
        if not message.destinations or message.destinations & ~self._network.hosts:
            raise MalformedStamp("destinations", "contains processes that no application lives at")
        is_early = number > self.state.headers.get(sender, 0) and not self._changes
        if isinstance(stamp, Payload) and is_early:  # who came later knows not all old headers
            raise MalformedStamp("number", f"is {number}: {sender}:{number} overtakes its header")
        to = set_from_bytes(stamp.to) if isinstance(stamp, Payload) else 0
        if to & ~message.destinations or (isinstance(stamp, Payload) and not to):
            raise MalformedStamp("to", "is not among the destinations")
        return message, to

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """A message that goes everywhere with its header needs no router in particular; another is
        sent again where somebody watches."""
        survives = isinstance(options, SeparatorsOptions) and (
            options.forwarding == "all" or options.suspect_after_s > 0
        )
        watches = isinstance(options, SeparatorsOptions) and options.suspect_after_s > 0
        return msgspec.structs.replace(cls.traits, survives_crashes=survives, watches=watches)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as ways lead between all who live."""
        return self._network.connects_without(crashed)

    def lost_with(self, crashed: ProcessSet) -> ProcessSet:
        """Applications, where a router that crashes, too, may have had the only copy of what they
        sent."""
        hosts = self._network.hosts
        return crashed & hosts if crashed & ~hosts and self.options.forwarding == "one" else 0

    def held(self) -> list[Held]:
        """What has come waits for all that is before it in the queue."""
        found = []
        for message in sorted(self.state.arrived):
            before = self.state.queue[: self.state.queue.index(message)]
            awaited = [Awaited(sender, number) for sender, number in sorted(before)]
            found.append(Held(message, tuple(awaited)))
        return found

    def entries(self) -> int:
        """The senders whose headers are counted, the headers that wait, and those that are kept."""
        return len(self.state.headers) + len(self.state.queue) + len(self.state.passed)
