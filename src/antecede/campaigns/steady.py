"""Steady state: what to cut off at the start of a run, and whether what is left still drifts.

*Warm-up.* A run starts with empty states, and its first messages are cheaper than those that
follow. How many messages to leave out is a number, a share of the run, or is found by MSER-5: of
the means of batches of five observations, leave out the first d for which the standard error of
the mean of the others,

    MSER(d) = Σ (z - mean)² / (m - d)²   over the m - d batches that are left,

is least. A d in the second half says that the run is too short for the rule; then half of it is
left out. Several series of a run are watched; the warm-up is the longest that one of them asks for.

*Drift.* What is left of a series is cut into two halves of ten batches each. Its drift is the
difference of the means of the halves, as a share of the whole mean. A run drifts if that is more
than `TOLERANCE` and more than chance (99 %, by Student's t over the means of the batches). A
setting drifts if the mean of the drifts of its runs is beyond the tolerance and its confidence
interval (95 %) is on one side of zero. Fewer than `FEWEST` observations tell nothing.

K. P. White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
69 (1997), 323-334; K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state
truncation heuristics for simulation", Winter Simulation Conference 2000, 755-760.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from math import sqrt
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from antecede.campaigns.student import half_width
from antecede.campaigns.tables import WATCHED

Values = npt.NDArray[np.float64]
AUTO: Final = "auto"

BATCH: Final = 5
_LEFT: Final = 5
"""Batches that MSER leaves at least: the standard error of fewer is small by chance."""
TOLERANCE: Final = 0.02
_PARTS: Final = 10
"""Batches of a half."""
FEWEST: Final = 4 * _PARTS
_BEYOND_CHANCE: Final = 2.878
"""Student's t, 99 %, both sides, for twice ten batches."""


class Series(NamedTuple):
    """Observations in the order of the messages that they belong to."""

    values: Values
    messages: npt.NDArray[np.int64]
    """The number of the message that each belongs to, counted from 0."""

    def after(self, message: int) -> Values:
        return self.values[self.messages >= message]


class Drift(NamedTuple):
    """By how much the mean of a series still changes, as a share of it; None where there is too
    little to tell."""

    share: float | None
    is_beyond_chance: bool

    @property
    def is_drifting(self) -> bool:
        return self.share is not None and self.is_beyond_chance and abs(self.share) > TOLERANCE


def truncation(values: Values) -> int | None:
    """How many observations MSER-5 leaves out; None where it says that there are too few."""
    batches = len(values) // BATCH
    if batches < 2 * _LEFT:
        return None
    means = values[: batches * BATCH].reshape(-1, BATCH).mean(axis=1)
    # Sums over all that is left, from the end: over one batch, over two ...
    count = np.arange(1, batches + 1)
    sums = np.cumsum(means[::-1])
    squares = np.cumsum((means**2)[::-1])
    errors = (squares - sums**2 / count) / count**2
    best = int(np.argmin(errors[::-1][: batches - _LEFT]))
    return best * BATCH if 2 * best <= batches else None


def warm_up(series: Mapping[str, Series], messages: int) -> int:
    """The longest that one of the series asks for, in messages, and no more than half of them."""
    longest = 0
    for one in series.values():
        if len(one.values):
            cut = truncation(one.values)
            asked = messages if cut is None else int(one.messages[cut])
            longest = max(longest, min(asked, messages // 2))
    return longest


def drift(values: Values) -> Drift:
    """Of a series after the warm-up."""
    if len(values) < FEWEST:
        return Drift(None, False)
    length = len(values) // (2 * _PARTS)
    means = values[len(values) - 2 * _PARTS * length :].reshape(2, _PARTS, length).mean(axis=2)
    first, second = means.mean(axis=1)
    difference = float(second - first)
    whole = float(values.mean())
    if not difference or not whole:
        return Drift(0.0, False)
    error = sqrt(float(means.var(axis=1, ddof=1).sum()) / _PARTS)
    is_beyond = abs(difference) > _BEYOND_CHANCE * error
    return Drift(difference / abs(whole), is_beyond)


class Verdict(StrEnum):
    STEADY = "steady"
    DRIFTING = "drifting"
    SHORT = "too short to tell"


def judge(drifts: Iterable[float | None], named: Iterable[bool]) -> Verdict:
    """On a setting, from the drifts of its runs and whether each was found to drift."""
    found = [share for share in drifts if share is not None]
    if not found:
        return Verdict.SHORT
    if len(found) == 1:
        return Verdict.DRIFTING if any(named) else Verdict.STEADY
    mean = float(np.mean(found))
    half = half_width(len(found) - 1) * float(np.std(found, ddof=1)) / sqrt(len(found))
    is_drifting = abs(mean) > max(TOLERANCE, half)
    return Verdict.DRIFTING if is_drifting else Verdict.STEADY


_MADE_OF: Final = {
    "stamp_entries": ("stamp_entries",),
    "stamp_bytes": ("stamp_bytes",),
    "ordering_bytes": ("ordering_bytes_per_message", "copies", "control_bytes", "packets_"),
    "control": ("control_pa", "control_per"),
    "hop_stamp_bytes": ("hop_stamp_", "hops"),
    "delay": ("delay_s", "network_s"),
    "hold": ("hold_s", "forced_s", "inherited_s", "unnecessary_s", "queue_"),
    "state_bytes": ("state_",),
}
"""How the names of the measures begin that are made of each of the series that are watched."""


def series_of(measure: str) -> str | None:
    """The series that a measure is made of; None for one that says nothing of a steady state."""
    return next((name for name, prefixes in _MADE_OF.items() if measure.startswith(prefixes)), None)


def verdicts(rows: Iterable[Mapping[str, Any]]) -> dict[str, Verdict]:
    """On the series of one setting, from its rows in the table of runs. A series that none of the
    runs has is left out."""
    known = [row for row in rows if row["status"] == "ok"]
    found = {}
    for name in WATCHED:
        named = [name in (row["drifting"] or "").split() for row in known]
        short = [name in (row["short"] or "").split() for row in known]
        drifts = [row[f"drift_{name}"] for row in known]
        if any(short) or any(share is not None for share in drifts):
            found[name] = judge(drifts, named)
    return found
