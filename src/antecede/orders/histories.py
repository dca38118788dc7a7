"""Extended causal histories (Rodrigues, Verissimo), rules R1 to R8, and R9 over a network.

A process p knows three things. The causal history H_p names the messages that precede the next one
it sends, each with its destinations A. The delivery history D_p names what it has delivered. The
carbon copies C_p(m) say, for every m in H_p, to whom m has been reported: which processes have been
sent a message that cites m, or that comes after one that does. A message carries H_p; its receiver
waits for what is cited there and addressed to it.

R1 to R4 are the plain histories, which only grow. R5 keeps one number a sender in D. R6 keeps the
carbon copies, R7 leaves out of a stamp what all its destinations have been told, and R8 forgets
what all that it was addressed to have been told.

R9 uses the network. Where processes talk to their neighbours only, and S separates F from B, word
of a message to B that sets out from S towards F can come back to B through S alone. So a member of
S leaves it out of what it sends towards F as soon as all of S has been told. A process that is in
neither F nor B is never presumed to be in one: nothing is left out for its sake.

Invariants: of all that precedes the next message of p, what is addressed to q is in H_p, or
delivered at q, or precedes something addressed to q that is in H_p. With R8 and the union over all
of H, of the messages of one sender in H_p each has a destination that no later one has, and that is
neither p nor the sender: H_p names at most (n-1)² messages.

Repaired here: is-in compares messages of one sender (R5); a sender delivers to itself and updates
its own D as it sends (R4), so its own copy orders nothing and is left out of A; the union of R6.3
runs over all of H, for without it H grows for ever (`union="arrived"` shows it). In R9 a process
need not report to itself (`own_implied`), and a message that addresses members of S beside those of
B is left out, too (`gateways`); whoever is no neighbour cannot be addressed.

Paper: L. Rodrigues, P. Verissimo, "Causal separators and topological timestamping: an approach to
support causal multicast in large-scale systems", report, INESC 1994; in part at ICDCS 1995.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Literal, NoReturn

import msgspec

from antecede.drawn import Chance, Drawn, Fields
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
    Count,
    Effect,
    Options,
    Packet,
    Says,
    Stamp,
    Traits,
    stated,
)
from antecede.orders._counting import Condition, Counting
from antecede.orders._surroundings import Cut, Links, Sides, Surroundings, survey


class HistoriesOptions(Options, frozen=True):
    """`rules`: those that are applied. `carbon_copies`: whether C travels with H (R6.1). `union`:
    whether R6.3 adds the destinations of later messages to the carbon copies of all of H, or, as
    printed, only to those of the identifiers that have just arrived.

    R9 needs the `links` of the network and the `separators` to be used. `own_implied`: whether a
    member of a separator counts as told of what it knows. `gateways`: whether what addresses
    members of S and B is left out, or, as printed, only what addresses members of B."""

    says = stated(
        rules=Says.NOTHING,
        carbon_copies=Says.NOTHING,
        union=Says.NOTHING,
        links=Says.PROCESSES,
        separators=Says.PROCESSES,
        own_implied=Says.NOTHING,
        gateways=Says.NOTHING,
    )

    rules: Literal["R1-R4", "R1-R5", "R1-R8", "R1-R9"] = "R1-R8"
    carbon_copies: bool = False
    union: Literal["all", "arrived"] = "all"
    links: Links = ()
    separators: tuple[Sides, ...] = ()
    own_implied: bool = True
    gateways: bool = True

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Carbon copies and unions belong to R6, separators to R9 and thus to a network."""
        if "topology" in fields:
            repairs = {"own_implied": chance.happens(0.5), "gateways": chance.happens(0.5)}
            return {"rules": "R1-R9", "carbon_copies": chance.happens(0.5), **repairs}
        rules = chance.pick(["R1-R4", "R1-R5", "R1-R8", "R1-R8"])
        if rules != "R1-R8":
            return {"rules": rules}
        return {"carbon_copies": chance.happens(0.5), "union": chance.pick(["all", "arrived"])}

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        return {"rules": "R1-R9"} if "topology" in fields else {}


class Timestamp(Stamp, frozen=True):
    """`H`: the cited messages as (sender, number, destinations), in increasing order. `C`: the
    carbon copies of each (R6.1), or nothing."""

    H: tuple[tuple[Count, Count, bytes], ...]
    C: tuple[bytes, ...]

    def entries(self) -> int:
        """The identifiers."""
        return len(self.H)


class Entry(msgspec.Struct, array_like=True, gc=False):
    """One message of a causal history: `A`, its destinations without its sender; `C`, the processes
    it has been reported to."""

    A: ProcessSet
    C: ProcessSet


Located = list[tuple[int, int, Entry]]
"""Messages of a causal history as (sender, number, entry)."""


class State(msgspec.Struct, array_like=True):
    """`H[s][c]`: message c of sender s, if it is in the causal history; those of a sender stand in
    increasing order. `D[s]`: with R5 the number of the last message of s that was delivered here;
    without it the set of all their numbers."""

    H: dict[int, dict[int, Entry]]
    D: list[int]
    held: dict[MessageId, Packet[Timestamp]]


class _Wires(dict[ProcessSet, bytes]):
    """Sets as they travel. A dict is a third of `lru_cache` in time, and stamps are long."""

    def __missing__(self, bits: ProcessSet) -> bytes:
        if len(self) >= _REMEMBERED:
            self.clear()
        wire = self[bits] = set_to_bytes(bits)
        return wire


class _Sets(dict[bytes, ProcessSet]):
    """And back."""

    def __missing__(self, wire: bytes) -> ProcessSet:
        if len(self) >= _REMEMBERED:
            self.clear()
        bits = self[wire] = set_from_bytes(wire)
        return bits


_REMEMBERED = 1 << 14
_wires, _sets = _Wires(), _Sets()
_NOTHING: dict[int, Entry] = {}


class Histories(Counting):
    traits = Traits(
        title="extended causal histories",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        alike=True,
        state_bound="(n−1)² identifiers in the causal history",
    )
    options_type = HistoriesOptions
    stamp_type = Timestamp
    state_type = State
    state: State
    options: HistoriesOptions

    def __init__(
        self,
        process: int,
        membership: Membership,
        options: Options | None = None,
        surroundings: Surroundings | None = None,
    ) -> None:
        """`surroundings`: what R9 is to know, where it is not to be found out from the options."""
        super().__init__(process, membership, options)
        chosen = self.options
        if surroundings is None and chosen.rules == "R1-R9":
            surroundings = survey(process, membership.size, chosen.links, chosen.separators)
        elif surroundings is None and (chosen.links or chosen.separators):
            raise Misuse(f"links and separators are for rule R9; the rules are {chosen.rules}")
        self._surroundings = surroundings
        self._cuts = (
            surroundings.cuts(own_implied=chosen.own_implied, gateways=chosen.gateways)
            if surroundings
            else []
        )
        if not self._collects and (chosen.carbon_copies or chosen.union == "arrived"):
            raise Misuse(
                f"carbon_copies and union are parts of rule R6; the rules are {chosen.rules}"
            )

    @property
    def _one_per_sender(self) -> bool:
        """Whether R5 is applied."""
        return self.options.rules != "R1-R4"

    @property
    def _collects(self) -> bool:
        """Whether R6 to R8 are applied."""
        return self.options.rules in ("R1-R8", "R1-R9")

    @classmethod
    def talks_to_neighbours(cls, options: Mapping[str, Any]) -> bool:
        return options.get("rules") == "R1-R9"

    @property
    def reach(self) -> ProcessSet:
        if self._surroundings is None:
            return super().reach
        return self._surroundings.neighbours | 1 << self.process

    def initial_state(self) -> State:
        """R1."""
        return State({}, [0] * self.membership.size, {})

    def resume(self) -> None:
        """Whoever made the state need not have kept the order."""
        H = self.state.H
        for sender, entries in H.items():
            H[sender] = dict(sorted(entries.items()))
        self._has_resumed = True
        super().resume()

    # Sending: R2, R4, R6.1, R6.2, R7, R8, R9.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        unreported = self._unreported(message.destinations)
        stamp = self.timestamp(message.destinations, unreported)
        self._record_send(message, unreported)
        return self.multicast(message, stamp)

    def check_addressing(self, message: Message) -> None:
        super().check_addressing(message)
        if self._surroundings is not None:
            self._surroundings.check_destinations(message)

    def timestamp(self, destinations: ProcessSet, unreported: Located) -> Timestamp:
        """R2: what a message to these destinations cites; R6.1: with the carbon copies."""
        cited, cuts = unreported, self._cuts_before(destinations)
        if cuts:
            cited = [one for one in unreported if not self.is_behind(one[2], cuts)]
        return Timestamp(
            tuple([(sender, number, _wires[entry.A]) for sender, number, entry in cited]),
            tuple([_wires[entry.C] for *_, entry in cited] if self.options.carbon_copies else ()),
        )

    def _unreported(self, destinations: ProcessSet) -> Located:
        """R7: what is in H and not known to all of these destinations, in increasing order. Without
        R6 nobody is ever known to have been told."""
        H = self.state.H
        return [
            (sender, number, entry)
            for sender in sorted(H)
            for number, entry in H[sender].items()
            if entry.C & destinations != destinations
        ]

    def _cuts_before(self, destinations: ProcessSet) -> list[Cut]:
        """R9: the separators that this process is a member of and these destinations lie ahead of.
        The sender's own copy never leaves."""
        others = destinations & ~(1 << self.process)
        return [cut for cut in self._cuts if not others & ~cut.front]

    def is_behind(self, entry: Entry, cuts: list[Cut]) -> bool:
        """R9: whether the message stays behind one of these separators, all told of it."""
        return any(not entry.A & ~cut.back and not cut.told & ~entry.C for cut in cuts)

    def _record_send(self, message: Message, unreported: Located) -> None:
        """R4, and R6.2: everything in H has now been reported to the destinations, `unreported`
        for the first time. By R8, what that makes known to all is forgotten."""
        if self._collects:
            reported = message.destinations | 1 << self.process
            known = []
            for sender, number, entry in chain(unreported, self._unsaid()):
                C = entry.C
                if C & reported != reported:
                    C = entry.C = C | reported
                    A = entry.A
                    if C & A == A:
                        known.append((sender, number))
            self._remove_reported(known)
        self._add_to_causal(*message.id, message.destinations)
        self._add_to_delivered(message.id)

    def _unsaid(self) -> Located:
        """What this process does not count as told of itself: since its last send, that alone."""
        if self._has_resumed:
            self._has_resumed = False
            return self._unreported(1 << self.process)
        own = self.process
        return [(own, number, entry) for number, entry in self.state.H.get(own, _NOTHING).items()]

    def _add_to_causal(self, sender: int, number: int, destinations: ProcessSet) -> Entry:
        """R4: the message is in H. One that nobody but its sender delivers orders nothing."""
        H = self.state.H
        entries = H.get(sender, {})
        entry = entries.get(number)
        if entry is None:
            others = destinations & ~(1 << sender)
            entry = Entry(others, 0)
            if others:
                is_last = not entries or next(reversed(entries)) < number
                entries[number] = entry
                H[sender] = entries if is_last else dict(sorted(entries.items()))
        return entry

    def _add_to_delivered(self, message: MessageId) -> Condition:
        """R4, R5: one more message is in D."""
        sender, number = message
        if self._one_per_sender:
            self.state.D[sender] = number
        else:
            self.state.D[sender] |= 1 << number
        return self._condition(message)

    def _remove_reported(self, known: Iterable[tuple[int, int]]) -> None:
        """R8: forget these messages, which all their destinations have been told of."""
        H = self.state.H
        for sender, number in known:
            entries = H[sender]
            del entries[number]
            if not entries:
                del H[sender]

    # Receiving: R3, R4, R5, R6.3, R8.

    def check(self, packet: Packet[Timestamp], message: Message) -> None:
        stamp = packet.stamp
        if self._surroundings is not None:
            self._surroundings.check_source(packet.source)
        size, everybody = self.membership.size, self.membership.everybody
        last, previous, impossible, is_limited = -1, 0, 0, False
        for place, (sender, number, wire) in enumerate(stamp.H):
            if sender != last and last < sender < size:
                last, previous, impossible = sender, 0, ~(everybody ^ 1 << sender)
                is_limited = sender in (packet.source, self.process)
            if sender != last or number <= previous:
                self._refuse_identity(place, sender, number)
            previous = number
            A = _sets[wire]
            if A & impossible or not A:
                raise MalformedStamp(
                    f"H[{place}]", f"{sender}:{number} has impossible destinations"
                )
            if is_limited:
                self._check_limit(place, MessageId(sender, number), message)
        if stamp.C and len(stamp.C) != len(stamp.H):
            raise MalformedStamp("C", f"has {len(stamp.C)} sets for {len(stamp.H)} identifiers")
        if any(_sets[wire] & ~everybody for wire in stamp.C):
            raise MalformedStamp("C", "names unknown processes")

    def _refuse_identity(self, place: int, sender: int, number: int) -> NoReturn:
        if sender >= self.membership.size or number < 1:
            wrong = f"names {sender}:{number}, which no process can send"
        else:
            wrong = f"{sender}:{number} is not in increasing order"
        raise MalformedStamp(f"H[{place}]", wrong)

    def _check_limit(self, place: int, cited: MessageId, message: Message) -> None:
        """A message cites earlier ones of its sender, and of this process what it has sent."""
        sender, number = message.id
        if cited.sender == sender and cited.number >= number:
            raise MalformedStamp(f"H[{place}]", f"{cited} does not precede {message.id}")
        if cited.sender == self.process and not self._is_in(cited):
            raise MalformedStamp(f"H[{place}]", f"{cited} has not been sent")

    def _is_in(self, message: MessageId) -> bool:
        """R3, R5: whether a message is-in D."""
        sender, number = message
        if self._one_per_sender:
            return number <= self.state.D[sender]
        return self.state.D[sender] >> number & 1 == 1

    def _condition(self, message: MessageId) -> Condition:
        """That a message is-in D, as a counter that has come to a value."""
        if self._one_per_sender:
            return message.sender, message.number
        return message, 1

    def is_delivered(self, packet: Packet[Timestamp]) -> bool:
        return self._is_in(packet.message.id)  # type: ignore[union-attr]

    def _missing(self, packet: Packet[Timestamp]) -> Iterator[MessageId]:
        """R3: what is cited, addressed here and not delivered yet."""
        byte, bit = divmod(self.process, 8)
        for sender, number, destinations in packet.stamp.H:
            if len(destinations) > byte and destinations[byte] >> bit & 1:
                cited = MessageId(sender, number)
                if not self._is_in(cited):
                    yield cited

    def unmet(self, packet: Packet[Timestamp]) -> Condition | None:
        for cited in self._missing(packet):
            return self._condition(cited)
        return None

    def awaited(self, packet: Packet[Timestamp]) -> Iterable[Awaited]:
        for sender, number in self._missing(packet):
            yield Awaited(sender, number)

    def accept(self, packet: Packet[Timestamp]) -> Iterable[Condition]:
        self._record_delivery(packet.message, packet.stamp)  # type: ignore[arg-type]
        return (self._add_to_delivered(packet.message.id),)  # type: ignore[union-attr]

    def _record_delivery(self, message: Message, stamp: Timestamp) -> None:
        """R4: the delivered message and what it cites precede the next one sent here."""
        grown, known = self._add_cited(message, stamp)
        delivered = self._add_to_causal(*message.id, message.destinations)
        if self._collects:
            sender, number = message.id
            for earlier, entry in self.state.H[sender].items():
                if earlier < number:  # R6.3: what the sender sent before
                    entry.C |= message.destinations
            delivered.C = 1 << sender | 1 << self.process
            known |= self._add_later_destinations(grown | {sender}, stamp)
            self._remove_reported(known)

    def _add_cited(
        self, message: Message, stamp: Timestamp
    ) -> tuple[set[int], set[tuple[int, int]]]:
        """R4: what a delivered message cites is in H. R6.3: its sender and its destinations have
        been told of that, and R6.1: whom the carbon copies name. Returns the senders that have new
        messages in H, and the messages that all have been told of."""
        H = self.state.H
        reported = message.destinations | 1 << message.id.sender if self._collects else 0
        grown, known, disordered = set(), set(), set()
        last, entries, newest = -1, _NOTHING, 0
        for sender, number, wire in stamp.H:
            if sender != last:
                last, entries = sender, H.get(sender, _NOTHING)
                newest = next(reversed(entries), 0)
            entry = entries.get(number)
            if entry is None:
                if sender not in H:
                    entries = H[sender] = {}
                entry = entries[number] = Entry(_sets[wire], 0)
                grown.add(sender)
                if number < newest:
                    disordered.add(sender)
            C = entry.C
            if C & reported != reported:
                C = entry.C = C | reported
                A = entry.A
                if C & A == A:
                    known.add((sender, number))
        for sender in disordered:
            entries = H[sender]
            H[sender] = {number: entries[number] for number in sorted(entries)}
        if stamp.C and self._collects:
            known |= self._add_carbon_copies(stamp)
        return grown, known

    def _add_carbon_copies(self, stamp: Timestamp) -> set[tuple[int, int]]:
        """R6.1: those whom the carbon copies of a stamp name have been told. Returns what all have
        been told of."""
        known = set()
        for (sender, number, _), copies in zip(stamp.H, stamp.C, strict=True):
            entry = self.state.H[sender][number]
            C = entry.C = entry.C | _sets[copies]
            if C & entry.A == entry.A:
                known.add((sender, number))
        return known

    def _add_later_destinations(
        self, senders: Iterable[int], stamp: Timestamp
    ) -> set[tuple[int, int]]:
        """R6.3, its union: whoever is addressed by a later message of the same sender has been told
        of an earlier one. Only these senders have new messages in H. Returns what all have been
        told of."""
        everywhere = self.options.union == "all"
        arrived = set() if everywhere else {(sender, number) for sender, number, _ in stamp.H}
        known = set()
        for sender in senders if everywhere else {*senders, *(sender for sender, _ in arrived)}:
            later = 0
            for number, entry in reversed(self.state.H.get(sender, _NOTHING).items()):
                A, C = entry.A, entry.C
                if C & later != later and (everywhere or (sender, number) in arrived):
                    C = entry.C = C | later
                if C & A == A:
                    known.add((sender, number))
                later |= A
        return known

    # What it knows.

    def entries(self) -> int:
        """The identifiers in H. D has one more a sender (R5), and C a set for each in H."""
        return sum(map(len, self.state.H.values()))

    def entries_bound(self) -> int | None:
        if not self._collects or self.options.union == "arrived":
            return None
        return (self.membership.size - 1) ** 2
