"""Logs of any size to audit: a system that mostly keeps causal order, in the formats of other
people."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

PROCESSES = 64
FANOUT = 3
START_S = 1_700_000_000
Event = dict[str, Any]


def events(count: int, processes: int = PROCESSES, seed: int = 1) -> Iterator[Event]:
    """So many sends and deliveries, a millisecond apart; one delivery in a hundred comes out of
    turn."""
    random = Random(seed)
    names = [f"p{number}" for number in range(processes)]
    waiting: dict[str, list[Event]] = {name: [] for name in names}
    sent = left = 0
    for at in range(count):
        process = random.choice(names)
        event: Event = {"time": START_S + at / 1000, "process": process}
        if waiting[process] and (left > 20 * processes or random.random() < 0.7):
            late = random.random() < 0.01 and len(waiting[process]) > 1
            message = waiting[process].pop(1 if late else 0)
            left -= 1
            yield {**event, "kind": "deliver", "message": message["message"], "of": message}
            continue
        sent += 1
        to = [name for name in random.sample(names, FANOUT) if name != process]
        message = {**event, "kind": "send", "message": f"order-{sent}", "destinations": to}
        for name in to:
            waiting[name].append(message)
        left += len(to)
        yield message


def write_csv(path: Path, count: int) -> None:
    with path.open("w") as file:
        file.write("time,process,kind,message,destinations\n")
        for event in events(count):
            to = " ".join(event.get("destinations", ()))
            file.write(f"{event['time']:.3f},{event['process']},{event['kind']},"
                       f"{event['message']},{to}\n")  # fmt: skip


def write_json_lines(path: Path, count: int) -> None:
    with path.open("w") as file:
        for event in events(count):
            kept = {name: value for name, value in event.items() if name != "of"}
            file.write(json.dumps(kept) + "\n")


def write_clocks(path: Path, count: int) -> None:
    """Vector clocks: every line names all processes that its event knows of."""
    clocks: dict[str, dict[str, int]] = {}
    with path.open("w") as file:
        for event in events(count, processes=8):
            clock = clocks.setdefault(event["process"], {})
            for name, value in event.get("of", {}).get("clock", {}).items():
                clock[name] = max(clock.get(name, 0), value)
            clock[event["process"]] = clock.get(event["process"], 0) + 1
            if event["kind"] == "send":
                event["clock"] = dict(clock)
            said = f"{event['kind']} {event['message']}"
            file.write(f"{event['process']} {json.dumps(clock)}\n{said}\n")


def write_spans(path: Path, count: int) -> None:
    """OTLP JSON, a span a line."""
    with path.open("w") as file:
        for number, event in enumerate(events(count)):
            is_send = event["kind"] == "send"
            event["id"] = f"{number:016x}"
            span = {
                "spanId": event["id"],
                "name": f"orders {event['kind']}",
                "kind": 4 if is_send else 5,
                "startTimeUnixNano": str(round(event["time"] * 1000) * 10**6),
                "links": [] if is_send else [{"spanId": event["of"]["id"]}],
                "attributes": [
                    {"key": "messaging.destination.name", "value": {"stringValue": "orders"}}
                ],
            }
            service = [{"key": "service.name", "value": {"stringValue": event["process"]}}]
            scope = {"resource": {"attributes": service}, "scopeSpans": [{"spans": [span]}]}
            file.write(json.dumps({"resourceSpans": [scope]}) + "\n")


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "csv": write_csv,
    "jsonl": write_json_lines,
    "shiviz": write_clocks,
    "otlp": write_spans,
}
