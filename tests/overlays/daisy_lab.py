"""A small world for schedules of the daisy: crashes and losses at the moment that a test names.

The lab sees packets and deliveries and judges by the definition alone: causal order, exactly once,
what a survivor sent reaches all survivors, and what one survivor delivered, all deliver.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.order import Deliver, Effect, Event, Notice, Order, Packet, Transmit, Wake
from antecede.orders import parse_options
from antecede.overlays.daisy.items import carries, decode_items
from antecede.overlays.daisy.stamp import DaisyStamp
from antecede.protocols import find

DELAY_S = 0.01
SERVERS = 3
"""The group of servers over three local groups."""

Copy = tuple[int, int, DaisyStamp]
"""From, to, and what a packet is."""


def carried(stamp: DaisyStamp, group: int | None = None) -> list[MessageId]:
    """The messages in a packet (of this group)."""
    packet = stamp.packet
    payload = getattr(packet.body, "payload", b"") if packet else b""
    if packet is None or not payload or group not in (None, packet.group):
        return []
    return [item.id for item in carries(decode_items(payload))]


class Lab:
    """Nine processes in three local groups, unless told otherwise; 0, 3 and 6 serve at first. What
    a schedule loses nobody hands on: that would be another schedule."""

    def __init__(self, order: type[Order] | None = None, size: int = 9, **options: Any) -> None:
        order = order or find("daisy")
        chosen = {"sizes": [3], "quorum": "survivors", "detours": False, **options}
        membership = Membership(size)
        parsed = parse_options(order, chosen)
        self.orders: list[Any] = [order(process, membership, parsed) for process in range(size)]
        self.now = 0.0
        self.ahead = [0.0] * size
        """By how many whole seconds the clock of each process is ahead."""
        self.dead: set[int] = set(chosen.get("latecomers", ()))
        self.lose: Callable[[Copy], bool] = lambda copy: False
        """Which copies are lost."""
        self.before: Callable[[Copy], None] = lambda copy: None
        """What happens when a copy is about to set out, or before."""
        self.answer: Callable[[int, Message], object] = lambda process, message: None
        """What the application does within a delivery."""
        self.notices: list[tuple[float, int, Notice]] = []
        self.delivered: list[list[MessageId]] = [[] for _ in self.orders]
        self.delivered_at: dict[tuple[int, MessageId], float] = {}
        self._past: list[set[MessageId]] = [set() for _ in self.orders]
        self._sent: dict[MessageId, tuple[Message, frozenset[MessageId]]] = {}
        self._queue: list[tuple[float, int, int, Packet[Any] | None]] = []
        self._serial = count()

    # What a schedule does.

    def send(self, sender: int, *to: int) -> MessageId:
        number = 1 + sum(id_.sender == sender for id_ in self._sent)
        message = Message(MessageId(sender, number), process_set(to), -1, b"x")
        self._sent[message.id] = (message, frozenset(self._past[sender]))
        self._past[sender].add(message.id)
        self._perform(sender, self.orders[sender].send(message, self.shown(sender)))
        return message.id

    def let_answer(self, process: int, *to: int) -> None:
        """Let a process send something whenever something is delivered to it."""
        self.answer = lambda at, message: self.send(process, *to) if at == process else None

    def crash(self, *processes: int) -> None:
        self.dead.update(processes)

    def join(self, process: int) -> None:
        self.dead.discard(process)
        self._perform(process, self.orders[process].join(self.shown(process)))

    def arrive(self, copy: Copy, at: float) -> None:
        """A packet that seemed to be lost comes late."""
        source, to, stamp = copy
        heappush(self._queue, (at, next(self._serial), to, Packet(source, None, stamp)))

    def run(self, for_s: float = 60.0) -> "Lab":
        """Let time pass, until nothing happens any more or the time is over."""
        end = self.now + for_s
        while self._queue and self._queue[0][0] <= end:
            self.now, _, process, packet = heappop(self._queue)
            if process in self.dead:
                continue
            order = self.orders[process]
            if packet is None:
                self._perform(process, order.wake(self.shown(process)))
            else:
                self._perform(process, order.receive(packet, self.shown(process)))
        self.now = max(self.now, end) if self._queue else self.now
        return self

    def shown(self, process: int) -> float:
        """What the clock of a process shows."""
        return self.now + self.ahead[process]

    def _perform(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                for to in members(effect.to):
                    self._transmit((process, to, effect.packet.stamp), effect.packet)
            elif isinstance(effect, Wake):
                at = max(self.now, effect.at - self.ahead[process])
                heappush(self._queue, (at, next(self._serial), process, None))
            elif isinstance(effect, Deliver):
                self._deliver(process, effect.message)
            elif isinstance(effect, Notice):
                self.notices.append((self.now, process, effect))

    def _transmit(self, copy: Copy, packet: Packet[Any]) -> None:
        self.before(copy)
        if copy[0] not in self.dead and not self.lose(copy):
            heappush(self._queue, (self.now + DELAY_S, next(self._serial), copy[1], packet))

    def _deliver(self, process: int, message: Message) -> None:
        if process in self.dead:
            return
        self.delivered[process].append(message.id)
        self.delivered_at[process, message.id] = self.now
        _, past = self._sent[message.id]
        self._past[process] |= past | {message.id}
        self.answer(process, message)

    # What came of it.

    def told(self, event: Event) -> list[Notice]:
        return [notice for _, _, notice in self.notices if notice.event is event]

    def faults(self) -> list[str]:
        """Everything that is wrong by the definition."""
        found = []
        for process, order in enumerate(self.delivered):
            if process not in self.dead:
                found += self._misordered(process, order)
        for message, _ in self._sent.values():
            sender = message.id.sender
            owed = {p for p in members(message.destinations) if p not in self.dead and p != sender}
            missing = sorted(p for p in owed if message.id not in self.delivered[p])
            is_known = len(missing) < len(owed)
            if missing and (sender not in self.dead or is_known):
                found.append(f"{message.id} is missing at {missing}")
        return found

    def _misordered(self, process: int, order: list[MessageId]) -> list[str]:
        found = []
        had: set[MessageId] = set()
        for id_ in order:
            message, past = self._sent[id_]
            if id_ in had:
                found.append(f"{process} delivers {id_} twice")
            if not message.destinations >> process & 1:
                found.append(f"{process} delivers {id_}, which is not for it")
            found += [
                f"{process} delivers {id_} before {earlier}"
                for earlier in sorted(past - had)
                if self._sent[earlier][0].destinations >> process & 1 and earlier[0] != process
            ]
            had.add(id_)
        return found

    def kept(self) -> list[str]:
        """The messages that survivors still keep."""
        return [
            f"{process}: {id_}"
            for process, order in enumerate(self.orders)
            if process not in self.dead
            for layer in order.layers()
            for id_ in sorted(layer.memory.kept)
        ]


def cost_of(*to: int, **options: Any) -> tuple[int, int, float]:
    """Packets that carry a message from 1 to these, their integers, and the delay to the last."""
    lab = Lab(size=16, groups=[list(range(8)), list(range(8, 16))], **options)
    integers: list[int] = []

    def before(copy: Copy) -> None:
        if carried(copy[2]):
            integers.append(copy[2].entries())

    lab.before = before
    message = lab.send(1, *to)
    lab.run()
    assert lab.faults() == lab.kept() == []
    return len(integers), sum(integers), max(lab.delivered_at[one, message] for one in to)
