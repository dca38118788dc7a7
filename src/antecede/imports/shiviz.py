"""Logs with vector clocks, as GoVector writes them and ShiViz reads them.

The clocks alone tell who learned of what: an event whose clock has grown in the entry of another
process has received a message from there. So every such step becomes a message, delivered where the
clock grew. Where the texts of the events name the application's messages, regular expressions can
say which events send, deliver or crash; then those are the trace, and all hosts are addressed.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from antecede.errors import BadFile, Misuse
from antecede.imports.imported import Imported, Rows
from antecede.trace import CRASH, DELIVER, SEND

PATTERNS: Final = (
    r"^(?P<host>\S+) (?P<clock>\{.*\})[ \t]*\n(?P<event>.*)$",  # GoVector
    r"^.*/(?P<host>[^/\s\]]+)\] (?P<clock>\{[^}]*\}) (?P<event>.*)$",  # akka
)
"""Of an event with host, clock and text; the one that finds most is used."""

BLIND: Final = (
    "the messages were inferred from vector clocks alone: one that arrived after something that "
    "depends on it leaves no mark in a clock, so an early delivery cannot be found in this trace"
)

Id = tuple[str, int]
"""An event: its host, and its own entry in its clock."""


@dataclass(frozen=True)
class _Event:
    line: int
    host: str
    clock: dict[str, int]
    text: str

    @property
    def id(self) -> Id:
        return self.host, self.clock[self.host]


def import_shiviz(
    path: str | Path,
    pattern: str | None = None,
    send: str | None = None,
    deliver: str | None = None,
    crash: str | None = None,
) -> Imported:
    """The single run in a log. `send` and `deliver` are regular expressions for the texts of events
    with a group `message`, and come together; `crash` is one for the text of a crash."""
    if (send is None) != (deliver is None):
        raise Misuse("a pattern for sends needs one for deliveries, and the other way round")
    found = [_compile(text, {"host", "clock"}) for text in ([pattern] if pattern else PATTERNS)]
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise BadFile(str(path), [f"cannot be read: {error}"]) from error
    used = max(found, key=lambda expression: len(expression.findall(text)))
    events = _by_host(path, list(_events(path, text, used)))
    run = path.name.partition(".")[0]
    crashes = _compile(crash, set()) if crash else None
    if send is None or deliver is None:
        rows = _from_clocks(path, run, events, crashes)
        return Imported(str(path), [rows.table()], [rows.lines], (BLIND,))
    patterns = (_compile(send, {"message"}), _compile(deliver, {"message"}), crashes)
    rows = _from_texts(path, run, events, *patterns)
    return Imported(str(path), [rows.table()], [rows.lines])


def _compile(pattern: str, groups: set[str]) -> re.Pattern[str]:
    try:
        compiled = re.compile(pattern, re.MULTILINE)
    except re.error as error:
        raise Misuse(f"{pattern} is no regular expression: {error}") from None
    if missing := sorted(groups - set(compiled.groupindex)):
        raise Misuse(
            f"{pattern} has no group {' and '.join(f'(?P<{name}>...)' for name in missing)}"
        )
    return compiled


def _events(path: Path, text: str, pattern: re.Pattern[str]) -> Iterator[_Event]:
    line, counted = 1, 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        fields = match.groupdict()
        host = fields["host"]
        try:
            clock = {str(name): int(value) for name, value in json.loads(fields["clock"]).items()}
        except (ValueError, TypeError, AttributeError, OverflowError):
            detail = f"line {line}: the clock {fields['clock']} is no JSON object of integers"
            raise BadFile(str(path), [detail]) from None
        if host not in clock:
            raise BadFile(str(path), [f"line {line}: the clock has no entry for its host '{host}'"])
        yield _Event(line, host, clock, fields.get("event") or "")


def _by_host(path: Path, events: list[_Event]) -> dict[str, list[_Event]]:
    """The events of every host in its order, which its own entry counts from 1."""
    if not events:
        detail = "there is no event with a vector clock; --pattern says how to find them"
        raise BadFile(str(path), [detail])
    hosts: dict[str, list[_Event]] = {}
    for event in events:
        hosts.setdefault(event.host, []).append(event)
    for host, own in hosts.items():
        own.sort(key=lambda event: event.id)
        for expected, event in enumerate(own, 1):
            if event.clock[host] != expected:
                detail = (
                    f"line {event.line}: the own entry of '{host}' is {event.clock[host]}, "
                    f"expected {expected}"
                )
                raise BadFile(str(path), [detail])
    return hosts


def _from_clocks(
    path: Path, run: str, hosts: dict[str, list[_Event]], crash: re.Pattern[str] | None
) -> Rows:
    """Every growth of a clock is the delivery of a message, sent at the event it grew by."""
    sources: dict[Id, list[Id]] = {}
    receivers: dict[Id, list[str]] = {}
    for own in hosts.values():
        known: dict[str, int] = {}
        for event in own:
            sources[event.id] = _sources(path, hosts, event, known)
            for source in sources[event.id]:
                receivers.setdefault(source, []).append(event.host)
            known = event.clock
    numbers = {
        event.id: (host, number)
        for host, own in hosts.items()
        for number, event in enumerate((e for e in own if e.id in receivers), 1)
    }
    rows = Rows(run)
    for host, own in hosts.items():
        for event in own:
            for source in sources[event.id]:
                rows.add(event.line, host, DELIVER, numbers[source])
            if event.id in numbers:
                to = list(dict.fromkeys(receivers[event.id]))
                rows.add(event.line, host, SEND, numbers[event.id], to)
            if crash and crash.search(event.text):
                rows.add(event.line, host, CRASH)
    return rows


def _sources(
    path: Path, hosts: dict[str, list[_Event]], event: _Event, known: dict[str, int]
) -> list[Id]:
    """The events elsewhere that this one learned of directly: not those that another one of them
    knew of already."""
    grown = []
    for host, value in event.clock.items():
        if host == event.host or value <= known.get(host, 0):
            continue
        if value > len(hosts.get(host, ())):
            detail = f"line {event.line}: the log has no event {value} of '{host}'"
            raise BadFile(str(path), [detail])
        grown.append(hosts[host][value - 1])
    return [
        one.id
        for one in grown
        if not any(
            other is not one and other.clock.get(one.host, 0) >= one.clock[one.host]
            for other in grown
        )
    ]


def _from_texts(
    path: Path,
    run: str,
    hosts: dict[str, list[_Event]],
    send: re.Pattern[str],
    deliver: re.Pattern[str],
    crash: re.Pattern[str] | None,
) -> Rows:
    """The application's own messages, found in the texts."""
    messages: dict[str, Id] = {}
    for host, own in hosts.items():
        sent = [(event, match["message"]) for event in own if (match := send.search(event.text))]
        for number, (event, message) in enumerate(sent, 1):
            if messages.setdefault(message, (host, number)) != (host, number):
                detail = f"line {event.line}: message '{message}' is sent again"
                raise BadFile(str(path), [detail])
    rows = Rows(run)
    everybody = list(hosts)
    for host, own in hosts.items():
        for event in own:
            if match := send.search(event.text):
                rows.add(event.line, host, SEND, messages[match["message"]], everybody)
            if match := deliver.search(event.text):
                if match["message"] not in messages:
                    detail = f"line {event.line}: nobody sends the message '{match['message']}'"
                    raise BadFile(str(path), [detail])
                rows.add(event.line, host, DELIVER, messages[match["message"]])
            if crash and crash.search(event.text):
                rows.add(event.line, host, CRASH)
    return rows
