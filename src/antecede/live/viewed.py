"""A member of a group whose members come and go: the substrate agrees on views, a session runs the
protocol inside them, a roster knows who is who. Pure: the event loop is elsewhere (`group`).

A process that was not there from the start introduces itself to somebody it knows, is sent on to
the most senior member, gets a number, and joins. One that the others have gone on without (it was
silent for too long, or on the smaller side of a cut) says so and joins anew, as another
incarnation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import msgspec

from antecede import groups, message, orders
from antecede.errors import MalformedStamp, Misuse
from antecede.groups import GroupConfig, GroupMember, GroupMessageId, MemberId, founding_view
from antecede.live.items import (
    Carried,
    Direct,
    Introduce,
    Introduced,
    Item,
    Membership,
    Redirect,
    Report,
    Settle,
    Shun,
    encode_item,
    prefix_of,
)
from antecede.live.lesser import Context, ContextOrder, LabelledOrder, LabelStamp
from antecede.live.outgoing import Address
from antecede.live.roster import Entry, Roster, decode_entries, encode_entries
from antecede.live.session import Arrived, Delivery, Hold, Put, Sent, Session, ViewChanged
from antecede.message import process_set
from antecede.order import Held, Notice, Options, Order, Stamp, Wake
from antecede.protocols import find, parse_options

_KEPT_ITEMS: Final = 1 << 17
_OPTIONS_SHOWN: Final = 100


class ToPeer(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the link to this process."""

    name: str
    item: bytes


class ToPeers(msgspec.Struct, frozen=True, gc=False):
    """Put this item on the links to these processes."""

    names: tuple[str, ...]
    item: bytes


class Known(msgspec.Struct, frozen=True):
    """This is where a process listens."""

    name: str
    address: Address


class Reborn(msgspec.Struct, frozen=True):
    """The others have gone on without this process: it joins anew, as another incarnation, and its
    links begin anew. What it sent last may or may not have been delivered."""

    incarnation: int


class Suspended(msgspec.Struct, frozen=True):
    """Most members are out of reach; nothing is sent or delivered until that ends."""

    reached: tuple[str, ...]


class Resumed(msgspec.Struct, frozen=True):
    """Enough members are within reach again."""


class Left(msgspec.Struct, frozen=True):
    """This process has left the group, as it asked to."""


Output = (
    ToPeer
    | ToPeers
    | Known
    | Delivery
    | ViewChanged
    | Sent
    | Arrived
    | Reborn
    | Suspended
    | Resumed
    | Left
    | Notice
    | Wake
)


@dataclass(frozen=True)
class Identity:
    """Who a process is and where it listens."""

    name: str
    address: Address
    incarnation: int


class Viewed:
    """One process in one group."""

    def __init__(
        self,
        identity: Identity,
        protocol: str,
        options: Mapping[str, Any],
        config: GroupConfig,
        *,
        founds: bool,
        named_groups: Mapping[str, Sequence[str]] | None = None,
        labels: Sequence[str] = (),
        records: bool = False,
    ) -> None:
        if labels and (named_groups or protocol in (ContextOrder.name, "piggyback")):
            raise Misuse("labels go neither with named groups nor with contexts nor with piggyback")
        if protocol != ContextOrder.name and find(protocol).name not in orders.names():
            raise Misuse(
                f"{protocol} is an overlay: its processes are those of a scenario (join_overlay, "
                "or antecede node --scenario)"
            )
        self.identity = identity
        self.protocol = protocol
        self._labels = tuple(labels)
        self._options = (
            Options() if protocol == ContextOrder.name else parse_options(protocol, options)
        )
        self._config = config
        self._founds = founds
        self._named_groups = dict(named_groups or {})
        self._records = records
        self.roster = Roster()
        self.hold = Hold()
        self.member: GroupMember | None = None
        self.session: Session | None = None
        self._pending: dict[GroupMessageId, str] = {}
        """Newcomers whose entry in the roster is on its way to everybody."""
        self._suspended = False
        self._leaving = False
        self._shunned: set[str] = set()
        self._kept: list[_Batch] = []
        """What came while it could not be taken: from members that the roster does not know yet,
        or while most members were out of reach. Links bring everything only once."""
        self._out: list[Output] = []

    # -- inputs

    def start(self, now: float) -> list[Output]:
        """Found the group; others wait for a welcome (`welcomed`)."""
        if self._founds:
            host, port = self.identity.address
            self.roster.add(Entry(0, self.identity.name, host, port))
            me = MemberId(0, self.identity.incarnation)
            view = founding_view((0,), self.identity.incarnation)
            self._become(GroupMember(self._config, me, founding=view), now)
        return self._take_out()

    def welcomed(self, name: str, now: float) -> list[Output]:
        """A link to this process stands."""
        if self.member is None and name != self.identity.name:
            self._introduce(name)
        return self._take_out()

    def receive(
        self, sender: str, incarnation: int, items: Sequence[Item], now: float
    ) -> list[Output]:
        """What a link has brought."""
        if sender in self._shunned:
            return []
        ordered: list[Any] = []
        for item in items:
            kind = type(item)
            if kind is Carried or kind is Report or kind is Settle:
                ordered.append(item)
            else:
                self._control(sender, item, now)
        if ordered and self.session is not None:
            if self._kept and not self._suspended:
                self._receive_kept(now)
            self._receive(_Batch(sender, incarnation, ordered), now)
        return self._take_out()

    def wake(self, now: float) -> list[Output]:
        """A time that was asked for has come."""
        if self.member is not None:
            self._substrate(self.member.wake(now), now)
        if self.session is not None and not self._suspended:
            self._session(self.session.wake(now))
        return self._take_out()

    def tick(self, peers: Sequence[str], now: float) -> list[Output]:
        """Now and then: tell the others what has come; knock again where nobody answered."""
        if self.member is None:
            for name in () if self._leaving else peers:
                self._introduce(name)
        elif self.session is not None and not self._suspended:
            self._session(self.session.report())
        return self._take_out()

    def send(
        self,
        payload: bytes,
        to: Sequence[str] | None,
        group: str | None,
        now: float,
        label: str | None = None,
        context: Context | None = None,
    ) -> list[Output]:
        """Send to these members, to a named group or to everybody; `is_open` has to be true."""
        if self.session is None:
            raise Misuse("not in the group yet")
        if group is not None and group not in self._named_groups:
            raise Misuse(f"there is no group '{group}'; there are {sorted(self._named_groups)}")
        numbers = None if to is None else [self._number(name) for name in to]
        self._session(
            self.session.send(payload, numbers, now, group=group, label=label, context=context)
        )
        return self._take_out()

    def context(self) -> Context:
        """Of the last message sent."""
        if self.session is None:
            raise Misuse("not in the group")
        return self.session.context()

    def send_direct(self, payload: bytes, to: Sequence[str]) -> list[Output]:
        """Send past all ordering."""
        item = encode_item(Direct(payload))
        for name in to:
            self._number(name)
            self._out.append(ToPeer(name, item))
        return self._take_out()

    def take(self, sender: MemberId, payload: bytes) -> None:
        """The application has taken a message of this member."""
        if self.session is not None:
            self.session.take(sender, payload)

    def leave(self, now: float) -> list[Output]:
        """Leave; `Left` follows."""
        self._leaving = True
        if self.member is None:
            self._out.append(Left())
        else:
            self._substrate(self.member.leave(now), now)
        return self._take_out()

    # -- what it can say

    @property
    def protocol_text(self) -> str:
        """The protocol with its options and named groups: what all members must have in common."""
        options = msgspec.to_builtins(self._options)
        chosen = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
        text = f"{self.protocol}({chosen[:_OPTIONS_SHOWN]})" if chosen else self.protocol
        if len(chosen) > _OPTIONS_SHOWN:
            text += f" and more {crc32(chosen.encode()):08x}"
        if self._named_groups:
            groups_text = repr([(name, sorted(of)) for name, of in self._named_groups.items()])
            text += f" with groups {crc32(groups_text.encode()):08x}"
        if self._labels:
            text += f" with labels {crc32(repr(self._labels).encode()):08x}"
        return text

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now."""
        return self.session is not None and self.session.is_open and not self._suspended

    @property
    def repairs_loss(self) -> bool:
        """Whether what is put on a broken link may as well be dropped."""
        return False

    @property
    def unsettled(self) -> int:
        """Own messages that have not reached everybody yet."""
        epoch = None if self.session is None else self.session.epoch
        return 0 if epoch is None else epoch.sent - epoch.stable

    @property
    def untaken(self) -> int:
        """How much the slowest receiver, this process included, has yet to take."""
        session = self.session
        if session is None or session.epoch is None:
            return 0
        return max(session.epoch.untaken, session.untaken[session.me])

    def address_of(self, name: str) -> Address:
        entry = self.roster.named(name)
        if entry is None:
            raise Misuse(f"'{name}' is unknown here")
        return entry.address

    def describe(self, held: Held) -> tuple[str, int, tuple[str, ...]]:
        """Sender and number of a held message, and what it waits for, with names."""
        epoch = None if self.session is None else self.session.epoch
        if epoch is None:
            raise Misuse("not in the group")
        members = epoch.view.members
        waiting = epoch.undelivered.get(held.message)
        awaited = tuple(
            f"{self.name_of(members[one.process])}: {one.scope.value} {one.count}"
            for one in held.awaited
        )
        sender = self.name_of(members[held.message.sender])
        # What came inside another packet only is known by its number in this view.
        number = held.message.number if waiting is None else prefix_of(waiting.payload)[1]
        return sender, number, awaited

    def shun(self, held: Held) -> list[Output]:
        """Take those that a message waits for as dead: nobody hears them any more, so that the
        group goes on without them."""
        epoch = None if self.session is None else self.session.epoch
        if epoch is None:
            return []
        names = [epoch.names[one.process] for one in held.awaited if one.process != epoch.me]
        for name in dict.fromkeys(names):
            self._shunned.add(name)
            item = encode_item(Shun(name))
            self._out += [ToPeer(other, item) for other in self.members() if other != name]
        return self._take_out()

    def held(self) -> list[Held]:
        return [] if self.session is None else self.session.held()

    def name_of(self, member: MemberId) -> str:
        return self.roster.name_of(member.process)

    def members(self) -> tuple[str, ...]:
        epoch = None if self.session is None else self.session.epoch
        return () if epoch is None else tuple(map(self.name_of, epoch.view.members))

    # -- inside

    def _take_out(self) -> list[Output]:
        out, self._out = self._out, []
        return out

    def _number(self, name: str) -> int:
        entry = self.roster.named(name)
        if entry is None:
            known = sorted(entry.name for entry in self.roster)
            raise Misuse(f"'{name}' is unknown here; known are {', '.join(known)}")
        return entry.number

    def _introduce(self, name: str) -> None:
        self._out.append(ToPeer(name, encode_item(Introduce(*self.identity.address))))

    def _become(self, member: GroupMember, now: float) -> None:
        """Begin a life in the group."""
        self.member = member
        numbers = {name: _Numbers(self.roster, names) for name, names in self._named_groups.items()}
        self.session = Session(
            member.me,
            self._make_order,
            numbers,
            name_of=self.name_of,
            hold=self.hold,
            labels=self._labels,
            records=self._records,
        )
        self._substrate(member.start(now), now)

    def _receive(self, batch: "_Batch", now: float) -> None:
        entry = self.roster.named(batch.sender)
        if self.session is None:
            return
        if entry is None or self._suspended:
            if sum(len(kept.items) for kept in self._kept) > _KEPT_ITEMS:
                raise MalformedStamp("items", "are too many before their time")
            self._kept.append(batch)
        else:
            member = MemberId(entry.number, batch.incarnation)
            self._session(self.session.receive(member, batch.items, now))

    def _receive_kept(self, now: float) -> None:
        """Look again at what could not be taken before."""
        kept, self._kept = self._kept, []
        for batch in kept:
            self._receive(batch, now)

    @property
    def stamp_type(self) -> type[Stamp]:
        """Of what the order puts on packets."""
        if self._labels:
            return LabelStamp
        if self.protocol == ContextOrder.name:
            return ContextOrder.stamp_type
        return find(self.protocol).stamp_type

    def _make_order(self, process: int, membership: message.Membership) -> Order:
        if self._labels:
            return LabelledOrder(process, membership, len(self._labels), self._make_one)
        return self._make_one(process, membership)

    def _make_one(self, process: int, membership: message.Membership) -> Order:
        if self.protocol == ContextOrder.name:
            return ContextOrder(process, membership)
        return find(self.protocol)(process, membership, self._options)

    def _control(self, sender: str, item: Item, now: float) -> None:
        match item:
            case Membership():
                if self.member is not None:
                    self._substrate(self.member.receive(groups.decode(item.packet), now), now)
            case Direct():
                self._out.append(Delivery(sender, item.payload, ordered=False))
            case Introduce():
                self._let_in(sender, (item.host, item.port), now)
            case Introduced():
                self._introduced(item, now)
            case Redirect():
                if self.member is None:
                    self._out.append(Known(item.name, (item.host, item.port)))
                    self._introduce(item.name)
            case Shun():
                if sender in self.members() and item.name != self.identity.name:
                    self._shunned.add(item.name)

    def _let_in(self, name: str, address: Address, now: float) -> None:
        """Somebody wants to join."""
        member = self.member
        if member is None or member.view is None or self._suspended or self._leaving:
            return
        self._out.append(Known(name, address))
        senior = member.view.members[0]
        if senior != member.me:
            entry = self.roster.named(self.roster.name_of(senior.process))
            if entry is not None:
                item = Redirect(entry.name, entry.host, entry.port)
                self._out.append(ToPeer(name, encode_item(item)))
            return
        if name in self._pending.values():
            return
        known = self.roster.named(name)
        present = {self.name_of(one) for one in member.view.members}
        if name in present and known is not None and known.address != address:
            return  # Its former life has to be found dead first; it will knock again.
        if known is not None and known.address == address:
            item_out = Introduced(known.number, self.roster.entries())
            self._out.append(ToPeer(name, encode_item(item_out)))
            return
        number = self.roster.next_number() if known is None else known.number
        self._pending[GroupMessageId(member.me, member.next_number)] = name
        entry = Entry(number, name, *address)
        self._substrate(member.send(encode_entries((entry,)), now), now)

    def _introduced(self, item: Introduced, now: float) -> None:
        if self.member is not None:
            return
        for entry in item.roster:
            self._add(entry)
        own = self.roster.named(self.identity.name)
        if own is None or own.number != item.number:
            raise MalformedStamp("roster", "does not contain this process under its number")
        contacts = process_set(entry.number for entry in self.roster if entry.number != item.number)
        me = MemberId(item.number, self.identity.incarnation)
        self._become(GroupMember(self._config, me, contacts=contacts), now)

    def _add(self, entry: Entry) -> None:
        self.roster.add(entry)
        if entry.name != self.identity.name:
            self._out.append(Known(entry.name, entry.address))

    def _session(self, effects: Sequence[Any]) -> None:
        for effect in effects:
            if type(effect) is Put:
                self._out.append(ToPeers(effect.names, effect.item))
            else:
                self._out.append(effect)

    def _substrate(self, effects: Sequence[groups.Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case groups.Transmit():
                    item = encode_item(Membership(groups.encode(effect.packet)))
                    for entry in self.roster:
                        if effect.to >> entry.number & 1:
                            self._out.append(ToPeer(entry.name, item))
                case groups.Deliver():
                    for entry in decode_entries(effect.message.payload):
                        self._add(entry)
                case groups.Stable():
                    self._answer(effect.messages)
                case groups.ViewInstalled():
                    self._install(effect, now)
                case groups.StateWanted():
                    self._provide(effect.view, now)
                case groups.Suspended():
                    self._suspended = True
                    self._out.append(Suspended(tuple(map(self.name_of, effect.reached))))
                case groups.Resumed():
                    self._suspended = False
                    self._out.append(Resumed())
                    self._receive_kept(now)
                    if self.session is not None:
                        self._session(self.session.wake(now))
                case groups.Stopped():
                    self._stopped(effect)
                case groups.Wake():
                    self._out.append(Wake(effect.at))

    def _answer(self, stable: Sequence[GroupMessageId]) -> None:
        """Everybody knows these newcomers now: tell them."""
        for one in stable:
            name = self._pending.pop(one, None)
            entry = None if name is None else self.roster.named(name)
            if entry is not None:
                item = Introduced(entry.number, self.roster.entries())
                self._out.append(ToPeer(entry.name, encode_item(item)))

    def _install(self, effect: groups.ViewInstalled, now: float) -> None:
        if effect.state:
            for entry in decode_entries(effect.state):
                self._add(entry)
        self._suspended = False
        self._shunned &= {self.name_of(member) for member in effect.view.members}
        if self.session is not None:
            self._session(self.session.install(effect.view, now))
            self._receive_kept(now)

    def _provide(self, view: int, now: float) -> None:
        if self.member is not None:
            state = encode_entries(self.roster.entries())
            self._substrate(self.member.provide_state(view, state, now), now)

    def _stopped(self, effect: groups.Stopped) -> None:
        self.member = None
        self.session = None
        self._pending.clear()
        self._kept.clear()
        self._suspended = False
        if effect.reason is groups.StopReason.LEFT:
            self._out.append(Left())
            return
        self._founds = False
        incarnation = self.identity.incarnation + 1
        self.identity = Identity(self.identity.name, self.identity.address, incarnation)
        self._out.append(Reborn(incarnation))


class _Batch(msgspec.Struct, frozen=True):
    """What a link has brought at one time, for the session."""

    sender: str
    incarnation: int
    items: list[Any]


class _Numbers:
    """The numbers of named processes, as far as the roster knows them at the time of asking."""

    def __init__(self, roster: Roster, names: Sequence[str]) -> None:
        self._roster = roster
        self._names = names

    def __iter__(self) -> Iterator[int]:
        entries = map(self._roster.named, self._names)
        return iter([entry.number for entry in entries if entry is not None])
