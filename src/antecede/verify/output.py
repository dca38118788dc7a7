"""What a verification leaves behind: a folder that appears whole or not at all."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Final
from uuid import uuid4

from antecede.errors import Misuse
from antecede.files import (
    PARTIAL,
    complaining,
    is_stored,
    name_aside,
    path_of,
    remove_tree,
    sizes_in,
    write_whole,
)
from antecede.verify.verdict import Verdict

VERDICT: Final = "verdict.json"
FINDINGS: Final = "findings"
_WORK: Final = "work"


class Output:
    """A folder under construction, or only a place to work in."""

    def __init__(self, folder: Path, *, kept: bool, work: Path | None = None) -> None:
        self._folder = folder
        self.work = (folder if work is None else work) / _WORK
        self.work.mkdir()
        self.findings = folder / FINDINGS if kept else None
        if self.findings:
            self.findings.mkdir()

    def write(self, verdict: Verdict) -> None:
        text = json.dumps(verdict.to_json(), indent=2, ensure_ascii=False)
        write_whole(self._folder / VERDICT, text + "\n", durable=True)


@contextmanager
def output_folder(
    out: str | os.PathLike[str] | None, *, force: bool = False, shared: bool = False
) -> Iterator[Output]:
    """Where a verification may write. It takes the name `out` when all went well; whatever happens,
    nothing else is left. `shared`: processes of other machines work there, too."""
    if out is None:
        folder = Path(mkdtemp(prefix="antecede-verify-"))
        try:
            yield Output(folder, kept=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    target = path_of(out)
    refuse_existing(target, force)
    if is_stored(target):
        with complaining(target), TemporaryDirectory(prefix="antecede-verify-") as work:
            yield from _stored(target, force, None if shared else Path(work))
        return
    folder = name_aside(target)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        with complaining(target):
            folder.mkdir(parents=True)
            output = Output(folder, kept=True)
            yield output
            shutil.rmtree(output.work)
            refuse_existing(target, force)
            _swap(folder, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _stored(target: Path, force: bool, work: Path | None) -> Iterator[Output]:
    """The same in a store: the verdict goes first and comes last, so a folder that has one is
    whole."""
    folder = target / f"{PARTIAL}-{uuid4().hex}"
    try:
        output = Output(folder, kept=True, work=work)
        yield output
        refuse_existing(target, force)
        (target / VERDICT).unlink(missing_ok=True)
        remove_tree(target / FINDINGS)
        for file in sorted((folder / FINDINGS).iterdir()):
            file.rename(target / FINDINGS / file.name)
        (folder / VERDICT).rename(target / VERDICT)
    finally:
        remove_tree(folder)


def refuse_existing(target: Path, force: bool) -> None:
    """Raise an error if this folder may not be written."""
    there = target.exists()
    if is_stored(target):  # where a folder that was emptied can still be there
        there = any(not name.startswith(PARTIAL) for name in sizes_in(target))
    if there and not force:
        raise Misuse(f"{target} exists already; use --force to replace it")
    if there and not (target / VERDICT).is_file():
        raise Misuse(f"{target} is no verdict of ours; --force replaces nothing else")


def _swap(folder: Path, target: Path) -> None:
    """Give the folder its name. One that had it before goes away after that, not earlier."""
    if not target.exists():
        folder.rename(target)
        return
    old = target.with_name(f".{target.name}.old-{os.getpid()}")
    target.rename(old)
    folder.rename(target)
    shutil.rmtree(old, ignore_errors=True)
