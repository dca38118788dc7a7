"""Orders that wait for counters, and the index that makes waiting free.

In most protocols every delivery condition says "counter k has reached v", and counters only grow.
A held packet is filed under the *first* condition that fails; when that counter has come far enough
the packet is taken out and looked at again. So a packet that waits costs nothing until then, and a
delivery touches only what it may free, however long the queue is.

Packets that become free together go in the order of (value waited for, identity): the outcome is a
function of the state, not of the order in which the held packets arrived.
"""

from abc import abstractmethod
from collections import deque
from collections.abc import Hashable, Iterable
from heapq import heappop, heappush
from typing import Any

from antecede.message import Message, MessageId
from antecede.order import Awaited, Deliver, Effect, Held, Order, Packet

Condition = tuple[Hashable, int]
"""(counter, the value it must reach)."""


class Waiting:
    """Which messages wait for which counter."""

    def __init__(self) -> None:
        self._heaps: dict[Hashable, list[tuple[int, MessageId]]] = {}

    def file(self, message: MessageId, condition: Condition) -> None:
        """The message waits for this condition."""
        counter, value = condition
        heap = self._heaps.get(counter)
        if heap is None:
            self._heaps[counter] = [(value, message)]
        else:
            heappush(heap, (value, message))

    def reach(self, counter: Hashable, value: int) -> list[MessageId]:
        """A counter has come to this value: take out the messages that waited for no more."""
        heap = self._heaps.get(counter)
        if heap is None:
            return []
        freed = []
        while heap and heap[0][0] <= value:
            freed.append(heappop(heap)[1])
        if not heap:
            del self._heaps[counter]
        return freed


class Counting(Order):
    """An order whose delivery conditions are all of the form "counter k has reached v".

    `state.held` is a dict from `MessageId` to the held packet.
    """

    waiting: Waiting

    @abstractmethod
    def check(self, packet: Packet[Any], message: Message) -> None:
        """Raise `MalformedStamp` if the stamp cannot be right; the header has been checked."""

    @abstractmethod
    def is_delivered(self, packet: Packet[Any]) -> bool:
        """Whether this process has delivered the packet's message already."""

    @abstractmethod
    def unmet(self, packet: Packet[Any]) -> Condition | None:
        """The first delivery condition that does not hold yet, in an order that never changes."""

    @abstractmethod
    def accept(self, packet: Packet[Any]) -> Iterable[Condition]:
        """The packet's message is delivered: change the state, and say which counters moved and
        what they have come to."""

    @abstractmethod
    def awaited(self, packet: Packet[Any]) -> Iterable[Awaited]:
        """All that a held packet still waits for."""

    def resume(self) -> None:
        self.waiting = Waiting()
        for message, packet in self.state.held.items():
            condition = self.unmet(packet)
            if condition is not None:
                self.waiting.file(message, condition)

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message = self.check_header(packet)
        self.check(packet, message)
        held = self.state.held
        if self.is_delivered(packet) or message.id in held:
            return []
        condition = self.unmet(packet)
        if condition is not None:
            held[message.id] = packet
            self.waiting.file(message.id, condition)
            return []
        if held:
            return self.release(packet)
        for _ in self.accept(packet):
            pass  # Nobody waits for the counters that moved.
        return [Deliver(message)]

    def receive_run(self, packet: Packet[Any], count: int) -> list[Effect] | None:
        stamp = packet.stamp.successor(packet.source, count - 1)
        if stamp is None:
            return None
        message = self.check_header(packet)
        self.check(packet, message)
        if self.is_delivered(packet) or self.unmet(packet) is not None:
            return None
        # The others follow from the first: what they wait for besides is the one before.
        moved = self.accept(Packet(packet.source, message, stamp))
        if not self.state.held:
            return []
        ready = [one for one in self.freed(moved) if not self.is_delivered(one)]
        return self._release_all(ready)

    def release(self, packet: Packet[Any]) -> list[Effect]:
        """Deliver a packet whose conditions hold, and all that this frees."""
        return self._release_all((packet,))

    def _release_all(self, packets: Iterable[Packet[Any]]) -> list[Effect]:
        effects: list[Effect] = []
        ready = deque(packets)
        while ready:
            packet = ready.popleft()
            effects.append(Deliver(packet.message))  # type: ignore[arg-type]
            ready.extend(self.freed(self.accept(packet)))
        return effects

    def freed(self, moved: Iterable[Condition]) -> list[Packet[Any]]:
        """Take out of the held packets those that the move of these counters has made ready."""
        held, waiting = self.state.held, self.waiting
        ready = []
        for counter, value in moved:
            for message in waiting.reach(counter, value):
                condition = self.unmet(held[message])
                if condition is None:
                    ready.append(held.pop(message))
                else:
                    waiting.file(message, condition)
        return ready

    def held(self) -> list[Held]:
        return [
            Held(message, tuple(sorted(self.awaited(packet))))
            for message, packet in sorted(self.state.held.items())
        ]
