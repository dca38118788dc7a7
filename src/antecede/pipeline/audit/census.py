"""Which runs a trace has, and where: from the footers where these know, by tasks where not."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import BadFile, BadInput, BadTrace, BrokenInvariant
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.runs import RunRows
from antecede.pipeline.audit.source import File
from antecede.trace.names import Names
from antecede.trace.reader import open_checked, unreadable
from antecede.trace.rules import NOT_NULL

GROUPS: Final = 32
"""Row groups that a task looks through: what it says about a run is one stretch."""
EXACT: Final = 64
"""Bytes; statistics may cut a longer name short."""


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
        parquet = open_checked(Path(file.path))
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
        return unreadable(Path(file.path), error)
    found = []
    for code in np.unique(codes).tolist():
        places = np.flatnonzero(codes == code)
        name = names.names[code] if code >= 0 else None
        found.append(Found(name, len(places), start + int(places[0]), start + int(places[-1])))
    return found
