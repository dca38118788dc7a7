"""A run as the columns that its page holds.

Events stand in a linear extension of happened-before, and much follows from that alone: the n-th
send is message n, its destinations are whoever received or delivered it and the few that are listed
as missing. What is left to say of an event is

- `what`: its kind, and 8 more for the hop layer;
- `process`: 0 for the one of the event before, else its index and 1;
- `age`, of receptions and deliveries: 0 for the message of the event before, else 1 and how many
  messages were sent after it so far;
- `time`: exact in a small trace, else the difference to the event before, in units that the header
  names, signs folded;
- `wait_delivered` and `wait_arrived`, of deliveries: how many events of its process lie between the
  delivery and what it waited for, signs folded and 2 added; 0 for nothing, 1 for what never came;
- `stamp_entries` and `stamp_bytes`, of sends: 0 for unknown, else the size and 1;
- `number`, of sends: only where it does not just count the sends of its process, as in an excerpt.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from antecede.trace import DELIVER, LAYERS, NULL, SEND, Run
from antecede.trace.events import Events, Integers, offsets_of
from antecede.view.excerpt import Excerpt
from antecede.view.pack import Column, fold_signs, pack
from antecede.view.waits import NEVER_CAME, NOTHING, Waits
from antecede.view.words import Words

HOP_BIT: Final = 8
EXACT: Final = 20_000
"""Events up to which times keep all their bits."""
TICKS: Final = (1 << 31) - 1
"""Into how many units the span of a run is cut at most, where times are rounded: a step over all of
them, with its sign, still fits into four bytes."""


def pack_run(
    run: Run,
    waits: Waits,
    excerpt: Excerpt,
    title: str,
    groupings: Mapping[str, list[str]],
    open_at: str = "",
    doubts: Sequence[str] = (),
    words: Words | None = None,
    *,
    unsure: Sequence[str] | None = (),
    absolute: bool = False,
) -> str:
    """The run, ready to stand in a page, which opens at this message. `doubts` are the reasons why
    order cannot be said to have been kept, `words` what the log says that the trace was made from,
    `unsure` the processes at which the order of events is, None if it may be anywhere. Times that
    are `absolute` count from the first, which the header names."""
    chosen = run.events.take(excerpt.kept)
    send = _sends(chosen)
    known = chosen.time[np.isfinite(chosen.time)]
    epoch = float(known.min()) if absolute and len(known) else None
    times, columns = _times(chosen.time if epoch is None else chosen.time - epoch)
    words = words or Words()
    header = {
        "title": title,
        "run": run.name,
        "processes": list(run.processes),
        "groupings": dict(groupings),
        "early": None if any(excerpt.unread) else int(waits.is_early().sum()),
        "excerpt": excerpt.to_json(run),
        "open_at": open_at,
        "doubts": list(doubts),
        "unsure": None if unsure is None else list(unsure),
        "epoch": epoch,
        "names": _names(words, chosen, run.events, excerpt),
        "texts": _texts(words, excerpt),
        **times,
    }
    columns |= {
        "what": chosen.kind + HOP_BIT * chosen.layer.astype(np.int64),
        "process": _changes(chosen.process.astype(np.int64)),
        "age": _ages(chosen, send),
        **_wait_columns(chosen, waits, excerpt),
        **_missing_columns(waits, excerpt, send),
        **_number_columns(chosen),
    }
    for name in ("stamp_entries", "stamp_bytes"):
        size = getattr(chosen, name)[chosen.kind == SEND]
        columns[name] = np.where(size == NULL, 0, size + 1)
    return pack(header, columns)


def _names(words: Words, chosen: Events, events: Events, excerpt: Excerpt) -> list[str]:
    """The log's names of the messages that the page holds."""
    if not words.names or len(chosen) == len(events):
        return list(words.names)
    sends = np.flatnonzero(events.kind == SEND)
    kept = np.flatnonzero(np.isin(sends, excerpt.kept)).tolist()
    return [words.names[message] for message in kept]


def _texts(words: Words, excerpt: Excerpt) -> dict[str, str]:
    """The log's texts, by the places of their events on the page."""
    if not words.texts:
        return {}
    kept = enumerate(excerpt.kept.tolist())
    return {str(at): words.texts[event] for at, event in kept if event in words.texts}


def pack_nothing(title: str) -> str:
    """An empty trace, ready to stand in a page."""
    header = {"title": title, "run": "", "processes": [], "groupings": {}, "early": 0}
    names = ("what", "process", "age", "wait_delivered", "wait_arrived", "missing_message")
    more = ("missing_process", "stamp_entries", "stamp_bytes")
    empty = {name: np.zeros(0, np.int64) for name in (*names, *more)}
    return pack({**header, "excerpt": None}, {"time": np.zeros(0), **empty})


def _sends(events: Events) -> Integers:
    """Of each event the message, counted by sends over all layers; -1 for membership events."""
    message = np.full(len(events), -1)
    sends = np.cumsum(events.kind == SEND) - 1
    for layer in range(len(LAYERS)):
        here = (events.layer == layer) & (events.message >= 0)
        own = here & (events.kind == SEND)
        of_number = np.zeros(int(events.message[here].max(initial=-1)) + 1, np.int64)
        of_number[events.message[own]] = sends[own]
        message[here] = of_number[events.message[here]]
    return message


def _number_columns(events: Events) -> dict[str, Column]:
    """The numbers of messages, where counting the sends of each process does not give them."""
    sends = events.take(np.flatnonzero(events.kind == SEND))
    counted = _steps(sends.process * len(LAYERS) + sends.layer) + 1
    return {} if (sends.number == counted).all() else {"number": sends.number}


def _times(time: npt.NDArray[np.float64]) -> tuple[dict[str, Any], dict[str, Column]]:
    """What the header says of times, and the columns."""
    known = np.isfinite(time)
    if len(time) <= EXACT or not known.any():
        exact = time if known.any() else time[:0]
        return {"per_second": 0, "origin": 0}, {"time": exact}
    first, last = float(time[known].min()), float(time[known].max())
    per_second = 10.0 ** np.floor(np.log10(TICKS / max(last - first, 1e-3)))
    # An unknown time repeats the one before, which costs nothing; `untimed` tells it apart.
    latest = np.maximum.accumulate(np.where(known, np.arange(len(time)), -1))
    filled = np.where(latest < 0, first, time[np.maximum(latest, 0)])
    ticks = np.round((filled - first) * per_second).astype(np.int64)
    columns = {"time": fold_signs(np.diff(ticks, prepend=0))}
    if not known.all():
        columns["untimed"] = np.flatnonzero(~known)
    return {"per_second": float(per_second), "origin": first}, columns


def _changes(values: Integers) -> Integers:
    """0 where a value is that of the event before, else the value and 1."""
    return np.where(np.diff(values, prepend=-1) == 0, 0, values + 1)


def _ages(events: Events, message: Integers) -> Integers:
    before = np.append(-1, message[:-1])
    sent = np.cumsum(events.kind == SEND)
    ages = np.where(message == before, 0, sent - message)
    return ages[(events.kind > SEND) & (events.kind <= DELIVER)]


def _wait_columns(events: Events, waits: Waits, excerpt: Excerpt) -> dict[str, Column]:
    """Both waits of every delivery, in steps along its process."""
    place = np.full(len(waits.delivered), NOTHING)
    place[excerpt.kept] = np.arange(len(excerpt.kept))
    step = _steps(events.process)
    deliveries = np.flatnonzero(events.kind == DELIVER)
    columns = {}
    for name, waited in (("wait_delivered", waits.delivered), ("wait_arrived", waits.arrived)):
        awaited = waited[excerpt.kept][deliveries]
        shown = np.where(awaited >= 0, place[awaited], NOTHING)
        steps = fold_signs(step[deliveries] - step[shown]) + 2
        columns[name] = np.where(shown == NOTHING, 0, steps)
        columns[name][awaited == NEVER_CAME] = 1
        if name == "wait_delivered":
            # Early for a reason that is not on the page: it is still early.
            columns[name][(shown == NOTHING) & waits.is_early()[excerpt.kept][deliveries]] = 1
    return columns


def _steps(owner: npt.NDArray[np.int32]) -> Integers:
    """The place of each event among those of its owner."""
    by_owner = np.argsort(owner, kind="stable")
    counts = np.bincount(owner)
    steps = np.empty(len(owner), np.int64)
    steps[by_owner] = np.arange(len(owner)) - np.repeat(offsets_of(counts)[:-1], counts)
    return steps


def _missing_columns(waits: Waits, excerpt: Excerpt, message: Integers) -> dict[str, Column]:
    """Pairs of a message and a process that it never reached, by message."""
    place = np.full(len(waits.delivered), NOTHING)
    place[excerpt.kept] = np.arange(len(excerpt.kept))
    shown = place[waits.missing[0]]
    kept = shown != NOTHING
    messages = message[shown[kept]]
    order = np.argsort(messages, kind="stable")
    return {
        "missing_message": np.diff(messages[order], prepend=0),
        "missing_process": waits.missing[1][kept][order],
    }
