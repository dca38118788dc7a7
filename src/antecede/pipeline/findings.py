"""The table of all early deliveries, whichever engine found them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.pipeline.output import output_folder
from antecede.trace import Run, read_trace
from antecede.verify import WITNESS_LIMIT, Verdict, audit
from antecede.verify.check import layer_code
from antecede.verify.passes import last_predecessors
from antecede.verify.prepare import prepare

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
            pa.array(number),
            pc.if_else(pc.is_nan(pa.array(time)), None, pa.array(time)),
        ]
        return pa.table(columns, schema=FINDINGS)


def find_early(run: Run, layer: int) -> pa.Table:
    """The early deliveries of a run in memory, in the order of their sends."""
    events = run.layer(layer)
    joined = prepare(events, len(run.processes))
    prepared = joined.prepared
    early = np.flatnonzero(last_predecessors(prepared) > prepared.rank)
    message = prepared.start.searchsorted(early, side="right") - 1
    origin = joined.origin[message]
    return Naming(run.name, run.processes).table(
        prepared.column[early],
        events.sender[origin],
        events.number[origin],
        joined.delivered[early],
    )


def verify_into(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    layer: str = "app",
    *,
    force: bool = False,
) -> Verdict:
    """The local engine's verdict on a trace, with all findings in the folder `out`."""
    code = layer_code(layer)
    with output_folder(out, force=force) as output:
        verdict = Verdict()
        for index, run in enumerate(read_trace(path, stamps=False).runs):
            found = audit(run, code, WITNESS_LIMIT - len(verdict.witnesses))
            if found.violations and output.findings:
                write_findings(output.findings / f"{index}.parquet", find_early(run, code))
            verdict += found
        output.write(verdict)
    return verdict


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
