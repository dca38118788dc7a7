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

Everything is written under another name first and renamed when it is complete (in a store it
appears when it is complete), so whatever has its name is whole. Nobody but the holder of the lock
writes, apart from the executors it has started.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from antecede.campaigns.tables import TABLES
from antecede.errors import Misuse
from antecede.files import (
    LOCK,
    PARTIAL,
    complaining,
    give_name,
    is_stored,
    locked,
    path_of,
    remove_tree,
    sizes_in,
)


class Folder:
    """The places in the folder of a campaign."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path_of(path).absolute()
        self.file = self.path / "campaign.toml"
        self.about = self.path / "campaign.json"
        self.csv = self.path / "summary.csv"
        self.results = self.path / "results"
        self.failed = self.path / "failed"
        self.traces = self.path / "traces"
        self.work = self.path / "work"
        self.tables_aside = self.work / "tables"
        """Where the tables are made, on this machine."""
        self.check_lock: Callable[[], None] = lambda: None
        """Raises an error if another process may be at this folder by now."""

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
        sizes = sizes_in(self.results)
        return {
            name.removesuffix(".json")
            for name, size in sizes.items()
            if size and name.endswith(".json")
        }

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Make the folder, and refuse if another process is at it. The lock goes with the process,
        however that ends."""
        with complaining(self.path):
            if self.path.exists() and not self._is_ours():
                raise Misuse(
                    f"{self.path} has other things in it; name a new folder, or an old one"
                )
            self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.path) as self.check_lock, TemporaryDirectory() as scratch:
            if is_stored(self.path):
                self.tables_aside = Path(scratch) / "tables"
            with complaining(self.path):
                remove_tree(self.work)
                for folder in (self.results, self.failed, self.traces, self.work):
                    folder.mkdir(exist_ok=True)
                    for left in folder.glob(f".*{PARTIAL}-*"):
                        left.unlink(missing_ok=True)
            try:
                yield
            finally:
                remove_tree(self.work)

    def _is_ours(self) -> bool:
        """Whether a campaign, or nothing, is there."""
        return (self.path / LOCK).exists() or not any(self.path.iterdir())

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
            remove_tree(target)
            give_name(self.tables_aside / table.name, target)
