"""How a process gets a number: it asks somebody it knows, is sent on to the most senior member, and
is told its number and who the others are once everybody knows it (`roster`).

Pure: what is to be done is returned.
"""

from collections.abc import Sequence

from antecede.errors import MalformedStamp
from antecede.groups import GroupMember, GroupMessageId, MemberId
from antecede.live.ordering.founding import Founder
from antecede.live.ordering.items import Introduce, Introduced, Redirect, encode_item
from antecede.live.outputs import Identity, Known, Output, ToPeer
from antecede.live.roster import NO_HABITS, Entry, Roster
from antecede.message import ProcessSet, process_set


class Introduction:
    """What one process knows of who is who, and whom it is letting in."""

    def __init__(self, name: str) -> None:
        self.roster = Roster()
        self.habits = NO_HABITS
        """Of this process in its present life."""
        self._name = name
        self._pending: dict[GroupMessageId, str] = {}
        """Newcomers whose entry in the roster is on its way to everybody."""
        self._given = -1
        """The last number that was given: its entry may wait for a change of views to end."""

    def forget_pending(self) -> None:
        self._pending.clear()
        self._given = -1

    def name_of(self, member: MemberId) -> str:
        return self.roster.name_of(member.process)

    # -- the newcomer

    def found(self, identity: Identity) -> None:
        """The first entry of the roster is this process."""
        host, port = identity.address
        self.roster.add(Entry(0, identity.name, host, port, self.habits))

    def founder(self, identity: Identity) -> Founder:
        """This process as one of the first members."""
        return Founder(identity.name, identity.incarnation, *identity.address, self.habits)

    def ask(self, name: str, identity: Identity) -> ToPeer:
        """Ask this process to be let in."""
        return ToPeer(name, encode_item(Introduce(*identity.address, self.habits)))

    def introduced(self, item: Introduced) -> tuple[list[Output], ProcessSet]:
        """This process has a number; the others are these."""
        self.roster.clear()
        outputs = [output for entry in item.roster for output in self.add(entry)]
        own = self.roster.named(self._name)
        if own is None or own.number != item.number:
            raise MalformedStamp("roster", "does not contain this process under its number")
        others = process_set(entry.number for entry in self.roster if entry.number != item.number)
        return outputs, others

    # -- those who let it in

    def let_in(
        self, member: GroupMember, name: str, asked: Introduce
    ) -> tuple[list[Output], Entry | None]:
        """Somebody wants to join. Gives what everybody has to know first, if anything."""
        view = member.view
        if view is None:
            return [], None
        address = (asked.host, asked.port)
        outputs: list[Output] = [Known(name, address)]
        senior = view.members[0]
        if senior != member.me:
            entry = self.roster.named(self.roster.name_of(senior.process))
            if entry is not None:
                item = Redirect(entry.name, entry.host, entry.port)
                outputs.append(ToPeer(name, encode_item(item)))
            return outputs, None
        if name in self._pending.values():
            return outputs, None
        known = self.roster.named(name)
        present = {self.name_of(one) for one in view.members}
        is_same = known is not None and (known.address, known.habits) == (address, asked.habits)
        if name in present and not is_same:
            return outputs, None  # Its former life has to be found dead first; it knocks again.
        if known is not None and is_same:
            return [*outputs, self._tell(known)], None
        if known is None:
            number = self._given = max(self.roster.next_number(), self._given + 1)
        else:
            number = known.number
        self._pending[GroupMessageId(member.me, member.next_number)] = name
        return outputs, Entry(number, name, *address, asked.habits)

    def answer(self, stable: Sequence[GroupMessageId]) -> list[Output]:
        """Everybody knows these newcomers now: tell them."""
        outputs: list[Output] = []
        for one in stable:
            name = self._pending.pop(one, None)
            entry = None if name is None else self.roster.named(name)
            if entry is not None:
                outputs.append(self._tell(entry))
        return outputs

    def _tell(self, entry: Entry) -> ToPeer:
        item = Introduced(entry.number, self.roster.entries())
        return ToPeer(entry.name, encode_item(item))

    def add(self, entry: Entry) -> list[Output]:
        """A process, or its new address."""
        self.roster.add(entry)
        return [] if entry.name == self._name else [Known(entry.name, entry.address, False)]
