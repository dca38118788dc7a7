"""Runs of scenarios, read back from their traces."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from antecede.simulate import Summary, make_scenario, simulate
from antecede.trace import KINDS, read_trace


class Row(NamedTuple):
    kind: str
    process: int
    message: tuple[int, int]
    time: float
    destinations: tuple[int, ...]


def run(folder: Path, **fields: Any) -> tuple[Summary, list[Row]]:
    """A scenario of these fields: its summary, and its trace in the order of events."""
    path = folder / "run.parquet"
    summary = simulate(make_scenario(fields), path, force=True)
    return summary, list(rows(path))


def rows(path: Path) -> Iterator[Row]:
    found = read_trace(path).runs[0]
    names = list(found.processes)
    number = {name: int(name.removeprefix("p")) for name in names}
    events = found.events
    start = events.destination_start
    for index in range(len(events)):
        sender = int(events.sender[index])
        yield Row(
            KINDS[int(events.kind[index])],
            number[names[int(events.process[index])]],
            (number[names[sender]] if sender >= 0 else -1, int(events.number[index])),
            float(events.time[index]),
            tuple(
                number[names[destination]]
                for destination in events.destination[start[index] : start[index + 1]].tolist()
            ),
        )


def delays(trace: list[Row], kind: str) -> dict[tuple[tuple[int, int], int], float]:
    """By message and process, the time from the send to this kind of event."""
    sent = {row.message: row.time for row in trace if row.kind == "send"}
    return {
        (row.message, row.process): row.time - sent[row.message]
        for row in trace
        if row.kind == kind and row.process != row.message[0]
    }
