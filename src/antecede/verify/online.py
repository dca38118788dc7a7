"""Causal order judged while a system runs: rows go in as they come, early deliveries come out.

The definition, asked at every delivery of m at q: is there a message to q in the past of m's send
that q has not delivered yet? Two things answer it. A message carries its *past*: of each process,
how many of its sends happened before. And of each pair (s, q) the *oldest* number is known that s
has sent to q and q has not delivered. The delivery is early if, for some s, that number is in m's
past. An early delivery is known at once, and stays one; so the findings are those of
`antecede verify` on the same rows, whatever order they come in.

Rows wait for the rows before them at their process, and a delivery for its send. What is kept:

- a past for each process, and the oldest number of each pair: two integers a pair of processes;
- of each message under way (sent, and not delivered by all it is for) its past and who is left,
  at most `limit` messages. Beyond, the one that was sent first is *forgotten*: it counts as lost,
  for which the oldest number of each pair is enough. Lost messages are all that this can touch; if
  one is delivered after all, the run can no longer be judged, and an error says so;
- rows that wait, at most `limit`; if there are more, some recording is missing, and an error says
  which;
- the names of the last `limit` messages that all have delivered, where messages have names and no
  numbers.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from antecede.errors import BadTrace, Misuse
from antecede.trace.extension import NO_CYCLE
from antecede.trace.rules import (
    AT_DESTINATION,
    DELIVERED_ONCE,
    HAS_SEND,
    KNOWN_KIND,
    NOT_NULL,
    NUMBERS,
    SEND_AT_SENDER,
    SENT_ONCE,
    SEQ,
)
from antecede.trace.schema import APP, KINDS, LAYERS
from antecede.verify.verdict import Verdict

LIMIT: Final = 100_000
"""Messages under way, and rows that wait: of each so many at most."""
NONE: Final = np.iinfo(np.int64).max
"""The oldest number where nothing is under way."""

Key = tuple[str, int] | str
"""A message: its sender and number, or the name that its log gives to it."""
Past = npt.NDArray[np.int64]


class Row(msgspec.Struct, array_like=True, gc=False):
    """An event, as the trace format has it. A `message` is a name, for logs without numbers."""

    process: str | None
    seq: int | None
    kind: str | None
    sender: str | None = None
    number: int | None = None
    destinations: list[str] | None = None
    time: float | None = None
    layer: str | None = None
    message: str | None = None

    @property
    def key(self) -> Key:
        if self.sender is not None and self.number is not None:
            return self.sender, self.number
        return self.message or ""


class Early(msgspec.Struct, frozen=True):
    """A delivery that came too early, and a message that it overtook."""

    run: str
    process: str
    sender: str
    number: int
    time: float | None
    message: str
    without: str

    def sentence(self) -> str:
        """The same for a person."""
        when = "" if self.time is None else f" at {self.time:.6g} s"
        return (
            f"{self.process} delivered {self.message}{when} without {self.without}, "
            f"which {self.message} depends on"
        )


class Flight(msgspec.Struct, array_like=True):
    """A message under way."""

    sender: int
    number: int
    past: Any
    """Of each process, how many of its sends happened before."""
    left: list[int]
    """Who has yet to deliver it."""


class Known(msgspec.Struct, array_like=True):
    """All that is known of a run, as it is kept between batches."""

    names: list[str]
    nexts: list[int]
    sent: list[int]
    crashed: list[bool]
    given_up: list[int]
    pasts: bytes
    lost: bytes
    under_way: list[tuple[Key, Flight]]
    done: list[tuple[str, int]]
    waiting: list[list[Row]]
    counts: list[int]
    called: list[tuple[int, int, str]]


class Watcher:
    """One run, one layer. `feed` takes rows in any order and gives what came too early."""

    def __init__(self, run: str, layer: str = LAYERS[APP], limit: int = LIMIT) -> None:
        self.run, self._layer, self._limit = run, layer, limit
        self._index: dict[str, int] = {}
        self._names: list[str] = []
        self._next: list[int] = []
        self._waiting: list[dict[int, Row]] = []
        self._rows = 0
        self._blocked: dict[Key, list[int]] = {}
        self._sent: list[int] = []
        self._crashed: list[bool] = []
        self._given_up: list[int] = []
        """Of each destination, how many copies were forgotten."""
        self._past = np.zeros((8, 8), np.int64)
        self._oldest = np.full((8, 8), NONE, np.int64)
        """Of each destination (row) and sender."""
        self._lost = np.full((8, 8), NONE, np.int64)
        """The same of what was forgotten: it is never delivered."""
        self._open: dict[tuple[int, int], list[int]] = {}
        """Of a destination and a sender: the numbers under way, in order."""
        self._flights: dict[Key, Flight] = {}
        self._called: dict[tuple[int, int], str] = {}
        """What messages under way are called, where that is not their number."""
        self._done: dict[str, int] = {}
        self.messages = self.deliveries = self.violations = self.forgotten = self._own = 0
        self._found: list[Early] = []

    # -- rows

    def feed(self, rows: Iterable[Row]) -> list[Early]:
        """These have happened, too. Raises `BadTrace` where they break a rule of the format."""
        touched = []
        for row in rows:
            if row.process is None or row.seq is None or row.kind is None:
                raise self._bad(NOT_NULL, row, "process, seq or kind is null")
            p = self._process(row.process)
            if row.seq < self._next[p] or row.seq in self._waiting[p]:
                raise self._bad(SEQ, row, f"seq is {row.seq}, which was there already")
            self._waiting[p][row.seq] = row
            self._rows += 1
            touched.append(p)
        ready = list(dict.fromkeys(touched))[::-1]
        while ready:
            self._go_on(ready.pop(), ready)
        if self._rows > self._limit:
            raise self.why_waiting(f"more than {self._limit:,} rows wait (the limit): ")
        return self.take_found()

    def take_found(self) -> list[Early]:
        """What was found and not told yet: where `feed` has raised an error, all before that."""
        found, self._found = self._found, []
        return found

    def _go_on(self, p: int, ready: list[int]) -> None:
        """Take the rows of a process as far as they go."""
        waiting = self._waiting[p]
        while (row := waiting.get(self._next[p])) is not None:
            kind, layer = row.kind, row.layer or LAYERS[APP]
            if kind not in KINDS:
                raise self._bad(KNOWN_KIND, row, f"unknown kind '{kind}'")
            if layer not in LAYERS:
                raise self._bad(KNOWN_KIND, row, f"unknown layer '{layer}'")
            if layer == self._layer:
                if kind == "deliver":
                    if not self._is_sent(row.key):
                        self._blocked.setdefault(row.key, []).append(p)
                        return
                    self._deliver(p, row)
                elif kind == "send":
                    self._send(p, row)
                    ready += self._blocked.pop(row.key, ())
            if kind == "crash":
                self._crashed[p] = True
            del waiting[self._next[p]]
            self._next[p] += 1
            self._rows -= 1

    def _is_sent(self, key: Key) -> bool:
        if isinstance(key, str):
            return key in self._flights or key in self._done
        return key[0] in self._index and key[1] <= self._sent[self._index[key[0]]]

    # -- events, in an order that respects causality

    def _send(self, p: int, row: Row) -> None:
        key = self._checked(row)
        number = self._sent[p] + 1
        if isinstance(key, str):
            if key in self._flights or key in self._done:
                raise self._bad(SENT_ONCE, row, f"sends {key} again")
        elif key != (row.process, number):
            told = f"sends {_name(key)}"
            if key[0] != row.process:
                raise self._bad(SEND_AT_SENDER, row, f"{told}, a message of another process")
            if key[1] < number:
                raise self._bad(SENT_ONCE, row, f"{told} again")
            raise self._bad(NUMBERS, row, f"{told}, expected number {number}")
        if row.destinations is None or None in row.destinations:
            raise self._bad(NOT_NULL, row, "column 'destinations' is null")
        left = sorted({self._process(name) for name in row.destinations} - {p})
        self.messages += 1
        if left:
            self._flights[key] = Flight(p, number, self._past[p, : len(self._names)].copy(), left)
            for q in left:
                self._open.setdefault((q, p), []).append(number)
                self._oldest[q, p] = min(self._oldest[q, p], number)
            if isinstance(key, str):
                self._called[p, number] = key
            if len(self._flights) > self._limit:
                self._forget()
        elif isinstance(key, str):
            self._finish(key, p)
        self._sent[p] = number
        self._past[p, p] = number

    def _deliver(self, q: int, row: Row) -> None:
        key = self._checked(row)
        self.deliveries += 1
        flight = self._flights.get(key)
        sender = self._sender(key, flight)
        if sender == q:
            self._own += 1
            return
        if flight is None or q not in flight.left:
            raise self._refused(row, key, flight is None)
        flight.left.remove(q)
        self._arrived(q, flight)
        past = flight.past
        oldest = self._oldest[q, : len(past)]
        if (oldest <= past).any():
            self._tell_early(q, row, flight, int(np.argmax(oldest <= past)))
        mine = self._past[q, : len(past)]
        np.maximum(mine, past, out=mine)
        self._past[q, sender] = max(self._past[q, sender], flight.number)
        if not flight.left:
            del self._flights[key]
            if isinstance(key, str):
                del self._called[sender, flight.number]
                self._finish(key, sender)

    def _sender(self, key: Key, flight: Flight | None) -> int:
        if flight is not None:
            return flight.sender
        return self._done[key] if isinstance(key, str) else self._index[key[0]]

    def _arrived(self, q: int, flight: Flight) -> None:
        """A copy is under way no longer."""
        s = flight.sender
        numbers = self._open[q, s]
        del numbers[bisect_left(numbers, flight.number)]
        if not numbers:
            del self._open[q, s]
        self._oldest[q, s] = min(numbers[0] if numbers else NONE, self._lost[q, s])

    def _tell_early(self, q: int, row: Row, flight: Flight, s: int) -> None:
        self.violations += 1
        names, number = self._names, int(self._oldest[q, s])
        sender = names[flight.sender]
        told = row.message or f"{sender}:{flight.number}"
        without = self._called.get((s, number), f"{names[s]}:{number}")
        found = Early(self.run, names[q], sender, flight.number, row.time, told, without)
        self._found.append(found)

    def _forget(self) -> None:
        """What was sent first counts as lost."""
        key = next(iter(self._flights))
        flight = self._flights.pop(key)
        self.forgotten += 1
        for q in flight.left:
            at = q, flight.sender
            self._lost[at] = min(self._lost[at], flight.number)
            self._given_up[q] += 1
            self._arrived(q, flight)

    def _finish(self, name: str, sender: int) -> None:
        """All have delivered it."""
        self._done[name] = sender
        if len(self._done) > self._limit:
            del self._done[next(iter(self._done))]

    # -- processes

    def _process(self, name: str) -> int:
        found = self._index.get(name)
        if found is not None:
            return found
        self._index[name] = count = len(self._names)
        self._names.append(name)
        self._next.append(0)
        self._sent.append(0)
        self._crashed.append(False)
        self._given_up.append(0)
        self._waiting.append({})
        if count == len(self._past):
            self._past = _larger(self._past, 0)
            self._oldest, self._lost = _larger(self._oldest, NONE), _larger(self._lost, NONE)
        return count

    # -- what is known

    def verdict(self) -> Verdict:
        """The counts so far. What is under way counts as undelivered."""
        left = np.array(self._given_up, np.int64)
        for flight in self._flights.values():
            left[flight.left] += 1
        return Verdict(
            runs=1,
            messages=self.messages,
            deliveries=self.deliveries,
            violations=self.violations,
            undelivered=int(left.sum()),
            undelivered_at_crashed=int(left[np.array(self._crashed, bool)].sum()),
            own_only=self.deliveries if self._own == self.deliveries else 0,
        )

    def finish(self) -> Verdict:
        """The counts when nothing more comes; raises `BadTrace` if a row still waits."""
        if self._rows:
            raise self.why_waiting()
        return self.verdict()

    @property
    def rows_waiting(self) -> int:
        """Rows that wait for others."""
        return self._rows

    @property
    def under_way(self) -> int:
        """Messages that are remembered, for somebody has yet to deliver them."""
        return len(self._flights)

    def to_bytes(self) -> bytes:
        """All that is known."""
        size = len(self._names)
        return msgspec.msgpack.encode(
            Known(
                self._names,
                self._next,
                self._sent,
                self._crashed,
                self._given_up,
                self._past[:size, :size].tobytes(),
                self._lost[:size, :size].tobytes(),
                [
                    (key, msgspec.structs.replace(one, past=one.past.tobytes()))
                    for key, one in self._flights.items()
                ],
                list(self._done.items()),
                [list(rows.values()) for rows in self._waiting],
                [self.messages, self.deliveries, self.violations, self.forgotten, self._own],
                [(*at, name) for at, name in self._called.items()],
            )
        )

    @classmethod
    def from_bytes(
        cls, known: bytes, run: str, layer: str = LAYERS[APP], limit: int = LIMIT
    ) -> "Watcher":
        """One that goes on where `to_bytes` was called."""
        told = _decoder.decode(known)
        self = cls(run, layer, limit)
        for name in told.names:
            self._process(name)
        size = len(told.names)
        self._next, self._sent, self._crashed = told.nexts, told.sent, told.crashed
        self._given_up = told.given_up
        self._past[:size, :size] = np.frombuffer(told.pasts, np.int64).reshape(size, size)
        self._lost[:size, :size] = np.frombuffer(told.lost, np.int64).reshape(size, size)
        self._oldest[:size, :size] = self._lost[:size, :size]
        for key, flight in told.under_way:
            flight.past = np.frombuffer(flight.past, np.int64)
            self._flights[key] = flight
            for q in flight.left:
                self._open.setdefault((q, flight.sender), []).append(flight.number)
        for at, numbers in self._open.items():
            self._oldest[at] = min(self._oldest[at], numbers[0])
        self._done = dict(told.done)
        self._called = {(s, number): name for s, number, name in told.called}
        counts = told.counts
        self.messages, self.deliveries, self.violations, self.forgotten, self._own = counts
        for p, rows in enumerate(told.waiting):
            self._waiting[p] = {row.seq or 0: row for row in rows}
            self._rows += len(rows)
            head = self._waiting[p].get(self._next[p])
            if head is not None:  # it can only be a delivery whose send has not come
                self._blocked.setdefault(head.key, []).append(p)
        return self

    # -- errors

    def _checked(self, row: Row) -> Key:
        if row.number is None and row.message is not None:
            return row.message
        for column in ("sender", "number"):
            if getattr(row, column) is None:
                raise self._bad(NOT_NULL, row, f"column '{column}' is null")
        return row.key

    def _bad(self, rule: str, row: Row, what: str) -> BadTrace:
        where = f"run '{self.run}', process '{row.process}', seq {row.seq}"
        return BadTrace(rule, where, what)

    def _refused(self, row: Row, key: Key, is_gone: bool) -> BadTrace | Misuse:
        if is_gone and self.forgotten:
            return Misuse(
                f"run '{self.run}': {row.process} delivered {_name(key)}, which was forgotten: "
                f"more than {self._limit:,} messages were under way; give a larger limit"
            )
        if is_gone:
            return self._bad(DELIVERED_ONCE, row, f"delivers {_name(key)} again, or not for it")
        return self._bad(AT_DESTINATION, row, f"delivers {_name(key)} again, or not for it")

    def why_waiting(self, told: str = "") -> BadTrace:
        """What a row waits for that waits; first where a row of its own process is missing."""
        heads = [(rows.get(self._next[p]), p) for p, rows in enumerate(self._waiting) if rows]
        row, p = min(heads, key=lambda one: (one[0] is not None, self._names[one[1]]))
        if row is None:
            first = min(self._waiting[p].values(), key=lambda one: one.seq or 0)
            return self._bad(SEQ, first, f"{told}seq is {first.seq}, expected {self._next[p]}")
        is_cyclic = not isinstance(row.key, str) and row.key[0] in self._index
        sender = self._index[row.key[0]] if is_cyclic else -1
        if is_cyclic and any(
            one.kind == "send" and one.key == row.key for one in self._waiting[sender].values()
        ):
            return self._bad(NO_CYCLE, row, f"{told}deliver of {_name(row.key)} before its send")
        return self._bad(HAS_SEND, row, f"{told}deliver of {_name(row.key)}, which nobody sent")


_decoder = msgspec.msgpack.Decoder(Known)


def _name(key: Key) -> str:
    return key if isinstance(key, str) else f"{key[0]}:{key[1]}"


def _larger(matrix: npt.NDArray[np.int64], value: int) -> npt.NDArray[np.int64]:
    grown = np.full((2 * len(matrix), 2 * len(matrix)), value, np.int64)
    grown[: len(matrix), : len(matrix)] = matrix
    return grown
