"""Persistent causal holes (Baldoni, Friedman, van Renesse, section 4.2), found in a trace.

A message m opens a hole at a process q that it is addressed to when q never delivers it, although q
survives and has delivered whatever precedes m there, and something that depends on m is addressed
to q, too. By the end of the run that is for ever: m was lost and nobody could give it again. What
depends on m either *waits* behind the hole, or was delivered across it, which is a *gap*. A lost
message that nothing depends on is merely undelivered.

A process that crashed is owed nothing. One that came back (`join`) is owed the messages whose
senders knew of that: those that have an event of the new incarnation in their past.

Written from the definition, on bit sets of messages in the order of their sends; it shares no code
with any protocol, nor with the oracle.
"""

from collections.abc import Sequence

import msgspec

from antecede.trace.events import Run
from antecede.trace.schema import APP, CRASH, DELIVER, JOIN, SEND

__all__ = ["Hole", "find_holes"]


class Hole(msgspec.Struct, frozen=True):
    """`process` survives and never delivers `message`; `waiting` depends on it and is not delivered
    either, `crossed` was delivered all the same."""

    run: str
    process: str
    message: str
    waiting: tuple[str, ...]
    crossed: tuple[str, ...]
    is_sender_crashed: bool

    def sentence(self) -> str:
        """The same for a person."""
        fate = "crashed" if self.is_sender_crashed else "survived"
        parts = [f"{self.process} never delivered {self.message}, whose sender {fate}"]
        if self.waiting:
            parts.append(f"{_several(self.waiting)} waited for it")
        if self.crossed:
            parts.append(f"{_several(self.crossed)} came without it")
        return "; ".join(parts)


class _Message(msgspec.Struct):
    """A message: all that was sent before it, and who has been back when it was sent, as far as its
    sender knew, each with its incarnation."""

    name: str
    sender: int
    past: int
    known: dict[int, int]


def find_holes(run: Run) -> list[Hole]:
    """The holes of a run, by process and by the order in which the lost messages were sent."""
    story = _Story(len(run.processes))
    events = run.events
    start = events.destination_start
    columns = (events.layer, events.kind, events.process, events.message)
    for event, (layer, kind, process, message) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if kind == CRASH:
            story.crash(process)
        elif kind == JOIN:
            story.join(process)
        elif layer == APP and kind == SEND:
            to = events.destination[start[event] : start[event + 1]].tolist()
            story.send(process, run.message_of(event), to)
        elif layer == APP and kind == DELIVER:
            story.deliver(process, message)
    return story.holes(run.name, run.processes)


class _Story:
    """What happened so far, process by process."""

    def __init__(self, size: int) -> None:
        self._messages: list[_Message] = []
        self._past = [0] * size
        self._addressed = [0] * size
        self._delivered = [0] * size
        self._crashed = [False] * size
        self._incarnation = [0] * size
        self._known: list[dict[int, int]] = [{} for _ in range(size)]

    def send(self, process: int, name: str, to: Sequence[int]) -> None:
        bit = 1 << len(self._messages)
        known = dict(self._known[process])
        self._messages.append(_Message(name, process, self._past[process], known))
        for destination in to:
            if destination != process and known.get(destination, 0) == self._expected(destination):
                self._addressed[destination] |= bit
        self._past[process] |= bit

    def _expected(self, process: int) -> int:
        """The incarnation that a sender must know of; none while the process is away."""
        return -1 if self._crashed[process] else self._incarnation[process]

    def deliver(self, process: int, index: int) -> None:
        message = self._messages[index]
        self._delivered[process] |= 1 << index
        self._past[process] |= message.past | 1 << index
        known = self._known[process]
        for other, incarnation in message.known.items():
            known[other] = max(known.get(other, 0), incarnation)

    def crash(self, process: int) -> None:
        """Whatever was owed to it is owed no more."""
        self._crashed[process] = True
        self._addressed[process] = 0

    def join(self, process: int) -> None:
        if self._crashed[process]:
            self._crashed[process] = False
            self._past[process] = self._delivered[process] = 0
            self._incarnation[process] += 1
            self._known[process] = {process: self._incarnation[process]}

    def holes(self, run: str, names: Sequence[str]) -> list[Hole]:
        found = []
        for process, name in enumerate(names):
            missing = self._addressed[process] & ~self._delivered[process]
            for index in _members(missing):
                if self._messages[index].past & missing:
                    continue  # it waits for another one itself
                waiting, crossed = self._dependent(process, index)
                if waiting or crossed:
                    lost = self._messages[index]
                    is_crashed = self._crashed[lost.sender]
                    found.append(Hole(run, name, lost.name, waiting, crossed, is_crashed))
        return found

    def _dependent(self, process: int, index: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What is addressed to the process and depends on the message: undelivered, delivered."""
        waiting: list[str] = []
        crossed: list[str] = []
        for later in _members(self._addressed[process] >> index + 1):
            message = self._messages[index + 1 + later]
            if message.past >> index & 1:
                is_delivered = self._delivered[process] >> index + 1 + later & 1
                (crossed if is_delivered else waiting).append(message.name)
        return tuple(waiting), tuple(crossed)


def _members(bits: int) -> list[int]:
    return [index for index, digit in enumerate(reversed(bin(bits))) if digit == "1"]


def _several(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
