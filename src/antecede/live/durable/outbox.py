"""How a durable member's own messages reach everybody over all its lives, once each.

A message is in the outbox of the log before it leaves. It goes out of it when it has reached
everybody: the session says so of members in general, durable ones say besides what their logs have.
What is still there after a restart is sent again, in its order, under its number, before anything
new; whoever has had it drops it (`had`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from antecede.groups import MemberId
from antecede.live.durable.company import Company
from antecede.live.durable.deduplication import Had
from antecede.live.durable.remembered import Outgone, Remembered
from antecede.live.ordering.effects import ToPeers
from antecede.live.ordering.items import encode_item
from antecede.live.ordering.offers import Floor, Stored
from antecede.live.outputs import Output, Raised, Reached, Recall, ToPeer

PassOn = Callable[[Sequence[Any], list[Output]], None]


class Outbox:
    """Of one process; without a memory it only notes what others say of theirs."""

    def __init__(
        self,
        company: Company,
        remembered: Remembered | None,
        had: Had,
        pass_on: PassOn,
    ) -> None:
        self._company = company
        self._remembered = remembered
        self._had = had
        self._pass_on = pass_on
        self.has_to_resend = False
        self._recalls = False
        self._stored: dict[MemberId, int] = {}
        """What the log of a durable member has of ours, as it says,"""
        self._told_stored: dict[MemberId, int] = {}
        """and ours of its messages, as we have said."""

    @property
    def is_busy(self) -> bool:
        """Whether messages of former lives have yet to leave."""
        return self.has_to_resend or self._recalls

    def begin(self) -> None:
        """A new life."""
        self._stored.clear()
        self._told_stored.clear()
        self.has_to_resend = self._recalls = False

    # -- sending

    def note_sent(
        self,
        payload: bytes,
        to: Sequence[str] | None,
        group: str | None,
        out: list[Output],
    ) -> None:
        """An own message is about to leave."""
        if self._remembered is not None:
            names = None if to is None else tuple(to)
            number = self._company.session.sent
            outgone = Outgone(number, names, group, payload)
            self._remembered.outbox.append(outgone)
            out.append(outgone)

    def send_former(self, known_there: int | None, out: list[Output]) -> None:
        """Messages of former lives leave before anything new. A group that was founded anew may
        not know what has reached everybody in the one before it."""
        kept = self._remembered
        if kept is None:
            return
        if known_there is not None and known_there < kept.reached:
            self._recalls = True
            out.append(Recall(known_there, kept.reached))
        else:
            self.has_to_resend = bool(kept.outbox)

    def recalled(self, found: Sequence[Outgone], out: list[Output]) -> None:
        """The answer to `Recall`."""
        kept = self._remembered
        self._recalls = False
        if kept is None:
            return
        if found:
            kept.outbox.extendleft(reversed(found))
            kept.reached = found[0].number - 1
            self._company.session.renumber(kept.reached)
            out += [Reached(kept.reached), *found]
        self.has_to_resend = bool(kept.outbox)

    def resend(self, now: float, out: list[Output]) -> None:
        """Send what former lives sent and may not have reached everybody, as soon as the session
        lets anything leave."""
        session, kept, view = self._company.session, self._remembered, self._company.view
        if kept is None or view is None or not session.is_open:
            return
        self.has_to_resend = False
        numbers = {self._company.name_of(member): member.process for member in view.members}
        for one in kept.outbox:
            while session.sent < one.number - 1:
                session.skip_number()
            to = None if one.to is None else [numbers[name] for name in one.to if name in numbers]
            if to is not None and not to:
                session.skip_number()
                continue
            to = None if one.group is not None else to
            effects = session.send(one.payload, to, now, group=one.group)
            self._pass_on(effects, out)

    # -- what has reached whom

    def tick(self, out: list[Output]) -> None:
        if self._remembered is not None and self._company.view is not None:
            self._advance(self._remembered, out)
            self._tell_stored(self._remembered, out)

    def _advance(self, kept: Remembered, out: list[Output]) -> None:
        """See what has reached everybody: it need not be sent again."""
        company = self._company
        reached = company.session.reached()
        others = [
            (company.name_of(one), self._stored.get(one, 0)) for one in company.durable_others
        ]
        for one in kept.outbox:
            if one.number > reached:
                break
            wanted = [stored for name, stored in others if one.to is None or name in one.to]
            if any(stored < one.number for stored in wanted):
                reached = one.number - 1
                break
        if reached <= kept.reached:
            return
        kept.raise_reached(reached)
        self._had.raise_floor(company.me, kept.series, reached)
        out.append(Reached(reached))
        out.append(ToPeers(company.other_names, encode_item(Floor(kept.series, reached))))

    def _tell_stored(self, kept: Remembered, out: list[Output]) -> None:
        """Tell durable members what of theirs is in the log."""
        for member in self._company.durable_others:
            name = self._company.name_of(member)
            series = self._company.habits_of(member).series
            last = kept.last.get((name, series), 0)
            if last > self._told_stored.get(member, 0):
                self._told_stored[member] = last
                out.append(ToPeer(name, encode_item(Stored(series, last))))

    def note_stored(self, sender: str, item: Stored) -> None:
        """A durable member has our messages in its log."""
        kept = self._remembered
        if kept is None or item.series != kept.series:
            return
        for member in self._company.others:
            if self._company.name_of(member) == sender:
                self._stored[member] = item.number

    def note_floor(self, sender: str, item: Floor, out: list[Output]) -> None:
        """A durable member sends none of these again."""
        entry = self._company.roster.named(sender)
        is_its = entry is not None and entry.habits.series == item.series
        is_news = is_its and self._had.raise_floor(sender, item.series, item.number)
        if is_news and self._remembered is not None:
            out.append(Raised(sender, item.series, item.number))
