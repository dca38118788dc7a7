"""Times as logs write them: ISO 8601 with or without a zone, seconds, or epochs of any unit.

The unit of a number is guessed from its size, and one number says little: a counter of nanoseconds
passes through all sizes. So numbers stay as they are until all are known (`settle_times`).
"""

import math
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from antecede.imports.events import LogEvent


class Scale(StrEnum):
    """From when a time counts, and in which unit."""

    START = "from some start"
    SECONDS = "seconds"
    MILLISECONDS = "milliseconds"
    MICROSECONDS = "microseconds"
    NANOSECONDS = "nanoseconds"
    ZONED = "with a zone"
    LOCAL = "without a zone"


RELATIVE_BELOW: Final = 1e8
"""A smaller number counts seconds from some start; others count from 1970,"""
UNITS: Final = (
    (1e11, Scale.SECONDS),
    (1e14, Scale.MILLISECONDS),
    (1e17, Scale.MICROSECONDS),
    (math.inf, Scale.NANOSECONDS),
)
"""in the unit that suits their size: no log is older than 1973,"""
LATEST: Final = 7.3e9
"""or of another century than ours and the next: such a number is no time in that unit."""
A_SECOND: Final = {
    Scale.MILLISECONDS: 1e3,
    Scale.MICROSECONDS: 1e6,
    Scale.NANOSECONDS: 1e9,
}
WRITTEN: Final = frozenset({Scale.ZONED, Scale.LOCAL})
"""Those that need no guess."""
_ISO: Final = re.compile(
    r"\d{4}-?(\d\d-?\d\d|W\d\d(-?\d)?)"
    r"(.\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?(Z|[+-]\d\d(:?\d\d(:?\d\d(\.\d+)?)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_OF_DAY: Final = re.compile(r"\s*\d\d?:\d\d(:\d\d([.,]\d+)?)?\s*", re.ASCII)


class Time(NamedTuple):
    number: float
    scale: Scale

    @property
    def seconds(self) -> float:
        return self.number / A_SECOND.get(self.scale, 1.0)


def parse_time(value: Any) -> Time:
    """A time, whatever it is written as; a ValueError if it is none."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)  # noqa: DTZ001 - nobody says which
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float | str | datetime):
        raise ValueError(value)
    if isinstance(value, datetime):
        return _of_datetime(value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return _of_text(str(value))
    if not math.isfinite(number):
        raise ValueError(value)
    found = next(scale for limit, scale in UNITS if abs(number) < limit)
    is_near = RELATIVE_BELOW <= abs(number) <= LATEST * A_SECOND.get(found, 1.0)
    return Time(number, found if is_near else Scale.START)


def is_time_of_day(value: object) -> bool:
    """Whether nothing but the day is missing."""
    return isinstance(value, time) or (isinstance(value, str) and bool(_OF_DAY.fullmatch(value)))


def settle_times(events: Sequence["LogEvent"]) -> None:
    """Times in seconds, once all are known: numbers have one unit in a file. Where a file has
    several, or some count from a start, the unit is not known, and numbers count as they are."""
    numbers: dict[int, set[Scale]] = {}
    for event in events:
        if event.scale is not None and event.scale not in WRITTEN:
            numbers.setdefault(event.file, set()).add(event.scale)
    all_ = set[Scale]().union(*numbers.values())
    is_clear = all(len(one) == 1 for one in numbers.values()) and (
        len(all_) == 1 or Scale.START not in all_
    )
    for event in events:
        if event.time is None or event.scale is None or event.scale in WRITTEN:
            continue
        if not is_clear:
            event.scale = Scale.START
        event.time = Time(event.time, event.scale).seconds


def _of_text(text: str) -> Time:
    text = text.strip()
    if not _ISO.fullmatch(text):  # Python 3.11 takes 12:00:00:00 for 12:00:00
        raise ValueError(text)
    head, dot, tail = text.partition(".")
    digits = len(tail) - len(tail.lstrip("0123456789"))
    if dot and digits > 6:  # nanoseconds, which Python's datetimes do not have
        text = f"{head}.{tail[:6]}{tail[digits:]}"
    return _of_datetime(datetime.fromisoformat(text))


def _of_datetime(found: datetime) -> Time:
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return Time(zoned.timestamp(), Scale.ZONED if found.tzinfo else Scale.LOCAL)
