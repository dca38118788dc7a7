"""Whole messages carried along, as ISIS did (Birman, Joseph).

Every site keeps a buffer, BUFF, of the messages it has sent or received, in order of emission. A
packet brings a message and, before it, all of BUFF; the receiver takes over what it does not know
and delivers, in that order, what is addressed to it. So nothing is ever held, and a lost copy still
arrives with any message that depends on it, even after its sender has failed.

BUFF would grow for ever. From time to time a site sends a *request* that lists its BUFF to all
others. Each notes that the requester has these messages, carries them to it no more, and
acknowledges; when all have acknowledged, the listed messages leave the requester's BUFF. A site has
one request out at a time, and asks to be woken for the next only while BUFF is not empty: without
traffic it falls silent. A request that stays unanswered for long (a packet of it was lost) is made
anew with a later send.

A site that has failed answers nothing, and BUFF grows. With `leave_out_s`, one that has been silent
for so long while a request was out is left out for good: it is asked, and sent, nothing any more.
If it is alive after all, it misses what comes, but sees no disorder: that a site is left out is
told with every message, so that who depends on a message that has left a BUFF without it knows, and
sends it nothing, either.

Repairs (`cleanup = "repaired"`, the default; "printed" goes by the paper, "off" never cleans):

- An acknowledgement must say "arrived", not "noted": a site acknowledges only when it has delivered
  every listed message addressed to it. Otherwise the requester forgets a message that is still on
  its way, and its next one overtakes it.
- A note is kept only while its message is in BUFF; the printed notes stay for ever.
- The paper knows a duplicate by finding it in BUFF, which it may have left. Here a delivered
  message is known by its number, since a site delivers the messages of one sender in their order.
  An acknowledgement then tells what the other site has delivered, and a message that only passes
  through is dropped if all its destinations are known to have it. So it never comes back, and the
  channels need not be FIFO, as the printed clean-up asks.

Invariant (repaired): a message has left some BUFF only if all its destinations have delivered it,
but those that the owner of this BUFF leaves out.

Papers: K. Birman, T. Joseph, "Reliable communication in the presence of failures", ACM TOCS 5(1),
1987, as told in section 3 of A. Schiper, J. Eggli, A. Sandoz, "A new algorithm to implement causal
ordering", WDAG 1989.
"""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import MalformedStamp
from antecede.message import (
    NO_GROUP,
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
    Held,
    Options,
    Order,
    Packet,
    Says,
    Stamp,
    Traits,
    Transmit,
    Wake,
    stated,
)


class PiggybackOptions(Options, frozen=True):
    """`cleanup`: how BUFF is kept small; `cleanup_interval_s`: how long a site lets it grow before
    it sends a request; `repeat_s`: how long it waits for the answers before it makes another;
    `leave_out_s`: how long it waits for a site of which it hears nothing at all; 0, which asks
    nothing of the network, is for ever."""

    says = stated(
        cleanup=Says.NOTHING,
        cleanup_interval_s=Says.NOTHING,
        repeat_s=Says.NOTHING,
        leave_out_s=Says.NOTHING,
    )

    cleanup: Literal["repaired", "printed", "off"] = "repaired"
    cleanup_interval_s: Annotated[float, msgspec.Meta(gt=0)] = 0.25
    repeat_s: Annotated[float, msgspec.Meta(gt=0)] = 2.0
    leave_out_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        return {
            "cleanup": chance.pick(["repaired", "repaired", "off"]),
            "cleanup_interval_s": chance.between(0.01, 1.0),
            "repeat_s": chance.between(0.1, 10.0),
            "leave_out_s": chance.between(0.2, 20.0),
        }

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        """Where nobody crashes everything is owed, to whoever is slow, too."""
        return {} if fields["crashes"] else {"leave_out_s": 0}


class Carried(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A whole message, as it travels with another."""

    sender: Count
    number: Count
    destinations: bytes
    group: int
    payload: bytes


class Mention(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, gc=False):
    """A message in a request: its identity, and its destinations, who must have it to agree. With
    number 0 and no destinations: this site is left out."""

    sender: Count
    number: Count
    destinations: bytes


class Cargo(Stamp, frozen=True):
    """With a message: what it carries, and as mentions who is left out. Alone: request number
    `serial`, or without mentions the acknowledgement of it."""

    carries_messages = True

    carried: tuple[Carried, ...] = ()
    serial: Count = 0
    mentions: tuple[Mention, ...] = ()

    def entries(self) -> int:
        return len(self.carried) + len(self.mentions)


class State(msgspec.Struct, array_like=True):
    buffer: list[Message]
    """BUFF, in the order of emission."""
    notes: dict[MessageId, ProcessSet]
    """Which sites are known to have a message."""
    delivered: list[list[int]]
    """By site and sender, the number of the last message known to be delivered there; in this
    site's own row and column, of the last one sent."""
    serial: int
    """How many requests this site has sent."""
    requested: list[MessageId]
    """What the last of them lists; it leaves BUFF when no site is `silent` any more."""
    silent: ProcessSet
    """The sites that have not acknowledged it."""
    asked_s: float
    """When it was sent."""
    waits_s: float
    """Since when a request is out, be it this one or one that it repeats."""
    spoke_s: list[float]
    """When each site was heard of last."""
    left_out: ProcessSet
    heard: list[int]
    """The number of the last request of each site."""
    unanswered: dict[int, Cargo]
    """The requests, by site, that wait for messages addressed here."""
    wake_asked: bool


class Piggyback(Order):
    traits = Traits(
        title="whole messages carried along",
        paper="Birman, Joseph 1987",
        addressing=Addressing.SETS,
        alike=True,
        survives_loss=True,
    )
    options_type = PiggybackOptions
    stamp_type = Cargo
    state_type = State
    state: State
    options: PiggybackOptions

    def initial_state(self) -> State:
        size = self.membership.size
        delivered = [[0] * size for _ in range(size)]
        spoke_s = [0.0] * size
        return State([], {}, delivered, 0, [], 0, 0.0, 0.0, spoke_s, 0, [0] * size, {}, False)

    def resume(self) -> None:
        self._known = {message.id: _carried(message) for message in self.state.buffer}
        self._set_others()

    def _set_others(self) -> None:
        """Whom this site speaks to."""
        own = 1 << self.process
        self._others = self.membership.everybody & ~own & ~self.state.left_out
        self._omitted = tuple([Mention(site, 0, b"") for site in members(self.state.left_out)])

    # Messages

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        effects = self._leave_out(self._silent_for_long(now), now)
        others = message.destinations & self._others
        for cargo, to in self._cargoes(others):
            effects.append(Transmit(Packet(self.process, message, cargo), to))
        self.state.delivered[self.process][self.process] = message.id.number
        if others:  # what a site tells itself alone precedes nothing elsewhere
            self._keep(message)
        if message.destinations >> self.process & 1:
            effects.append(Deliver(message))
        if self.state.silent and now - self.state.asked_s >= self.options.repeat_s:
            effects += self._request(now)
        return effects + self._ask_to_wake(now)

    def _cargoes(self, to: ProcessSet) -> list[tuple[Cargo, ProcessSet]]:
        """What to carry to each of these sites, as equal cargoes to as many as possible: all of
        BUFF except what the site is noted to have."""
        notes = self.state.notes
        cargoes: dict[tuple[int, ...], ProcessSet] = {}
        for site in members(to):
            places = tuple(
                place
                for place, message in enumerate(self.state.buffer)
                if not notes.get(message.id, 0) >> site & 1
            )
            cargoes[places] = cargoes.get(places, 0) | 1 << site
        return [
            (
                Cargo(
                    tuple(self._known[self.state.buffer[place].id] for place in places),
                    mentions=self._omitted,
                ),
                sites,
            )
            for places, sites in cargoes.items()
        ]

    def _keep(self, message: Message) -> None:
        self.state.buffer.append(message)
        self._known[message.id] = _carried(message)

    def receive(self, packet: Packet[Cargo], now: float = 0.0) -> list[Effect]:
        if packet.message is None:
            return self._receive_control(packet, now)
        message = self.check_header(packet)
        carried = self._check_carried(packet.stamp, message)
        if self._has_delivered(self.process, message.id):  # with all that this packet carries
            return []
        self._hear(packet.source, now)
        effects = self._leave_out(_omitted(packet.stamp), now)
        for each in (*carried, message):
            effects += self._take(each)
        return effects + self._answer_what_can_be() + self._ask_to_wake(now)

    def _take(self, message: Message) -> list[Effect]:
        """A message has come, itself or carried by another."""
        if message.id in self._known or message.id.sender == self.process:
            return []
        if not message.destinations >> self.process & 1:
            if not self._is_settled(message):
                self._keep(message)
            return []
        if self._has_delivered(self.process, message.id):
            return []
        self.state.delivered[self.process][message.id.sender] = message.id.number
        self._keep(message)
        return [Deliver(message)]

    def _has_delivered(self, site: int, message: MessageId) -> bool:
        """Whether a site, a destination of the message, is known to have delivered it."""
        return message.number <= self.state.delivered[site][message.sender]

    def _is_settled(self, message: Message) -> bool:
        """Whether all destinations are known to have delivered a message."""
        others = message.destinations & ~(1 << message.id.sender) & ~self.state.left_out
        return all(self._has_delivered(site, message.id) for site in members(others))

    # Who is left out

    def _hear(self, site: int, now: float) -> None:
        """A site has said something new."""
        if self.options.leave_out_s:
            self.state.spoke_s[site] = now

    def _silent_for_long(self, now: float) -> ProcessSet:
        """Those who have not answered a request, and have said nothing else."""
        state, patience_s = self.state, self.options.leave_out_s
        if not state.silent or not patience_s or now < state.waits_s + patience_s:
            return 0
        silent = members(state.silent)
        return sum(1 << site for site in silent if now >= state.spoke_s[site] + patience_s)

    def _leave_out(self, sites: ProcessSet, now: float) -> list[Effect]:
        """These sites need not have what is forgotten, and are sent nothing any more."""
        state = self.state
        sites &= ~(1 << self.process)
        if not sites & ~state.left_out or self.options.cleanup == "printed":
            return []
        state.left_out |= sites
        self._set_others()
        is_last = bool(state.silent) and not state.silent & ~sites
        state.silent &= ~sites
        return self._clean(now) if is_last else []

    # Clean-up

    def _ask_to_wake(self, now: float) -> list[Effect]:
        """Ask for the time of the next request, unless there is nothing to list or one is out."""
        state = self.state
        if self.options.cleanup == "off" or state.wake_asked or state.silent or not state.buffer:
            return []
        state.wake_asked = True
        return [Wake(now + self.options.cleanup_interval_s)]

    def wake(self, now: float) -> list[Effect]:
        state = self.state
        if not state.wake_asked:
            return []
        state.wake_asked = False
        return self._request(now)

    def _request(self, now: float) -> list[Effect]:
        state = self.state
        state.serial += 1
        if self.options.leave_out_s and not state.silent:
            state.waits_s = now
        state.asked_s = now
        state.requested = [message.id for message in state.buffer]
        state.silent = self._others
        mentions = (*map(_mention, state.buffer), *self._omitted)
        if not state.silent:
            return self._clean(now)
        request = Cargo(serial=state.serial, mentions=mentions)
        return [Transmit(Packet(self.process, None, request), self._others)]

    def _receive_control(self, packet: Packet[Cargo], now: float) -> list[Effect]:
        self._check_control(packet)
        if not packet.stamp.mentions:
            return self._acknowledged(packet.source, packet.stamp.serial, now)
        if packet.stamp.serial <= self.state.heard[packet.source]:
            return []
        self._hear(packet.source, now)
        self.state.heard[packet.source] = packet.stamp.serial
        effects = self._leave_out(_omitted(packet.stamp), now)
        self.state.unanswered[packet.source] = packet.stamp
        return effects + self._answer_what_can_be()

    def _may_answer(self, request: Cargo) -> bool:
        """Whether all that a request lists and that is addressed here has arrived."""
        if self.options.cleanup == "printed":
            return True
        return all(
            self._has_delivered(self.process, MessageId(mention.sender, mention.number))
            for mention in request.mentions
            if set_from_bytes(mention.destinations) >> self.process & 1
        )

    def _answer(self, site: int, request: Cargo) -> list[Effect]:
        """Note what a site has, and acknowledge its request."""
        for mention in request.mentions:
            if not mention.number:
                continue
            message = MessageId(mention.sender, mention.number)
            if message in self._known or self.options.cleanup == "printed":
                self.state.notes[message] = self.state.notes.get(message, 0) | 1 << site
        return [Transmit(Packet(self.process, None, Cargo(serial=request.serial)), 1 << site)]

    def _answer_what_can_be(self) -> list[Effect]:
        effects: list[Effect] = []
        for site, request in sorted(self.state.unanswered.items()):
            if self._may_answer(request):
                del self.state.unanswered[site]
                effects += self._answer(site, request)
        return effects

    def _acknowledged(self, site: int, serial: int, now: float) -> list[Effect]:
        state = self.state
        if serial != state.serial or not state.silent >> site & 1:
            return []
        self._hear(site, now)
        state.silent &= ~(1 << site)
        return [] if state.silent else self._clean(now)

    def _clean(self, now: float) -> list[Effect]:
        """All have acknowledged the last request: what it lists is forgotten."""
        state = self.state
        for message in state.requested:
            del self._known[message]
        if self.options.cleanup == "repaired":
            self._settle()
        state.requested = []
        state.buffer = [message for message in state.buffer if message.id in self._known]
        return self._ask_to_wake(now)

    def _settle(self) -> None:
        """All destinations of the requested messages have delivered them."""
        requested = set(self.state.requested)
        for message in self.state.buffer:
            if message.id in requested:
                self.state.notes.pop(message.id, None)
                sender, number = message.id
                for site in members(message.destinations & ~(1 << sender)):
                    row = self.state.delivered[site]
                    row[sender] = max(row[sender], number)

    # What the contract asks besides

    def held(self) -> list[Held]:
        return []

    def entries(self) -> int:
        """Messages in BUFF, notes, and what is known to be delivered."""
        notes = sum(map(int.bit_count, self.state.notes.values()))
        return len(self.state.buffer) + notes + self.membership.size**2

    def _check_carried(self, cargo: Cargo, message: Message) -> list[Message]:
        """The carried messages, if all of them can be."""
        if cargo.serial or any(mention.number for mention in cargo.mentions):
            raise MalformedStamp("serial", "stands with a message; requests travel alone")
        self._check_omitted(cargo)
        if message.destinations & ~self.membership.everybody:
            raise MalformedStamp("destinations", "goes beyond the processes there are")
        self._check_identities("carried", cargo.carried, {message.id})
        groups = len(self.membership.groups) or 1
        for place, each in enumerate(cargo.carried):
            if not NO_GROUP <= each.group < groups:
                raise MalformedStamp(f"carried[{place}]", f"is addressed to group {each.group}")
        return [
            Message(
                MessageId(each.sender, each.number),
                set_from_bytes(each.destinations),
                each.group,
                each.payload,
            )
            for each in cargo.carried
        ]

    def _check_control(self, packet: Packet[Any]) -> None:
        cargo: Cargo = packet.stamp
        if packet.source == self.process or packet.source >= self.membership.size:
            raise MalformedStamp("source", f"is {packet.source}")
        if cargo.carried:
            raise MalformedStamp("carried", "travels without a message of its own")
        if cargo.serial < 1:
            raise MalformedStamp("serial", "is 0; requests are numbered from 1")
        if not cargo.mentions and cargo.serial > self.state.serial:
            raise MalformedStamp("serial", f"acknowledges request {cargo.serial}, never sent")
        self._check_omitted(cargo)
        listed = [mention for mention in cargo.mentions if mention.number or mention.destinations]
        self._check_identities("mentions", listed, set())

    def _check_omitted(self, cargo: Cargo) -> None:
        last = -1
        for place, mention in enumerate(cargo.mentions):
            if not mention.number and not mention.destinations:
                if not last < mention.sender < self.membership.size:
                    raise MalformedStamp(f"mentions[{place}]", "is no further site to leave out")
                last = mention.sender

    def _check_identities(
        self, field: str, listed: Iterable[Carried | Mention], known: set[MessageId]
    ) -> None:
        size = self.membership.size
        for place, each in enumerate(listed):
            here = f"{field}[{place}]"
            if each.sender >= size:
                raise MalformedStamp(here, f"is of process {each.sender} of {size}")
            if each.number < 1:
                raise MalformedStamp(here, "has number 0; messages are numbered from 1")
            own = MessageId(self.process, each.number)
            if each.sender == self.process and not self._has_delivered(self.process, own):
                raise MalformedStamp(here, "is of this process, which has not sent it")
            others = set_from_bytes(each.destinations) & ~(1 << each.sender)
            if not others or others & ~self.membership.everybody:
                raise MalformedStamp(here, "has destinations that cannot be")
            identity = MessageId(each.sender, each.number)
            if identity in known:
                raise MalformedStamp(here, f"repeats message {identity}")
            known.add(identity)


def _carried(message: Message) -> Carried:
    sender, number = message.id
    destinations = set_to_bytes(message.destinations)
    return Carried(sender, number, destinations, message.group, message.payload)


def _omitted(cargo: Cargo) -> ProcessSet:
    """Who is left out, by what a packet says."""
    return sum(1 << mention.sender for mention in cargo.mentions if not mention.number)


def _mention(message: Message) -> Mention:
    return Mention(*message.id, set_to_bytes(message.destinations))
