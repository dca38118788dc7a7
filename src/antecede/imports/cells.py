"""A row of a table as an event: each of its cells checked, and what is wrong told in words."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from datetime import time as time_of_day
from decimal import Decimal
from typing import Any, Final

from antecede.imports.columns import ANY_WORD, WORDS, Reading
from antecede.imports.events import LOCAL, LogEvent
from antecede.imports.times import Time, is_time_of_day, parse_time
from antecede.trace import DELIVER, LAYERS, RECEIVE, SEND

OTHERS: Final = (date, time_of_day, timedelta, Decimal)
"""What a cell of Parquet can be and one of JSON cannot."""
LARGEST: Final = 2**63 - 1
WHOLE_FLOAT: Final = re.compile(r"[+-]?[0-9]+\.0+")


@dataclass
class Known:
    """What is found out on the way."""

    words: dict[str, int] = field(default_factory=dict)
    mentions: list[tuple[str, int, tuple[str, str, str], tuple[int, int], bool]] = field(
        default_factory=list
    )
    """Of rows that may be deliveries or sends: word, kind, then run, message and process, the place
    and whether they say whom the message is for."""


class Wrong(ValueError):
    """What is wrong with a row; those of one group are told together."""

    def __init__(self, group: str, detail: str, advice: str = "") -> None:
        super().__init__(detail)
        self.group = group
        self.detail = detail
        self.advice = advice


def event_of(
    file: int, line: int, row: Mapping[str, Any], how: Reading, run: str, known: Known
) -> LogEvent:
    """One row of the file."""

    def value(name: str) -> Any:
        found = row.get(how.columns[name])
        return None if found == "" else found

    def required(name: str) -> str:
        if (found := value(name)) is None:
            column = how.columns[name]
            raise Wrong(f"no {name}", f"field '{column}' is missing", how.advice(name))
        return _text(found, how.columns[name])

    def optional(name: str) -> str | None:
        return None if value(name) is None else required(name)

    kind = _kind(word := required("kind"), how, known)
    process, to = required("process"), None
    message = _message(value, required, process, kind, how) if 0 <= kind <= DELIVER else None
    if kind == SEND:
        to = _destinations(value("destinations"), how)
    is_clear = kind not in {LOCAL, RECEIVE} or not how.is_guessed(word)
    if not is_clear and (named := value("message")) is not None:
        where = (optional("run") or run, word_of(named), process)
        is_addressed = value("destinations") is not None
        known.mentions.append((word, kind, where, (file, line), is_addressed))
    text = value("text")
    seq = _number(value("seq"), how.columns["seq"])
    time = _time(value("time"), how.columns["time"])
    return LogEvent(
        file,
        line,
        optional("run") or run,
        process,
        kind,
        message if kind != LOCAL else None,
        to,
        seq,
        time.number if time else None,
        _layer(optional("layer"), how.columns["layer"]),
        None if text is None else _written(text),
        time.scale if time else None,
    )


def _kind(word: str, how: Reading, known: Known) -> int:
    found = how.kinds.get(word, how.kinds.get(ANY_WORD))
    if found is None:
        known.words[word] = known.words.get(word, 0) + 1
        told = ", ".join(WORDS)
        raise Wrong("words", f"field '{how.columns['kind']}' is '{word}', none of {told}")
    return found


def _message(
    value: Callable[[str], Any],
    required: Callable[[str], str],
    process: str,
    kind: int,
    how: Reading,
) -> str:
    if value("message") is not None or value("sender") is None or value("number") is None:
        return required("message")
    sender, number = required("sender"), _number(value("number"), how.columns["number"])
    if kind == SEND and sender != process:
        field_ = how.columns["sender"]
        raise Wrong("sender", f"'{process}' sends, but field '{field_}' is '{sender}'")
    return f"{sender}:{number}"


def _destinations(found: Any, how: Reading) -> list[str] | None:
    name = how.columns["destinations"]
    if isinstance(found, str):
        return [_text(one.strip(), name) for one in found.split(how.separator) if one.strip()]
    if found is None:
        return None
    if isinstance(found, int | float) and not isinstance(found, bool):
        return [_text(found, name)]
    if not isinstance(found, list):
        raise Wrong("destinations", f"field '{name}' is no list of names")
    return [_text(one, name) for one in found]


def _time(found: Any, name: str) -> Time | None:
    if found is None:
        return None
    try:
        return parse_time(found)
    except (ValueError, OverflowError):
        told = "has a time of day without its date" if is_time_of_day(found) else "is no time"
        detail = f"field '{name}' {told}: {_short(found)}"
        raise Wrong("time", detail, "--column time= goes on without times") from None


def _layer(found: str | None, name: str) -> str | None:
    if found is None or found in LAYERS:
        return found
    detail = f"field '{name}' is {_short(found)}, none of {', '.join(LAYERS)}"
    raise Wrong("layer", detail, "--column layer= goes on without layers")


def _number(found: Any, name: str) -> int | None:
    """A whole number that fits into a column of a trace."""
    if found is None:
        return None
    if isinstance(found, str) and WHOLE_FLOAT.fullmatch(found):
        found = found.partition(".")[0]  # as pandas writes whole numbers where some are missing
    try:
        number = int(found)
    except (ValueError, TypeError, OverflowError):
        number = None
    if number is None or (number != found and isinstance(found, float)) or abs(number) > LARGEST:
        raise Wrong(f"{name} number", f"field '{name}' is no number: {_short(found)}")
    return number


def _short(found: object) -> str:
    text = repr(str(found) if isinstance(found, OTHERS) else found)
    return text if len(text) <= 80 else text[:77] + "..."


def _text(found: object, name: str) -> str:
    """A value as a name: text that can be written, on one line."""
    text = _written(found)
    if "\n" in text or "\r" in text:
        raise Wrong(
            f"{name} lines",
            f"field '{name}' has a line break in it: {_short(text)}",
            "is a quote not closed?",
        )
    return text


def word_of(found: object) -> str:
    """A value as text, whether that can be written or not."""
    return found if isinstance(found, str) else json.dumps(found, default=str)


def _written(found: object) -> str:
    text = word_of(found)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Wrong("characters", f"{_short(text)} has a character that is none") from None
    return text
