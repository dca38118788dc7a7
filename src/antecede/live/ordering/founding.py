"""What seeds say to each other before there is a group (`live/bootstrap`), as it travels."""

import msgspec

from antecede.live.roster import NO_HABITS, Entry, Habits
from antecede.live.transport.handshake import Name
from antecede.live.transport.outgoing import Address
from antecede.order import Count


class Founder(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A life of a process that may be among the first members."""

    name: Name
    incarnation: Count
    host: str
    port: Count
    habits: Habits = NO_HABITS

    @property
    def address(self) -> Address:
        return self.host, self.port

    def entry(self, number: int) -> Entry:
        """As the roster has it."""
        return Entry(number, self.name, self.host, self.port, self.habits)


Founders = tuple[Founder, ...]


class Prepare(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=15):
    """I want to found the group, in this round: will you hear of no earlier one?"""

    round: Count


class Promise(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=16):
    """I shall not. Who I am; who I last was in a group with, or may have been; whether I may
    forget that; what I have accepted, in which round of whom."""

    round: Count
    founder: Founder
    company: tuple[Name, ...] = ()
    anew: bool = False
    accepted_round: Count = 0
    accepted_by: str = ""
    accepted: Founders = ()


class Accept(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=17):
    """Let these be the first members."""

    round: Count
    founders: Founders


class Accepted(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=18):
    """So be it."""

    round: Count


class Behind(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=19):
    """I have heard of a later round."""

    round: Count


class Founded(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True, tag=20):
    """There is a group; these were its first members, as far as I know."""

    founders: Founders = ()


Founding = Prepare | Promise | Accept | Accepted | Behind | Founded
