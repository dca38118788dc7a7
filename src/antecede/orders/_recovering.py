"""`pairs` with what its section 4.3 does when a site fails (`_rollback`), as a protocol.

Copies are acknowledged and sent again, so that only a failed site's messages can be lost. A site
that is silent for long counts as failed, for good; whoever hears that it counts as failed itself,
or is left with no more than half of the sites, stops. The survivors then take the steps of
`_rollback`, driven by one kind of packet, the `Status`, which everybody repeats until it is
answered:

1. Whoever knows of a failure that is not decided yet sends nothing new.
2. *Flush*: it waits until its copies have arrived at the survivors, and says so.
3. *Report*: when all survivors have said so, it reports, and lets what still comes wait.
4. *Decide*: when it has all reports, it knows N, rolls back and goes on. Who hears of a decision
   that it does not know takes it over, so a decision outlives those who made it.

A status belongs to a round: the failures known and the decisions made. If another site fails
meanwhile, the round begins again with that failure known, too; failures are decided one a round.
A decision counts events of the survivors' clocks anew where they roll back, so a packet carries the
decisions of its sender, and waits where they are not known yet.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import (
    Message,
    MessageId,
    ProcessSet,
    members,
    set_from_bytes,
    set_to_bytes,
)
from antecede.order import (
    Addressing,
    Count,
    Deliver,
    Effect,
    Event,
    Held,
    Notice,
    Order,
    Packet,
    Stamp,
    TakeBack,
    Traits,
    Transmit,
    Wake,
)
from antecede.orders import pairs
from antecede.orders._rollback import Recoverable, Report, Step, time_of_failure
from antecede.orders.pairs import OrderingBuffers, Pairs, PairsOptions
from antecede.snapshot import freeze

Decisions = tuple[tuple[Count, Count], ...]
"""(failed site, its first event that is void), in the order in which they were made."""

WHERE = "the sites"
"""The group that its notices speak of."""


class Status(Stamp, frozen=True):
    """How far a site is: the failures it knows, the decisions it has made, its time, whether its
    copies have arrived at the survivors, and its report once those of all have."""

    failed: bytes
    decisions: Decisions
    time: tuple[Count, ...]
    has_flushed: bool
    report: Report | None

    @property
    def round(self) -> tuple[bytes, Decisions]:
        return self.failed, self.decisions


class Recovery(Stamp, frozen=True):
    """On a message: the stamp of `pairs`, and the decisions that its sender had made. Else a
    status, or the message whose copy has arrived (`arrived`)."""

    pairs: Pairs | None = None
    decisions: Decisions = ()
    status: Status | None = None
    arrived: tuple[Count, Count] | None = None

    def entries(self) -> int:
        """Those of `pairs`."""
        return self.pairs.entries() if self.pairs else 0


class Copy(msgspec.Struct, array_like=True):
    """A copy that may not have arrived, and when it was sent."""

    packet: Packet[Recovery]
    sent_s: float


class State(msgspec.Struct, array_like=True):
    """`order`: of `pairs`. `journal`: how to take things back. `log`: what was delivered here since
    the first step of the journal, of which so many (`cut`) are left out. `copies`: by destination
    and message, what is not acknowledged. `early`: packets that wait for a decision. `queued`: sent
    by the application since a failure is known. `heard`: when each site spoke last, and `said`,
    what it said. `since`: when this site stopped to send, below 0 if it has not."""

    order: pairs.State
    journal: list[Step]
    log: list[MessageId]
    cut: int
    copies: dict[tuple[int, MessageId], Copy]
    failed: ProcessSet
    decisions: Decisions
    has_flushed: bool
    report: Report | None
    early: list[Packet[Recovery]]
    queued: list[Message]
    heard: dict[int, float]
    said: dict[int, Status]
    since: float
    is_out: bool


class Recovering(Order):
    name = "pairs"
    traits = Traits(
        title="ordering buffers of pairs, with rollback",
        paper="Schiper, Eggli, Sandoz 1989",
        addressing=Addressing.SETS,
        null_messages=True,
        survives_loss=True,
        repairs_loss=True,
        watches=True,
        survives_crashes=True,
        takes_back=True,
        prompt=False,
    )
    options_type = PairsOptions
    stamp_type = Recovery
    state_type = State
    state: State
    options: PairsOptions

    def initial_state(self) -> State:
        order = OrderingBuffers(self.process, self.membership, self.options).state
        return State(
            order, [], [], 0, {}, 0, (), False, None, [], [], {}, {}, since=-1.0, is_out=False
        )

    def resume(self) -> None:
        order = OrderingBuffers(self.process, self.membership, self.options)
        order.state = self.state.order
        order.resume()
        self._site = Recoverable(order, self, self.state.journal, self.state.decisions)
        self._taken: list[MessageId] = []
        self._void: list[MessageId] = []
        self._delivered: list[Effect] = []

    def snapshot(self) -> bytes:
        self.state.order = self._site.order.state
        return freeze(self.state)

    # What the rollback does to an application: it is written down, and becomes effects.

    def checkpoint(self) -> bytes:
        return (self.state.cut + len(self.state.log)).to_bytes(8, "big")

    def roll_back(self, checkpoint: bytes) -> None:
        kept = int.from_bytes(checkpoint, "big") - self.state.cut
        self._taken += self.state.log[kept:]
        del self.state.log[kept:]

    def deliver(self, message: Message) -> None:
        self.state.log.append(message.id)
        self._delivered.append(Deliver(message))

    def discard(self, message: Message) -> None:
        self._void.append(message.id)

    # Messages.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        effects = self._begin(now)
        if self._is_settled and not self.state.is_out:
            return effects + self._send(message, now)
        self.state.queued.append(message)
        return effects

    def _send(self, message: Message, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for effect in self._site.send(message, now):
            if isinstance(effect, Transmit) and not effect.to & self.state.failed:
                stamp = Recovery(effect.packet.stamp, self.state.decisions)
                packet = Packet(self.process, message, stamp)
                for destination in members(effect.to):
                    self.state.copies[destination, message.id] = Copy(packet, now)
                effects.append(Transmit(packet, effect.to))
        return effects + self._take_delivered()

    def _take_delivered(self) -> list[Effect]:
        taken, self._delivered = self._delivered, []
        return taken

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        source, stamp = packet.source, packet.stamp
        self._check(packet)
        effects = self._begin(now)
        if self.state.is_out:
            return effects
        has_failed = self.state.failed >> source & 1
        if not has_failed:
            self.state.heard[source] = now
        if stamp.arrived is not None:
            self.state.copies.pop((source, MessageId(*stamp.arrived)), None)
        if stamp.status is not None and has_failed:
            effects.append(self._say(1 << source))  # it has to know
        elif stamp.status is not None:
            effects += self._hear(source, stamp.status, now)
        if packet.message is not None:
            arrived = Recovery(arrived=(packet.message.id.sender, packet.message.id.number))
            effects.append(Transmit(Packet(self.process, None, arrived), 1 << source))
            effects += self._take(packet, packet.message.id)
        return effects + self._go_on(now)

    def _check(self, packet: Packet[Any]) -> None:
        stamp = packet.stamp
        if packet.source == self.process or packet.source >= self.membership.size:
            raise MalformedStamp("source", f"is {packet.source}")
        if (packet.message is None) != (stamp.pairs is None):
            raise MalformedStamp("pairs", "stands on messages, and on nothing else")
        if packet.message is not None:
            self.check_header(packet)
        decisions = stamp.decisions if stamp.status is None else stamp.status.decisions
        if any(site >= self.membership.size for site, _ in decisions):
            raise MalformedStamp("decisions", "are about a site that does not exist")
        if stamp.status is not None and len(stamp.status.time) != self.membership.size:
            raise MalformedStamp("status", f"has no time of {self.membership.size} sites")

    def _take(self, packet: Packet[Any], message: MessageId) -> list[Effect]:
        """A message has arrived. Its sender has made decisions that are known here, or that are not
        known yet; any others were of sites that have failed before they could tell a survivor."""
        theirs, ours = packet.stamp.decisions, self.state.decisions
        shorter = min(len(theirs), len(ours))
        if theirs[:shorter] != ours[:shorter]:
            return [TakeBack((), (message,), self.state.since)]
        if len(theirs) > len(ours) or self.state.report is not None:
            if packet not in self.state.early:
                self.state.early.append(packet)
            return []
        inner: Packet[Pairs] = Packet(packet.source, packet.message, packet.stamp.pairs)
        if self._site.is_void(inner):
            return [TakeBack((), (message,), self.state.since)]
        order = self._site.order
        if not order.is_delivered(inner) and message not in order.state.held:
            self._site.receive(inner)
        return self._take_delivered()

    # Failures.

    @property
    def _survivors(self) -> ProcessSet:
        return self.membership.everybody & ~self.state.failed

    @property
    def _undecided(self) -> ProcessSet:
        undecided = self.state.failed
        for site, _ in self.state.decisions:
            undecided &= ~(1 << site)
        return undecided

    @property
    def _is_settled(self) -> bool:
        return not self._undecided

    @property
    def _others(self) -> Iterator[int]:
        return members(self._survivors & ~(1 << self.process))

    def _begin(self, now: float) -> list[Effect]:
        """All sites are there at first; each begins to listen when it first hears or says
        anything."""
        if self.state.heard or self.membership.size == 1:
            return []
        self.state.heard = dict.fromkeys(self._others, now)
        return [self._view(), self._say(), Wake(now + self.options.beat_s)]

    def _view(self) -> Notice:
        """Who counts: all in view 1, one site fewer after each decision."""
        decided = sum(1 << site for site, _ in self.state.decisions)
        number = 1 + len(self.state.decisions)
        return Notice(Event.VIEW, WHERE, number, self.membership.everybody & ~decided)

    def _say(self, to: ProcessSet | None = None) -> Transmit:
        state = self.state
        time = tuple(self._site.order.state.time)
        failed = set_to_bytes(state.failed)
        said = Status(failed, state.decisions, time, state.has_flushed, state.report)
        whom = self._survivors & ~(1 << self.process) if to is None else to
        return Transmit(Packet(self.process, None, Recovery(status=said)), whom)

    def _hear(self, source: int, status: Status, now: float) -> list[Effect]:
        failed = set_from_bytes(status.failed)
        if failed >> self.process & 1:
            return [self._stop()]
        self.state.said[source] = status
        effects = self._suspect(failed, now)
        known = len(self.state.decisions)
        if status.decisions[:known] == self.state.decisions:
            for decision in status.decisions[known:]:
                effects += self._decide(*decision, now)
        return effects

    def _stop(self) -> Notice:
        """Most of the sites are out of reach for good, or go on without this one."""
        self.state.is_out = True
        return Notice(Event.STOPPED, WHERE)

    def _suspect(self, failed: ProcessSet, now: float) -> list[Effect]:
        """These have failed: what was agreed in this round so far does not count."""
        state = self.state
        if not failed & ~state.failed:
            return []
        if self._is_settled:
            state.since = now
        state.failed |= failed
        for destination, message in list(state.copies):
            if state.failed >> destination & 1:
                del state.copies[destination, message]
        return [*self._begin_round(), self._say()]

    def _begin_round(self) -> list[Effect]:
        self.state.has_flushed, self.state.report = False, None
        early, self.state.early = self.state.early, []
        effects: list[Effect] = []
        for packet in early:
            if packet.message is not None:
                effects += self._take(packet, packet.message.id)
        return effects

    def _go_on(self, now: float) -> list[Effect]:
        """As far as what the others have said allows."""
        state, effects = self.state, list[Effect]()
        while (undecided := self._undecided) and not state.is_out:
            others = list(self._others)
            if 2 * (len(others) + 1) <= self.membership.size:
                return [*effects, self._stop()]
            here = (set_to_bytes(state.failed), state.decisions)
            said = [state.said.get(other) for other in others]
            alike = [one for one in said if one is not None and one.round == here]
            is_common = len(alike) == len(others)
            failed = next(members(undecided))
            if not state.has_flushed and not state.copies:
                state.has_flushed = True
                effects.append(self._say())
            if state.report is None:
                if not (state.has_flushed and is_common and all(o.has_flushed for o in alike)):
                    break
                state.report = self._site.report(failed)
                effects.append(self._say())
            reports = [one.report for one in alike if one.report is not None]
            if not is_common or len(reports) < len(alike):
                break
            effects += self._decide(failed, time_of_failure([*reports, state.report]), now)
        return effects

    def _decide(self, failed: int, first_void: int, now: float) -> list[Effect]:
        """Take back what depends on an event that is void; go on if nothing else is to decide."""
        state = self.state
        held = list(self._site.order.state.held)
        self._taken, self._void = [], []
        self._site.recover(failed, first_void)
        self._void += [message for message in held if message not in self._site.order.state.held]
        state.decisions += ((failed, first_void),)
        state.failed |= 1 << failed
        if self._taken:  # the application has not made these sends, either
            self._void += [message.id for message in state.queued]
            state.queued.clear()
        void = set(self._void)
        for destination, message in list(state.copies):
            if message in void or destination == failed:
                del state.copies[destination, message]
        redelivered = self._take_delivered()
        taken = {deliver.message.id for deliver in redelivered if isinstance(deliver, Deliver)}
        names = tuple(sorted(void - taken))
        effects: list[Effect] = [
            Notice(Event.FAILED, WHERE, first_void, 1 << failed),
            self._view(),
            TakeBack(tuple(self._taken), names, state.since),
            *redelivered,
            *self._begin_round(),
            self._say(),
        ]
        if self._is_settled:
            queued, state.queued = state.queued, []
            for queued_message in queued:
                effects += self._send(queued_message, now)
        return effects

    def wake(self, now: float) -> list[Effect]:
        state, options = self.state, self.options
        if state.is_out:
            return []
        silent = 0
        for other in self._others:
            if now >= state.heard.get(other, now) + options.suspect_after_s:
                silent |= 1 << other
        effects = self._suspect(silent, now)
        for (destination, _), copy in sorted(state.copies.items()):
            if now >= copy.sent_s + options.repeat_s:
                copy.sent_s = now
                effects.append(Transmit(copy.packet, 1 << destination))
        self._forget()
        return [*effects, *self._go_on(now), self._say(), Wake(now + options.beat_s)]

    def _forget(self) -> None:
        """Cut the journal where all survivors have heard of everything."""
        state = self.state
        here = (set_to_bytes(state.failed), state.decisions)
        said = [state.said.get(other) for other in self._others]
        alike = [one.time for one in said if one is not None and one.round == here]
        if not self._is_settled or len(alike) < len(said):
            return
        own = tuple(self._site.order.state.time)
        self._site.forget([min(times) for times in zip(own, *alike, strict=True)])
        first = int.from_bytes(
            state.journal[0].application if state.journal else self.checkpoint(), "big"
        )
        del state.log[: first - state.cut]
        state.cut = first

    def held(self) -> list[Held]:
        early = [Held(packet.message.id, ()) for packet in self.state.early if packet.message]
        return sorted([*self._site.order.held(), *early], key=lambda held: held.message)

    def entries(self) -> int:
        return self._site.order.entries()
