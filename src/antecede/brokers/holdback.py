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
waited for. There is no clock here: `now` is an argument, and grows.
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
        self.waiting = len(self.state.belated)
        """How many messages are here."""
        self._excuses = any(queue.excused for queue in self.state.queues.values())
        for lane, queue in self.state.queues.items():
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
        late = bool(queue.excused) and place in queue.excused
        item = Item(place, needs, content, now, state.turns, late)
        queue.last = place
        queue.heard = now
        items = queue.items
        items.append(item)
        if len(items) == 1:
            self._file(lane, queue, now)
            if lane in self._waiting:
                self._moved(lane, queue, now)
        elif len(items) >= self.patience.limit and not queue.paused:
            queue.paused = True
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
            queue.floor = place
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
        without = self._given_up(item)
        if items:
            self._file(lane, queue, now)
        else:
            queue.floor = queue.last
        if lane in self._waiting:
            self._moved(lane, queue, now)
        held_s = now - item.arrived
        return Deliver(lane, item.place, item.content, item.needs, held_s, item.late, without)

    def is_ready(self) -> bool:
        """Whether there is something to take."""
        return bool(self._ready or self.state.belated)

    def room(self, lane: Lane) -> list[Effect]:
        """After a message of a lane was taken: whether it may go on."""
        queue = self.state.queues.get(lane)
        if queue is not None and queue.paused and len(queue.items) <= self.patience.limit // 2:
            queue.paused = False
            return [Resume(lane)]
        return []

    # Waiting

    def reached(self, lane: Lane) -> int | None:
        """How far a lane is delivered; None where it is not read."""
        queue = self.state.queues.get(lane)
        if queue is None:
            return None
        return queue.items[0].place - 1 if queue.items else queue.floor

    def _unmet(self, item: Item) -> Iterator[Need]:
        """What a message still waits for, in the order of its needs."""
        for lane, place in item.needs if self.patience.hold else ():
            queue = self.state.queues.get(lane)
            if queue is not None and (self.reached(lane) or 0) < place not in queue.excused:
                yield lane, place

    def _given_up(self, item: Item) -> tuple[Need, ...]:
        """What a message names that has not been reached, and is excused."""
        if not self._excuses:
            return ()
        given_up: list[Need] = []
        queues = self.state.queues
        for lane, place in item.needs:
            queue = queues.get(lane)
            if queue is not None and (self.reached(lane) or 0) < place in queue.excused:
                given_up.append((lane, place))
        return tuple(given_up)

    def _file(self, lane: Lane, queue: Queue, now: float, begin: int = 0) -> None:
        """Look at the head of a lane, from one of its needs on: it is ready, or waits for the first
        place it lacks. What is reached stays so."""
        item = queue.items[0]
        if item.needs and self.patience.hold:
            queues = self.state.queues
            needs = item.needs
            for index in range(begin, len(needs)):
                awaited, place = needs[index]
                other = queues.get(awaited)
                if other is None:
                    continue  # Nobody reads it here.
                if (other.items[0].place - 1 if other.items else other.floor) < place:
                    if place in other.excused:
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
        reached = queue.items[0].place - 1 if queue.items else queue.floor
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
        return min(times, default=None)

    def wake(self, now: float) -> list[Effect]:
        """Doubt what has been waited for long: ask the broker, or give up."""
        effects: list[Effect] = []
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
                self._excuse(awaited, lost)
                self._waiting.pop(lane)
                for _, blocked, index in sorted(waiting):
                    self._file(blocked, self.state.queues[blocked], now, index)
        return effects

    def _excuse(self, queue: Queue, places: list[int]) -> None:
        self._excuses = True
        for place in places:
            insort(queue.excused, place)
        del queue.excused[:-EXCUSED_AT_MOST]

    # For people and for the explorer

    def held(self) -> list[Held]:
        """What waits and for what: a head for places in other lanes, those behind it for the one
        before them, too."""
        held = []
        for lane, queue in sorted(self.state.queues.items()):
            before: list[Need] = []
            for item in queue.items:
                awaited = (*before, *self._unmet(item))
                if awaited:
                    held.append(Held(lane, item.place, awaited))
                before = [(lane, item.place)]
        return held
