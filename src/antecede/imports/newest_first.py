"""Files in which the newest line stands first, as log viewers export them."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from antecede.imports.events import LOCAL, OTHERWISE, LogEvent, Places
from antecede.trace import Assumed

NEWEST_FIRST: Final = Assumed(
    "newest-first",
    "times fall from line to line, so the log was read from its end",
    doubt=False,
)
FEW_FALLS: Final = Assumed(
    "newest-first",
    "the few times of a file fall from line to line, so it was read from its end",
    "if its clock was set back, it stands in order: number its rows (seq)",
    unsure=True,
)
ANY_ORDER: Final = Assumed(
    "ties",
    "the times of a file fall, so what a process did there at the same time, or at none, may stand "
    "in any order",
    OTHERWISE,
    unsure=True,
)
FALLS: Final = 3
"""So often no clock is set back in a file in which none ever goes on."""


def oldest_first(
    places: Places, events: Sequence[LogEvent]
) -> tuple[list[LogEvent], list[Assumed]]:
    """Each file from its end if the newest stands first there. Sorted like that, what happened at
    the same time may stand in any order, also in a file that has no more than one time."""
    files: dict[int, list[LogEvent]] = {}
    for event in events:
        files.setdefault(event.file, []).append(event)
    steps = {file: _Steps.of(own) for file, own in files.items()}
    found: dict[Assumed, list[LogEvent]] = {FEW_FALLS: [], ANY_ORDER: []}
    turned = 0
    for file, own in files.items():
        step = steps[file]
        if step.is_turned:
            own.reverse()
            turned += len(own) if step.falls >= FALLS else 0
            found[FEW_FALLS] += own if step.falls < FALLS else []
        if step.is_falling or (step.is_flat and any(one.is_turned for one in steps.values())):
            found[ANY_ORDER] += _without_order(own)
    told = [replace(NEWEST_FIRST, count=turned)] if turned else []
    return [event for own in files.values() for event in own], told + places.assumed(found)


class _Steps(NamedTuple):
    """How often times rise and fall in a file: at its processes, and from line to line."""

    rises: int
    falls: int
    rises_in_all: int
    falls_in_all: int
    scales: int

    @classmethod
    def of(cls, events: Sequence[LogEvent]) -> "_Steps":
        last: dict[str, float] = {}
        before: float | None = None
        rises, falls, rises_in_all, falls_in_all = 0, 0, 0, 0
        for event in events:
            if event.time is None:
                continue
            own = last.get(event.process, event.time)
            rises += own < event.time
            falls += own > event.time
            if before is not None:
                rises_in_all += before < event.time
                falls_in_all += before > event.time
            last[event.process] = before = event.time
        scales = {event.scale for event in events if event.time is not None}
        return cls(rises, falls, rises_in_all, falls_in_all, len(scales))

    @property
    def is_turned(self) -> bool:
        """Whether the newest stands first."""
        return self.falls > 0 and self.rises_in_all == 0 and self.scales == 1

    @property
    def is_falling(self) -> bool:
        """Whether it may stand first, or anywhere."""
        return self.falls > 0 or (self.falls_in_all > 0 and self.rises_in_all == 0)

    @property
    def is_flat(self) -> bool:
        return self.rises == 0 and self.falls == 0


def _without_order(events: Sequence[LogEvent]) -> list[LogEvent]:
    """What a process did at the same time as something else, or at no time."""
    last: dict[str, LogEvent] = {}
    found = []
    for event in events:
        if event.kind == LOCAL:
            continue
        before, last[event.process] = last.get(event.process, event), event
        if (before.kind, before.message) == (event.kind, event.message):
            continue
        if event.time is None or before.time is None or event.time == before.time:
            found.append(event)
    return found
