"""Recordings that grow, read piece by piece: every event once.

In a folder there may be logs of live nodes (`*.events`, `antecede.live.recording`), files of
`antecede.recorder` (JSON lines), and Parquet files in the trace format. A `Place` says up to where
a file has been read, always between two whole events. The log of a node becomes a Parquet file with
the same events when the node ends; the two have one name here, and a place in one is a place in the
other. Parquet files do not grow, and nothing grows in a store, where new files come.

The recorder does not number events: they are counted, for every process of a run. A process may go
on in another file, as logs are rotated; but it writes one at a time.
"""

import math
import os
from collections.abc import Iterator
from heapq import heapify, heappop, heapreplace
from pathlib import Path
from typing import Any, Final

import msgspec
import pyarrow as pa

from antecede.errors import BadFile, Misuse
from antecede.files import is_stored, path_of
from antecede.imports.detect import RECORDING_START
from antecede.live.recording import SUFFIX, Head, Logged, rows_of, whole_records
from antecede.trace.reader import open_checked, read_tables
from antecede.trace.schema import ORDERED, SCHEMA

ROWS: Final = pa.schema([*SCHEMA, (ORDERED, pa.string()), ("message", pa.string())])
"""What is read: the columns of a trace, and the name of the message where it has no number."""
PARQUET: Final = ".parquet"
RECORDED: Final = RECORDING_START.encode()
_PART_ROWS: Final = 1 << 16
_SLICE_ROWS: Final = 1 << 12


class Place(msgspec.Struct, frozen=True):
    """How far a file has been read."""

    rows: int = 0
    bytes: int = 0
    """Of a file that grows."""
    counts: dict[str, int] = {}
    """Of each process in a file of the recorder, how many events there are up to here, those in
    earlier files included."""
    begun: dict[str, int] = {}
    """How many there were before the file."""


Places = dict[str, Place]
"""By the names of files in their folder."""


class Line(msgspec.Struct):
    """A line of the recorder; or, piped in, a row of a trace."""

    process: str = ""
    kind: str = ""
    run: str = "run"
    layer: str | None = None
    seq: int | None = None
    sender: str | None = None
    number: int | None = None
    destinations: list[str] | None = None
    message: str | None = None
    time: float | None = None


_line = msgspec.json.Decoder(Line)
_logged = msgspec.msgpack.Decoder(Logged)


def look(folder: str | os.PathLike[str], since: Places, most: int | None = None) -> Places:
    """How far the files of a folder can be read now, or at most so many rows of each further. Looks
    only at what is new."""
    found = dict(since)
    lines: list[tuple[float, str, bytes]] = []
    files = _files(path_of(folder))
    for name, file in files.items():
        before = since.get(name, Place())
        if file.suffix in (PARQUET, SUFFIX):
            found[name] = _end_of(file, before, most)
        elif new := _bytes_since(file, before):
            first = next((line.time for line in lines_of(str(file), _whole(new))), None)
            lines.append((math.inf if first is None else first, name, new))
    counting = Counting(since)
    for _, name, new in sorted(lines):
        found[name] = counting.end_of(str(files[name]), new, since.get(name, Place()), most)
    return dict(sorted(found.items()))


def not_beyond(places: Places, until: Places) -> Places:
    """The nearer of two places in each file, of those that `until` knows."""
    return {
        name: min(place, until[name], key=lambda one: one.rows)
        for name, place in places.items()
        if name in until
    }


def parts_between(since: Places, until: Places) -> Iterator[tuple[str, Place, Place]]:
    """The files that have something new, and from where to where."""
    for name, end in until.items():
        start = since.get(name, Place())
        if end.rows > start.rows:
            yield name, start, end


def read(
    folder: str | os.PathLike[str], name: str, start: Place, end: Place
) -> Iterator[pa.RecordBatch]:
    """The events of a file between two places, with the columns `ROWS`."""
    file = path_of(folder) / name
    if file.suffix == PARQUET:
        log = file.with_suffix(SUFFIX)
        if end.bytes and not is_stored(file) and not file.exists():
            try:
                yield from _read_log(log, start, end)
                return
            except FileNotFoundError:
                pass  # the node has just ended
        yield from _read_parquet(file, start, end)
    else:
        yield from _read_lines(file, start, end)


def read_evenly(
    folder: str | os.PathLike[str], since: Places, until: Places
) -> Iterator[pa.RecordBatch]:
    """All that is new, a little of each file in turn, as far as each has come: so that few rows
    wait for those of other files."""
    turns = []
    for order, (name, start, end) in enumerate(parts_between(since, until)):
        slices = (
            batch.slice(first, _SLICE_ROWS)
            for batch in read(folder, name, start, end)
            for first in range(0, len(batch), _SLICE_ROWS)
        )
        turns.append((0.0, order, end.rows - start.rows, slices))
    heapify(turns)
    while turns:
        done, order, rows, slices = turns[0]
        if (batch := next(slices, None)) is None:
            heappop(turns)
        else:
            heapreplace(turns, (done + len(batch) / rows, order, rows, slices))
            yield batch


def _files(root: Path) -> dict[str, Path]:
    """By the names that they have, or will have."""
    if not root.is_dir():
        raise BadFile(str(root), ["there is no such folder"])
    found: dict[str, Path] = {}
    for file in sorted(root.rglob("*")):
        names = file.relative_to(root).parts
        if any(name[0] in "._" for name in names):
            continue
        name = "/".join(names)
        if file.suffix == PARQUET:
            found[name] = file
        elif file.suffix == SUFFIX:
            found.setdefault(name.removesuffix(SUFFIX) + PARQUET, file)
        elif file.is_file() and _is_recorded(file):
            found[name] = file
    return found


def _is_recorded(file: Path) -> bool:
    with file.open("rb") as opened:
        return opened.read(len(RECORDED)) == RECORDED


def _end_of(file: Path, before: Place, most: int | None) -> Place:
    """Where the last whole event ends, or the last of so many."""
    try:
        if file.suffix == PARQUET:
            rows = open_checked(file).metadata.num_rows
            return Place(rows if most is None else min(rows, before.rows + most))
        new = _bytes_since(file, before)
    except FileNotFoundError:
        return before  # it gets its other name just now
    heads = 0 if before.bytes else 1
    found, size = whole_records(new, None if most is None else most + heads)
    return Place(before.rows + max(0, len(found) - heads), before.bytes + size)


def _bytes_since(file: Path, before: Place) -> bytes:
    if file.stat().st_size < before.bytes:
        raise Misuse(f"{file} has become shorter: what was read of it is gone")
    with file.open("rb") as opened:
        opened.seek(before.bytes)
        return opened.read()


def _whole(content: bytes) -> bytes:
    """The whole lines."""
    return content[: content.rfind(b"\n") + 1]


class Counting:
    """The events of processes, counted over all files of the recorder in the order in which their
    news begin."""

    def __init__(self, since: Places) -> None:
        self._counts: dict[str, int] = {}
        for place in since.values():
            for whose, count in place.counts.items():
                self._counts[whose] = max(count, self._counts.get(whose, 0))
        self._last: dict[str, float] = {}
        """When a process wrote last, in what is new."""
        self._unread: set[str] = set()
        """Processes of files of which more is there than may be read now."""

    def end_of(self, file: str, content: bytes, before: Place, most: int | None) -> Place:
        """Where the last whole event ends, or the last of so many."""
        counts, begun = dict(before.counts), dict(before.begun)
        rows, size = before.rows, before.bytes
        for text in _whole(content).splitlines(keepends=True):
            is_enough = most is not None and rows - before.rows >= most
            if is_enough or self._is_early(file, text, counts):
                self._unread.update(counts)
                break
            size += len(text)
            for line in lines_of(file, text):
                whose, time = _whose(line), -math.inf if line.time is None else line.time
                last = self._last.get(whose, -math.inf)
                if whose not in counts and time >= last:
                    counts[whose] = begun[whose] = self._counts.get(whose, 0)
                if counts.get(whose, -1) < self._counts.get(whose, 0):
                    raise Misuse(
                        f"{file}: process {line.process!r} of run {line.run!r} writes another file "
                        "meanwhile, so that its events have no order; give each file a process of "
                        "its own"
                    )
                counts[whose] = self._counts[whose] = counts[whose] + 1
                self._last[whose] = max(time, last)
                rows += 1
        return Place(rows, size, counts, begun)

    def _is_early(self, file: str, text: bytes, counts: dict[str, int]) -> bool:
        """Whether the process began in another file, of which more has to be read before."""
        whose = {_whose(line) for line in lines_of(file, text)}
        return not whose <= counts.keys() and bool(whose & self._unread)


def _whose(line: Line) -> str:
    return f"{line.run}\0{line.process}"


def lines_of(source: str, content: bytes) -> Iterator[Line]:
    """The events in some lines; heads are none, and nor is what concerns nobody else."""
    for text in content.splitlines():
        try:
            line = _line.decode(text)
        except msgspec.DecodeError as error:
            shown = text[:80].decode("utf-8", "replace")
            raise BadFile(source, [f"is no line of a recording: {shown}: {error}"]) from None
        if line.process and line.kind != "local":
            yield line


def batches_of(lines: Iterator[Line], counts: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """These lines as rows. Where they have no place among those of their process, they are
    counted."""
    rows = []
    for line in lines:
        seq = counts.get(_whose(line), 0)
        counts[_whose(line)] = seq + 1
        row = msgspec.structs.asdict(line)
        rows.append({**row, "seq": seq if line.seq is None else line.seq})
    yield from _batches(rows)


def _bytes_between(file: Path, start: int, end: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(start)
        return opened.read(end - start)


def _read_lines(file: Path, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
    content = _bytes_between(file, start.bytes, end.bytes)
    yield from batches_of(lines_of(str(file), content), {**end.begun, **start.counts})


def _read_log(file: Path, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
    size = int.from_bytes(_bytes_between(file, 0, 4), "big")
    try:
        head = msgspec.msgpack.decode(_bytes_between(file, 4, 4 + size), type=Head)
        content = _bytes_between(file, max(start.bytes, 4 + size), end.bytes)
        events = [_logged.decode(one) for one in whole_records(content)[0]]
    except msgspec.DecodeError as error:
        raise BadFile(str(file), [f"is no log of a node: {error}"]) from None
    yield from _batches(rows_of(head, events, start.rows))


def _batches(rows: list[dict[str, Any]]) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(rows), _PART_ROWS):
        yield pa.RecordBatch.from_pylist(rows[first : first + _PART_ROWS], schema=ROWS)


def _read_parquet(file: Path, start: Place, end: Place) -> Iterator[pa.RecordBatch]:
    metadata = open_checked(file).metadata
    first = 0
    for group in range(metadata.num_row_groups):
        count = metadata.row_group(group).num_rows
        low, high = max(start.rows, first), min(end.rows, first + count)
        if low < high:
            for table in read_tables(file, stamps=True, groups=[group], only=ROWS.names):
                part = table.slice(low - first, high - low)
                columns = [
                    part[name].cast(kind)
                    if name in part.column_names
                    else pa.nulls(len(part), kind)
                    for name, kind in zip(ROWS.names, ROWS.types, strict=True)
                ]
                yield from pa.table(columns, schema=ROWS).to_batches(_PART_ROWS)
        first += count
