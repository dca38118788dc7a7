"""What readers of lanes saw, as a trace.

Readers are processes, and so is every publisher (one life of one), as far as its stamps tell: it
published its messages in the order of their numbers, after it had got the messages whose places it
names. A place stands for all before it in its lane; readers see a lane in order, so an answer that
comes before one of those comes before the place named, too, and is counted once either way. What
carries no stamp is sent by a process of its lane that knows nothing. Without a log a lane is what
one publisher sends to one topic, and a process of its own: its stamps name the others.

Stamps that contradict each other (a forged one, a lane that was made anew) lose what they name, and
are counted.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from antecede.brokers.bus import Message
from antecede.brokers.stamps import TopicStamp, key_of
from antecede.errors import BrokenInvariant
from antecede.message import process_set
from antecede.trace import DELIVER, RECEIVE, SEND, Assumed, TraceWriter, encode_assumed

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
    past: tuple[tuple[Any, int], ...]
    """Lanes by key, and places."""
    time: float
    to: set[str] = field(default_factory=set)


class Record:
    """Collects what readers see; `write` makes a trace of it, in which a message is called by its
    lane and its place there, as `tell_place` writes it."""

    def __init__(self, tell_place: Callable[[int], str] = str) -> None:
        self._tell_place = tell_place
        self._readers: dict[str, dict[str, int]] = {}
        self._seen: dict[str, list[tuple[Name, float | None, float]]] = {}
        self._sent: dict[Name, _Sent] = {}
        self._lanes: dict[Any, str] = {}
        self._keys: dict[str, Any] = {}
        self._publishers: dict[int, list[Name]] = {}
        """What each has published in lanes; `write` names it after its first message."""
        self.unstamped = 0
        self.contradictions = 0
        """How much of what stamps name was left out, once written."""

    def reader(self, name: str, places: dict[str, int]) -> None:
        """A reader of these lanes, from after these places on; of others from what it sees first
        of them."""
        self._readers[name] = dict(places)
        self._seen[name] = []
        for lane in places:
            self._name(lane, key_of(lane))

    def _name(self, lane: str, key: Any) -> None:
        self._lanes[key] = lane
        self._keys[lane] = key

    def see(
        self, reader: str, message: Message, at_s: float, received_s: float | None = None
    ) -> None:
        """The reader's application got this message at this time (seconds since 1970), its client
        at the other."""
        name = (message.lane, message.place)
        self._seen[reader].append((name, received_s, at_s))
        places = self._readers[reader]
        places[message.lane] = min(message.place - 1, places.get(message.lane, message.place - 1))
        if name in self._sent:
            return
        time = at_s if message.published_s is None else min(message.published_s, at_s)
        if message.stamp is None:
            self.unstamped += 1
            self._sent[name] = _Sent(f"{message.lane}, unstamped", message.place, (), time)
        elif isinstance(stamp := message.stamp, TopicStamp):
            self._name(message.lane, (key_of(message.topic), stamp.publisher))
            past = tuple([((topic, other), number) for topic, other, number in stamp.front])
            self._sent[name] = _Sent(message.lane, stamp.number, past, time)
        else:
            self._publishers.setdefault(stamp.publisher, []).append(name)
            self._sent[name] = _Sent("", stamp.number, stamp.past, time)

    def __len__(self) -> int:
        return len(self._sent)

    def skipped(self) -> int:
        """Without a log: how many numbers of publishers lie between others that were seen, and were
        not. In a log places may well be left out."""
        numbers: dict[str, list[int]] = {}
        for lane, place in self._sent:
            if isinstance(self._keys.get(lane), tuple):
                numbers.setdefault(lane, []).append(place)
        return sum(max(seen) - min(seen) + 1 - len(seen) for seen in numbers.values())

    def write(self, path: Path, run: str, *, force: bool = False) -> None:
        """The trace of all that was seen."""
        self._name_publishers()
        events = self._events()
        names = sorted(events)
        index = {name: number for number, name in enumerate(names)}
        numbers = self._numbers()
        begin = min((sent.time for sent in self._sent.values()), default=0.0)
        metadata = {"recorded": "what readers of a broker saw; times are those of several clocks"}
        ordered = list(self._extension(events))  # It may find contradictions.
        metadata |= encode_assumed(self._assumed())
        called = {
            (index[sent.process], numbers[name]): f"{name[0]} {self._tell_place(name[1])}"
            for name, sent in self._sent.items()
        }
        with TraceWriter(path, run, names, metadata, force=force, called=called) as writer:
            for process, event in ordered:
                message = event.message
                sent = self._sent[message]
                time = event.time - begin
                if event.kind == SEND:
                    to = process_set(index[name] for name in sent.to)
                    writer.send(index[process], numbers[message], time, to)
                else:
                    feed = writer.receive if event.kind == RECEIVE else writer.deliver
                    feed(index[process], index[sent.process], numbers[message], time)

    def _name_publishers(self) -> None:
        """Names that depend on what was seen, not on the order in which it was: two records of the
        same messages are of the same processes."""
        first = [
            (min(names, key=lambda name: (self._sent[name].number, name)), names)
            for names in self._publishers.values()
        ]
        for count, ((lane, _), names) in enumerate(sorted(first), 1):
            for name in names:
                self._sent[name].process = f"publisher {count} ({lane})"

    def _assumed(self) -> list[Assumed]:
        depend = "what they depend on is not known"
        found = [
            Assumed("unstamped", "messages had no stamp", depend, self.unstamped),
            Assumed("dropped", "messages reached no reader", depend, self.skipped()),
            Assumed(
                "contradictions",
                "stamps name what cannot be: forged, or of a lane that was made anew",
                "what they name was left out",
                self.contradictions,
            ),
        ]
        return [one for one in found if one.count]

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
                if not any(past.get(self._keys[lane], 0) >= place for lane, place in others):
                    ordered.append(name)
                    left.remove(name)
                    break
            else:
                self.contradictions += 1
                left.pop()
        return ordered

    def _extension(self, events: dict[str, list[Event]]) -> Iterator[tuple[str, Event]]:
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
            if not runnable and waiting:
                stuck = self._contradicted(waiting)
                places[stuck] += 1
                runnable.append(stuck)

    def _contradicted(self, waiting: dict[Name, list[str]]) -> str:
        """Publishers wait for each other in a circle: one of them has not got what it names."""
        for message, processes in waiting.items():
            for process in processes:
                if process not in self._readers:
                    self.contradictions += 1
                    self._sent[message].to.discard(process)
                    processes.remove(process)
                    if not processes:
                        del waiting[message]
                    return process
        raise BrokenInvariant("what readers saw was never sent")
