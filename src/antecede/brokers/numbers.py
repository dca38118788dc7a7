"""Causal order over brokers without a log: a stamp names the last messages of each topic.

Where a broker keeps nothing (NATS core, Redis pub/sub) a message has no place. A publisher counts
what it publishes, topic by topic: (topic, publisher, number) is a message's name, where a publisher
that starts again is another one. What one publisher publishes to one topic reaches a subscriber in
order, or not at all; so each (topic, publisher) is a lane of its own (`holdback`), whose numbers
are its places, opened when it is first heard of.

Naming the whole past would take one number for each publisher and topic. A message carries the
*front* of each topic instead: those messages of the topic in its past after which there is no other
of the topic in its past. Whoever reads the topic delivers the front after all that lies before it.

Rules (proofs in docs/brokers.md):

N1. The front of *every* topic travels, also of those that neither the publisher nor the sender of
    what it read subscribes to: fronts of different topics do not stand for each other.
N2. A delivered message takes the place of what its own stamp names in its topic. What is named by
    others is added unless it is known already; it is taken out again only when something later of
    the same publisher, or something delivered that names it, comes in.
N3. Numbers that are skipped are lost, and told; if they come after all, they are delivered as late.
"""

from typing import Any

import msgspec

from antecede.brokers.holdback import Deliver, Effect, Held, HoldBack, Missing, Patience
from antecede.brokers.holdback import State as Queues
from antecede.brokers.stamps import Keys, TopicStamp
from antecede.snapshot import freeze, thaw

SKIPPED_AT_MOST = 1_000
"""Lost numbers of a publisher that are remembered, to tell late ones from repeated ones."""
Channel = tuple[int, int]
"""(topic, publisher)."""
Front = tuple[tuple[int, int, int], ...]
"""(topic, publisher, number)."""


class State(msgspec.Struct, array_like=True):
    """All that a subscriber and publisher knows."""

    publisher: int
    counts: dict[int, int]
    """How much it has published to each topic."""
    front: dict[Channel, int]
    """The maximal messages of each topic in its past."""
    known: dict[Channel, int]
    """The last message of each publisher in each topic in its past."""
    topics: set[int]
    """What it subscribes to."""
    skipped: dict[Channel, list[int]]
    queues: Queues


class Numbers:
    """One subscriber and publisher. `publisher` is a random number that nobody else has."""

    def __init__(
        self, publisher: int, patience: Patience | None = None, *, echo: bool = True
    ) -> None:
        """With `echo` the broker hands its own messages to it, too."""
        self._echo = echo
        self.keys = Keys()
        self._holdback = HoldBack(patience or Patience(patience_s=1.0, probe_s=None))
        queues = self._holdback.state
        self.state = State(publisher, {}, {}, {}, set(), {}, queues)

    # Reading

    def subscribe(self, topic: str) -> None:
        """Deliver what comes from this topic, and wait for what is named of it."""
        self.state.topics.add(self.keys.add(topic))

    def arrive(self, topic: str, stamp: TopicStamp, content: Any, now: float = 0.0) -> list[Effect]:
        """The broker hands over a message."""
        state = self.state
        channel = (self.keys.add(topic), stamp.publisher)
        needs = []
        for named, publisher, number in stamp.front:
            is_own = publisher == state.publisher and not self._echo
            if named in state.topics and (named, publisher) != channel and not is_own:
                needs.append(((named, publisher), number))
                self._listen((named, publisher), 0, now)
        effects: list[Effect] = []
        queue = state.queues.queues.get(channel)
        if queue is None:
            # What it published before we subscribed is not waited for.
            self._listen(channel, stamp.number - 1, now)
        elif stamp.number <= queue.last:
            return self._again(channel, stamp, content, now)
        elif queue.last and stamp.number > queue.last + 1:
            effects.append(self._skip(channel, queue.last + 1, stamp.number))
        return effects + self._named(
            self._holdback.arrive(channel, stamp.number, tuple(needs), (stamp.front, content), now)
        )

    def _listen(self, channel: Channel, floor: int, now: float) -> None:
        if channel not in self.state.queues.queues:
            self._holdback.open(channel, floor, now)

    def _skip(self, channel: Channel, first: int, number: int) -> Missing:
        skipped = self.state.skipped.setdefault(channel, [])
        skipped += range(max(first, number - SKIPPED_AT_MOST), number)
        del skipped[:-SKIPPED_AT_MOST]
        return Missing(self.name(channel), number - 1, 0.0)

    def _again(self, channel: Channel, stamp: TopicStamp, content: Any, now: float) -> list[Effect]:
        """A number that was passed: late if it was told lost, else a repetition."""
        skipped = self.state.skipped.get(channel, [])
        if stamp.number in skipped:
            skipped.remove(stamp.number)
            self._holdback.belated(channel, stamp.number, (stamp.front, content), now)
        return []

    def take(self, now: float = 0.0) -> tuple[Deliver | None, list[Effect]]:
        """The next message for the application, if one is ready, which becomes part of the past.
        Its lane is (topic's key, publisher)."""
        taken = self._holdback.take(now)
        if taken is None:
            return None, []
        front, content = taken.content
        self._learn(taken.lane, taken.place, front)
        return msgspec.structs.replace(taken, content=content), self._named(
            self._holdback.room(taken.lane)
        )

    def _learn(self, channel: Channel, own: int, stamped: Front) -> None:
        """The message with this number and stamp becomes part of the past (N1, N2)."""
        front, known = self.state.front, self.state.known
        topic = channel[0]
        for named, publisher, number in stamped:
            other = (named, publisher)
            if named == topic:
                # The message itself stands for it.
                if front.get(other, number + 1) <= number:
                    del front[other]
                known[other] = max(number, known.get(other, 0))
            elif number > known.get(other, 0):
                front[other] = known[other] = number
        if own > known.get(channel, 0):
            front[channel] = known[channel] = own

    def is_behind(self, limit: int) -> bool:
        """Whether so many messages are here, some of which could be taken."""
        return self._holdback.waiting >= limit and self._holdback.is_ready()

    def due(self) -> float | None:
        """When to call `wake`."""
        return self._holdback.due()

    def wake(self, now: float) -> list[Effect]:
        """Give up what has been waited for too long."""
        return self._named(self._holdback.wake(now))

    def held(self) -> list[Held]:
        """What waits, and for which number of which publisher in which topic."""
        name = self.name
        return [
            Held(name(one.lane), one.place, tuple([(name(c), n) for c, n in one.awaited]))
            for one in self._holdback.held()
        ]

    def name(self, channel: Any) -> str:
        """A channel for people."""
        return f"{self.keys.name(channel[0])} from {channel[1]:012x}"

    def _named(self, effects: list[Effect]) -> list[Effect]:
        if not effects:
            return effects
        replace = msgspec.structs.replace
        return [replace(effect, lane=self.name(effect.lane)) for effect in effects]

    # Publishing

    def publish(self, topic: str) -> TopicStamp:
        """The stamp of a message that is given to the broker now."""
        state = self.state
        key = self.keys.add(topic)
        number = state.counts.get(key, 0) + 1
        front = tuple([(*channel, last) for channel, last in sorted(state.front.items())])
        state.counts[key] = number
        stamp = TopicStamp(state.publisher, number, front)
        self._learn((key, state.publisher), number, front)
        return stamp

    # For the explorer

    def snapshot(self) -> bytes:
        """The state as bytes: equal for equal states. Contents must be plain values."""
        return freeze(self.state)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot; names of topics are the caller's to tell again."""
        self.state = thaw(snapshot, State)
        self._holdback.state = self.state.queues
        self._holdback.resume()
