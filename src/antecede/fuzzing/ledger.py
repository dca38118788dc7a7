"""What has been run and found, in a folder: so that no seed is run twice.

``slices.jsonl`` has a line for every slice that is done; it is written when the slice comes back,
and a last line that a kill has cut short does not count. ``failures/`` has a scenario file for
every failure that was shrunk.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.fuzzing.finding import Finding, file_name
from antecede.fuzzing.slices import Done, Found

SLICES = "slices.jsonl"
FAILURES = "failures"


class Ledger:
    """Keeps the books, in a folder or, without one, in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.done: list[Done] = []
        if folder is None:
            return
        try:
            (folder / FAILURES).mkdir(parents=True, exist_ok=True)
            (folder / SLICES).touch()
        except OSError as error:
            raise CannotWrite(str(folder), error.strerror or str(error)) from None
        self.done = _read(folder / SLICES)

    def add(self, done: Done) -> None:
        """Note a slice."""
        self.done.append(done)
        if self._folder is not None:
            _append(self._folder / SLICES, msgspec.json.encode(done) + b"\n")

    def keep(self, finding: Finding) -> Path | None:
        """Write the scenario of a finding; the answer is its file."""
        if self._folder is None:
            return None
        file = self._folder / FAILURES / finding.file_name
        aside = file.with_name(f".{file.name}.partial")
        try:
            aside.write_text(finding.scenario, encoding="utf-8")
            os.replace(aside, file)
        except OSError as error:
            aside.unlink(missing_ok=True)
            raise CannotWrite(str(file), error.strerror or str(error)) from None
        return file

    def file_of(self, found: Found) -> Path | None:
        """The scenario file of a failure, if it was shrunk."""
        file = self._folder and self._folder / FAILURES / file_name(found)
        return file if file and file.exists() else None

    @property
    def found(self) -> list[Found]:
        """All failures, by protocol, kind and seed."""
        every = [found for done in self.done for found in done.found]
        return sorted(every, key=lambda found: (found.protocol, found.kind, found.seed))

    @property
    def runs(self) -> int:
        return sum(done.slice.count for done in self.done)

    @property
    def events(self) -> int:
        return sum(done.events for done in self.done)

    @property
    def messages(self) -> int:
        return sum(done.messages for done in self.done)

    @property
    def deliveries(self) -> int:
        return sum(done.deliveries for done in self.done)


@contextmanager
def locked(folder: Path | None) -> Iterator[None]:
    """Make the folder, and refuse if another process is at it: both would run the same seeds. The
    lock goes with the process, however that ends."""
    if folder is None:
        yield
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / ".lock").open("w", encoding="utf-8")
    except OSError as error:
        raise CannotWrite(str(folder), error.strerror or str(error)) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misuse(f"another process is working in {folder}") from None
        yield


def _read(file: Path) -> list[Done]:
    """The slices of a ledger. What a kill has left of a line is cut off."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise BadFile(str(file), [f"cannot be read: {error.strerror}"]) from None
    whole = content[: content.rfind(b"\n") + 1]
    if whole != content:
        with file.open("r+b") as ledger:
            ledger.truncate(len(whole))
    done = []
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            done.append(msgspec.json.decode(line, type=Done))
        except msgspec.DecodeError as error:
            fix = "delete the line, and its seeds are run again"
            raise BadFile(str(file), [f"line {number}: {error}; {fix}"]) from None
    return done


def _append(file: Path, line: bytes) -> None:
    """All of a line or nothing of it."""
    try:
        with file.open("ab") as ledger:
            start = ledger.tell()
            try:
                ledger.write(line)
                ledger.flush()
            except OSError:
                os.truncate(file, start)
                raise
    except OSError as error:
        raise CannotWrite(str(file), error.strerror or str(error)) from None
