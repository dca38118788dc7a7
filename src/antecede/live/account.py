"""What a process in a group of members that come and go can say of itself."""

from antecede.errors import Misuse
from antecede.groups import MemberId
from antecede.live.durable.admission import Admission
from antecede.live.ordering.effects import Hold
from antecede.live.ordering.session import Session
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.roster import Roster
from antecede.live.transport.outgoing import Address
from antecede.order import Held, Stamp


class Account:
    """What it knows, and what follows from it without changing anything."""

    def __init__(self, chosen: ProtocolChoice, roster: Roster) -> None:
        self.protocol = chosen.protocol
        self.roster = roster
        self.hold = Hold()
        self.session: Session | None = None
        self._chosen = chosen
        self._admission: Admission | None = None
        """Where some member is durable or wants a state."""
        self._suspended = False

    @property
    def protocol_text(self) -> str:
        """The protocol with its options and named groups: what all members must have in common."""
        return self._chosen.text

    @property
    def stamp_type(self) -> type[Stamp]:
        """Of what the order puts on packets."""
        return self._chosen.stamp_type

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now."""
        if self._admission is not None and not self._admission.is_open:
            return False
        return self.session is not None and self.session.is_open and not self._suspended

    @property
    def has_news(self) -> bool:
        """Whether something has to be done soon, or others told."""
        session = self.session
        return session is None or self._suspended or self._admission is not None or session.has_news

    @property
    def lets_back_in(self) -> bool:
        """Whether a process that was started anew may come again under its name."""
        return True

    @property
    def repairs_loss(self) -> bool:
        """Whether what is put on a broken link may as well be dropped."""
        return False

    @property
    def unsettled(self) -> int:
        """Own messages that have not reached everybody yet."""
        epoch = None if self.session is None else self.session.epoch
        return 0 if epoch is None else epoch.sent - epoch.stable

    @property
    def untaken(self) -> int:
        """How much the slowest receiver, this process included, has yet to take."""
        session = self.session
        if session is None or session.epoch is None:
            return 0
        return max(session.epoch.untaken, session.traffic.untaken[session.me])

    def slow_members(self, window: int) -> list[str]:
        """Those who have a full window to take."""
        epoch = None if self.session is None else self.session.epoch
        if epoch is None or epoch.untaken < window:
            return []
        units = zip(epoch.names, epoch.untaken_by_rank(), strict=True)
        return [name for name, untaken in units if untaken >= window]

    @property
    def own_base(self) -> int:
        return 0 if self.session is None else self.base_of(self.session.me)

    def base_of(self, member: MemberId) -> int:
        """The number after which those of this life begin."""
        return 0 if self._admission is None else self._admission.habits_of(member).base

    def address_of(self, name: str) -> Address:
        entry = self.roster.named(name)
        if entry is None:
            raise Misuse(f"'{name}' is unknown here")
        return entry.address

    def describe(self, held: Held) -> tuple[str, int, tuple[str, ...]]:
        """Sender and number of a held message, and what it waits for, with names."""
        epoch = None if self.session is None else self.session.epoch
        if epoch is None:
            raise Misuse("not in the group")
        members = epoch.view.members
        awaited = tuple(
            f"{self.name_of(members[one.process])}: {one.scope.value} {one.count}"
            for one in held.awaited
        )
        sender = self.name_of(members[held.message.sender])
        return sender, epoch.own_number(held.message), awaited

    def held(self) -> list[Held]:
        return [] if self.session is None else self.session.held()

    def name_of(self, member: MemberId) -> str:
        return self.roster.name_of(member.process)

    def members(self) -> tuple[str, ...]:
        epoch = None if self.session is None else self.session.epoch
        return () if epoch is None else epoch.names
