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
from functools import lru_cache
from itertools import repeat
from typing import Any, Literal, NoReturn

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


class State(msgspec.Struct, array_like=True):
    """`H[s][c]`: message c of sender s, if it is in the causal history; those of a sender stand in
    increasing order. `D[s]`: with R5 the number of the last message of s that was delivered here;
    without it the set of all their numbers."""

    H: dict[int, dict[int, Entry]]
    D: list[int]
    held: dict[MessageId, Packet[Timestamp]]


_to_wire = lru_cache(maxsize=1 << 14)(set_to_bytes)
_from_wire = lru_cache(maxsize=1 << 14)(set_from_bytes)
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
        super().resume()

    # Sending: R2, R4, R6.1, R6.2, R7, R8, R9.

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        stamp = self.timestamp(message.destinations)
        self._record_send(message)
        return self.multicast(message, stamp)

    def check_addressing(self, message: Message) -> None:
        super().check_addressing(message)
        if self._surroundings is not None:
            self._surroundings.check_destinations(message)

    def timestamp(self, destinations: ProcessSet) -> Timestamp:
        """R2: what a message to these destinations cites; R6.1: with the carbon copies."""
        cited = self._unreported(destinations)
        cuts = self._cuts_before(destinations)
        if cuts:
            cited = [one for one in cited if not self.is_behind(one[2], cuts)]
        return Timestamp(
            tuple([(sender, number, _to_wire(entry.A)) for sender, number, entry in cited]),
            tuple([_to_wire(entry.C) for *_, entry in cited] if self.options.carbon_copies else ()),
        )

    def _unreported(self, destinations: ProcessSet) -> list[tuple[int, int, Entry]]:
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

    def _record_send(self, message: Message) -> None:
        """R4, and R6.2: everything in H has now been reported to the destinations. By R8, what that
        makes known to all is forgotten."""
        if self._collects:
            reported = message.destinations | 1 << self.process
            known = []
            for sender, number, entry in self._unreported(reported):
                C = entry.C = entry.C | reported
                if C & entry.A == entry.A:
                    known.append((sender, number))
            self._remove_reported(known)
        self._add_to_causal(*message.id, message.destinations)
        self._add_to_delivered(message.id)

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
        last, previous, others, is_limited = -1, 0, 0, False
        for place, (sender, number, wire) in enumerate(stamp.H):
            if sender != last and last < sender < size:
                last, previous, others = sender, 0, everybody ^ 1 << sender
                is_limited = sender in (packet.source, self.process)
            if sender != last or number <= previous:
                self._refuse_identity(place, sender, number)
            previous = number
            destinations = _from_wire(wire)
            if not destinations or destinations & ~others:
                raise MalformedStamp(
                    f"H[{place}]", f"{sender}:{number} has impossible destinations"
                )
            if is_limited:
                self._check_limit(place, MessageId(sender, number), message)
        if stamp.C and len(stamp.C) != len(stamp.H):
            raise MalformedStamp("C", f"has {len(stamp.C)} sets for {len(stamp.H)} identifiers")
        if any(_from_wire(wire) & ~everybody for wire in stamp.C):
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
        carbon = stamp.C if self._collects else ()
        grown, known = set(), set()
        last, entries = -1, _NOTHING
        for (sender, number, wire), copies in zip(stamp.H, carbon or repeat(b"")):  # noqa: B905
            if sender != last:
                last, entries = sender, H.get(sender, _NOTHING)
            entry = entries.get(number)
            if entry is None:
                entry = self._add_to_causal(sender, number, _from_wire(wire))
                entries = H[sender]
                grown.add(sender)
            told = reported | _from_wire(copies) if copies else reported
            if entry.C & told != told:
                C = entry.C = entry.C | told
                if C & entry.A == entry.A:
                    known.add((sender, number))
        return grown, known

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
