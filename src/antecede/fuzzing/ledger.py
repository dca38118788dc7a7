"""What has been run and found, in a folder: so that no seed is run twice.

``slices.jsonl`` has a line for every slice that is done; it is written when the slice comes back,
and a last line that a kill has cut short does not count. ``failures/as-drawn/`` has a scenario file
for every failure, from the moment at which it is found, ``failures/`` for those that were shrunk.
In a store, where no file grows, ``slices/`` has a file a line.
"""

import os
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path

import msgspec

from antecede.errors import BadFile
from antecede.files import complaining, is_stored, locked, make_folder, write_whole
from antecede.fuzzing.finding import Finding, as_drawn, file_name
from antecede.fuzzing.slices import Done, Found

SLICES = "slices.jsonl"
FAILURES = "failures"
AS_DRAWN = "as-drawn"


class Ledger:
    """Keeps the books, in a folder or, without one, in memory."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self.done: list[Done] = []
        if folder is None:
            return
        with complaining(folder):
            (folder / FAILURES / AS_DRAWN).mkdir(parents=True, exist_ok=True)
            if not is_stored(folder):
                (folder / SLICES).touch()
        self.done = _read(folder / SLICES)

    def add(self, done: Done) -> None:
        """Note a slice, and write the scenarios that failed: somebody may be waiting for one."""
        self.done.append(done)
        if self._folder is not None:
            for found in done.found:
                file = self._folder / FAILURES / AS_DRAWN / file_name(found)
                write_whole(file, as_drawn(found))
            line = msgspec.json.encode(done) + b"\n"
            if is_stored(self._folder):
                name = f"{len(self.done):08}-{sha256(line).hexdigest()[:8]}.jsonl"
                write_whole((self._folder / SLICES).with_suffix("") / name, line)
            else:
                _append(self._folder / SLICES, line)

    def keep(self, finding: Finding) -> Path | None:
        """Write the scenario of a finding; the answer is its file."""
        if self._folder is None:
            return None
        file = self._folder / FAILURES / finding.file_name
        write_whole(file, finding.scenario)
        return file

    def file_of(self, found: Found, within: str = "") -> Path | None:
        """The scenario file of a failure, if it was shrunk; or, within `AS_DRAWN`, as it was."""
        file = self._folder and self._folder / FAILURES / within / file_name(found)
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

    @property
    def let_go(self) -> tuple[int, int]:
        """Copies that were let go after `forget_after_s`, as was told, and the runs with such."""
        copies = sum(done.let_go for done in self.done)
        return copies, sum(done.let_go_runs for done in self.done)


def reserved(folder: Path | None) -> AbstractContextManager[object]:
    """Make the folder, and refuse if another process is at it: both would run the same seeds."""
    if folder is None:
        return nullcontext()
    make_folder(folder)
    return locked(folder)


def _read(file: Path) -> list[Done]:
    """The slices of a ledger. What a kill has left of a line is cut off."""
    try:
        content = _content(file)
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


def _content(file: Path) -> bytes:
    if not is_stored(file):
        return file.read_bytes()
    return b"".join(each.read_bytes() for each in sorted(file.with_suffix("").iterdir()))


def _append(file: Path, line: bytes) -> None:
    """All of a line or nothing of it."""
    with complaining(file), file.open("ab") as ledger:
        start = ledger.tell()
        try:
            ledger.write(line)
            ledger.flush()
        except OSError:
            os.truncate(file, start)
            raise
