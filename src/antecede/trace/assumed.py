"""What the maker of a trace had to assume, as its footer says, and what that means for a verdict.

A trace that was not recorded but made from somebody's log may say more than the log does. Each such
assumption is kept under one word in the footer (`antecede.assumed`, JSON); whoever judges the trace
carries it along. One that leaves a *doubt* keeps the judge from saying that order was kept: what
was assumed may hide an early delivery. Only one that is *unsure* may make one up, and keeps the
judge from saying that order was broken, too.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from antecede.errors import BadFile
from antecede.files import path_of
from antecede.trace.reader import find_files, read_metadata, told_by

KEY: Final = "assumed"
"""Where the footer has it."""
SOURCE_KEY: Final = "imported"
"""Where it has the log that the trace was made from."""
OLD_KEY: Final = "warnings"
"""Where importers used to leave a text."""


class Assumed(msgspec.Struct, frozen=True, omit_defaults=True):
    """One assumption. `what` is its word for machines; `happened` and `meaning` are for people."""

    what: str
    happened: str
    meaning: str = ""
    count: int = 0
    """How many rows it concerns, where that can be counted,"""
    first: str = ""
    """and where the first of them stands."""
    doubt: bool = True
    """Whether order can no longer be said to have been kept."""
    unsure: bool = False
    """Whether events may have been in another order, so that an early delivery may be none."""
    processes: tuple[str, ...] = ()
    """Where that is so; anywhere, if none are named."""

    def sentence(self) -> str:
        """The same for a person."""
        place = f", the first at {self.first}" if self.first else ""
        counted = f" ({self.count:,}{place})" if self.count else ""
        return f"{self.happened}{counted}" + (f": {self.meaning}" if self.meaning else "")


OWN: Final = Assumed("own", "every delivery is at the sender itself", "that orders nothing")
"""Nobody delivers what another sent."""

_decoder = msgspec.json.Decoder(tuple[Assumed, ...])


def encode_assumed(assumed: Iterable[Assumed]) -> dict[str, str]:
    """The entry of a footer, as the writer's `metadata` wants it."""
    return {KEY: msgspec.json.encode(tuple(assumed)).decode()}


def read_assumed(path: str | os.PathLike[str]) -> tuple[Assumed, ...]:
    """What was assumed in any file of a trace; the same word in several files counts together. The
    files of one import all say what was assumed of the whole log, which counts once."""
    found: list[Assumed] = []
    logs: set[tuple[str, str]] = set()
    for file in find_files(path_of(path)):
        noted = read_metadata(file)
        log = (noted.get(SOURCE_KEY, ""), noted.get(KEY, ""))
        if log[0] and log in logs:
            continue
        logs.add(log)
        found += _decode(noted, str(file))
    return merge_assumed(found)


def decode_assumed(metadata: Mapping[bytes, bytes], source: str) -> tuple[Assumed, ...]:
    """What the metadata of a table that was read from a trace file, or of a footer, says."""
    return _decode(told_by(metadata, source), source)


def _decode(noted: Mapping[str, str], source: str) -> tuple[Assumed, ...]:
    try:
        if KEY in noted:
            return _decoder.decode(noted[KEY])
    except msgspec.DecodeError as error:
        raise BadFile(source, [f"the footer's '{KEY}' cannot be read: {error}"]) from None
    text = noted.get(OLD_KEY, "")
    return (Assumed("import", text),) if text else ()


def merge_assumed(assumed: Iterable[Assumed]) -> tuple[Assumed, ...]:
    """Each assumption once, with its counts added up, in the order in which they came."""
    merged: dict[tuple[str, str], Assumed] = {}
    for one in assumed:
        key = (one.what, one.happened)
        before = merged.get(key)
        if before is not None:
            named = bool(before.processes and one.processes)
            both = dict.fromkeys((*before.processes, *one.processes)) if named else ()
            count = before.count + one.count
            one = msgspec.structs.replace(before, count=count, processes=tuple(both))  # noqa: PLW2901
        merged[key] = one
    return tuple(merged.values())
