"""What readers of lanes saw, as a trace.

Readers are processes, and so is every publisher (one life of one), as far as its stamps tell: it
published its messages in the order of their numbers, after it had got the messages whose places it
names. A place stands for all before it in its lane; readers see a lane in order, so an answer that
comes before one of those comes before the place named, too, and is counted once either way. What
carries no stamp is sent by a process of its lane that knows nothing.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from antecede.brokers.bus import Message
from antecede.brokers.stamps import key_of
from antecede.errors import BadInput
from antecede.message import process_set
from antecede.trace import DELIVER, RECEIVE, SEND, TraceWriter

Name = tuple[str, int]
"""(lane, place): the identity of a message."""


class Event(NamedTuple):
    kind: int
    message: Name
    time: float


@dataclass
class _Sent:
    """What is known of a message."""

    process: str
    number: int
    past: tuple[tuple[int, int], ...]
    time: float
    to: set[str] = field(default_factory=set)


class Record:
    """Collects what readers see; `write` makes a trace of it."""

    def __init__(self) -> None:
        self._readers: dict[str, dict[str, int]] = {}
        self._seen: dict[str, list[tuple[Name, float | None, float]]] = {}
        self._sent: dict[Name, _Sent] = {}
        self._lanes: dict[int, str] = {}
        self._publishers: dict[int, str] = {}
        """Named after the lane of the first message of theirs that was seen."""
        self.unstamped = 0

    def reader(self, name: str, places: dict[str, int]) -> None:
        """A reader of these lanes, from after these places on."""
        self._readers[name] = places
        self._seen[name] = []
        for lane in places:
            self._lanes[key_of(lane)] = lane

    def see(
        self, reader: str, message: Message, at_s: float, received_s: float | None = None
    ) -> None:
        """The reader's application got this message at this time (seconds since 1970), its client
        at the other."""
        name = (message.lane, message.place)
        self._seen[reader].append((name, received_s, at_s))
        if name in self._sent:
            return
        time = at_s if message.published_s is None else min(message.published_s, at_s)
        if message.stamp is None:
            self.unstamped += 1
            self._sent[name] = _Sent(f"{message.lane}, unstamped", message.place, (), time)
        else:
            stamp = message.stamp
            process = self._publishers.setdefault(
                stamp.publisher, f"{message.lane} by {len(self._publishers) + 1}"
            )
            self._sent[name] = _Sent(process, stamp.number, stamp.past, time)

    def __len__(self) -> int:
        return len(self._sent)

    def write(self, path: Path, run: str, *, force: bool = False) -> None:
        """The trace of all that was seen."""
        events = self._events()
        names = sorted(events)
        index = {name: number for number, name in enumerate(names)}
        numbers = self._numbers()
        begin = min((sent.time for sent in self._sent.values()), default=0.0)
        metadata = {"recorded": "what readers of a broker saw; times are those of several clocks"}
        with TraceWriter(path, run, names, metadata, force=force) as writer:
            for process, event in _extension(events):
                message = event.message
                sent = self._sent[message]
                time = event.time - begin
                if event.kind == SEND:
                    to = process_set(index[name] for name in sent.to)
                    writer.send(index[process], numbers[message], time, to)
                else:
                    feed = writer.receive if event.kind == RECEIVE else writer.deliver
                    feed(index[process], index[sent.process], numbers[message], time)

    def _numbers(self) -> dict[Name, int]:
        """Messages of each publisher, counted from 1: some may not have been seen."""
        numbers: dict[Name, int] = {}
        counts: dict[str, int] = {}
        for name, sent in sorted(self._sent.items(), key=lambda item: item[1].number):
            counts[sent.process] = counts.get(sent.process, 0) + 1
            numbers[name] = counts[sent.process]
        return numbers

    def _events(self) -> dict[str, list[Event]]:
        """The events of each process, in its own order."""
        events: dict[str, list[Event]] = {}
        for reader, places in self._readers.items():
            events[reader] = list(self._reader_events(reader))
            for (lane, place), sent in self._sent.items():
                if lane in places and place > places[lane]:
                    sent.to.add(reader)
        by_process: dict[str, list[Name]] = {}
        for name, sent in sorted(self._sent.items(), key=lambda item: item[1].number):
            by_process.setdefault(sent.process, []).append(name)
        for process, names in by_process.items():
            events[process] = list(self._publisher_events(process, names))
        return events

    def _reader_events(self, reader: str) -> Iterator[Event]:
        """Receptions where something was held, and deliveries, by time."""
        rows = []
        for order, (name, received, delivered) in enumerate(self._seen[reader]):
            if received is not None:
                rows.append((received, 0, order, Event(RECEIVE, name, received)))
            rows.append((delivered, 1, order, Event(DELIVER, name, delivered)))
        last = -math.inf
        deliveries = iter([row[3] for row in rows if row[1]])
        for row in sorted(rows, key=lambda row: row[:3]):
            # Deliveries in the order in which they happened, whatever the clock says.
            event = next(deliveries) if row[1] else row[3]
            last = max(last, event.time)
            yield event._replace(time=last)

    def _publisher_events(self, process: str, names: Iterable[Name]) -> Iterator[Event]:
        known: dict[str, int] = {}
        for name in names:
            sent = self._sent[name]
            fresh = []
            for key, place in sent.past:
                lane = self._lanes.get(key)
                if lane is None or place <= known.get(lane, 0):
                    continue
                known[lane] = place
                other = self._sent.get((lane, place))
                if other is not None and other.process != process:
                    fresh.append((lane, place))
            for got in self._in_causal_order(fresh):
                self._sent[got].to.add(process)
                yield Event(DELIVER, got, sent.time)
            known[name[0]] = max(name[1], known.get(name[0], 0))
            yield Event(SEND, name, sent.time)

    def _in_causal_order(self, names: list[Name]) -> list[Name]:
        """Messages that one stamp names, each after those that it depends on."""
        ordered: list[Name] = []
        left = list(names)
        while left:
            for name in left:
                past = dict(self._sent[name].past)
                others = [other for other in left if other != name]
                if not any(past.get(key_of(lane), 0) >= place for lane, place in others):
                    ordered.append(name)
                    left.remove(name)
                    break
            else:
                raise BadInput(f"the stamps of {left} depend on each other")
        return ordered


def _extension(events: dict[str, list[Event]]) -> Iterator[tuple[str, Event]]:
    """All events, sends before their deliveries, each process in its own order."""
    places = dict.fromkeys(events, 0)
    sent: set[Name] = set()
    waiting: dict[Name, list[str]] = {}
    runnable = sorted(events, reverse=True)
    while runnable:
        process = runnable.pop()
        own = events[process]
        while places[process] < len(own):
            event = own[places[process]]
            if event.kind != SEND and event.message not in sent:
                waiting.setdefault(event.message, []).append(process)
                break
            places[process] += 1
            yield process, event
            if event.kind == SEND:
                sent.add(event.message)
                runnable += waiting.pop(event.message, [])
    if waiting:
        lane, place = next(iter(waiting))
        raise BadInput(f"{lane}:{place}: its stamp names something that depends on it")
