"""Logs that grow: what is kept and what is read on is what a fresh reader finds, wherever the log
was cut in the meantime."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from antecede.errors import BadFile
from antecede.imports import kept
from antecede.imports.columns import Reading
from antecede.imports.problems import Problems
from antecede.imports.tables import Reader, Row, csv_rows, json_rows
from tests.view.dropped import Dropped, as_csv, as_json_lines, drawn_rows, drawn_table, wounded

OPEN = Reading({}, {}, delimiter=",", is_open=True)


def read(reader: Reader, path: Path, delimiter: str) -> object:
    """The rows and problems of a file, or its error."""
    problems = Problems()
    how = Reading({}, {}, delimiter=delimiter, is_open=True)
    try:
        rows = list(reader(path, how, problems, lambda line: f"line {line}"))
        told = [(k.name, k.place, k.detail, k.count) for k in problems._kinds.values()]
    except BadFile as error:
        return error.mistakes
    return rows, told


@pytest.mark.parametrize("seed", range(12))
def test_a_growing_log_is_read_as_a_whole_one(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    table = drawn_table(random, drawn_rows(random, dirt=0.1))
    is_csv = seed % 2 == 0
    content = as_csv(random, table) if is_csv else as_json_lines(random, table)
    if seed % 3 == 0:
        (content,) = wounded(random, Dropped({"log": content})).files.values()
    fresh: Reader = csv_rows if is_csv else json_rows
    keeping, log = kept.KeptRows(fresh), tmp_path / "log"
    delimiter = next(one for one in ",;\t|" if one.encode() in content.splitlines()[0])
    for stop in [*sorted(random.sample(range(len(content)), 12)), len(content)]:
        log.write_bytes(content[:stop])
        assert read(keeping, log, delimiter) == read(fresh, log, delimiter)
    log.write_bytes(content[len(content) // 2 :])  # another file under the same name
    assert read(keeping, log, delimiter) == read(fresh, log, delimiter)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    parts: list[bytes] = []

    def watched(path: Path, how: Reading, problems: Problems, place: object) -> Iterator[Row]:
        parts.append(path.read_bytes())
        return json_rows(path, how, problems, place)  # type: ignore[arg-type]

    keeping, log = kept.KeptRows(watched), tmp_path / "log"
    lines = [b'{"a": %d}\n' % number for number in range(100)]
    for count in (90, 91, 100):
        log.write_bytes(b"".join(lines[:count]))
        assert len(list(keeping(log, OPEN, Problems(), str))) == count
    assert parts == [b"".join(lines[:90]), lines[90], b"".join(lines[91:])]
