"""How a process gets into a group: it founds one, alone or with other seeds, or asks those who are
there to be let in and is given a number.

Who asks whom is up to `knocking`, what is said to `introduction`, and founding to `seeding`.
"""

from collections.abc import Sequence
from typing import Protocol

from antecede.groups import GroupConfig, GroupMember, MemberId, View, founding_view
from antecede.live.introduction import Introduction
from antecede.live.knocking import Knocking
from antecede.live.ordering.founding import Founded, Founding
from antecede.live.ordering.items import Introduced, Redirect
from antecede.live.outputs import Identity, Known, Output
from antecede.live.roster import Entry, Roster
from antecede.live.seeding import Seeding


class Core(Protocol):
    """What it needs of the machine, as it is at the time."""

    identity: Identity
    roster: Roster
    seeding: Seeding | None
    member: GroupMember | None
    out: list[Output]

    def name_of(self, member: MemberId) -> str:
        """Of a member."""

    def attend_if_needed(self, entries: Sequence[Entry]) -> None:
        """Somebody of these may be durable or want a state."""

    def become(self, member: GroupMember, now: float) -> None:
        """Begin a life in the group."""


class Entrance:
    """Of one process, as often as it has to come in."""

    def __init__(self, core: Core, config: GroupConfig, introduction: Introduction) -> None:
        self._core = core
        self._config = config
        self._introduction = introduction
        self.knocking = Knocking(config.patience_s)

    def found(self, now: float) -> None:
        """Found a group alone."""
        identity = self._core.identity
        self._introduction.found(identity)
        view = founding_view((0,), identity.incarnation)
        self._core.become(GroupMember(self._config, view.members[0], founding=view), now)

    def waits_for(self, there: Sequence[str]) -> dict[str, str]:
        """What keeps it outside: by process that is there, and under the empty name besides."""
        core = self._core
        waits = self.knocking.words(there, has_number=core.member is not None)
        is_founding = core.member is None and not self.knocking.insiders
        if core.seeding is not None and is_founding and (why := core.seeding.why_not(there)):
            waits[""] = why
        return waits

    def tick(self, peers: Sequence[str], now: float, *, tried_all: bool) -> None:
        """Knock again where nobody answered, or found a group with those who are there."""
        core = self._core
        self._ask(self.knocking.again(peers, now))
        if core.seeding is not None:
            founder = self._introduction.founder(core.identity)
            core.out += core.seeding.tick(founder, peers, now, tried_all=tried_all)
            self._found_if_agreed(now)

    def welcomed(self, name: str, now: float) -> None:
        """A link to a process stands."""
        self._ask(self.knocking.welcomed(name, now))

    def redirected(self, sender: str, item: Redirect, now: float) -> None:
        """Somebody says who lets others in."""
        if self._core.member is None:
            self._core.out.append(Known(item.name, (item.host, item.port)))
            self._ask(self.knocking.redirected(sender, item.name, now))

    def _ask(self, names: Sequence[str]) -> None:
        """To be let in."""
        me = self._core.identity
        self._core.out += [self._introduction.ask(name, me) for name in names if name != me.name]

    def introduced(self, sender: str, item: Introduced, now: float) -> None:
        """It has a number, and asks the members for a view with it."""
        core = self._core
        if core.member is not None:
            return
        outputs, contacts = self._introduction.introduced(item)
        core.out += outputs
        core.attend_if_needed(item.roster)
        me = MemberId(item.number, core.identity.incarnation)
        sponsor = core.roster.named(sender)
        number = None if sponsor is None else sponsor.number
        member = GroupMember(self._config, me, contacts=contacts, sponsor=number)
        self.knocking.wait(now)
        core.become(member, now)

    # -- among seeds

    def on_founding(self, sender: str, item: Founding, now: float) -> None:
        """What another seed says."""
        core = self._core
        if core.seeding is not None:
            insiders = self.knocking.insiders
            (insiders.add if type(item) is Founded else insiders.discard)(sender)
            is_in = core.member is not None
            core.out += core.seeding.receive(sender, item, now, is_in=is_in)
            self._found_if_agreed(now)

    def _found_if_agreed(self, now: float) -> None:
        """Be one of the first members. The others hear so from this one before anything else: who
        does not know yet that there is a group could make nothing of what its members say."""
        core = self._core
        if core.member is not None or core.seeding is None or not core.seeding.founders:
            return
        founders = core.seeding.founders
        entries = [founder.entry(number) for number, founder in enumerate(founders)]
        core.roster.clear()
        for entry in entries:
            self._introduction.add(entry)
        core.out += core.seeding.tell_founders(core.identity.name)
        core.attend_if_needed(entries)
        members = [MemberId(number, one.incarnation) for number, one in enumerate(founders)]
        me = members[[founder.name for founder in founders].index(core.identity.name)]
        view = View(1, tuple(members))
        core.become(GroupMember(self._config, me, founding=view), now)

    @property
    def is_superseded(self) -> bool:
        """Whether most of the others have been started anew: what is left of the group can never
        decide anything again."""
        core = self._core
        view = None if core.member is None else core.member.view
        if view is None or core.seeding is None:
            return False
        members = [(core.name_of(one), one.incarnation) for one in view.members]
        return core.seeding.is_superseded(members)
