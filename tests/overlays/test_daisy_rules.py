"""The page of the daisy names every rule that a mutant takes away, and no other."""

import re
from pathlib import Path

from tests.mutants import daisy

PAGE = Path(__file__).parents[2] / "docs" / "daisy-rules.md"
RULES = [
    *daisy.RULES,
    *daisy.AHEAD,
    *daisy.STAR,
    *daisy.LEVELS,
    *daisy.DIRECT,
    *daisy.TOLD,
    *daisy.CLOCKS,
    *daisy.FOUND_BY_CHANCE,
    *daisy.STOPS,
    *daisy.FENCE,
    *daisy.LOAD,
    *daisy.RESHAPE,
    *daisy.BACK,
    *daisy.EVOLVING,
    *daisy.CONSENT,
    *daisy.ONE_BY_ONE,
    *daisy.GIVING_WAY,
    *daisy.STAYING,
    *daisy.HELD_UP,
    *daisy.LOCAL_GROUPS,
    *daisy.MOMENTS,
    *daisy.SELDOM,
]


def test_the_page_has_every_rule_once() -> None:
    rules = PAGE.read_text("utf-8")
    rows = [line.split("|") for line in rules.splitlines() if line.startswith("| ")]
    named = [name for row in rows for name in re.findall("`([a-z-]+)`", row[3])]
    assert sorted(named) == sorted(rule.name for rule in RULES)


def test_no_list_of_rules_is_left_out() -> None:
    lists = {name for name, value in vars(daisy).items() if isinstance(value, list)}
    known = {"RULES", "AHEAD", "STAR", "LEVELS", "DIRECT", "TOLD", "FOUND_BY_CHANCE", "STOPS"}
    known |= {"FENCE", "LOAD", "RESHAPE", "BACK", "EVOLVING", "CONSENT", "GIVING_WAY", "STAYING"}
    known |= {"HELD_UP", "LOCAL_GROUPS", "MOMENTS", "ONE_BY_ONE", "CLOCKS", "SELDOM"}
    assert lists == known | {"MUTANTS"}
