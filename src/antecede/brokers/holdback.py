"""What lanes and numbers share: queues in order of place, of which only the heads wait.

A *lane* is a sequence of messages that a reader gets in the order of their *places* (integers that
grow, with gaps where messages are filtered out or deleted). A message *needs* places in lanes: it
is delivered only when each of these lanes, where this reader reads it, has been delivered up to the
place named.

*Reached*: a lane has reached place p when all that this reader will ever get of it up to p has been
delivered. That is so up to the place before the first message that waits, or, where none waits, up
to the lane's `floor`, which grows by deliveries and by word from the broker that nothing is there.

Only the head of a lane is looked at: it is filed under the first place that it needs and that is
not reached, and looked at again when that lane has moved. Among the heads that need nothing the one
that arrived first is delivered first.

*Patience*: a wait for a lane whose queue is empty is doubted after `probe_s`: the broker is asked
how far the lane goes (`Probe`). When nothing has been heard of the lane for `patience_s`, the place
is given up, and told (`Missing`). It is excused by itself: smaller places of the lane are still
waited for. Heads that wait for each other in a circle cannot all tell the truth (docs/brokers.md):
one of them goes without, whatever patience says. There is no clock here: `now` is an argument, and
grows.
"""

from bisect import insort
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from typing import Any

import msgspec

from antecede.errors import Misuse

Lane = int | tuple[int, int]
Need = tuple[Lane, int]
"""(lane, place): what must have been reached."""
_UNREAD = 1 << 80
"""How far a lane is that is not read here: nobody waits for it."""
EXCUSED_AT_MOST = 1_000
"""Places given up that a lane remembers. An older one would be waited for again, that is all."""


class Item(msgspec.Struct, array_like=True, gc=False):
    """A message that has arrived and is not delivered."""

    place: int
    needs: tuple[Need, ...]
    content: Any
    arrived: float
    turn: int
    """Counts the arrivals of this reader."""
    late: bool = False


class Queue(msgspec.Struct, array_like=True):
    """What a reader knows of one lane."""

    floor: int
    """Where nothing waits: how far the lane has been delivered, or is known to be empty."""
    last: int
    """The place of the last arrival, at least `floor`: whatever comes again is dropped."""
    heard: float
    """When the lane last moved, or was found to be about to."""
    items: list[Item] = []
    excused: list[int] = []
    """Places given up, in increasing order."""
    since: float = 0.0
    """Since when the head waits for what it waits for now."""
    probed: float = 0.0
    """When the broker was last asked on behalf of the head."""
    paused: bool = False


class State(msgspec.Struct, array_like=True):
    """All that the hold-back knows."""

    queues: dict[Lane, Queue] = {}
    turns: int = 0
    belated: list[tuple[Lane, Item]] = []
    """Messages that were given up and came after all: delivered before anything else."""


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand this message to the application."""

    lane: Any
    place: int
    content: Any
    needs: tuple[tuple[Any, int], ...] = ()
    """What it names, of whatever lanes."""
    held_s: float = 0.0
    """How long the message was here, whatever it waited for."""
    late: bool = False
    """It came after it had been given up: something that depends on it may have been delivered."""
    without: tuple[tuple[Any, int], ...] = ()
    """What was given up so that this message could be delivered."""


class Missing(msgspec.Struct, frozen=True, gc=False):
    """Tell: a place that a message names did not come, and is no longer waited for."""

    lane: Any
    place: int
    waited_s: float


class Probe(msgspec.Struct, frozen=True, gc=False):
    """Ask the broker what there is in this lane after a place; answer with `probed`."""

    lane: Any
    after: int
    wanted: int


class Pause(msgspec.Struct, frozen=True, gc=False):
    """Take no more from this lane for now: too much of it waits here."""

    lane: Any


class Resume(msgspec.Struct, frozen=True, gc=False):
    """Take from this lane again."""

    lane: Any


Effect = Deliver | Missing | Probe | Pause | Resume


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How a reader waits."""

    patience_s: float | None = None
    """After how long a place that does not come is given up; None: never."""
    probe_s: float | None = 0.25
    """After how long, and how often, the broker is asked about a place; None: never."""
    limit: int = 1_000
    """How many messages of a lane may wait before the lane is paused."""
    hold: bool = True
    """False: nothing waits, messages are delivered as they arrive; stamps are read and made all the
    same."""


class Held(msgspec.Struct, frozen=True):
    """A message that waits, and all that it waits for."""

    lane: Any
    place: int
    awaited: tuple[tuple[Any, int], ...]


class HoldBack:
    """The queues of one reader. Inputs return effects as data."""

    def __init__(self, patience: Patience, state: State | None = None) -> None:
        if patience.limit < 2:
            raise Misuse(f"limit is {patience.limit}; let at least 2 messages of a lane wait")
        self.patience = patience
        self.state = State() if state is None else state
        self.resume()

    def resume(self) -> None:
        """Derive the indices from `state`."""
        self._ready: list[tuple[int, Lane]] = []
        self._waiting: dict[Lane, list[tuple[int, Lane, int]]] = {}
        """For each lane the heads that wait for it: place, whose head, and which of its needs."""
        queues = self.state.queues
        self._reached = {lane: _reached(queue) for lane, queue in queues.items()}
        self.waiting = len(self.state.belated)
        """How many messages are here."""
        self._excuses = any(queue.excused for queue in queues.values())
        self._pauses = sum(queue.paused for queue in queues.values())
        for lane, queue in queues.items():
            self.waiting += len(queue.items)
            if queue.items:
                self._file(lane, queue, queue.since)
        heapify(self._ready)

    # Which lanes are read

    def open(self, lane: Lane, floor: int, now: float) -> None:
        """Read this lane, from after this place on."""
        self.state.queues[lane] = Queue(floor, floor, now)
        self.resume()

    def close(self, lane: Lane) -> None:
        """Read this lane no more; what waits of it is forgotten, and nobody waits for it."""
        self.state.queues.pop(lane, None)
        self.resume()

    # What happens

    def arrive(
        self, lane: Lane, place: int, needs: tuple[Need, ...], content: Any, now: float
    ) -> list[Effect]:
        """The broker hands over the next message of a lane. What was here before is dropped."""
        state = self.state
        queue = state.queues.get(lane)
        if queue is None:
            raise Misuse(f"lane {lane} is not read here")
        if place <= queue.last:
            return []
        state.turns += 1
        self.waiting += 1
        late = place in queue.excused if queue.excused else False
        queue.last = place
        queue.heard = now
        items = queue.items
        items.append(Item(place, needs, content, now, state.turns, late))
        if len(items) == 1:
            self._reached[lane] = place - 1
            self._file(lane, queue, now)
            if lane in self._waiting:
                self._moved(lane, queue, now)
        elif len(items) >= self.patience.limit and not queue.paused:
            queue.paused = True
            self._pauses += 1
            return [Pause(lane)]
        return []

    def belated(self, lane: Lane, place: int, content: Any, now: float) -> None:
        """A message that was given up has come: it waits for nothing."""
        self.state.turns += 1
        self.waiting += 1
        item = Item(place, (), content, now, self.state.turns, late=True)
        self.state.belated.append((lane, item))

    def advance(self, lane: Lane, place: int, now: float) -> None:
        """All that there is of a lane up to this place has arrived."""
        queue = self.state.queues.get(lane)
        if queue is None or place <= queue.last:
            return
        queue.last = place
        queue.heard = now
        if not queue.items:
            self._reached[lane] = queue.floor = place
            self._moved(lane, queue, now)

    def probed(self, lane: Lane, following: int | None, end: int, now: float) -> None:
        """The broker's answer: the lane goes as far as place `end`, and the next message for this
        reader is at `following`; None: there is none up to the end."""
        queue = self.state.queues.get(lane)
        if queue is None:
            return
        if following is not None and following <= end:
            queue.heard = now  # It is on its way.
            end = following - 1
        self.advance(lane, end, now)

    def take(self, now: float) -> Deliver | None:
        """The next message for the application, if there is one; after it call `room`."""
        state = self.state
        if state.belated:
            lane, item = state.belated.pop(0)
            self.waiting -= 1
            return Deliver(lane, item.place, item.content, late=True)
        if not self._ready:
            return None
        lane = heappop(self._ready)[1]
        queue = state.queues[lane]
        items = queue.items
        item = items.pop(0)
        self.waiting -= 1
        without = self._given_up(lane, item) if self._excuses else ()
        if items:
            self._reached[lane] = items[0].place - 1
            self._file(lane, queue, now)
        else:
            self._reached[lane] = queue.floor = queue.last
        if lane in self._waiting:
            self._moved(lane, queue, now)
        held_s = now - item.arrived
        return Deliver(lane, item.place, item.content, item.needs, held_s, item.late, without)

    def is_ready(self) -> bool:
        """Whether there is something to take."""
        return bool(self._ready or self.state.belated)

    def room(self, lane: Lane) -> list[Effect]:
        """After a message of a lane was taken: whether it may go on."""
        if not self._pauses:
            return []
        queue = self.state.queues.get(lane)
        if queue is not None and queue.paused and len(queue.items) <= self.patience.limit // 2:
            queue.paused = False
            self._pauses -= 1
            return [Resume(lane)]
        return []

    # Waiting

    def reached(self, lane: Lane) -> int | None:
        """How far a lane is delivered; None where it is not read."""
        return self._reached.get(lane)

    def _unmet(self, lane: Lane, item: Item) -> Iterator[Need]:
        """What a message of a lane still waits for, in the order of its needs."""
        for awaited, place in item.needs if self.patience.hold else ():
            is_unmet = self._reached.get(awaited, _UNREAD) < place and awaited != lane
            if is_unmet and place not in self.state.queues[awaited].excused:
                yield awaited, place

    def _given_up(self, lane: Lane, item: Item) -> tuple[Need, ...]:
        """What a message of a lane names that has not been reached, and is excused."""
        given_up: list[Need] = []
        for awaited, place in item.needs:
            is_unmet = self._reached.get(awaited, _UNREAD) < place and awaited != lane
            if is_unmet and place in self.state.queues[awaited].excused:
                given_up.append((awaited, place))
        return tuple(given_up)

    def _file(self, lane: Lane, queue: Queue, now: float, begin: int = 0) -> None:
        """Look at the head of a lane, from one of its needs on: it is ready, or waits for the first
        place it lacks. What is reached stays so. Its own lane is in order by itself."""
        item = queue.items[0]
        if item.needs and self.patience.hold:
            reached = self._reached.get
            needs = item.needs[begin:] if begin else item.needs
            for index, (awaited, place) in enumerate(needs, begin):
                if reached(awaited, _UNREAD) < place and awaited != lane:
                    if place in self.state.queues[awaited].excused:
                        continue
                    heappush(self._waiting.setdefault(awaited, []), (place, lane, index))
                    queue.since = queue.probed = now
                    return
        heappush(self._ready, (item.turn, lane))

    def _moved(self, lane: Lane, queue: Queue, now: float) -> None:
        """A lane has come further: look again at the heads that waited for that."""
        waiting = self._waiting.get(lane)
        if not waiting:
            return
        reached = self._reached[lane]
        while waiting and waiting[0][0] <= reached:
            _, freed, index = heappop(waiting)
            self._file(freed, self.state.queues[freed], now, index + 1)
        if not waiting:
            del self._waiting[lane]

    # Time

    def due(self) -> float | None:
        """When `wake` has something to do at the earliest, as things stand."""
        patience = self.patience
        times = []
        for lane, waiting in self._waiting.items():
            awaited = self.state.queues[lane]
            if awaited.items:
                continue  # Its own head waits for something else: that is what is doubted.
            for _, blocked, _ in waiting:
                queue = self.state.queues[blocked]
                if patience.probe_s is not None:
                    times.append(queue.probed + patience.probe_s)
                if patience.patience_s is not None:
                    times.append(max(queue.since, awaited.heard) + patience.patience_s)
        times += [self._broken_at(circle) for circle in self._circles()]
        return min(times, default=None)

    def wake(self, now: float) -> list[Effect]:
        """Doubt what has been waited for long: ask the broker, or give up."""
        effects: list[Effect] = self._break_circles(now)
        patience = self.patience
        for lane, waiting in sorted(self._waiting.items()):
            awaited = self.state.queues[lane]
            if awaited.items:
                continue
            lost = []
            asked = False
            for place, blocked, _ in sorted(waiting):
                queue = self.state.queues[blocked]
                waited_s = now - max(queue.since, awaited.heard)
                if patience.patience_s is not None and waited_s >= patience.patience_s:
                    if place not in lost:
                        lost.append(place)
                        effects.append(Missing(lane, place, now - queue.since))
                elif patience.probe_s is not None and now - queue.probed >= patience.probe_s:
                    queue.probed = now
                    if not asked:
                        effects.append(Probe(lane, awaited.floor, max(waiting)[0]))
                    asked = True
            if lost:
                self._excuse(lane, lost, now)
        return effects

    def _excuse(self, lane: Lane, places: list[int], now: float) -> None:
        """Nobody waits for these places of a lane any longer."""
        self._excuses = True
        excused = self.state.queues[lane].excused
        for place in places:
            insort(excused, place)
        del excused[:-EXCUSED_AT_MOST]
        for _, blocked, index in sorted(self._waiting.pop(lane)):
            self._file(blocked, self.state.queues[blocked], now, index)

    def _circles(self) -> list[list[Lane]]:
        """Lanes whose heads wait for each other: with true stamps there are none."""
        awaits = {
            blocked: lane for lane, waiting in self._waiting.items() for _, blocked, _ in waiting
        }
        circles = []
        seen: set[Lane] = set()
        for start in sorted(awaits):
            path: dict[Lane, None] = {}
            at: Lane | None = start
            while at is not None and at not in seen:
                seen.add(at)
                path[at] = None
                at = awaits.get(at)
            if at in path:
                lanes = list(path)
                circles.append(lanes[lanes.index(at) :])
        return circles

    def _broken_at(self, circle: list[Lane]) -> float:
        """When a circle has lasted long enough: what arrives meanwhile may mend it."""
        patience = self.patience
        wait_s = patience.patience_s if patience.probe_s is None else patience.probe_s
        return max(self.state.queues[lane].since for lane in circle) + (wait_s or 0.0)

    def _break_circles(self, now: float) -> list[Effect]:
        """In each circle the head that arrived first goes without what it waits for."""
        effects: list[Effect] = []
        for circle in self._circles():
            if now < self._broken_at(circle):
                continue
            first = min(circle, key=lambda lane: self.state.queues[lane].items[0].turn)
            for lane in circle:
                for place, blocked, _ in self._waiting.get(lane, ()):
                    if blocked == first:
                        effects.append(Missing(lane, place, now - self.state.queues[first].since))
                        self._excuse(lane, [place], now)
                        break
        return effects

    # For people and for the explorer

    def held(self) -> list[Held]:
        """What waits and for what: a head for places in other lanes, those behind it for the one
        before them, too."""
        held = []
        for lane, queue in sorted(self.state.queues.items()):
            before: list[Need] = []
            for item in queue.items:
                awaited = (*before, *self._unmet(lane, item))
                if awaited:
                    held.append(Held(lane, item.place, awaited))
                before = [(lane, item.place)]
        return held


def _reached(queue: Queue) -> int:
    return queue.items[0].place - 1 if queue.items else queue.floor
