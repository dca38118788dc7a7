"""A trace in memory: whole columns of integers, so that a compiled loop can run over them.

No row ever becomes a Python object and no name is stored more than once; names are looked up only
to say something to a person.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, Self

import numpy as np
import numpy.typing as npt

from antecede.errors import BadTrace

NULL: Final = int(np.iinfo(np.int64).min)
"""What stands for null in an integer column; a null name is -1, an unknown time is not a number."""

Integers = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Words = npt.NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Events:
    """Events as parallel columns. Names are indices into `Run.processes`, kinds and layers the
    numbers of `antecede.trace.schema`."""

    layer: Words
    process: Codes
    seq: Integers
    kind: Words
    sender: Codes
    number: Integers
    time: npt.NDArray[np.float64]
    position: Integers
    stamp_entries: Integers
    stamp_bytes: Integers
    row: Integers
    """Where the trace files have the event; `Sources.place` turns it into words."""
    message: Codes
    """The message of the event: messages of a layer are counted from 0 in the order of their sends.
    -1 for membership events, and everywhere until the rules have been checked."""
    destination_start: Integers
    """One longer than the columns: event i is addressed to the processes
    `destination[destination_start[i]:destination_start[i + 1]]`, none if it is not a send."""
    destination: Codes

    def __len__(self) -> int:
        return len(self.process)

    def take(self, chosen: Integers) -> Self:
        """The events with these indices, in the order of these indices."""
        if np.array_equal(chosen, np.arange(len(self))):
            return self
        if len(chosen) and np.array_equal(chosen, np.arange(chosen[0], chosen[0] + len(chosen))):
            return self._stretch(int(chosen[0]), int(chosen[0]) + len(chosen))
        counts = np.diff(self.destination_start)[chosen]
        start = offsets_of(counts)
        kept = np.arange(start[-1]) + np.repeat(self.destination_start[chosen] - start[:-1], counts)
        columns = {
            field.name: getattr(self, field.name)[chosen]
            for field in fields(self)
            if not field.name.startswith("destination")
        }
        return replace(self, **columns, destination_start=start, destination=self.destination[kept])

    def _stretch(self, first: int, stop: int) -> Self:
        """The same for events that stand one behind the other, without copying them."""
        start = self.destination_start[first : stop + 1]
        columns = {
            field.name: getattr(self, field.name)[first:stop]
            for field in fields(self)
            if not field.name.startswith("destination")
        }
        destination = self.destination[start[0] : start[-1]]
        return replace(self, **columns, destination_start=start - start[0], destination=destination)

    def with_names(self, codes: Codes) -> Self:
        """The same with other indices for its processes: `codes[i]` in place of i."""
        if np.array_equal(codes[:-1], np.arange(len(codes) - 1)):
            return self
        return replace(
            self,
            process=codes[self.process],
            sender=codes[self.sender],
            destination=codes[self.destination],
        )


@dataclass(frozen=True)
class Sources:
    """The files that a trace was read from, and the index of the first row of each."""

    files: Sequence[str]
    first_rows: Sequence[int]
    skipped: Sequence[int] = ()
    """How many rows at the start of each were left out, where that is known to be any."""

    def file(self, row: int) -> str:
        """The file that has a row."""
        return self.files[bisect_right(self.first_rows, row) - 1]

    def place(self, row: int) -> str:
        """A row as a person finds it, counted from 0 in its file."""
        file = bisect_right(self.first_rows, row) - 1
        skipped = self.skipped[file] if self.skipped else 0
        return f"row {row - self.first_rows[file] + skipped} of {self.files[file]}"


@dataclass(frozen=True, eq=False)
class Run:
    """One execution: its events of all layers, in a linear extension of happened-before."""

    name: str
    processes: Sequence[str]
    events: Events
    sources: Sources

    def layer(self, layer: int) -> Events:
        """The events of one layer, in the same order."""
        return self.events.take(np.flatnonzero(self.events.layer == layer))

    def where(self, event: int) -> str:
        """An event as errors name it: run, process and row."""
        process = self.name_of(int(self.events.process[event]))
        return f"run '{self.name}', process '{process}', {self.place_of(event)}"

    def breaks(self, rule: str, event: int, detail: str) -> BadTrace:
        """The error that says that an event breaks a rule."""
        return BadTrace(rule, self.where(event), detail, int(self.events.row[event]))

    def place_of(self, event: int) -> str:
        return self.sources.place(int(self.events.row[event]))

    def message_of(self, event: int) -> str:
        """The message of an event, as people write it."""
        return f"{self.name_of(int(self.events.sender[event]))}:{self.events.number[event]}"

    def name_of(self, process: int) -> str:
        return self.processes[process] if process >= 0 else "(null)"


@dataclass(frozen=True, eq=False)
class Trace:
    """The runs of a trace, in the order in which they first appear in its files. Every one has
    passed the rules of the format."""

    path: str
    runs: Sequence[Run]


def offsets_of(counts: Integers) -> Integers:
    """Where each of several lists starts when they stand one behind the other, and the end."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
