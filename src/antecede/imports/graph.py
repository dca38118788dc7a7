"""Causal graphs: who did what after what. Every event becomes a multicast to all the others.

A graph is a CSV file, gzipped or not, with at least the columns ``event,process,seq,parents``:
`event` counts from 0 with causes before effects, `parents` are the direct causes, separated by
spaces. A column ``channel`` tells sessions apart, each of which becomes a run. A process delivers a
message right before its first own event that has the message in its past, and at the end whatever
is left, each time in the order of the file or of another column of numbers. Causes stand before
effects in the file, so that order is causal; another one need not be.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from antecede.errors import BadFile
from antecede.files import path_of
from antecede.imports.imported import Imported, Rows
from antecede.imports.reading import LONGEST, UNREADABLE, open_text, read_lines
from antecede.trace import DELIVER, SEND, Assumed

COLUMNS: Final = ("event", "process", "seq", "parents")
FILE_ORDER: Final = "file"
MADE: Final = Assumed(
    "deliveries",
    "a graph has no deliveries: they were made up, each as late as causality allows",
    "the verdict is on the chosen order, not on a system",
)


@dataclass
class _Session:
    """One session: for each event its line, its process, its past as a bit set, and its place in
    the order of delivery."""

    name: str
    lines: list[int] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    pasts: list[int] = field(default_factory=list)
    places: list[float] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)


def import_graph(path: str | Path, order: str = FILE_ORDER) -> Imported:
    """The sessions of a graph, delivered in the order of the file or of a column."""
    sessions: dict[str, _Session] = {}
    for line, row in _read(path_of(path), order):
        name = row.get("channel") or path_of(path).name.partition(".")[0]
        session = sessions.setdefault(name, _Session(name))
        try:
            event, parents = int(row["event"]), [int(parent) for parent in row["parents"].split()]
            place = float(event if order == FILE_ORDER else row[order])
        except (ValueError, TypeError, AttributeError):
            wanted = "event and parents" if order == FILE_ORDER else f"event, parents and {order}"
            raise _mistake(path, line, f"{wanted} must be numbers") from None
        if event != len(session.lines):
            raise _mistake(path, line, f"event is {event}, expected {len(session.lines)}")
        if any(not 0 <= parent < event for parent in parents):
            raise _mistake(path, line, "parents must be events that stand before this one")
        _add(session, line, row["process"], parents, place)
    rows = [_deliver_all(session) for session in sessions.values()]
    tables = [run.table() for run in rows]
    return Imported(str(path), tables, (MADE,))


def _add(session: _Session, line: int, process: str, parents: list[int], place: float) -> None:
    event = len(session.lines)
    past = 0
    for cause in (*parents, *([session.last[process]] if process in session.last else ())):
        past |= session.pasts[cause] | 1 << cause
    session.last[process] = event
    session.lines.append(line)
    session.processes.append(process)
    session.pasts.append(past)
    session.places.append(place)


def _deliver_all(session: _Session) -> Rows:
    rows = Rows(session.name)
    everybody = list(dict.fromkeys(session.processes))
    others = {name: [other for other in everybody if other != name] for name in everybody}
    numbers: dict[str, int] = {}
    messages: list[tuple[str, int]] = []
    known = dict.fromkeys(everybody, 0)

    def catch_up(process: str, past: int, line: int) -> None:
        """Deliver what the process has not got of this past."""
        waiting = list(_members(past & ~known[process]))
        for event in sorted(waiting, key=lambda event: (session.places[event], event)):
            if session.processes[event] != process:
                rows.add(f"line {line}", process, DELIVER, messages[event])
        known[process] |= past

    for event, process in enumerate(session.processes):
        catch_up(process, session.pasts[event], session.lines[event])
        numbers[process] = numbers.get(process, 0) + 1
        messages.append((process, numbers[process]))
        rows.add(f"line {session.lines[event]}", process, SEND, messages[-1], others[process])
        known[process] |= 1 << event
    for process in everybody:
        catch_up(process, (1 << len(messages)) - 1, session.lines[-1])
    return rows


def _members(bits: int) -> Iterator[int]:
    """The events in a bit set, by the digits of its text: faster than bit by bit where there are
    thousands."""
    digits = bin(bits)[:1:-1]
    place = digits.find("1")
    while place >= 0:
        yield place
        place = digits.find("1", place + 1)


def _read(path: Path, order: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of the file with their lines."""
    csv.field_size_limit(LONGEST)
    wanted = (*COLUMNS, *(() if order == FILE_ORDER else (order,)))
    try:
        with open_text(path) as text:
            reader = csv.DictReader(read_lines(text, str(path)), strict=True)
            found = list(reader.fieldnames or ())
            if missing := [name for name in wanted if name not in found]:
                raise BadFile(
                    str(path),
                    [f"line 1: there is no column '{name}' among {', '.join(found)}"
                     for name in missing],
                )  # fmt: skip
            for row in reader:
                yield reader.line_num, row
    except (*UNREADABLE, csv.Error) as error:
        raise BadFile(str(path), [f"cannot be read as a graph: {error}"]) from error


def _mistake(path: str | Path, line: int, text: str) -> BadFile:
    return BadFile(str(path), [f"line {line}: {text}"])
