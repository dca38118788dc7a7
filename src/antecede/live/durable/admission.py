"""Between the session and the application of one process: what it has had before is dropped, and
what comes before its time is held back.

A process that has come into a view may have to wait for what others have had of durable members,
for what it missed while it was away, for the state of the application (`state_request`). Until it
has them, what the session delivers is held back; the session counts it as not taken, so that
senders wait as for any slow receiver.

Order, at the door: the state, or else what was missed; then the view that the newcomer came
with, and everything since. Own messages of former lives leave next (`outbox`), before anything new.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any

from antecede.groups import MemberId, View
from antecede.live.durable.company import Company
from antecede.live.durable.deduplication import Had
from antecede.live.durable.hosting import Host
from antecede.live.durable.outbox import Outbox
from antecede.live.durable.remembered import Remembered, Source
from antecede.live.durable.state_request import StateRequest
from antecede.live.events import State
from antecede.live.ordering.effects import Arrived, Delivery, Sent, ToPeers, ViewChange
from antecede.live.ordering.items import encode_item
from antecede.live.ordering.offers import Floor, Given, Mark, Offer, PastRow, Ready, Stored, Wanted
from antecede.live.ordering.session import Session
from antecede.live.ordering.traffic import Audience
from antecede.live.outputs import Begun, Dropped, Kept, Learnt, Moved, Output, Raised, Told
from antecede.live.roster import Habits, Roster


class Admission:
    """One process. `remembered` is the memory of its log, if it is durable."""

    def __init__(
        self,
        me: str,
        roster: Roster,
        remembered: Remembered | None,
        *,
        wants_state: bool,
        group_is_named: Callable[[int], bool],
    ) -> None:
        self.had = Had(() if remembered is None else remembered.had)
        self.remembered = remembered
        self.company = Company(me, roster)
        self.host = Host(self.had, remembered, self.company.name_of)
        self.outbox = Outbox(self.company, remembered, self.had, self.pass_on)
        self._wants_state = wants_state
        self._group_is_named = group_is_named
        self._former: Collection[str] = () if remembered is None else remembered.company
        """The members of the last view of a former life."""
        self._request: StateRequest | None = None
        """Of a newcomer, as long as it waits,"""
        self._held: list[tuple[Any, Audience | None]] = []
        """and what is held back meanwhile."""
        self._guesses = False
        self._brought: set[tuple[Source, int]] = set()
        """What logs brought of members that are there and not durable: it may come from them,
        too."""
        self._floors: dict[str, Floor] = {}
        """By durable member, the latest that has yet to be noted."""

    @property
    def is_open(self) -> bool:
        """Whether the application may send."""
        return self._request is None and not self.outbox.is_busy

    @property
    def awaited(self) -> list[str]:
        """Who has yet to answer, while this process is a newcomer."""
        return [] if self._request is None else self._request.awaited

    @property
    def habits(self) -> Habits:
        """What others have to know of this life."""
        kept = self.remembered
        wants_state = self._wants_state and (kept is None or kept.begins)
        if kept is None:
            return Habits(wants_state=wants_state)
        return Habits(kept.series, kept.reached, wants_state, kept.sent)

    def had_of(self, name: str, series: int) -> int:
        """The number of the last message that was had of a log."""
        kept = self.remembered
        logged = 0 if kept is None else kept.last.get((name, series), 0)
        return max(logged, self.had.highest(name, series)) if series else 0

    def habits_of(self, member: MemberId) -> Habits:
        return self.company.habits_of(member)

    # -- inputs

    def begin(self, session: Session) -> None:
        """A new life of this process."""
        if self.company.view is not None:
            self._former = self.company.other_names
        self.company.begin(session)
        self.outbox.begin()
        self.host.begin()
        self._held = []
        self._brought.clear()
        self._floors.clear()
        self._request = StateRequest(
            self.company,
            self.remembered,
            self.had,
            former=self._former,
            wants_state=self._wants_state,
            deliver_past=self._deliver_past,
        )

    def attend(self, session: Session, view: View | None) -> None:
        """Begin in the middle of a life, with the first member that needs it."""
        self.company.begin(session, view)

    def pass_on(self, effects: Sequence[Any], out: list[Output]) -> None:
        """What the session wants done."""
        audiences = self.company.session.traffic.audience
        for effect in effects:
            kind = type(effect)
            if kind is Delivery:
                audience = audiences.popleft() if audiences else None
                if self._request is not None:
                    self._held.append((effect, audience))
                else:
                    self._deliver(effect, audience, out)
            elif kind is ViewChange:
                self._enter(effect, out)
            elif self._request is not None and kind in (Arrived, Sent):
                self._held.append((effect, None))
            else:
                out.append(effect)

    def receive(self, sender: str, item: Offer, out: list[Output]) -> None:
        """What another process wants, gives or says."""
        match item:
            case Wanted():
                out += self.host.asked(sender, item)
                self._refuse_seniors(out)
            case Given():
                if self._request is not None:
                    self._request.given(sender, item, out)
                    self._open_if_done(out)
            case Ready():
                self.host.ready(sender, item.life)
            case Floor():
                self._floors[sender] = item
            case Stored():
                self.outbox.note_stored(sender, item)

    def tick(self, waiting: int, out: list[Output]) -> None:
        """Now and then; the application has so many events to take."""
        if self._request is not None:
            self._request.tick(waiting, out)
        else:
            self._note_floors(out)
            self.outbox.tick(out)

    def _note_floors(self, out: list[Output]) -> None:
        """A sender knows what has been received here, not what has been delivered: what still waits
        must not be taken for had."""
        for sender, floor in list(self._floors.items()):
            if not self.company.waits_for_order(sender):
                del self._floors[sender]
                self.outbox.note_floor(sender, floor, out)

    # -- views

    def _enter(self, change: ViewChange, out: list[Output]) -> None:
        self.company.enter(change)
        if self._request is None:
            out.append(change)
            out += self._host(change, joins=False)
            return
        out.append(Moved(change))
        self._held.append((change, None))
        self._refuse_seniors(out)
        self._request.enter(change.view, out)
        self._open_if_done(out)

    def _host(self, change: ViewChange, *, joins: bool) -> list[Output]:
        company = self.company
        return self.host.enter(change, company.session.me, company.habits_of, joins=joins)

    def _refuse_seniors(self, out: list[Output]) -> None:
        """While this process is itself a newcomer it lets those wait who are junior to it and ask
        it for something. More senior ones must not: two would wait for each other."""
        view = self.company.view
        if self._request is not None and view is not None:
            seniors = view.members[: view.members.index(self.company.session.me)]
            # A later life of one of them is junior.
            lives = [(self.company.name_of(one), one.incarnation) for one in seniors]
            out += self.host.refuse(lives)

    def _open_if_done(self, out: list[Output]) -> None:
        """The newcomer has what it needs: everything that was held back follows."""
        request = self._request
        if request is None or not request.is_done:
            return
        self._request, held, self._held = None, self._held, []
        self._guesses = self._guesses or request.has_to_guess
        self.host.missing = request.missing
        if request.brings_state:
            out.append(State(request.state))
        view = 0
        for effect, audience in held:
            if type(effect) is ViewChange:
                joins, view = not view, effect.view.number
                out.append(Told(effect))
                # What others ask of this member is as of its place here, too.
                out += self._host(effect, joins=joins)
            elif type(effect) is not Delivery:
                out.append(effect)
            elif self._is_in_state(request, view, audience):
                self._drop_contained(effect, out)
            else:
                self._deliver(effect, audience, out)
        if self.remembered is not None:
            # With a state, it has begun once the application has taken that.
            if self.remembered.begins and request.state is None:
                out.append(Begun())
            self.remembered.begins = False
            self.outbox.send_former(request.known_there, out)
        out.append(ToPeers(self.company.other_names, encode_item(Ready(self.company.life))))

    def _is_in_state(self, request: StateRequest, view: int, audience: Audience | None) -> bool:
        """Whether a message of a view before the one that a state was given in is part of it: its
        giver has had it, too."""
        if audience is None or request.state_of is None or view >= request.state_of[0]:
            return False
        epoch, destinations, _ = audience
        rank = epoch.ranks.get(request.state_of[1])
        return self._is_to_all(audience) if rank is None else bool(destinations >> rank & 1)

    # -- what the application gets

    def _drop_contained(self, delivery: Delivery, out: list[Output]) -> None:
        """The state contains this message."""
        member, kept = delivery.member, self.remembered
        if member is None:
            return
        self._drop(delivery, member, out)
        series = self.habits_of(member).series
        if series:
            self.had.add(delivery.sender, series, delivery.number)
        if kept is not None:
            source = (delivery.sender, series or member.incarnation)
            kept.raise_lacks(source, delivery.number)
            mark = (Mark(*source, delivery.number),)
            out.append(Learnt(lasts=mark, lacks=mark))

    def _drop(self, delivery: Delivery, member: MemberId, out: list[Output]) -> None:
        self.company.session.take((delivery,))
        out.append(Dropped(delivery))

    def _deliver(self, delivery: Delivery, audience: Audience | None, out: list[Output]) -> None:
        member, kept = delivery.member, self.remembered
        if member is None:
            out.append(delivery)
            return
        series = self.habits_of(member).series
        source = (delivery.sender, series or member.incarnation)
        if kept is not None:
            kept.raise_last(source, delivery.number)
        if series:
            is_new = self._is_new(delivery, series, out)
        else:
            # Only the log of somebody who came later may have brought it before. The last number is
            # no guide: it also stands for what that log had forgotten, up to the present.
            is_new = (source, delivery.number) not in self._brought
        if not is_new:
            self._drop(delivery, member, out)
        elif kept is None:
            out.append(delivery)
        else:
            kept.position += 1
            is_to_all = audience is not None and self._is_to_all(audience)
            out.append(Kept(kept.position, delivery, source[1], is_to_all))

    def _is_new(self, delivery: Delivery, series: int, out: list[Output]) -> bool:
        """Whether a message of a durable member has not been had before."""
        sender, number = delivery.sender, delivery.number
        if self._guesses and not self.had.knows(sender, series):
            # The first one that comes is the first one after this process came.
            self.had.raise_floor(sender, series, number - 1)
            if self.remembered is not None:
                out.append(Raised(sender, series, number - 1))
        return self.had.add(sender, series, number)

    def _deliver_past(self, kept: Remembered, row: PastRow, out: list[Output]) -> None:
        """What somebody else's log brings."""
        source = (row.sender, row.series)
        is_durable, is_known = row.series != row.incarnation, self.had.knows(*source)
        is_last = kept.raise_last(source, row.number)
        # Of durable members it is known what was had; later messages may have come before.
        is_new = self.had.add(*source, row.number) if is_durable and is_known else is_last
        if not is_new:
            return
        member, view = MemberId(row.process, row.incarnation), self.company.view
        if is_durable:
            self.had.add(*source, row.number)
        elif view is not None and member in view.members:
            self._brought.add((source, row.number))
        kept.position += 1
        delivery = Delivery(row.sender, row.payload, row.number, member=member)
        out.append(Kept(kept.position, delivery, row.series, is_to_all=True, is_counted=False))

    def _is_to_all(self, audience: Audience) -> bool:
        epoch, destinations, group = audience
        return destinations == (1 << len(epoch.members)) - 1 and not self._group_is_named(group)
