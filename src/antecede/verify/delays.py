"""What each delivery waited for, split by whose doing the wait was.

A message that arrived is held for a while and then delivered. Of that delay

- *forced* is what every protocol needs: until the last predecessor has arrived, too;
- *inherited* is the rest of what causality required here, given when this process delivered the
  predecessors, for they may have been held longer than needed themselves;
- *own* is what remains: the message could have been delivered, and was not.

Where a message was delivered too early, or a process's clock ran backwards, the parts are cut off
where the delay ends; they always add up to the delay.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from antecede.verify.kernel import NEVER
from antecede.verify.prepare import Integers, Joined, Prepared, Times


@dataclass(frozen=True)
class Delays:
    """Sums over the deliveries whose reception and delivery have a time."""

    deliveries: int = 0
    forced_s: float = 0.0
    inherited_s: float = 0.0
    own_s: float = 0.0

    def __add__(self, other: "Delays") -> "Delays":
        return Delays(
            self.deliveries + other.deliveries,
            self.forced_s + other.forced_s,
            self.inherited_s + other.inherited_s,
            self.own_s + other.own_s,
        )

    def mean(self, total_s: float) -> float:
        return total_s / self.deliveries if self.deliveries else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "deliveries": self.deliveries,
            "mean_forced_s": self.mean(self.forced_s),
            "mean_inherited_s": self.mean(self.inherited_s),
            "mean_own_s": self.mean(self.own_s),
        }


@dataclass(frozen=True, eq=False)
class Split:
    """The parts of the delay of each copy; not a number where a time is unknown."""

    forced_s: Times
    inherited_s: Times
    own_s: Times

    def total(self) -> Delays:
        known = ~np.isnan(self.own_s)
        return Delays(
            int(np.count_nonzero(known)),
            float(self.forced_s[known].sum()),
            float(self.inherited_s[known].sum()),
            float(self.own_s[known].sum()),
        )


def split_delays(joined: Joined, last_delivered: Integers, last_arrived: Integers) -> Split:
    """The delays of all copies, from the last predecessor by rank of delivery, and by rank of
    arrival."""
    arrival_time = np.where(np.isnan(joined.received), joined.delivered, joined.received)
    by_arrival = joined.by_arrival()
    possible = _time_at(by_arrival, arrival_time, last_arrived)
    allowed = _time_at(joined.prepared, joined.delivered, last_delivered)
    return split_times(joined.received, joined.delivered, possible, allowed)


def split_times(received: Times, delivered: Times, possible: Times, allowed: Times) -> Split:
    """The parts, given when the last predecessor arrived and when it was delivered (minus infinity
    if there was none to wait for)."""
    earliest = np.minimum(np.maximum(received, allowed), delivered)
    ideal = np.minimum(np.maximum(received, possible), earliest)
    known = ~np.isnan(received) & ~np.isnan(delivered)
    parts = (ideal - received, earliest - ideal, delivered - earliest)
    return Split(*(np.where(known, part, np.nan) for part in parts))


def _time_at(prepared: Prepared, time: Times, last: Integers) -> Times:
    """When the destination of each copy reached the rank `last`: minus infinity for 0, and infinity
    for `NEVER`."""
    ranked = prepared.rank != NEVER
    column, rank = prepared.column[ranked], prepared.rank[ranked]
    counts = np.bincount(column, minlength=prepared.width)
    first = np.cumsum(counts) - counts
    by_rank = np.empty(len(rank))
    by_rank[first[column] + rank - 1] = time[ranked]
    reached = np.where(last == 0, -np.inf, np.inf)
    known = (last > 0) & (last != NEVER)
    found = by_rank[first[prepared.column[known]] + last[known] - 1]
    # A predecessor of which nobody knows the time kept nobody waiting that anybody knows of.
    reached[known] = np.where(np.isnan(found), -np.inf, found)
    return reached
