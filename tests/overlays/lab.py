"""A laboratory for routed overlays: one seed, one run of a few messages on a small network, judged
by the definition.

What shows faults of order is that a chain of messages overtakes one. So some links are slow, which
bring nothing while others can; and who has delivered a message likes to be the next to send.
Routers may crash: what is under way to them is lost, and what they have sent still arrives.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any

from antecede.errors import AntecedeError
from antecede.message import Message, MessageId, ProcessSet, members, process_set
from antecede.order import Channels, Deliver, Effect, Notice, Order, Packet, Transmit, Wake
from antecede.overlays import Overlay

PATIENCE = 12
"""Wake-ups of each process in a row that bring nothing, after which nothing more is expected."""

LATEST_S = 0.5
"""When a packet has arrived, at the latest, by the clock of those who take silence for a crash."""


def order_hosts(order: Order | None) -> ProcessSet:
    return order.hosts if isinstance(order, Overlay) else 0


class Lab:
    """The machines of a run and what is under way between them. Packets are not encoded."""

    def __init__(self, orders: Sequence[Order], hosts: Sequence[int], chance: Random) -> None:
        self.orders: list[Order | None] = list(orders)
        self.hosts = list(hosts)
        self.failure = ""
        self._log: list[tuple[object, ...]] = []
        self.crashed: ProcessSet = 0
        self._chance = chance
        self._fifo = orders[0].traits.channels is Channels.FIFO
        self._links: dict[tuple[int, int], list[tuple[Packet[Any], float]]] = {}
        self._is_slow: dict[tuple[int, int], bool] = {}
        self._slowness = chance.choice([0.1, 0.3, 0.5])
        self._wakes: dict[int, float] = {}
        self._new_links: list[tuple[int, int]] = []
        self._memories: dict[int, bytes] = {}
        self._now = 0.0
        self._last = hosts[0]
        self._messages: list[Message] = []
        self._index: dict[MessageId, int] = {}
        self._pasts: list[int] = []
        self._past = [0] * len(orders)
        self._delivered = [0] * len(orders)
        self._numbers = [0] * len(orders)

    @property
    def log(self) -> list[str]:
        """What has happened, in words: put together when somebody asks, for most runs are right."""
        return [" ".join(map(str, words)) for words in self._log]

    def run(
        self,
        messages: int,
        crashes: Sequence[int] = (),
        most: int = 3,
        late: Sequence[int] = (),
        links: Sequence[tuple[int, int]] = (),
    ) -> str:
        """What went wrong, or nothing: so many messages, while these crash, and then those come,
        and links between these."""
        new_links = list(links)
        self._late = {process: self.orders[process] for process in late}
        for process in late:
            self.orders[process] = None
        chance = self._chance
        eagerness = chance.choice([0.05, 0.2, 0.5])
        left, due = messages, list(crashes)
        is_calm = bool(late) and chance.random() < 0.6  # they come while nothing is on its way
        while not self.failure:
            if due and chance.random() < 0.1:
                self._crash(due.pop())
            elif is_calm and not due and left <= messages // 2:
                is_calm = False
                self._settle()
                while self._late:
                    self._come(min(self._late))
                self._settle()
            elif self._late and not is_calm and not due and chance.random() < 0.05:
                self._come(min(self._late))
            elif new_links and chance.random() < 0.1:
                self._connect(*new_links.pop())
            elif self._wakes and chance.random() < 0.02:
                self._wake_next()
            elif left and chance.random() < eagerness:
                left -= 1
                self._send(most)
            elif self._arrive(is_patient=bool(left or due)):
                pass
            elif left or due or self._late or new_links:
                eagerness = 1.0 if left else eagerness
            else:
                break
        self._settle()
        return self.failure or self._undelivered()

    def _send(self, most: int) -> None:
        hosts = [one for one in self.hosts if not self.crashed >> one & 1]
        sender = self._last if self._chance.random() < 0.6 else self._chance.choice(hosts)
        if sender not in hosts:
            return
        others = [one for one in self.hosts if one != sender]
        to = self._chance.sample(others, min(len(others), self._chance.choice([1, 1, 1, 2, most])))
        self.send(sender, to)

    def send(self, sender: int, to: Sequence[int]) -> None:
        """A process sends to these."""
        order = self.orders[sender]
        if order is None:
            return
        self._numbers[sender] += 1
        message = Message(MessageId(sender, self._numbers[sender]), process_set(to))
        bit = len(self._messages)
        self._index[message.id] = bit
        self._messages.append(message)
        self._pasts.append(self._past[sender])
        self._past[sender] |= 1 << bit
        self._delivered[sender] |= 1 << bit
        self._log.append((sender, "sends", message.id, "to", list(to)))
        self._perform(sender, lambda: order.send(message, self._now))

    def _arrive(self, *, is_patient: bool) -> bool:
        """Something arrives, over a slow link only if nothing else can."""
        links = [link for link, packets in self._links.items() if packets]
        quick = [link for link in links if not self._is_slow[link]]
        if not quick and is_patient and self._chance.random() < 0.9:
            return False
        links = quick if quick and self._chance.random() < 0.95 else links
        if not links:
            return False
        link = self._chance.choice(links)
        packets = self._links[link]
        packet, _ = packets.pop(0 if self._fifo else self._chance.randrange(len(packets)))
        self.arrive(packet, link[1])
        return True

    def arrive(self, packet: Packet[Any], to: int) -> None:
        order = self.orders[to]
        if order is None:
            return
        what = packet.message.id if packet.message else "control"
        self._log.append((to, "gets", what, "from", packet.source, packet.stamp))
        self._perform(to, lambda: order.receive(packet, self._now))

    def _settle(self) -> None:
        """Wake-ups, and what follows, until many of them have brought nothing."""
        idle = 0
        while self._wakes and idle < PATIENCE * len(self.orders) and not self.failure:
            before = self._all_delivered()
            self._wake_next()
            while self._arrive(is_patient=False):
                pass
            idle = 0 if self._all_delivered() > before else idle + 1

    def _wake_next(self) -> None:
        process = min(self._wakes, key=lambda one: (self._wakes[one], one))
        time = max(self._now, self._wakes.pop(process))
        while link := self._overdue(time):
            packet, _ = self._links[link].pop(0)
            self.arrive(packet, link[1])
        self._now = time
        order = self.orders[process]
        if order is not None:
            self._perform(process, lambda: order.wake(self._now))

    def _overdue(self, time: float) -> tuple[int, int] | None:
        """A link with a packet that has to arrive before this time."""
        sent = ((link, packets[0][1]) for link, packets in self._links.items() if packets)
        return next((link for link, sent_s in sent if sent_s < time - LATEST_S), None)

    def _all_delivered(self) -> int:
        return sum(map(int.bit_count, self._delivered))

    def _crash(self, process: int) -> None:
        self._log.append((process, "crashes"))
        order = self.orders[process]
        self._memories[process] = b"" if order is None else order.remembered()
        self.orders[process] = None
        self.crashed |= 1 << process

    def _come(self, process: int) -> None:
        self._log.append((process, "comes"))
        order = self._late.pop(process)
        self.orders[process] = order
        if order is not None:
            before = dict(getattr(order.options, "latecomers", ())).get(process, process)
            order.recall(self._memories.get(before, b""))
            self._perform(process, lambda: order.join(self._now))
            for link in [link for link in self._new_links if process in link]:
                self._connect(*link)

    def _connect(self, first: int, second: int) -> None:
        self._log.append((first, "and", second, "are linked"))
        self._new_links.append((first, second))
        for one, other in ((first, second), (second, first)):
            order = self.orders[one]
            if isinstance(order, Overlay):
                self._perform(one, partial(order.connect, other, self._now))

    def _perform(self, process: int, event: Callable[[], list[Effect]]) -> None:
        try:
            effects = event()
        except AntecedeError as error:  # among honest processes nothing is refused
            self.failure = f"{process}: {type(error).__name__}: {error}"
            return
        for effect in effects:
            if isinstance(effect, Transmit):
                for to in members(effect.to):
                    link = (process, to)
                    if link not in self._links:
                        self._links[link] = []
                        self._is_slow[link] = self._chance.random() < self._slowness
                    self._links[link].append((effect.packet, self._now))
            elif isinstance(effect, Deliver):
                self._deliver(process, effect.message)
            elif isinstance(effect, Notice) and order_hosts(self.orders[process]) >> process & 1:
                self.hosts.append(process)  # it is in
            elif isinstance(effect, Wake):
                self._wakes[process] = min(effect.at, self._wakes.get(process, effect.at))

    def _deliver(self, process: int, message: Message) -> None:
        bit = self._index[message.id]
        self._log.append((process, "delivers", message.id))
        self._last = process
        missing = self._pasts[bit] & ~self._delivered[process]
        for other in members(missing):
            if self._messages[other].destinations >> process & 1:
                self.failure = f"{process} delivers {message.id} before {self._messages[other].id}"
        if self._delivered[process] >> bit & 1 and message.id.sender != process:
            self.failure = f"{process} delivers {message.id} twice"
        self._past[process] |= self._pasts[bit] | 1 << bit
        self._delivered[process] |= 1 << bit

    def _undelivered(self) -> str:
        for bit, message in enumerate(self._messages):
            for process in members(message.destinations & ~self.crashed):
                if not self._delivered[process] >> bit & 1:
                    if self.crashed >> message.id.sender & 1:
                        continue
                    return f"{process} never delivers {message.id}"
        return ""
