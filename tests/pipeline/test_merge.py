"""The order found in bounded memory is the one that the local reader finds."""

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.pipeline.audit.merge import COLUMNS, Sorted, merge
from antecede.trace import LAYERS, Run
from antecede.trace.events import NULL
from tests.pipeline.traces import rows_of
from tests.trace.builders import deliver, load, positioned, receive, send
from tests.verify.executions import random_execution


def arrange(run: Run, folder: Path, group: int) -> Sorted:
    """What SQL leaves for the merge, made from a run in memory."""
    events = run.events
    order = np.lexsort((events.seq, events.process))
    author = events.layer.astype(np.int64) * len(run.processes) + np.maximum(events.sender, 0)
    columns: list[npt.NDArray[np.signedinteger[Any]]] = [events.kind, author, events.number]
    columns += [events.row, events.position]
    table = pa.table(
        {
            name: pa.array(column[order].astype(np.int64), mask=column[order] == NULL)
            for name, column in zip(COLUMNS, columns, strict=True)
        }
    )
    file = folder / "sorted.parquet"
    pq.write_table(table, file, row_group_size=group)
    counts = np.bincount(events.process, minlength=len(run.processes))
    starts = np.cumsum(counts) - counts
    places = zip(starts.tolist(), counts.tolist(), strict=True)
    known = np.sort(events.position[events.position != NULL])
    pq.write_table(pa.table({"position": known}), folder / "known.parquet")
    positions = (str(folder / "known.parquet"),) if len(known) else ()
    return Sorted(tuple((str(file), *place) for place in places), positions)


def merged(run: Run, folder: Path, slot: int, group: int = 5) -> list[int]:
    out = folder / "placed.parquet"
    authors = len(LAYERS) * len(run.processes)
    assert merge(arrange(run, folder, group), authors, str(out), slot) == []
    placed = pq.read_table(out)
    assert placed["position"].to_pylist() == list(range(len(run.events)))
    rows: list[int] = placed["row"].to_pylist()
    return rows


@pytest.mark.parametrize("seed", range(30))
def test_the_same_order(seed: int, tmp_path: Path) -> None:
    run = random_execution(Random(seed)).to_run()
    assert merged(run, tmp_path, slot=1 + seed % 4, group=1 + seed % 7) == run.events.row.tolist()


@pytest.mark.parametrize("seed", range(10))
def test_positions_that_are_given_are_kept(seed: int, tmp_path: Path) -> None:
    random = Random(seed)
    rows = positioned(*rows_of(random_execution(random), random))
    rows = [row if random.random() < 0.4 else {**row, "position": None} for row in rows]
    run = load(*rows)
    order = merged(run, tmp_path, slot=3)
    assert sorted(order) == list(range(len(rows)))
    given = [rows[row]["position"] for row in order if rows[row]["position"] is not None]
    assert given == sorted(given)
    place = {row: index for index, row in enumerate(order)}
    sent = {
        f"{row['sender']}:{row['number']}": place[index]
        for index, row in enumerate(rows)
        if row["kind"] == "send"
    }
    for index, row in enumerate(rows):
        if row["kind"] in {"receive", "deliver"}:
            assert sent[f"{row['sender']}:{row['number']}"] < place[index]


def test_who_is_stuck(tmp_path: Path) -> None:
    """The run is loaded with one message sent first; then the numbers are turned around."""
    run = load(
        *[send("p", 1, "q"), deliver("q", "p:1"), send("q", 1, "p"), receive("p", "q:1")],
    )
    events = run.events
    # p now has its reception before its send, and q its delivery before its own: a cycle.
    at_p = np.flatnonzero(events.process == 0)
    events.seq[at_p] = events.seq[at_p][::-1]
    arranged = arrange(run, tmp_path, 5)
    stuck = merge(arranged, 2 * len(run.processes), str(tmp_path / "placed.parquet"), 2)
    assert [(one.process, one.author, one.waits_for_message) for one in stuck] == [
        (0, 1, True),
        (1, 0, True),
    ]
    assert not (tmp_path / "placed.parquet").exists()
