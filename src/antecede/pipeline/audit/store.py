"""The prepared copies of one run, on disk: Parquet files in the order of the sends.

The driver looks at their footers; a task reads a part of them, in pieces of bounded size.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.audit.flow import NONE, Copies, no_copies

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
class Log:
    """A run whose copies have been written to a folder."""

    processes: Sequence[str]
    messages: int
    deliveries: int
    first: int
    last: int
    """The first and the last position."""
    crashed: tuple[int, ...]
    """Which processes crashed."""
    folder: str


@dataclass(frozen=True)
class Part:
    """A row group, and the first and the last send in it."""

    file: str
    group: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True)
class Store:
    """The row groups of the prepared copies, in the order of the sends."""

    parts: tuple[Part, ...]

    def __len__(self) -> int:
        return sum(part.rows for part in self.parts)

    def read(self, first: int, stop: int | None, piece: int = PIECE) -> Iterator["Piece"]:
        """The copies of the messages sent from `first` up to `stop`, in pieces; the copies of one
        message stay together."""
        held = no_copies()
        for part in self.parts:
            if part.last < first or (stop is not None and part.first >= stop):
                continue
            copies = _read(part)
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
        for part in self.parts:
            # Within a row group, sends are taken to be spread evenly.
            while len(found) + 1 < windows and (len(found) + 1) * share < seen + part.rows:
                inside = ((len(found) + 1) * share - seen) / part.rows
                found.append(part.first + int(inside * (part.last - part.first)))
            seen += part.rows
        return sorted(set(found))


@dataclass(frozen=True, eq=False)
class Piece:
    copies: Copies
    stop: int | None
    """Where the next piece starts; None if there is no other."""


def open_store(folder: str) -> Store:
    """The store in a folder that Spark wrote, whose files come in order."""
    parts = []
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
                parts.append(Part(str(file), group, found.num_rows, bounds.min, bounds.max))
    return Store(tuple(sorted(parts, key=lambda part: (part.first, part.last))))


def _read(part: Part) -> Copies:
    with pq.ParquetFile(part.file) as parquet:
        return copies_from(parquet.read_row_group(part.group, columns=COPIES.names))


def copies_from(table: pa.Table) -> Copies:
    def column(name: str, null: float) -> npt.NDArray[np.generic]:
        values: npt.NDArray[np.generic] = (
            table[name].combine_chunks().cast(COPIES.field(name).type).fill_null(null).to_numpy()
        )
        return values

    nulls = {pa.int64(): NONE, pa.int32(): -1, pa.float64(): np.nan}
    return Copies(*(column(field.name, nulls[field.type]) for field in COPIES))  # type: ignore[arg-type]
