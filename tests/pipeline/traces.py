"""Traces on disk for both engines."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from tests.trace.builders import Row, deliver, event, positioned, receive, send, table
from tests.verify.executions import Execution, random_execution


def rows_of(
    execution: Execution, random: Random, rename: dict[str, str] | None = None
) -> list[Row]:
    """The rows of an execution in an order in which they can have happened, with times."""

    def name(process: str) -> str:
        return (rename or {}).get(process, process)

    rows: list[Row] = []
    times = execution.times(random)
    for happened in sorted(times, key=lambda happened: times[happened]):
        process, message = name(happened.process), happened.message
        time = times[happened]
        if happened.kind == "send":
            to = [name(other) for other in sorted(happened.destinations)]
            to += to[: message.number % 2 == 0]  # nothing forbids to name one twice
            rows.append(send(process, message.number, to, time=time))
        elif happened.kind == "crash":
            rows.append(event("crash", process, time=time))
        else:
            make = deliver if happened.kind == "deliver" else receive
            rows.append(make(process, f"{name(message.sender)}:{message.number}", time=time))
    return rows


def random_rows(seed: int, rename: dict[str, str] | None = None) -> list[Row]:
    random = Random(seed)
    return positioned(*rows_of(random_execution(random), random, rename))


def long_rows(seed: int) -> list[Row]:
    """Several executions one behind the other, by the same processes."""
    rows: list[Row] = []
    numbers: dict[str, int] = {}
    for part in range(4):
        added = random_rows(seed + part)
        highest = dict(numbers)
        for row in (row for row in added if "number" in row):
            row["number"] += numbers.get(row["sender"], 0)
            highest[row["sender"]] = max(highest.get(row["sender"], 0), row["number"])
        numbers = highest
        rows += [{k: v for k, v in row.items() if k != "position"} for row in added]
    return rows


def write(path: Path, *runs: tuple[str, Sequence[Row]], group: int = 7) -> Path:
    """Runs in one file, one behind the other."""
    tables = [table(*rows, run=name) for name, rows in runs]
    pq.write_table(pa.concat_tables(tables), path, row_group_size=group)
    return path


def crash(process: str) -> Row:
    return event("crash", process)


def crossing(between: int) -> list[Row]:
    """c delivers b:1 without a:1, on which it depends; so many rows pass between the sends."""
    filler = [
        row for n in range(1, between + 1) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))
    ]
    rows = [send("a", 1, "bc"), deliver("b", "a:1"), *filler[:between], send("b", 1, "c")]
    return positioned(*rows, deliver("c", "b:1"), deliver("c", "a:1"), *filler[between:])
