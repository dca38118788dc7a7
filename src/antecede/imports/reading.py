"""Opening the logs of others: packed or not, from a file or a pipe, a line at a time."""

import gzip
import io
import json
import re
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TextIO

import pyarrow as pa

from antecede.errors import BadFile, Misuse
from antecede.files import path_of
from antecede.imports.problems import Problems

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

STANDARD_INPUT: Final = "-"
LONGEST: Final = 1 << 26
"""Characters of a line; a longer one is no line of a log."""
LARGEST_TEXT: Final = 1 << 28
"""Characters of a text that is wanted all at once."""
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")
SUFFIXES: Final = frozenset(
    {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".log", ".txt", ".out", ".parquet", ".trace"}
    | {".gz", ".zst"}
)
"""How logs are called; a number or a date may follow."""
_PIPED: Final = "antecede-stdin-"
UNREADABLE: Final = (OSError, EOFError, UnicodeError, zlib.error, pa.ArrowException)


def name_of(path: Path) -> str:
    """A file as errors name it."""
    return path.name if path.parent.name.startswith(_PIPED) else str(path)


class _Unpacked(io.RawIOBase):
    """What is packed in a file. One that is cut off ends with its last whole line."""

    def __init__(self, stream: BinaryIO, cut: Callable[[Exception], None]) -> None:
        self._stream = stream
        self._cut = cut
        self._ready = io.BytesIO()
        self._line: list[bytes] = []
        """What has come of a line that is not whole, and how much that is."""
        self._held = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int:
        while not (count := self._ready.readinto(buffer)) and (some := self._next()) is not None:
            # A line without end is not waited for.
            is_over = not some or self._held > LONGEST
            stop = len(some) if is_over else some.rfind(b"\n") + 1
            if stop or is_over:
                self._ready = io.BytesIO(b"".join([*self._line, some[:stop]]))
                self._line, self._held = [], 0
            self._line.append(some[stop:])
            self._held += len(some) - stop
            if not some:
                return self._ready.readinto(buffer)
        return count

    def _next(self) -> bytes | None:
        """Some more; nothing at the end, None at a cut."""
        try:
            return self._stream.read1(1 << 16)  # type: ignore[attr-defined, no-any-return]
        except (EOFError, OSError) as error:
            if not isinstance(error, EOFError) and "Truncated" not in str(error):
                raise
            self._cut(error)
            return None


@contextmanager
def open_bytes(path: Path, problems: Problems | None = None) -> Iterator[BinaryIO]:
    """The content of a file, unpacked if it is packed with gzip or zstd. One that is cut off is a
    problem, or an error."""

    cut: list[Exception] = []

    def note(error: Exception) -> None:
        if problems is None:
            raise error
        cut.append(error)

    try:
        with path.open("rb") as raw:
            magic = raw.read(4)
            raw.seek(0)
            if magic.startswith(_GZIP):
                with gzip.open(raw) as unpacked:
                    yield io.BufferedReader(_Unpacked(unpacked, note))  # type: ignore[arg-type]
            elif magic == _ZSTD:
                with pa.CompressedInputStream(pa.PythonFile(raw), "zstd") as unpacked:
                    yield io.BufferedReader(_Unpacked(unpacked, note))
            else:
                yield raw
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    if problems is not None and cut:
        where, what = f"the end of {path.name}", "the compressed file is cut off"
        problems.add("truncated", where, what, "packed")


def unreadable(path: Path, error: Exception) -> BadFile:
    """Why a file cannot be read, and what helps."""
    told = str(error)
    if isinstance(error, UnicodeDecodeError):  # which counts from where the last read began
        byte = error.object[error.start]
        advice = "iconv -f latin1 -t utf-8 FILE makes UTF-8 of it, if it is Latin 1"
        told = f"this is not {error.encoding} (byte 0x{byte:02x}: {error.reason}); {advice}"
    return BadFile(name_of(path), [f"cannot be read: {told}"])


def is_plain_text(path: Path) -> bool:
    """Whether a file is neither packed nor in UTF-16."""
    with path.open("rb") as raw:
        start = raw.read(4)
    return not (start.startswith((_GZIP, *_UTF16)) or start == _ZSTD)


@contextmanager
def open_text(path: Path, problems: Problems | None = None) -> Iterator[TextIO]:
    """The text in a file: UTF-8, or UTF-16 where its first bytes say so."""
    with open_bytes(path, problems) as buffered:
        start = buffered.peek(2)[:2]  # type: ignore[attr-defined]
        yield io.TextIOWrapper(
            buffered, encoding="utf-16" if start in _UTF16 else "utf-8-sig", newline=""
        )


def read_lines(text: TextIO, name: str, number: int = 0) -> Iterator[str]:
    """The lines after so many, each with its end; none is longer than memory bears."""
    while line := text.readline(LONGEST):
        number += 1
        if len(line) == LONGEST and not line.endswith("\n"):
            raise BadFile(name, [f"line {number} is longer than {LONGEST:,} characters"])
        yield line


def read_whole(text: TextIO, name: str, start: str = "") -> str:
    """All that is left of a text after its start, which is no longer than memory bears."""
    parts, length = [start], len(start)
    while some := text.read(LONGEST):
        parts.append(some)
        length += len(some)
        if length > LARGEST_TEXT:
            detail = f"has more than {LARGEST_TEXT:,} characters; cut it into several"
            raise BadFile(name, [detail])
    return "".join(parts)


def parse_json(text: str | bytes) -> Any:
    """A value. An object that has a name twice is none: nothing says which of them counts."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has {twice!r} twice")
    return found


def whole_of(value: Any) -> int:
    """A count: a whole number, or the digits of one."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(f"{value} is no whole number")
    return int(value)


def find_logs(
    names: Sequence[str | Path], out: Path | None = None, passed: list[Path] | None = None
) -> list[Path]:
    """The files that are meant: folders stand for all files in them, by name, numbers as numbers;
    those that begin with a dot or an underscore, or are in `out`, are nobody's logs, and one that
    is empty beside others says nothing. A file that is not called as logs are is none beside those
    that are, and is added to `passed`."""
    written = out.resolve() if out is not None else None
    found: list[Path] = []
    for name in names:
        path = path_of(name)
        if not path.exists():
            raise BadFile(name_of(path), ["there is no such file or folder"])
        if not path.is_dir():
            found.append(path)
            continue
        inside = [
            file
            for file in path.rglob("*")
            if file.is_file() and not any(part[0] in "._" for part in file.relative_to(path).parts)
        ]
        if written is not None and path.resolve() in written.parents:
            inside = [file for file in inside if written not in file.resolve().parents]
        if not inside:
            raise BadFile(name_of(path), ["there is no file in this folder"])
        inside = [file for file in inside if not _is_empty(file)] or inside
        logs = [file for file in inside if not SUFFIXES.isdisjoint(file.suffixes)] or inside
        if passed is not None:
            passed += sorted(set(inside) - set(logs))
        inside = logs
        found += sorted(inside, key=lambda file: _natural(str(file)))
    return list(dict.fromkeys(found))


def _is_empty(file: Path) -> bool:
    try:
        return not file.stat().st_size
    except OSError:  # which is told where it is read
        return False


def _natural(text: str) -> list[tuple[int, str]]:
    """`app.log.10` comes after `app.log.9`."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", text)]


@contextmanager
def standard_input(ended: Event | None = None) -> Iterator[Path]:
    """What comes through the pipe, as a file, which readers may open several times. With `ended`
    the file grows as long as something comes, and that is set when nothing more will."""
    if sys.stdin.isatty():
        raise Misuse("nothing is piped into the command; name a file")
    with tempfile.TemporaryDirectory(prefix=_PIPED) as folder:
        path = Path(folder) / "standard input"
        path.touch()
        if ended is None:
            _copy_input(path)
        else:
            Thread(target=_copy_input, args=(path, ended), daemon=True).start()
        yield path


def _copy_input(path: Path, ended: Event | None = None) -> None:
    with path.open("wb", buffering=0) as copy:
        while some := sys.stdin.buffer.read1(1 << 20):  # type: ignore[union-attr]
            copy.write(some)
    if ended is not None:
        ended.set()
