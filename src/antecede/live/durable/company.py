"""Who is around: the view as the session sees it, names, and what is known of each life."""

from antecede.errors import BrokenInvariant
from antecede.groups import MemberId, View
from antecede.live.ordering.effects import ViewChange
from antecede.live.ordering.session import Session
from antecede.live.roster import NO_HABITS, Habits, Roster


class Company:
    """Of the process of this name."""

    def __init__(self, me: str, roster: Roster) -> None:
        self.me = me
        self.roster = roster
        self.view: View | None = None
        self._session: Session | None = None
        self._habits: dict[MemberId, Habits] = {}
        """Of the lives in the views since this one came."""

    def begin(self, session: Session, view: View | None = None) -> None:
        """A life of this process, from its beginning or from the middle of it on."""
        self._session = session
        self.view = view
        self._habits.clear()

    def enter(self, change: ViewChange) -> None:
        self.view = change.view
        for member in change.newcomers:
            entry = self.roster.named(self.name_of(member))
            self._habits[member] = NO_HABITS if entry is None else entry.habits

    @property
    def session(self) -> Session:
        if self._session is None:
            raise BrokenInvariant("this process is in no session")
        return self._session

    @property
    def life(self) -> int:
        """The incarnation of this process."""
        return self.session.me.incarnation

    @property
    def others(self) -> list[MemberId]:
        """The other members, the most senior first."""
        members = () if self.view is None else self.view.members
        return [member for member in members if member != self.session.me]

    @property
    def other_names(self) -> tuple[str, ...]:
        return tuple(map(self.name_of, self.others))

    @property
    def durable_others(self) -> list[MemberId]:
        return [member for member in self.others if self.habits_of(member).series]

    def waits_for_order(self, sender: str) -> bool:
        """Whether something of this member has come and the session has not delivered it yet."""
        epoch = self.session.epoch
        return epoch is not None and any(
            units and name == sender for name, units in zip(epoch.names, epoch.waiting, strict=True)
        )

    def name_of(self, member: MemberId) -> str:
        return self.roster.name_of(member.process)

    def habits_of(self, member: MemberId) -> Habits:
        return self._habits.get(member, NO_HABITS)
