"""Paths in object stores and Hadoop's file system: `s3://bucket/key` and the like.

A `StoredPath` is a `pathlib.Path` whose methods ask the store, through `pyarrow.fs`, so whatever
works on paths works on both kinds. Where a store differs, it differs here: a file appears whole
when all of it has come and never grows; folders are what the names of files begin with; there is no
renaming and no lock (`antecede.lease`). Who may read and write, and where the store is, says the
environment, as for other programs (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL,
GOOGLE_APPLICATION_CREDENTIALS, ...).

`os.fspath` gives the address with its odd characters escaped, as pyarrow's own functions want it;
`str` gives it as people write it.
"""

import errno
import fnmatch
import io
import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path, PosixPath
from typing import IO, Any, Final
from urllib.parse import quote

from antecede.errors import Misuse

SCHEMES: Final = ("s3", "gs", "abfs", "abfss", "hdfs")
_ALIASES: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
# Two letters at least, for `C:/` is a path; one slash, for that is what `Path` makes of several.
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)", re.DOTALL)
_SAFE: Final = "/=@:+,~"
_BUFFER: Final = 1 << 20


def path_of(path: str | os.PathLike[str]) -> Path:
    """The path that is meant, on this machine or in a store."""
    if isinstance(path, StoredPath):
        return path
    text = str(path)
    if not (found := _ADDRESS.fullmatch(text)):
        return Path(path)
    scheme, rest = found.groups()
    scheme = _ALIASES.get(scheme.lower(), scheme.lower())
    if scheme == "file":
        return Path(f"/{rest}")
    if scheme not in SCHEMES:
        raise Misuse(
            f"'{scheme}://{rest}': there is no kind of store '{scheme}'; write a path, or an "
            f"address that begins with {', '.join(f'{name}://' for name in SCHEMES)} or file://"
        )
    if not rest.strip("/"):
        raise Misuse(f"'{scheme}://' names no bucket; write {scheme}://BUCKET/NAME")
    return StoredPath(f"{scheme}:/{rest}")


def is_stored(path: Path) -> bool:
    """Whether this is in a store, where files have no locks, no renaming and no appending."""
    return isinstance(path, StoredPath)


def refuse_stored(path: str | os.PathLike[str] | None, why: str) -> None:
    """Raise an error if this is in a store, or is the address of nothing known; `why` says what
    needs a file system."""
    if path is not None and is_stored(found := path_of(path)):
        raise Misuse(f"{found} is in a store, but {why}; name a path of this machine")


class StoredPath(PosixPath):
    """A path in a store."""

    def __str__(self) -> str:
        first, *rest = self.parts or ("",)
        return f"{first}//{'/'.join(rest)}" if first.endswith(":") else "/".join(self.parts)

    def __fspath__(self) -> str:
        scheme, _, rest = str(self).partition("://")
        return f"{scheme}://{quote(rest, safe=_SAFE)}"

    def __repr__(self) -> str:
        return f"StoredPath({str(self)!r})"

    @property
    def _store(self) -> tuple[Any, str]:
        """The file system, and the path as that wants it."""
        scheme, authority, *names = self.parts
        store, root = _connect(f"{scheme}//{authority}")
        return store, "/".join([root.rstrip("/"), *names])

    def as_uri(self) -> str:
        return os.fspath(self)

    def absolute(self) -> "StoredPath":
        return self

    def resolve(self, strict: bool = False) -> "StoredPath":
        return self

    def samefile(self, other_path: Any) -> bool:
        return bool(self == other_path)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        from pyarrow.fs import FileType  # noqa: PLC0415 - only where there is a store

        store, path = self._store
        info = store.get_file_info(path)
        if info.type == FileType.NotFound:
            raise self._missing()
        mode = stat.S_IFDIR if info.type == FileType.Directory else stat.S_IFREG
        nanoseconds = info.mtime_ns or 0
        seconds = nanoseconds / 1e9
        return os.stat_result(
            (mode, 0, 0, 1, 0, 0, info.size or 0, seconds, seconds, seconds),
            {"st_mtime": seconds, "st_mtime_ns": nanoseconds},
        )

    def exists(self, **_: Any) -> bool:
        return self._mode() != 0

    def is_file(self, **_: Any) -> bool:
        return stat.S_ISREG(self._mode())

    def is_dir(self, **_: Any) -> bool:
        return stat.S_ISDIR(self._mode())

    def _mode(self) -> int:
        try:
            return self.stat().st_mode
        except FileNotFoundError:
            return 0

    def _missing(self) -> FileNotFoundError:
        return FileNotFoundError(errno.ENOENT, "there is no such file or folder", str(self))

    def open(  # type: ignore[override]
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        if set(mode) - set("rbt"):
            raise Misuse(
                f"{self} is in a store, where a file cannot grow; name a path of this machine"
            )
        store, path = self._store
        try:
            content = io.BufferedReader(store.open_input_file(path), _BUFFER)
        except FileNotFoundError:
            raise self._missing() from None
        return content if "b" in mode else io.TextIOWrapper(content, encoding, errors, newline)

    def read_bytes(self) -> bytes:
        with self.open("rb") as file:
            content: bytes = file.read()
        return content

    def read_text(
        self, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> str:
        with self.open("r", -1, encoding, errors, newline) as file:
            text: str = file.read()
        return text

    def write_bytes(self, data: Any) -> int:
        """Put a whole file; it is there when this returns."""
        store, path = self._store
        self._make_parent(store, path)
        with store.open_output_stream(path) as stream:
            stream.write(data)
        return len(data)

    def upload(self, source: Path) -> None:
        """Put a file, or all that is in a folder, of this machine here."""
        from pyarrow.fs import LocalFileSystem, copy_files  # noqa: PLC0415 - see above

        store, path = self._store
        self._make_parent(store, path)
        copy_files(
            str(source.absolute()),
            path,
            source_filesystem=LocalFileSystem(),
            destination_filesystem=store,
            use_threads=False,
        )

    def _make_parent(self, store: Any, path: str) -> None:
        if self.parts[0] == "hdfs:":  # the only one with folders of their own
            store.create_dir(path.rpartition("/")[0], recursive=True)

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:
        self.write_bytes(b"")

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Nothing: folders are there when something is in them."""

    def unlink(self, missing_ok: bool = False) -> None:
        store, path = self._store
        try:
            store.delete_file(path)
        except FileNotFoundError:
            if not missing_ok:
                raise self._missing() from None

    def remove_tree(self) -> None:
        """Delete all that is under this name."""
        store, path = self._store
        if self.is_dir():
            store.delete_dir(path)

    def replace(self, target: Any) -> Any:
        """Copy it to another name in the same store, and delete it here."""
        store, path = self._store
        store.move(path, target._store[1])
        return target

    rename = replace

    def iterdir(self) -> Iterator["StoredPath"]:  # type: ignore[override]
        yield from self.listed()

    def listed(self, *, recursive: bool = False) -> dict["StoredPath", int]:
        """What is in this folder, and how large files are; a folder has no size, -1."""
        from pyarrow.fs import FileSelector, FileType  # noqa: PLC0415 - see above

        store, path = self._store
        found = store.get_file_info(FileSelector(path, allow_not_found=True, recursive=recursive))
        return {
            self.joinpath(*info.path[len(path) :].strip("/").split("/")): (
                info.size if info.type == FileType.File else -1
            )
            for info in found
        }

    def glob(self, pattern: str, **_: Any) -> Iterator["StoredPath"]:  # type: ignore[override]
        """By the pattern of a name; nothing here has patterns of several."""
        return (each for each in self.listed() if fnmatch.fnmatchcase(each.name, pattern))

    def rglob(self, pattern: str, **_: Any) -> Iterator["StoredPath"]:  # type: ignore[override]
        found = self.listed(recursive=True)
        return (each for each in found if fnmatch.fnmatchcase(each.name, pattern))


@lru_cache
def _connect(root: str) -> tuple[Any, str]:
    """The file system of a store, and the path of its root there."""
    import pyarrow as pa  # noqa: PLC0415 - commands without a store should start without it
    from pyarrow.fs import FileSystem  # noqa: PLC0415

    try:
        found: tuple[Any, str] = FileSystem.from_uri(root)
    except (pa.ArrowException, OSError) as error:
        raise Misuse(f"{root} cannot be used: {str(error).partition(chr(10))[0]}") from error
    return found
