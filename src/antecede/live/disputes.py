"""Whom a member believes about others: nobody alone.

A member that has seen another break the protocol says so (`Shun`), and does not hear it any more.
If more than half of all members but the accused say the same, nobody hears it any more, and the
group goes on without it. If they do not, nobody can tell who is right: then the accuser, who cannot
go on with the accused, goes itself and joins anew.
"""

from collections.abc import Collection

from antecede.groups import GroupMember
from antecede.groups.packets import Ask, Decide, Detour, Heard, Join, Packet, Report, Tell


class Disputes:
    """Who accuses whom in the present view."""

    def __init__(self) -> None:
        self.shunned: set[str] = set()
        """Who is not heard any more."""
        self._accusers: dict[str, set[str]] = {}
        self._own: dict[str, float] = {}
        """Whom this process accuses, and since when."""

    def begin(self, accused: str, me: str, now: float) -> None:
        """This process has seen it with its own eyes."""
        self._own.setdefault(accused, now)
        self._note(accused, me)
        self.shunned.add(accused)

    def hear(self, accused: str, accuser: str, members: Collection[str]) -> None:
        """Somebody says so, or finds it slow. It is heard as long as most others do not."""
        self._note(accused, accuser)
        if self.is_won(accused, members):
            self.shunned.add(accused)

    def _note(self, accused: str, accuser: str) -> None:
        self._accusers.setdefault(accused, set()).add(accuser)

    def is_won(self, accused: str, members: Collection[str]) -> bool:
        """Whether most others say so."""
        accusers = self._accusers.get(accused, set()) & ({*members} - {accused})
        return 2 * len(accusers) > len(members) - 1

    def is_lost(self, members: Collection[str], now: float, patience_s: float) -> bool:
        """Whether this process has waited for long for others to say the same of a member."""
        return any(
            now - since > patience_s and accused in members and not self.is_won(accused, members)
            for accused, since in self._own.items()
        )

    def keep(self, members: Collection[str]) -> None:
        """The view has changed: what was said of the departed is over."""
        self.shunned &= {*members}
        self._own = {name: since for name, since in self._own.items() if name in members}
        self._accusers = {
            name: accusers & {*members}
            for name, accusers in self._accusers.items()
            if name in members
        }


def may_say(packet: Packet, member: GroupMember) -> bool:
    """Whether a packet of the substrate is one that its source may send to this member."""
    body, view = packet.body, member.view
    if isinstance(body, Detour | Tell | Heard):
        return False
    if isinstance(body, Join):
        return body.member == packet.source
    if view is None or view.rank(packet.source) is not None:
        return True
    if isinstance(body, Decide):
        # It has gone on without this member, which is out of everybody's reach.
        return member.is_suspended
    return isinstance(body, Ask | Report) or packet.view > view.number
