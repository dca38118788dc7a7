"""Plain CSV, JSON lines and Parquet tables, with a stated mapping of columns.

One row is one event, in the order in which its process did things, unless a column `seq` says
otherwise. A message is known by `sender` and `number`, or by any text in `message`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec.structs import replace as replace_fields

from antecede.files import path_of
from antecede.imports.assemble import assemble
from antecede.imports.cells import Known, Wrong, event_of
from antecede.imports.columns import ANY_WORD, LOCAL_WORD, Reading, make_reading
from antecede.imports.events import LOCAL, LogEvent, Places
from antecede.imports.imported import Imported
from antecede.imports.local_order import Order
from antecede.imports.problems import Problems, advised
from antecede.imports.tables import Reader, csv_rows, json_rows
from antecede.imports.times import Scale, settle_times
from antecede.trace import DELIVER, KINDS, SEND, Assumed

NO_ZONE: Final = Assumed("zone", "times without a zone were taken for UTC", doubt=False)


def import_csv(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str = " ",
    *,
    delimiter: str = ",",
    broadcast: bool = False,
    tolerate: Iterable[str] = (),
) -> Imported:
    """A CSV file with a header. Destinations are names with `separator` between them."""
    how = make_reading(columns, kinds, separator, delimiter)
    return import_rows([path_of(path)], csv_rows, how, broadcast=broadcast, tolerate=tolerate)


def import_json_lines(
    path: str | Path,
    columns: Mapping[str, str] | None = None,
    kinds: Mapping[str, str] | None = None,
    separator: str = " ",
    *,
    broadcast: bool = False,
    tolerate: Iterable[str] = (),
) -> Imported:
    """A file with one JSON object a line. Destinations are a list of names, or text as in CSV."""
    how = make_reading(columns, kinds, separator)
    return import_rows([path_of(path)], json_rows, how, broadcast=broadcast, tolerate=tolerate)


def import_rows(
    files: Sequence[Path],
    reader: Reader,
    how: Reading,
    *,
    broadcast: bool = False,
    tolerate: Iterable[str] = (),
    order: Order = Order.SEEMS,
) -> Imported:
    """The runs in files of one format."""
    problems, places, events = Problems(tolerate), Places(files), list[LogEvent]()
    known = Known()
    for index, file in enumerate(files):
        run = file.name.partition(".")[0] if len(files) == 1 else "log"

        def place(line: int, index: int = index) -> str:
            return places.line(index, line)

        how = replace(how, first=files[0].name if index else "")
        for line, row in reader(file, how, problems, place):
            try:
                events.append(event_of(index, line, row, how, run, known))
            except Wrong as wrong:
                problems.add("bad-rows", place(line), wrong.detail, wrong.group, wrong.advice)
    _tell_words(problems, known)
    settle_times(events)
    scales = {event.scale for event in events} - {None, Scale.START}
    assumed = [NO_ZONE] if Scale.LOCAL in scales else []
    is_for_any = broadcast or "unaddressed" in tolerate
    assumed += _doubtful_words(events, known, places, is_for_any, broadcast)
    return assemble(
        files,
        events,
        problems,
        broadcast=broadcast,
        assumed=assumed,
        is_absolute=bool(scales),
        order=order,
        guessed_seq=how.columns["seq"] if "seq" in how.guessed else "",
    )


def _tell_words(problems: Problems, known: Known) -> None:
    """Words for kinds that nobody knows are told together, by how often they come."""
    if not known.words:
        return
    often = sorted(known.words, key=lambda word: (-known.words[word], word))
    listed = ", ".join(f"'{word}' ({known.words[word]:,})" for word in often[:10])
    problems.advise(
        "words",
        f"the words are {listed}: say which deliver and which send, "
        f"{advised('--kind', 'deliver', often[0])}; --kind local={ANY_WORD} keeps all others as "
        f"local events",
    )


def _doubtful_words(
    events: Sequence[LogEvent], known: Known, places: Places, is_for_any: bool, broadcast: bool
) -> list[Assumed]:
    """The doubts about rows that name a message in a word of which nobody says what it means: one
    that their process should have delivered, and did not; one that nobody sends; or one that their
    own process sent, and that somebody did not deliver."""
    if not known.mentions:
        return []
    sent = {(one.run, one.message): one for one in events if one.kind == SEND}
    got = {(one.run, one.message, one.process) for one in events if one.kind == DELIVER}
    found, unsent, lost = [], [], []
    everybody: dict[str, dict[str, None]] = {}
    for one in events:
        everybody.setdefault(one.run, {})[one.process] = None
    for word, kind, where, place, is_addressed in known.mentions:
        send = sent.get(where[:2])
        if send is None:
            unsent += [(word, place)] if (is_addressed or broadcast) and kind == LOCAL else []
        elif where in got:
            continue
        elif send.process == where[2]:
            run, message, process = where
            to = everybody[run] if broadcast else send.to or ()
            lacks = [one for one in to if one != process and (run, message, one) not in got]
            lost += [(word, place, lacks)] if lacks else []
        elif send.to is None or is_for_any or where[2] in send.to:
            found.append((word, kind, place, where[2]))
    return [
        *_perhaps_delivered(found, places),
        *_perhaps_sent(unsent, places),
        *_perhaps_failed(lost, places),
    ]


def _perhaps_sent(
    found: Sequence[tuple[str, tuple[int, int]]], places: Places
) -> Iterator[Assumed]:
    if not found:
        return
    word, place = found[0]
    meaning = (
        f"{advised('--kind', 'send', word)} says that these are sends, "
        f"{advised('--kind', LOCAL_WORD, word)} that they are not"
    )
    happened = f"rows with '{word}' name a message for somebody that nobody sends"
    count = sum(one[0] == word for one in found)
    yield Assumed("words", happened, meaning, count, places.line(*place))


def _perhaps_failed(
    found: Sequence[tuple[str, tuple[int, int], Sequence[str]]], places: Places
) -> Iterator[Assumed]:
    if not found:
        return
    word, place, _ = found[0]
    happened = f"rows with '{word}' name messages of their processes that somebody did not deliver"
    meaning = (
        f"if they were not sent after all, nobody had to wait for them; "
        f"{advised('--kind', LOCAL_WORD, word)} says that they were"
    )
    count = sum(one[0] == word for one in found)
    told = Assumed("words", happened, meaning, count, places.line(*place), unsure=True)
    yield replace_fields(told, processes=tuple(dict.fromkeys(q for one in found for q in one[2])))


def _perhaps_delivered(
    found: Sequence[tuple[str, int, tuple[int, int], str]], places: Places
) -> Iterator[Assumed]:
    if not found:
        return
    word, kind, place, _ = found[0]
    happened = f"rows with '{word}' name messages that their processes do not deliver"
    other = LOCAL_WORD if kind == LOCAL else KINDS[kind]
    meaning = (
        f"{advised('--kind', 'deliver', word)} says that these are deliveries, "
        f"{advised('--kind', other, word)} that they are not"
    )
    count = sum(one[0] == word for one in found)
    told = Assumed("words", happened, meaning, count, places.line(*place), unsure=True)
    yield replace_fields(told, processes=tuple(dict.fromkeys(one[3] for one in found)))
