"""Which column is which, and which word sends: read off names and first rows, shown to who asks.

What cannot be known is asked for, one flag at a time, with what it would mean on the first lines.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from antecede.errors import Misuse, counted
from antecede.imports.cells import word_of
from antecede.imports.columns import (
    ANY_WORD,
    COLUMNS,
    LOCAL_WORD,
    WORDS,
    Reading,
    make_reading,
    words_in,
)
from antecede.imports.events import LOCAL
from antecede.imports.problems import Problems, advised
from antecede.imports.reading import name_of
from antecede.imports.tables import Reader, refuse_twice
from antecede.imports.times import Scale, Time, is_time_of_day, parse_time
from antecede.trace import DELIVER, KINDS, RECEIVE, SEND

SAMPLE: Final = 200
"""Rows that are looked at for columns; for words all are."""
MOST_WORDS: Final = 50
SHOWN: Final = 3
FEW: Final = 5
"""Rows of which each may be of another process."""

SYNONYMS: Final[Mapping[str, str]] = {
    "process": "process host hostname node nodeid service servicename pod podname instance actor "
    "member replica component worker pid who at",
    "kind": "kind event eventtype type action op operation what direction verb evt",
    "message": "messageid msgid mid message msg id uuid key correlationid eventid",
    "destinations": "destinations destination to dst dest receivers receiver recipients recipient "
    "targets target addressees",
    "sender": "sender from src source origin",
    "number": "number msgno seqno sequencenumber",
    "time": "time timestamp t ts when date datetime at eventtime unixtime",
    "run": "run",
    "seq": "seq",
    "layer": "layer",
    "text": "text log line body description detail details comment",
}
"""For every column of a trace what people call it, the likelier names first."""
SENDING: Final = "send sent sends snd publish published pub produce produced emit emitted out tx"
DELIVERING: Final = "deliver delivered delivers dlv consume consumed handle handled processed apply"
RECEIVING: Final = "receive received receives recv rcv rcvd recvd got in rx"
SEPARATORS: Final = ";|,"
NO_HEADER: Final = (
    "If that is a first row and no names, put a line with names before it. "
    "Free text has to be written as CSV or JSON lines first."
)


@dataclass
class Guess:
    """How a table is read, and why."""

    reading: Reading
    fields: Sequence[str]
    words: dict[str, int] = field(default_factory=dict)
    """How often each word for a kind comes."""
    rows: int = 0
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What the caller says of words."""

    def lines(self) -> list[str]:
        """The same for a person: a line a column."""
        told = []
        for name in COLUMNS:
            column = self.reading.columns[name]
            if column in self.fields:
                told.append(f"  {name:<13}{column}{self._more(name)}")
        unused = [one for one in self.fields if one not in set(self.reading.columns.values())]
        if unused:
            told.append(f"  {'not used':<13}{', '.join(unused[:10])}")
        for kind, text in self.kinds.items():
            if text not in self.words:
                told += [
                    f"  {'not found':<13}{_printable(word)}, which --kind {kind} names"
                    for word in dict.fromkeys(text.split(","))
                    if word not in {*self.words, ANY_WORD}
                ]
        return told

    def _more(self, name: str) -> str:
        if name == "kind":
            told = [
                f"{_printable(word)} = {_kind_name(self.reading, word)} ({count:,})"
                for word, count in list(self.words.items())[:MOST_WORDS]
            ]
            return f": {', '.join(told)}"
        if name == "destinations" and self.reading.separator != " ":
            return f", with '{self.reading.separator}' between names"
        return ""


def _printable(word: str) -> str:
    return word.encode(errors="replace").decode()


def _kind_name(reading: Reading, word: str) -> str:
    kind = reading.kinds.get(word, reading.kinds.get(ANY_WORD, LOCAL))
    return "local" if kind == LOCAL else KINDS[kind]


def guess_reading(
    files: Sequence[Path],
    reader: Reader,
    columns: Mapping[str, str],
    kinds: Mapping[str, str],
    separator: str | None,
    delimiter: str = ",",
    fields: Sequence[str] = (),
) -> Guess:
    """How to read these files, given what the caller says of them. `fields` are those of a header;
    of formats without one, they are found in the first rows."""
    make_reading(columns, kinds, separator or " ", delimiter)
    sample = _sample(files, reader, delimiter)
    if not sample and not fields:
        _refuse_unreadable(files, reader, delimiter)
    plain = ((name, value) for row in sample for name, value in row.items())
    names = list(fields) or list(
        dict.fromkeys(name for name, value in plain if not isinstance(value, dict))
    )
    found = _columns(names, sample, columns)
    off = [name for name, field in columns.items() if not field]
    for name in ("process", "kind"):
        if name not in found:
            raise _ask_column(name, names, sample, found)
    if "message" not in found and not {"sender", "number"} <= set(found):
        raise _ask_column("message", names, sample, found)
    refuse_twice(files[0], fields, found.values())
    between = separator or _separator(sample, found.get("destinations"))
    said = {word: WORDS[kind] for kind, text in kinds.items() for word in words_in(text)}
    words, rows = _words(files, reader, delimiter, found["kind"], said)
    reading = make_reading({**found, **dict.fromkeys(off, "")}, kinds, between, delimiter)
    meant = {**reading.kinds, **_kinds(words, said, found["kind"])}
    guessed = frozenset(found) - frozenset(columns)
    clear = frozenset({LOCAL_WORD, *said})
    reading = replace(reading, kinds=meant, guessed=guessed, said=clear)
    return Guess(reading, names, words, rows, kinds)


def _rows(files: Sequence[Path], reader: Reader, delimiter: str) -> Iterable[Mapping[str, Any]]:
    """Rows with all their fields, whatever is wrong with others."""
    how = Reading({}, {}, delimiter=delimiter, is_open=True)
    for file in files:
        for _, row in reader(file, how, Problems(), lambda line: f"line {line}"):
            yield row


def _refuse_unreadable(files: Sequence[Path], reader: Reader, delimiter: str) -> None:
    """Say why no row can be read."""
    how, problems = Reading({}, {}, delimiter=delimiter, is_open=True), Problems()
    for file in files:
        list(reader(file, how, problems, lambda line: f"line {line}"))
    problems.refuse(name_of(files[0]))


def _sample(files: Sequence[Path], reader: Reader, delimiter: str) -> list[Mapping[str, Any]]:
    found = []
    for row in _rows(files, reader, delimiter):
        found.append(row)
        if len(found) == SAMPLE:
            break
    return found


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _columns(
    names: Sequence[str], sample: Sequence[Mapping[str, Any]], given: Mapping[str, str]
) -> dict[str, str]:
    """For each column of a trace that of the file: as the caller says, as its name says, and the
    kind as its words say."""
    found = {name: field for name, field in given.items() if field}
    taken = set(found.values())
    by_plain: dict[str, str] = {}
    for name in names:
        by_plain.setdefault(_plain(name), name)
    if "kind" not in found and (spoken := _spoken_columns(names, sample, taken)):
        if len(spoken) > 1:
            raise _ask_column("kind", names, sample, found, spoken)
        found["kind"] = spoken[0]
        taken.add(spoken[0])
    for column, synonyms in SYNONYMS.items():
        if column in found or column in given:
            continue
        named = [by_plain[one] for one in synonyms.split() if one in by_plain]
        free = [one for one in named if one not in taken]
        if column == "process":
            free = [one for one in free if _may_be_process(one, sample)]
            if any(_tells_apart(free[0], one, sample) for one in free[1:]):
                raise _ask_column("process", names, sample, found)
        if free:
            found[column] = free[0]
            taken.add(free[0])
    return found


def _may_be_process(column: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether it holds no times, but for small numbers, and something in it comes again."""
    values = [row.get(column) for row in sample]
    if any(is_time_of_day(one) for one in values):
        return False
    times = [time for one in values if (time := _as_time(one)) is not None]
    if times if _plain(column) == "at" else any(one.scale is not Scale.START for one in times):
        return False
    return len(values) < FEW or len({str(one) for one in values}) < len(values)


def _tells_apart(one: str, other: str, sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether two columns divide the rows differently."""
    pairs = {(str(row.get(one)), str(row.get(other))) for row in sample}
    return not len(pairs) == len({pair[0] for pair in pairs}) == len({pair[1] for pair in pairs})


def _spoken_columns(
    names: Sequence[str], sample: Sequence[Mapping[str, Any]], taken: set[str]
) -> list[str]:
    """The column in which something is said to send, and those that say otherwise."""
    spoken = {
        name: [_is_spoken(row.get(name)) for row in sample] for name in names if name not in taken
    }
    counts = {name: len(said) - said.count(None) - said.count("") for name, said in spoken.items()}
    best = max(counts, key=lambda name: counts[name], default="")
    if not best or not counts[best]:
        return []
    other = (
        name
        for name, said in spoken.items()
        if 2 * counts[name] >= counts[best]
        and any(a != b and None not in {a, b} for a, b in zip(said, spoken[best], strict=True))
    )
    return [best, *other]


def _is_spoken(value: Any) -> str | None:
    """Whether a word sends or gets; nothing if it does neither, None if there is no word."""
    if not (plain := _plain(str(value or ""))):
        return None
    got = plain in {*RECEIVING.split(), *DELIVERING.split()}
    return "sends" if plain in SENDING.split() else "gets" if got else ""


def _separator(sample: Sequence[Mapping[str, Any]], column: str | None) -> str:
    values = [row.get(column) for row in sample] if column else []
    texts = [value for value in values if isinstance(value, str)]
    return next((one for one in SEPARATORS if any(one in text for text in texts)), " ")


def _words(
    files: Sequence[Path], reader: Reader, delimiter: str, column: str, said: Mapping[str, int]
) -> tuple[dict[str, int], int]:
    """The words for kinds in all rows, the most frequent first, and how many rows there are. Of
    those that mean nothing many may be left away."""
    counts: dict[str, int] = {}
    rows = 0
    for row in _rows(files, reader, delimiter):
        rows += 1
        if (found := row.get(column)) is None or not (word := word_of(found)):
            continue
        is_few = len(counts) < 10 * MOST_WORDS
        if word in counts or is_few or word in said or _kind_of(word) != LOCAL:
            counts[word] = counts.get(word, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1])), rows


def _kinds(words: Mapping[str, int], said: Mapping[str, int], column: str) -> dict[str, int]:
    """For each word of the file its kind. Who receives and never delivers delivers."""
    spoken: dict[int, list[str]] = {}
    for word in words:
        kind = said.get(word, _kind_of(word))
        spoken.setdefault(kind, []).append(word)
    if DELIVER not in spoken and RECEIVE in spoken and RECEIVE not in said.values():
        spoken[DELIVER] = spoken.pop(RECEIVE)
    for kind in (SEND, DELIVER):
        # Where every word is known to mean something else, the log has no such event.
        if kind not in spoken and LOCAL in spoken:
            raise _ask_word(kind, words, column, spoken[LOCAL])
    return {ANY_WORD: LOCAL} | {word: kind for kind, found in spoken.items() for word in found}


def _kind_of(word: str) -> int:
    plain = _plain(word)
    if plain in KINDS:
        return KINDS.index(plain)
    for kind, known in ((SEND, SENDING), (DELIVER, DELIVERING), (RECEIVE, RECEIVING)):
        if plain in known.split():
            return kind
    return LOCAL


def _as_time(value: Any) -> Time | None:
    try:
        return parse_time(value)
    except (ValueError, OverflowError):
        return None


def _ask_word(kind: int, words: Mapping[str, int], column: str, free: Sequence[str]) -> Misuse:
    listed = ", ".join(f"'{word}' ({words[word]:,})" for word in free[:10])
    guess = free[0]
    verb = "sends" if kind == SEND else "delivers"
    rows = counted(words[guess], "row")
    return Misuse(
        f"which word in column '{column}' {verb} a message? There are {listed}.\n"
        f"  {advised('--kind', KINDS[kind], guess)} would take {rows} with '{guess}' "
        f"for {'sends' if kind == SEND else 'deliveries'}"
    )


def _ask_column(
    column: str,
    names: Sequence[str],
    sample: Sequence[Mapping[str, Any]],
    found: Mapping[str, str],
    among: Sequence[str] = (),
) -> Misuse:
    """Ask for one column; the likeliest, or one `among` these, is shown with what it would mean."""
    free = [name for name in names if name not in set(found.values())] or list(names)
    free = list(among[:1]) or free
    distinct = {name: len({str(row.get(name)) for row in sample}) for name in free}

    # A process comes again and again, a message is one of many.
    def likely(name: str) -> int:
        return distinct[name] if column == "message" else -abs(distinct[name] - 4)

    best = max(free, key=likely, default="FIELD")
    asked = {
        "process": "says where an event happened",
        "kind": "says what happened (send, deliver ...)",
        "message": "names the message",
    }[column]
    told = [f"which column {asked}? There are {', '.join(names[:20]) or 'none'}.",
            f"  {advised('--column', column, best)} would mean:"]  # fmt: skip
    for row in list(sample)[:SHOWN]:
        shown = {**{name: row.get(name_) for name, name_ in found.items()}, column: row.get(best)}
        said = {name: value for name, value in shown.items() if value not in (None, "")}
        parts = (f"{name} {str(value)[:80]}" for name, value in said.items())
        told.append(f"    {', '.join(parts)}")
    if any(_kind_of(name) != LOCAL or _as_time(name) for name in names):
        told.append(f"  {NO_HEADER}")
    return Misuse("\n".join(told))
