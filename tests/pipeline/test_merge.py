"""The order found in bounded memory is the one that the local reader finds."""

from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.pipeline.audit.merge import FOUND, Sorted, merge
from antecede.trace import KINDS, LAYERS, Run
from antecede.trace.events import NULL
from tests.pipeline.traces import rows_of
from tests.trace.builders import deliver, load, positioned, receive, send
from tests.verify.executions import random_execution


def arrange(run: Run, folder: Path, group: int) -> Sorted:
    """What the exchange by process leaves for the merge, made from a run in memory."""
    events = run.events
    order = np.lexsort((events.seq, events.process))
    names = pa.array(run.processes, pa.string())

    def integers(column: npt.NDArray[np.int64]) -> pa.Array:
        return pa.array(column[order], mask=column[order] == NULL)

    table = pa.table(
        {
            "process": names.take(pa.array(events.process[order])),
            "layer": pa.array(LAYERS).take(pa.array(events.layer[order])),
            "kind": pa.array(KINDS).take(pa.array(events.kind[order])),
            "sender": names.take(pa.array(events.sender[order], mask=events.sender[order] < 0)),
            **{
                name: integers(getattr(events, name))
                for name in ("number", "row", "position", "seq")
            },
        }
    )
    file = folder / "sorted.parquet"
    pq.write_table(table, file, row_group_size=group)
    known = np.flatnonzero(events.position != NULL)
    known = known[np.argsort(events.position[known])]
    given = {"position": events.position[known], "process": names.take(events.process[known])}
    pq.write_table(pa.table(given), folder / "known.parquet")
    positions = (str(folder / "known.parquet"),) if len(known) else ()
    return Sorted((str(file),), tuple(run.processes), len(events), positions)


def merged(run: Run, folder: Path, slot: int, group: int = 5) -> list[int]:
    """The rows of the run in the order that was found."""
    out = folder / "order"
    assert merge(arrange(run, folder, group), str(out), slot) == []
    position = np.fromfile(out, FOUND)
    assert sorted(position) == list(range(len(run.events)))
    rows: list[int] = np.argsort(position).tolist()
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
    stuck = merge(arranged, str(tmp_path / "order"), 2)
    assert [(one.process, one.sender, one.waits_for_message, one.send_seq) for one in stuck] == [
        ("p", "q", True, 1),
        ("q", "p", True, 1),
    ]
    assert not (tmp_path / "order").exists()
