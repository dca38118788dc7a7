"""What a message is ordered with respect to: the column `ordered` of a trace, on send rows.

An application may ask for less than causal order (Rodrigues, Verissimo, chapter 6). Then each send
says which earlier messages it has to follow:

- ``label:NAME``: those of the same label that precede it through messages of this label alone.
- ``priority:N``: those with a priority of N or more that precede it, through messages of whatever
  priority.
- ``after:[["p0", 3], ...]``: these, and what they follow in turn. The sender holds histories; this
  is what the one that the message is sent in adds to those of the messages in it.
- ``none``: nothing, and nothing follows it.

Null stands for a label without a name. Without the column all is causal order.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from antecede.errors import BadTrace
from antecede.files import path_of
from antecede.trace.reader import find_files, open_file, read_tables
from antecede.trace.schema import ORDERED

RULE = "ordered is a label, a priority, what comes before, or none"

COLUMNS = ("run", "layer", "sender", "number", "kind", ORDERED)
"""Those that say it."""

Name = tuple[str, int]
"""A message: its sender, and its number."""


class Scope(NamedTuple):
    """What a message follows. `kind` is label, priority, after or none."""

    kind: str
    label: str = ""
    priority: int = 0
    after: tuple[Name, ...] = ()

    @property
    def text(self) -> str:
        """As the column has it."""
        match self.kind:
            case "label":
                return f"label:{self.label}"
            case "priority":
                return f"priority:{self.priority}"
            case "after":
                return "after:" + msgspec.json.encode(self.after).decode()
            case _:
                return "none"


Scopes = Mapping[Name, Scope]
NO_LABEL = Scope("label")


def parse(text: str | None, where: str) -> Scope:
    """What stands in the column."""
    if text is None:
        return NO_LABEL
    kind, _, rest = text.partition(":")
    try:
        if kind == "label":
            return Scope("label", rest)
        if kind == "priority":
            return Scope("priority", priority=int(rest))
        if kind == "after":
            after = msgspec.json.decode(rest, type=tuple[Name, ...])
            return Scope("after", after=after)
        if text == "none":
            return Scope("none")
    except (ValueError, msgspec.DecodeError, msgspec.ValidationError):
        pass
    raise BadTrace(RULE, where, f"it is '{text}'")


def has_scopes(path: str | os.PathLike[str]) -> bool:
    """Whether a trace says what messages are ordered with respect to."""
    return any(ORDERED in open_file(file).schema_arrow.names for file in find_files(path_of(path)))


def read_scopes(path: str | os.PathLike[str]) -> dict[str, dict[Name, Scope]]:
    """By run, the scopes of the application's messages."""
    found: dict[str, dict[Name, Scope]] = {}
    for file in find_files(path_of(path)):
        for table in read_tables(file, stamps=False, only=COLUMNS):
            add_scopes(found, table)
    return found


def add_scopes(found: dict[str, dict[Name, Scope]], table: pa.Table) -> None:
    """Those in some rows of a trace."""
    if "layer" in table.column_names:
        table = table.filter(pc.fill_null(pc.equal(table["layer"], "app"), True))
    sends = table.filter(pc.equal(table["kind"], "send"))
    texts = sends[ORDERED] if ORDERED in table.column_names else pa.nulls(len(sends))
    columns = (sends["run"], sends["sender"], sends["number"], texts)
    for run, sender, number, text in zip(*(one.to_pylist() for one in columns), strict=True):
        where = f"run '{run}', message {sender}:{number}"
        found.setdefault(run, {})[sender, number] = parse(text, where)
