"""What survivors do when a site of `pairs` has failed (Schiper, Eggli, Sandoz, section 4.3).

A message that its sender took to the grave leaves pairs behind that nobody can fulfil: whoever has
heard of it is cut off from its destination for ever. So the survivors agree on N, the first event
of the failed site that did not happen, and take everything back that depends on it:

1. *Flush.* Wait until all that is still on its way has arrived; what has not arrived then is lost.
2. *Report.* Every survivor says how far it has heard of the failed site, and all evidence it has of
   what other survivors or itself should have heard (`Recoverable.report`).
3. *Agree.* `time_of_failure` of all the reports is N.
4. *Roll back.* Every survivor calls `Recoverable.recover`: it returns to its last state before it
   heard of event N or a later one, drops for ever every message that depends on one, and delivers
   again what it had delivered since and still stands.

Events before N form a consistent cut, since an entry of a vector time never decreases along a
causal path; so no rollback forces another one. A failed site may come back as a new site only.

The text of the paper evaluates N once, from the waiting messages alone (`printed`). That N can be
too large: a newer pair hides an older loss, and where nothing waits there is no evidence yet.

Several failures are treated one after the other.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import chain, takewhile
from typing import Any, Protocol

import msgspec

from antecede.errors import Misuse
from antecede.message import Message
from antecede.order import Deliver, Effect, Packet
from antecede.orders.pairs import OrderingBuffers, Pairs
from antecede.vectortime import behind


class Application(Protocol):
    """What an application must be able to do so that it can be rolled back.

    Its sends are part of what is taken back: after `roll_back` it has not made them.
    """

    def checkpoint(self) -> bytes:
        """Its state now, as bytes."""

    def roll_back(self, checkpoint: bytes) -> None:
        """Return to the state that this checkpoint was taken of."""

    def deliver(self, message: Message) -> None:
        """Take a message: for the first time or, after a rollback, again."""

    def discard(self, message: Message) -> None:
        """A message that had been delivered here, or sent from here, is void: the checkpoint it was
        just rolled back to knows nothing of it, and nobody will deliver it again."""


class Report(msgspec.Struct, frozen=True, array_like=True):
    """What one survivor knows of a failed site i.

    `reached`: VT(S)[i]. `waiting`: VT[i] of the pair (S, VT) of every message held at S.
    `buffered`: (S', VT[i]) for every pair (S', VT) of its ordering buffer.
    """

    site: int
    reached: int
    waiting: tuple[int, ...]
    buffered: tuple[tuple[int, int], ...]


def time_of_failure(reports: Iterable[Report], printed: bool = False) -> int:
    """N: the events of the failed site from this one on are void, as if they had not happened.

    A site lacks something when a pair for it, waiting or buffered anywhere, is ahead of it. It has
    had everything up to the event that it has reached, so the least of these is N − 1. Without
    evidence nothing that any survivor knows of is lost, and N follows the last event heard of.

    As printed, N is the least time of the pairs that wait and are not fulfilled.
    """
    reports = list(reports)
    reached = {report.site: report.reached for report in reports}
    following = 1 + max(reached.values(), default=0)
    if printed:
        waiting = [time for report in reports for time in report.waiting if time > report.reached]
        return min(waiting, default=following)
    evidence = [(report.site, time) for report in reports for time in report.waiting]
    evidence += [pair for report in reports for pair in report.buffered]
    lacking = [reached[site] for site, time in evidence if time > reached.get(site, time)]
    return 1 + min(lacking, default=following - 1)


class Step(msgspec.Struct, frozen=True, array_like=True):
    """A packet that arrived, how things stood just before, and what came of it: the messages
    delivered at its arrival, and those sent after it and before the next one."""

    time: tuple[int, ...]
    order: bytes
    application: bytes
    packet: Packet[Pairs]
    outcome: list[Message]


class Recoverable:
    """An order of `pairs` and the application above it, with the journal that takes them back.

    The journal grows by a step for every packet that arrives; `forget` cuts it.
    """

    def __init__(
        self,
        order: OrderingBuffers,
        application: Application,
        journal: list[Step] | None = None,
        void: Iterable[tuple[int, int]] = (),
    ) -> None:
        self.order = order
        self.application = application
        self.journal: list[Step] = [] if journal is None else journal
        self._void = dict(void)
        """By failed site, its first event that is void."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        """The application sends. What it addresses to itself is delivered to it at once."""
        effects = self.order.send(message, now)
        if self.journal:
            self.journal[-1].outcome.append(message)
        for effect in effects:
            if isinstance(effect, Deliver):
                self.application.deliver(effect.message)
        return [effect for effect in effects if not isinstance(effect, Deliver)]

    def receive(self, packet: Packet[Any], now: float = 0.0) -> None:
        """The network hands over a packet. One that is void is dropped, however late it comes."""
        if self.is_void(packet):
            return
        time = tuple(self.order.state.time)
        before = self.order.snapshot(), self.application.checkpoint()
        delivered = [
            effect.message
            for effect in self.order.receive(packet, now)
            if isinstance(effect, Deliver)
        ]
        self.journal.append(Step(time, *before, packet, delivered.copy()))
        for message in delivered:
            self.application.deliver(message)

    def report(self, failed: int) -> Report:
        """What this survivor tells all survivors of a failed site, after the flush."""
        state, here = self.order.state, self.order.process
        waiting = tuple(
            behind(packet.stamp.time, lagging)[failed]
            for _, packet in sorted(state.held.items())
            for site, lagging in packet.stamp.pairs
            if site == here
        )
        buffered = tuple((site, vector[failed]) for site, vector in sorted(state.buffer.items()))
        return Report(here, state.time[failed], waiting, buffered)

    def recover(self, failed: int, first_void: int) -> None:
        """The survivors have agreed that the events of a failed site are void from this one on:
        take back whatever depends on them here."""
        if failed == self.order.process:
            raise Misuse(f"process {failed} cannot survive its own failure")
        past_it = self.order.state.time[failed] >= first_void
        kept = bisect_left(self.journal, first_void, key=lambda step: step.time[failed]) - 1
        if past_it and kept < 0:
            raise Misuse(f"the journal does not reach back before event {first_void} of {failed}")
        self._void[failed] = min(first_void, self._void.get(failed, first_void))
        if past_it:
            self._undo(self.journal[kept:])
        else:
            self._drop_held()

    def _undo(self, steps: list[Step]) -> None:
        """Return to before these last steps, and take them again without what is void."""
        del self.journal[-len(steps) :]
        self.order.restore(steps[0].order)
        self.application.roll_back(steps[0].application)
        arrived = [*self.order.state.held.values(), *(step.packet for step in steps)]
        standing = {packet.message for packet in arrived if not self.is_void(packet)}
        self._drop_held()
        for message in chain.from_iterable(step.outcome for step in steps):
            if message not in standing:
                self.application.discard(message)
        for step in steps:
            self.receive(step.packet)

    def _drop_held(self) -> None:
        held = self.order.state.held
        for message in [message for message, packet in held.items() if self.is_void(packet)]:
            del held[message]
        self.order.resume()

    def is_void(self, packet: Packet[Any]) -> bool:
        """Whether the sender of a packet had heard of an event that is void."""
        known = dict(enumerate(packet.stamp.time))
        return any(known.get(site, 0) >= first for site, first in self._void.items())

    def forget(self, infimum: Sequence[int]) -> None:
        """Cut the journal: `infimum` is the entry-wise least of the times of *all* sites, at any
        moment. No time of failure will ever be that early, so no step that knows no more than this
        will be undone."""
        others = [site for site in range(len(infimum)) if site != self.order.process]
        times = [step.time for step in self.journal[1:]] + [tuple(self.order.state.time)]
        safe = (all(time[site] <= infimum[site] for site in others) for time in times)
        del self.journal[: sum(takewhile(bool, safe))]
