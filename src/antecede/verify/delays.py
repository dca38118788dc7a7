"""What each delivery waited for, split by whose doing the wait was.

A message that arrived is held for a while and then delivered. Of that delay

- *forced* is what every protocol needs: until the last predecessor has arrived, too;
- *inherited* is the rest of what causality required here, given when this process delivered the
  predecessors, for they may have been held longer than needed themselves;
- *own* is what remains: the message could have been delivered, and was not.

Where a message was delivered too early, or a process's clock ran backwards, the parts are cut off
where the delay ends; they always add up to the delay. What had arrived (or been delivered) there
before the message was sent did not keep it waiting, whatever the clocks say, nor did what nobody
knows the time of. A reception without a time counts as one at the delivery.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from antecede.compiled import loop_for
from antecede.trace.joined import NEVER, Column, Integers, Joined, Times


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


def split_times(received: Times, delivered: Times, possible: Times, allowed: Times) -> Split:
    """The parts, given when the last predecessor arrived and when it was delivered (minus infinity
    if there was none to wait for)."""
    earliest = np.minimum(np.maximum(received, allowed), delivered)
    ideal = np.minimum(np.maximum(received, possible), earliest)
    known = ~np.isnan(received) & ~np.isnan(delivered)
    parts = (ideal - received, earliest - ideal, delivered - earliest)
    return Split(*(np.where(known, part, np.nan) for part in parts))


def total_delays(
    joined: Joined,
    last_delivered: Integers,
    last_arrived: Integers,
    chosen: slice | None = None,
) -> Delays:
    """The delays of all copies together, or of those chosen, from the last predecessor of each by
    rank of delivery and by rank of arrival."""
    first, stop, _ = (chosen or slice(None)).indices(len(last_delivered))
    prepared = joined.prepared
    steps = 3 * len(prepared.rank)
    places = np.zeros((2, len(prepared.column_of) + 1), np.int64)
    loop_for(count_ranks, steps)(prepared.column, prepared.rank, joined.arrival, places[:, 1:])
    np.cumsum(places, axis=1, out=places)
    sums = np.zeros(3)
    copies = Timed(
        *(prepared.column, prepared.rank, joined.arrival, joined.delivered, joined.received),
        *(last_delivered, last_arrived, places, np.empty(places[0, -1]), np.empty(places[1, -1])),
    )
    deliveries = loop_for(add_up, steps)(copies, sums, first, stop)
    return Delays(int(deliveries), *(float(part) for part in sums))


class Timed(NamedTuple):
    """Copies, what came before each of them, and room for times by rank: those of a process start
    at its place, by delivery in the first row of `places`, by arrival in the second."""

    column: Column
    rank: Column
    arrival: Column
    delivered: Column
    received: Column
    last_delivered: Column
    last_arrived: Column
    places: Column
    delivered_at: Column
    arrived_at: Column


def count_ranks(column: Column, rank: Column, arrival: Column, counts: Column) -> None:
    """How many copies have a rank in each column: of delivery, and of arrival."""
    for copy in range(len(rank)):
        counts[0, column[copy]] += rank[copy] != NEVER
        counts[1, column[copy]] += arrival[copy] != NEVER


def add_up(copies: Timed, sums: Column, first: int, stop: int) -> int:
    """Add the parts of the delays of the copies from `first` to `stop` to `sums` and give their
    number."""
    column, rank, arrival = copies.column, copies.rank, copies.arrival
    delivered, received, places = copies.delivered, copies.received, copies.places
    delivered_at, arrived_at = copies.delivered_at, copies.arrived_at
    for copy in range(len(rank)):
        q = column[copy]
        if rank[copy] != NEVER:
            delivered_at[places[0, q] + rank[copy] - 1] = delivered[copy]
        if arrival[copy] != NEVER:
            time = delivered[copy] if np.isnan(received[copy]) else received[copy]
            arrived_at[places[1, q] + arrival[copy] - 1] = time
    deliveries = 0
    for copy in range(first, stop):
        begin = received[copy]
        end = delivered[copy]
        if rank[copy] == NEVER or np.isnan(begin) or np.isnan(end):
            continue
        allowed = begin
        possible = begin
        last = copies.last_delivered[copy]
        if last == NEVER:
            allowed = end
        elif last > 0 and delivered_at[places[0, column[copy]] + last - 1] > allowed:
            allowed = delivered_at[places[0, column[copy]] + last - 1]
        last = copies.last_arrived[copy]
        if last == NEVER:
            possible = end
        elif last > 0 and arrived_at[places[1, column[copy]] + last - 1] > possible:
            possible = arrived_at[places[1, column[copy]] + last - 1]
        allowed = min(allowed, end)
        possible = min(possible, allowed)
        sums[0] += possible - begin
        sums[1] += allowed - possible
        sums[2] += end - allowed
        deliveries += 1
    return deliveries
