"""Which rule of the format a huge run breaks, and where, once it is known that it breaks one.

The rules are those of `antecede.trace.rules`, in their words. Each is about a row, a process or a
message, so rows are exchanged by process, then by sender, and every task asks its share of them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from antecede.errors import BadTrace, BrokenInvariant
from antecede.pipeline.audit.exchange import (
    ROW,
    Dealt,
    borders_of,
    by_name,
    by_position,
    exchange,
    read_bucket,
    read_share,
    share_out,
    survey,
)
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.runs import RunRows
from antecede.trace.events import NULL, Sources
from antecede.trace.extension import (
    Stuck,
    check_distinct,
    check_local_positions,
    check_send_positions,
    why_no_order,
)
from antecede.trace.loader import Loader, Unchecked
from antecede.trace.names import filled
from antecede.trace.rules import RULES, check_messages, check_rows, check_sends, check_seq


def name_rule(job: Job, run: RunRows, folder: Path) -> Exception:
    """What is wrong with a run of which it is known that something is."""
    found = first_error(job, run, folder)
    return found or BrokenInvariant(f"run '{run.name}' breaks a rule unknown")


def first_error(job: Job, run: RunRows, folder: Path) -> BadTrace | None:
    """The first rule that is broken, apart from cycles, which take all rows to see."""
    job.tell("rules")
    shares = share_out(job, run)
    found = survey(job, shares)
    count = max(job.cores, -(-found.rows // job.limits.window_rows))
    borders = borders_of(found.sample, count)
    deals = {
        "process": (partial(by_name, "process", count), count),
        "sender": (partial(by_name, "sender", count), count),
        "position": (partial(by_position, borders), len(borders) + 1),
    }
    dealt: dict[str, Dealt] = {}
    checks: list[tuple[str, Callable[[Unchecked], None]]] = [
        ("process", _check_processes),
        ("sender", _check_messages),
        ("position", _check_distinct),
    ]
    if not found.unplaced:
        checks += [("process", _check_local_positions), ("sender", _check_send_positions)]
    for key, check in checks:
        if key not in dealt:
            choose, buckets = deals[key]
            place = folder / f"by-{key}"
            dealt[key] = exchange(job, shares, read_share, choose, place, buckets)
        task = partial(_check, dealt[key], job.source.sources, check)
        errors = [error for error in job.each(range(dealt[key].buckets), task) if error]
        if errors:
            return min(errors, key=lambda error: (RULES.index(error.rule), error.row))
    return None


def _check(
    dealt: Dealt, sources: Sources, check: Callable[[Unchecked], None], bucket: int
) -> BadTrace | None:
    table = read_bucket(dealt, bucket).sort_by(ROW)
    if not len(table):
        return None
    loader = Loader(stamps=False, rows=len(table))
    loader.add("", table.drop_columns([ROW]))
    row = filled(table[ROW], pa.int64(), NULL)
    ((run, kinds, layers, unaddressed),) = loader.unchecked()
    placed = replace(run, events=replace(run.events, row=row), sources=sources)
    try:
        check((placed, kinds, layers, row[unaddressed]))
    except BadTrace as error:
        return error
    return None


def _check_processes(unchecked: Unchecked) -> None:
    check_rows(*unchecked)
    check_seq(unchecked[0])
    check_sends(unchecked[0])


def _check_messages(unchecked: Unchecked) -> None:
    check_messages(unchecked[0])


def _check_distinct(unchecked: Unchecked) -> None:
    check_distinct(unchecked[0])


def _check_local_positions(unchecked: Unchecked) -> None:
    check_local_positions(unchecked[0], check_seq(unchecked[0]))


def _check_send_positions(unchecked: Unchecked) -> None:
    run, send = check_messages(unchecked[0])
    check_send_positions(run, send)


def explain_no_order(
    job: Job, run: RunRows, folder: Path, stuck: Sequence[Stuck], cyclic: Sequence[Stuck]
) -> BadTrace:
    """Why there is no order: another rule is broken, or there is a cycle, or the positions that are
    given contradict the rest."""
    if found := first_error(job, run, folder):
        return found
    rule, one, detail = why_no_order(stuck, cyclic)
    where = f"run '{run.name}', process '{one.process}', {job.source.sources.place(one.row)}"
    return BadTrace(rule, where, detail, one.row)
