"""Which run of a trace is shown, and which part of it where it is too large for a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from antecede.errors import Misuse
from antecede.trace import DELIVER, LAYERS, SEND, Run
from antecede.trace.events import Integers
from antecede.view.waits import Flags, Waits

LIMIT: Final = 2_000_000
"""Events that a page holds. Beyond it a browser gets slow, and the page says what it leaves out."""


@dataclass(frozen=True, eq=False)
class Excerpt:
    """The events of a run that a page shows: whole messages, never a part of one."""

    kept: Integers
    around: str = ""
    """What lies in the middle, where something was left out."""
    events: int | None = None
    """How many events there are in all, where not all of them have been read,"""
    unread: tuple[bool, bool] = (False, False)
    """and whether there are some before those, and behind them."""

    def to_json(self, run: Run) -> dict[str, Any] | None:
        """For the page: how many events of how many, and around what; nothing if all."""
        if not self.around:
            return None
        events = len(run.events) if self.events is None else self.events
        before, behind = self.unread
        unread = {"before": before, "behind": behind}
        return {"kept": len(self.kept), "events": events, "around": self.around, "unread": unread}


def choose_run(runs: Sequence[Run], name: str | None) -> Run | None:
    """The run of this name, or the only one; None if the trace is empty."""
    names = [run.name for run in runs]
    if name in names:
        return runs[names.index(name)]
    if name is None and len(runs) <= 1:
        return runs[0] if runs else None
    listed = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "") or "none"
    which = "there is more than one run" if name is None else f"there is no run '{name}'"
    raise Misuse(f"{which}; name one with --run: {listed}")


def only_layer(run: Run, layer: int) -> Run:
    """The run without its other layers. Crashes and views concern every layer, so they stay."""
    events = run.events
    kept = np.flatnonzero((events.layer == layer) | (events.kind > DELIVER))
    return Run(run.name, run.processes, events.take(kept), run.sources)


def choose_events(run: Run, waits: Waits, limit: int = LIMIT, around: str | None = None) -> Excerpt:
    """All events; or, where there are too many, those of every message to which something happens
    around a message, around the first early delivery, or around the first wait; and of what those
    waited for."""
    size = len(run.events)
    if size <= limit:
        if around is not None:
            find_send(run, around)
        return Excerpt(np.arange(size))
    middle, described = _middle(run, waits, around)
    width = max(1, limit // 2)
    kept = _around(run, waits, middle, width)
    while len(kept) > limit and width > 1:
        width = max(1, width * 2 // 3)
        kept = _around(run, waits, middle, width)
    return Excerpt(kept, described)


def _around(run: Run, waits: Waits, middle: int, width: int) -> Integers:
    """The events of all messages that so many events in the middle belong to, and of those that
    these waited for; and all events of membership."""
    size = len(run.events)
    first = max(0, min(middle - width // 2, size - width))
    touched = np.zeros(size, bool)
    touched[first : first + width] = True
    touched = _whole_messages(run, touched)
    for awaited in (waits.delivered[touched], waits.arrived[touched]):
        touched[awaited[awaited >= 0]] = True
    return np.flatnonzero(_whole_messages(run, touched) | (run.events.kind > DELIVER))


def _whole_messages(run: Run, touched: Flags) -> Flags:
    """These events and all others of their messages."""
    events, whole = run.events, touched.copy()
    for layer in range(len(LAYERS)):
        here = (events.layer == layer) & (events.message >= 0)
        messages = np.zeros(int(events.message.max(initial=-1)) + 1, bool)
        messages[events.message[here & touched]] = True
        whole[here] |= messages[events.message[here]]
    return whole


def _middle(run: Run, waits: Waits, around: str | None) -> tuple[int, str]:
    if around is not None:
        return find_send(run, around), f"message {around}"
    early = waits.is_early()
    if early.any():
        return int(np.argmax(early)), "the first early delivery"
    held = waits.delivered >= 0
    if held.any():
        return int(np.argmax(held)), "a message that waited for another"
    return 0, "the beginning"


def find_send(run: Run, text: str) -> int:
    """The send of a message given as SENDER:NUMBER, the application's if each layer has one."""
    sender, colon, number = text.rpartition(":")
    if not colon or not number.isdecimal():
        raise Misuse(f"'{text}' is no message; write it as SENDER:NUMBER")
    if sender not in run.processes:
        raise Misuse(f"there is no process '{sender}' in run '{run.name}'")
    events = run.events
    code = list(run.processes).index(sender)
    sends = (events.kind == SEND) & (events.sender == code) & (events.number == int(number))
    found = np.flatnonzero(sends)
    if not len(found):
        raise Misuse(f"{sender} sends no message {number} in run '{run.name}'")
    return int(found[np.argmin(events.layer[found])])
