"""Which row groups a task reads: those of its window, and as many before and behind as it takes to
see where its messages went and where its deliveries came from.

Messages fly for a short while, so one row group on either side will mostly do. Where it does not,
the task takes more of them as long as that helps, up to a limit; what is then still unknown it
leaves to `antecede.pipeline.audit.settle`.
"""

import sys
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from antecede.pipeline.audit.columns import Columns, GroupReader
from antecede.pipeline.audit.examine import Examined, Extent, examine
from antecede.trace.schema import DELIVER


@dataclass(frozen=True)
class Layout:
    """A run in row groups, in the order of its rows, and how they are dealt out to tasks."""

    run: str
    groups: tuple[tuple[str, int, int], ...]
    """File, number there and how many rows."""
    several: bool
    """Whether there are rows of other runs in these, too."""
    borders: tuple[int, ...]
    """The first row group of every window, and the end."""
    judged: int
    """The layer that is asked about."""
    reach: int
    """How many rows a lead or a tail may have; one row group it always may."""

    @property
    def windows(self) -> int:
        return len(self.borders) - 1


@dataclass(frozen=True)
class Span:
    """The row groups of a window with its lead and its tail."""

    window: int
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class Stretch:
    span: Span
    names: tuple[str, ...]
    examined: Examined


def find_stretch(layout: Layout, window: int) -> Stretch | None:
    """What a window needs to be judged; nothing if the trace is not as it should be."""
    first, stop = layout.borders[window : window + 2]
    span = Span(window, max(first - 1, 0), min(stop + 1, len(layout.groups)))
    reader = GroupReader(layout.run, layout.several)
    parts = _read(reader, layout, span.start, span.stop)
    examined = _examine(reader, layout, span, parts)
    was_open = was_unknown = sys.maxsize
    while examined:
        start, end = span.start, span.stop
        still_open = _still_open(examined)
        if 0 < still_open < was_open:
            end = _farther(layout, stop, span.stop)
        unknown = int(np.count_nonzero(examined.late_send < 0))
        if 0 < unknown < was_unknown:
            start = _earlier(layout, first, span.start)
        if (start, end) == (span.start, span.stop):
            return Stretch(span, tuple(reader.processes.names), examined)
        was_open, was_unknown = still_open, unknown
        parts = {
            **_read(reader, layout, start, span.start),
            **parts,
            **_read(reader, layout, span.stop, end),
        }
        span = Span(window, start, end)
        examined = _examine(reader, layout, span, parts)
    return None


def read_stretch(layout: Layout, span: Span, names: tuple[str, ...]) -> Examined | None:
    """The same rows once more, with names that have been agreed upon."""
    reader = GroupReader(layout.run, layout.several, names)
    return _examine(reader, layout, span, _read(reader, layout, span.start, span.stop))


def _read(reader: GroupReader, layout: Layout, start: int, stop: int) -> dict[int, Columns]:
    parts: dict[int, Columns] = {}
    wanted = [(file, index, at) for at, (file, index, _) in enumerate(layout.groups)][start:stop]
    for file, of_file in groupby(wanted, key=lambda group: group[0]):
        chosen = list(of_file)
        columns = reader.read(file, [index for _, index, _ in chosen])
        parts.update(zip((at for _, _, at in chosen), columns, strict=True))
    return parts


def _examine(
    reader: GroupReader, layout: Layout, span: Span, parts: dict[int, Columns]
) -> Examined | None:
    first, stop = layout.borders[span.window : span.window + 2]

    def rows_before(group: int) -> int:
        return sum(len(parts[at]) for at in range(span.start, group))

    previous = layout.borders[max(span.window - 1, 0)]
    extent = Extent(
        rows_before(first), rows_before(stop), rows_before(previous), rows_before(first + 1)
    )
    if extent.first == extent.stop:
        return None
    columns = Columns.join([parts[at] for at in range(span.start, span.stop)])
    return examine(columns, len(reader.processes.names), extent, layout.judged)


def _still_open(examined: Examined) -> int:
    """How many copies may be delivered behind the stretch: not those to processes that delivered
    nothing in its tail and may have crashed."""
    events, stop = examined.events, examined.extent.stop
    alive = np.zeros(len(examined.next_seq), bool)
    alive[events.process[stop:][events.kind[stop:] == DELIVER]] = True
    return int(np.count_nonzero(alive[events.destination[examined.open]]))


def _farther(layout: Layout, own: int, stop: int) -> int:
    """The end of a tail of twice as many row groups, if it may be so long."""
    end = min(stop + max(stop - own, 1), len(layout.groups))
    return end if sum(rows for _, _, rows in layout.groups[own:end]) <= layout.reach else stop


def _earlier(layout: Layout, own: int, start: int) -> int:
    """The same for the start of a lead."""
    begin = max(start - max(own - start, 1), 0)
    return begin if sum(rows for _, _, rows in layout.groups[begin:own]) <= layout.reach else start
