"""One page that holds everything: markup, style, script and data.

The script is written as small ES modules (`page/*.js`), which a browser refuses to load one by one
from `file://`. So they are joined here into one inline module: their `import` lines are dropped,
the word `export` is taken away, and what remains shares one scope, in which a name can be declared
only once. No build tool is needed, neither by users nor by us.

Nothing from a trace becomes markup: names travel inside the packed data, and the page shows them as
text.
"""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from antecede.errors import CannotWrite, Misuse
from antecede.trace import read_trace
from antecede.trace.around import read_around
from antecede.trace.reader import count_rows
from antecede.verify.check import layer_code
from antecede.view.dataset import pack_nothing, pack_run
from antecede.view.excerpt import LIMIT, choose_events, choose_run, only_layer
from antecede.view.groupings import find_groupings
from antecede.view.waits import find_waits

MODULES: Final = (
    *("data", "words", "lanes", "causality", "explain", "axis", "search", "scene", "marks"),
    *("density", "flights", "bars", "emphasis", "frame", "plot", "minimap", "svg", "shiviz"),
    *("table", "statistics", "elements", "story", "panel", "navigate", "input", "app", "surface"),
)
"""The modules of the page, each after those that it imports."""
MAIN: Final = "main"
"""The module that starts the page when it is loaded; tests leave it out."""

_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async )?(function|const|let|class) )", re.MULTILINE)


def write_view(
    trace: Path,
    out: Path,
    *,
    compare: Path | None = None,
    layer: str | None = None,
    run: str | None = None,
    compare_run: str | None = None,
    around: str | None = None,
    limit: int = LIMIT,
    force: bool = False,
) -> Path:
    """Write the page that shows a run, and beside it one of the trace `compare`, on the same
    traffic. Without `layer` it holds both layers. `around` is the message, as SENDER:NUMBER, that
    the page opens at; of a run with more than `limit` events it holds only what happened around
    it."""
    refuse_existing(out, force, compare or trace, trace)
    code = None if layer is None else layer_code(layer)
    packed = [_pack(trace, run, code, around, limit)]
    if compare is not None:
        packed.append(
            _pack(compare, compare_run or (run if compare == trace else None), code, None, limit)
        )
    return write_aside(out, [_page(packed)], force)


def _pack(trace: Path, name: str | None, layer: int | None, around: str | None, limit: int) -> str:
    found = None
    if around is not None and count_rows(trace) > limit:  # too many to read for the sake of some
        found = read_around(trace, name, around, limit // 2)
    run = found.run if found else choose_run(read_trace(trace).runs, name)
    if run is None:
        return pack_nothing(trace.name)
    if layer is not None:
        run = only_layer(run, layer)
    waits = find_waits(run)
    excerpt = choose_events(run, waits, limit, around)
    if found:
        excerpt = replace(excerpt, around=f"message {around}", events=found.rows)
    return pack_run(
        run, waits, excerpt, trace.name, find_groupings(trace, run.processes), around or ""
    )


def joined_modules(modules: Sequence[str] = (*MODULES, MAIN)) -> str:
    """The script of the page."""
    folder = files("antecede.view") / "page"
    parts = []
    for name in modules:
        source = (folder / f"{name}.js").read_text(encoding="utf-8")
        parts.append(f"// {name}.js\n" + _EXPORT.sub("", _IMPORT.sub("", source)).strip())
    return "\n\n".join(parts) + "\n"


def _page(packed: Sequence[str]) -> str:
    folder = files("antecede.view") / "page"
    blocks = "\n".join(
        f'<script type="text/plain" class="trace">{text}</script>' for text in packed
    )
    page = (folder / "page.html").read_text(encoding="utf-8")
    for place, text in (
        ("/*style*/", (folder / "style.css").read_text(encoding="utf-8")),
        ("/*script*/", joined_modules()),
        ("<!--traces-->", blocks),
    ):
        page = page.replace(place, text, 1)
    return page


def refuse_existing(out: Path, force: bool, *sources: Path) -> None:
    """Raise an error if this file may not be written: because it is there, or is what is read."""
    if any(out.exists() and source.exists() and out.samefile(source) for source in sources):
        raise Misuse(f"{out} is the trace itself; name another file to write to")
    if out.is_dir():
        raise Misuse(f"{out} is a folder; name a file to write to")
    if out.exists() and not force:
        raise Misuse(f"{out} exists already; use --force to replace it")


def write_aside(out: Path, parts: Iterable[str], force: bool) -> Path:
    """Write the text beside its target, then give it its name: nothing half-written stays."""
    partial = out.with_name(f".{out.name}.partial-{os.getpid()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        refuse_existing(out, force)
        partial.replace(out)
    except OSError as error:
        raise CannotWrite(str(out), error.strerror or str(error)) from error
    finally:
        with suppress(OSError):  # there is nothing to remove, or no such folder
            partial.unlink()
    return out
