"""What a node did, event by event, in a file that survives its death.

Each event is one MessagePack array appended to a log; what the operating system has been given
stays, even when the process is killed. `antecede import live FOLDER --out TRACE` makes one trace
of the logs of all nodes. The position of an event is its Lamport number, with the number of the
process to tell equals apart: a linear extension of happened-before, found without any clock.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from antecede.errors import CannotWrite
from antecede.groups import MemberId
from antecede.live.session import Arrived, Delivery, Sent

SUFFIX: Final = ".events"
Naming = Callable[[MemberId], str]
_encoder = msgspec.msgpack.Encoder()


class Logged(msgspec.Struct, frozen=True, array_like=True):
    """One event, as it stands in the log."""

    kind: str
    lamport: int
    time: float
    sender: str | None = None
    number: int = 0
    destinations: tuple[str, ...] | None = None
    stamp_entries: int | None = None
    stamp_bytes: int | None = None


def life(name: str, member: MemberId) -> str:
    """The name of one life of a process, as it stands in traces."""
    return f"{name}.{member.incarnation}"


class Recording:
    """The log of one node in one group. Each life of the node is a process of its own."""

    def __init__(self, folder: Path, group: str, node: str) -> None:
        self._folder = folder
        self._group = group
        self._node = node
        self._file: int | None = None
        self._buffer = bytearray()
        self._path = folder

    def begin(self, incarnation: int) -> None:
        """A new life."""
        self.close()
        self._path = self._folder / f"{self._node}.{incarnation}{SUFFIX}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            self._file = os.open(self._path, flags, 0o644)
        except OSError as error:
            raise CannotWrite(str(self._path), error.strerror or str(error)) from None
        self._buffer += _encoder.encode([self._group, f"{self._node}.{incarnation}"])

    def send(self, sent: Sent, name: Naming) -> None:
        to = tuple(life(name(member), member) for member in sent.to)
        size = (sent.stamp_entries, sent.stamp_bytes)
        self._log(Logged("send", sent.lamport, time.time(), None, sent.number, to, *size))
        # Nothing may leave that is not in the log: somebody else would report its delivery.
        self.flush()

    def receive(self, arrived: Arrived, name: Naming) -> None:
        sender = life(name(arrived.sender), arrived.sender)
        self._log(Logged("receive", arrived.lamport, time.time(), sender, arrived.number))

    def deliver(self, delivered: Delivery) -> None:
        if delivered.member is None:
            return
        sender = life(delivered.sender, delivered.member)
        self._log(Logged("deliver", delivered.lamport, time.time(), sender, delivered.number))

    def view(self, lamport: int) -> None:
        self._log(Logged("view", lamport, time.time()))

    def _log(self, event: Logged) -> None:
        self._buffer += _encoder.encode(event)
        if len(self._buffer) >= 1 << 16:
            self.flush()

    def flush(self) -> None:
        """Give the events so far to the operating system."""
        if self._file is not None and self._buffer:
            try:
                os.write(self._file, self._buffer)
            except OSError as error:
                raise CannotWrite(str(self._path), error.strerror or str(error)) from None
            self._buffer.clear()

    def close(self) -> None:
        if self._file is not None:
            self.flush()
            os.close(self._file)
            self._file = None
