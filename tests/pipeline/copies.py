"""The copies of a run as the SQL half prepares them, made the plain way from a run in memory."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.audit.flow import NONE, Positions
from antecede.pipeline.audit.store import COPIES, Store, open_store
from antecede.trace import APP, DELIVER, RECEIVE, SEND, Run


def copy_rows(run: Run, layer: int = APP) -> list[dict[str, float | None]]:
    """One row for every message and destination other than its sender. The place of an event in the
    run is its position."""
    events = run.layer(layer)
    rows: dict[tuple[int, int], dict[str, float | None]] = {}
    for event in range(len(events)):
        process, message = int(events.process[event]), int(events.message[event])
        time = None if np.isnan(events.time[event]) else float(events.time[event])
        if events.kind[event] == SEND:
            start = events.destination_start
            for destination in events.destination[start[event] : start[event + 1]].tolist():
                if destination != process:
                    rows[message, destination] = {
                        "send": event,
                        "sender": process,
                        "number": int(events.number[event]),
                        "destination": destination,
                    }
        elif (row := rows.get((message, process))) is not None:
            if "arrival" not in row:
                row["arrival"] = event
                if events.kind[event] == RECEIVE:
                    row["received"] = time
            if events.kind[event] == DELIVER:
                row["delivery"], row["delivered"] = event, time
    return [rows[key] for key in sorted(rows)]


def write_store(folder: Path, run: Run, group: int = 5) -> Store:
    table = pa.Table.from_pylist(copy_rows(run), schema=COPIES)
    pq.write_table(table, folder / "part-0.parquet", row_group_size=group)
    return open_store(str(folder))


def last_deliveries(run: Run) -> Positions:
    last = np.full(len(run.processes), NONE)
    for row in copy_rows(run):
        if (delivery := row.get("delivery")) is not None:
            q = int(row["destination"] or 0)
            last[q] = max(int(last[q]), int(delivery))
    return last
