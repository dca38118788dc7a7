"""Some rows of one run, one behind the other: columns of numbers and of dictionary codes, just as
they come out of a file or stand in memory."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.trace.events import Codes, Events, Integers
from antecede.trace.schema import KINDS, LAYERS

TEXTS: Final = ("process", "kind", "sender")
NUMBERS: Final = ("seq", "number", "position")


class Unusual(Exception):
    """A trace that cannot be taken in one go."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of texts: `words[indices[i]]`, or null where the index is behind the last word. A
    single index stands for all rows."""

    indices: Codes
    words: Sequence[str | None]

    def part(self, first: int, stop: int) -> "Coded":
        """Some of the rows, with no words but theirs."""
        if len(self.indices) == 1:
            return self
        return Coded(self.indices[first:stop], self._used(self.indices[first:stop]))

    def used_by(self, first: int, stop: int) -> "Coded":
        """All rows, with no words but those of some."""
        return Coded(self.indices, self._used(self.indices[first:stop]))

    def _used(self, indices: Codes) -> Sequence[str | None]:
        used = np.zeros(len(self.words) + 1, bool)
        used[indices] = True
        return [word if used[at] else None for at, word in enumerate(self.words)]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of one run, one behind the other."""

    file: Path
    group: int
    """The row group that they are from,"""
    first_row: int
    """and how many rows of it stand before them."""
    expected: int
    """How many rows of the same run the file may have in all: a hint."""
    run: str
    layer: Coded
    process: Coded
    kind: Coded
    sender: Coded
    seq: Integers
    number: Integers
    position: Integers
    time: npt.NDArray[np.float64]
    """Empty if nobody asked for it."""
    listed: npt.NDArray[np.uint8]
    """A bit for each row that has a list of destinations, from bit `first_bit` on; empty if all
    have one."""
    first_bit: int
    destination_start: Codes
    destination: Coded

    def __len__(self) -> int:
        return len(self.seq)

    def part(self, run: str, first: int, stop: int) -> "Batch":
        """Those of the rows that belong to a run."""
        start = self.destination_start[first : stop + 1]
        return replace(
            self,
            first_row=self.first_row + first,
            expected=stop - first,
            run=run,
            **{name: getattr(self, name).part(first, stop) for name in ("layer", *TEXTS)},
            **{name: getattr(self, name)[first:stop] for name in (*NUMBERS, "time")},
            first_bit=self.first_bit + first,
            destination_start=start,
            destination=self.destination.used_by(int(start[0]), int(start[-1])),
        )


def batch_of(events: Events, processes: Sequence[str]) -> Batch:
    """The events of a run in memory. Their kinds and layers are known ones."""
    columns: dict[str, Any] = {
        "layer": coded(events.layer, LAYERS),
        "kind": coded(events.kind, KINDS),
        **{
            name: coded(getattr(events, name), processes)
            for name in ("process", "sender", "destination")
        },
        **{name: fixed(getattr(events, name)) for name in (*NUMBERS, "time")},
    }
    return Batch(
        file=Path(),
        group=0,
        first_row=0,
        expected=len(events),
        run="",
        **columns,
        listed=fixed(np.empty(0, np.uint8)),
        first_bit=0,
        destination_start=fixed(events.destination_start.astype(np.int32)),
    )


def coded(codes: npt.NDArray[Any], words: Sequence[str | None]) -> Coded:
    """A column of texts, of which negative ones are null."""
    if len(codes) and int(codes.min()) < 0:
        codes = np.where(codes < 0, len(words), codes)
    return Coded(fixed(codes.astype(np.int32, copy=False)).view(np.uint32), words)


def fixed(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Columns that lie in Arrow's memory cannot be written to. All others pretend the same, for a
    loop is compiled anew for every other kind of array."""
    values = np.ascontiguousarray(values).view()
    values.flags.writeable = False
    return values
