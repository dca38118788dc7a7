"""What a node did, event by event, in a file that survives its death.

While a node lives, each event is appended to a log; what the operating system has been given stays,
even when the process is killed. A node that ends in peace turns its log into a trace;
for those that were killed somebody else does it (`finish_logs`), with a crash as the
last event. A folder with the files of all nodes is a trace that `antecede verify` takes.

Each life of a node is a process of its own. The position of an event is its Lamport number, with
the number of the process to tell equals apart: a linear extension of happened-before, found without
any clock.
"""

import os
import time
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote
from zlib import crc32

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile, CannotWrite
from antecede.files import aside, complaining
from antecede.live.ordering.effects import Arrived, Delivery, Sent
from antecede.live.recorder import Naming, life
from antecede.trace.schema import ORDERED, SCHEMA
from antecede.verify.scopes import Scope

SUFFIX: Final = ".events"
_PROCESSES: Final = 1 << 32
"""As many as there are values of the checksum that tells processes apart."""
_encoder = msgspec.msgpack.Encoder()


class Logged(msgspec.Struct, frozen=True, array_like=True):
    """One event, as it stands in the log."""

    kind: str
    lamport: int
    time: float
    sender: str | None = None
    number: int | None = None
    destinations: tuple[str, ...] | None = None
    stamp_entries: int | None = None
    stamp_bytes: int | None = None
    ordered: str | None = None
    """What a message is ordered with respect to, where that is not causal order."""


class Head(msgspec.Struct, frozen=True, array_like=True):
    """The first record of a log."""

    group: str
    process: str
    number: int
    """Tells equal Lamport numbers of different processes apart."""


class Recording:
    """The log of one node in one group. Each life of the node is a process of its own."""

    def __init__(
        self, folder: Path, group: str, node: str, *, is_in_contexts: bool = False
    ) -> None:
        self._is_in_contexts = is_in_contexts
        self._folder = folder
        self._group = group
        self._node = node
        self._file: int | None = None
        self._buffer = bytearray()
        self._lamport = 0
        self._path = folder

    def begin(self, incarnation: int) -> None:
        """A new life. The others have gone on without the former one, if there was one."""
        self.close("crash")
        name = f"{self._node}.{incarnation}"
        self._path = self._folder / f"{quote(name, safe='')}{SUFFIX}"
        with complaining(self._path):
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._file = os.open(self._path, flags, 0o600)  # As private as a log.
        self._append(Head(self._group, name, crc32(name.encode())))

    # A durable member counts its messages over all its lives, each of which is counted by itself
    # here, from after `base` on. What it gets out of older records has no place in the trace.

    def send(self, sent: Sent, name: Naming, base: int = 0) -> None:
        if sent.number <= base:
            return
        to = tuple(life(name(member), member) for member in sent.to)
        self._log(
            Logged(
                "send",
                sent.lamport,
                time.time(),
                None,
                sent.number - base,
                to,
                sent.stamp_entries,
                sent.stamp_bytes,
                self._scope_of(sent, name),
            )
        )
        # Nothing may leave that is not in the log: somebody else would report its delivery.
        self.flush()

    def _scope_of(self, sent: Sent, name: Naming) -> str | None:
        """As the column `ordered` has it."""
        if self._is_in_contexts:
            if sent.after is None:
                return Scope("none").text
            after = tuple([(life(name(member), member), number) for member, number in sent.after])
            return Scope("after", after=after).text
        return None if sent.label is None else Scope("label", sent.label).text

    def receive(self, arrived: Arrived, name: Naming, base: int = 0) -> None:
        if arrived.number <= base:
            return
        sender = life(name(arrived.sender), arrived.sender)
        self._log(Logged("receive", arrived.lamport, time.time(), sender, arrived.number - base))

    def deliver(self, delivered: Delivery, base: int = 0) -> None:
        if delivered.member is None or delivered.number <= base:
            return
        sender, number = life(delivered.sender, delivered.member), delivered.number - base
        self._log(Logged("deliver", delivered.lamport, time.time(), sender, number))

    def view(self, lamport: int, number: int, members: tuple[str, ...]) -> None:
        self._log(Logged("view", lamport, time.time()))

    def _append(self, record: msgspec.Struct) -> None:
        record_bytes = _encoder.encode(record)
        self._buffer += len(record_bytes).to_bytes(4, "big") + record_bytes

    def _log(self, event: Logged) -> None:
        self._lamport = event.lamport
        self._append(event)
        if len(self._buffer) >= 1 << 16:
            self.flush()

    def flush(self) -> None:
        """Give the events so far to the operating system."""
        if self._file is not None and self._buffer:
            try:
                while self._buffer:
                    del self._buffer[: os.write(self._file, self._buffer)]
            except OSError as error:
                raise CannotWrite(str(self._path), error.strerror or str(error)) from None

    def close(self, end: Literal["leave", "crash"]) -> None:
        """The life ends, in peace or, as the others see it, not: its log becomes a trace."""
        if self._file is not None:
            self._log(Logged(end, self._lamport + 1, time.time()))
            self._lamport = 0
            self.flush()
            os.close(self._file)
            self._file = None
            _write_trace(self._path, killed=False)


def finish_logs(folder: Path) -> list[Path]:
    logs = sorted(folder.glob(f"*{SUFFIX}"))
    return [_write_trace(log, killed=True) for log in logs]


def whole_records(content: bytes, most: int | None = None) -> tuple[list[bytes], int]:
    """The records, each behind its length, that are there as a whole, or the first of them; and
    where they end."""
    records: list[bytes] = []
    at = 0
    while at + 4 <= len(content) and (most is None or len(records) < most):
        end = at + 4 + int.from_bytes(content[at : at + 4], "big")
        if end > len(content):
            break
        records.append(content[at + 4 : end])
        at = end
    return records, at


def _records(log: Path) -> tuple[Head, list[Logged]]:
    """What a log contains; a last record that is not whole is left out."""
    records, _ = whole_records(log.read_bytes())
    try:
        if not records:
            raise BadFile(str(log), ["is no log of a node: it has no head; remove it"])
        head = msgspec.msgpack.decode(records[0], type=Head)
        return head, [msgspec.msgpack.decode(one, type=Logged) for one in records[1:]]
    except msgspec.DecodeError as error:
        raise BadFile(str(log), [f"is no log of a node: {error}; remove it"]) from None


def _write_trace(log: Path, *, killed: bool) -> Path:
    head, events = _records(log)
    if killed:
        last = events[-1] if events else Logged("view", 0, 0.0)
        events.append(Logged("crash", last.lamport + 1, last.time))
    target = log.with_suffix(".parquet")
    has_scopes = any(event.ordered for event in events)
    schema = pa.schema([*SCHEMA, (ORDERED, pa.string())]) if has_scopes else SCHEMA
    table = pa.Table.from_pylist(rows_of(head, events), schema=schema)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with aside(target) as partial, open(os.open(partial, flags, 0o600), "wb") as private:
        pq.write_table(table, private, compression="zstd")
    with complaining(target):
        log.unlink()
    return target


def rows_of(head: Head, events: list[Logged], first: int = 0) -> list[dict[str, Any]]:
    """These events as rows of a trace; the first has this place among those of its process."""
    return [
        {
            "run": head.group,
            "layer": "app",
            "process": head.process,
            "seq": seq,
            "kind": event.kind,
            "sender": head.process if event.kind == "send" else event.sender,
            "number": event.number,
            "destinations": event.destinations,
            "time": event.time,
            "position": event.lamport * _PROCESSES + head.number,
            "stamp_entries": event.stamp_entries,
            "stamp_bytes": event.stamp_bytes,
            ORDERED: event.ordered,
        }
        for seq, event in enumerate(events, first)
    ]
