"""The prepared copies of one run, on disk: Parquet files in the order of the sends.

The driver looks at their footers; a task reads a stretch of them, in pieces of bounded size.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.flow import NONE, Copies, no_copies

PIECE: Final = 1_000_000
"""How many copies a task takes at a time."""

COPIES: Final = pa.schema(
    [
        ("send", pa.int64()),
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("destination", pa.int32()),
        ("delivery", pa.int64()),
        ("arrival", pa.int64()),
        ("delivered", pa.float64()),
        ("received", pa.float64()),
    ]
)
"""The columns of `Copies`, null where a position or a time is missing."""


@dataclass(frozen=True)
class Stretch:
    """A row group, and the first and the last send in it."""

    file: str
    group: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class Store:
    """The row groups of the prepared copies, in the order of the sends."""

    stretches: tuple[Stretch, ...]

    def __len__(self) -> int:
        return sum(stretch.rows for stretch in self.stretches)

    def read(self, first: int, stop: int | None, piece: int = PIECE) -> Iterator["Piece"]:
        """The copies of the messages sent from `first` up to `stop`, in pieces; the copies of one
        message stay together."""
        held = no_copies()
        for stretch in self.stretches:
            if stretch.last < first or (stop is not None and stretch.first >= stop):
                continue
            copies = _read(stretch)
            wanted = copies.send >= first
            if stop is not None:
                wanted &= copies.send < stop
            held = held.join(copies if wanted.all() else copies.take(wanted))
            while len(held) > piece:
                # The last message that fits may go on in the next piece: cut in front of it.
                cut = int(held.send.searchsorted(held.send[piece]))
                if cut == 0:
                    break
                yield Piece(held.take(slice(0, cut)), int(held.send[cut]))
                held = held.take(slice(cut, None))
        if len(held):
            yield Piece(held, None)

    def borders(self, windows: int) -> list[int]:
        """Positions that cut the copies into about so many parts of about the same size."""
        share = len(self) / max(windows, 1)
        found: list[int] = []
        seen = 0
        for stretch in self.stretches:
            # Within a row group, sends are taken to be spread evenly.
            while len(found) + 1 < windows and (len(found) + 1) * share < seen + stretch.rows:
                part = ((len(found) + 1) * share - seen) / stretch.rows
                found.append(stretch.first + int(part * (stretch.last - stretch.first)))
            seen += stretch.rows
        return sorted(set(found))


@dataclass(frozen=True, eq=False)
class Piece:
    copies: Copies
    stop: int | None
    """Where the next piece starts; None if there is no other."""


def open_store(folder: str) -> Store:
    """The store in a folder that Spark wrote, whose files come in order."""
    stretches = []
    for file in sorted(Path(folder).glob("*.parquet")):
        metadata = pq.read_metadata(file)
        for group in range(metadata.num_row_groups):
            found = metadata.row_group(group)
            if found.num_rows:
                column = next(
                    found.column(index)
                    for index in range(found.num_columns)
                    if found.column(index).path_in_schema == "send"
                )
                bounds = column.statistics
                stretches.append(Stretch(str(file), group, found.num_rows, bounds.min, bounds.max))
    return Store(tuple(sorted(stretches, key=lambda stretch: (stretch.first, stretch.last))))


def _read(stretch: Stretch) -> Copies:
    with pq.ParquetFile(stretch.file) as parquet:
        return copies_from(parquet.read_row_group(stretch.group, columns=COPIES.names))


def copies_from(table: pa.Table) -> Copies:
    def column(name: str, null: float) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = (
            table[name].combine_chunks().cast(COPIES.field(name).type).fill_null(null).to_numpy()
        )
        return values

    nulls = {pa.int64(): NONE, pa.int32(): -1, pa.float64(): np.nan}
    return Copies(*(column(field.name, nulls[field.type]) for field in COPIES))  # type: ignore[arg-type]
