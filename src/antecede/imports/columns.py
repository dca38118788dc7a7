"""How a table is to be read: which of its columns is which, and which word means what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from antecede.errors import Misuse
from antecede.imports.events import LOCAL
from antecede.trace import KINDS

COLUMNS: Final = (
    *("run", "process", "kind", "seq", "message", "sender", "number"),
    *("destinations", "time", "layer", "text"),
)
"""What a column of the file can stand for."""
LOCAL_WORD: Final = "local"
WORDS: Final = {word: code for code, word in enumerate(KINDS)} | {LOCAL_WORD: LOCAL}
ANY_WORD: Final = "*"
"""Stands for every word of the file that is none of the others."""
NO_FIELD: Final = "\0"
"""Stands for the field of a column that the log shall not have."""


@dataclass(frozen=True)
class Reading:
    """How to read a file: for every trace column the file's, for every word of its own the kind."""

    columns: Mapping[str, str]
    kinds: Mapping[str, int]
    separator: str = " "
    delimiter: str = ","
    is_open: bool = False
    """Nothing is known yet: every field is wanted, and none is missing."""
    first: str = ""
    """The file by which the others are read."""
    guessed: frozenset[str] = frozenset()
    """The columns that nobody but their names tells of."""
    said: frozenset[str] | None = None
    """The words of which the caller says what they mean; None if all are."""

    def is_guessed(self, word: str) -> bool:
        """Whether nobody but the word itself says what it means."""
        return self.said is not None and self.said.isdisjoint({word, ANY_WORD})

    def advice(self, name: str) -> str:
        """What helps where the field for a column is missing."""
        if self.first:
            return f"{self.first} has it: logs that are audited together need the same names"
        return f"--column {name}=FIELD names another"


def make_reading(
    columns: Mapping[str, str] | None,
    kinds: Mapping[str, str] | None,
    separator: str = " ",
    delimiter: str = ",",
) -> Reading:
    """A mapping, checked. `kinds` gives for a kind a word of the file, or several with commas."""
    for name in columns or {}:
        if name not in COLUMNS:
            raise Misuse(f"no column '{name}' in a trace; there are {', '.join(COLUMNS)}")
        if name in {"process", "kind"} and not (columns or {})[name]:
            raise Misuse(f"--column {name}=: every event needs its {name}")
    words = dict(WORDS)
    for kind, given in (kinds or {}).items():
        if kind not in WORDS:
            raise Misuse(f"no kind '{kind}' in a trace; there are {', '.join(WORDS)}")
        words |= dict.fromkeys(words_in(given), WORDS[kind])
    if not separator:
        raise Misuse("the separator of destinations must not be empty")
    named = {name: found or NO_FIELD for name, found in (columns or {}).items()}
    mapping = {name: name for name in COLUMNS} | named
    return Reading(mapping, words, separator, checked_delimiter(delimiter))


def words_in(given: str) -> list[str]:
    """The words that a flag names: with commas between them, or one with commas in it."""
    return [given, *given.split(",")]


def checked_delimiter(delimiter: str) -> str:
    """What stands between fields; a tab may be written as in a program."""
    found = delimiter.replace(r"\t", "\t")
    if len(found) != 1 or found in '"\r\n':
        raise Misuse(r"the delimiter of a CSV file is one character and no quote; a tab is \t")
    return found
