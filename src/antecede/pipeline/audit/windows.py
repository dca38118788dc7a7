"""One huge run in parallel: what each task does, and how the log is cut for them.

A task takes a window of the sends and some of the destinations. It starts *lead* positions early,
with empty rows, and is right about all predecessors that fly no longer than that. The others are
*stragglers*: one pass over the whole log, in which only they count, comes first and leaves on disk
what it found; it is cut by destination, not by window. Together they are exact.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.audit.flow import NONE, Copies, Integers, Positions
from antecede.pipeline.audit.store import PIECE, Store
from antecede.pipeline.audit.stream import Last, Scale, Stream
from antecede.verify.delays import Delays, split_times
from antecede.verify.findings import FindingsWriter, Naming
from antecede.verify.verdict import WITNESS_LIMIT

SHARD: Final = 256
"""Destinations from which on a task takes only a part of them."""


@dataclass(frozen=True)
class Plan:
    """How a run is cut. Positions are those of sends."""

    processes: int
    first: int
    last: int
    """The first and the last position of the run."""
    lead: int
    arrivals: bool
    """Whether delays are asked for."""
    borders: tuple[int, ...] = ()
    shards: int = 1
    stragglers_from: int | None = None
    """The first send of a straggler, None if there is none,"""
    stragglers_to: int | None = None
    """and how far they matter."""
    piece: int = PIECE

    def windows(self) -> list[tuple[int, int | None]]:
        ends = [self.first, *self.borders]
        return [*pairwise(ends), (ends[-1], None)]

    def columns(self, shard: int) -> Integers:
        """The columns of the destinations that fall to a shard."""
        mine = np.arange(self.processes) % self.shards == shard
        return np.where(mine, np.cumsum(mine) - 1, -1).astype(np.int32)


@dataclass(frozen=True)
class Early:
    """A delivery that came too early."""

    delivery: int
    send: int
    destination: int


@dataclass(frozen=True)
class Findings:
    """What a task gives back; they add up."""

    violations: int = 0
    delays: Delays = field(default_factory=Delays)
    early: tuple[Early, ...] = ()
    """The first of them by delivery."""

    def __add__(self, other: "Findings") -> "Findings":
        early = sorted((*self.early, *other.early), key=lambda found: found.delivery)
        return Findings(
            self.violations + other.violations,
            self.delays + other.delays,
            tuple(early[:WITNESS_LIMIT]),
        )


def choose_lead(histogram: dict[int, int], windows: int, total: int) -> int:
    """The cheapest lead, given how many copies fly for about so many positions (at most): a longer
    one makes every window longer, a shorter one makes stragglers, which cost another pass and some
    more for each of them."""
    if not histogram or windows < 2:
        return 0
    copies = sum(histogram.values())
    best, least = 0, total + copies
    for lead in sorted(histogram):
        copies -= histogram[lead]
        cost = (windows - 1) * lead + (total + copies if copies else 0)
        if cost < least:
            best, least = lead, cost
    return best


def check_window(
    store: Store,
    plan: Plan,
    window: int,
    shard: int,
    late: Sequence[str],
    out: tuple[str, Naming] | None,
) -> Findings:
    """The findings about the messages sent in a window, for one shard of the destinations. `late`
    are the files of the stragglers' pass; all findings go to the file `out`, if there is one, with
    the names that come with it."""
    if out is None:
        return _check(store, plan, window, shard, late, lambda _: None)
    file, naming = out
    with FindingsWriter(Path(file)) as writer:
        return _check(
            store, plan, window, shard, late, lambda early: writer.add(_named(naming, early))
        )


def _check(
    store: Store,
    plan: Plan,
    window: int,
    shard: int,
    late: Sequence[str],
    keep: Callable[[Copies], None],
) -> Findings:
    first, stop = plan.windows()[window]
    stream = Stream(plan.columns(shard), Scale(plan.first, plan.last), arrivals=plan.arrivals)
    found = Findings()
    for piece in store.read(max(plan.first, first - plan.lead), stop, plan.piece):
        by_delivery, by_arrival, watched = stream.feed(piece.copies, piece.stop)
        copies = piece.copies.take(watched)
        for more in _late_for(late, plan, copies):
            by_delivery = by_delivery.overruled_by(more[0])
            by_arrival = by_arrival and by_arrival.overruled_by(more[1])
        own = copies.send >= first
        early = own & (copies.delivery != NONE) & (by_delivery.position > copies.delivery)
        found += Findings(
            int(np.count_nonzero(early)),
            _delays(copies, own, by_delivery, by_arrival),
            _first_early(copies.take(early)),
        )
        if early.any():
            keep(copies.take(early))
    return found


def _delays(
    copies: Copies, own: npt.NDArray[np.bool_], by_delivery: Last, by_arrival: Last | None
) -> Delays:
    if by_arrival is None:
        return Delays()
    received = np.where(own, copies.received, np.nan)
    return split_times(received, copies.delivered, by_arrival.time_s, by_delivery.time_s).total()


def _first_early(early: Copies) -> tuple[Early, ...]:
    order = np.argsort(early.delivery, kind="stable")[:WITNESS_LIMIT]
    columns = (early.delivery, early.send, early.destination)
    return tuple(
        Early(*row) for row in zip(*(column[order].tolist() for column in columns), strict=True)
    )


def _named(naming: Naming, early: Copies) -> pa.Table:
    return naming.table(early.destination, early.sender, early.number, early.delivered)


LATE: Final = pa.schema(
    [
        ("send", pa.int64()),
        ("destination", pa.int32()),
        ("delivery", pa.int64()),
        ("delivered", pa.float64()),
        ("arrival", pa.int64()),
        ("arrived", pa.float64()),
    ]
)
"""What the pass of the stragglers leaves: for a copy, the last straggler before it."""


def check_stragglers(
    store: Store, plan: Plan, shard: int, shards: int, last_at: Positions, out: str
) -> None:
    """The pass in which only the stragglers count, for one of so many shards of the destinations.
    `last_at` is the position of the last delivery at every process."""
    if plan.stragglers_from is None:
        return
    columns = replace(plan, shards=shards).columns(shard)
    stream = Stream(columns, Scale(plan.first, plan.last), arrivals=plan.arrivals)
    partial = Path(f"{out}.partial")
    with pq.ParquetWriter(partial, LATE) as writer:
        for piece in store.read(plan.stragglers_from, plan.stragglers_to, plan.piece):
            enters = flights(piece.copies, last_at) > plan.lead
            by_delivery, by_arrival, watched = stream.feed(piece.copies, piece.stop, enters)
            by_arrival = by_arrival or Last(
                np.full(len(watched), NONE), np.full(len(watched), -np.inf)
            )
            copies = piece.copies.take(watched)
            told = (by_delivery.position != NONE) | (by_arrival.position != NONE)
            told &= copies.delivery != NONE
            columns_of: list[npt.NDArray[Any]] = [
                *(copies.send, copies.destination, by_delivery.position, by_delivery.time_s),
                *(by_arrival.position, by_arrival.time_s),
            ]
            writer.write_table(pa.table([column[told] for column in columns_of], schema=LATE))
    partial.replace(out)


def flights(copies: Copies, last_at: Positions) -> Positions:
    """For how many positions each copy can matter: until its delivery or, if that never comes,
    until the last delivery at its destination."""
    end = np.where(copies.delivery != NONE, copies.delivery, last_at[copies.destination])
    return np.where(end > copies.send, end - copies.send, 0)


def _late_for(late: Sequence[str], plan: Plan, copies: Copies) -> Iterator[tuple[Last, Last]]:
    """What the stragglers' pass found about these copies, by delivery and by arrival."""
    if not late or not len(copies):
        return
    first, last = int(copies.send[0]), int(copies.send[-1])
    sends = np.unique(copies.send)
    keys = sends.searchsorted(copies.send) * plan.processes + copies.destination
    for file in late:
        table = pq.read_table(file, filters=[("send", ">=", first), ("send", "<=", last)])
        if not len(table):
            continue
        column = {name: table[name].to_numpy() for name in LATE.names}
        key = sends.searchsorted(column["send"]) * plan.processes + column["destination"]
        place = np.minimum(keys.searchsorted(key), len(keys) - 1)
        mine = keys[place] == key  # the others belong to other shards
        found = []
        for position, time in (("delivery", "delivered"), ("arrival", "arrived")):
            positions, times = np.full(len(copies), NONE), np.full(len(copies), -np.inf)
            positions[place[mine]] = column[position][mine]
            times[place[mine]] = column[time][mine]
            found.append(Last(positions, times))
        yield found[0], found[1]
