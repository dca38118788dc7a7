"""The modules of the page, each tested by JavaScript in the browser that runs it (`modules/`)."""

import json
import re
from importlib.resources import files
from pathlib import Path

import pytest

from antecede.view import dataset
from antecede.view.page import MAIN, MODULES, joined_modules
from tests.browser import Visitor
from tests.view.runs import HELD, only_run, page_of, simulated, write_rows

HERE = Path(__file__).parent / "modules"
SCRIPTS = sorted(path.stem for path in HERE.glob("*.js") if path.stem != "harness")
SHELL = """<!doctype html><meta charset="utf-8"><style>{style}</style>
<script type="module">{script}</script>"""


EVENTS = """() => { const t = antecede.traces[0]; return JSON.stringify(
  Array.from({length: t.size}, (_, i) => [t.processes[t.process[i]], t.step[i], t.kind[i],
    t.layer[i], t.message[i] < 0 ? null : t.messageName(t.message[i]), t.time[i]])); }"""


def shell(path: Path, script: str) -> Path:
    """A page with all modules but the one that starts the viewer, and this script."""
    style = (files("antecede.view") / "page" / "style.css").read_text(encoding="utf-8")
    harness = (HERE / "harness.js").read_text(encoding="utf-8")
    whole = "\n".join([joined_modules(MODULES), harness, script])
    path.write_text(SHELL.replace("{style}", style).replace("{script}", whole), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", SCRIPTS)
def test_module(visit: Visitor, tmp_path: Path, name: str) -> None:
    script = (HERE / f"{name}.js").read_text(encoding="utf-8")
    visited = visit(shell(tmp_path / "t.html", script + "\nwindow.results = await runChecks();"))
    visited.page.wait_for_function("window.results")
    results = visited.page.evaluate("window.results")
    assert "\n".join(results["failures"]) == ""
    assert results["count"] == script.count('\ncheck("') + script.startswith('check("')
    assert visited.complaints == []


def test_the_harness_can_fail(visit: Visitor, tmp_path: Path) -> None:
    script = 'check("one", () => equal(1, 2)); window.results = await runChecks();'
    visited = visit(shell(tmp_path / "t.html", script))
    visited.page.wait_for_function("window.results")
    assert visited.page.evaluate("window.results.failures") == ["one: value: found 1, expected 2"]


def test_every_module_is_joined_after_what_it_imports() -> None:
    folder = Path(str(files("antecede.view") / "page"))
    order = [*MODULES, MAIN]
    assert sorted(order) == sorted(path.stem for path in folder.glob("*.js"))
    for at, name in enumerate(order):
        source = (folder / f"{name}.js").read_text(encoding="utf-8")
        imported = re.findall(r'^import \{[^}]*\} from "\./(\w+)\.js";$', source, re.MULTILINE)
        assert len(imported) == len(re.findall(r"^import ", source, re.MULTILINE))
        assert set(imported) <= set(order[:at]), name
    joined = joined_modules()
    assert not re.search(r"^(import|export) ", joined, re.MULTILINE)
    assert "</script" not in joined


def test_every_import_names_an_export() -> None:
    folder = Path(str(files("antecede.view") / "page"))
    for path in folder.glob("*.js"):
        source = path.read_text(encoding="utf-8")
        for names, module in re.findall(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', source, re.M):
            exported = (folder / f"{module}.js").read_text(encoding="utf-8")
            for name in filter(None, map(str.strip, names.split(","))):
                word = re.escape(name)
                declared = rf"^export (async )?(function|class|const) [^\n=(]*\b{word}\b"
                listed = rf"^export const [^;]*\b{word} = "
                assert re.search(f"{declared}|{listed}", exported, re.M), (path.name, name)
                body = re.sub(r"^import \{[^}]*\} from .*$", "", source, flags=re.M)
                assert re.search(rf"\b{word}\b", body), (path.name, name, "is not used")


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("protocol", ["fifo", "separators"])
def test_unpacking_gives_the_columns_back(
    visit: Visitor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    exact: bool,
) -> None:
    """Python packs a run, and the browser names each of its events."""
    monkeypatch.setattr(dataset, "EXACT", 10**6 if exact else 0)
    fields = {"topology": "tree:2,2,2", "processes": None} if protocol == "separators" else {}
    trace = simulated(tmp_path / "t.parquet", protocol, messages=20, **fields)
    visited = visit(page_of(trace))
    visited.page.wait_for_selector("body[data-ready]")
    found = json.loads(visited.page.evaluate(EVENTS))
    run = only_run(trace)
    events = run.events
    expected = [
        [
            run.name_of(int(events.process[i])),
            int(events.seq[i]),
            int(events.kind[i]),
            int(events.layer[i]),
            run.message_of(i) if events.message[i] >= 0 else None,
        ]
        for i in range(len(events))
    ]
    assert [row[:-1] for row in found] == expected
    times = [row[-1] for row in found]
    assert times == (events.time.tolist() if exact else pytest.approx(events.time, abs=1e-8))


def test_rounded_times_may_be_unknown(
    visit: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "EXACT", 0)
    rows = [{**row, "time": None if at in (0, 4) else row["time"]} for at, row in enumerate(HELD)]
    visited = visit(page_of(write_rows(tmp_path / "t.parquet", *rows)))
    visited.page.wait_for_selector("body[data-ready]")
    found = json.loads(visited.page.evaluate(EVENTS))
    assert [row[-1] for row in found] == [row["time"] for row in rows]
