"""A member of a group whose members come and go: the substrate agrees on views, a session runs the
protocol inside them, a roster knows who is who. Pure: the event loop is elsewhere (`pump`).

A process that was not there from the start introduces itself to somebody it knows, is sent on to
the most senior member, gets a number, and joins. One that the others have gone on without (it was
silent for too long, or on the smaller side of a cut) says so and joins anew, as another
incarnation.
"""

from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from antecede import groups
from antecede.errors import MalformedStamp, Misuse
from antecede.groups import GroupConfig, GroupMember, MemberId, View, founding_view
from antecede.live.account import Account
from antecede.live.chosen import Chosen
from antecede.live.durable.remembered import Outgone, Remembered
from antecede.live.durable.threshold import Threshold
from antecede.live.introduction import Introduction
from antecede.live.ordering.effects import Delivery, Put, SessionEffect
from antecede.live.ordering.founding import (
    Accept,
    Accepted,
    Behind,
    Founded,
    Prepare,
    Promise,
)
from antecede.live.ordering.items import (
    PART_BYTES,
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
)
from antecede.live.ordering.lesser import Context
from antecede.live.ordering.offers import Floor, Given, Ready, Stored, Wanted
from antecede.live.ordering.session import Session
from antecede.live.outputs import (
    Accompanied,
    Identity,
    Left,
    Output,
    Reborn,
    Resumed,
    Suspended,
    ToPeer,
    ToPeers,
)
from antecede.live.roster import NO_HABITS, Entry, Numbers, decode_entries, encode_entries
from antecede.live.seeding import Seeding
from antecede.message import NO_GROUP
from antecede.order import Held, Wake

_EARLY_ITEMS: Final = 1 << 17
FIRST_VIEW: Final = 1
_Batch = tuple[str, int, list[Any]]
"""What a link has brought at one time for the session: the sender, its incarnation, and items."""


class _Early:
    """Batches from members that the roster does not know yet, or that came while most members are
    out of reach. Links bring everything only once."""

    def __init__(self) -> None:
        self.count = 0
        """Of items."""
        self._batches: list[_Batch] = []

    def keep(self, batch: _Batch) -> None:
        self._batches.append(batch)
        self.count += len(batch[2])

    def take(self) -> list[_Batch]:
        """All of it, to be looked at again."""
        batches, self._batches, self.count = self._batches, [], 0
        return batches


class Viewed(Account):
    """One process in one group."""

    def __init__(
        self,
        identity: Identity,
        chosen: Chosen,
        config: GroupConfig,
        *,
        founds: bool,
        records: bool = False,
        remembered: Remembered | None = None,
        wants_state: bool = False,
        part_bytes: int = PART_BYTES,
        seeding: Seeding | None = None,
    ) -> None:
        self._introduction = Introduction(identity.name)
        super().__init__(chosen, self._introduction.roster)
        self.identity = identity
        self._config = config
        self._founds = founds
        self.seeding = seeding
        """Of a process that was given seeds."""
        self._records = records
        self.member: GroupMember | None = None
        self._leaving = False
        self._shunned: set[str] = set()
        self._early = _Early()
        self._out: list[Output] = []
        self._remembered = remembered
        self._wants_state = wants_state
        self._part_bytes = part_bytes
        """How much of what is handed on to others travels at once."""
        if remembered is not None or wants_state:
            self._attend()

    # -- inputs

    def start(self, now: float) -> list[Output]:
        """Found the group; others wait for a welcome (`welcomed`)."""
        if self._founds:
            self._introduction.found(self.identity)
            me = MemberId(0, self.identity.incarnation)
            view = founding_view((0,), self.identity.incarnation)
            self._become(GroupMember(self._config, me, founding=view), now)
        return self._take_out()

    def be_seed(self) -> None:
        """This process is one of its seeds."""
        if self.seeding is not None:
            self.seeding.is_seed = True

    def what_is_missing(self, there: Sequence[str]) -> str:
        """What keeps the seeds from founding a group, in words; empty if nothing does."""
        seeding = self.seeding
        if seeding is None or self.member is not None:
            return ""
        if seeding.lacking:
            return f"a group may go on with {', '.join(seeding.lacking)}; or name found_anew=True"
        if not seeding.is_seed:
            return "this process is none of the seeds, which have to found the group"
        if len(there) + 1 < seeding.expect:
            return f"seeds needed to found the group: {seeding.expect}; here: {len(there) + 1}"
        return ""

    def welcomed(self, name: str, incarnation: int, now: float) -> list[Output]:
        """A link to this life of a process stands."""
        if self.seeding is not None:
            self.seeding.heard(name, incarnation)
        if self.member is None and name != self.identity.name:
            self._out.append(self._introduction.ask(name, self.identity))
        return self._take_out()

    def receive(
        self, sender: str, incarnation: int, items: Sequence[Item], now: float
    ) -> list[Output]:
        """What a link has brought."""
        if sender in self._shunned:
            return []
        if self.seeding is not None:
            self.seeding.heard(sender, incarnation)
        ordered: list[Any] = []
        others: list[Item] = []
        for item in items:
            kind = type(item)
            if kind is Carried or kind is Report or kind is Settle:
                ordered.append(item)
            else:
                others.append(item)
        if self._early.count + len(ordered) > _EARLY_ITEMS and self._is_early(sender):
            # The link brings all of it again: so nothing of it may have been done.
            raise MalformedStamp("items", "are too many before their time")
        for item in others:
            self._control(sender, incarnation, item, now)
        if ordered and self.session is not None:
            if self._early.count and not self._suspended:
                self._receive_early(now)
            self._receive((sender, incarnation, ordered), now)
        return self._take_out()

    def wake(self, now: float) -> list[Output]:
        """A time that was asked for has come."""
        if self.member is not None:
            self._substrate(self.member.wake(now), now)
        if self.session is not None and not self._suspended:
            self._session(self.session.wake(now))
        return self._take_out()

    def tick(
        self, peers: Sequence[str], now: float, waiting: int = 0, *, tried_all: bool = True
    ) -> list[Output]:
        """Now and then: tell the others what has come; knock again where nobody answered, or
        found a group with those who are there. The application has so many events to take; whether
        every seed has been tried once."""
        if self.member is None:
            for name in () if self._leaving else peers:
                self._out.append(self._introduction.ask(name, self.identity))
            if self.seeding is not None and not self._leaving:
                founder = self._introduction.founder(self.identity)
                self._out += self.seeding.tick(founder, peers, now, tried_all=tried_all)
                self._found_if_agreed(now)
        elif self._suspended and self.seeding is not None:
            self._surrender_if_superseded()
        elif self.session is not None and not self._suspended:
            self._session(self.session.report())
            if self._threshold is not None:
                self._threshold.tick(waiting, self._out)
                self._resend(now)
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
        if group is not None and group not in self._chosen.named_groups:
            known = sorted(self._chosen.named_groups)
            raise Misuse(f"there is no group '{group}'; there are {known}")
        numbers = None if to is None else [self._number(name) for name in to]
        effects = self.session.send(
            payload, numbers, now, group=group, label=label, context=context
        )
        if self._remembered is not None and self._threshold is not None:
            names = self._chosen.named_groups[group] if group is not None else to
            self._threshold.outbox.note_sent(payload, names, group, self._out)
        self._session(effects)
        return self._take_out()

    def give_state(self, view: int, state: bytes) -> list[Output]:
        """The application's answer to `StateWanted`."""
        if self._threshold is not None:
            self._out += self._threshold.host.give(view, state)
        return self._take_out()

    def recalled(self, found: Sequence[Outgone], now: float) -> list[Output]:
        """The answer to `Recall`."""
        if self._threshold is not None and self.session is not None:
            self._threshold.outbox.recalled(found, self._out)
            self._resend(now)
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

    def _become(self, member: GroupMember, now: float) -> None:
        """Begin a life in the group."""
        self.member = member
        named = self._chosen.named_groups
        numbers = {name: Numbers(self.roster, names) for name, names in named.items()}
        self.session = Session(
            member.me,
            self._chosen.make_order,
            numbers,
            name_of=self.name_of,
            hold=self.hold,
            labels=self._chosen.labels,
            records=self._records,
            sent=0 if self._remembered is None else self._remembered.reached,
            part_bytes=self._part_bytes,
        )
        if self._threshold is not None:
            self.session.audience = deque()
            self._threshold.begin(self.session)
        self._substrate(member.start(now), now)

    def _is_early(self, sender: str) -> bool:
        return self._suspended or self.roster.named(sender) is None

    def _receive(self, batch: _Batch, now: float) -> None:
        sender, incarnation, items = batch
        entry = self.roster.named(sender)
        if self.session is None:
            return
        if entry is None or self._suspended:
            self._early.keep(batch)
        else:
            member = MemberId(entry.number, incarnation)
            effects: list[SessionEffect] = []
            try:
                self.session.receive(member, items, now, effects)
            finally:
                self._session(effects)  # A bad item must not take with it what others sent.

    def _receive_early(self, now: float) -> None:
        """Look again at what could not be taken before."""
        for batch in self._early.take():
            try:
                self._receive(batch, now)
            except MalformedStamp:
                self._shunned.add(batch[0])  # The link that it came on is not the one at hand.

    def _control(self, sender: str, incarnation: int, item: Item, now: float) -> None:
        match item:
            case Membership():
                if self.member is not None:
                    packet = groups.decode(item.packet)
                    self._check_source(sender, incarnation, packet.source)
                    self._substrate(self.member.receive(packet, now), now)
            case Direct():
                if sender in self.members():
                    self._out.append(Delivery(sender, item.payload, ordered=False))
            case Introduce():
                self._let_in(sender, item, now)
            case Introduced():
                self._introduced(item, now)
            case Prepare() | Promise() | Accept() | Accepted() | Behind() | Founded():
                if self.seeding is not None and not self._leaving:
                    is_in = self.member is not None
                    self._out += self.seeding.receive(sender, item, now, is_in=is_in)
                    self._found_if_agreed(now)
            case Redirect():
                if self.member is None:
                    self._out += self._introduction.redirected(item, self.identity)
            case Wanted() | Given() | Ready() | Floor() | Stored():
                if self._threshold is not None and self.session is not None:
                    self._threshold.receive(sender, item, self._out)
                    self._resend(now)
            case Shun():
                if sender in self.members() and item.name != self.identity.name:
                    self._shunned.add(item.name)

    def _check_source(self, sender: str, incarnation: int, source: MemberId) -> None:
        """Nobody speaks for another: what a link brings is from the life at its other end."""
        entry = self.roster.named(sender)
        if entry is not None and source != MemberId(entry.number, incarnation):
            raise MalformedStamp("source", f"is {source}, on a link of '{sender}'")

    def _found_if_agreed(self, now: float) -> None:
        """Be one of the first members."""
        if self.member is not None or self.seeding is None or not self.seeding.founders:
            return
        founders = self.seeding.founders
        entries = [founder.entry(number) for number, founder in enumerate(founders)]
        self.roster.clear()
        for entry in entries:
            self._out += self._introduction.add(entry)
        self._attend_if_needed(entries)
        members = [MemberId(number, one.incarnation) for number, one in enumerate(founders)]
        me = members[[founder.name for founder in founders].index(self.identity.name)]
        view = View(FIRST_VIEW, tuple(members))
        self._become(GroupMember(self._config, me, founding=view), now)

    def _surrender_if_superseded(self) -> None:
        """Most of the others have been started anew: what is left of the group can never decide
        anything again. Begin anew, too."""
        epoch = None if self.session is None else self.session.epoch
        if epoch is None or self.seeding is None:
            return
        members = [(self.name_of(one), one.incarnation) for one in epoch.view.members]
        if self.seeding.is_superseded(members):
            self._stopped(groups.Stopped(groups.StopReason.EXCLUDED))

    def _let_in(self, name: str, asked: Introduce, now: float) -> None:
        """Somebody wants to join."""
        member = self.member
        if member is None or member.view is None or self._suspended or self._leaving:
            return
        outputs, entry = self._introduction.let_in(member, name, asked)
        self._out += outputs
        if entry is not None:
            self._substrate(member.send(encode_entries((entry,)), now), now)

    def _introduced(self, item: Introduced, now: float) -> None:
        if self.member is not None:
            return
        outputs, contacts = self._introduction.introduced(item)
        self._out += outputs
        self._attend_if_needed(item.roster)
        me = MemberId(item.number, self.identity.incarnation)
        self._become(GroupMember(self._config, me, contacts=contacts), now)

    def _attend_if_needed(self, entries: Sequence[Entry]) -> None:
        """Somebody is durable or wants a state: from now on that is looked after."""
        if self._threshold is None and any(entry.habits != NO_HABITS for entry in entries):
            self._attend()

    def _attend(self) -> None:
        named = self._chosen.named_groups
        self._threshold = Threshold(
            self.identity.name,
            self.roster,
            self._remembered,
            wants_state=self._wants_state,
            group_is_named=lambda index: bool(named) and index != NO_GROUP,
        )
        self._threshold.host.part_bytes = self._part_bytes
        self._introduction.habits = self._threshold.habits
        if self.session is not None:
            self.session.audience = deque()
            epoch = self.session.epoch
            self._threshold.attend(self.session, None if epoch is None else epoch.view)

    def _resend(self, now: float) -> None:
        """Let what former lives sent leave, as soon as anything may."""
        threshold = self._threshold
        if threshold is not None and threshold.outbox.has_to_resend and not self._suspended:
            threshold.outbox.resend(now, self._out)

    def _session(self, effects: Sequence[Any]) -> None:
        if self._threshold is not None:
            self._threshold.pass_on(effects, self._out)
            return
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
                    self._add(effect.message.payload)
                case groups.Stable():
                    self._out += self._introduction.answer(effect.messages)
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
                    self._receive_early(now)
                    if self.session is not None:
                        self._session(self.session.wake(now))
                case groups.Stopped():
                    self._stopped(effect)
                case groups.Wake():
                    self._out.append(Wake(effect.at))

    def _install(self, effect: groups.ViewInstalled, now: float) -> None:
        if effect.state:
            self._add(effect.state)
        self._suspended = False
        names = [self.name_of(member) for member in effect.view.members]
        self._shunned &= {*names}
        if self.seeding is not None:
            self._out += self.seeding.enter(names)
        elif self._remembered is not None:
            self._out.append(Accompanied(tuple(sorted(names))))
        if self.session is not None:
            self._session(self.session.install(effect.view, now))
            self._receive_early(now)
            self._resend(now)

    def _add(self, entries: bytes) -> None:
        decoded = decode_entries(entries)
        for entry in decoded:
            self._out += self._introduction.add(entry)
        self._attend_if_needed(decoded)

    def _provide(self, view: int, now: float) -> None:
        if self.member is not None:
            state = encode_entries(self.roster.entries())
            self._substrate(self.member.provide_state(view, state, now), now)

    def _stopped(self, effect: groups.Stopped) -> None:
        self.member = None
        self.session = None
        self._introduction.forget_pending()
        self._early = _Early()
        self._suspended = False
        if effect.reason is groups.StopReason.LEFT:
            self._out.append(Left())
            return
        self._founds = False
        incarnation = self.identity.incarnation + 1
        self.identity = Identity(self.identity.name, self.identity.address, incarnation)
        self._out.append(Reborn(incarnation))
        if self._threshold is not None:
            self._introduction.habits = self._threshold.habits
