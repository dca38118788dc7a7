"""Causal order over brokers with a log: a stamp names places.

A broker's log (a Redis stream, a JetStream stream, a Kafka partition) is a *lane*: every message
has a place in it, and every reader reads it in the order of places. A publisher's *past* is one
place a lane: the last that it has read there, has published there, or has heard of through the
stamps of what it read. A message carries its publisher's past. A reader delivers the head of a lane
once each lane that it reads itself has been delivered up to the place named (`holdback`).

No reader has a number, nobody keeps a list of members, and a new reader needs nothing but a place
to start from in each lane. What a group has committed (`Frontier`) is all that it needs to resume.

Rules, and why they are there (proofs in docs/brokers.md):

L1. A publisher that changes lanes waits until all it has published in other lanes has its place
    (`blockers`): otherwise the stamp could not name it.
L2. Reading a message adds its place *and* its stamp to the past, lanes that this reader does not
    read included: the message may be passed on to somebody who reads them.
L3. When it is not known whether something was published (a timeout), the end of that lane becomes
    part of the past before anything is published elsewhere.
L4. Of a place that was given up nothing enters the past: a wrong stamp does not spread.
"""

from typing import Any

import msgspec

from antecede.brokers.holdback import Deliver, Effect, Held, HoldBack, Patience
from antecede.brokers.holdback import State as Queues
from antecede.brokers.stamps import Keys, LaneStamp
from antecede.errors import Misuse
from antecede.snapshot import freeze, thaw


class Frontier(msgspec.Struct, frozen=True):
    """How far a reader has come: what a durable one stores, and resumes from."""

    places: dict[str, int]
    """For each lane that it reads the place up to which all is processed."""
    past: dict[int, int]
    """For each lane that it knows of, by key, the last place in its past."""


class State(msgspec.Struct, array_like=True):
    """All that a reader and publisher knows of its lanes."""

    publisher: int
    number: int
    """How many messages it has published."""
    past: dict[int, int]
    flying: dict[int, int]
    """For each lane how much of what was published there has no place yet."""
    doubtful: set[int]
    """Lanes where something was published, or not."""
    queues: Queues


class Lanes:
    """One reader and publisher. `publisher` is a random number that nobody else has."""

    def __init__(
        self,
        publisher: int,
        patience: Patience | None = None,
        past: dict[int, int] | None = None,
    ) -> None:
        self.keys = Keys()
        self._holdback = HoldBack(patience or Patience())
        self.state = State(publisher, 0, dict(past or {}), {}, set(), self._holdback.state)

    # Reading

    def open(self, lane: str, after: int, now: float = 0.0) -> None:
        """Read this lane, from after this place on."""
        self._holdback.open(self.keys.add(lane), after, now)

    def close(self, lane: str) -> None:
        """Read this lane no more: somebody else does."""
        self._holdback.close(self.keys.add(lane))

    def arrive(
        self, lane: str, place: int, stamp: LaneStamp | None, content: Any, now: float = 0.0
    ) -> list[Effect]:
        """The broker hands over the next message of a lane; one without a stamp needs nothing."""
        needs = () if stamp is None else stamp.past
        effects = self._holdback.arrive(self.keys.add(lane), place, needs, content, now)
        return self._named(effects) if effects else effects

    def advance(self, lane: str, place: int, now: float = 0.0) -> None:
        """All that there is of a lane up to this place has arrived."""
        self._holdback.advance(self.keys.add(lane), place, now)

    def probed(self, lane: str, following: int | None, end: int, now: float = 0.0) -> None:
        """The broker's answer to a `Probe`: the lane's last place, and the place of the next
        message for this reader, if there is one."""
        self._holdback.probed(self.keys.add(lane), following, end, now)

    def unanswered(self, lane: str, now: float) -> None:
        """The broker cannot be asked now: what is in this lane may well be on its way."""
        queue = self.state.queues.queues.get(self.keys.add(lane))
        if queue is not None:
            queue.heard = now

    def take(self, now: float = 0.0) -> tuple[Deliver | None, list[Effect]]:
        """The next message for the application, if one is ready, which becomes part of the past.
        Its lane and what it goes without are told by key (`keys.name`)."""
        taken = self._holdback.take(now)
        if taken is None:
            return None, []
        past = self.state.past
        known = past.get
        for key, place in taken.needs:
            if place > known(key, 0) and (key, place) not in taken.without:  # L2, L4
                past[key] = place
        lane = taken.lane
        if taken.place > known(lane, 0):
            past[lane] = taken.place
        effects = self._holdback.room(lane)
        return taken, self._named(effects) if effects else effects

    def due(self) -> float | None:
        """When to call `wake`."""
        return self._holdback.due()

    def wake(self, now: float) -> list[Effect]:
        """Doubt what has been waited for long."""
        return self._named(self._holdback.wake(now))

    def _named(self, effects: list[Effect]) -> list[Effect]:
        """Effects outside speak of lanes by their names."""
        if not effects:
            return effects
        replace, name = msgspec.structs.replace, self.keys.name
        return [replace(effect, lane=name(effect.lane)) for effect in effects]

    def frontier(self) -> Frontier:
        """How far it has come with what was taken so far."""
        reached = self._holdback.reached
        lanes = sorted(self.state.queues.queues)
        places = {self.keys.name(lane): reached(lane) or 0 for lane in lanes}
        return Frontier(places, dict(self.state.past))

    def held(self) -> list[Held]:
        """What waits, and for which place of which lane."""
        name = self.keys.name
        return [
            Held(name(one.lane), one.place, tuple([(name(k), place) for k, place in one.awaited]))
            for one in self._holdback.held()
        ]

    # Publishing

    def blockers(self, lane: str) -> list[str]:
        """The other lanes that must be settled before a message is published in this one (L1,
        L3)."""
        here = self.keys.add(lane)
        state = self.state
        return [self.keys.name(key) for key in sorted({*state.flying, *state.doubtful} - {here})]

    def is_doubtful(self, lane: str) -> bool:
        """Whether the end of this lane has to be asked for (`settle`)."""
        return self.keys.add(lane) in self.state.doubtful

    def publish(self, lane: str) -> LaneStamp:
        """The stamp of a message that is given to the broker now."""
        if blockers := self.blockers(lane):
            raise Misuse(f"what was published in {', '.join(blockers)} has no place yet")
        key = self.keys.add(lane)
        state = self.state
        state.number += 1
        state.flying[key] = state.flying.get(key, 0) + 1
        return LaneStamp(state.publisher, state.number, tuple(sorted(state.past.items())))

    def confirm(self, lane: str, place: int) -> None:
        """The broker has given a place to the first message in flight in this lane."""
        key = self._landed(lane)
        self.state.past[key] = max(place, self.state.past.get(key, 0))

    def doubt(self, lane: str) -> None:
        """Whether the broker has taken the message in flight is not known."""
        self.state.doubtful.add(self._landed(lane))

    def settle(self, lane: str, end: int) -> None:
        """This is the last place of a doubtful lane."""
        key = self.keys.add(lane)
        self.state.doubtful.discard(key)
        self.state.past[key] = max(end, self.state.past.get(key, 0))

    def observe(self, past: dict[int, int]) -> None:
        """Somebody has told of a past by other means."""
        for key, place in past.items():
            self.state.past[key] = max(place, self.state.past.get(key, 0))

    def _landed(self, lane: str) -> int:
        key = self.keys.add(lane)
        left = self.state.flying.get(key, 0) - 1
        if left < 0:
            raise Misuse(f"nothing is in flight in {lane}")
        if left:
            self.state.flying[key] = left
        else:
            del self.state.flying[key]
        return key

    # For the explorer

    def snapshot(self) -> bytes:
        """The state as bytes: equal for equal states. Contents must be plain values."""
        return freeze(self.state)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot; names of lanes are the caller's to tell again."""
        self.state = thaw(snapshot, State)
        self._holdback.state = self.state.queues
        self._holdback.resume()
