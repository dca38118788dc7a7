"""A second oracle, more naive still: build the graph of all events, search it, ask the definition
about every pair of messages.

It shares nothing with `antecede.verify`: no sets of messages, no order of the events. Used only to
be compared with.
"""

from collections import deque
from typing import NamedTuple

from tests.verify.executions import Event, Execution, Message


class Finding(NamedTuple):
    """An early delivery: the process, the message, and all that it overtook."""

    process: str
    message: Message
    overtaken: frozenset[Message]


def early_deliveries(execution: Execution) -> set[Finding]:
    """The violations, straight from the definition."""
    happened_before = _closure(execution)
    sends = {event.message: event for event in _all(execution) if event.kind == "send"}
    found = set()
    for delivery in _all(execution):
        if delivery.kind != "deliver" or _is_own_copy(delivery):
            continue
        before = execution.local[delivery.process]
        delivered_before = {
            event.message for event in before[: before.index(delivery)] if event.kind == "deliver"
        }
        overtaken = {
            message
            for message, sent in sends.items()
            if delivery.process in sent.destinations
            and delivery.process != message.sender
            and sent in happened_before[sends[delivery.message]]
            and message not in delivered_before
        }
        if overtaken:
            found.add(Finding(delivery.process, delivery.message, frozenset(overtaken)))
    return found


def undelivered(execution: Execution) -> set[tuple[str, Message]]:
    """Every destination and message that it never delivered; own copies do not count."""
    delivered = {(e.process, e.message) for e in _all(execution) if e.kind == "deliver"}
    return {
        (destination, event.message)
        for event in _all(execution)
        if event.kind == "send"
        for destination in event.destinations
        if destination != event.process and (destination, event.message) not in delivered
    }


class Delay(NamedTuple):
    """The parts of a delay."""

    forced: float
    inherited: float
    own: float


def delays(execution: Execution, times: dict[Event, float]) -> dict[tuple[str, Message], Delay]:
    """For every delivery with a reception before it: until when it had to wait for the arrival,
    and until when for the delivery, of something that it depends on."""
    happened_before = _closure(execution)
    sends = {event.message: event for event in _all(execution) if event.kind == "send"}
    arrived: dict[tuple[str, Message], float] = {}
    received: dict[tuple[str, Message], float] = {}
    delivered: dict[tuple[str, Message], float] = {}
    for events in execution.local.values():
        for event in events:
            key = (event.process, event.message)
            if event.kind in {"receive", "deliver"} and not _is_own_copy(event):
                arrived.setdefault(key, times[event])
            if event.kind == "receive" and key not in delivered:
                received.setdefault(key, times[event])
            if event.kind == "deliver":
                delivered[key] = times[event]
    found = {}
    for process, message in delivered.keys() & received.keys():
        begin, end = received[process, message], delivered[process, message]
        before = [
            earlier
            for earlier, sent in sends.items()
            if process in sent.destinations
            and process != earlier.sender
            and sent in happened_before[sends[message]]
        ]
        possible = max([begin, *(arrived.get((process, m), end) for m in before)])
        allowed = max([begin, *(delivered.get((process, m), end) for m in before)])
        allowed = min(allowed, end)
        possible = min(possible, allowed)
        found[process, message] = Delay(possible - begin, allowed - possible, end - allowed)
    return found


def direct_dependencies(execution: Execution) -> dict[Message, set[Message]]:
    """What each sender had sent or delivered when it sent the message."""
    return {
        event.message: {
            earlier.message
            for earlier in events[:place]
            if earlier.kind == "send" or (earlier.kind == "deliver" and not _is_own_copy(earlier))
        }
        for events in execution.local.values()
        for place, event in enumerate(events)
        if event.kind == "send"
    }


def distance(execution: Execution, first: Message, second: Message) -> int:
    """How many steps the shortest causal path from the first message to the second has."""
    dependencies = direct_dependencies(execution)
    steps = {first: 0}
    queue = deque([first])
    while queue:
        message = queue.popleft()
        for dependent, needs in dependencies.items():
            if message in needs and dependent not in steps:
                steps[dependent] = steps[message] + 1
                queue.append(dependent)
    return steps[second]


def _all(execution: Execution) -> list[Event]:
    return [event for events in execution.local.values() for event in events]


def _is_own_copy(event: Event) -> bool:
    return event.process == event.message.sender


def _closure(execution: Execution) -> dict[Event, set[Event]]:
    """For every event all that happened before it, by a search back from each."""
    sends = {event.message: event for event in _all(execution) if event.kind == "send"}
    causes: dict[Event, list[Event]] = {}
    for events in execution.local.values():
        for previous, event in zip([None, *events], events, strict=False):
            causes[event] = [] if previous is None else [previous]
            if event.kind == "deliver" and not _is_own_copy(event):
                causes[event].append(sends[event.message])
    closure = {}
    for event, direct in causes.items():
        seen: set[Event] = set()
        stack = list(direct)
        while stack:
            cause = stack.pop()
            if cause not in seen:
                seen.add(cause)
                stack.extend(causes[cause])
        closure[event] = seen
    return closure
