"""Many runs: each task takes some whole runs, those that stand next to each other in the files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import BadInput
from antecede.pipeline.audit.source import File
from antecede.trace.loader import Loader
from antecede.trace.reader import read_tables
from antecede.verify.audit import judge_copies, subject_of, verdict_on
from antecede.verify.findings import findings_of, write_findings
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

MIXED: Final = 1000
"""Stretches of wanted rows in a row group up to which they are taken out one by one."""


@dataclass(frozen=True)
class RunRows:
    """A run of a trace: how many rows it has, and where, over all files."""

    name: str
    rows: int
    stretches: tuple[tuple[int, int], ...]
    """From the first to the last row, in order; other runs may stand between."""


@dataclass(frozen=True)
class Lot:
    """The runs of one task, and the row groups that they are in."""

    runs: tuple[str, ...]
    rows: int
    groups: tuple[tuple[str, tuple[tuple[int, int], ...]], ...]
    """Of every file the row groups and the first row of each, counted in that file."""

    def reads(self, files: Sequence[File]) -> int:
        """How many rows the row groups have, those of other runs included."""
        rows_of = {file.path: file.groups for file in files}
        return sum(rows_of[file][group] for file, chosen in self.groups for group, _ in chosen)


def pack(runs: Sequence[RunRows], files: Sequence[File], rows: int, most: int) -> list[Lot]:
    """The runs, in their order, in lots of at most about so many rows; or of `most`, where runs are
    so mixed up that every lot has to read what others read, too."""
    lots = _fill(runs, files, rows)
    if sum(lot.reads(files) for lot in lots) > 2 * sum(lot.rows for lot in lots):
        return _fill(runs, files, max(rows, most))
    return lots


def _fill(runs: Sequence[RunRows], files: Sequence[File], rows: int) -> list[Lot]:
    lots: list[list[RunRows]] = []
    filled = 0
    for run in runs:
        if not lots or filled + run.rows > rows:
            lots.append([])
            filled = 0
        lots[-1].append(run)
        filled += run.rows
    return [
        Lot(
            tuple(run.name for run in lot),
            sum(run.rows for run in lot),
            tuple(groups_of(lot, files)),
        )
        for lot in lots
    ]


def groups_of(
    lot: Sequence[RunRows], files: Sequence[File]
) -> Iterator[tuple[str, tuple[tuple[int, int], ...]]]:
    """The row groups that runs may have rows in, file by file, with the first row of each."""
    stretches = [stretch for run in lot for stretch in run.stretches]
    first = np.array([first for first, _ in stretches])
    last = np.array([last for _, last in stretches])
    for file in files:
        inside = (first < file.first_row + file.rows) & (last >= file.first_row)
        if not inside.any():
            continue
        starts = [file.first_row, *(file.first_row + np.cumsum(file.groups)).tolist()]
        chosen = [
            (group, start - file.first_row)
            for group, (start, stop) in enumerate(pairwise(starts))
            if ((first[inside] < stop) & (last[inside] >= start)).any()
        ]
        yield file.path, tuple(chosen)


def verify_lot(lot: Lot, layer: int, findings: str | None) -> Verdict | BadInput:
    """The verdict on the runs of a lot, or what is wrong with the first that is broken. All
    findings go to the file `findings` if there is one."""
    try:
        loader = Loader(stamps=False, rows=lot.rows)
        for file, groups in lot.groups:
            tables = read_tables(Path(file), False, [group for group, _ in groups])
            for (_, skipped), table in zip(groups, tables, strict=True):
                for offset, part in _wanted(table, lot.runs):
                    loader.add(file, part, skipped + offset)
        verdict = Verdict()
        early = []
        for run in loader.runs(frozenset(lot.runs)):
            subject = subject_of(run, layer)
            judged = judge_copies(subject.joined)
            if len(judged.early) and findings:
                early.append(findings_of(subject, judged.early))
            verdict += verdict_on(subject, judged, WITNESS_LIMIT - len(verdict.witnesses))
    except BadInput as error:
        return error
    if findings and early:
        write_findings(Path(findings), pa.concat_tables(early))
    return verdict


def _wanted(table: pa.Table, runs: Iterable[str]) -> Iterator[tuple[int, pa.Table]]:
    """The rows of a row group that belong to these runs, in stretches; or all of them, where most
    do or the stretches would be very many."""
    wanted = pc.is_in(table["run"].cast(pa.string()), pa.array(list(runs), pa.string())).to_numpy()
    borders = np.flatnonzero(np.diff(wanted, prepend=False, append=False))
    if 2 * np.count_nonzero(wanted) > len(wanted) or len(borders) > 2 * MIXED:
        yield 0, table
        return
    for first, stop in borders.reshape(-1, 2).tolist():
        yield first, table.slice(first, stop - first)
