"""The messages of a run that are on their way, and the copies that wait at processes."""

from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from antecede.message import MessageId, ProcessSet
from antecede.simulate.excuses import Left
from antecede.simulate.links import Fate


class Flight(msgspec.Struct, gc=False):
    """A message on its way: who has not received it, and who holds it without having delivered
    it."""

    unreceived: ProcessSet
    held: ProcessSet
    sent: float
    tag: int
    destinations: ProcessSet
    fates: dict[int, Fate] | None = None
    """What will happen to the copies that the protocol has not transmitted yet."""

    def left(self, message: MessageId) -> Left:
        """Its state at the end of a run."""
        delivered = self.destinations & ~self.unreceived & ~self.held
        return Left(message, self.unreceived, self.held, delivered)


class Flights:
    """All messages on their way. Where deliveries may be taken back (`keeps_all`), those that have
    arrived everywhere are remembered, too."""

    def __init__(self, processes: int, keeps_all: bool) -> None:
        self.outstanding: dict[MessageId, Flight] = {}
        """Those that are not delivered everywhere among the living."""
        self.arrived: list[dict[MessageId, float]] = [{} for _ in range(processes)]
        """By process, the held messages and when they arrived."""
        self.for_crashed = 0
        """Copies that nobody waits for any more, since their destinations have crashed."""
        self._keeps_all = keeps_all
        self._all: dict[MessageId, Flight] = {}
        self._for_crashed: Counter[MessageId] = Counter()
        """How many copies of each message were for crashed processes, where all are kept."""

    def start(
        self, message: MessageId, destinations: ProcessSet, dead: ProcessSet, now: float, tag: int
    ) -> Flight:
        """A message is sent; its own copy is at the sender already."""
        own = destinations & 1 << message.sender
        others = destinations ^ own
        self._count_for_crashed(message, (others & dead).bit_count())
        flight = Flight(others & ~dead, own, now, tag, destinations)
        if self._keeps_all:
            self._all[message] = flight
        if flight.unreceived | own:
            self.outstanding[message] = flight
        return flight

    def crash(self, process: int) -> None:
        """Nobody waits any more for what the process has not delivered."""
        self.arrived[process].clear()
        bit = 1 << process
        for message, flight in list(self.outstanding.items()):
            if (flight.unreceived | flight.held) & bit:
                self._count_for_crashed(message, message.sender != process)
                flight.unreceived &= ~bit
                flight.held &= ~bit
                if not flight.unreceived and not flight.held:
                    del self.outstanding[message]

    def take_back(
        self,
        process: int,
        void: Iterable[MessageId],
        arrived: Mapping[MessageId, float],
    ) -> None:
        """Messages that are void from now on were never sent; the others whose delivery is taken
        back are held again."""
        for message in void:
            flight = self._all[message]
            flight.unreceived = flight.held = 0
            self.outstanding.pop(message, None)
            self.for_crashed -= self._for_crashed.pop(message, 0)
            for held in self.arrived:
                held.pop(message, None)
        for message, time in arrived.items():
            self._all[message].held |= 1 << process
            self.outstanding[message] = self._all[message]
            self.arrived[process][message] = time

    def left(self) -> list[Left]:
        return [flight.left(message) for message, flight in self.outstanding.items()]

    def _count_for_crashed(self, message: MessageId, copies: int) -> None:
        self.for_crashed += copies
        if self._keeps_all:
            self._for_crashed[message] += copies
