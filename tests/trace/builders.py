"""Small traces written by hand, one call per row."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from antecede.trace import SCHEMA, Run, trace_from_tables

Row = dict[str, Any]


def send(process: str, number: int, to: Iterable[str], **more: Any) -> Row:
    """A process sends its message of this number."""
    row = {"kind": "send", "process": process, "sender": process, "number": number}
    return {**row, "destinations": list(to), **more}


def receive(process: str, message: str, **more: Any) -> Row:
    return _of_message("receive", process, message, more)


def deliver(process: str, message: str, **more: Any) -> Row:
    """A process delivers a message, given as `sender:number`."""
    return _of_message("deliver", process, message, more)


def event(kind: str, process: str, **more: Any) -> Row:
    """A membership event."""
    return {"kind": kind, "process": process, **more}


def table(*rows: Row, run: str | None = "r") -> pa.Table:
    """The rows of a run as a table. `seq` counts itself unless a row gives one."""
    counts: Counter[str] = Counter()
    complete = []
    for row in rows:
        complete.append({"run": run, "seq": counts[row["process"]], **row})
        counts[row["process"]] += 1
    return pa.Table.from_pylist(complete, schema=SCHEMA)


def positioned(*rows: Row) -> list[Row]:
    """The rows with the positions that their order gives."""
    return [{"position": position, **row} for position, row in enumerate(rows)]


def load(*rows: Row) -> Run:
    """The single run that these rows make, checked."""
    (run,) = trace_from_tables([table(*rows)], "memory").runs
    return run


def shown(run: Run) -> list[str]:
    """The events of a run in its order, such as `q deliver p:1`."""
    events = run.events
    texts = []
    for index in range(len(events)):
        kind = ("send", "receive", "deliver", "crash", "join", "leave", "view")[events.kind[index]]
        message = run.message_of(index) if events.message[index] >= 0 else ""
        texts.append(f"{run.name_of(int(events.process[index]))} {kind} {message}".strip())
    return texts


def _of_message(kind: str, process: str, message: str, more: Row) -> Row:
    sender, _, number = message.rpartition(":")
    row = {"kind": kind, "process": process, "sender": sender, "number": int(number)}
    return {**row, **more}
