"""Fuzzing can fail: every planted bug of every protocol is found, within the runs that the page
states, and what is left of it after shrinking fails in the same way when it is replayed."""

from pathlib import Path

import pytest

from antecede.fuzzing import draw, judge
from antecede.fuzzing.finding import Finding, find_smallest
from antecede.fuzzing.slices import Found
from antecede.order import Order
from antecede.protocols import names
from antecede.simulate import load_scenario
from bench.docs import markdown
from bench.fuzz import LIMIT, PAGE, hunt, introduction, row
from tests.fuzzing.planted import Planted, planted_bugs

PLANTED = planted_bugs()


@pytest.mark.parametrize("planted", PLANTED, ids=str)
def test_a_planted_bug_is_found(planted: Planted) -> None:
    assert hunt(planted.protocol, planted.order) is not None, f"not within {LIMIT} runs"


def test_no_protocol_is_left_out() -> None:
    assert {planted.protocol for planted in PLANTED} == set(names())


def test_the_page_says_so() -> None:
    """A row for every bug; two of them, made again: a change that moves them moves others, too."""
    page = PAGE.read_text("utf-8")
    assert page.startswith(introduction()), "run `python -m bench.fuzz`"
    rows = [line.split(" | ")[:2] for line in page.splitlines() if line.startswith("| ")]
    for planted in PLANTED:
        assert [f"| {planted.protocol}", planted.mutant.name] in rows, "run `python -m bench.fuzz`"
    for name in ("bounded-one-short", "none-delivered-twice"):
        (planted,) = [planted for planted in PLANTED if str(planted) == name]
        assert markdown((), [row(planted)]).splitlines()[-1] in page, "run `python -m bench.fuzz`"


ONE_A_KIND = {
    "early": "vector-foreign-groups-not-merged",
    "undelivered": "blocks-relative-nothing-owed",
    "BrokenInvariant": "none-delivered-twice",
}


@pytest.mark.parametrize(("kind", "name"), ONE_A_KIND.items())
def test_a_shrunk_scenario_fails_in_the_same_way(kind: str, name: str, tmp_path: Path) -> None:
    (planted,) = [planted for planted in PLANTED if str(planted) == name]
    found = hunt(planted.protocol, planted.order)
    assert found is not None
    assert found.kind == kind
    file, finding = _written(found, planted.order, tmp_path)
    drawn = draw(found.protocol, found.seed)
    assert finding.processes <= drawn.applications.size
    assert finding.messages < drawn.message_limit
    replayed = judge(load_scenario(file), planted.order).failure
    assert replayed is not None
    assert (replayed.kind, replayed.sentence) == (kind, finding.sentence)
    assert judge(load_scenario(file)).failure is None


def _written(found: Found, order: type[Order], folder: Path) -> tuple[Path, Finding]:
    finding = find_smallest(found, order, most_runs=600)
    file = folder / finding.file_name
    file.write_text(finding.scenario, encoding="utf-8")
    return file, finding
