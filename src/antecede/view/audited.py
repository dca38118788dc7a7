"""From logs to a verdict and a page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile

from antecede.errors import Misuse
from antecede.files import make_folder
from antecede.imports.detect import Format, only_format
from antecede.imports.imported import refuse_folder, remove_imported, write_imported
from antecede.imports.logs import Wishes, import_logs, refuse_unused
from antecede.imports.reading import name_of
from antecede.trace import read_trace
from antecede.verify import Verdict, verify_trace
from antecede.view.page import write_view


@dataclass(frozen=True)
class Audited:
    """What came out."""

    verdict: Verdict
    trace: Path
    page: Path | None
    lines: Sequence[str]
    """In which way the logs were understood."""


def audit_logs(files: Sequence[Path], out: Path, wishes: Wishes | None = None) -> Audited:
    """Import, judge and draw, into the folder `out`. A trace is judged as it is."""
    wishes = wishes or Wishes()
    make_folder(out)
    if (format_ := only_format(files, wishes.format)) is Format.TRACE:
        refuse_unused(format_, wishes)
        if len({file.parent for file in files}) > 1:
            raise Misuse("traces in several folders: audit one folder at a time")
        trace = files[0] if len(files) == 1 else files[0].parent
        lines: Sequence[str] = [f"{name_of(trace)}: a trace"]
        if name_of(trace) != str(trace):  # it was piped in, and ends with the command
            trace = Path(copyfile(trace, out / "trace.parquet"))
    else:
        understood = import_logs(files, wishes)
        several = len(understood.imported.tables) > 1
        trace, other = out / "trace.parquet", out / "trace"
        if several:
            trace, other = other, trace
        else:
            refuse_folder(other, force=True)
        write_imported(understood.imported, trace, force=True)
        remove_imported(other)
        lines = understood.lines
    verdict = verify_trace(trace)
    page = None
    if verdict.runs:
        first = verdict.witnesses[0].run if verdict.witnesses else _first_run(trace)
        page = write_view(trace, out / "page.html", run=first, force=True)
    return Audited(verdict, trace, page, lines)


def _first_run(trace: Path) -> str | None:
    return read_trace(trace, stamps=False).runs[0].name if trace.is_dir() else None
