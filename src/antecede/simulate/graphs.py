"""Real causal graphs, to be replayed: who wrote what after having read what.

A graph is a gzipped CSV file with at least the columns ``event,process,seq,parents``: `event`
counts from 0 in an order in which causes stand before effects, `seq` counts from 1 per process,
`parents` are the events that are direct causes, separated by spaces. A file may hold several
sessions, one behind the other, told apart by a column ``channel``. A name without a dot is a graph
that ships with Antecede; anything else is a path.
"""

import csv
import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from importlib.resources.abc import Traversable

from antecede.errors import BadFile, Misuse
from antecede.files import path_of

_SUFFIX = ".dag.csv.gz"
_COLUMNS = ("event", "process", "seq", "parents")


@dataclass(frozen=True)
class Graph:
    """Event e happens at process `processes[e]` after the events `parents[e]`, which include the
    previous event of that process. Processes are counted from 0 in order of appearance."""

    processes: tuple[int, ...]
    parents: tuple[tuple[int, ...], ...]

    def __len__(self) -> int:
        return len(self.processes)

    @property
    def size(self) -> int:
        """How many processes take part."""
        return max(self.processes) + 1

    def first(self, events: int) -> "Graph":
        """The graph of the first so many events: no event loses a cause."""
        return Graph(self.processes[:events], self.parents[:events])


def shipped() -> list[str]:
    """The names of the graphs that ship with Antecede."""
    files = (resources.files("antecede") / "data").iterdir()
    return sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))


def load_graph(name: str, session: str | None = None) -> Graph:
    """The graph of this name or in this file. Without a session, the first in the file."""
    if "." not in name and "/" not in name:
        if name not in shipped():
            raise Misuse(
                f"there is no graph '{name}'; there are {', '.join(shipped())}, or name a file"
            )
        return _load(name, session, None)
    try:
        modified = path_of(name).stat().st_mtime_ns
    except OSError as error:
        raise BadFile(name, [f"cannot be read: {error.strerror}"]) from None
    return _load(name, session, modified)


@lru_cache(maxsize=4)
def _load(name: str, session: str | None, modified: int | None) -> Graph:
    """`modified` is None for a graph that ships; a file that has changed is read anew."""
    file: Traversable = path_of(name)
    if modified is None:
        file = resources.files("antecede") / "data" / f"{name}{_SUFFIX}"
    try:
        with file.open("rb") as packed, gzip.open(packed, "rt", newline="") as text:
            rows = _Rows(csv.DictReader(text), name)
            graph = _build(rows, session)
    except (OSError, EOFError, UnicodeError, zlib.error) as error:
        raise BadFile(name, [f"cannot be read as a gzipped graph: {error}"]) from None
    if not graph:
        known = ", ".join(rows.sessions[:5])
        raise BadFile(name, [f"holds no session '{session}'; there are {known}, ..."])
    return graph


class _Rows:
    """The rows of a file, each as (line, session, process, sequence number, parents)."""

    def __init__(self, reader: "csv.DictReader[str]", file: str) -> None:
        self._reader = reader
        self._file = file
        self.sessions: list[str] = []
        missing = [column for column in _COLUMNS if column not in (reader.fieldnames or ())]
        if missing:
            raise BadFile(file, [f"line 1: there is no column {', '.join(missing)}"])

    def __iter__(self) -> Iterator[tuple[str, int, int, int, tuple[int, ...]]]:
        for row in self._reader:
            session = row.get("channel") or ""
            if session not in self.sessions[-1:]:
                self.sessions.append(session)
            try:
                event, process, seq = int(row["event"]), int(row["process"]), int(row["seq"])
                parents = tuple(map(int, row["parents"].split()))
            except (ValueError, TypeError, AttributeError):
                raise self.mistake("event, process, seq and parents must be integers") from None
            yield session, event, process, seq, parents

    def mistake(self, text: str) -> BadFile:
        return BadFile(self._file, [f"line {self._reader.line_num}: {text}"])


def _build(rows: _Rows, session: str | None) -> Graph:
    processes: list[int] = []
    parents: list[tuple[int, ...]] = []
    number: dict[int, int] = {}
    last: dict[int, tuple[int, int]] = {}
    for found, event, process, seq, causes in rows:
        if session is None:
            session = found
        if found != session:
            continue
        previous, previous_seq = last.get(process, (-1, 0))
        if event != len(processes):
            raise rows.mistake(f"event {event} stands where event {len(processes)} should")
        if seq != previous_seq + 1:
            raise rows.mistake(f"seq is {seq}, but the last of this process was {previous_seq}")
        if any(not 0 <= cause < event for cause in causes):
            raise rows.mistake("a parent does not stand before its event")
        last[process] = (event, seq)
        processes.append(number.setdefault(process, len(number)))
        parents.append(tuple(sorted({*causes, *([previous] if previous >= 0 else [])})))
    return Graph(tuple(processes), tuple(parents))
