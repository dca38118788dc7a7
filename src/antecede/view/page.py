"""One page that holds everything: markup, style, script and data.

The script is written as small ES modules (`page/*.js`), which a browser refuses to load one by one
from `file://`. So they are joined here into one inline module: their `import` lines are dropped,
the word `export` is taken away, and what remains shares one scope, in which a name can be declared
only once. No build tool is needed, neither by users nor by us.

Nothing from a trace becomes markup: names travel inside the packed data, and the page shows them as
text.
"""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Final

from antecede.errors import Misuse
from antecede.files import aside, refuse_existing
from antecede.trace import APP, DELIVER, LAYERS, read_trace
from antecede.trace.around import Around, find_first_send, read_around
from antecede.trace.assumed import read_assumed
from antecede.trace.called import find_called, is_absolute
from antecede.trace.events import Run
from antecede.trace.reader import count_rows
from antecede.verify.check import layer_code, verify_trace
from antecede.verify.verdict import doubts_of, unsure_at
from antecede.view.dataset import pack_nothing, pack_run
from antecede.view.excerpt import LIMIT, choose_events, choose_run, only_layer
from antecede.view.groupings import find_groupings
from antecede.view.traffic import other_traffic
from antecede.view.waits import find_waits
from antecede.view.words import Words, add_words

MODULES: Final = (
    *("data", "words", "lanes", "causality", "explain", "axis", "search", "scene", "marks"),
    *("density", "flights", "bars", "emphasis", "frame", "plot", "minimap", "svg", "shiviz"),
    *("table", "statistics", "elements", "story", "panel", "navigate", "input", "app", "surface"),
    "start",
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
    text, shown = _pack(trace, run, code, around, limit)
    packed = [text]
    if compare is not None:
        name = compare_run or (run if compare == trace else None)
        other, others = _pack(compare, name, code, None, limit)
        if shown and others:
            is_whole = max(count_rows(trace), count_rows(compare)) <= limit
            _refuse_other_traffic((trace, compare), (shown, others), is_whole)
        packed.append(other)
    return write_aside(out, [viewer_page(packed, joined_modules())], force)


def _refuse_other_traffic(files: tuple[Path, Path], runs: tuple[Run, Run], is_whole: bool) -> None:
    ours, theirs = (set(run.processes) for run in runs)
    own = zip(files, (ours - theirs, theirs - ours), strict=True)
    told = [f"only {file} has {_some(names)}" for file, names in own if names]
    what = f"are of other processes: {', '.join(told)}"
    if not told:
        difference = other_traffic(*runs, is_whole)
        if difference is None:
            return
        what = f"are not of the same traffic: {difference}"
    raise Misuse(f"{files[0]} and {files[1]} {what}; compare runs of the same traffic")


def _some(names: Set[str]) -> str:
    shown = sorted(names)[:3]
    return ", ".join(shown) + (" ..." if len(names) > len(shown) else "")


def _pack(
    trace: Path, name: str | None, layer: int | None, around: str | None, limit: int
) -> tuple[str, Run | None]:
    """A run as the page carries it, and the run, if there is one."""
    found, described = None, f"message {around}"
    if around is not None:
        name, around = find_called(trace, around, name, LAYERS[layer or APP])
    middle = around
    if count_rows(trace) > limit:  # too many to read for the sake of some
        if around is None:
            middle, described = _find_middle(trace, name, layer)
        found = _read_around(trace, name, middle, layer, limit // 2) if middle else None
    run = found.run if found else choose_run(read_trace(trace).runs, name)
    if run is None:
        return pack_nothing(trace.name), None
    if layer is not None:
        run = only_layer(run, layer)
    waits = find_waits(run)
    words = Words()
    if found is None:
        run, waits, words = add_words(trace, run, waits, limit)
    excerpt = choose_events(run, waits, limit, around or (middle if found else None))
    if found:
        unread = (not found.at_start, not found.at_end)
        excerpt = replace(excerpt, around=described, events=found.rows, unread=unread)
    is_delivery = run.events.kind == DELIVER
    deliveries = int(is_delivery.sum())
    is_own_only = (run.events.process == run.events.sender)[is_delivery].all()
    told = read_assumed(trace)
    doubts = doubts_of(deliveries, deliveries * is_own_only, told)
    packed = pack_run(
        run,
        waits,
        excerpt,
        trace.name,
        find_groupings(trace, run.processes),
        around or "",
        [*(one.sentence() for one in doubts), *_unjudged(found, described)],
        words,
        unsure=unsure_at(doubts),
        absolute=is_absolute(trace),
    )
    return packed, run


def _unjudged(found: Around | None, described: str) -> list[str]:
    """Why order cannot be said to have been kept where only some rows were read. What was sent in
    them was judged in them; what was sent before may have been overtaken there."""
    if found is None or found.at_start:
        return []
    some = f"{len(found.run.events):,} of {found.rows:,} rows, those around {described},"
    why = "a message from before them may have been overtaken; antecede verify judges all"
    return [f"only {some} were judged: {why}"]


def _find_middle(trace: Path, run: str | None, layer: int | None) -> tuple[str | None, str]:
    """Which message to show a long run around, in one pass over it, and why that one."""
    verdict = verify_trace(trace, LAYERS[APP if layer is None else layer])
    for witness in verdict.witnesses:
        if run in {None, witness.run}:
            return witness.second, "the first early delivery"
    return find_first_send(trace, run, layer), "the beginning"


def _read_around(
    trace: Path, run: str | None, message: str, layer: int | None, reach: int
) -> Around | None:
    """The rows around a message of this layer; or of the application's, else of the other."""
    for one in range(len(LAYERS)) if layer is None else [layer]:
        if found := read_around(trace, run, message, one, reach):
            return found
    return None


def joined_modules(modules: Sequence[str] = (*MODULES, MAIN), place: str = "page") -> str:
    """The script of the page, or of these modules in another folder."""
    folder = files("antecede.view") / place
    parts = []
    for name in modules:
        source = (folder / f"{name}.js").read_text(encoding="utf-8")
        parts.append(f"// {name}.js\n" + _EXPORT.sub("", _IMPORT.sub("", source)).strip())
    return "\n\n".join(parts) + "\n"


def viewer_page(packed: Sequence[str], script: str) -> str:
    """The markup of the page around its script and data."""
    folder = files("antecede.view") / "page"
    blocks = "\n".join(
        f'<script type="text/plain" class="trace">{text}</script>' for text in packed
    )
    page = (folder / "page.html").read_text(encoding="utf-8")
    for place, text in (
        ("/*style*/", (folder / "style.css").read_text(encoding="utf-8")),
        ("/*script*/", script),
        ("<!--traces-->", blocks),
    ):
        page = page.replace(place, text, 1)
    return page


def write_aside(out: Path, parts: Iterable[str], force: bool) -> Path:
    """Write the text, all or nothing."""
    with aside(out) as partial:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        refuse_existing(out, force)
    return out
