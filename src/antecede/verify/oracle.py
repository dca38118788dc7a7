"""Causal delivery judged straight from its definition: slow, obvious, the yardstick for the rest.

For two messages m and m' addressed to the same process q with send(m) happened-before send(m'), q
has to deliver m before m'. The oracle keeps, for every process, the set of all messages whose send
is in its past (`_past`), and for every message still in flight what that set was when it was sent
(`_past_of`). A delivery of m' at q is early when the past of m' holds a message that q is addressed
by and still waits for. Sets are integers used as bit sets over the messages in the order of their
sends, so memory is messages/8 bytes for every process and every message in flight.

It shares nothing with the protocols. A copy that a process sends to itself orders nothing and is
never undelivered; receptions tell the application nothing and do not come here at all.
"""

from collections import deque
from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

from antecede.errors import BadTrace
from antecede.message import MessageId, ProcessSet, members, process_set
from antecede.trace.events import Run
from antecede.trace.rules import AT_DESTINATION, DELIVERED_ONCE, HAS_SEND, SEND_AT_SENDER, SENT_ONCE
from antecede.trace.schema import APP, CRASH, DELIVER, SEND
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness


class Violation(NamedTuple):
    """`process` delivered `second` too early: `first`, the earliest sent of the messages that it
    should have delivered before, was still missing."""

    process: int
    first: MessageId
    second: MessageId
    time: float | None


class _Sent(NamedTuple):
    """A message, and how long the log of its sender was when it was sent."""

    id: MessageId
    destinations: ProcessSet
    log_length: int


class OnlineOracle:
    """Judges a run while it goes on. Feed it the sends and deliveries of one layer in an order that
    is a linear extension of happened-before. Processes are indices into `processes`."""

    def __init__(self, processes: Sequence[str], run: str = "") -> None:
        self._names = processes
        self._run = run
        self._index: dict[MessageId, int] = {}
        self._sent: list[_Sent] = []
        self._past = [0 for _ in processes]
        self._past_of: dict[int, int] = {}
        self._awaited = [0 for _ in processes]
        self._missing: list[ProcessSet] = []
        self._logs: list[list[int]] = [[] for _ in processes]
        self._crashed: ProcessSet = 0
        self._deliveries = 0
        self._is_own_only = True
        self._count = 0
        self._violations: list[Violation] = []

    def send(self, process: int, sender: int, number: int, destinations: ProcessSet) -> None:
        """A process sends a message, of which it is the sender."""
        message = MessageId(sender, number)
        if process != sender:
            raise self._bad(SEND_AT_SENDER, process, message, "sent by another process")
        index = len(self._sent)
        bit = 1 << index
        if self._index.setdefault(message, index) != index:
            raise self._bad(SENT_ONCE, process, message, "sent again")
        log = self._logs[process]
        self._sent.append(_Sent(message, destinations, len(log)))
        # The sender may deliver its own copy, addressed or not.
        self._missing.append(destinations | 1 << sender)
        if others := destinations & ~(1 << sender):
            self._past_of[index] = self._past[process]
        for destination in members(others):
            self._awaited[destination] |= bit
        self._past[process] |= bit
        log.append(index)

    def deliver(
        self, process: int, sender: int, number: int, time: float | None = None
    ) -> Violation | None:
        """A process delivers a message; the answer is a violation if that was too early."""
        message = MessageId(sender, number)
        index = self._take(process, message)
        self._deliveries += 1
        if process == sender:
            return None
        self._is_own_only = False
        past = self._past_of[index]
        overtaken = past & self._awaited[process]
        self._awaited[process] ^= 1 << index
        self._past[process] |= past | 1 << index
        self._logs[process].append(index)
        if not self._missing[index] & ~(1 << sender):
            del self._past_of[index]
        if not overtaken:
            return None
        first = (overtaken & -overtaken).bit_length() - 1
        violation = Violation(process, self._sent[first].id, message, time)
        self._count += 1
        if len(self._violations) < WITNESS_LIMIT:
            self._violations.append(violation)
        return violation

    def crash(self, process: int) -> None:
        """A process crashes: what it never delivers is counted apart, too."""
        self._crashed |= 1 << process

    def finish(self) -> Verdict:
        """The verdict on everything fed so far."""
        left = [
            missing & ~(1 << sent.id.sender)
            for missing, sent in zip(self._missing, self._sent, strict=True)
        ]
        return Verdict(
            runs=1,
            messages=len(self._sent),
            deliveries=self._deliveries,
            violations=self._count,
            undelivered=sum(missing.bit_count() for missing in left),
            undelivered_at_crashed=sum((m & self._crashed).bit_count() for m in left),
            witnesses=tuple(self.witness(violation) for violation in self._violations),
            own_only=self._deliveries if self._is_own_only else 0,
        )

    def witness(self, violation: Violation) -> Witness:
        """The violation in names, with its proof."""
        path = self.path(violation.first, violation.second)
        return Witness(
            self._run,
            self._names[violation.process],
            self._name(violation.first),
            self._name(violation.second),
            tuple(self._name(message) for message in path),
            violation.time,
        )

    def path(self, first: MessageId, second: MessageId) -> list[MessageId]:
        """A shortest causal path between two messages, both included; empty if there is none.

        Breadth first, backwards from `second`: what a message directly depends on is everything
        that its sender had sent or delivered before. A stretch of a log that was looked at once
        belongs to a shorter path, or one as short, and is not looked at again.
        """
        start, goal = self._index[second], self._index[first]
        next_on_path = {start: start}
        looked_at = [0 for _ in self._names]
        queue = deque([start])
        while queue and goal not in next_on_path:
            index = queue.popleft()
            sender, end = self._sent[index].id.sender, self._sent[index].log_length
            for dependency in self._logs[sender][looked_at[sender] : end]:
                if dependency not in next_on_path:
                    next_on_path[dependency] = index
                    queue.append(dependency)
            looked_at[sender] = max(looked_at[sender], end)
        if goal not in next_on_path:
            return []
        path = [goal]
        while path[-1] != start:
            path.append(next_on_path[path[-1]])
        return [self._sent[index].id for index in path]

    def _take(self, process: int, message: MessageId) -> int:
        """The index of a message that the process may deliver; from now on it may not."""
        if message not in self._index:
            raise self._bad(HAS_SEND, process, message, "delivered, which nobody sent")
        index = self._index[message]
        if not self._missing[index] >> process & 1:
            if (self._sent[index].destinations | 1 << message.sender) >> process & 1:
                raise self._bad(DELIVERED_ONCE, process, message, "delivered again")
            raise self._bad(AT_DESTINATION, process, message, "delivered, not addressed to it")
        self._missing[index] ^= 1 << process
        return index

    def _bad(self, rule: str, process: int, message: MessageId, what: str) -> BadTrace:
        where = f"run '{self._run}', process '{self._names[process]}'"
        return BadTrace(rule, where, f"{self._name(message)} was {what}")

    def _name(self, message: MessageId) -> str:
        return f"{self._names[message.sender]}:{message.number}"


def judge(run: Run, layer: int = APP) -> Verdict:
    """Whether causal delivery held in one layer of a run."""
    return judge_with(OnlineOracle(run.processes, run.name), run, layer)


def judge_with(oracle: OnlineOracle, run: Run, layer: int = APP) -> Verdict:
    """What an oracle says that is told all events of one layer of a run."""
    events = run.layer(layer)
    start = events.destination_start
    columns = (events.kind, events.process, events.sender, events.number, events.time)
    for event, (kind, process, sender, number, time) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        if kind == SEND:
            destinations = events.destination[start[event] : start[event + 1]].tolist()
            oracle.send(process, sender, number, process_set(destinations))
        elif kind == DELIVER:
            oracle.deliver(process, sender, number, None if isnan(time) else time)
    # A process crashes in all layers, whichever recorded it.
    for process in run.events.process[run.events.kind == CRASH].tolist():
        oracle.crash(process)
    return oracle.finish()
