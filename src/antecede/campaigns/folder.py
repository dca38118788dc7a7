"""The folder of a campaign: what is where, and how it gets there.

::

    campaign.toml    the file that was run, as it was
    campaign.json    how it went; written last, so that a folder without it is not finished
    summary.csv      the main measures of every setting, for a spreadsheet
    runs/ summary/ histograms/ skipped/    the tables (`antecede.campaigns.tables`)
    traces/          the traces that the file asks to keep, `RUN.parquet`
    failed/          the scenarios of failed runs, `RUN.toml`: `simulate --scenario` repeats them
    results/         one small file a finished run, from which a campaign resumes
    work/            of a campaign that is running, or was killed
    report.html views/    what `campaign report` makes of all this

Everything is written under another name first and renamed when it is complete, so whatever has its
name is whole. Nobody but the holder of the lock writes, apart from the executors it has started.
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from antecede.campaigns.tables import TABLES
from antecede.errors import CannotWrite, Misuse

PARTIAL: Final = ".partial"


class Folder:
    """The places in the folder of a campaign."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.file = self.path / "campaign.toml"
        self.about = self.path / "campaign.json"
        self.csv = self.path / "summary.csv"
        self.results = self.path / "results"
        self.failed = self.path / "failed"
        self.traces = self.path / "traces"
        self.work = self.path / "work"
        self.tables_aside = self.work / "tables"

    def result(self, run: str) -> Path:
        return self.results / f"{run}.json"

    def trace(self, run: str) -> Path:
        return self.traces / f"{run}.parquet"

    def failure(self, run: str) -> Path:
        return self.failed / f"{run}.toml"

    def started(self, run: str) -> Path:
        """A mark that stands while the run goes on."""
        return self.work / f"{run}.started"

    def finished(self) -> set[str]:
        """The runs that have a result; an empty file is what a power failure leaves of one."""
        with os.scandir(self.results) as entries:
            return {
                entry.name.removesuffix(".json")
                for entry in entries
                if entry.name.endswith(".json") and entry.stat().st_size
            }

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and refuse if another process is at it. The lock goes with the process,
        however that ends."""
        with refusing(self.path):
            if self.path.exists() and not self._is_ours():
                raise Misuse(
                    f"{self.path} has other things in it; name a new folder, or an old one"
                )
            self.path.mkdir(parents=True, exist_ok=True)
            lock = (self.path / ".lock").open("w", encoding="utf-8")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Misuse(f"another process is working in {self.path}") from None
            with refusing(self.path):
                shutil.rmtree(self.work, ignore_errors=True)
                for folder in (self.results, self.failed, self.traces, self.work):
                    folder.mkdir(exist_ok=True)
                    for left in folder.glob(f".*{PARTIAL}-*"):
                        left.unlink(missing_ok=True)
            try:
                yield
            finally:
                shutil.rmtree(self.work, ignore_errors=True)

    def _is_ours(self) -> bool:
        """Whether a campaign, or nothing, is there."""
        return (self.path / ".lock").exists() or not any(self.path.iterdir())

    def read_about(self) -> dict[str, Any] | None:
        """How it went, if it is finished."""
        try:
            found: dict[str, Any] = msgspec.json.decode(self.about.read_bytes())
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return found

    def commit_tables(self) -> None:
        """Give the tables that are ready their names. What says that all is finished goes first."""
        self.about.unlink(missing_ok=True)
        for table in TABLES:
            target = self.path / table.name
            shutil.rmtree(target, ignore_errors=True)
            (self.tables_aside / table.name).rename(target)


def write(path: Path, text: str) -> None:
    """Write a small file, all or nothing."""
    aside = path.with_name(f".{path.name}{PARTIAL}-{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError:
        aside.unlink(missing_ok=True)
        raise


@contextmanager
def refusing(path: Path) -> Iterator[None]:
    """An output that cannot be written is an error of the user's, with the reason."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(str(error.filename or path), error.strerror or str(error)) from error
