"""A network with one separator, seen from both sides, under the test's control: members fail and
newcomers take their places, for section 4.4 of Rodrigues and Verissimo."""

from collections.abc import Iterable
from enum import Enum
from random import Random

from antecede.histories.history import History
from antecede.histories.joins import (
    Plan,
    Remembering,
    hand_over,
    history_of,
    plan,
    refit,
    take_over,
)
from antecede.message import Membership, Message, MessageId, ProcessSet, members, process_set
from antecede.order import Deliver, Effect, Transmit
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions
from antecede.topology.separator import Separator
from tests.papers.harness import Event, Flight, Flights, early
from tests.papers.harness import History as Record

OPTIONS = HistoriesOptions(rules="R1-R9")


class Way(Enum):
    """Whose histories a newcomer takes over."""

    MEMBERS = "of all members that are alive"
    ONE_MEMBER = "of one member that is alive"
    CHECKPOINT = "of all processes on both sides"
    STABLE = "of all members that have failed, from their memories"
    LAST_STABLE = "of the member that failed last, from its memory"
    NOBODY = "of nobody"


class Flush(Enum):
    """What has to be delivered first."""

    NOTHING = "nothing"
    OF_FAILED = "what failed processes have sent"
    TO_MEMBERS = "what is on its way to members that are alive"


class Slip:
    """A memory that keeps the bytes it was given."""

    def __init__(self) -> None:
        self.stored = History().to_bytes()

    def save(self, history: History) -> None:
        self.stored = history.to_bytes()


class Lab(Flights):
    """F, S and B with all links inside each and between neighbouring ones, but for witnesses, which
    are linked to members only."""

    def __init__(self, front: int, gateways: int, back: int, witnesses: int = 0) -> None:
        super().__init__()
        size = front + gateways + back + witnesses
        self.front = process_set(range(front))
        self.gateways = process_set(range(front, front + gateways))
        self.back = process_set(range(front + gateways, front + gateways + back))
        self.witnesses = process_set(range(size - witnesses, size))
        S = self.gateways | self.witnesses
        self.separators: tuple[Separator, ...] = (
            Separator(S, self.front, self.back),
            Separator(S, self.back, self.front),
        )
        self.links = [0] * size
        for process in range(size):
            self._link(process)
        self.alive = (1 << size) - 1
        self.failed: list[int] = []
        self.orders = [
            Histories(process, Membership(size), OPTIONS, self._surroundings(process))
            for process in range(size)
        ]
        self.memories = {process: Slip() for process in members(S)}
        self.keepers = {
            process: Remembering(self.orders[process], memory)
            for process, memory in self.memories.items()
        }
        self.record = Record()
        self._numbers = [0] * size
        self._last = 0
        self._is_slow: dict[tuple[int, int], bool] = {}

    @property
    def S(self) -> ProcessSet:
        return self.separators[0].members

    def _link(self, process: int) -> None:
        own = 1 << process
        S = self.gateways | self.witnesses
        sides = {
            self.front: self.front | self.gateways,
            self.gateways: self.front | self.back | S,
            self.back: self.back | self.gateways,
            self.witnesses: S,
        }
        for side, reach in sides.items():
            if side & own:
                self.links[process] = reach & ~own
        for neighbour in members(self.links[process]):
            self.links[neighbour] |= own

    def _surroundings(self, process: int) -> Surroundings:
        return Surroundings(process, self.links[process], self.separators)

    # Traffic.

    def send(self, sender: int, *to: int) -> MessageId:
        self._numbers[sender] += 1
        identity = MessageId(sender, self._numbers[sender])
        message = Message(identity, process_set(to))
        self.record.events.append(Event(0, "send", sender, message))
        keeper = self.keepers.get(sender)
        order = self.orders[sender]
        self._perform(sender, keeper.send(message) if keeper else order.send(message))
        return identity

    def arrive(self, flight: Flight) -> None:
        self.in_flight.remove(flight)
        self._perform(flight.to, self.orders[flight.to].receive(flight.packet))

    def bring(self, message: MessageId, to: int) -> None:
        self.arrive(self.find(to, message=message))

    def _perform(self, process: int, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                self.record.flights += self.transmit(effect.packet, effect.to & self.alive)
            elif isinstance(effect, Deliver):
                self.record.events.append(Event(0, "deliver", process, effect.message))
                self._last = process

    def settle(self, chance: Random | None = None) -> None:
        """Everything arrives, the newest first or in an order drawn by chance."""
        while self.in_flight:
            self.arrive(chance.choice(self.in_flight) if chance else self.in_flight[-1])

    def play(self, chance: Random, steps: int) -> None:
        """So many sends and arrivals. Whoever has just delivered something tends to answer, and
        some links are slow, so that messages are overtaken by chains of others."""
        for _ in range(steps):
            if self.in_flight and chance.random() < 0.6:
                flight = chance.choice(self.in_flight)
                link = flight.packet.source, flight.to
                if not self._is_slow.setdefault(link, chance.random() < 0.35):
                    self.arrive(flight)
                continue
            talking = self.alive & ~self.witnesses
            sender = chance.choice(list(members(talking)))
            if talking >> self._last & 1 and chance.random() < 0.6:
                sender = self._last
            near = self.links[sender] & self.alive
            told = self.S & near
            if told and chance.random() < 0.4:
                self.send(sender, *members(told))
            elif near:
                self.send(sender, chance.choice(list(members(near))))

    # Failures and joins.

    def crash(self, process: int) -> None:
        """What it has sent arrives all the same; what is on its way to it does not matter."""
        self.alive &= ~(1 << process)
        self.failed.append(process)
        self.lose_all(process)

    def flush(self, what: Flush) -> None:
        """What has arrived and waits is not delivered, either."""
        undelivered = [(f.packet.message.id, f.to) for f in self.in_flight if f.packet.message]
        for process in members(self.alive):
            undelivered += [(held.message, process) for held in self.orders[process].held()]
        for message, to in undelivered:
            if (what is Flush.OF_FAILED and not self.alive >> message.sender & 1) or (
                what is Flush.TO_MEMBERS and self.S >> to & 1
            ):
                self._bring_delivered(message, to)

    def _bring_delivered(self, message: MessageId, to: int) -> None:
        """Let a message arrive, and whatever it waits for."""
        for flight in [flight for flight in self.in_flight if flight.to == to]:
            if flight.packet.message and flight.packet.message.id == message:
                self.arrive(flight)
        for held in self.orders[to].held():
            if held.message == message:
                for awaited in held.awaited:
                    self._bring_delivered(MessageId(awaited.process, awaited.count), to)

    def join(self, way: Way, flush: Flush = Flush.NOTHING) -> int:
        """A newcomer becomes a gateway; all members adopt the new separator as they hand over."""
        self.flush(flush)
        newcomer, change = self.announce()
        self.separators = change.separators
        histories = self.histories(way)
        self.install()
        self.start(newcomer, histories)
        return newcomer

    def announce(self) -> tuple[int, Plan]:
        """Give a new gateway its number and its links."""
        newcomer = len(self.links)
        self.gateways |= 1 << newcomer
        self.links.append(0)
        self._numbers.append(0)
        self._link(newcomer)
        self.links[newcomer] &= self.alive
        return newcomer, plan(self.links, self.separators, self.alive, newcomer)

    def histories(self, way: Way) -> list[History]:
        """What the newcomer is to take over."""
        sources = {
            Way.MEMBERS: self.S & self.alive,
            Way.ONE_MEMBER: self.S & self.alive & -(self.S & self.alive),
            Way.CHECKPOINT: (self.front | self.back) & self.alive,
        }
        if way in sources:
            present = [process for process in members(sources[way]) if process < len(self.orders)]
            return [history_of(self.orders[process]) for process in present]
        if way is Way.NOBODY:
            return [History()]  # none at all is refused
        failed = [process for process in self.failed if process in self.memories]
        if way is Way.LAST_STABLE:
            failed = failed[-1:]
        return [History.from_bytes(self.memories[process].stored) for process in failed]

    def install(self) -> None:
        """All that are alive learn of the newcomer and of the new separator."""
        membership = Membership(len(self.links))
        for process in members(self.alive):
            order, surroundings = self.orders[process], self._surroundings(process)
            if process in self.keepers:
                self.orders[process], _ = hand_over(order, membership, surroundings)
                self.keepers[process].order = self.orders[process]
            else:
                self.orders[process] = refit(order, membership, surroundings)

    def start(self, newcomer: int, histories: list[History]) -> None:
        membership = Membership(len(self.links))
        order = take_over(newcomer, membership, self._surroundings(newcomer), histories, OPTIONS)
        self.orders.append(order)
        self.memories[newcomer] = Slip()
        self.keepers[newcomer] = Remembering(order, self.memories[newcomer])
        self.alive |= 1 << newcomer

    # Judgement.

    def overtaken(self) -> list[str]:
        return [
            f"{second} overtakes {first} at {process}"
            for process, first, second in early(self.record)
        ]

    def missing(self) -> list[str]:
        """What somebody who is alive has not delivered."""
        delivered = {
            (event.process, event.message.id)
            for event in self.record.events
            if event.kind == "deliver"
        }
        return [
            f"{event.message.id} at {process}"
            for event in self.record.events
            if event.kind == "send"
            for process in members(event.message.destinations & self.alive)
            if (process, event.message.id) not in delivered
        ]
