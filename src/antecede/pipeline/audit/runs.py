"""Which runs a trace has, and where: from the footers where these know, by tasks where not. Small
runs go to tasks as they are, those together that stand next to each other in the files."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from antecede.errors import BadFile, BadInput, BadTrace, BrokenInvariant
from antecede.files import path_of
from antecede.pipeline.audit.job import File, Job
from antecede.trace.loader import Loader
from antecede.trace.names import Names
from antecede.trace.reader import open_checked, read_tables, unreadable
from antecede.trace.rules import NOT_NULL
from antecede.trace.schema import ORDERED, SCHEMA
from antecede.verify.findings import find_early, write_findings
from antecede.verify.incomplete import find_scoped
from antecede.verify.scopes import Name, Scope, add_scopes
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

GROUPS: Final = 32
"""Row groups that a task looks through: what it says about a run is one stretch."""
EXACT: Final = 64
"""Bytes; statistics may cut a longer name short."""
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


def verify_lot(layer: int, is_scoped: bool, lot: Lot, findings: str | None) -> Verdict | BadInput:
    """The verdict on the runs of a lot, or what is wrong with the first that is broken. All
    findings go to the file `findings` if there is one. By less than causal order, if `is_scoped`:
    then what a message has to follow may stand anywhere before it, and a context may name any
    message, so that no run is cut into windows, however long it is."""
    verdict, early = Verdict(), list[pa.Table]()
    scopes: dict[str, dict[Name, Scope]] = {}
    try:
        loader = Loader(stamps=False, rows=lot.rows)
        for file, skipped, part in rows_of(lot, (*SCHEMA.names, *[ORDERED] * is_scoped)):
            loader.add(file, part, skipped)
            if is_scoped:
                add_scopes(scopes, part)
        for run in loader.runs(frozenset(lot.runs)):
            if is_scoped:
                found = find_scoped(run, scopes.get(run.name, {}))
            else:
                found = find_early(run, layer, WITNESS_LIMIT - len(verdict.witnesses))
            verdict += found.verdict
            early.append(found.early)
    except BadInput as error:
        return error
    if findings and any(map(len, early)):
        write_findings(path_of(findings), pa.concat_tables(early))
    return verdict


def rows_of(lot: Lot, only: Container[str]) -> Iterator[tuple[str, int, pa.Table]]:
    """The rows of a lot with these columns: their file, how many stand before them there, and they
    themselves."""
    for file, groups in lot.groups:
        tables = read_tables(path_of(file), False, [group for group, _ in groups], only)
        for (_, skipped), table in zip(groups, tables, strict=True):
            for offset, part in _wanted(table, lot.runs):
                yield file, skipped + offset, part


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


@dataclass(frozen=True)
class Found:
    """Rows of a run, or of none."""

    run: str | None
    rows: int
    first: int
    last: int


def find_runs(job: Job) -> list[RunRows]:
    """The runs in the order in which they first appear."""
    found: list[Found] = []
    unknown: list[tuple[File, int, tuple[int, ...]]] = []
    for file in job.source.files:
        names = _from_footer(file)
        starts = list(accumulate(file.groups, initial=file.first_row))
        for name, chosen in groupby(range(len(file.groups)), key=names.__getitem__):
            groups = list(chosen)
            if name is None:
                parts = [groups[at : at + GROUPS] for at in range(0, len(groups), GROUPS)]
                unknown += [(file, starts[part[0]], tuple(part)) for part in parts]
            elif rows := starts[groups[-1] + 1] - starts[groups[0]]:
                found.append(Found(name, rows, starts[groups[0]], starts[groups[0]] + rows - 1))
    for part in job.each(unknown, _look):
        if isinstance(part, BadInput):
            raise part
        found += part
    return _by_run(job, found)


def _by_run(job: Job, found: Iterable[Found]) -> list[RunRows]:
    by_run: dict[str, list[Found]] = {}
    for one in sorted(found, key=lambda one: one.first):
        if one.run is None:
            place = job.source.sources.place(one.first)
            raise BadTrace(NOT_NULL, place, "column 'run' is null")
        by_run.setdefault(one.run, []).append(one)
    runs = [
        RunRows(name, sum(one.rows for one in rows), tuple((one.first, one.last) for one in rows))
        for name, rows in by_run.items()
    ]
    seen = sum(run.rows for run in runs)
    if seen != job.source.rows:
        raise BrokenInvariant(f"the runs have {seen} rows, the files {job.source.rows}")
    return runs


def _from_footer(file: File) -> Sequence[str | None]:
    """The run of each row group, where it has but one and the footer says which."""
    if file.run is not None:
        return [file.run] * len(file.groups)
    metadata = pq.read_metadata(file.path)
    columns = [metadata.schema.column(index).path for index in range(metadata.num_columns)]
    if "run" not in columns:
        return [None] * len(file.groups)
    names: list[str | None] = []
    for group in range(len(file.groups)):
        told = metadata.row_group(group).column(columns.index("run")).statistics
        is_known = told is not None and told.has_min_max and told.has_null_count
        is_known = is_known and told.null_count == 0 and told.min == told.max
        is_known = is_known and isinstance(told.min, str) and len(told.min.encode()) < EXACT
        names.append(told.min if is_known else None)
    return names


def _look(part: tuple[File, int, tuple[int, ...]]) -> list[Found] | BadInput:
    """Read the names of the runs in some row groups."""
    file, start, groups = part
    try:
        parquet = open_checked(path_of(file.path))
        if "run" not in parquet.schema_arrow.names:
            rows = sum(file.groups[group] for group in groups)
            return [Found(None, rows, start, start + rows - 1)] if rows else []
        names = Names()
        codes = np.concatenate(
            [names.codes(parquet.read_row_group(group, columns=["run"])["run"]) for group in groups]
        )
    except BadInput as error:
        return error
    except UnicodeDecodeError as error:
        return BadFile(file.path, [f"a string is no UTF-8 text: {error}"])
    except (pa.ArrowException, OSError) as error:
        return unreadable(path_of(file.path), error)
    found = []
    for code in np.unique(codes).tolist():
        places = np.flatnonzero(codes == code)
        name = names.names[code] if code >= 0 else None
        found.append(Found(name, len(places), start + int(places[0]), start + int(places[-1])))
    return found
