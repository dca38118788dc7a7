"""Rows of logs that grow: what was read once is kept, and only what is new is read.

A file is read on from its last whole line. One that is packed, or not in UTF-8, is read anew each
time, and so is one that no longer is what it was: shorter, or other than before at that place.
"""

import csv
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from antecede.errors import BadFile
from antecede.imports.columns import Reading
from antecede.imports.problems import Problems
from antecede.imports.reading import is_plain_text, name_of
from antecede.imports.tables import Reader, Row, check_columns, csv_rows

MARK: Final = 1 << 12
"""Bytes before the place to read on from, by which a file is known again."""


class _Problem(NamedTuple):
    name: str
    line: int
    detail: str
    group: str


@dataclass
class _Kept:
    """What is known of a file: all rows and problems up to a place in it."""

    found: list[Row | _Problem] = field(default_factory=list)
    stop: int = 0
    lines: int = 0
    """Bytes and lines that have been read for good."""
    mark: bytes = b""
    header: bytes = b""
    fields: list[str] = field(default_factory=list)


class KeptRows:
    """A reader of tables that keeps rows. To be called like any other."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._files: dict[Path, _Kept] = {}

    def __call__(
        self, path: Path, how: Reading, problems: Problems, place: Callable[[int], str]
    ) -> Iterator[Row]:
        if not is_plain_text(path):
            yield from self._reader(path, how, problems, place)
            return
        kept, rest = self._read_on(path, how.delimiter)
        if kept.fields:
            check_columns(path, kept.fields, how)
        for one in (*kept.found, *rest):
            if isinstance(one, _Problem):
                problems.add(one.name, place(one.line), one.detail, one.group)
            else:
                yield one

    def _read_on(self, path: Path, delimiter: str) -> tuple[_Kept, list[Row | _Problem]]:
        """All whole lines, for good, and what comes of the last one as it is."""
        kept = self._files.get(path, _Kept())
        with path.open("rb") as file:
            file.seek(max(0, kept.stop - MARK))
            if file.read(min(kept.stop, MARK)) != kept.mark:
                kept = _Kept()
                file.seek(0)
            new = file.read()
        whole, rest = new[: new.rfind(b"\n") + 1], new[new.rfind(b"\n") + 1 :]
        try:
            kept = self._with(kept, path, whole, delimiter)
        except (
            BadFile
        ):  # a field may go over lines that are yet to come: read them again with these
            whole, rest = b"", new
        self._files[path] = kept
        return kept, self._parse(kept, path, rest, delimiter) if rest else []

    def _with(self, kept: _Kept, path: Path, whole: bytes, delimiter: str) -> _Kept:
        if not whole:
            return kept
        header, fields = kept.header, kept.fields
        found = self._parse(kept, path, whole, delimiter)
        if self._reader is csv_rows and not header:
            header = next((line for line in whole.splitlines(keepends=True) if line.strip()), b"")
            fields = next(csv.reader([header.decode("utf-8-sig")], delimiter=delimiter))
        # The list is one and grows: nothing that was read is copied.
        kept.found += found
        lines = kept.lines + sum(whole.count(end) for end in (b"\n", b"\r")) - whole.count(b"\r\n")
        mark = (kept.mark + whole)[-MARK:]
        return replace(kept, stop=kept.stop + len(whole), lines=lines, mark=mark, header=header,
                       fields=fields)  # fmt: skip

    def _parse(
        self, kept: _Kept, path: Path, content: bytes, delimiter: str
    ) -> list[Row | _Problem]:
        """What the reader makes of a part of a file, with the lines of the whole."""
        shift = kept.lines - bool(kept.header)
        found: list[Row | _Problem] = []

        class Noted(Problems):
            def add(self, name: str, place: str, detail: str, group: str = "", _: str = "") -> None:
                found.append(_Problem(name, int(place.removeprefix("line ")), detail, group))

        how = Reading({}, {}, delimiter=delimiter, is_open=True)
        with tempfile.TemporaryDirectory(prefix="antecede-follow-") as folder:
            part = Path(folder) / "part"
            part.write_bytes(kept.header + content)
            try:
                for line, row in self._reader(
                    part, how, Noted(), lambda line: f"line {line + shift}"
                ):
                    found.append((line + shift, row))
            except BadFile as error:
                raise BadFile(name_of(path), error.mistakes) from error
        return found
