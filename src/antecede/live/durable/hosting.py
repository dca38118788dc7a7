"""What the older members do for newcomers.

As a view begins, every older member captures what a newcomer of it may ask for: what has been had
of durable members, and up to where its log goes. The state is the application's business: the most
senior member's application is asked for it right after the change of the view, hence in order with
the messages. Should that member go before it has given it, the next one's application is asked
right after the view without it; the newcomer drops what that state already contains.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from antecede.groups import MemberId
from antecede.live.durable.deduplication import Had
from antecede.live.durable.remembered import Remembered, Source, marks_of
from antecede.live.events import StateWanted
from antecede.live.ordering.effects import ViewChange
from antecede.live.ordering.items import encode_item
from antecede.live.ordering.offers import Given, HadOf, Past, Subject, Wanted, encode_content
from antecede.live.outputs import Output, ReadPast, ToPeer
from antecede.live.roster import Habits

_EARLY: Final = 1024
"""How many questions are kept that come before their time."""


@dataclass
class _Newcomer:
    """Somebody who has come in and has not said yet that it has what it wants."""

    name: str
    habits: Habits
    had: tuple[HadOf, ...]
    position: int
    """Of the last delivery in the log before its view."""
    last: dict[Source, int]
    state_of: int | None = None
    """The view as of which the application here is asked for its state."""
    state: bytes | None = None
    asks: list[Wanted] = field(default_factory=list)
    """Waiting for the application."""


class Host:
    """One member, as newcomers see it."""

    def __init__(
        self, had: Had, remembered: Remembered | None, name_of: Callable[[MemberId], str]
    ) -> None:
        self.part_bytes = 2**20
        self._had = had
        self._remembered = remembered
        self._name_of = name_of
        self.missing: set[str] = set()
        """Who may have sent what this member had no chance to get, and has not returned yet."""
        self._newcomers: dict[MemberId, _Newcomer] = {}
        self._view = 0
        self._early: list[tuple[str, Wanted]] = []
        """Asked by who is in a later view than this member."""

    def begin(self) -> None:
        """A new life."""
        self.missing.clear()
        self._newcomers.clear()
        self._early.clear()
        self._view = 0

    def enter(
        self,
        change: ViewChange,
        me: MemberId,
        habits: Callable[[MemberId], Habits],
        *,
        joins: bool,
    ) -> list[Output]:
        """A view begins, as the application sees it; this member may have come with it."""
        self._view = change.view.number
        for member in list(self._newcomers):
            if member not in change.view.members:
                del self._newcomers[member]
        if not joins:
            for member in change.newcomers:
                if member != me:
                    self._newcomers[member] = self._capture(member, habits(member))
        outputs: list[Output] = [] if joins else self._want_state(change.view.members, me)
        early, self._early = self._early, []
        for name, wanted in early:
            outputs += self.asked(name, wanted)
        return outputs

    def _capture(self, member: MemberId, habits: Habits) -> _Newcomer:
        kept = self._remembered
        return _Newcomer(
            self._name_of(member),
            habits,
            self._had.told(),
            0 if kept is None else kept.position,
            {} if kept is None else dict(kept.last),
        )

    def _want_state(self, members: Sequence[MemberId], me: MemberId) -> list[Output]:
        """Ask the application, if this is the most senior member that may have the state."""
        for member in members:
            if member == me:
                break
            if member not in self._newcomers:
                return []
        waiting = [
            one
            for one in self._newcomers.values()
            if one.habits.wants_state and one.state_of is None
        ]
        for one in waiting:
            one.state_of = self._view
        names = tuple(one.name for one in waiting)
        return [StateWanted(names, self._view)] if names else []

    def ready(self, name: str, life: int) -> None:
        """A newcomer needs nothing more; what others lack of its own it sends again now."""
        self.missing.discard(name)
        for member, one in list(self._newcomers.items()):
            if (one.name, member.incarnation) == (name, life):
                del self._newcomers[member]

    def give(self, view: int, state: bytes) -> list[Output]:
        """The application's answer to `StateWanted`."""
        outputs: list[Output] = []
        for one in self._newcomers.values():
            if one.state_of == view and one.state is None:
                one.state = state
                asks, one.asks = one.asks, []
                for wanted in asks:
                    outputs += self._give_state(one, wanted)
        return outputs

    def asked(self, name: str, wanted: Wanted) -> list[Output]:
        """A newcomer wants something."""
        if wanted.view > self._view:
            others = [one for one in self._early if (one[0], one[1].kind) != (name, wanted.kind)]
            self._early = [*others[-_EARLY:], (name, wanted)]
            return []
        for member, newcomer in self._newcomers.items():
            if (newcomer.name, member.incarnation) == (name, wanted.life):
                return self._answer(newcomer, wanted)
        kept = self._remembered
        if wanted.kind is Subject.PAST and kept is not None and not wanted.begins:
            # It came before this member: all of the log may be news to it, or come to it as well.
            return [self._read_past(name, wanted, kept, kept.position, kept.last)]
        if wanted.kind is Subject.HAD and not wanted.begins:
            return [self._had_of(name, wanted)]
        return [self._cannot(name, wanted)]

    def refuse(self, lives: Collection[tuple[str, int]]) -> list[Output]:
        """Tell these lives, if they have asked, not to wait."""
        refused = [one for one in self._early if (one[0], one[1].life) in lives]
        self._early = [one for one in self._early if one not in refused]
        return [self._cannot(name, wanted) for name, wanted in refused]

    def _answer(self, newcomer: _Newcomer, wanted: Wanted) -> list[Output]:
        if wanted.kind is Subject.STATE:
            return self._give_state(newcomer, wanted)
        if wanted.kind is Subject.PAST:
            return self._give_past(newcomer, wanted)
        if not wanted.begins:
            return [self._had_of(newcomer.name, wanted)]
        content = encode_content(newcomer.had)
        return [
            _given(
                newcomer.name, Given(wanted.life, self._view, Subject.HAD, True, 0, False, content)
            )
        ]

    def _had_of(self, name: str, wanted: Wanted) -> ToPeer:
        """What there is without a hole of one who returns."""
        kept, had = self._remembered, self._had
        whole = tuple(
            HadOf(name, mark.series, kept.whole((name, mark.series), had), ())
            for mark in wanted.marks
            if kept is not None and mark.sender == name
        )
        content = encode_content(whole)
        return _given(name, Given(wanted.life, self._view, Subject.HAD, True, 0, False, content))

    def _cannot(self, name: str, wanted: Wanted) -> ToPeer:
        return _given(name, Given(wanted.life, self._view, wanted.kind, is_known=False))

    def _give_state(self, newcomer: _Newcomer, wanted: Wanted) -> list[Output]:
        if newcomer.state_of is None:
            return [self._cannot(newcomer.name, wanted)]
        if newcomer.state is None:
            newcomer.asks = [wanted]
            return []
        end = wanted.number + self.part_bytes
        part, more = newcomer.state[wanted.number : end], end < len(newcomer.state)
        given = Given(wanted.life, newcomer.state_of, Subject.STATE, True, end, more, part)
        return [_given(newcomer.name, given)]

    def _give_past(self, newcomer: _Newcomer, wanted: Wanted) -> list[Output]:
        kept = self._remembered
        if kept is None:
            return [self._cannot(newcomer.name, wanted)]
        if wanted.begins:
            content = encode_content(Past(lasts=marks_of(newcomer.last)))
            given = Given(wanted.life, self._view, Subject.PAST, True, 0, False, content)
            return [_given(newcomer.name, given)]
        at, last = newcomer.position, newcomer.last
        return [self._read_past(newcomer.name, wanted, kept, at, last)]

    def _read_past(
        self, name: str, wanted: Wanted, kept: Remembered, upto: int, last: dict[Source, int]
    ) -> ReadPast:
        own = {source: number for source, number in last.items() if source[0] == name}
        return ReadPast(
            name,
            wanted.life,
            self._view,
            wanted.number,
            upto,
            wanted.marks,
            Past((), kept.lacking(wanted.marks), marks_of(own), tuple(sorted(self.missing))),
            self.part_bytes,
        )


def _given(name: str, given: Given) -> ToPeer:
    return ToPeer(name, encode_item(given))
