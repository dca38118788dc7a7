"""Routes along shortest ways, on any network: rule R9 by deposits.

A *region* F is a set of nodes with a small border S = N(F), all its neighbours. An application
process has a context: what it knows of the past (`contexts`). A message carries the context of its
sender, and W: what its destinations have to wait for. Who of S forwards it into F *deposits* the
whole context in a log of its own, reports that to the rest of S, and leaves out of the message all
that concerns nobody in F; a token stands for it. Whoever gets a message with a token of a region
that it is not in is in S, opens the token by its copy of the log, and holds the message until that
goes as far as the token. Routers order nothing, and merge nothing of their own into what passes.

State: `State`. Invariant: what a context stands for, with all its tokens opened, is a consistent
cut that contains the past of the message it came with; and everything that a message has to wait
for was sent before it. docs/separators.md has the proof.

The rule is R9 of Rodrigues and Verissimo (1994), for networks with cycles and ways that may change
from message to message; its wording there is not enough (docs/errata.md).
"""

from typing import Annotated

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, MessageId, ProcessSet, members
from antecede.order import (
    Addressing,
    Awaited,
    Count,
    Deliver,
    Effect,
    Held,
    Options,
    Packet,
    Scope,
    Traits,
    Transmit,
)
from antecede.overlays import HopStamp, Overlay
from antecede.overlays.separators.contexts import Context, Facts, Log, Received, Token
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.regions import Regions, regions_of
from antecede.overlays.separators.ways import Ways, are_connected, linked
from antecede.overlays.separators.wire import (
    Cited,
    Destinations,
    Tokens,
    context_of,
    decode_set,
    encode_set,
    encode_tokens,
    encode_waits,
)

Number = Annotated[int, msgspec.Meta(ge=1)]


class Copy(HopStamp, frozen=True, tag=1):
    """The message in this packet is for `to`. `link`: counts the hop messages of this link.
    `waits`, `wait_tokens`: what they have to wait for. `known`, `tokens`: the context."""

    link: Number
    to: Destinations
    waits: Cited
    wait_tokens: Tokens
    known: Cited
    tokens: Tokens

    def entries(self) -> int:
        """Identifiers and tokens."""
        return len(self.waits) + len(self.wait_tokens) + len(self.known) + len(self.tokens)


class Report(HopStamp, frozen=True, tag=2):
    """What `member` has deposited for a region at `epoch`, for the others of its border."""

    link: Number
    to: Destinations
    region: Count
    member: Count
    epoch: Number
    known: Cited
    tokens: Tokens

    def entries(self) -> int:
        """Identifiers and tokens."""
        return len(self.known) + len(self.tokens)


class Word(HopStamp, frozen=True, tag=3):
    """What has become true at `origin`, told to everybody: of which sender it has delivered all up
    to which number, and which of its logs are dead up to which epoch."""

    link: Number
    origin: Count
    count: Number
    done: tuple[tuple[Count, Number], ...]
    dead: tuple[tuple[Count, Number], ...]

    def entries(self) -> int:
        """It orders nothing."""
        return 0


Stamps = Copy | Report | Word


class Travelling(msgspec.Struct, array_like=True):
    """A message on its way: for whom, what they wait for, and the context."""

    message: Message
    to: ProcessSet
    waits: Context
    known: Context


class State(msgspec.Struct, array_like=True):
    """`sent`: how many hop messages were sent here, and `links`: how many to each neighbour. `got`:
    those that have come from each. `context`: of the application here, and `delivered`: the last
    number that it delivered of each sender. `logs`: what was deposited, by region and member.
    `transit`: messages that wait for a log. `held`: messages for the application here, which wait
    for others. `facts`: what need not be kept. `words`: those that have come of each origin, and
    `told`: how many were told here, `told_dead`: up to which epochs the own logs were told to be
    dead. `untold`: what was delivered since then, and `untold_count`: how much."""

    sent: int = 0
    links: dict[int, int] = {}
    got: dict[int, Received] = {}
    context: Context = msgspec.field(default_factory=lambda: Context({}, {}))
    delivered: dict[int, int] = {}
    logs: dict[Token, Log] = {}
    transit: list[Travelling] = []
    held: dict[MessageId, Travelling] = {}
    facts: Facts = msgspec.field(default_factory=lambda: Facts({}, {}))
    words: dict[int, Received] = {}
    told: int = 0
    told_dead: dict[int, int] = {}
    untold: dict[int, int] = {}
    untold_count: int = 0


class Shortest(Overlay):
    name = "separators"
    traits = Traits(
        title="causal separators along shortest ways",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        prompt=False,
    )
    options_type = SeparatorsOptions
    stamp_type = Copy | Report | Word
    state_type = State
    state: State
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        chosen = self.options_type() if options is None else options
        if not isinstance(chosen, SeparatorsOptions):
            raise Misuse(f"{type(chosen).__name__} are no options of separators")
        self._network = linked(membership.size, chosen.links)
        self._hosts = membership.everybody
        if chosen.applications is not None:
            self._hosts &= (1 << chosen.applications) - 1
        self.regions: Regions = regions_of(self._network, self._hosts, chosen)
        super().__init__(process, membership, chosen)
        self.ways = Ways(process, self._network)

    def initial_state(self) -> State:
        return State()

    def resume(self) -> None:
        self.hops = []
        self._deposited: dict[int, Context] = {}
        """By region, all that was deposited here and is not dead."""
        for (region, member), log in self.state.logs.items():
            if member == self.process:
                self._deposited[region] = log.up_to(log.epoch)

    @property
    def hosts(self) -> ProcessSet:
        return self._hosts

    # Sending and forwarding.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        self.hops = []
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
        effects: list[Effect] = []
        if to:
            known.waits[message.id] = to
            self.state.context = known
            effects = self._forward(Travelling(message, to, waits, known))
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
            known, reports = self._deposit(one.known, next_)
            effects += reports
            copy = Copy(
                self._count(),
                self._count_link(next_),
                encode_set(there),
                encode_waits(_highest(waits.waits, there)),
                encode_tokens(waits.tokens),
                encode_waits(known.waits),
                encode_tokens(known.tokens),
            )
            effects.append(Transmit(Packet(self.process, one.message, copy), 1 << next_))
        return effects

    def next_hops(self, message: Message, to: ProcessSet) -> list[tuple[int, ProcessSet]]:
        """Whom to hand a message to, and for which of its destinations: any way will do."""
        return self.ways.next_hops(to)

    def _deposit(self, known: Context, next_: int) -> tuple[Context, list[Effect]]:
        """The context that goes on to the next hop, and reports of what was left out."""
        effects: list[Effect] = []
        for region in self.regions.entered(self.process, next_):
            inside = self.regions.inside[region]
            if any(inside & ~self.regions.inside[outer] for outer, _ in known.tokens):
                continue
            epoch, reports = self._log(region, known)
            effects += reports
            kept = {id_: mask for id_, mask in known.waits.items() if mask & inside}
            token = (region, self.process)
            is_dead = epoch <= self.state.facts.dead.get(token, 0)
            known = Context(kept, {} if is_dead else {token: epoch})
        return known, effects

    def _log(self, region: int, known: Context) -> tuple[int, list[Effect]]:
        """Deposit a whole context: the epoch that has it all, and the report, if it is a new
        one."""
        token = (region, self.process)
        log = self.state.logs.setdefault(token, Log(0, {}))
        before = self._deposited.setdefault(region, Context({}, {}))
        new = Context(
            {id_: mask for id_, mask in known.waits.items() if id_ not in before.waits},
            {one: e for one, e in known.tokens.items() if e > before.tokens.get(one, 0)},
        )
        if not new:
            return log.epoch, []
        log.add(log.epoch + 1, new)
        before.merge(new)
        others = self.regions.border[region] & ~(1 << self.process)
        if not others:
            return log.epoch, []
        return log.epoch, self._report(others, region, self.process, log.epoch, new)

    def _report(
        self, to: ProcessSet, region: int, member: int, epoch: int, deposit: Context
    ) -> list[Effect]:
        known, tokens = encode_waits(deposit.waits), encode_tokens(deposit.tokens)
        effects: list[Effect] = []
        for next_, there in self.ways.next_hops(to):
            number, link = self._count(), self._count_link(next_)
            far = encode_set(there)
            report = Report(number, link, far, region, member, epoch, known, tokens)
            effects.append(Transmit(Packet(self.process, None, report), 1 << next_))
        return effects

    def _count(self) -> int:
        self.state.sent += 1
        return self.state.sent

    def _count_link(self, next_: int) -> int:
        self.state.links[next_] = self.state.links.get(next_, 0) + 1
        return self.state.links[next_]

    # Receiving.

    def receive(self, packet: Packet[Stamps], now: float = 0.0) -> list[Effect]:
        message = self._check(packet)
        self.hops = []
        stamp = packet.stamp
        if not self.state.got.setdefault(packet.source, Received()).add(stamp.link):
            return []
        self.hops.append(MessageId(packet.source, stamp.number))
        if isinstance(stamp, Word):
            return self._hear(stamp, packet.source)
        if isinstance(stamp, Report):
            return self._take_report(stamp)
        waits = context_of(stamp.waits, stamp.wait_tokens)
        known = context_of(stamp.known, stamp.tokens)
        if message is None:
            raise MalformedStamp("message", "is missing")
        return self._arrive(Travelling(message, decode_set(stamp.to), waits, known))

    def _arrive(self, one: Travelling) -> list[Effect]:
        """Open what has to be opened here, or keep the message until that is possible."""
        if self._missing(one):
            self.state.transit.append(one)
            return []
        self._open_all(one)
        effects = self._forward(
            Travelling(one.message, one.to & ~(1 << self.process), one.waits, one.known)
        )
        if one.to >> self.process & 1 and self._is_new(one.message.id):
            self.state.held[one.message.id] = one
            effects += self._deliver()
        return effects

    def _is_new(self, message: MessageId) -> bool:
        return (
            message.number > self.state.delivered.get(message.sender, 0)
            and message not in self.state.held
        )

    def _missing(self, one: Travelling) -> list[tuple[Token, int]]:
        """The tokens that cannot be opened here yet."""
        found: dict[Token, int] = {}
        todo = [*one.known.tokens.items(), *one.waits.tokens.items()]
        seen = set(todo)
        for token, epoch in todo:
            if self.regions.inside[token[0]] >> self.process & 1 or self._is_dead(token, epoch):
                continue
            log = self.state.logs.get(token)
            if log is None or log.epoch < epoch:
                found[token] = max(epoch, found.get(token, 0))
                continue
            for further in log.up_to(epoch).tokens.items():
                if further not in seen:
                    seen.add(further)
                    todo.append(further)
        return sorted(found.items())

    def _is_dead(self, token: Token, epoch: int) -> bool:
        return epoch <= self.state.facts.dead.get(token, 0)

    def _open_all(self, one: Travelling) -> None:
        """Open the tokens of regions that this process is not in. What they hid joins the context
        and, as far as it concerns a destination, what that has to wait for."""
        one.known = self._opened(one.known)
        waits = self._opened(one.waits)
        one.waits = Context(
            {id_: mask & one.to for id_, mask in waits.waits.items() if mask & one.to}, waits.tokens
        )

    def _opened(self, context: Context) -> Context:
        found = Context(dict(context.waits), {})
        todo = list(context.tokens.items())
        seen = set(todo)
        for token, epoch in todo:
            if self.regions.inside[token[0]] >> self.process & 1:
                found.merge(Context({}, {token: epoch}))
            elif not self._is_dead(token, epoch):
                hidden = self.state.logs[token].up_to(epoch)
                found.merge(Context(hidden.waits, {}))
                for further in hidden.tokens.items():
                    if further not in seen:
                        seen.add(further)
                        todo.append(further)
        self.state.facts.strike(found)
        return found

    def _take_report(self, stamp: Report) -> list[Effect]:
        to = decode_set(stamp.to)
        deposit = context_of(stamp.known, stamp.tokens)
        region, member, epoch = stamp.region, stamp.member, stamp.epoch
        effects = self._report(to & ~(1 << self.process), region, member, epoch, deposit)
        if to >> self.process & 1:
            log = self.state.logs.setdefault((region, member), Log(0, {}))
            if log.add(epoch, deposit):
                effects += self._release()
        return effects

    def _release(self) -> list[Effect]:
        """Let those go on that a log has held up."""
        effects: list[Effect] = []
        waiting, self.state.transit = self.state.transit, []
        for one in waiting:
            effects += self._arrive(one)
        return effects

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

    # Forgetting.

    def _tell(self) -> list[Effect]:
        """Tell everybody what has been delivered and what is dead here, now and then."""
        tidy = self.options.tidy
        dead = self._newly_dead()
        news = sum(epoch - self.state.told_dead.get(region, 0) for region, epoch in dead)
        if not tidy or self.state.untold_count + news < tidy:
            return []
        done = tuple(sorted(self.state.untold.items()))
        self.state.untold, self.state.untold_count = {}, 0
        self.state.told_dead.update(dead)
        self.state.facts.learn((), [((region, self.process), epoch) for region, epoch in dead])
        self.state.told += 1
        return self._pass_on(self.process, self.state.told, done, dead, self._network[self.process])

    def _newly_dead(self) -> tuple[tuple[int, int], ...]:
        """Of the own logs, up to where nothing is left in them."""
        found = []
        for region in self.regions.at(self.process):
            log = self.state.logs.get((region, self.process))
            if log is not None:
                epoch = min(log.deposits, default=log.epoch + 1) - 1
                if epoch > self.state.told_dead.get(region, 0):
                    found.append((region, epoch))
        return tuple(found)

    def _pass_on(
        self,
        origin: int,
        count: int,
        done: tuple[tuple[int, int], ...],
        dead: tuple[tuple[int, int], ...],
        to: ProcessSet,
    ) -> list[Effect]:
        effects: list[Effect] = []
        for next_ in members(to):
            word = Word(self._count(), self._count_link(next_), origin, count, done, dead)
            effects.append(Transmit(Packet(self.process, None, word), 1 << next_))
        return effects

    def _hear(self, stamp: Word, source: int) -> list[Effect]:
        """Word of others: strike out what need not be kept, and pass it on, once."""
        heard = self.state.words.setdefault(stamp.origin, Received())
        if stamp.origin == self.process or not heard.add(stamp.count):
            return []
        others = self._network[self.process] & ~(1 << source)
        effects = self._pass_on(stamp.origin, stamp.count, stamp.done, stamp.dead, others)
        self.state.facts.learn(
            [(stamp.origin, sender, number) for sender, number in stamp.done],
            [((region, stamp.origin), epoch) for region, epoch in stamp.dead],
        )
        self.state.facts.strike(self.state.context)
        for log in self.state.logs.values():
            self.state.facts.tidy(log)
        for deposited in self._deposited.values():
            self.state.facts.strike(deposited)
        return effects + self._release() + self._tell()

    # What it promises and knows.

    def owes_despite(self, crashed: ProcessSet) -> bool:
        """As long as ways lead between all who live."""
        return are_connected(self._network, self._hosts & ~crashed, crashed)

    def held(self) -> list[Held]:
        found: dict[MessageId, set[Awaited]] = {}
        for one in self.state.transit:
            reports = [
                Awaited(member, epoch, Scope.REPORT, region)
                for (region, member), epoch in self._missing(one)
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

    def _check(self, packet: Packet[Stamps]) -> Message | None:
        """Refuse what cannot be, before anything changes. The message that it brings, if any."""
        stamp = packet.stamp
        size, near = self.membership.size, self._network[self.process]
        if packet.source >= size or not near >> packet.source & 1:
            raise MalformedStamp("source", f"is {packet.source}, to which there is no link")
        if isinstance(stamp, Word):
            if stamp.origin >= size:
                raise MalformedStamp("origin", f"is {stamp.origin}")
            return None
        self.regions.check(stamp.tokens, "tokens")
        for place, (sender, number, to) in enumerate(stamp.known):
            self._check_cited(f"known[{place}]", sender, number, decode_set(to))
        if isinstance(stamp, Report):
            token = (stamp.region, stamp.member, stamp.epoch)
            self.regions.check((token,), "member")
            if decode_set(stamp.to) & ~self.regions.border[stamp.region]:
                raise MalformedStamp("to", "contains processes outside of the border")
            return None
        message = packet.message
        if message is None:
            raise MalformedStamp("message", "is missing")
        self._check_cited("message", *message.id, message.destinations)
        if not decode_set(stamp.to) or decode_set(stamp.to) & ~message.destinations:
            raise MalformedStamp("to", "is not among the destinations")
        self.regions.check(stamp.wait_tokens, "wait_tokens")
        for place, (sender, number, to) in enumerate(stamp.waits):
            self._check_cited(f"waits[{place}]", sender, number, decode_set(to))
        return message

    def _check_cited(self, field: str, sender: int, number: int, to: ProcessSet) -> None:
        if sender >= self.membership.size or not self._hosts >> sender & 1:
            raise MalformedStamp(field, f"is of {sender}, where no application lives")
        if number < 1:
            raise MalformedStamp(field, f"has number {number}; messages are numbered from 1")
        if not to or to & ~self._hosts:
            raise MalformedStamp(field, "has destinations that no application lives at")


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
