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
    Event,
    Held,
    Notice,
    Options,
    Packet,
    Scope,
    Traits,
    Transmit,
)
from antecede.overlays import Overlay
from antecede.overlays.separators.contexts import Context, Facts, Log, Received, Token
from antecede.overlays.separators.deposits import Deposit, Deposits
from antecede.overlays.separators.gossip import Alive, Gossip, GossipState, Word
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.regions import Regions, regions_of
from antecede.overlays.separators.stamps import Ack, Checks, Copy, Report, Stamps
from antecede.overlays.separators.ways import Ways, are_connected, linked, with_latecomers
from antecede.overlays.separators.wire import (
    context_of,
    decode_set,
    encode_set,
    encode_tokens,
    encode_waits,
)


class Travelling(msgspec.Struct, array_like=True):
    """A message on its way: for whom, what they wait for, and the context."""

    message: Message
    to: ProcessSet
    waits: Context
    known: Context


class Entering(msgspec.Struct, array_like=True):
    """A message that is to go on to `next_` when the borders have what was left out of it: by
    region, the epoch."""

    one: Travelling
    next_: int
    epochs: dict[int, int]


class State(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here, and `links`: how many to each neighbour. `got`:
    those that have come from each. `context`: of the application here, and `delivered`: the last
    number that it delivered of each sender. `logs`: what was deposited, by region and member.
    `transit`: messages that wait for a log. `entering`: those that wait for the border to have
    one; `acked`: up to where others have the own logs. `held`: messages for the application here,
    which wait for others. `kept`: those that it has sent, until they are known to be delivered.
    `facts`: what need not be kept. `untold`: what was delivered since that was told, and
    `untold_count`: how much. `gossip`: see there. `is_joining`: whether this process has come, and
    not everybody knows of it."""

    sent: int = 0
    links: dict[int, int] = {}
    got: dict[int, Received] = {}
    context: Context = msgspec.field(default_factory=lambda: Context({}, {}))
    delivered: dict[int, int] = {}
    logs: dict[Token, Log] = {}
    transit: list[Travelling] = []
    entering: list[Entering] = []
    acked: dict[Token, int] = {}
    held: dict[MessageId, Travelling] = {}
    kept: dict[MessageId, Travelling] = {}
    facts: Facts = msgspec.field(default_factory=lambda: Facts({}, {}))
    untold: dict[int, int] = {}
    untold_count: int = 0
    gossip: GossipState = msgspec.field(default_factory=GossipState)
    is_joining: bool = False


class Shortest(Overlay):
    name = "separators"
    traits = Traits(
        title="causal separators along shortest ways",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        prompt=False,
    )
    options_type = SeparatorsOptions
    stamp_type = Copy | Report | Ack | Word | Alive
    state_type = State
    state: State
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        late = chosen.latecomers
        self._late = process_set(process for process, _ in late)
        self._network = linked(membership.size, with_latecomers(chosen.links, late))
        self._near = self._network[process] if process < membership.size else 0
        self._hosts = membership.everybody
        if chosen.applications is not None:
            self._hosts &= (1 << chosen.applications) - 1
            self._hosts |= process_set(one for one, before in late if before < chosen.applications)
        self.regions: Regions = regions_of(self._network, self._hosts, chosen)
        self._checks = Checks(self._near, membership.size, self._hosts, self.regions)
        self._gossip = Gossip(process, self._near, chosen.suspect_after_s, self._count)
        super().__init__(process, membership, chosen)

    def initial_state(self) -> State:
        absent = self._late & ~(1 << self.process)
        gossip = GossipState(gone=absent, absent=absent)
        return State(facts=Facts({}, {}, absent), gossip=gossip)

    def resume(self) -> None:
        self.hops = []
        self._gossip.state = self.state.gossip
        self._deposits = Deposits(self.process, self.regions, self.state.logs, self.state.facts)
        self.ways = Ways(self.process, self._network, self.state.gossip.gone)

    @property
    def hosts(self) -> ProcessSet:
        return self._hosts

    # Sending and forwarding.

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
            effects += self._forward(one)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        return effects

    def _forward(self, one: Travelling) -> list[Effect]:
        """Hand a message on, part by part. What is filtered for one next hop is not for another."""
        effects: list[Effect] = []
        for next_, there in self.next_hops(one.message, one.to):
            waits = Context({}, {})
            for id_, mask in one.waits.waits.items():
                if mask & there:
                    waits.waits[id_] = mask & there
            for token, epoch in one.waits.tokens.items():
                if there & ~self.regions.inside[token[0]]:
                    waits.tokens[token] = epoch
            known, new, given = self._deposits.enter(one.known, next_)
            for deposit in new:
                effects += self._report(deposit)
            part = Travelling(one.message, there, waits, known)
            epochs = {token[0]: self._deposits.reached(token) for token in given}
            if self.options.write_ahead and not self._have_all(epochs):
                self.state.entering.append(Entering(part, next_, epochs))
            else:
                effects += self._hop(part, next_)
        return effects

    def next_hops(self, message: Message, to: ProcessSet) -> list[tuple[int, ProcessSet]]:
        """Whom to hand a message to, and for which of its destinations: any way will do."""
        return self.ways.next_hops(to)

    def _hop(self, one: Travelling, next_: int) -> list[Effect]:
        copy = Copy(
            self._count(),
            self._count_link(next_),
            encode_set(one.to),
            encode_waits(_highest(one.waits.waits, one.to)),
            encode_tokens(one.waits.tokens),
            encode_waits(one.known.waits),
            encode_tokens(one.known.tokens),
        )
        return [Transmit(Packet(self.process, one.message, copy), 1 << next_)]

    def _count(self) -> int:
        self.state.sent += 1
        return self.state.sent

    def _count_link(self, next_: int) -> int:
        self.state.links[next_] = self.state.links.get(next_, 0) + 1
        return self.state.links[next_]

    # Reports, and what waits for them.

    def _report(
        self, one: Deposit, member: int | None = None, to: ProcessSet | None = None
    ) -> list[Effect]:
        """A deposit, for the rest of the border: the own one, or that of a member, for some."""
        others = self.regions.border[one.region] & ~(1 << self.process | self.state.gossip.gone)
        others = others if to is None else others & to
        owner = self.process if member is None else member
        known, tokens = encode_waits(one.context.waits), encode_tokens(one.context.tokens)
        stamp = Report(0, 1, b"", one.region, owner, one.epoch, one.after, known, tokens)
        return self._route(stamp, others)

    def _route(self, stamp: Report | Ack, to: ProcessSet) -> list[Effect]:
        """On to these, along shortest ways."""
        effects: list[Effect] = []
        for next_, there in self.ways.next_hops(to):
            number, link = self._count(), self._count_link(next_)
            numbered = msgspec.structs.replace(
                stamp, number=number, link=link, to=encode_set(there)
            )
            effects.append(Transmit(Packet(self.process, None, numbered), 1 << next_))
        return effects

    def _take_report(self, stamp: Report) -> list[Effect]:
        to = decode_set(stamp.to)
        effects = self._route(stamp, to & ~(1 << self.process))
        if to >> self.process & 1:
            token = (stamp.region, stamp.member)
            deposit = context_of(stamp.known, stamp.tokens)
            if self._deposits.add(token, stamp.epoch, deposit, stamp.after):
                effects += self._release()
            if self.options.write_ahead and self._deposits.reached(token):
                effects += self._acknowledge(token)
        return effects

    def _acknowledge(self, token: Token) -> list[Effect]:
        ack = Ack(0, 1, b"", token[0], self.process, self._deposits.reached(token))
        return self._route(ack, 1 << token[1])

    def _take_ack(self, stamp: Ack) -> list[Effect]:
        to = decode_set(stamp.to)
        effects = self._route(stamp, to & ~(1 << self.process))
        if to >> self.process & 1:
            token = (stamp.region, stamp.by)
            self.state.acked[token] = max(stamp.epoch, self.state.acked.get(token, 0))
            effects += self._enter()
        return effects

    def _have_all(self, epochs: dict[int, int]) -> bool:
        """Whether all of these borders have the own logs up to these epochs, as far as a way leads
        to them: who is cut off stays so."""
        return all(
            self.state.acked.get((region, member), 0) >= epoch
            for region, epoch in epochs.items()
            for member in members(self.regions.border[region] & self.ways.reached)
        )

    def _enter(self) -> list[Effect]:
        """Let those go on whose borders have what was left out of them."""
        effects: list[Effect] = []
        waiting, self.state.entering = self.state.entering, []
        for entering in waiting:
            if self._have_all(entering.epochs):
                effects += self._hop(entering.one, entering.next_)
            else:
                self.state.entering.append(entering)
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
        one.known = self._deposits.opened(one.known)
        waits = self._deposits.opened(one.waits)
        concern = {id_: mask & one.to for id_, mask in waits.waits.items() if mask & one.to}
        one.waits = Context(concern, waits.tokens)
        others = one.to & ~(1 << self.process)
        effects = self._forward(Travelling(one.message, others, one.waits, one.known))
        if one.to >> self.process & 1 and self._is_new(one.message.id):
            self.state.held[one.message.id] = one
            effects += self._deliver()
        return effects

    def _missing(self, one: Travelling) -> dict[Token, int]:
        return self._deposits.missing([*one.known.tokens.items(), *one.waits.tokens.items()])

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
        dead = self._deposits.dead()
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
        gone = process_set(word.gone) & ~self.state.gossip.gone
        if gone:
            effects += self._go_round(gone, now)
        came = process_set(word.came) & self.state.gossip.absent
        if came:
            effects += self._welcome(came, now)
        facts.strike(self.state.context)
        self._deposits.tidy()
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
            if self.state.is_joining:
                self.state.is_joining = False
                effects.append(Notice(Event.VIEW, "the network", 1, self._near))
        if silent:
            effects += self._gossip.tell(gone=silent)
            effects += self._go_round(silent, now)
        return effects

    def _go_round(self, gone: ProcessSet, now: float) -> list[Effect]:
        """These have crashed: take other ways, and send again what may have been lost; and once
        more when everybody takes other ways."""
        self._gossip.lose(gone, now)
        self.state.facts.gone |= gone
        self.ways = Ways(self.process, self._network, self.state.gossip.gone)
        self._keep_less()
        self.state.entering = [one for one in self.state.entering if not gone >> one.next_ & 1]
        return self._enter() + self._send_again()

    def _send_again(self) -> list[Effect]:
        """Reports, acknowledgements, and the own messages that may not have been delivered."""
        effects: list[Effect] = []
        for deposit in self._deposits.all_own():
            effects += self._report(deposit)
        effects += self._hand_over(self._late & ~self.state.gossip.absent)
        if self.options.write_ahead:
            for token in sorted(self.state.logs):
                if token[1] != self.process and self._deposits.reached(token):
                    effects += self._acknowledge(token)
        for id_ in sorted(self.state.kept):
            one = self.state.kept[id_]
            again = Travelling(one.message, one.to, one.waits.copy(), one.known.copy())
            effects += self._forward(again)
        return effects

    # Letting others in.

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """Tell everybody; those of the borders that this process is in hand over their logs. It is
        in when everybody knows of it."""
        self.hops = []
        self.state.is_joining = True
        effects = self._gossip.begin(now) + self._gossip.tell(came=1 << self.process)
        self._gossip.lose(0, now)
        return effects

    def _welcome(self, came: ProcessSet, now: float) -> list[Effect]:
        """These have come: take ways through them, and hand over the own logs, and those of
        members that have crashed. Neighbours tell them who has, and who else has come."""
        self._gossip.welcome(came, now)
        self.state.facts.gone &= ~came
        self.ways = Ways(self.process, self._network, self.state.gossip.gone)
        gossip = self.state.gossip
        crashed = gossip.gone & ~gossip.absent
        self._gossip.lose(0, now)  # and once more when everybody knows of them
        effects: list[Effect] = []
        if came & self._near:
            effects += self._gossip.tell(gone=crashed, came=self._late & ~gossip.absent)
        return effects + self._hand_over(came)

    def _hand_over(self, came: ProcessSet) -> list[Effect]:
        """The own logs, and those of members that have crashed, for those who have come."""
        effects: list[Effect] = []
        crashed = self.state.gossip.gone & ~self.state.gossip.absent
        for region, member in sorted(self.state.logs):
            to = self.regions.border[region] & came
            if to and (member == self.process or crashed >> member & 1):
                for deposit in self._deposits.all_of((region, member)):
                    effects += self._report(deposit, member, to)
        return effects

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        """Who watches, and writes ahead, loses nothing with a router."""
        if not isinstance(options, SeparatorsOptions) or not options.suspect_after_s:
            return cls.traits
        survives = options.write_ahead
        return msgspec.structs.replace(cls.traits, watches=True, survives_crashes=survives)

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as ways lead between all who live; and an application does not crash together
        with a router, which may have had the only copy of what it sent."""
        is_mixed = crashed & self._hosts and crashed & ~self._hosts
        away = crashed | self._late
        return not is_mixed and are_connected(self._network, self._hosts & ~away, away)

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


def _highest(waits: dict[MessageId, ProcessSet], to: ProcessSet) -> dict[MessageId, ProcessSet]:
    """The last message of each sender is enough for each destination: they are delivered in the
    order of their numbers."""
    found: dict[MessageId, ProcessSet] = {}
    left: dict[int, ProcessSet] = {}
    for id_ in sorted(waits, reverse=True):
        mask = waits[id_] & left.get(id_.sender, to)
        if mask:
            found[id_] = mask
            left[id_.sender] = left.get(id_.sender, to) & ~mask
    return found
