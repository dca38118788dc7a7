"""Plain CSV and JSON lines, with a stated mapping of columns.

One row is one event, in the order in which its process did things, unless a column `seq` says
otherwise. A message is known by `sender` and `number`, or by any text in `message`.
"""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from antecede.errors import BadFile, Misuse
from antecede.imports.imported import Imported, Rows
from antecede.trace import DELIVER, KINDS, SEND

COLUMNS: Final = (
    *("run", "process", "kind", "seq", "message", "sender", "number"),
    *("destinations", "time", "layer"),
)
"""What a column of the file can stand for."""

LARGEST: Final = 2**63 - 1
MISTAKES: Final = 20
"""So many are listed before the rest is left unread."""

NO_DESTINATIONS: Final = (
    "no column says whom messages are addressed to, so each counts as addressed to those who "
    "delivered it: a message that somebody never got is invisible, and so is what overtook it"
)


@dataclass(frozen=True)
class Reading:
    """How to read a file: for every trace column the file's, for every kind the file's word."""

    columns: Mapping[str, str]
    kinds: Mapping[str, int]
    separator: str


def import_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str = " ",
) -> Imported:
    """A CSV file with a header. Destinations are names with `separator` between them."""
    return _import(Path(path), _csv_rows(Path(path)), _mapping(columns, kinds, separator))


def import_json_lines(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str = " ",
) -> Imported:
    """A file with one JSON object a line. Destinations are a list of names, or text as in CSV."""
    return _import(Path(path), _json_rows(Path(path)), _mapping(columns, kinds, separator))


def _mapping(
    columns: Mapping[str, str] | None, kinds: Mapping[str, str] | None, separator: str
) -> Reading:
    for name in columns or {}:
        if name not in COLUMNS:
            raise Misuse(f"no column '{name}' in a trace; there are {', '.join(COLUMNS)}")
    words = {word: code for code, word in enumerate(KINDS)}
    for kind, word in (kinds or {}).items():
        if kind not in KINDS:
            raise Misuse(f"no kind '{kind}' in a trace; there are {', '.join(KINDS)}")
        words[word] = KINDS.index(kind)
    if not separator:
        raise Misuse("the separator of destinations must not be empty")
    return Reading({name: name for name in COLUMNS} | dict(columns or {}), words, separator)


@dataclass
class _Event:
    """One line, read."""

    line: int
    run: str
    process: str
    kind: int
    seq: int | None
    message: str | tuple[str, int] | None
    destinations: list[str] | None
    time: float | None
    layer: str | None


def _import(path: Path, lines: Iterator[tuple[int, dict[str, Any]]], how: Reading) -> Imported:
    events: list[_Event] = []
    mistakes: list[str] = []
    for line, row in lines:
        try:
            events.append(_event(line, row, how, path.name.partition(".")[0]))
        except ValueError as error:
            mistakes.append(f"line {line}: {error}")
            if len(mistakes) == MISTAKES:
                break
    if mistakes:
        raise BadFile(str(path), mistakes)
    runs: dict[str, list[_Event]] = {}
    for event in events:
        runs.setdefault(event.run, []).append(event)
    addressed = any(event.destinations is not None for event in events)
    rows = [_build(path, name, found, addressed) for name, found in runs.items()]
    warnings = () if addressed or not events else (NO_DESTINATIONS,)
    return Imported(str(path), [r.table() for r in rows], [r.lines for r in rows], warnings)


def _event(line: int, row: Mapping[str, Any], how: Reading, run: str) -> _Event:
    """One row of the file; a ValueError says what is wrong with it."""

    def value(name: str) -> Any:
        found = row.get(how.columns[name])
        return None if found == "" else found

    def required(name: str) -> str:
        if (found := value(name)) is None:
            column = how.columns[name]
            raise ValueError(f"field '{column}' is missing; --column {name}=... names another")
        return _text(found)

    def number(name: str, read: Callable[[Any], Any]) -> Any:
        found = value(name)
        try:
            return None if found is None else read(found)
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"field '{how.columns[name]}' is no number: {found!r}") from None

    process, word = required("process"), required("kind")
    if word not in how.kinds:
        known = ", ".join(how.kinds)
        raise ValueError(
            f"field '{how.columns['kind']}' is '{word}', none of {known}; "
            f"--kind send={word} maps it"
        )
    kind = how.kinds[word]
    message: str | tuple[str, int] | None = None
    if kind <= DELIVER:
        if value("sender") is not None and value("number") is not None:
            message = (required("sender"), number("number", _whole))
        else:
            message = required("message")
    destinations = value("destinations")
    if isinstance(destinations, str):
        destinations = [name for name in destinations.split(how.separator) if name]
    elif destinations is not None and not isinstance(destinations, list):
        raise ValueError(f"field '{how.columns['destinations']}' is no list of names")
    return _Event(
        line,
        run if value("run") is None else required("run"),
        process,
        kind,
        number("seq", _whole),
        message,
        None if destinations is None else [_text(name) for name in destinations],
        number("time", float),
        None if value("layer") is None else required("layer"),
    )


def _text(found: object) -> str:
    """A value as text that can be written."""
    text = str(found)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{text!r} has a character that is none") from None
    return text


def _whole(found: Any) -> int:
    """A value as a number that fits into a column of a trace."""
    number = int(found)
    if isinstance(found, float) and number != found:
        raise ValueError
    if not -LARGEST <= number <= LARGEST:
        raise OverflowError
    return number


def _build(path: Path, name: str, events: list[_Event], addressed: bool) -> Rows:
    """The rows of a run. Messages known by a text get numbers, in the order of their sends."""
    if all(event.seq is not None for event in events):
        events = sorted(events, key=lambda event: (event.process, event.seq))
    ids: dict[str, tuple[str, int]] = {}
    counts: dict[str, int] = {}
    got: dict[object, list[str]] = {}
    for event in events:
        if event.kind == SEND:
            counts[event.process] = counts.get(event.process, 0) + 1
            if isinstance(event.message, str):
                numbered = (event.process, counts[event.process])
                if ids.setdefault(event.message, numbered) != numbered:
                    raise BadFile(
                        str(path), [f"line {event.line}: message '{event.message}' is sent again"]
                    )
        elif event.kind == DELIVER:
            got.setdefault(event.message, []).append(event.process)
    rows = Rows(name)
    for event in events:
        message = event.message
        if isinstance(message, str):
            if message not in ids:
                raise BadFile(
                    str(path), [f"line {event.line}: nobody sends the message '{message}'"]
                )
            message = ids[message]
        to = event.destinations
        if event.kind == SEND and not addressed:
            to = list(dict.fromkeys(got.get(event.message, ())))
        rows.add(event.line, event.process, event.kind, message, to, event.time, event.layer)
    return rows


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as text:
            reader = csv.DictReader(text)
            for row in reader:
                yield reader.line_num, row
    except (OSError, UnicodeError, csv.Error) as error:
        raise BadFile(str(path), [f"cannot be read as CSV: {error}"]) from error


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    line = 0
    try:
        with path.open(encoding="utf-8-sig") as text:
            for line, content in enumerate(text, 1):
                if content.strip():
                    row = json.loads(content)
                    if not isinstance(row, dict):
                        raise BadFile(str(path), [f"line {line}: this is no JSON object"])
                    yield line, row
    except json.JSONDecodeError as error:
        raise BadFile(str(path), [f"line {line}: this is no JSON: {error.msg}"]) from error
    except (OSError, UnicodeError) as error:
        raise BadFile(str(path), [f"cannot be read: {error}"]) from error
