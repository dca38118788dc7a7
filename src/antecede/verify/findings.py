"""The table of all early deliveries, whichever engine found them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.trace.joined import Offsets
from antecede.verify.audit import Subject

FINDINGS: Final = pa.schema(
    [
        ("run", pa.string()),
        ("process", pa.string()),
        ("sender", pa.string()),
        ("number", pa.int64()),
        ("time", pa.float64()),
    ]
)
"""`process` delivered the message `number` of `sender` too early, at this time."""


@dataclass(frozen=True)
class Naming:
    """How a run and its processes are called."""

    run: str
    processes: Sequence[str]

    def table(
        self,
        process: npt.NDArray[Any],
        sender: npt.NDArray[Any],
        number: npt.NDArray[Any],
        time: npt.NDArray[Any],
    ) -> pa.Table:
        """Findings, given in numbers."""
        names = pa.array(self.processes, pa.string())
        columns = [
            pa.repeat(pa.scalar(self.run), len(process)),
            names.take(pa.array(process)),
            names.take(pa.array(sender)),
            pa.array(number, pa.int64()),
            pc.if_else(pc.is_nan(pa.array(time)), None, pa.array(time)),
        ]
        return pa.table(columns, schema=FINDINGS)


def findings_of(subject: Subject, early: Offsets) -> pa.Table:
    """These early deliveries of a run."""
    joined = subject.joined
    message = joined.message_of(early)
    return Naming(subject.name, subject.processes).table(
        joined.prepared.column[early],
        joined.prepared.process[joined.send[message]],
        joined.number[message],
        subject.delivered(early),
    )


def write_findings(file: Path, table: pa.Table) -> None:
    with FindingsWriter(file) as writer:
        writer.add(table)


class FindingsWriter:
    """Writes a part of the findings; under another name first, for a task may be tried twice. If
    there are none, it leaves no file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._partial = file.with_name(f".{file.name}.partial-{os.getpid()}")
        self._writer: pq.ParquetWriter | None = None

    def add(self, table: pa.Table) -> None:
        self._writer = self._writer or pq.ParquetWriter(self._partial, FINDINGS)
        self._writer.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._writer:
            self._writer.close()
            if kind is None:
                self._partial.replace(self._file)
            else:
                self._partial.unlink()
