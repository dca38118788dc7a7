"""The rules of the trace format, each with its own error.

A trace that passes them has a meaning: every event has its place in its process, every delivery its
send, and all events together an order that respects both. Whether messages were delivered in causal
order is another question, asked by `antecede.verify`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from antecede.compiled import MUCH
from antecede.trace.events import NULL, Codes, Events, Integers, Run, offsets_of
from antecede.trace.extension import LINEAR_EXTENSION, NO_CYCLE, linear_extension
from antecede.trace.prepare import accept, sorted_destinations
from antecede.trace.schema import DELIVER, KINDS, LAYERS, SEND

KNOWN_KIND: Final = "every kind and layer is one that the format knows"
NOT_NULL: Final = "run, process, seq and kind are never null, nor is what identifies a message"
SEQ: Final = "seq has no gaps or repeats"
SEND_AT_SENDER: Final = "a send happens at its sender"
SENT_ONCE: Final = "no process sends a message twice"
NUMBERS: Final = "number counts the messages of a sender from 1"
HAS_SEND: Final = "every deliver and receive has its send"
DELIVERED_ONCE: Final = "no process delivers a message twice"
AT_DESTINATION: Final = "a deliver happens at a destination"
RULES: Final = (
    *(KNOWN_KIND, NOT_NULL, SEQ, SEND_AT_SENDER, SENT_ONCE, NUMBERS, HAS_SEND, DELIVERED_ONCE),
    *(AT_DESTINATION, LINEAR_EXTENSION, NO_CYCLE),
)
"""In the order in which they are asked."""

Flags = npt.NDArray[np.bool_]


def check_run(run: Run, kinds: Sequence[str], layers: Sequence[str], unaddressed: Integers) -> Run:
    """The run with its events in a linear extension of happened-before, and messages numbered; or
    the first error. `kinds` and `layers` name the codes found, known ones first; `unaddressed` are
    the rows of sends without a list of destinations."""
    if len(run.events) >= MUCH and not len(unaddressed) and (accepted := accept(run)):
        return accepted
    return check_each_rule(run, kinds, layers, unaddressed)


def check_each_rule(
    run: Run, kinds: Sequence[str], layers: Sequence[str], unaddressed: Integers
) -> Run:
    """The same, one rule after the other."""
    check_rows(run, kinds, layers, unaddressed)
    by_process = check_seq(run)
    run, send = check_messages(run)
    order = linear_extension(run, by_process, send)
    message = _number_messages(run.events, send, order)
    return replace(run, events=replace(run.events, message=message).take(order))


def check_rows(
    run: Run, kinds: Sequence[str], layers: Sequence[str], unaddressed: Integers
) -> None:
    """What can be said of every row by itself."""
    _check_words(run, kinds, layers)
    _check_nulls(run, unaddressed)


def check_messages(run: Run) -> tuple[Run, Integers]:
    """The rules about messages. Gives the run with every set of destinations sorted, and of each
    event the index of the send of its message, -1 for membership events."""
    send = _find_sends(run, check_sends(run))
    return replace(run, events=_check_deliveries(run, send)), send


def _refuse(run: Run, broken: Flags, rule: str, detail: Callable[[int], str]) -> None:
    """Raise an error about the first of the broken events, if there are any."""
    if broken.any():
        event = int(np.argmax(broken))
        raise run.breaks(rule, event, detail(event))


def _check_words(run: Run, kinds: Sequence[str], layers: Sequence[str]) -> None:
    kind, layer = run.events.kind, run.events.layer
    _refuse(run, kind >= len(KINDS), KNOWN_KIND, lambda at: f"unknown kind '{kinds[kind[at]]}'")
    _refuse(
        run, layer >= len(LAYERS), KNOWN_KIND, lambda at: f"unknown layer '{layers[layer[at]]}'"
    )


def _check_nulls(run: Run, unaddressed: Integers) -> None:
    events = run.events
    about_message = events.kind <= DELIVER
    is_send = events.kind == SEND
    has_null_name = np.zeros(len(events), bool)
    holder = np.repeat(np.arange(len(events)), np.diff(events.destination_start))
    has_null_name[holder[events.destination < 0]] = True
    for column, is_null in (
        ("process", events.process < 0),
        ("seq", events.seq == NULL),
        ("kind", events.kind < 0),
        ("sender", about_message & (events.sender < 0)),
        ("number", about_message & (events.number == NULL)),
        ("destinations", np.isin(events.row, unaddressed) | (is_send & has_null_name)),
    ):
        if is_null.any():
            event = int(np.argmax(is_null))
            raise run.breaks(NOT_NULL, event, f"column '{column}' is null")


def check_seq(run: Run) -> Integers:
    """The events sorted by process, and by local order within."""
    events = run.events
    by_process = np.lexsort((events.seq, events.process))
    counts = np.bincount(events.process, minlength=len(run.processes))
    expected = np.empty(len(events), np.int64)
    expected[by_process] = np.arange(len(events)) - np.repeat(offsets_of(counts)[:-1], counts)
    found = events.seq
    # In sorted order the first mismatch of a process is the cause of all the later ones.
    wrong = by_process[(found != expected)[by_process]]
    if len(wrong):
        event = int(wrong[0])
        detail = f"seq is {found[event]}, expected {expected[event]}"
        raise run.breaks(SEQ, event, detail)
    return by_process


def _authors(run: Run) -> Integers:
    """Who counts the message of each event: its sender in its layer, as one number."""
    return run.events.layer.astype(np.int64) * len(run.processes) + run.events.sender


def check_sends(run: Run) -> Integers:
    """The sends sorted by author, and by number within."""
    events = run.events
    is_send = events.kind == SEND
    _refuse(
        run,
        is_send & (events.process != events.sender),
        SEND_AT_SENDER,
        lambda at: f"sends {run.message_of(at)}, a message of another process",
    )
    sends = np.flatnonzero(is_send)
    author = _authors(run)
    sends = sends[np.lexsort((events.seq[sends], author[sends]))]
    author = author[sends]
    counts = np.bincount(author)
    expected = np.arange(1, len(sends) + 1) - np.repeat(offsets_of(counts)[:-1], counts)
    if (events.number[sends] != expected).any():
        _refuse_repeats(run, sends, author, events.number[sends], SENT_ONCE, "sends")
        event = int(np.argmax(events.number[sends] != expected))
        raise run.breaks(
            NUMBERS,
            int(sends[event]),
            f"sends {run.message_of(int(sends[event]))}, expected number {expected[event]}",
        )
    return sends


def _refuse_repeats(
    run: Run, chosen: Integers, first_key: Integers, second_key: Integers, rule: str, verb: str
) -> None:
    """Raise an error if two of the chosen events have the same keys."""
    order = np.lexsort((run.events.row[chosen], second_key, first_key))
    same = (np.diff(first_key[order]) == 0) & (np.diff(second_key[order]) == 0)
    if same.any():
        pair = int(np.argmax(same))
        before, again = (int(event) for event in chosen[order[pair : pair + 2]])
        detail = f"{verb} {run.message_of(again)} again, after {run.place_of(before)}"
        raise run.breaks(rule, again, detail)


def _find_sends(run: Run, sends: Integers) -> Integers:
    """The index of the send of each event's message, -1 for membership events."""
    events = run.events
    about_message = events.kind <= DELIVER
    author = np.where(about_message, _authors(run), 0)
    counts = np.bincount(_authors(run)[sends], minlength=len(LAYERS) * len(run.processes))
    has_send = (events.number >= 1) & (events.number <= counts[author])
    _refuse(
        run,
        about_message & ~has_send,
        HAS_SEND,
        lambda at: f"{KINDS[events.kind[at]]} of {run.message_of(at)}, which nobody sent",
    )
    send = np.full(len(events), -1)
    place = offsets_of(counts)[author] + events.number - 1
    send[about_message] = sends[place[about_message]]
    return send


def _check_deliveries(run: Run, send: Integers) -> Events:
    """The events with every set of destinations sorted, without repeats, and only on sends."""
    events = run.events
    deliveries = np.flatnonzero(events.kind == DELIVER)
    _refuse_repeats(
        run,
        deliveries,
        send[deliveries],
        events.process[deliveries].astype(np.int64),
        DELIVERED_ONCE,
        "delivers",
    )
    size = len(run.processes)
    holder = np.repeat(np.arange(len(events)), np.diff(events.destination_start))
    on_send = (events.kind == SEND)[holder]
    addressed = np.sort(holder[on_send] * size + events.destination[on_send])
    wanted = send * size + events.process
    found = addressed.searchsorted(wanted, "left") != addressed.searchsorted(wanted, "right")
    # A membership event has no send to ask about, and every process may deliver its own message.
    exempt = (send < 0) | (events.process == events.sender)
    _refuse(
        run,
        ~exempt & ~found,
        AT_DESTINATION,
        lambda at: (
            f"{KINDS[events.kind[at]]} of {run.message_of(at)}, which is not addressed to it"
        ),
    )
    start, destination = sorted_destinations(events, size)
    return replace(events, destination_start=start, destination=destination)


def _number_messages(events: Events, send: Integers, order: Integers) -> Codes:
    """Every event's message, counted from 0 in each layer in the order of the sends."""
    rank = np.full(len(events), -1, np.int32)
    is_send = events.kind == SEND
    for layer in range(len(LAYERS)):
        sends = order[(is_send & (events.layer == layer))[order]]
        rank[sends] = np.arange(len(sends))
    return np.where(send < 0, np.int32(-1), rank[send])
