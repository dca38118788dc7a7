"""A pure machine, as the pump behind a group sees it: inputs with the time go in, what is to be
done comes out (`outputs`). There are two: `member_machine`, for members that come and go, and
`overlay_machine`, for processes that are linked through routers or causal servers."""

from collections.abc import Sequence
from typing import Protocol

from antecede.groups import MemberId
from antecede.live.ordering.effects import Delivery, Hold
from antecede.live.ordering.incomplete import Context
from antecede.live.ordering.items import Item
from antecede.live.outputs import Identity, Output
from antecede.live.transport.outgoing import Address
from antecede.order import Held, Stamp


class Machine(Protocol):
    """One process in one group."""

    identity: Identity
    protocol: str
    hold: Hold
    """How many deliveries had to wait, and for how long."""

    @property
    def protocol_text(self) -> str:
        """The protocol with its options: what all members must have in common."""

    @property
    def stamp_type(self) -> type[Stamp]:
        """Of what the order puts on packets."""

    # -- inputs

    def start(self, now: float) -> Sequence[Output]:
        """Begin."""

    def be_seed(self) -> None:
        """This process is one of its seeds."""

    def welcomed(
        self, name: str, incarnation: int, now: float, key: bytes = b""
    ) -> Sequence[Output]:
        """A link to this life of a process stands; this is the key that it gave."""

    def receive(
        self, sender: str, incarnation: int, items: Sequence[Item], now: float
    ) -> Sequence[Output]:
        """What a link has brought."""

    def accuse(self, name: str, now: float) -> Sequence[Output]:
        """This process has sent what cannot be right."""

    def excuse(self, seconds: float, now: float) -> None:
        """This process stood still for that long, so that others' silence says nothing."""

    def wake(self, now: float) -> Sequence[Output]:
        """A time that was asked for has come."""

    def tick(
        self, peers: Sequence[str], now: float, waiting: int = 0, *, tried_all: bool = True
    ) -> Sequence[Output]:
        """Now and then. These processes can be reached, the application has so many events to take,
        and every seed has been tried once, or not."""

    def send(
        self,
        payload: bytes,
        to: Sequence[str] | None,
        group: str | None,
        now: float,
        label: str | None = None,
        context: Context | None = None,
    ) -> Sequence[Output]:
        """Send to these, to a named group or to everybody; `is_open` has to be true."""

    def send_direct(self, payload: bytes, to: Sequence[str]) -> Sequence[Output]:
        """Send past all ordering."""

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """The application has taken these messages."""

    def leave(self, now: float) -> Sequence[Output]:
        """Leave; `Left` follows."""

    # -- what it can say

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now."""

    @property
    def has_news(self) -> bool:
        """Whether something has to be done soon, or others told."""

    @property
    def lets_back_in(self) -> bool:
        """Whether a process that was started anew may come again under its name."""

    @property
    def repairs_loss(self) -> bool:
        """Whether what is put on a broken link may as well be dropped."""

    @property
    def unsettled(self) -> int:
        """Own messages that have not reached everybody yet."""

    @property
    def untaken(self) -> int:
        """How much the slowest receiver, this process included, has yet to take."""

    @property
    def own_base(self) -> int:
        """The number after which those of this life begin."""

    def base_of(self, member: MemberId) -> int:
        """The same of another member."""

    def slow_members(self, window: int) -> list[str]:
        """Those who have a full window to take."""

    def waits_for(self, there: Sequence[str]) -> dict[str, str]:
        """What keeps this process from being in the group: by process that is there, and under the
        empty name besides, in words."""

    def key_for(self, name: str, incarnation: int) -> bytes:
        """What this life of a process seals its messages for this one with."""

    def held(self) -> list[Held]:
        """What the protocol holds and why."""

    def describe(self, held: Held) -> tuple[str, int, tuple[str, ...]]:
        """Sender and number of a held message, and what it waits for, with names."""

    def name_of(self, member: MemberId) -> str:
        """Of a member."""

    def members(self) -> tuple[str, ...]:
        """Of the present view; empty before the first."""

    def address_of(self, name: str) -> Address:
        """Where a process listens."""
