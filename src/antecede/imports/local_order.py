"""The order in which each process did things, as far as a log tells it, and where it does not."""

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from enum import Enum, auto
from typing import Final

from msgspec.structs import replace

from antecede.errors import BadFile
from antecede.imports.events import LOCAL, OTHERWISE, LogEvent, Places
from antecede.imports.newest_first import oldest_first
from antecede.imports.problems import advised
from antecede.imports.times import Scale
from antecede.trace import Assumed

AGAINST: Final = Assumed(
    "ties",
    "events of a process count in the order of their numbers, which is not that of the times or, "
    "where these say nothing, of the log",
    unsure=True,
)
TIES: Final = Assumed(
    "ties",
    "a process has events at the same time in several files; the file that is named first "
    "counts as earlier",
    OTHERWISE,
    unsure=True,
)
STARTS: Final = Assumed(
    "ties",
    "a process has events in several files, whose times count from some start, taken for the same",
    OTHERWISE,
    unsure=True,
)
SAME_SEQ: Final = Assumed(
    "ties",
    "a process has events with the same seq; the one that the log has first counts as earlier",
    OTHERWISE,
    unsure=True,
)
AGAINST_SEQ: Final = Assumed(
    "ties",
    "some events have no seq, so those of a process count in the order of the log, which is not "
    "that of seq",
    OTHERWISE,
    unsure=True,
)
BACKWARDS: Final = Assumed(
    "backwards",
    "times of a process run backwards in the log, whose order counts",
    "if the times are right, the order is not: sort the log by time, or number its rows (seq)",
    unsure=True,
)
MIXED: Final = Assumed(
    "ties",
    "a process has events in several files, whose times are not written alike (unit, zone)",
    "how they lie to each other is a guess: write them alike, or number the events (seq)",
    unsure=True,
)
GRAIN: Final = Assumed(
    "ties",
    "a process has events in several files, at times that differ by less than the coarser tells",
    OTHERWISE,
    unsure=True,
)
SET_BACK: Final = Assumed(
    "ties",
    "a process has events in several files, at times without a zone in a night in which clocks may "
    "have been set back, less than an hour apart",
    OTHERWISE,
    unsure=True,
)
GRAINS: Final = (86400.0, 60.0, 1.0)
SUNDAY: Final = 6
MILLISECOND: Final = 1e-3
ROUNDED: Final = 5e-7
"""What the difference of two times may lack, for numbers have no more digits."""


class Order(Enum):
    """How sure it is that the events of a process stand in its order."""

    SEEMS = auto()
    """They do so in each file, unless times or numbers say otherwise."""
    IN_FILE = auto()
    """They do so in each file, whatever times say."""
    GIVEN = auto()
    """They do so."""


def in_local_order(
    places: Places, events: list[LogEvent], order: Order = Order.SEEMS, guessed_seq: str = ""
) -> tuple[list[LogEvent], list[Assumed]]:
    """The events of a run with those of each process in its order: by `seq` if all have one, else
    as the file has them, and by time where a process is in several files. And what was assumed.
    `guessed_seq` is the column for `seq`, if nobody but its name says that it numbers events."""
    if order is Order.GIVEN:
        return events, []
    if all(event.seq is not None for event in events):
        numbered = sorted(events, key=lambda event: (event.process, event.seq))
        against = _against(places, numbered, guessed_seq) if guessed_seq else []
        return numbered, [*_doubts(places, numbered), *against]
    told = list[Assumed]()
    if order is Order.SEEMS:
        events, told = oldest_first(places, events)
    split = _split(events)
    # Where files are joined by time, each one's own order has no say.
    backwards = [one for one in _backwards(events) if order is Order.SEEMS or one.process in split]
    ordered = _by_time_across_files(places, events, split)
    told += _doubts(places, ordered)
    told += places.assumed({BACKWARDS: backwards, **_across_files(ordered, split)})
    return ordered, told


def _by_time_across_files(
    places: Places, events: list[LogEvent], split: AbstractSet[str]
) -> list[LogEvent]:
    for event in events:
        if event.process in split and event.time is None:
            own = next(one.file for one in events if one.process == event.process)
            first = places.files[own].name
            detail = (
                f"{places.of(event)}: '{event.process}' has events in several files ({first} is "
                f"the first) and no time here, so nothing says what came first; "
                f"--column time=FIELD or --column seq=FIELD says it"
            )
            raise BadFile(places.source, [detail])
    if not split:
        return events
    return sorted(events, key=lambda e: e.time or 0.0 if e.process in split else 0.0)


def _split(events: Sequence[LogEvent]) -> set[str]:
    """The processes that have events in several files."""
    files: dict[str, int] = {}
    return {one.process for one in events if files.setdefault(one.process, one.file) != one.file}


def _across_files(
    ordered: Sequence[LogEvent], split: AbstractSet[str]
) -> dict[Assumed, list[LogEvent]]:
    """Where the times of several files do not order what a process did: they count from a start,
    which may be another in each, are written in several ways, or tell too little."""
    joined = [event for event in ordered if event.process in split]
    times: dict[tuple[str, int], list[float]] = {}
    scales: dict[str, set[Scale | None]] = {}
    for event in joined:
        times.setdefault((event.process, event.file), []).append(event.time or 0.0)
        scales.setdefault(event.process, set()).add(event.scale)
    grains = {key: _grain(found) for key, found in times.items()}
    starts = [event for event in joined if event.scale is Scale.START]
    mixed = [event for event in joined if len(scales[event.process]) > 1]
    last: dict[str, LogEvent] = {}
    coarse, folded = [], []
    for event in joined:
        if event.kind == LOCAL:
            continue
        before, last[event.process] = last.get(event.process, event), event
        if (before.kind, before.message) == (event.kind, event.message):
            continue
        grain = max(grains[event.process, one.file] for one in (before, event))
        apart = (event.time or 0.0) - (before.time or 0.0)
        if before.file != event.file and 0 < apart < grain:
            coarse.append(event)
        if before.file != event.file and apart <= 3600 and _is_folded(before) and _is_folded(event):
            folded.append(event)
    return {STARTS: starts, MIXED: mixed, GRAIN: coarse, SET_BACK: folded}


def _is_folded(event: LogEvent) -> bool:
    """Whether an hour may have come twice: on Sundays in spring and autumn, before 4."""
    if event.scale is not Scale.LOCAL or event.time is None:
        return False
    found = datetime.fromtimestamp(event.time, UTC)
    return found.weekday() == SUNDAY and found.hour < 4 and found.month in {2, 3, 4, 9, 10, 11}


def _grain(times: Sequence[float]) -> float:
    """What times tell at least apart; nothing if it is less than a millisecond."""
    for grain in GRAINS:
        if all(time % grain == 0 for time in times):
            return grain - ROUNDED
    thousands = [1000 * time for time in times]
    is_whole = all(abs(one - math.floor(one + 0.5)) < 1e-3 for one in thousands)
    return MILLISECOND - ROUNDED if is_whole else 0.0


def _backwards(events: Sequence[LogEvent]) -> list[LogEvent]:
    """What a process did later by the file than by the clock."""
    last: dict[tuple[str, int], LogEvent] = {}
    found = []
    for event in events:
        if event.kind == LOCAL:
            continue
        key = (event.process, event.file)
        before, last[key] = last.get(key, event), event
        if (before.kind, before.message) == (event.kind, event.message):
            continue
        if event.seq is None and before.time is not None and event.time is not None:
            found += [event] if event.time < before.time else []
    return found


def _against(places: Places, numbered: Sequence[LogEvent], column: str) -> list[Assumed]:
    """The doubt about numbers that may be those of messages, or begin anew."""
    last: dict[str, LogEvent] = {}
    found = []
    for event in numbered:
        if event.kind == LOCAL:
            continue
        before, last[event.process] = last.get(event.process, event), event
        if (before.kind, before.message) == (event.kind, event.message):
            continue
        if before.time is not None and event.time is not None and before.time != event.time:
            is_against = event.time < before.time
        else:
            is_against = event.file == before.file and event.line < before.line
        if is_against:
            found.append(event)
    fix = (
        f"{advised('--column', 'seq', column)} says that they number the events of each process, "
        f"--column seq= that they do not"
    )
    return places.assumed({replace(AGAINST, meaning=fix): found})


def _doubts(places: Places, events: Sequence[LogEvent]) -> list[Assumed]:
    """What a process did at the same time by several files, or under the same number: nothing says
    in which order."""
    last: dict[str, LogEvent] = {}
    numbered: dict[str, int] = {}
    found: dict[Assumed, list[LogEvent]] = {one: [] for one in (TIES, SAME_SEQ, AGAINST_SEQ)}
    for event in events:
        if event.kind == LOCAL:
            continue
        before, last[event.process] = last.get(event.process, event), event
        largest = numbered.get(event.process)
        if event.seq is not None:
            numbered[event.process] = event.seq if largest is None else max(largest, event.seq)
        if (before.kind, before.message) == (event.kind, event.message):
            continue
        if event.seq is not None:
            if largest is not None and event.seq <= largest:
                found[SAME_SEQ if event.seq == before.seq else AGAINST_SEQ].append(event)
        elif event.time is not None and event.time == before.time and event.file != before.file:
            found[TIES].append(event)
    if found[AGAINST_SEQ]:
        found[AGAINST_SEQ] += [one for one in events if one.seq is None and one.kind != LOCAL]
    return places.assumed(found)
