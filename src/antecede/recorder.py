"""A recorder for any program: what it sends and delivers, a line each, for `antecede audit`.

::

    from antecede.recorder import record

    with record("billing.trace", process="billing") as rec:
        rec.deliver("order 7")
        rec.send("paid 7", to=["shipping"])

Every call is one `write` of one line, so what was recorded survives a SIGKILL, and several threads,
tasks or processes may share a file. Files of several processes together are a trace:
``antecede audit *.trace``. Nothing but Python's library is needed.
"""

import os
import threading
import time
from collections.abc import Iterable
from json.encoder import encode_basestring_ascii as quoted
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from antecede.errors import CannotWrite, Misuse

VERSION: Final = 1


class Recorder:
    """Appends events to a file. All methods may be called from any thread or task; the order of the
    calls is the order of the process."""

    def __init__(self, path: str | os.PathLike[str], process: str, run: str | None = None) -> None:
        self.path = Path(path)
        self.process = process
        self._run = "" if run is None else f',"run":{quoted(run)}'
        self._lock = threading.Lock()
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
            self._file: int | None = os.open(self.path, flags, 0o644)
        except OSError as error:
            raise CannotWrite(str(self.path), error.strerror or str(error)) from None
        self._write(f'{{"antecede":"recording","version":{VERSION}}}\n'.encode())

    def send(
        self, message: object, to: Iterable[str], *, text: str | None = None, at: str | None = None
    ) -> None:
        """This process (or the one called `at`) sends a message to these."""
        if isinstance(to, str):
            raise Misuse(f"to={to!r}: give a list of names, to=[{to!r}]")
        self._log("send", message, text, at, f',"destinations":[{",".join(map(quoted, to))}]')

    def receive(self, message: object, *, text: str | None = None, at: str | None = None) -> None:
        """A message has arrived; the application does not have it yet."""
        self._log("receive", message, text, at)

    def deliver(self, message: object, *, text: str | None = None, at: str | None = None) -> None:
        """The application gets a message."""
        self._log("deliver", message, text, at)

    def local(self, text: str, *, at: str | None = None) -> None:
        """Something that concerns nobody else."""
        self._log("local", None, text, at)

    def crash(self, *, at: str | None = None) -> None:
        """This process, or the one called `at`, ends without a farewell."""
        self._log("crash", None, None, at)

    def _log(
        self, kind: str, message: object, text: str | None, at: str | None, more: str = ""
    ) -> None:
        head = f'{{"process":{quoted(at or self.process)},"kind":"{kind}"{self._run}{more}'
        if message is not None:
            head += f',"message":{quoted(str(message))}'
        if text is not None:
            head += f',"text":{quoted(text)}'
        with self._lock:
            self._write(f'{head},"time":{time.time():.6f}}}\n'.encode())

    def _write(self, line: bytes) -> None:
        if self._file is None:
            raise Misuse(f"{self.path}: the recording is closed")
        try:
            written = os.write(self._file, line)
            while written < len(line):
                written += os.write(self._file, line[written:])
        except OSError as error:
            raise CannotWrite(str(self.path), error.strerror or str(error)) from None

    def close(self) -> None:
        """Nothing more is recorded."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def record(path: str | os.PathLike[str], process: str, run: str | None = None) -> Recorder:
    """Record what a process does; a file that is there is continued. Processes of one execution
    have the same `run`, or none."""
    return Recorder(path, process, run)
