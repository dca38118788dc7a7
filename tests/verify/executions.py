"""Random small executions: first one in causal order, then faults planted in it."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from antecede.trace import Run
from tests.trace.builders import deliver, load, receive, send


class Message(NamedTuple):
    sender: str
    number: int

    def __str__(self) -> str:
        return f"{self.sender}:{self.number}"


class Event(NamedTuple):
    kind: str
    process: str
    message: Message
    destinations: frozenset[str] = frozenset()


@dataclass
class Execution:
    """What each process did, in its order."""

    local: dict[str, list[Event]]

    def to_run(self) -> Run:
        """The same as a trace, without positions, process by process."""
        rows = []
        for event in (event for events in self.local.values() for event in events):
            if event.kind == "send":
                rows.append(send(event.process, event.message.number, sorted(event.destinations)))
            else:
                row = deliver if event.kind == "deliver" else receive
                rows.append(row(event.process, str(event.message)))
        return load(*rows)

    def is_possible(self) -> bool:
        """Whether the events can happen in some order: nothing before its send."""
        left = {process: list(events) for process, events in self.local.items()}
        sent: set[Message] = set()
        while any(left.values()):
            ready = [
                events
                for events in left.values()
                if events and (events[0].kind == "send" or events[0].message in sent)
            ]
            if not ready:
                return False
            for events in ready:
                sent.add(events.pop(0).message)
        return True


def random_execution(random: Random) -> Execution:
    """A causal execution of two to five processes, with up to four faults."""
    execution = _causal(random, "abcde"[: random.randint(2, 5)], random.randint(1, 30))
    for _ in range(random.choice([0, 1, 1, 2, 4])):
        changed = random.choice([_swap, _postpone, _drop])(random, execution)
        if changed.is_possible():
            execution = changed
    return execution


def _causal(random: Random, processes: str, steps: int) -> Execution:
    local: dict[str, list[Event]] = {process: [] for process in processes}
    past: dict[str, set[Message]] = {process: set() for process in processes}
    past_of: dict[Message, frozenset[Message]] = {}
    destinations_of: dict[Message, frozenset[str]] = {}
    waiting: list[tuple[str, Message]] = []
    multicast = random.random() < 0.7

    def hand_over() -> None:
        """Deliver a message that nothing stands in the way of."""
        free = [
            (process, message)
            for process, message in waiting
            if not any((process, earlier) in waiting for earlier in past_of[message])
        ]
        if free:
            process, message = random.choice(free)
            waiting.remove((process, message))
            if random.random() < 0.5:
                local[process].append(Event("receive", process, message))
            local[process].append(Event("deliver", process, message))
            past[process] |= past_of[message] | {message}

    for _ in range(steps):
        process = random.choice(processes)
        size = random.randint(0, len(processes)) if multicast else 1
        destinations = frozenset(random.sample(processes, size))
        message = Message(process, 1 + sum(m.sender == process for m in past_of))
        past_of[message], destinations_of[message] = frozenset(past[process]), destinations
        local[process].append(Event("send", process, message, destinations))
        past[process].add(message)
        if process in destinations and random.random() < 0.8:
            local[process].append(Event("deliver", process, message))
        waiting.extend((other, message) for other in sorted(destinations - {process}))
        for _ in range(random.randint(0, 3)):
            hand_over()
    for _ in range(random.choice([0, len(waiting) // 2, len(waiting)])):
        hand_over()
    return Execution(local)


def _copy(execution: Execution) -> Execution:
    return Execution({process: list(events) for process, events in execution.local.items()})


def _deliveries(random: Random, execution: Execution) -> tuple[list[Event], list[int]]:
    """The events of some process, and where its deliveries of others' messages are."""
    process = random.choice(list(execution.local))
    events = execution.local[process]
    places = [
        place
        for place, event in enumerate(events)
        if event.kind == "deliver" and event.message.sender != process
    ]
    return events, places


def _swap(random: Random, execution: Execution) -> Execution:
    """Two deliveries change places."""
    changed = _copy(execution)
    events, places = _deliveries(random, changed)
    if len(places) >= 2:
        one, other = random.sample(places, 2)
        events[one], events[other] = events[other], events[one]
    return changed


def _postpone(random: Random, execution: Execution) -> Execution:
    """A delivery comes later."""
    changed = _copy(execution)
    events, places = _deliveries(random, changed)
    if places:
        event = events.pop(random.choice(places))
        events.insert(random.randint(0, len(events)), event)
    return changed


def _drop(random: Random, execution: Execution) -> Execution:
    """A delivery never comes."""
    changed = _copy(execution)
    events, places = _deliveries(random, changed)
    if places:
        del events[random.choice(places)]
    return changed
