"""A process of an overlay: its messages go hop by hop through routers or causal servers.

The processes and their addresses are fixed; what happens when one of them dies is the overlay's own
business (`daisy` survives it, `separators` where its options say so). Nobody sends before everybody
is there, except those who come late: they say so when the overlay has let them in, and nobody sends
to them before. The overlay's clock starts with that. Pure, with the same face as `member_machine`.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from antecede.errors import Misuse
from antecede.groups import MemberId
from antecede.live.ordering.effects import Delivery, Hold, Sent, ViewChange
from antecede.live.ordering.incomplete import Context
from antecede.live.ordering.items import (
    LARGEST,
    PREFIX_BYTES,
    Direct,
    Hop,
    Item,
    encode_item,
    pack_prefix,
    prefix_of,
)
from antecede.live.ordering.offers import Ready
from antecede.live.outputs import Identity, Known, Left, Output, Remember, ToPeer
from antecede.live.transport.outgoing import Address
from antecede.message import NO_GROUP, Message, MessageId, members, process_set
from antecede.order import Deliver, Effect, Event, Held, Notice, Order, Stamp, Transmit, Wake
from antecede.wire import decode_packet, encode_packet, encode_stamp


class OverlayMachine:
    """One process. `addresses` are those of all processes, in the order of their numbers."""

    def __init__(
        self,
        identity: Identity,
        order: Order,
        addresses: Mapping[str, Address],
        protocol_text: str,
        *,
        applications: Collection[str],
        late: Collection[str] = (),
        records: bool = False,
        memory: Path | None = None,
    ) -> None:
        self.identity = identity
        self.protocol = order.name
        self.protocol_text = protocol_text
        self.order = order
        self._names = tuple(addresses)
        self._numbers = {name: number for number, name in enumerate(addresses)}
        self._addresses = dict(addresses)
        self._applications = [name for name in addresses if name in applications]
        self._coming = set(late)
        """Those who come late and are not in yet, this process included."""
        self._absent = set(addresses) - {identity.name, *late}
        """Those who have to be there before anything begins, and are not yet."""
        self._has_come = False
        """Whether this process came late, and is in."""
        self._began: float | None = None
        self._records = records
        self._memory = memory
        """The file that is its stable memory, and what that has."""
        self._remembered = order.remembered()
        self._sent = 0
        self._lamport = 0
        self.hold = Hold()
        """Stays empty: arrivals at an overlay are those of hops."""
        self._out: list[Output] = []

    # -- inputs

    def start(self, now: float) -> list[Output]:
        for name, address in self._addresses.items():
            if name != self.identity.name:
                self._out.append(Known(name, address))
        names = self.members()
        lives = tuple(MemberId(self._numbers[name], 0) for name in names)
        self._lamport += 1
        self._out.append(ViewChange(1, names, names, (), lives, self._lamport))
        if self.identity.name in self._coming:
            self._apply(self.order.join(self._time(now)))
        return self._take_out()

    def be_seed(self) -> None:
        """An overlay has no seeds."""

    def waits_for(self, there: Sequence[str]) -> dict[str, str]:
        """Who of the overlay is not there yet."""
        absent = ", ".join(sorted(self._absent))
        return {"": f"not there yet: {absent}"} if absent else {}

    def key_for(self, name: str, incarnation: int) -> bytes:
        """Overlays hand on what others sent by design: their members trust each other."""
        return b""

    def slow_members(self, window: int) -> list[str]:
        """Back-pressure is the links' alone here."""
        return []

    def accuse(self, name: str, now: float) -> list[Output]:
        """Its link has ended; an overlay excludes nobody."""
        return []

    def welcomed(self, name: str, incarnation: int, now: float, key: bytes = b"") -> list[Output]:
        self._absent.discard(name)
        if not self._absent:
            self._time(now)
        if self._has_come:
            self._out.append(ToPeer(name, encode_item(Ready(self.identity.incarnation))))
        return self._take_out()

    def _time(self, now: float) -> float:
        """By the clock of the overlay, which starts now if it does not run yet."""
        if self._began is None:
            self._began = now
        return now - self._began

    def receive(
        self, sender: str, incarnation: int, items: Sequence[Item], now: float
    ) -> list[Output]:
        """What a link has brought."""
        if sender not in self._numbers:
            return []
        for item in items:
            if type(item) is Hop:
                packet = decode_packet(item.packet, self.order.stamp_type)
                if packet.source == self._numbers[sender]:
                    self._apply(self.order.receive(packet, self._time(now)))
            elif type(item) is Ready:
                self._coming.discard(sender)
            elif type(item) is Direct:
                self._out.append(Delivery(sender, item.payload, ordered=False))
        return self._take_out()

    def excuse(self, seconds: float, now: float) -> None:
        """Overlays have detectors of their own."""

    def wake(self, now: float) -> list[Output]:
        self._apply(self.order.wake(self._time(now)))
        return self._take_out()

    def tick(
        self, peers: Sequence[str], now: float, waiting: int = 0, *, tried_all: bool = True
    ) -> list[Output]:
        return []

    def send(
        self,
        payload: bytes,
        to: Sequence[str] | None,
        group: str | None,
        now: float,
        label: str | None = None,
        context: Context | None = None,
    ) -> list[Output]:
        """Send to these processes, or to all that applications live at."""
        if group is not None or label is not None or context is not None:
            raise Misuse("an overlay addresses processes; it has no named groups, labels, contexts")
        if to is None:
            numbers = [self._numbers[name] for name in self.members()]
        else:
            numbers = [self._number(name) for name in to]
        lamport = min(self._lamport + 1, LARGEST)
        own = self._numbers[self.identity.name]
        message = Message(
            MessageId(own, self._sent + 1),
            process_set(numbers),
            NO_GROUP,
            pack_prefix(lamport, self._sent + 1) + payload,
        )
        effects = self.order.send(message, self._time(now))
        self._sent += 1
        self._lamport = lamport
        if self._records:
            to_members = tuple(MemberId(number, 0) for number in members(message.destinations))
            sizes = [
                (one.packet.stamp.entries(), len(encode_stamp(one.packet.stamp)))
                for one in effects
                if type(one) is Transmit
            ]
            entries, stamp_bytes = max(sizes, default=(0, 0))
            self._out.append(Sent(self._sent, lamport, to_members, entries, stamp_bytes))
        self._apply(effects)
        return self._take_out()

    def send_direct(self, payload: bytes, to: Sequence[str]) -> list[Output]:
        item = encode_item(Direct(payload))
        for name in to:
            self._number(name)
            self._out.append(ToPeer(name, item))
        return self._take_out()

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Back-pressure is the links' alone here."""

    def leave(self, now: float) -> list[Output]:
        return [Left()]

    # -- what it can say

    @property
    def stamp_type(self) -> type[Stamp]:
        return self.order.stamp_type

    @property
    def is_open(self) -> bool:
        return self._began is not None and self.identity.name not in self._coming

    @property
    def has_news(self) -> bool:
        """It tells others by itself."""
        return False

    @property
    def lets_back_in(self) -> bool:
        """Never under its name: the others know what it had sent and got, and it does not."""
        return False

    @property
    def repairs_loss(self) -> bool:
        """Whether what is put on a broken link may as well be dropped."""
        return self.order.traits.repairs_loss

    @property
    def unsettled(self) -> int:
        return 0

    @property
    def untaken(self) -> int:
        return 0

    def held(self) -> list[Held]:
        return self.order.held()

    def describe(self, held: Held) -> tuple[str, int, tuple[str, ...]]:
        awaited = tuple(
            f"{self._names[one.process]}: {one.scope.value} {one.count}" for one in held.awaited
        )
        return self._names[held.message.sender], held.message.number, awaited

    def name_of(self, member: MemberId) -> str:
        return self._names[member.process]

    def base_of(self, member: MemberId) -> int:
        return 0

    @property
    def own_base(self) -> int:
        return 0

    def members(self) -> tuple[str, ...]:
        """Those who send and are addressed, as far as they have come."""
        return tuple(name for name in self._applications if name not in self._coming)

    def address_of(self, name: str) -> Address:
        return self._addresses[name]

    # -- inside

    def _take_out(self) -> list[Output]:
        out, self._out = self._out, []
        return out

    def _number(self, name: str) -> int:
        if name not in self.members():
            raise Misuse(f"'{name}' is none of {', '.join(self.members())}")
        return self._numbers[name]

    def _apply(self, effects: Sequence[Effect]) -> None:
        self._remember()
        for effect in effects:
            match effect:
                case Transmit():
                    item = encode_item(Hop(encode_packet(effect.packet)))
                    for number in members(effect.to):
                        self._out.append(ToPeer(self._names[number], item))
                case Deliver():
                    self._deliver(effect.message)
                case Wake():
                    self._out.append(Wake(effect.at + (self._began or 0.0)))
                case Notice():
                    self._out.append(effect)
                    if effect.event is Event.VIEW and self.identity.name in self._coming:
                        self._come_in()

    def _remember(self) -> None:
        """What has to outlive this process is written before what follows from it is sent."""
        if self._memory is not None:
            memory = self.order.remembered()
            if memory != self._remembered:
                self._remembered = memory
                self._out.append(Remember(self._memory, memory))

    def _come_in(self) -> None:
        """The overlay has let this process in: from now on others send to it, too."""
        self._coming.discard(self.identity.name)
        self._has_come = True
        item = encode_item(Ready(self.identity.incarnation))
        self._out += [ToPeer(name, item) for name in self._names if name != self.identity.name]

    def _deliver(self, message: Message) -> None:
        lamport, number = prefix_of(message.payload)
        self._lamport = max(self._lamport, lamport) + 1
        sender = message.id.sender
        self._out.append(
            Delivery(
                self._names[sender],
                message.payload[PREFIX_BYTES:],
                number,
                None,
                True,
                self._lamport,
                MemberId(sender, 0),
            )
        )
