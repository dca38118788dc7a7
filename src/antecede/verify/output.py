"""What a verification leaves behind: a folder that appears whole or not at all."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

from antecede.errors import CannotWrite, Misuse
from antecede.verify.verdict import Verdict

VERDICT: Final = "verdict.json"
FINDINGS: Final = "findings"
_WORK: Final = "work"


class Output:
    """A folder under construction, or only a place to work in."""

    def __init__(self, folder: Path, *, kept: bool) -> None:
        self._folder = folder
        self.work = folder / _WORK
        self.work.mkdir()
        self.findings = folder / FINDINGS if kept else None
        if self.findings:
            self.findings.mkdir()

    def write(self, verdict: Verdict) -> None:
        text = json.dumps(verdict.to_json(), indent=2, ensure_ascii=False)
        with (self._folder / VERDICT).open("w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())


@contextmanager
def output_folder(out: str | os.PathLike[str] | None, *, force: bool = False) -> Iterator[Output]:
    """Where a verification may write. It takes the name `out` when all went well; whatever happens,
    nothing else is left."""
    if out is None:
        folder = Path(mkdtemp(prefix="antecede-verify-"))
        try:
            yield Output(folder, kept=False)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return
    target = Path(out)
    refuse_existing(target, force)
    folder = target.with_name(f".{target.name}.partial-{os.getpid()}")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        folder.mkdir(parents=True)
        output = Output(folder, kept=True)
        yield output
        shutil.rmtree(output.work)
        refuse_existing(target, force)
        _swap(folder, target)
    except OSError as error:
        raise CannotWrite(str(target), error.strerror or str(error)) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def refuse_existing(target: Path, force: bool) -> None:
    """Raise an error if this folder may not be written."""
    if target.exists() and not force:
        raise Misuse(f"{target} exists already; use --force to replace it")
    if target.exists() and not (target / VERDICT).is_file():
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
