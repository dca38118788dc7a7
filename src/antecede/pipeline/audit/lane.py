"""The fast lane for one huge run: its rows are read once, by tasks that each judge a window.

It is open to runs whose rows stand in the order of their positions, as our recorders write them.
The driver sees of each window a digest of some numbers per process, and finds out whether the
windows fit together. If they do, and no message flies for longer than the tasks looked, the sum of
their findings is the verdict. Whatever breaks a rule, or may do so, goes the long way instead
(`antecede.pipeline.audit.huge`), which says what is wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path

import numpy as np

from antecede.errors import BadInput
from antecede.pipeline.audit.flow import NONE, Positions
from antecede.pipeline.audit.following import write_window
from antecede.pipeline.audit.job import Job
from antecede.pipeline.audit.runs import RunRows, groups_of
from antecede.pipeline.audit.settle import Border, Settled, settle
from antecede.pipeline.audit.store import Log
from antecede.pipeline.audit.stretch import Layout
from antecede.pipeline.audit.sweep import Swept, sweep_window
from antecede.trace.schema import LAYERS
from antecede.verify.delays import Delays
from antecede.verify.verdict import WITNESS_LIMIT, Verdict


@dataclass(frozen=True, eq=False)
class Agreed:
    """What the windows of a run say together."""

    processes: tuple[str, ...]
    borders: tuple[Border, ...]
    sent: Positions
    """By layer and process."""
    last_delivery: Positions
    undelivered: Positions
    crashed: tuple[int, ...]


def take_lane(job: Job, run: RunRows, index: int, folder: Path) -> Verdict | Log | None:
    """The verdict on a run; or what it takes to find it in spite of stragglers; or nothing, if the
    run is not fit for this lane."""
    layout = lay_out(job, run)
    if layout is None:
        return None
    job.tell("windows")
    task = partial(sweep_window, layout, str(folder), job.findings is not None)
    swept: list[Swept] = []
    for found in job.each(range(layout.windows), task):
        if isinstance(found, BadInput):
            raise found
        if found is None:
            return None
        swept.append(found)
    agreed = agree(swept)
    if agreed is None:
        return None
    settled = _settle(job, agreed, folder)
    if settled.broken:
        return None
    messages = int(agreed.sent.reshape(len(LAYERS), -1)[job.layer].sum())
    if settled.stragglers or not all(one.judged for one in swept):
        return _write_copies(job, layout, agreed, swept, messages, folder)
    if job.findings:
        for file in sorted(folder.glob("findings-*.parquet")):
            file.rename(job.findings / f"{index}-{file.name.removeprefix('findings-')}")
    return _sum_up(agreed, swept, messages)


def _sum_up(agreed: Agreed, swept: Sequence[Swept], messages: int) -> Verdict:
    witnesses = sorted((told for one in swept for told in one.witnesses), key=lambda told: told[0])
    return Verdict(
        runs=1,
        messages=messages,
        deliveries=sum(one.deliveries for one in swept),
        violations=sum(one.violations for one in swept),
        undelivered=int(agreed.undelivered.sum()),
        undelivered_at_crashed=int(agreed.undelivered[list(agreed.crashed)].sum()),
        witnesses=tuple(witness for _, witness in witnesses[:WITNESS_LIMIT]),
        delays=sum((one.delays for one in swept), Delays()),
    )


def _write_copies(
    job: Job,
    layout: Layout,
    agreed: Agreed,
    swept: Sequence[Swept],
    messages: int,
    folder: Path,
) -> Log:
    """Have the tasks write the copies of their windows."""
    job.tell("copies")
    copies = folder / "copies"
    copies.mkdir()
    write = partial(write_window, layout, agreed.processes, str(folder), str(copies))
    job.each([one.span for one in swept], write)
    return Log(
        agreed.processes,
        messages,
        sum(one.deliveries for one in swept),
        *(swept[0].first, swept[-1].last),
        agreed.crashed,
        str(copies),
    )


def lay_out(job: Job, run: RunRows) -> Layout | None:
    """The windows of a run: whole row groups, unless these are too large for a worker."""
    rows_of = {file.path: file.groups for file in job.source.files}
    groups = tuple(
        (file, group, rows_of[file][group])
        for file, chosen in groups_of([run], job.source.files)
        for group, _ in chosen
        if rows_of[file][group]
    )
    limits = job.limits
    if max(rows for _, _, rows in groups) > 2 * limits.window_rows:
        return None
    rows = sum(rows for _, _, rows in groups)
    windows = limits.windows or -(-rows // limits.window_rows // job.cores) * job.cores
    starts = np.array([0, *accumulate(rows for _, _, rows in groups)])
    cuts = starts.searchsorted(np.arange(1, windows) * rows / windows)
    borders = sorted({0, *cuts.tolist(), len(groups)})
    return Layout(run.name, groups, rows > run.rows, tuple(borders), job.layer, limits.reach)


def agree(swept: Sequence[Swept]) -> Agreed | None:
    """Put the digests together; nothing if a window does not go on where the one before ended."""
    processes = list(dict.fromkeys(name for one in swept for name in one.names))
    code_of = {name: code for code, name in enumerate(processes)}
    size = len(processes)
    next_seq, undelivered = np.zeros(size, np.int64), np.zeros(size, np.int64)
    sent = np.zeros((len(LAYERS), size), np.int64)
    last_delivery = np.full(size, NONE)
    borders: list[Border] = []
    before = NONE
    for one in swept:
        codes = np.array([code_of[name] for name in one.names], np.int32)
        sends, last_number = (
            column.reshape(len(LAYERS), -1) for column in (one.sends, one.last_number)
        )
        has_events, has_sent = one.events > 0, sends > 0
        goes_on = (one.next_seq - one.events == next_seq[codes])[has_events].all()
        goes_on &= (last_number - sends == sent[:, codes])[has_sent].all()
        if not goes_on or one.first <= before:
            return None
        ends = one.start, one.first, one.end
        borders.append(Border(*ends, codes, sent.ravel().copy(), one.open, one.late))
        next_seq[codes] += one.events
        sent[:, codes] += sends
        undelivered[codes] += one.undelivered
        last_delivery[codes] = np.maximum(last_delivery[codes], one.last_delivery)
        before = one.last
    crashed = {int(borders[at].codes[code]) for at, one in enumerate(swept) for code in one.crashed}
    return Agreed(
        tuple(processes),
        tuple(borders),
        sent.ravel(),
        last_delivery,
        undelivered,
        tuple(sorted(crashed)),
    )


def _settle(job: Job, agreed: Agreed, folder: Path) -> Settled:
    if not any(border.open or border.late for border in agreed.borders):
        return Settled()
    task = partial(_settle_task, agreed, job.layer)
    (settled,) = job.each([str(folder)], task)
    return settled


def _settle_task(agreed: Agreed, layer: int, folder: str) -> Settled:
    return settle(agreed.borders, agreed.sent, agreed.last_delivery, layer, folder)
