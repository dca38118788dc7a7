"""Recoverable sites on a network under the test's control, for section 4.3 of Schiper, Eggli and
Sandoz, and a judge of what remains of a run after sites have failed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from antecede.message import Membership, Message, MessageId, process_set
from antecede.order import Transmit
from antecede.orders._rollback import Recoverable, time_of_failure
from antecede.orders.pairs import OrderingBuffers, PairsOptions
from tests.papers.harness import Flight, Flights


class Entry(NamedTuple):
    """One line of a notebook."""

    kind: str
    message: Message


class Notebook:
    """An application that writes down what it sends and what it gets: that is all its state."""

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.discarded: list[Message] = []
        self.rollbacks = 0

    def checkpoint(self) -> bytes:
        return msgspec.msgpack.encode(self.log)

    def roll_back(self, checkpoint: bytes) -> None:
        self.log = msgspec.msgpack.decode(checkpoint, type=list[Entry])
        self.rollbacks += 1

    def deliver(self, message: Message) -> None:
        self.log.append(Entry("deliver", message))

    def discard(self, message: Message) -> None:
        self.discarded.append(message)

    def entries(self, kind: str) -> list[Message]:
        return [entry.message for entry in self.log if entry.kind == kind]


class Lab(Flights):
    """Sites, what is in flight between them, and who has failed."""

    def __init__(self, size: int, **options: Any) -> None:
        super().__init__()
        membership = Membership(size)
        self.notebooks = [Notebook() for _ in range(size)]
        self.sites = [
            Recoverable(OrderingBuffers(site, membership, PairsOptions(**options)), notebook)
            for site, notebook in enumerate(self.notebooks)
        ]
        self.alive = list(range(size))
        self.times: dict[Message, int] = {}
        """Of each message, the entry of its sender in its time."""

    def send(self, site: int, *to: int) -> Message:
        notebook = self.notebooks[site]
        identity = MessageId(site, len(notebook.entries("send")) + 1)
        message = Message(identity, process_set(to), payload=str(len(self.times)).encode())
        effects = self.sites[site].send(message)
        notebook.log.append(Entry("send", message))
        self.times[message] = self.sites[site].order.state.time[site]
        for effect in effects:
            if isinstance(effect, Transmit):
                self.transmit(effect.packet, effect.to)
        return message

    def _take(self, message: Message, to: int) -> Flight:
        flight = self.find(to, message=message)
        self.in_flight.remove(flight)
        return flight

    def bring(self, message: Message, to: int) -> None:
        self.arrive(self._take(message, to))

    def lose(self, message: Message, to: int) -> None:
        self._take(message, to)

    def arrive(self, flight: Flight) -> None:
        self.sites[flight.to].receive(flight.packet)

    def crash(self, site: int) -> None:
        self.alive.remove(site)
        self.lose_all(site)

    def flush(self) -> None:
        """Everything that is in flight arrives, the newest first."""
        while self.in_flight:
            self.arrive(self.in_flight.pop())

    def time_of_failure(self, failed: int, printed: bool = False) -> int:
        return time_of_failure([self.sites[site].report(failed) for site in self.alive], printed)

    def recover(self, failed: int, printed: bool = False) -> int:
        """The survivors agree on N and take back what depends on it."""
        first_void = self.time_of_failure(failed, printed)
        for site in self.alive:
            self.sites[site].recover(failed, first_void)
        self._cut_off(failed, first_void)
        return first_void

    def _cut_off(self, failed: int, first_void: int) -> None:
        """Of a failed site's notebook only the sends before N remain, and what precedes them."""
        notebook = self.notebooks[failed]
        sound = [
            entry.kind == "send" and self.times[entry.message] < first_void
            for entry in notebook.log
        ]
        notebook.log = notebook.log[: len(sound) - sound[::-1].index(True) if any(sound) else 0]

    def held(self) -> list[MessageId]:
        """What any survivor holds."""
        return [held.message for site in self.alive for held in self.sites[site].order.held()]

    def delivered(self, site: int) -> list[Message]:
        return self.notebooks[site].entries("deliver")

    def flaws(self) -> list[str]:
        """What is wrong with what remains: a delivery of a message that was not sent, or without
        its predecessors, judged by the notebooks alone."""
        pasts = _pasts([notebook.log for notebook in self.notebooks])
        found = []
        for site in self.alive:
            here: set[Message] = set()
            for message in self.delivered(site):
                if message.id.sender == site:
                    continue
                if message not in pasts:
                    found.append(f"{site} delivers {message.id}, which remains sent by nobody")
                    continue
                found += [
                    f"{site} delivers {message.id} without {first.id}"
                    for first in sorted(pasts[message] - here, key=lambda first: first.id)
                    if first.destinations >> site & 1 and first.id.sender != site
                ]
                here.add(message)
        return found


def _pasts(logs: Sequence[Sequence[Entry]]) -> dict[Message, set[Message]]:
    """Of every message in the logs, those whose sends happened before its own."""
    pasts: dict[Message, set[Message]] = {}
    positions = [0] * len(logs)
    known: list[set[Message]] = [set() for _ in logs]
    moved = True
    while moved:
        moved = False
        for site, log in enumerate(logs):
            while positions[site] < len(log):
                kind, message = log[positions[site]]
                if kind == "send":
                    pasts[message] = set(known[site])
                elif message.id.sender == site:  # a copy to oneself orders nothing
                    positions[site] += 1
                    continue
                elif message not in pasts:
                    break
                known[site] |= pasts[message] | {message}
                positions[site] += 1
                moved = True
    return pasts
