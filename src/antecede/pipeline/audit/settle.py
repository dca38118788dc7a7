"""What the windows of a run could not see by themselves, put together.

Every window leaves behind the copies that were not delivered in its stretch and the events about
messages of earlier windows. Here they meet. Each such event either lies in the stretch of the
window that sent the message, which has then looked at it, or belongs to one of the copies left
behind; if it does not, the run breaks a rule. What was delivered beyond the stretch of its window,
or was in flight for longer than another window's lead, is a *straggler*: with these the findings of
the windows do not stand.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.pipeline.audit.flow import NONE, Integers, Positions
from antecede.pipeline.audit.sweep import LATE, OPEN
from antecede.trace.schema import DELIVER

MOST: Final = 2_000_000
"""Events that one task puts up with."""

PATCH: Final = pa.schema(
    [
        ("sender", pa.int32()),
        ("number", pa.int64()),
        ("destination", pa.int32()),
        ("delivery", pa.int64()),
        ("delivered", pa.float64()),
        ("reception", pa.int64()),
        ("received", pa.float64()),
    ]
)
"""What happened to a copy beyond the stretch of its window; positions may be `NONE`."""


@dataclass(frozen=True, eq=False)
class Border:
    """A window as this step sees it: positions, and codes of processes that hold for all."""

    start: int
    first: int
    end: int
    """The first row of its stretch, its first own row, the last row of its stretch."""
    codes: Integers
    """The common code of each of its own."""
    sent_before: Positions
    """How many messages each author has sent in earlier windows."""
    open: int
    late: int


@dataclass(frozen=True)
class Settled:
    broken: bool = False
    """Whether a rule may be broken, or there was too much to look at."""
    stragglers: bool = False


Table = dict[str, npt.NDArray[Any]]


def settle(
    borders: Sequence[Border],
    sent: Positions,
    last_delivery: Positions,
    judged: int,
    folder: str,
) -> Settled:
    """Look at what the windows left in a folder; a patch for each of them goes there, too. `sent`
    is how many messages each author sent, `last_delivery` the last at each process."""
    if sum(border.late for border in borders) > MOST:
        return Settled(broken=True)
    processes = len(last_delivery)
    late = _late(borders, folder)
    author = late["layer"].astype(np.int64) * processes + late["sender"]
    if (late["number"] > sent[author]).any():
        return Settled(broken=True)
    window = np.full(len(author), -1)
    for index, border in enumerate(borders):
        window[late["number"] > border.sent_before[author]] = index
    if (window >= late["window"]).any():
        return Settled(broken=True)
    ends = np.array([border.end for border in borders])
    beyond = late["position"] > ends[window]
    if (beyond & (late["process"] == late["sender"])).any():
        return Settled(broken=True)
    stragglers = bool(beyond[late["layer"] == judged].any())
    is_delivery = (late["kind"] == DELIVER) & (late["layer"] == judged)
    is_delivery &= late["process"] != late["sender"]
    stragglers |= bool((late["send"] == NONE)[is_delivery].any())
    stragglers |= _overflown(borders, late["send"][is_delivery], late["position"][is_delivery])
    for index, border in enumerate(borders):
        mine = {name: values[beyond & (window == index)] for name, values in late.items()}
        found = _meet(border, mine, last_delivery, judged, Path(folder), index)
        if found is None:
            return Settled(broken=True)
        missing, until = found
        stragglers |= _overflown(borders, missing, until)
    return Settled(stragglers=stragglers)


def _overflown(borders: Sequence[Border], send: Positions, until: Positions) -> bool:
    """Whether a window begins while one of these is in flight that its lead does not reach back
    to."""
    return any(bool(((send < border.start) & (until >= border.first)).any()) for border in borders)


def _late(borders: Sequence[Border], folder: str) -> Table:
    """The events of all windows, with the window that each is in."""
    parts: list[Table] = []
    for index, border in enumerate(borders):
        if border.late:
            part = _columns(pq.read_table(Path(folder) / f"late-{index}.parquet", schema=LATE))
            for name in ("sender", "process"):
                part[name] = border.codes[part[name]]
            parts.append({**part, "window": np.full(border.late, index)})
    if not parts:
        empty = {**_columns(LATE.empty_table()), "window": np.empty(0, np.int64)}
        parts.append(empty)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _columns(table: pa.Table) -> Table:
    return {name: table[name].to_numpy() for name in table.column_names}


def _meet(
    border: Border,
    late: Table,
    last_delivery: Positions,
    judged: int,
    folder: Path,
    index: int,
) -> tuple[Positions, Positions] | None:
    """Find the copies of a window that events beyond its stretch are about, and write down what
    happened to them. Gives the copies that are never delivered: their sends, and until when they
    matter. Nothing if an event has no copy, or a copy is delivered twice."""
    if not border.open:
        return (np.empty(0, np.int64),) * 2 if not len(late["layer"]) else None
    copies = _columns(pq.read_table(folder / f"open-{index}.parquet", schema=OPEN))
    copies["sender"] = border.codes[copies["sender"]]
    copies["destination"] = border.codes[copies["destination"]]
    size = len(last_delivery)
    order, keys = _sorted_keys(copies, "destination", border, size)
    wanted = _keys(late, "process", border, size)
    place = np.minimum(keys.searchsorted(wanted), len(keys) - 1)
    if (keys[place] != wanted).any():
        return None
    copy = order[place]
    fate: dict[str, npt.NDArray[Any]] = {
        **{name: np.full(border.open, NONE) for name in ("delivery", "reception")},
        **{name: np.full(border.open, np.nan) for name in ("delivered", "received")},
    }
    delivery = late["kind"] == DELIVER
    if len(np.unique(copy[delivery])) != np.count_nonzero(delivery):
        return None
    # Backwards, so that the first of several receptions stays.
    backwards = np.argsort(-late["position"], kind="stable")
    for what, chosen in (("delivery", delivery), ("reception", ~delivery)):
        rows = backwards[chosen[backwards]]
        fate[what][copy[rows]] = late["position"][rows]
        fate["delivered" if what == "delivery" else "received"][copy[rows]] = late["time"][rows]
    asked = copies["layer"] == judged
    changed = asked & ((fate["delivery"] != NONE) | (fate["reception"] != NONE))
    patch = [{**copies, **fate}[name][changed] for name in PATCH.names]
    pq.write_table(pa.table(patch, schema=PATCH), folder / f"patch-{index}.parquet")
    missing = asked & (fate["delivery"] == NONE)
    return copies["send"][missing], last_delivery[copies["destination"][missing]]


def _sorted_keys(table: Table, at: str, border: Border, size: int) -> tuple[Positions, Positions]:
    keys = _keys(table, at, border, size)
    order = np.argsort(keys, kind="stable")
    return order, keys[order]


def _keys(table: Table, at: str, border: Border, size: int) -> Positions:
    """A number for each copy: its author and destination, and which of the author's messages."""
    author = table["layer"].astype(np.int64) * size + table["sender"]
    offset = table["number"] - border.sent_before[author]
    keys: Positions = (offset * len(border.sent_before) + author) * size + table[at]
    return keys
