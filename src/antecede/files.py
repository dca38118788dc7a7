"""Files: where they may be, and writing them whole or not at all.

They are on file systems of this machine, mounted ones included, or in stores (`antecede.stores`).
A file is written under another name beside its target and renamed when it is complete; what goes to
a store is written to a temporary folder of this machine and put there when it is complete."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Final
from uuid import uuid4

from antecede.errors import CannotWrite, Misuse
from antecede.lease import leased
from antecede.stores import StoredPath, is_stored, path_of, refuse_stored

__all__ = ["is_stored", "path_of", "refuse_stored"]

PARTIAL: Final = ".partial"
LOCK: Final = ".lock"


@contextmanager
def complaining(target: Path) -> Iterator[None]:
    """What the file system refuses is an error that names the file and the reason."""
    try:
        yield
    except OSError as error:
        raise CannotWrite(str(target), error.strerror or str(error)) from error


def name_aside(target: Path) -> Path:
    """On this machine, hidden, nobody else's: where something is written until it is whole. Beside
    the target, if that is here, too."""
    if is_stored(target):
        return Path(gettempdir()) / f".antecede-{uuid4().hex}-{target.name}"
    return target.with_name(f".{target.name}{PARTIAL}-{os.getpid()}")


def give_name(partial: Path, target: Path, *, durable: bool = False) -> None:
    """Give what was written aside its name; with `durable` a power failure does not undo that."""
    if isinstance(target, StoredPath):
        target.upload(partial)
        remove_tree(partial) if partial.is_dir() else partial.unlink()
        return
    partial.replace(target)
    if durable:
        sync_folder(target.parent)


@contextmanager
def aside(target: Path) -> Iterator[Path]:
    """Where to write what shall have this name. It gets the name when all of it is there; after an
    error nothing stays, and a target that existed is as it was. Nothing written, nothing named."""
    partial = name_aside(target)
    with complaining(target):
        try:
            yield partial
            if partial.exists():
                give_name(partial, target)
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


@contextmanager
def folder_aside(target: Path) -> Iterator[Path]:
    """The same for a folder, which replaces the one of that name, whatever is in it."""
    partial, old = name_aside(target), target.with_name(f".{target.name}.old-{os.getpid()}")
    with complaining(target):
        try:
            partial.mkdir(parents=True)
            yield partial
            if is_stored(target):  # where there is no renaming
                remove_tree(target)
            elif target.exists():
                target.rename(old)
            give_name(partial, target)
        finally:
            remove_tree(partial)
            remove_tree(old)


def write_whole(target: Path, content: str | bytes, *, durable: bool = False) -> None:
    """Write a file, all or nothing; a durable one is on the disk when this returns."""
    data = content.encode() if isinstance(content, str) else content
    if is_stored(target):
        with complaining(target):
            target.write_bytes(data)
        return
    with aside(target) as partial, partial.open("wb") as file:
        file.write(data)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    if durable:
        with complaining(target):
            sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in this folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sizes_in(folder: Path) -> dict[str, int]:
    """The names in this folder, with the sizes of files."""
    if isinstance(folder, StoredPath):
        return {file.name: size for file, size in folder.listed().items()}
    with os.scandir(folder) as entries:
        return {entry.name: entry.stat().st_size for entry in entries}


def remove_tree(folder: Path) -> None:
    """Delete a folder with all that is in it, as far as that can be."""
    if isinstance(folder, StoredPath):
        with suppress(OSError):
            folder.remove_tree()
    else:
        shutil.rmtree(folder, ignore_errors=True)


def within(file: str | os.PathLike[str], name: str) -> Path:
    """What a file means by a name: something beside it, unless that is a whole path."""
    found = path_of(name)
    return found if is_stored(found) else path_of(file).parent / found


def make_folder(folder: Path) -> None:
    """Make it, and those that it is in."""
    with complaining(folder):
        folder.mkdir(parents=True, exist_ok=True)


def refuse_existing(target: Path, force: bool, *sources: Path) -> None:
    """Raise an error if this may not be written: it exists, is a folder, or is what is read."""
    if any(target.exists() and source.exists() and target.samefile(source) for source in sources):
        raise Misuse(f"{target} is the trace itself; name another file to write to")
    if target.is_dir():
        raise Misuse(f"{target} is a folder; name a file to write to")
    if target.exists() and not force:
        raise Misuse(f"{target} exists already; use --force to replace it")


@contextmanager
def locked(folder: Path) -> Iterator[Callable[[], None]]:
    """Refuse if another process is at this folder. The lock goes with the process, however that
    ends; in a store it is a lease, and the function that is given raises an error if that was
    lost."""
    if isinstance(folder, StoredPath):
        with leased(folder / LOCK, folder) as check:
            yield check
        return
    with complaining(folder):
        lock = (folder / LOCK).open("w", encoding="utf-8")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Misuse(f"another process is working in {folder}") from None
        yield lambda: None
