"""One grammar for options: the same words on every command line, in scenarios and in campaigns."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from antecede.campaigns.file import Campaign
from antecede.campaigns.plan import make_plan
from antecede.cli._shared import parse_option_flags
from antecede.errors import Misuse
from antecede.explore.schedule import factory_of
from antecede.fuzzing.drawing import draw
from antecede.message import Membership
from antecede.orders.bounded import Bounded
from antecede.simulate import make_scenario
from tests.cli.conftest import Antecede

SIZE = 4


def _in_a_scenario(text: str) -> Any:
    fields = {"protocol": "bounded", "processes": SIZE, "messages": 9}
    return make_scenario({**fields, "options": parse_option_flags([f"k={text}"])}).order_options


def _explored(text: str) -> Any:
    factory = factory_of("bounded", parse_option_flags([f"k={text}"]))
    return factory(0, Membership(SIZE)).options


def _fuzzed(text: str) -> Any:
    seed = next(seed for seed in range(1, 200) if draw("bounded", seed).applications.size == SIZE)
    return draw("bounded", seed, json.dumps(parse_option_flags([f"k={text}"]))).order_options


def _in_a_campaign(text: str) -> Any:
    value = parse_option_flags([f"k={text}"])["k"]
    fields = {"name": "c", "seeds": 1, "processes": [SIZE]}
    fields["protocols"] = [{"name": "bounded", "options": {"k": [value]}}]
    campaign = Campaign.model_validate({**fields, "workloads": [{"kind": "unicast"}]})
    (run,) = make_plan(campaign).runs
    return make_scenario(json.loads(run.scenario)).order_options


@pytest.mark.parametrize("where", [_in_a_scenario, _explored, _fuzzed, _in_a_campaign])
@pytest.mark.parametrize(
    ("text", "k"),
    [("7", 7), ("n", 4), ("2n", 8), ("1.5n", 6), ("n^2", 16), ("[4,5,6,7]", [4, 5, 6, 7])],
)
def test_the_same_text_says_the_same_everywhere(
    where: Callable[[str], Any], text: str, k: int | list[int]
) -> None:
    assert where(text).k == k


@pytest.mark.parametrize("where", [_in_a_scenario, _explored, _fuzzed, _in_a_campaign])
def test_what_is_no_number_is_refused_everywhere(where: Callable[[str], Any]) -> None:
    with pytest.raises((Misuse, ValueError), match="expected int"):
        where("2m")


def test_lists_may_grow_too() -> None:
    scenario = {"protocol": "bounded", "processes": 3, "messages": 9}
    options: Any = make_scenario({**scenario, "options": {"k": ["n", "2n", 9]}}).order_options
    assert options.k == [3, 6, 9]
    assert Bounded(1, Membership(3), options).k == 6


def test_an_option_is_given_once() -> None:
    with pytest.raises(Misuse, match="--k 5 and --option k=6: give k once"):
        parse_option_flags(["k=6"], k="5")
    with pytest.raises(Misuse, match="--option k=5 and --option k=5: give k once"):
        parse_option_flags(["k=5", "k=5"])
    with pytest.raises(Misuse, match="give silence_s once"):
        parse_option_flags(["silence-s=1", "silence_s=2"])
    assert parse_option_flags(["a=x", "b=[1]"], k="2n") == {"k": "2n", "a": "x", "b": [1]}
    assert parse_option_flags(None, k=None) == {}


COMMON = ("--protocol", "bounded", "--processes", 4, "--messages", 2)


def test_commands_take_numbers_that_grow(antecede: Antecede) -> None:
    found = antecede("simulate", *COMMON, "--workload", "unicast", "--k", "2n")
    assert found.status == 0, found.err
    found = antecede("explore", *COMMON, "--addressing", "unicast", "--option", "k=2n")
    assert found.status == 0, found.err


def test_commands_refuse_two_values(antecede: Antecede) -> None:
    found = antecede("simulate", *COMMON, "--k", 5, "--option", "k=6")
    assert found.status == 2
    assert "--k 5 and --option k=6: give k once" in found.err


def test_fuzzing_with_given_options(tmp_path: Path, antecede: Antecede) -> None:
    common = ("fuzz", "--runs", 8, "--master", "here", "--out", tmp_path)
    bounded = (*common, "--protocol", "bounded", "--option")
    assert antecede(*bounded, "k=n").status == 0
    (line,) = (tmp_path / "slices.jsonl").read_text().splitlines()
    assert json.loads(line)["slice"]["options"] == '{"k": "n"}'
    assert antecede(*bounded, "k=2n").status == 0  # not the same runs
    assert len((tmp_path / "slices.jsonl").read_text().splitlines()) == 2
    found = antecede(*common, "--option", "k=n")
    assert (found.status, "options belong to one protocol" in found.err) == (2, True)
    found = antecede(*bounded, "k=1000")
    assert (found.status, "k is 1000; with" in found.err) == (2, True)
