"""`antecede fuzz`, from the seed to the file that replays the failure."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from antecede.drawn import Chance, Drawn, Fields
from antecede.files import locked
from antecede.fuzzing.slices import run_slice
from antecede.order import Options
from antecede.pipeline.campaigns import fuzz as running
from antecede.protocols import find
from tests.cli.conftest import Antecede, antecede

__all__ = ["antecede"]

HERE = ("--master", "here")


def draw_printed(monkeypatch: pytest.MonkeyPatch, protocol: str, **given: Any) -> None:
    """Draw the reading of a paper that its errata refute."""

    def drawn(cls: type[Options], fields: Fields, chance: Chance) -> Drawn:
        return given

    monkeypatch.setattr(find(protocol).options_type, "drawn", classmethod(drawn))


def shrink_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SHRUNK", 1)
    monkeypatch.setattr(running, "fuzz", partial(running.fuzz, shrink_runs=100))


def test_nothing_is_found(antecede: Antecede) -> None:
    outcome = antecede("fuzz", "--runs", 26, "--seed", 2, *HERE)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith("26 runs, ")
    assert outcome.out.endswith("failures: 0\n")


@pytest.mark.parametrize(
    ("protocol", "given", "kind"),
    [
        ("blocks-relative", {"gbn": "printed"}, "early"),
        ("blocks-fast", {"test": "printed"}, "undelivered"),
    ],
)
def test_a_failure_can_be_replayed(
    antecede: Antecede,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    protocol: str,
    given: dict[str, Any],
    kind: str,
) -> None:
    """Found, shrunk, written; then simulated and judged from the file, as anybody would."""
    draw_printed(monkeypatch, protocol, **given)
    shrink_little(monkeypatch)
    what = ("fuzz", "--protocol", protocol, "--runs", 20, "--out", tmp_path, *HERE)
    outcome = antecede(*what, "--json")
    assert outcome.status == 1
    plain = json.loads(outcome.out)
    assert plain["runs"] == plain["runs_now"] == 20
    assert plain["failures"] == len(plain["found"]) > 0
    assert all(Path(one["as_drawn"]).exists() for one in plain["found"])
    (file,) = [one["file"] for one in plain["found"] if one["kind"] == kind and one["file"]]
    simulated = antecede("simulate", "--scenario", file, "--json")
    assert simulated.status == 1
    summary = json.loads(simulated.out)
    assert summary["violations" if kind == "early" else "undelivered"] > 0
    judged = antecede("fuzz", "--replay", file)
    assert judged.status == 1
    assert judged.out.startswith(f"{kind}: ")
    assert f"# {judged.out}" in Path(file).read_text("utf-8")

    again = antecede(*what)
    assert again.status == 1, "what was found before still counts"
    assert "0 of these runs now, the others before" in again.out
    assert f"replay: antecede simulate --scenario {file}" in again.out


def test_without_a_folder_the_scenario_is_printed(
    antecede: Antecede, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw_printed(monkeypatch, "blocks-relative", gbn="printed")
    shrink_little(monkeypatch)
    outcome = antecede("fuzz", "--protocol", "blocks-relative", "--runs", 12, *HERE)
    assert outcome.status == 1
    assert 'protocol = "blocks-relative"' in outcome.out
    assert 'gbn = "printed"' in outcome.out


def test_a_good_scenario_replays_well(antecede: Antecede, tmp_path: Path) -> None:
    file = tmp_path / "good.toml"
    file.write_text('protocol = "vector"\nprocesses = 3\nmessages = 9\n', encoding="utf-8")
    outcome = antecede("fuzz", "--replay", file)
    assert (outcome.status, outcome.out) == (0, "vector: nothing went wrong\n")
    plain = json.loads(antecede("fuzz", "--replay", file, "--json").out)
    assert plain == {
        "protocol": "vector",
        "messages": 9,
        "deliveries": 27,
        "let_go": 0,
        "kind": None,
        "sentence": None,
    }


def test_what_was_done_before_an_interruption_is_kept(
    antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control-C after the first slice: the command says so, and goes on from there next time."""
    what = ("fuzz", "--protocol", "vector", "--runs", 130, "--out", tmp_path, *HERE)
    with monkeypatch.context() as patched:
        run = run_slice
        slices: list[Any] = []

        def interrupted(one: Any, **options: Any) -> Any:
            if slices:
                raise KeyboardInterrupt
            slices.append(one)
            return run(one, **options)

        patched.setattr(running, "run_slice", interrupted)
        outcome = antecede(*what)
    assert outcome.status == 130
    assert "interrupted after 100 runs; the same command resumes where it stopped" in outcome.err
    outcome = antecede(*what)
    assert outcome.status == 0
    assert "30 of these runs now, the others before" in outcome.out


def test_a_folder_has_room_for_one_process(antecede: Antecede, tmp_path: Path) -> None:
    with locked(tmp_path):
        outcome = antecede("fuzz", "--runs", 1, "--out", tmp_path, *HERE)
    assert (outcome.status, outcome.out) == (2, "")
    assert f"another process is working in {tmp_path}" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--protocol", "vectr"), "there is no protocol 'vectr'"),
        (("--runs", "0"), "greater than or equal to 1"),
        (("--replay", "nowhere.toml"), "nowhere.toml: 1 mistake\n  - there is no such file"),
        (("--out", "/dev/null/folder", *HERE), "cannot write /dev/null/folder"),
    ],
)
def test_misuse(antecede: Antecede, arguments: tuple[str, ...], words: str) -> None:
    outcome = antecede("fuzz", *arguments)
    assert outcome.status == 2
    assert words in outcome.err.replace("│", "")
    assert "Traceback" not in outcome.err
