"""One process as a finite automaton: every local step is run once, judged once, and remembered.

A process is deterministic: what it does next depends on what it knows and on its input alone. So
its local states are interned (a small integer for each distinct one), and a step is a table entry
(local state, input) → (local state, packets, verdict) that is filled by running the protocol's code
from a snapshot the first time it is needed. Packets cross as bytes, as on a real network.

**The judge lives in the local state.** Beside the snapshot a local state holds what the definition
of causal delivery needs, as bit sets of messages: those in the causal past of the process (all it
has sent and all it has delivered, and their pasts), and those delivered here. Besides, a delivery
takes the causal past of the message itself; it travels as the payload, which protocols hand on
unread, by whatever way the message comes. A delivery is judged from these sets alone:

- causal: every message in the past of m that is addressed here (and not from here: a copy to
  oneself orders nothing) has been delivered here;
- FIFO: the same for the messages of m's own sender;
- always: m is as it was sent, is addressed here, and is delivered once.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from antecede.errors import BrokenInvariant
from antecede.message import Membership, Message, members
from antecede.order import Deliver, Effect, Gives, Order, Packet, Transmit, Wake
from antecede.wire import decode_packet, encode_packet

OrderFactory = Callable[[int, Membership], Order]
"""An order for a process of a membership; an `Order` class is one."""

_SEAL = b"past"
"""What the payload of every message begins with."""


class Flaw(StrEnum):
    """What can be wrong with a step, or with the end of a schedule."""

    EARLY = "early delivery"
    DOUBLE = "double delivery"
    STRAY = "delivery at a process that is no destination"
    INVENTED = "delivery of a message that was not sent"
    ERROR = "error"
    UNDELIVERED = "undelivered"


class Local(NamedTuple):
    """A local state: the protocol's, and what the judge knows."""

    process: int
    snapshot: bytes
    sent: int = 0
    time: float = 0.0
    wakes: tuple[float, ...] = ()
    """The times asked for, in increasing order."""
    woken: int = 0
    is_cut: bool = False
    """Whether a wake-up was refused because there had been too many; from then on for ever."""
    past: int = 0
    delivered: int = 0


class LocalStep(NamedTuple):
    """What a local step leads to."""

    local: int
    outputs: tuple[tuple[int, int], ...]
    """(destination, packet) of every copy transmitted."""
    talks_to: int
    """The processes it transmits to although the program says nothing of them."""
    flaw: Flaw | None = None


def check_transmit(process: int, effect: Transmit, size: int) -> None:
    """Refuse a packet that goes to nobody or says that somebody else has transmitted it: its source
    is what chooses its channel."""
    if effect.to >> size:
        raise BrokenInvariant(f"a packet is transmitted to {effect.to:#b}: no such process")
    source = effect.packet.source
    if source != process:
        raise BrokenInvariant(f"process {process} transmits a packet whose source is {source}")


class Automata:
    """The local states and steps of all processes, numbered as they are found."""

    def __init__(
        self, factory: OrderFactory, membership: Membership, expect: Gives, max_wakes: Sequence[int]
    ) -> None:
        self._orders = [factory(process, membership) for process in range(membership.size)]
        self._initial = [order.snapshot() for order in self._orders]
        self._expect = expect
        self._max_wakes = max_wakes
        self._addressed = [0] * membership.size
        self._sent_by = [0] * membership.size
        self.messages: list[Message] = []
        self._message_ids: dict[Message, int] = {}
        self.deliveries_checked = 0
        self.forget()

    def forget(self) -> None:
        """Forget all local states and packets, not the messages."""
        self.locals: list[Local] = []
        self._local_ids: dict[Local, int] = {}
        self.packets: list[Packet[Any]] = []
        self._packet_ids: dict[bytes, int] = {}

    def message_id(self, message: Message) -> int:
        """The number of a message without a payload: its bit in the judge's sets."""
        found = self._message_ids.get(message)
        if found is None:
            found = self._message_ids[message] = len(self.messages)
            self.messages.append(message)
            self._sent_by[message.id.sender] |= 1 << found
            for process in range(len(self._orders)):
                if message.destinations >> process & 1:
                    self._addressed[process] |= 1 << found
        return found

    def initial(self, process: int) -> int:
        """The local state before anything has happened."""
        return self._local_id(Local(process, self._initial[process]))

    def _local_id(self, local: Local) -> int:
        found = self._local_ids.get(local)
        if found is None:
            found = self._local_ids[local] = len(self.locals)
            self.locals.append(local)
        return found

    def send(self, local_id: int, message_id: int) -> LocalStep:
        """The process sends a message of the program."""
        local = self.locals[local_id]
        message = self.messages[message_id]
        payload = _SEAL + local.past.to_bytes((local.past.bit_length() + 7) // 8, "little")
        sealed = msgspec.structs.replace(message, payload=payload)
        after = local._replace(sent=local.sent + 1, past=local.past | 1 << message_id)
        return self._step(after, lambda order: order.send(sealed, local.time), message.destinations)

    def receive(self, local_id: int, packet_id: int) -> LocalStep:
        """The process gets a packet."""
        local = self.locals[local_id]
        packet = self.packets[packet_id]
        return self._step(local, lambda order: order.receive(packet, local.time))

    def wake(self, local_id: int) -> LocalStep:
        """The earliest time that the process asked for has come."""
        local = self.locals[local_id]
        now = max(local.time, local.wakes[0])
        after = local._replace(time=now, wakes=local.wakes[1:], woken=local.woken + 1)
        return self._step(after, lambda order: order.wake(now))

    def _step(
        self, local: Local, act: Callable[[Order], list[Effect]], expected: int = 0
    ) -> LocalStep:
        """Let the order act and judge what it does; `expected` are the processes that the program
        has it transmit to."""
        order = self._orders[local.process]
        outputs: list[tuple[int, int]] = []
        reached = 0
        try:
            order.restore(local.snapshot)
            effects = act(order)
            local = local._replace(snapshot=order.snapshot())
            for effect in effects:
                if isinstance(effect, Deliver):
                    flaw, local = self._deliver(effect.message, local)
                    if flaw is not None:
                        return LocalStep(-1, (), 0, flaw)
                elif isinstance(effect, Transmit):
                    outputs += self._transmit(local.process, effect, order.stamp_type)
                    reached |= effect.to
                elif isinstance(effect, Wake):
                    local = self._ask(local, effect.at)
        except Exception:  # noqa: BLE001 (an order that breaks down is what we look for)
            return LocalStep(-1, (), 0, Flaw.ERROR)
        return LocalStep(self._local_id(local), tuple(outputs), reached & ~expected)

    def _deliver(self, message: Message, local: Local) -> tuple[Flaw | None, Local]:
        """The definition, applied to one delivery."""
        self.deliveries_checked += 1
        here = local.process
        plain = msgspec.structs.replace(message, payload=b"")
        found = self._message_ids.get(plain)
        if found is None or not message.payload.startswith(_SEAL):
            return Flaw.INVENTED, local
        if local.delivered >> found & 1:
            return Flaw.DOUBLE, local
        if not message.destinations >> here & 1:
            return Flaw.STRAY, local
        past = int.from_bytes(message.payload.removeprefix(_SEAL), "little")
        if self._expect is not Gives.NOTHING and message.id.sender != here:
            due = past & self._addressed[here] & ~self._sent_by[here]
            if self._expect is Gives.FIFO:
                due &= self._sent_by[message.id.sender]
            if due & ~local.delivered:
                return Flaw.EARLY, local
        return None, local._replace(
            past=local.past | past | 1 << found, delivered=local.delivered | 1 << found
        )

    def _transmit(self, process: int, effect: Transmit, stamp_type: Any) -> list[tuple[int, int]]:
        check_transmit(process, effect, len(self._orders))
        wire = encode_packet(effect.packet)
        packet = self._packet_ids.get(wire)
        if packet is None:
            packet = self._packet_ids[wire] = len(self.packets)
            self.packets.append(decode_packet(wire, stamp_type))
        return [(destination, packet) for destination in members(effect.to)]

    def _ask(self, local: Local, at: float) -> Local:
        """The order asks to be woken: noted, unless it has had its share of wake-ups."""
        if at in local.wakes:
            return local
        if local.woken + len(local.wakes) >= self._max_wakes[local.process]:
            return local._replace(is_cut=True)
        return local._replace(wakes=tuple(sorted((*local.wakes, at))))
