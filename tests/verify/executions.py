"""Random small executions: first one in causal order, then faults planted in it."""

from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from antecede.trace import Run
from tests.trace.builders import deliver, load, receive, send
from tests.trace.builders import event as crash


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

    def to_run(self, times: dict[Event, float] | None = None) -> Run:
        """The same as a trace, without positions, process by process."""
        rows = []
        for event in (event for events in self.local.values() for event in events):
            time = None if times is None else times[event]
            if event.kind == "send":
                to = sorted(event.destinations)
                rows.append(send(event.process, event.message.number, to, time=time))
            elif event.kind == "crash":
                rows.append(crash("crash", event.process, time=time))
            else:
                row = deliver if event.kind == "deliver" else receive
                rows.append(row(event.process, str(event.message), time=time))
        return load(*rows)

    def times(self, random: Random) -> dict[Event, float]:
        """When each event may have happened."""
        left = {process: list(events) for process, events in self.local.items()}
        sent: set[Message] = set()
        times: dict[Event, float] = {}
        now = 0.0
        while ready := [events for events in left.values() if events and _can_happen(events, sent)]:
            event = random.choice(ready).pop(0)
            now += random.random()
            times[event] = now
            sent.add(event.message)
        return times

    def is_possible(self) -> bool:
        """Whether the events can happen in some order: nothing before its send."""
        left = {process: list(events) for process, events in self.local.items()}
        sent: set[Message] = set()
        while any(left.values()):
            ready = [events for events in left.values() if events and _can_happen(events, sent)]
            if not ready:
                return False
            for events in ready:
                sent.add(events.pop(0).message)
        return True


def _can_happen(events: list[Event], sent: set[Message]) -> bool:
    return events[0].kind in {"send", "crash"} or events[0].message in sent


def random_execution(random: Random) -> Execution:
    """A causal execution of two to five processes, with up to four faults."""
    execution = _causal(random, "abcde"[: random.randint(2, 5)], random.randint(1, 30))
    for _ in range(random.choice([0, 1, 1, 2, 4])):
        changed = random.choice([*FAULTS, _swap, _postpone])(random, execution)
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


def _lose(random: Random, execution: Execution) -> Execution:
    """A message that nobody delivers, except perhaps its sender."""
    sent = [e.message for events in execution.local.values() for e in events if e.kind == "send"]
    lost = random.choice([*sent, Message("", 0)])  # perhaps none
    return Execution(
        {
            process: [e for e in events if e.message != lost or process == lost.sender]
            for process, events in execution.local.items()
        }
    )


def _crash(random: Random, execution: Execution) -> Execution:
    """A process stops; nobody gets what it would have sent later."""
    process = random.choice(list(execution.local))
    events = execution.local[process]
    place = random.randint(0, len(events))
    unsent = {event.message for event in events[place:] if event.kind == "send"}
    changed = Execution(
        {
            other: [event for event in events if event.message not in unsent]
            for other, events in execution.local.items()
        }
    )
    end = Event("crash", process, Message(process, 0))
    changed.local[process] = [*execution.local[process][:place], end]
    return changed


def _break_chain(random: Random, execution: Execution) -> Execution:
    """A process delivers a message before another that it depends on by way of a third process."""
    changed = _copy(execution)
    chains = [
        (events, events.index(one), events.index(other))
        for events in changed.local.values()
        for one in events
        for other in events[events.index(one) :]
        if one.kind == other.kind == "deliver"
        and len({one.process, one.message.sender, other.message.sender}) == 3
        and _sends_after_delivery(changed, one.message, other.message)
    ]
    if chains:
        events, one, other = random.choice(chains)
        events.insert(other, events.pop(one))
    return changed


def _sends_after_delivery(execution: Execution, first: Message, second: Message) -> bool:
    """Whether the sender of the second message had delivered the first, or a later one of the same
    sender, when it sent the second."""
    events = execution.local[second.sender]
    sent = next(i for i, e in enumerate(events) if e.kind == "send" and e.message == second)
    return any(
        event.kind == "deliver"
        and event.message.sender == first.sender
        and event.message.number >= first.number
        for event in events[:sent]
    )


FAULTS = [_swap, _postpone, _drop, _lose, _crash, _break_chain]
