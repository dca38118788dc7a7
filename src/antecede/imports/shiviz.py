"""Logs with vector clocks, as GoVector writes them and ShiViz reads them.

The clocks alone tell who learned of what: an event whose clock has grown in the entry of another
process has received a message from there. So every such step becomes a message, delivered where the
clock grew; all other events stay as local ones. Where the texts of the events name the
application's messages, regular expressions can say which events send, deliver or crash.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from antecede.errors import BadFile, Misuse
from antecede.files import path_of
from antecede.imports.assemble import assemble
from antecede.imports.events import LOCAL, LogEvent, Places
from antecede.imports.imported import Imported
from antecede.imports.local_order import Order
from antecede.imports.problems import Problems
from antecede.imports.reading import (
    UNREADABLE,
    name_of,
    open_text,
    parse_json,
    read_whole,
    unreadable,
    whole_of,
)
from antecede.imports.times import parse_time
from antecede.trace import CRASH, DELIVER, SEND, Assumed

ANOTHER: Final = r'(?P<next>\S+) \{[^\n]*"(?P=next)"\s*:\s*\d'
"""How a line with a clock begins; an event's text looks otherwise."""
TEXT_FIRST: Final = r"^(?P<event>.*)\r?\n(?P<host>\S+) (?P<clock>\{.*\})[ \t]*\r?$"
PATTERNS: Final = (
    rf"^(?P<host>\S+) (?P<clock>\{{.*\}})[ \t]*\r?\n(?!{ANOTHER})(?P<event>.*)$",  # GoVector
    TEXT_FIRST,
    r"^.*/(?P<host>[^/\s\]]+)\] (?P<clock>\{[^}]*\}) (?P<event>.*)$",  # akka
)
"""Of an event with host, clock and text; the one that finds most is used, or begins first."""
CLOCK_LINE: Final = re.compile(
    r'^(?:(?P<host>\S+)|.*/(?P<named>[^/\s\]]+)\]) (?P<clock>\{\s*".*)$', re.MULTILINE
)
"""A line with a clock, which may be torn."""
BLIND: Final = Assumed(
    "clocks",
    "the messages were inferred from vector clocks alone",
    "one that arrived after something that depends on it leaves no mark in a clock, so an early "
    "delivery cannot be found in this trace",
)
NO_MATCH: Final = Assumed(
    "patterns",
    "the pattern for deliveries matches no event of the log",
    "either nothing was delivered or the pattern is wrong",
)
HIDDEN: Final = Assumed(
    "hidden",
    "by their clocks messages depend on others, and no delivery in the texts shows it",
    "what overtook them in this way is not seen",
)
PASSED: Final = Assumed(
    "lines",
    "lines that belong to no event with a clock were passed over",
    doubt=False,
)

Id = tuple[str, int]
"""An event: its host, and its own entry in its clock."""


@dataclass(frozen=True, eq=False, slots=True)
class _Event:
    file: int
    line: int
    host: str
    clock: dict[str, int]
    text: str
    time: float | None

    @property
    def id(self) -> Id:
        return self.host, self.clock[self.host]


def import_shiviz(
    path: str | Path | Sequence[Path],
    pattern: str | None = None,
    send: str | None = None,
    deliver: str | None = None,
    crash: str | None = None,
    *,
    broadcast: bool = False,
    tolerate: Iterable[str] = (),
) -> Imported:
    """The single run in a log, or in the logs of several hosts. `send` and `deliver` are regular
    expressions for the texts of events with a group `message`, and come together; `crash` is one
    for the text of a crash. With `broadcast` every message counts as addressed to all hosts, else
    to those that deliver it."""
    if (send is None) != (deliver is None):
        raise Misuse("a pattern for sends needs one for deliveries, and the other way round")
    files = [path_of(path)] if isinstance(path, str | Path) else list(path)
    places, problems = Places(files), Problems(tolerate)
    patterns = [_compile(text, {"host", "clock"}) for text in ([pattern] if pattern else PATTERNS)]
    passed: list[str] = []
    events = [
        event
        for index, file in enumerate(files)
        for event in _events(index, _read(file, problems), patterns, places, problems, passed)
    ]
    if not events:
        problems.refuse(places.source)
        detail = "there is no event with a vector clock; --pattern says how to find them"
        raise BadFile(places.source, [detail])
    hosts = _by_host(events, places, problems)
    run = files[0].name.partition(".")[0]
    crashes = _compile(crash, set()) if crash else None
    if send is None or deliver is None:
        found = list(_from_clocks(run, hosts, crashes, places, problems))
        assumed = [BLIND]
    else:
        sends, delivers = _compile(send, {"message"}), _compile(deliver, {"message"})
        found = list(_from_texts(run, hosts, sends, delivers, crashes))
        assumed = [] if any(event.kind == DELIVER for event in found) else [NO_MATCH]
        assumed += _hidden(hosts, sends, delivers, places)
    if passed:
        assumed.append(replace(PASSED, count=len(passed), first=passed[0]))
    timed = any(event.time is not None for event in events)
    made = assemble(
        files,
        found,
        problems,
        broadcast=broadcast,
        assumed=assumed,
        is_absolute=timed,
        order=Order.GIVEN,
    )
    if send is not None:
        return made
    # Who is addressed is part of what the clocks do not say.
    left = [one for one in made.assumed if one.what != "addresses"]
    return Imported(made.source, made.tables, left, made.is_absolute)


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


def _read(path: Path, problems: Problems) -> str:
    """All of it: a regular expression may go over several lines."""
    try:
        with open_text(path, problems) as text:
            return read_whole(text, name_of(path))
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def choose_pattern(text: str, patterns: Sequence[re.Pattern[str]]) -> re.Pattern[str]:
    """The one that finds most events; of two that find as many, the one that begins first."""

    def found(pattern: re.Pattern[str]) -> tuple[int, int]:
        first = pattern.search(text)
        return len(pattern.findall(text)), -(first.start() if first else 0)

    return max(patterns, key=found)


def _events(
    file: int,
    text: str,
    patterns: Sequence[re.Pattern[str]],
    places: Places,
    problems: Problems,
    passed: list[str],
) -> Iterator[_Event]:
    """The events of a file; `passed` takes the places of lines that are in none."""
    line, counted, end = 1, 0, 0
    hosts: set[str] = set()
    left: list[re.Match[str]] = []
    chosen = choose_pattern(text, patterns)
    for match in chosen.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        left += CLOCK_LINE.finditer(text, end, match.start())
        passed += (places.line(file, one) for one in _lines_between(text, end, match.start(), line))
        end = match.end()
        fields = match.groupdict()
        host = fields["host"]
        hosts.add(host)
        try:
            read = parse_json(fields["clock"]).items()
            clock = {str(name): whole_of(value) for name, value in read}
            if any(count < 0 for count in clock.values()):
                raise ValueError("who has done less than nothing?")
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            detail = f"the clock {fields['clock'][:80]} is no JSON object of counts"
            problems.add("bad-rows", places.line(file, line), detail, "clock")
            continue
        if host not in clock:
            detail = f"the clock has no entry for its host '{host}'"
            problems.add("bad-rows", places.line(file, line), detail, "own")
            continue
        if "event" in fields and match.start("event") == len(text) and text.endswith("\n"):
            detail = f"the clock {fields['clock'][:80]} has no event"
            problems.add("truncated", places.line(file, line), detail, "torn")
            continue
        yield _Event(file, line, host, clock, fields.get("event") or "", _time(fields.get("time")))
    left += CLOCK_LINE.finditer(text, end)
    _tell_left(file, text, left, hosts, places, problems)
    if chosen.pattern != TEXT_FIRST:
        last = text.count("\n") + 1
        passed += (places.line(file, one) for one in _lines_between(text, end, len(text), last))
    elif not left and (rest := text[end:].strip()):
        at = text.rindex(rest)
        place = places.line(file, text.count("\n", 0, at) + 1)
        detail = "the last text has no clock behind it"
        problems.add("truncated", place, detail, "torn", "--pattern says how to find events")


def _lines_between(text: str, end: int, start: int, line: int) -> Iterator[int]:
    """The lines, by their numbers, that are neither empty nor part of the event that ends or the
    one that starts there, in the given line."""
    first = end if not end or text[end - 1] == "\n" else text.find("\n", end, start) + 1
    last = text.rfind("\n", 0, start) + 1 if start < len(text) else start
    if (end and not first) or first >= last:
        return
    between = text[first:last]
    number = line - between.count("\n")
    for at, found in enumerate(between.split("\n")):
        if found.strip() and not CLOCK_LINE.match(found):
            yield number + at


def _tell_left(
    file: int,
    text: str,
    left: Iterable[re.Match[str]],
    hosts: set[str],
    places: Places,
    problems: Problems,
) -> None:
    """Lines with a clock that belong to no event: half of them is missing."""
    for match in left:
        host, clock = match["host"] or match["named"], match["clock"]
        is_closed, is_last = "}" in clock, match.end() == len(text)
        is_clock = f'"{host}"' in clock if is_closed else is_last or host in hosts
        if is_clock:
            place = places.line(file, text.count("\n", 0, match.start()) + 1)
            told = "has no event" if is_closed else "is not closed"
            name = "truncated" if is_last else "bad-rows"
            problems.add(name, place, f"the clock {clock[:80]} {told}", "torn")


def _time(text: str | None) -> float | None:
    try:
        return parse_time(text).seconds if text else None
    except ValueError:
        return None


def _by_host(
    events: list[_Event], places: Places, problems: Problems
) -> dict[str, dict[int, _Event]]:
    """The events of every host by its own entry, which counts them from 1."""
    hosts: dict[str, list[_Event]] = {}
    for event in events:
        hosts.setdefault(event.host, []).append(event)
    found: dict[str, dict[int, _Event]] = {}
    for host, own in hosts.items():
        own.sort(key=lambda event: event.clock[host])
        expected = 1
        for event in own:
            value = event.clock[host]
            if value != expected:
                detail = f"the own entry of '{host}' is {value}, expected {expected}"
                problems.add("clocks", places.line(event.file, event.line), detail, "own")
            expected = value + 1
            found.setdefault(host, {}).setdefault(value, event)
    return found


def _of(event: _Event, run: str, kind: int, message: str | None = None) -> LogEvent:
    return LogEvent(
        event.file,
        event.line,
        run,
        event.host,
        kind,
        message,
        time=event.time,
        text=event.text or None,
    )


def _from_clocks(
    run: str,
    hosts: dict[str, dict[int, _Event]],
    crash: re.Pattern[str] | None,
    places: Places,
    problems: Problems,
) -> Iterator[LogEvent]:
    """Every growth of a clock is the delivery of a message, sent at the event it grew by."""
    sources: dict[Id, list[Id]] = {}
    senders: set[Id] = set()
    for own in hosts.values():
        known: dict[str, int] = {}
        for event in own.values():
            sources[event.id] = _sources(hosts, event, known, places, problems)
            senders.update(sources[event.id])
            known = event.clock
    for own in hosts.values():
        for event in own.values():
            yield from (
                _of(event, run, DELIVER, f"{host} event {number}")
                for host, number in sources[event.id]
            )
            if event.id in senders:
                yield _of(event, run, SEND, f"{event.host} event {event.id[1]}")
            if crash and crash.search(event.text):
                yield _of(event, run, CRASH)
            elif event.id not in senders and not sources[event.id]:
                yield _of(event, run, LOCAL)


def _sources(
    hosts: dict[str, dict[int, _Event]],
    event: _Event,
    known: dict[str, int],
    places: Places,
    problems: Problems,
) -> list[Id]:
    """The events elsewhere that this one learned of directly: not those that another one of them
    knew of already."""
    grown = []
    for host, value in event.clock.items():
        if host == event.host or value <= known.get(host, 0):
            continue
        if value not in hosts.get(host, ()):
            detail = f"the log has no event {value} of '{host}'"
            problems.add("clocks", places.line(event.file, event.line), detail, "unknown")
            continue
        grown.append(hosts[host][value])
    return [
        one.id
        for one in grown
        if not any(
            other is not one and other.clock.get(one.host, 0) >= one.clock[one.host]
            for other in grown
        )
    ]


def _from_texts(
    run: str,
    hosts: dict[str, dict[int, _Event]],
    send: re.Pattern[str],
    deliver: re.Pattern[str],
    crash: re.Pattern[str] | None,
) -> Iterator[LogEvent]:
    """The application's own messages, found in the texts."""
    for own in hosts.values():
        for event in own.values():
            sent, got = _named(send, event), _named(deliver, event)
            yield from (_of(event, run, DELIVER, one) for one in got)
            yield from (_of(event, run, SEND, one) for one in sent)
            if crash and crash.search(event.text):
                yield _of(event, run, CRASH)
            elif not sent and not got:
                yield _of(event, run, LOCAL)


def _named(pattern: re.Pattern[str], event: _Event) -> list[str]:
    """The messages that a pattern finds in a text."""
    found = (match["message"] for match in pattern.finditer(event.text))
    return [one for one in found if one is not None]


def _hidden(
    hosts: dict[str, dict[int, _Event]],
    send: re.Pattern[str],
    deliver: re.Pattern[str],
    places: Places,
) -> list[Assumed]:
    """The doubt about sends that depend on others by their clocks and not by the texts. Of every
    host the last send counts that is known: by the clock of the event, and by what was delivered
    before."""
    events = [event for own in hosts.values() for event in own.values()]
    events.sort(key=lambda event: sum(event.clock.values()))  # what knows more comes later
    sent: dict[str, list[int]] = {}
    for event in events:
        if _named(send, event):
            sent.setdefault(event.host, []).append(event.clock[event.host])
    told: dict[str, dict[str, int]] = {host: {} for host in hosts}
    carried: dict[str, dict[str, int]] = {}
    found = []
    for event in events:
        known = told[event.host]
        for name in _named(deliver, event):
            for host, value in carried.get(name, {}).items():
                known[host] = max(value, known.get(host, 0))
        names = _named(send, event)
        if names and any(
            known.get(host, 0) < value <= event.clock.get(host, 0)
            for host, values in sent.items()
            if host != event.host
            for value in values
        ):
            found.append(event)
        if names:
            known[event.host] = event.clock[event.host]
            carried |= {name: dict(known) for name in names if name not in carried}
    if not found:
        return []
    return [replace(HIDDEN, count=len(found), first=places.line(found[0].file, found[0].line))]
