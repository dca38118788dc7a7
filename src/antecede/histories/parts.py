"""Closed groups: order within each group, and none between them (Rodrigues, Verissimo, chapter 6).

A group has its own numbers, as a label has (`antecede.histories.labels`): `message.id` counts the
sender's messages in the group. A chain of messages through another group does not count.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.histories.labels import BYPASS
from antecede.message import Membership, Message, MessageId, ProcessSet, members
from antecede.order import Deliver, Effect, Held, Order, Packet, Stamp, Transmit
from antecede.orders import create
from antecede.snapshot import freeze, thaw
from antecede.wire import decode_stamp, encode_stamp


class PartStamp(Stamp, frozen=True):
    """Which part a packet belongs to, and its stamp there as bytes."""

    part: int
    inner: bytes


class _PartState(msgspec.Struct, array_like=True):
    number: int
    order: bytes


class _State(msgspec.Struct, array_like=True):
    parts: dict[int, _PartState]


class _Parts:
    """Orders side by side, at one process."""

    stamp_type: ClassVar[type[Stamp]] = PartStamp
    kind: ClassVar[str]

    def __init__(self, process: int, orders: dict[int, Order], everybody: Membership) -> None:
        self.process = process
        self._orders = {**orders, BYPASS: create("none", process, everybody)}
        self._numbers = dict.fromkeys(self._orders, 0)

    def _send(
        self, part: int, destinations: ProcessSet, payload: bytes, now: float
    ) -> list[Effect]:
        identity = MessageId(self.process, self._numbers[part] + 1)
        effects = self._orders[part].send(Message(identity, destinations, 0, payload), now)
        self._numbers[part] += 1
        return self._outwards(part, effects)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        """The network hands over a packet."""
        part = packet.stamp.part
        if part not in self._orders:
            raise MalformedStamp(
                "part", f"is {part}; process {self.process} has no such {self.kind}"
            )
        message = packet.message
        if message is not None:
            if message.group != part:
                raise MalformedStamp("group", f"is {message.group} in {self.kind} {part}")
            self._check_destinations(part, message)
            message = msgspec.structs.replace(message, group=0)
        order = self._orders[part]
        stamp = decode_stamp(packet.stamp.inner, order.stamp_type)
        return self._outwards(part, order.receive(Packet(packet.source, message, stamp), now))

    def wake(self, now: float) -> list[Effect]:
        """A time that one of the orders asked for has come."""
        effects: list[Effect] = []
        for part, order in sorted(self._orders.items()):
            effects += self._outwards(part, order.wake(now))
        return effects

    def held(self) -> dict[int, list[Held]]:
        """What is held and why, by part."""
        found = {part: order.held() for part, order in sorted(self._orders.items())}
        return {part: held for part, held in found.items() if held}

    def snapshot(self) -> bytes:
        """The state as bytes: equal for equal states."""
        parts = {
            part: _PartState(self._numbers[part], order.snapshot())
            for part, order in self._orders.items()
        }
        return freeze(_State(parts))

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of the same process, with the same parts."""
        for part, state in thaw(snapshot, _State).parts.items():
            self._numbers[part] = state.number
            self._orders[part].restore(state.order)

    def _check_destinations(self, part: int, message: Message) -> None:
        """Refuse a message that cannot be of this part."""

    def _outwards(self, part: int, effects: Iterable[Effect]) -> list[Effect]:
        """What an order wants done, with the part in the place of the order's one group."""

        def tagged(message: Message) -> Message:
            return msgspec.structs.replace(message, group=part)

        done: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Transmit):
                packet = effect.packet
                message = None if packet.message is None else tagged(packet.message)
                stamp = PartStamp(part, encode_stamp(packet.stamp))
                done.append(Transmit(Packet(packet.source, message, stamp), effect.to))
            elif isinstance(effect, Deliver):
                done.append(Deliver(tagged(effect.message)))
            else:
                done.append(effect)
        return done


class ClosedGroups(_Parts):
    """Order within each group of the membership and none between them: a message of a group goes to
    its members only. `protocol` may be any; `options` are its own."""

    kind = "group"

    def __init__(
        self, process: int, membership: Membership, protocol: str = "vector", **options: Any
    ) -> None:
        groups = {
            index: Membership(membership.size, (membership.group(index),))
            for index in membership.groups_of(process)
        }
        orders = {
            index: create(protocol, process, group, **options) for index, group in groups.items()
        }
        super().__init__(process, orders, membership)
        self._members = {index: group.groups[0] for index, group in groups.items()}

    def send(
        self,
        group: int,
        payload: bytes = b"",
        destinations: ProcessSet | None = None,
        now: float = 0.0,
    ) -> list[Effect]:
        """Multicast in a group of this process: to all of it, or to some members if the protocol
        addresses sets; or to anybody with `BYPASS`."""
        if group not in self._orders:
            raise Misuse(f"process {self.process} is not a member of group {group}")
        whole = self._members.get(group, 0)
        if destinations is None:
            if group == BYPASS:
                raise Misuse("a message that bypasses the groups must say whom it is addressed to")
            destinations = whole
        elif group != BYPASS and destinations & ~whole:
            raise Misuse(
                f"group {group} is closed: {list(members(destinations & ~whole))} are not members"
            )
        return self._send(group, destinations, payload, now)

    def _check_destinations(self, part: int, message: Message) -> None:
        if part != BYPASS and message.destinations & ~self._members[part]:
            raise MalformedStamp("destinations", f"are not all members of group {part}")
