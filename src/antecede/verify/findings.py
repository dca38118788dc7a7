"""The table of all early deliveries, whichever engine found them."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.files import aside
from antecede.trace.events import Run
from antecede.trace.joined import Offsets
from antecede.trace.schema import APP
from antecede.verify.audit import Subject, judge_copies, subject_of, verdict_on
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

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


class Found(NamedTuple):
    """The verdict on a run, or on a part of it, and all its early deliveries."""

    verdict: Verdict
    early: pa.Table


def find_early(run: Run, layer: int = APP, witnesses: int = WITNESS_LIMIT) -> Found:
    """Judge one layer of a run by causal order."""
    subject = subject_of(run, layer)
    judged = judge_copies(subject.joined)
    verdict = verdict_on(subject, judged, witnesses)
    return Found(verdict, findings_of(subject, judged.early))


def write_findings(file: Path, table: pa.Table) -> None:
    with FindingsWriter(file) as writer:
        writer.add(table)


class FindingsWriter:
    """Writes a part of the findings; under another name first, for a task may be tried twice. If
    there are none, it leaves no file."""

    def __init__(self, file: Path) -> None:
        self._aside = ExitStack()
        self._partial = self._aside.enter_context(aside(file))
        self._writer: pq.ParquetWriter | None = None

    def add(self, table: pa.Table) -> None:
        self._writer = self._writer or pq.ParquetWriter(self._partial, FINDINGS)
        self._writer.write_table(table)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._writer:
            self._writer.close()
        self._aside.__exit__(kind, error, traceback)
