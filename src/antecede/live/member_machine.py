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
from antecede.groups import GroupConfig, GroupMember, MemberId
from antecede.live.account import Account
from antecede.live.accusations import Accusations
from antecede.live.disputes import may_say
from antecede.live.durable.admission import Admission
from antecede.live.durable.remembered import Outgone, Remembered
from antecede.live.early import Batch, Early
from antecede.live.entrance import Entrance
from antecede.live.events import Excluded, Interrupted, Restored
from antecede.live.introduction import Introduction
from antecede.live.ordering.effects import Delivery, SessionEffect
from antecede.live.ordering.epoch import TooEarly
from antecede.live.ordering.founding import (
    Accept,
    Accepted,
    Behind,
    Founded,
    Prepare,
    Promise,
)
from antecede.live.ordering.incomplete import Context
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
    Run,
    Settle,
    Shun,
    encode_item,
)
from antecede.live.ordering.offers import Floor, Given, Outdated, Ready, Stored, Wanted
from antecede.live.ordering.seals import Seals
from antecede.live.ordering.session import Session
from antecede.live.ordering.traffic import WINDOW
from antecede.live.outputs import (
    Accompanied,
    Identity,
    Known,
    Left,
    OlderLog,
    Output,
    ToPeer,
)
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.roster import NO_HABITS, Entry, Numbers, decode_entries, encode_entries
from antecede.live.seeding import Seeding
from antecede.message import NO_GROUP
from antecede.order import Held, Wake

_PACKET_BYTES: Final = 4 * 2**20
"""Of the substrate: most are tiny, but a newcomer is told of everybody."""
_ORDERED: Final = frozenset((Carried, Run, Report, Settle))
"""What is for the session."""
_OFFERED: Final = frozenset((Wanted, Given, Ready, Floor, Stored))
"""What newcomers want, and are given."""


class MemberMachine(Account):
    """One process in one group."""

    def __init__(
        self,
        identity: Identity,
        chosen: ProtocolChoice,
        config: GroupConfig,
        *,
        founds: bool,
        records: bool = False,
        remembered: Remembered | None = None,
        wants_state: bool = False,
        part_bytes: int = PART_BYTES,
        seeding: Seeding | None = None,
        confirms: bool = False,
        seals: Seals | None = None,
        window: int = WINDOW,
    ) -> None:
        self._seals = seals
        """By which members know each other's words, if they can prove who they are at all."""
        self._window = window
        self._confirms = confirms
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
        self.accusations = Accusations(self, 2 * config.suspect_after_s)
        self._entrance = Entrance(self, config, self._introduction)
        self.early = Early()
        self.out: list[Output] = []
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
            self._entrance.found(now)
        return self._take_out()

    def be_seed(self) -> None:
        """This process is one of its seeds."""
        if self.seeding is not None:
            self.seeding.is_seed = True

    def waits_for(self, there: Sequence[str]) -> dict[str, str]:
        """What keeps this process from being in the group: by process that is there, and under the
        empty name besides, in words."""
        if self._is_in:
            awaited = () if self._admission is None else self._admission.awaited
            return dict.fromkeys(awaited, "it has yet to say what this process missed")
        return self._entrance.waits_for(there)

    def key_for(self, name: str, incarnation: int) -> bytes:
        """What this life of a process seals its messages for this one with."""
        return b"" if self._seals is None else self._seals.key_for(name, incarnation)

    def welcomed(self, name: str, incarnation: int, now: float, key: bytes = b"") -> list[Output]:
        """A link to this life of a process stands; this is the key that it gave."""
        if self._seals is not None:
            self._seals.learn(name, incarnation, key)
        if self.session is not None:
            self.session.report_again(name)
        if self.seeding is not None:
            self.seeding.heard(name, incarnation)
        if self.member is None:
            self._entrance.welcomed(name, now)
        return self._take_out()

    def receive(
        self, sender: str, incarnation: int, items: Sequence[Item], now: float
    ) -> list[Output]:
        """What a link has brought."""
        if sender in self.accusations.disputes.shunned:
            return []
        if self.seeding is not None:
            self.seeding.heard(sender, incarnation)
        ordered: Sequence[Any] = items
        others: list[Item] = []
        if not _ORDERED.issuperset(map(type, items)):
            ordered = [item for item in items if type(item) in _ORDERED]
            others = [item for item in items if type(item) not in _ORDERED]
        if self._is_early(sender):
            aside = [*ordered, *(item for item in others if type(item) in _OFFERED)]
            if aside and not self.early.has_room(sender, aside):
                # The link brings all of it again: so nothing of it may have been done.
                raise TooEarly(f"too much came from '{sender}' before its time")
        for item in others:
            self._control(sender, incarnation, item, now)
        if ordered and self.session is not None:
            if self.early and not self._suspended:
                self._receive_early(now)
            self._receive((sender, incarnation, ordered), now)
        self.accusations.accuse_liars(now)
        return self._take_out()

    def accuse(self, name: str, now: float) -> list[Output]:
        """This member has sent what cannot be right. It is not heard any more, here; if most of the
        others have the same to say, by nobody (`disputes`)."""
        self.accusations.accuse(name, now)
        return self._take_out()

    def find_slow(self, name: str) -> list[Output]:
        """This member holds up senders for too long. It is heard as long as most others do not find
        it slow, too."""
        self.accusations.find_slow(name)
        return self._take_out()

    def excuse(self, seconds: float, now: float) -> None:
        """This process stood still for that long, so that others' silence says nothing."""
        if self.member is not None:
            self.member.core.excuse(seconds, now)

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
            if not self._leaving:
                self._entrance.tick(peers, now, tried_all=tried_all)
        elif not self._is_in and self._entrance.knocking.gives_up(now):
            self._stopped(groups.StopReason.EXCLUDED)
        elif self._suspended and self.seeding is not None:
            if self._entrance.is_superseded:
                self._stopped(groups.StopReason.EXCLUDED)
        elif self.accusations.is_lost(now):
            self._stopped(groups.StopReason.EXCLUDED)
        elif self.session is not None and not self._suspended:
            self._session(self.session.report())
            if self._admission is not None:
                self._admission.tick(waiting, self.out)
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
        if self._remembered is not None and self._admission is not None:
            names = self._chosen.named_groups[group] if group is not None else to
            self._admission.outbox.note_sent(payload, names, group, self.out)
        self._session(effects)
        return self._take_out()

    def give_state(self, view: int, state: bytes) -> list[Output]:
        """The application's answer to `StateWanted`."""
        if self._admission is not None:
            self.out += self._admission.host.give(view, state)
        return self._take_out()

    def recalled(self, found: Sequence[Outgone], now: float) -> list[Output]:
        """The answer to `Recall`."""
        if self._admission is not None and self.session is not None:
            self._admission.outbox.recalled(found, self.out)
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
            self.out.append(ToPeer(name, item))
        return self._take_out()

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """The application has taken these messages of members."""
        if self.session is not None:
            self.session.take(deliveries)

    def leave(self, now: float) -> list[Output]:
        """Leave; `Left` follows."""
        self._leaving = True
        if self.member is None:
            self.out.append(Left())
        else:
            self._substrate(self.member.leave(now), now)
        return self._take_out()

    def shun(self, held: Held, now: float) -> list[Output]:
        """Take those that a message waits for as dead: if most others have the same to say, nobody
        hears them any more, and the group goes on without them; else this process begins anew."""
        self.accusations.shun(held, now)
        return self._take_out()

    # -- inside

    def _take_out(self) -> list[Output]:
        out, self.out = self.out, []
        return out

    def _number(self, name: str) -> int:
        entry = self.roster.named(name)
        if entry is None:
            known = sorted(entry.name for entry in self.roster)
            raise Misuse(f"'{name}' is unknown here; known are {', '.join(known)}")
        return entry.number

    def become(self, member: GroupMember, now: float) -> None:
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
            confirms=self._confirms,
            seals=self._seals,
            window=self._window,
        )
        if self._admission is not None:
            self.session.traffic.audience = deque()
            self._admission.begin(self.session)
        self._substrate(member.start(now), now)

    def _is_early(self, sender: str) -> bool:
        return self._suspended or self.roster.named(sender) is None

    @property
    def _is_in(self) -> bool:
        return self.session is not None and self.session.epoch is not None

    def _receive(self, batch: Batch, now: float) -> None:
        sender, incarnation, items = batch
        entry = self.roster.named(sender)
        if self.session is None:
            return
        if entry is None and self._is_in:
            # Everybody knows a newcomer before it is told that it may come.
            raise MalformedStamp("sender", f"is '{sender}', who is no member")
        if entry is None or self._suspended:
            self.early.keep(batch)
        else:
            member = MemberId(entry.number, incarnation)
            effects: list[SessionEffect] = []
            try:
                self.session.receive(member, items, now, effects)
            finally:
                self._session(effects)  # A bad item must not take with it what others sent.

    def _receive_early(self, now: float) -> None:
        """Look again at what could not be taken before."""
        for batch in self.early.take():
            if batch[0] in self.accusations.disputes.shunned:
                continue
            try:
                if type(batch[2][0]) in _OFFERED:
                    self._control(*batch[:2], batch[2][0], now)
                else:
                    self._receive(batch, now)
            except TooEarly:
                self.early.keep(batch)
            except Exception:  # noqa: BLE001 - whatever it is, these bytes are the reason
                # The link that it came on is not the one at hand.
                self.accusations.disputes.shunned.add(batch[0])
                self.accusations.accuse(batch[0], now)

    def _control(self, sender: str, incarnation: int, item: Item, now: float) -> None:
        match item:
            case Membership():
                self._membership(sender, incarnation, item.packet, now)
            case Direct():
                if sender in self.members():
                    self.out.append(Delivery(sender, item.payload, ordered=False))
            case Introduce():
                self._let_in(sender, item, now)
            case Introduced():
                self._entrance.introduced(sender, item, now)
            case Prepare() | Promise() | Accept() | Accepted() | Behind() | Founded():
                if not self._leaving:
                    self._entrance.on_founding(sender, item, now)
            case Outdated():
                kept = self._remembered
                is_ours = kept is not None and item.series == kept.series
                if self.member is None and kept is not None and is_ours and item.number > kept.sent:
                    self.out.append(OlderLog(sender, item.number, kept.sent))
            case Redirect():
                self._entrance.redirected(sender, item, now)
            case Wanted() | Given() | Ready() | Floor() | Stored():
                if self.session is None:
                    return
                if self.roster.named(sender) is None:
                    if not self._is_in:
                        # It is in the view that this process waits for, and was introduced later.
                        self.early.keep((sender, incarnation, (item,)))
                elif self._admission is not None:
                    self._admission.receive(sender, item, self.out)
                    self._resend(now)
            case Shun():
                self.accusations.hear(item.name, sender)

    def _membership(self, sender: str, incarnation: int, wire: bytes, now: float) -> None:
        """A packet of the substrate. Nobody speaks for another: it is from the life at the other
        end of its link, about itself; and who is in no view with this process can only ask."""
        member, entry = self.member, self.roster.named(sender)
        if member is None or entry is None:
            return
        if len(wire) > _PACKET_BYTES:
            raise MalformedStamp("packet", f"has {len(wire)} bytes")
        packet = groups.decode(wire)
        source = MemberId(entry.number, incarnation)
        if packet.source != source:
            raise MalformedStamp("source", f"is {packet.source}, on a link of '{sender}'")
        if may_say(packet, member):
            try:
                effects = member.receive(packet, now)
            except Exception:
                # What was done before the mistake was found has its effects, too.
                self._substrate(member.effects_so_far(), now)
                raise
            self._substrate(effects, now)

    def _let_in(self, name: str, asked: Introduce, now: float) -> None:
        """Somebody wants to join."""
        member = self.member
        if member is None or member.view is None or self._suspended or self._leaving:
            return
        had = 0 if self._admission is None else self._admission.had_of(name, asked.habits.series)
        if had > asked.habits.sent:
            self.out.append(Known(name, (asked.host, asked.port)))
            self.out.append(ToPeer(name, encode_item(Outdated(asked.habits.series, had))))
            return
        outputs, entry = self._introduction.let_in(member, name, asked)
        self.out += outputs
        if entry is not None:
            self._substrate(member.send(encode_entries((entry,)), now), now)

    def attend_if_needed(self, entries: Sequence[Entry]) -> None:
        """Somebody is durable or wants a state: from now on that is looked after."""
        if self._admission is None and any(entry.habits != NO_HABITS for entry in entries):
            self._attend()

    def _attend(self) -> None:
        named = self._chosen.named_groups
        self._admission = Admission(
            self.identity.name,
            self.roster,
            self._remembered,
            wants_state=self._wants_state,
            group_is_named=lambda index: bool(named) and index != NO_GROUP,
        )
        self._admission.host.part_bytes = self._part_bytes
        self._introduction.habits = self._admission.habits
        if self.session is not None:
            self.session.traffic.audience = deque()
            epoch = self.session.epoch
            self._admission.attend(self.session, None if epoch is None else epoch.view)

    def _resend(self, now: float) -> None:
        """Let what former lives sent leave, as soon as anything may."""
        admission = self._admission
        if admission is not None and admission.outbox.has_to_resend and not self._suspended:
            admission.outbox.resend(now, self.out)

    def _session(self, effects: Sequence[Any]) -> None:
        if self._admission is not None:
            self._admission.pass_on(effects, self.out)
        else:
            self.out += effects

    def _substrate(self, effects: Sequence[groups.Effect], now: float) -> None:
        for effect in effects:
            match effect:
                case groups.Transmit():
                    item = encode_item(Membership(groups.encode(effect.packet)))
                    for entry in self.roster:
                        if effect.to >> entry.number & 1:
                            self.out.append(ToPeer(entry.name, item))
                case groups.Deliver():
                    self._add(effect.message.payload)
                case groups.Stable():
                    self.out += self._introduction.answer(effect.messages)
                case groups.ViewInstalled():
                    self._install(effect, now)
                case groups.StateWanted():
                    self._provide(effect.view, now)
                case groups.Suspended():
                    self._suspended = True
                    self.out.append(Interrupted(tuple(map(self.name_of, effect.reached))))
                case groups.Resumed():
                    self._suspended = False
                    self.out.append(Restored())
                    self._receive_early(now)
                    if self.session is not None:
                        self._session(self.session.wake(now))
                case groups.Stopped():
                    self._stopped(effect.reason)
                case groups.Wake():
                    self.out.append(Wake(effect.at))

    def _install(self, effect: groups.ViewInstalled, now: float) -> None:
        if effect.state:
            self._add(effect.state)
        self._suspended = False
        self._entrance.knocking.is_in()
        names = [self.name_of(member) for member in effect.view.members]
        self.roster.forget({member.process for member in effect.view.members})
        self.accusations.disputes.keep(names)
        if self._seals is not None:
            self._seals.forget([entry.name for entry in self.roster])
        if self.seeding is not None:
            self.out += self.seeding.enter(names)
        elif self._remembered is not None:
            self.out.append(Accompanied(tuple(sorted(names))))
        if self.session is not None:
            self._session(self.session.install(effect.view, now))
            self._receive_early(now)
            self._resend(now)
            self.accusations.accuse_liars(now)

    def _add(self, entries: bytes) -> None:
        decoded = decode_entries(entries)
        for entry in decoded:
            self.out += self._introduction.add(entry)
        self.attend_if_needed(decoded)

    def _provide(self, view: int, now: float) -> None:
        if self.member is not None:
            state = encode_entries(self.roster.entries())
            self._substrate(self.member.provide_state(view, state, now), now)

    def _stopped(self, reason: groups.StopReason) -> None:
        self.member = None
        self.session = None
        self._introduction.forget_pending()
        self.early = Early()
        self._entrance.knocking.begin()
        self.accusations.begin()
        self._suspended = False
        if reason is groups.StopReason.LEFT:
            self.out.append(Left())
            return
        self._founds = False
        incarnation = self.identity.incarnation + 1
        self.identity = Identity(self.identity.name, self.identity.address, incarnation)
        self.out.append(Excluded(incarnation))
        if self._admission is not None:
            self._introduction.habits = self._admission.habits
