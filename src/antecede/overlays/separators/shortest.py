"""Routes along shortest ways, on any network: rule R9 by deposits.

A *region* F is a set of nodes with a small border S = N(F), all its neighbours. An application
process has a context: what it knows of the past (`contexts`). A message carries the context of its
sender, and W: what its destinations have to wait for. Who of S forwards it into F *deposits* the
whole context in a log of its own, reports that to the rest of S, and leaves out of the message all
that concerns nobody in F; a token stands for it. Whoever gets a message with a token of a region
that it is not in is in S, opens the token by its copy of the log, and holds the message until that
goes as far as the token (`deposits`). Routers order nothing, and merge nothing of their own into
what passes.

State: `State`. Invariant: what a context stands for, with all its tokens opened, is a consistent
cut that contains the past of the message it came with; and everything that a message has to wait
for was sent before it. docs/separators.md has the proof.

Routers that crash (`suspect_after_s`): ways lead round them, and what was on its way is sent again
by its sender, with the stamp that it had. What a log lacks then would block for ever; with
`write_ahead` a message enters a region only when the whole border has what was left out of it.

The rule is R9 of Rodrigues and Verissimo (1994), for networks with cycles and ways that may change
from message to message; its wording there is not enough (docs/errata.md).
"""

import msgspec

from antecede.errors import Misuse
from antecede.message import Membership, Message, MessageId, ProcessSet, members, process_set
from antecede.order import (
    Addressing,
    Awaited,
    Deliver,
    Effect,
    Held,
    Options,
    Packet,
    Scope,
    Traits,
)
from antecede.overlays import Overlay
from antecede.overlays.separators.contexts import Context, Facts, Received, Token
from antecede.overlays.separators.deposits import Deposits
from antecede.overlays.separators.forwarding import Forwarding
from antecede.overlays.separators.gossip import Alive, Gossip, LinksWord, Word
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.regions import Regions, bordered, regions_of
from antecede.overlays.separators.reports import Reports
from antecede.overlays.separators.stamps import Ack, Checks, Copy, Report, Stamps
from antecede.overlays.separators.travelling import Memory, State, Travelling
from antecede.overlays.separators.ways import network_of
from antecede.overlays.separators.wire import (
    context_of,
    decode_set,
)
from antecede.overlays.separators.zones import Links
from antecede.snapshot import freeze, thaw


class Shortest(Overlay):
    name = "separators"
    traits = Traits(
        title="causal separators along shortest ways",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        prompt=False,
    )
    options_type = SeparatorsOptions
    stamp_type = Copy | Report | Ack | Word | LinksWord | Alive
    state_type = State
    state: State
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        network = self._network = network_of(membership, chosen)
        self._all_regions: Regions = regions_of(network.all, network.hosts, chosen)
        near = network.all[process] if process < membership.size else 0
        self._checks = Checks(near, membership.size, network.hosts, self._all_regions)
        self._gossip = Gossip(process, network, chosen.suspect_after_s, self.count)
        self._reports = Reports(self)
        self.forwarding = Forwarding(self, self._reports)
        super().__init__(process, membership, chosen)

    def initial_state(self) -> State:
        gossip = self._gossip.initial()
        return State(facts=Facts({}, {}, gossip.absent), gossip=gossip)

    def resume(self) -> None:
        self.hops = []
        self._gossip.resume(self.state.gossip)
        self._look_around()

    def _look_around(self) -> None:
        """The borders as they are, and the logs for them; the ways."""
        self.regions = bordered(self._gossip.network, self._all_regions.inside)
        self.deposits = Deposits(self.process, self.regions, self.state.logs, self.state.facts)
        self.ways = self._gossip.ways

    @property
    def hosts(self) -> ProcessSet:
        return self._network.hosts

    # Sending.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self.hops = []
        effects = self._gossip.begin(now)
        own = self.state.context
        self.state.facts.strike(own)
        to = message.destinations & ~(1 << self.process)
        waits = Context({}, dict(own.tokens))
        known = Context({}, own.tokens)
        for id_, mask in own.waits.items():
            if mask & to:
                waits.waits[id_] = mask & to
            if mask & ~to:
                known.waits[id_] = mask & ~to
        if to:
            known.waits[message.id] = to
            self.state.context = known
            one = Travelling(message, to, waits, known)
            if self.options.suspect_after_s:
                self.state.kept[message.id] = Travelling(message, to, waits, known.copy())
            effects += self.forwarding.forward(one, is_own=True)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def count(self) -> int:
        self.state.sent += 1
        return self.state.sent

    def count_link(self, next_: int) -> int:
        self.state.links[next_] = self.state.links.get(next_, 0) + 1
        return self.state.links[next_]

    # Reports, and what waits for them.

    def _take_report(self, stamp: Report) -> list[Effect]:
        to = decode_set(stamp.to)
        effects = self._reports.route(stamp, to & ~(1 << self.process))
        if to >> self.process & 1:
            token = (stamp.region, stamp.member)
            deposit = context_of(stamp.known, stamp.tokens)
            if self.deposits.add(token, stamp.epoch, deposit, stamp.after):
                effects += self._release()
            if self.options.write_ahead and self.deposits.reached(token):
                effects += self._reports.acknowledge(token)
        return effects

    def _take_ack(self, stamp: Ack) -> list[Effect]:
        to = decode_set(stamp.to)
        effects = self._reports.route(stamp, to & ~(1 << self.process))
        if to >> self.process & 1:
            token = (stamp.region, stamp.by)
            self.state.acked[token] = max(stamp.epoch, self.state.acked.get(token, 0))
            effects += self.forwarding.enter()
        return effects

    def _release(self) -> list[Effect]:
        """Let those go on that a log has held up."""
        effects: list[Effect] = []
        waiting, self.state.transit = self.state.transit, []
        for one in waiting:
            effects += self._arrive(one)
        return effects

    # Receiving.

    def receive(self, packet: Packet[Stamps], now: float = 0.0) -> list[Effect]:
        self._checks.packet(packet)
        self.hops = []
        source, stamp = packet.source, packet.stamp
        hop = MessageId(source, stamp.number)
        effects = self._gossip.begin(now)
        self._gossip.note(source, now)
        if isinstance(stamp, Alive):
            self.hops.append(hop)
            return effects
        if isinstance(stamp, Word):
            return effects + self._hear(stamp, hop, now)
        if not self.state.got.setdefault(source, Received()).add(stamp.link):
            return effects
        self.hops.append(hop)
        if isinstance(stamp, Report):
            return effects + self._take_report(stamp)
        if isinstance(stamp, Ack):
            return effects + self._take_ack(stamp)
        if packet.message is not None:
            waits = context_of(stamp.waits, stamp.wait_tokens)
            known = context_of(stamp.known, stamp.tokens)
            one = Travelling(packet.message, decode_set(stamp.to), waits, known)
            effects += self._arrive(one)
        return effects

    def _arrive(self, one: Travelling) -> list[Effect]:
        """Open what has to be opened here, or keep the message until that is possible."""
        if self._missing(one):
            self.state.transit.append(one)
            return []
        one.known = self.deposits.opened(one.known)
        waits = self.deposits.opened(one.waits)
        concern = {id_: mask & one.to for id_, mask in waits.waits.items() if mask & one.to}
        one.waits = Context(concern, waits.tokens)
        others = one.to & ~(1 << self.process)
        effects = self.forwarding.forward(Travelling(one.message, others, one.waits, one.known))
        if one.to >> self.process & 1 and self._is_new(one.message.id):
            self.state.held[one.message.id] = one
            effects += self._deliver()
        return effects

    def _missing(self, one: Travelling) -> dict[Token, int]:
        return self.deposits.missing([*one.known.tokens.items(), *one.waits.tokens.items()])

    def _is_new(self, message: MessageId) -> bool:
        return (
            message.number > self.state.delivered.get(message.sender, 0)
            and message not in self.state.held
        )

    def _deliver(self) -> list[Effect]:
        """All that has nothing more to wait for."""
        effects: list[Effect] = []
        found = True
        while found:
            found = False
            for id_ in sorted(self.state.held):
                one = self.state.held[id_]
                if not self._awaited(one):
                    del self.state.held[id_]
                    found = True
                    effects.append(Deliver(one.message))
                    self._take_in(one)
        return effects + self._tell() if effects else effects

    def _awaited(self, one: Travelling) -> list[MessageId]:
        delivered = self.state.delivered
        return [
            id_
            for id_, mask in one.waits.waits.items()
            if mask >> self.process & 1 and id_.number > delivered.get(id_.sender, 0)
        ]

    def _take_in(self, one: Travelling) -> None:
        """A message is delivered: its past is that of the application here."""
        sender, number = one.message.id
        self.state.delivered[sender] = number
        self.state.untold[sender] = number
        self.state.untold_count += 1
        self.state.context.merge(one.known)
        facts = self.state.facts
        facts.learn([(self.process, sender, number)], ())
        facts.strike(self.state.context)

    # Forgetting, and going round those who have crashed.

    def _tell(self) -> list[Effect]:
        """Tell everybody what has been delivered and what is dead here, now and then."""
        tidy = self.options.tidy
        dead = self.deposits.dead()
        told = self.state.facts.dead
        news = sum(epoch - told.get((region, self.process), 0) for region, epoch in dead)
        if not tidy or self.state.untold_count + news < tidy:
            return []
        done = tuple(sorted(self.state.untold.items()))
        self.state.untold, self.state.untold_count = {}, 0
        self.state.facts.learn((), [((region, self.process), epoch) for region, epoch in dead])
        return self._gossip.tell(done, dead)

    def _hear(self, word: Word, hop: MessageId, now: float) -> list[Effect]:
        """Word of others: strike out what need not be kept."""
        effects = self._gossip.hear(word, hop.sender)
        if effects is None:
            return []
        self.hops.append(hop)
        facts = self.state.facts
        facts.learn(
            [(word.origin, sender, number) for sender, number in word.done],
            [((region, word.origin), epoch) for region, epoch in word.dead],
        )
        gone, came, links = self._gossip.news(word)
        if gone:
            effects += self._go_round(gone, now)
        if came:
            effects += self._welcome(came, now)
        if links:
            effects += self._connect(links, now)
        facts.strike(self.state.context)
        self.deposits.tidy()
        self._keep_less()
        return effects + self._release() + self._tell()

    def _keep_less(self) -> None:
        """Forget what was sent here and is delivered."""
        facts = self.state.facts
        for id_, one in list(self.state.kept.items()):
            for destination in members(one.to):
                if id_.number <= facts.done.get((destination, id_.sender), 0):
                    one.to &= ~(1 << destination)
            one.to &= ~facts.gone
            if not one.to:
                del self.state.kept[id_]

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
        self.state.facts.gone |= gone
        self.ways = self._gossip.ways
        self._keep_less()
        for entering in self.state.entering:
            entering.parts = [one for one in entering.parts if not gone >> one[1] & 1]
        return self.forwarding.enter() + self._send_again()

    def _send_again(self) -> list[Effect]:
        """Reports, acknowledgements, and the own messages that may not have been delivered."""
        gossip = self.state.gossip
        ends = process_set(end for link in gossip.up for end in link)
        came = self._network.late & ~gossip.absent | ends
        if self.options.recovery == "memory" and self._network.late >> self.process & 1:
            came = -1  # what this process recalls the living may not have
        effects = self._reports.again(came)
        for id_ in sorted(self.state.kept):
            one = self.state.kept[id_]
            again = Travelling(one.message, one.to, one.waits.copy(), one.known.copy())
            effects += self.forwarding.forward(again, is_own=True)
        return effects

    # Letting others in.

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """Tell everybody; those of the borders that this process is in hand over their logs. It is
        in when everybody knows of it."""
        self.hops = []
        return self._gossip.join(now)

    def remembered(self) -> bytes:
        """The logs: what was left out at the borders that this process is in."""
        if self.options.recovery != "memory":
            return b""
        return freeze(Memory(self.state.logs))

    def recall(self, memory: bytes) -> None:
        """The logs of the one before, and its copies of those of others."""
        if memory:
            self.state.logs.update(thaw(memory, Memory).logs)
            self._look_around()

    def _welcome(self, came: ProcessSet, now: float) -> list[Effect]:
        """These have come: take ways through them, and hand over the own logs, and those of
        members that have crashed."""
        effects = self._gossip.welcome(came, now)
        self.state.facts.gone &= ~came
        self.ways = self._gossip.ways
        return effects + self._reports.hand_over(came)

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        self.hops = []
        link = (min(self.process, other), max(self.process, other))
        return self._gossip.begin(now) + self._connect((link,), now)

    def _connect(self, links: Links, now: float) -> list[Effect]:
        """Links have come: borders grow by their ends, which get the logs. A message whose token
        is early there is held, as everywhere."""
        effects, _ = self._gossip.connect(links, now)
        self._look_around()
        return effects + self._reports.hand_over(process_set(end for link in links for end in link))

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """Who watches, and writes ahead, loses nothing with a router."""
        if not isinstance(options, SeparatorsOptions) or not options.suspect_after_s:
            return cls.traits
        survives = options.write_ahead
        return msgspec.structs.replace(cls.traits, watches=True, survives_crashes=survives)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as ways lead between all who live, and somebody of every border is left, or
        remembers."""
        if any(self._is_lost(border, crashed) for border in self.regions.border):
            return False
        return self._network.connects_without(crashed)

    def lost_with(self, crashed: ProcessSet) -> ProcessSet:
        """Applications, where a router that crashes, too, may have had the only copy of what they
        sent."""
        hosts = self._network.hosts
        return crashed & hosts if crashed & ~hosts else 0

    def _is_lost(self, border: ProcessSet, crashed: ProcessSet) -> bool:
        """Whether those who come later need what only those of a border knew who have crashed."""
        late = self._network.late
        if not late or not border & crashed or border & ~(crashed | late):
            return False
        back = process_set(
            before for process, before in self.options.latecomers if process != before
        )
        return self.options.recovery != "memory" or bool(border & crashed & ~back)

    def held(self) -> list[Held]:
        found: dict[MessageId, set[Awaited]] = {}
        for one in self.state.transit:
            reports = [
                Awaited(member, epoch, Scope.REPORT, region)
                for (region, member), epoch in self._missing(one).items()
            ]
            found.setdefault(one.message.id, set()).update(reports)
        for id_, one in self.state.held.items():
            found.setdefault(id_, set()).update(Awaited(*other) for other in self._awaited(one))
        return [Held(id_, tuple(sorted(found[id_]))) for id_ in sorted(found)]

    def entries(self) -> int:
        """What the context here and the logs keep."""
        logs = self.state.logs.values()
        kept = sum(len(deposit) for log in logs for deposit in log.deposits.values())
        return len(self.state.context) + kept
