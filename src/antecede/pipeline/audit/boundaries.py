"""Whether the windows of a run fit together, and what they could not see by themselves.

The driver sees of each window a digest of some numbers per process: `seq` and `number` have to go
on where the window before ended, and positions have to grow. One task looks at what the windows
left behind: copies that were not delivered in what their task read, and rows about messages of
earlier windows. Here they meet. Each such row either lies in what the task of the sender's window
has read, which has then looked at it, or belongs to one of the copies left behind; if it does not,
the run breaks a rule. What was delivered beyond that, or was in flight for longer than another
window's lead, is a *long flight*: with these the findings of the windows do not stand, and
`antecede.pipeline.audit.flights` goes over the run once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from antecede.errors import Misuse
from antecede.files import path_of
from antecede.pipeline.audit.windows import CROSSING, NONE, OPEN, OWN, Table, Window
from antecede.trace.events import Integers
from antecede.trace.rows import UNSEEN
from antecede.trace.schema import DELIVER, LAYERS

MOST: Final = 10_000_000
"""Crossing rows that fit into the task that settles them."""

FATES: Final = pa.schema(
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
"""What happened to a copy beyond what the task of its window read; positions may be `NONE`."""


@dataclass(frozen=True, eq=False)
class Border:
    """A window as this step sees it: positions, and codes of processes that hold for all."""

    window: int
    start: int
    first: int
    end: int
    """The first row that its task read, its first own row, the last row that its task read."""
    codes: Integers
    """The common code of each of its own."""
    sent_before: Integers
    """How many messages each author has sent in earlier windows."""
    open: int
    crossing: int


@dataclass(frozen=True, eq=False)
class Agreed:
    """What the windows of a run say together."""

    processes: tuple[str, ...]
    borders: tuple[Border, ...]
    sent: Integers
    """By layer and process."""
    last_delivery: Integers
    undelivered: Integers
    crashed: tuple[int, ...]


@dataclass(frozen=True)
class Settled:
    broken: bool = False
    """Whether a rule is broken."""
    long_flights: bool = False
    doubtful: tuple[tuple[int, Table], ...] = ()
    """Receptions, each with the window of its send, of copies that are not left behind: whether
    the message was addressed there is to be looked up (`antecede.pipeline.audit.windows`)."""


def agree(windows: Sequence[Window]) -> Agreed | None:
    """Put the digests together; nothing if a window does not go on where the one before ended."""
    processes = list(dict.fromkeys(name for one in windows for name in one.names))
    code_of = {name: code for code, name in enumerate(processes)}
    size = len(processes)
    next_seq, undelivered = np.zeros(size, np.int64), np.zeros(size, np.int64)
    sent = np.zeros((len(LAYERS), size), np.int64)
    last_delivery = np.full(size, NONE)
    borders: list[Border] = []
    crashed: set[int] = set()
    before = NONE
    for one in windows:
        codes = np.array([code_of[name] for name in one.names], np.int32)
        seen, has_sent = one.next_seq != UNSEEN, one.last_number != UNSEEN
        goes_on = (one.first_seq == next_seq[codes])[seen].all()
        goes_on &= (one.first_number == sent[:, codes] + 1)[has_sent].all()
        if not goes_on or one.first <= before:
            return None
        borders.append(
            Border(
                *(one.window, one.start, one.first, one.end),
                codes.astype(np.int64),
                sent.ravel().copy(),
                *(one.open, one.crossing),
            )
        )
        next_seq[codes[seen]] = one.next_seq[seen]
        for layer in range(len(LAYERS)):
            sent[layer, codes[has_sent[layer]]] = one.last_number[layer][has_sent[layer]]
        if one.undelivered is not None:
            undelivered[codes] += one.undelivered
        last_delivery[codes] = np.maximum(last_delivery[codes], one.last_delivery)
        crashed |= set(codes[list(one.crashed)].tolist())
        before = one.last
    return Agreed(
        tuple(processes),
        tuple(borders),
        sent.ravel(),
        last_delivery,
        undelivered,
        tuple(sorted(crashed)),
    )


def check_size(run: str, agreed: Agreed) -> None:
    """Raise an error if there is more to settle than a task can hold."""
    rows = sum(border.crossing for border in agreed.borders)
    if rows > MOST:
        raise Misuse(
            f"run '{run}' has {rows:,} rows about messages of other windows, more than the "
            f"{MOST:,} that fit into a task: too much of it is in flight all the time; "
            f"use --engine local, or larger windows (Limits.window_rows)"
        )


def settle(agreed: Agreed, judged: int, folder: str) -> Settled:
    """Look at what the windows left in a folder; the fates of their copies go there, too."""
    borders = agreed.borders
    crossing = _crossing(borders, folder)
    processes = len(agreed.processes)
    author = crossing["layer"].astype(np.int64) * processes + crossing["sender"]
    if (crossing["number"] > agreed.sent[author]).any():
        return Settled(broken=True)
    window = np.full(len(author), -1)
    for index, border in enumerate(borders):
        window[crossing["number"] > border.sent_before[author]] = index
    if (window >= crossing["window"]).any():
        return Settled(broken=True)
    ends = np.array([border.end for border in borders])
    beyond = crossing["position"] > ends[window]
    own = beyond & (crossing["process"] == crossing["sender"]) & (crossing["kind"] == DELIVER)
    if own.any() and _again(borders, {n: column[own] for n, column in crossing.items()}, folder):
        return Settled(broken=True)
    beyond &= crossing["process"] != crossing["sender"]
    is_long = bool(beyond[crossing["layer"] == judged].any())
    is_delivery = (crossing["kind"] == DELIVER) & (crossing["layer"] == judged)
    is_delivery &= crossing["process"] != crossing["sender"]
    is_long |= bool((crossing["send"] == NONE)[is_delivery].any())
    is_long |= _overflown(borders, crossing["send"][is_delivery], crossing["position"][is_delivery])
    doubtful: list[tuple[int, Table]] = []
    for index, border in enumerate(borders):
        mine = {name: values[beyond & (window == index)] for name, values in crossing.items()}
        found = _meet(border, mine, agreed.last_delivery, judged, path_of(folder))
        if found is None:
            return Settled(broken=True)
        missing, until, unmet = found
        is_long |= _overflown(borders, missing, until)
        if unmet.any():
            doubtful.append((border.window, {n: column[unmet] for n, column in mine.items()}))
    return Settled(long_flights=is_long, doubtful=tuple(doubtful))


def _overflown(borders: Sequence[Border], send: Integers, until: Integers) -> bool:
    """Whether a window begins while one of these is in flight that its lead does not reach back
    to."""
    return any(bool(((send < border.start) & (until >= border.first)).any()) for border in borders)


def _crossing(borders: Sequence[Border], folder: str) -> Table:
    """The rows of all windows, with the window that each is in."""
    parts: list[Table] = [{**_columns(CROSSING.empty_table()), "window": np.empty(0, np.int64)}]
    for index, border in enumerate(borders):
        if border.crossing:
            file = path_of(folder) / f"crossing-{border.window}.parquet"
            part = _columns(pq.read_table(file, schema=CROSSING))
            for name in ("sender", "process"):
                part[name] = border.codes[part[name]]
            parts.append({**part, "window": np.full(border.crossing, index)})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _again(borders: Sequence[Border], crossing: Table, folder: str) -> bool:
    """Whether one of these deliveries, at the sender itself, is not the first of its message."""
    seen = [crossing]
    for border in borders:
        file = path_of(folder) / f"own-{border.window}.parquet"
        if file.exists():
            part = _columns(pq.read_table(file, schema=OWN))
            seen.append({**part, "sender": border.codes[part["sender"]]})
    messages = np.stack(
        [np.concatenate([part[name] for part in seen]) for name in ("layer", "sender", "number")]
    )
    return len(np.unique(messages, axis=1).T) < len(messages.T)


def _columns(table: pa.Table) -> Table:
    return {name: table[name].to_numpy() for name in table.column_names}


def _meet(
    border: Border, crossing: Table, last_delivery: Integers, judged: int, folder: Path
) -> tuple[Integers, Integers, npt.NDArray[np.bool_]] | None:
    """Find the copies of a window that rows beyond what its task read are about, and write down
    what happened to them. Gives the copies that are never delivered: their sends, and until when
    they matter; and which rows are receptions without a copy. Nothing if a delivery has no copy, or
    a copy is delivered twice."""
    copies = _columns(OPEN.empty_table())
    if border.open:
        copies = _columns(pq.read_table(folder / f"open-{border.window}.parquet", schema=OPEN))
    copies["sender"] = border.codes[copies["sender"]]
    copies["destination"] = border.codes[copies["destination"]]
    size = len(last_delivery)
    keys = _keys(copies, "destination", border, size)
    order = np.argsort(keys, kind="stable")
    wanted = _keys(crossing, "process", border, size)
    place = np.minimum(keys[order].searchsorted(wanted), len(keys) - 1)
    unmet = keys[order][place] != wanted if len(keys) else np.ones(len(wanted), bool)
    if (unmet & (crossing["kind"] == DELIVER)).any():
        return None
    crossing = {name: column[~unmet] for name, column in crossing.items()}
    copy = order[place[~unmet]]
    fate: dict[str, npt.NDArray[Any]] = {
        **{name: np.full(border.open, NONE) for name in ("delivery", "reception")},
        **{name: np.full(border.open, np.nan) for name in ("delivered", "received")},
    }
    delivery = crossing["kind"] == DELIVER
    if len(np.unique(copy[delivery])) != np.count_nonzero(delivery):
        return None
    # Backwards, so that the first of several receptions stays.
    backwards = np.argsort(-crossing["position"], kind="stable")
    for what, when, chosen in (
        ("delivery", "delivered", delivery),
        ("reception", "received", ~delivery),
    ):
        rows = backwards[chosen[backwards]]
        fate[what][copy[rows]] = crossing["position"][rows]
        fate[when][copy[rows]] = crossing["time"][rows]
    asked = copies["layer"] == judged
    changed = asked & ((fate["delivery"] != NONE) | (fate["reception"] != NONE))
    fates = [{**copies, **fate}[name][changed] for name in FATES.names]
    pq.write_table(pa.table(fates, schema=FATES), folder / f"fates-{border.window}.parquet")
    missing = asked & (fate["delivery"] == NONE)
    return copies["send"][missing], last_delivery[copies["destination"][missing]], unmet


def _keys(table: Table, at: str, border: Border, size: int) -> Integers:
    """A number for each copy: its author and destination, and which of the author's messages."""
    author = table["layer"].astype(np.int64) * size + table["sender"]
    offset = table["number"] - border.sent_before[author]
    keys: Integers = (offset * len(border.sent_before) + author) * size + table[at]
    return keys
