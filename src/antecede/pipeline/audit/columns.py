"""Row groups of a trace as columns of integers, for a task that takes some of them.

Strings stay dictionary codes all the way, as in `antecede.trace.loader`; but a task counts names as
it comes across them, for it does not know what stands in the rest of the trace.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from antecede.trace import schema
from antecede.trace.events import NULL, Codes, Integers, Words
from antecede.trace.loader import STAMPS
from antecede.trace.names import Names, filled
from antecede.trace.reader import open_checked, unreadable


@dataclass(frozen=True, eq=False)
class Columns:
    """Events as parallel columns, null as in `antecede.trace.events.Events`."""

    layer: Words
    process: Codes
    seq: Integers
    kind: Words
    sender: Codes
    number: Integers
    time: npt.NDArray[np.float64]
    position: Integers
    listed: Codes
    """How many destinations an event has, -1 if it has no list of them."""
    destination: Codes

    def __len__(self) -> int:
        return len(self.process)

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """Parts that stand one behind the other."""
        columns = [[getattr(part, field.name) for part in parts] for field in fields(cls)]
        return cls(*(np.concatenate(column) for column in columns))


class GroupReader:
    """Reads row groups: the rows of one run where they may hold `several`, else all."""

    def __init__(self, run: str, several: bool, names: Iterable[str] = ()) -> None:
        self.processes = Names(names)
        self._run = pa.scalar(run, pa.string()) if several else None
        self._kinds = Names(schema.KINDS)
        self._layers = Names(schema.LAYERS)

    def read(self, file: str, groups: Iterable[int]) -> Iterator[Columns]:
        parquet = open_checked(Path(file))
        wanted = [name for name in schema.SCHEMA.names if name not in STAMPS]
        if self._run is None:
            wanted.remove("run")
        columns = [name for name in wanted if name in parquet.schema_arrow.names]
        for group in groups:
            try:
                # Every core has a task of its own, so more threads cost more than they give.
                table = parquet.read_row_group(group, columns=columns, use_threads=False)
            except (pa.ArrowException, OSError) as error:
                raise unreadable(Path(file), error) from error
            yield self._convert(self._mine(table))

    def _mine(self, table: pa.Table) -> pa.Table:
        if self._run is None or "run" not in table.column_names:
            return table
        mine = pc.fill_null(pc.equal(table["run"].cast(pa.string()), self._run), False)
        return table if pc.all(mine).as_py() else table.filter(mine)

    def _convert(self, table: pa.Table) -> Columns:
        rows = len(table)

        def column(name: str, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
            return table[name] if name in table.column_names else pa.nulls(rows, kind)

        destinations = table["destinations"]
        if pa.types.is_null(destinations.type):
            destinations = destinations.cast(schema.SCHEMA.field("destinations").type)
        integers = {
            name: filled(column(name, pa.int64()), pa.int64(), NULL)
            for name in ("seq", "number", "position")
        }
        return Columns(
            layer=self._layers.words(column("layer", pa.string()), schema.APP),
            process=self.processes.codes(table["process"]),
            kind=self._kinds.words(table["kind"], -1),
            sender=self.processes.codes(table["sender"]),
            time=filled(column("time", pa.float64()), pa.float64(), np.nan),
            listed=filled(pc.list_value_length(destinations), pa.int32(), -1),
            destination=self.processes.codes(pc.list_flatten(destinations)),
            **integers,
        )
