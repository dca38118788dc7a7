"""State transfer: what a newcomer needs before it hears the first message, and how it comes by it
(`offers`).

It asks the members of the view in the order of seniority, part by part. One that cannot answer says
so, and the next is asked; so it is when one departs. Where nobody is left to ask, it does without:
the application is told, wherever something may be missing.

One that returns with its log asks every durable member besides how much that has of its own: they
need not agree. Where all who knew the past have gone, those who are there go on with holes, each
with others, and later messages behind them; every sender closes what is a hole of its own.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

from antecede.groups import MemberId, View
from antecede.live.durable.company import Company
from antecede.live.durable.deduplication import Had
from antecede.live.durable.remembered import Remembered
from antecede.live.events import Gap
from antecede.live.ordering.items import encode_item
from antecede.live.ordering.offers import (
    Given,
    Mark,
    PastRow,
    Subject,
    Wanted,
    decode_had,
    decode_past,
)
from antecede.live.outputs import Learnt, OlderLog, Output, ToPeer

_BACKLOG: Final = 4096
"""While the application has that many events to take, no more of the past is asked for."""
DeliverPast = Callable[[Remembered, PastRow, list[Output]], None]


@dataclass
class _Wish:
    """Something that is asked for, part by part."""

    kind: Subject
    provider: MemberId | None = None
    refused: list[MemberId] = field(default_factory=list)
    newcomers: list[MemberId] = field(default_factory=list)
    """Those who could not answer, since they are newcomers themselves."""
    number: int = 0
    """Where the next part begins."""
    is_due: bool = False
    """Whether the next part has yet to be asked for."""
    parts: list[bytes] = field(default_factory=list)
    accepts_gap: bool = False
    is_done: bool = False


class StateRequest:
    """One newcomer in one life."""

    def __init__(
        self,
        company: Company,
        remembered: Remembered | None,
        had: Had,
        *,
        former: Collection[str],
        wants_state: bool,
        deliver_past: DeliverPast,
    ) -> None:
        self._company = company
        self._remembered = remembered
        self._had = had
        self._wants_state = wants_state
        self._deliver_past = deliver_past
        self._wishes: list[_Wish] | None = None
        """None before the first view."""
        self.state: bytes | None = None
        self.state_of: tuple[int, MemberId] | None = None
        """As of which view, and whose."""
        self._known_there: dict[MemberId, int | None] = {}
        """By durable member, up to where it has all of our own; None if it is a newcomer, too: what
        it lacks it gets from one who is none, or from us."""
        self._met = {*former} - {company.me}
        """Who was there before this life, or has been there in it."""
        self.missing: set[str] = set()
        """Those of them who have gone, if nobody knows what they sent."""
        self.has_to_guess = False
        """Whether nobody could say what others had of durable members before."""

    @property
    def is_done(self) -> bool:
        if self._wishes is None or not all(wish.is_done for wish in self._wishes):
            return False
        return not self._returns or all(
            member in self._known_there for member in self._company.durable_others
        )

    @property
    def awaited(self) -> list[str]:
        """Who has yet to answer."""
        asked = {wish.provider for wish in self._wishes or () if not wish.is_done}
        if self._returns:
            asked |= {*self._company.durable_others} - self._known_there.keys()
        return [self._company.name_of(one) for one in self._company.others if one in asked]

    @property
    def known_there(self) -> int | None:
        """The last own number up to which everybody has everything, as far as they have said."""
        return min((one for one in self._known_there.values() if one is not None), default=None)

    @property
    def _durable_names(self) -> set[str]:
        """Who is there and sends again what others lack of its own."""
        return {self._company.name_of(member) for member in self._company.durable_others}

    @property
    def _returns(self) -> bool:
        return self._remembered is not None and not self._remembered.begins

    @property
    def brings_state(self) -> bool:
        return any(wish.kind is Subject.STATE for wish in self._wishes or ())

    # -- inputs

    def enter(self, view: View, out: list[Output]) -> None:
        """The session has come to a view."""
        if self._wishes is None:
            self._wishes = self._first_wishes(view)
        self._met |= {*self._company.other_names}
        self._ask_for_own(out)
        for wish in self._wishes:
            if not wish.is_done and wish.provider not in view.members:
                self._find_provider(wish, out)

    def tick(self, waiting: int, out: list[Output]) -> None:
        """The application has so many events to take."""
        for wish in self._wishes or ():
            if wish.is_due and waiting < _BACKLOG:
                self._ask(wish, out)

    def given(self, sender: str, item: Given, out: list[Output]) -> None:
        """An answer, perhaps to this life."""
        if self._returns and item.kind is Subject.HAD and item.life == self._company.life:
            self._take_known(sender, item)
            return
        for wish in self._wishes or ():
            provider = wish.provider
            if provider is None or wish.is_done or wish.kind is not item.kind:
                continue
            if item.life == self._company.life and self._company.name_of(provider) == sender:
                self._take(wish, provider, item, out)

    # -- asking

    def _first_wishes(self, view: View) -> list[_Wish]:
        kept = self._remembered
        wants_state = self._wants_state and (kept is None or kept.begins)
        if not self._company.others:
            return [_Wish(Subject.STATE, is_done=True)] if wants_state else []
        if kept is not None and not kept.begins:
            return [_Wish(Subject.PAST)]
        wishes = []
        me, roster = self._company.me, self._company.roster
        if any(entry.habits.series and entry.name != me for entry in roster):
            wishes.append(_Wish(Subject.HAD))
            if kept is not None:
                wishes.append(_Wish(Subject.PAST))
        if wants_state:
            wishes.append(_Wish(Subject.STATE))
        return wishes

    def _find_provider(self, wish: _Wish, out: list[Output]) -> None:
        """Ask the most senior member that may have it."""
        company, is_past = self._company, wish.kind is Subject.PAST
        able = company.durable_others if is_past else company.others
        candidates = [member for member in able if member not in wish.refused]
        wish.provider = None
        if candidates:
            wish.provider = candidates[0]
            wish.number = 0
            wish.parts.clear()
            self._ask(wish, out)
        elif is_past and wish.refused and not wish.accepts_gap:
            # Nobody's log reaches back far enough: then as far as it goes.
            wish.accepts_gap = True
            wish.refused.clear()
            self._find_provider(wish, out)
        else:
            self._give_up(wish, out)

    def _ask(self, wish: _Wish, out: list[Output]) -> None:
        company, kept = self._company, self._remembered
        wish.is_due = False
        if wish.provider is None or company.view is None:
            return
        begins = kept is None or kept.begins
        marks: tuple[Mark, ...] = ()
        if kept is not None and wish.kind is Subject.PAST and not begins:
            marks = kept.marks(self._had)
        item = Wanted(company.life, company.view.number, wish.kind, wish.number, marks, begins)
        out.append(ToPeer(company.name_of(wish.provider), encode_item(item)))

    def _ask_for_own(self, out: list[Output]) -> None:
        """Ask who has not answered yet, and who could not before: it may have got holes since."""
        company, kept = self._company, self._remembered
        if kept is None or kept.begins or company.view is None:
            return
        own = (Mark(company.me, kept.series, kept.reached),)
        item = encode_item(Wanted(company.life, company.view.number, Subject.HAD, 0, own))
        for member in company.durable_others:
            if self._known_there.get(member) is None:
                self._known_there.pop(member, None)
                out.append(ToPeer(company.name_of(member), item))

    def _refuse(self, wish: _Wish, provider: MemberId, out: list[Output]) -> None:
        wish.refused.append(provider)
        self._find_provider(wish, out)

    def _give_up(self, wish: _Wish, out: list[Output]) -> None:
        wish.is_done = True
        kept = self._remembered
        if wish.kind is Subject.HAD:
            self.has_to_guess = True
        if wish.kind is Subject.PAST and kept is not None and not kept.begins:
            self.missing = self._met - self._durable_names
            out.append(Gap(tuple(sorted(self._met)), is_certain=False))

    # -- taking

    def _take(self, wish: _Wish, provider: MemberId, item: Given, out: list[Output]) -> None:
        if not item.is_known:
            wish.newcomers.append(provider)
            self._refuse(wish, provider, out)
        elif wish.kind is Subject.HAD:
            known = decode_had(item.content)
            self._had.learn(known)
            if self._remembered is not None:
                out.append(Learnt(had=known))
            wish.is_done = True
        elif wish.kind is Subject.PAST:
            self._take_past(wish, provider, item, out)
        else:
            wish.parts.append(item.content)
            wish.number = item.number
            if item.more:
                self._ask(wish, out)
            else:
                self.state = b"".join(wish.parts)
                self.state_of = (item.view, provider)
                wish.is_done = True

    def _take_known(self, sender: str, item: Given) -> None:
        """How much of our own somebody has."""
        known = decode_had(item.content) if item.is_known else ()
        floors = [one.floor for one in known if one.sender == self._company.me]
        for member in self._company.durable_others:
            if self._company.name_of(member) == sender:
                self._known_there[member] = min(floors, default=None)

    def _take_past(self, wish: _Wish, provider: MemberId, item: Given, out: list[Output]) -> None:
        kept, past = self._remembered, decode_past(item.content)
        if kept is None:
            return
        if past.lacking and not wish.accepts_gap and len(self._company.durable_others) > 1:
            self._refuse(wish, provider, out)  # Perhaps another log reaches further back.
            return
        lost = [mark for mark in past.lacking if not self._may_come(mark, wish)]
        late = {mark.sender for mark in past.lacking if mark not in lost}
        if lost:
            self._never_get(kept, tuple(lost), out)
            out.append(Gap(tuple(sorted({mark.sender for mark in lost}))))
        if kept.begins:
            self._never_get(kept, past.lasts, out)
        elif not wish.number:
            known = {(mark.sender, mark.series): mark.number for mark in past.lasts}
            known_there = known.get((self._company.me, kept.series), 0)
            if known_there > kept.sent:
                out.append(OlderLog(self._company.name_of(provider), known_there, kept.sent))
            self.missing = ({*past.missing} | late) - {self._company.me} - self._durable_names
            if self.missing | late:
                out.append(Gap(tuple(sorted(self.missing | late)), is_certain=False))
        for row in past.rows:
            self._deliver_past(kept, row, out)
        wish.number = item.number
        wish.is_due = item.more
        wish.is_done = not item.more

    def _may_come(self, mark: Mark, wish: _Wish) -> bool:
        """Whether what no log has that was asked may come from its sender: a durable one asks what
        others have of its own when it returns, or has come with this process."""
        others = [one for one in self._company.durable_others if one not in wish.newcomers]
        is_asked = mark.sender in {self._company.name_of(member) for member in others}
        entry = self._company.roster.named(mark.sender)
        is_there = entry is not None and entry.habits.series == mark.series
        return (is_there or self._had.knows(mark.sender, mark.series)) and not is_asked

    def _never_get(self, kept: Remembered, marks: tuple[Mark, ...], out: list[Output]) -> None:
        """Up to here, nothing of these senders comes any more."""
        for mark in marks:
            kept.raise_lacks((mark.sender, mark.series), mark.number)
        out.append(Learnt(lasts=marks, lacks=marks))
