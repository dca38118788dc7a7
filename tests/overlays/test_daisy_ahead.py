"""Optimisation 1 (section 3.4): a message is sent on when it is received, not when it is delivered;
it saves delay, and keeps the order that naive forwarding breaks."""

from random import Random
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.message import Message, MessageId
from antecede.order import Event, Order
from antecede.protocols import find
from tests.mutants import Mutant, mutated
from tests.mutants.daisy import AHEAD
from tests.overlays.daisy_lab import Copy, Lab, carried
from tests.overlays.test_daisy_random import (
    crashing,
    draw,
    four_levels,
    judge,
    partitioned,
    three_levels,
)
from tests.overlays.test_daisy_scenarios import UNCHANGING, Scenario

RECEIVED: dict[str, Any] = {"forward": "received"}
BY_NAME = {rule.name: rule for rule in AHEAD}
SEEDS = 8


def question_and_answer(
    order: type[Order], *beyond: int, groups: list[list[int]] | None = None, **options: Any
) -> tuple[Lab, MessageId, MessageId]:
    """1 asks 2 (and others), which answers to 3 and 7; the question is lost on its way to all but
    2 for half a second."""
    groups = groups or [[0, 1, 2, 3], [4, 5], [6, 7, 8]]
    lab = Lab(order, groups=groups, **options)
    lab.lose = lambda copy: copy[0] == 1 and copy[1] != 2 and lab.now < 0.5
    answers: list[MessageId] = []

    def answer(process: int, message: Message) -> None:
        if process == 2 and message.id.sender == 1:
            answers.append(lab.send(2, 3, 7))

    lab.answer = answer
    question = lab.send(1, 2, 3, *beyond)
    lab.run(0.1)
    return lab, question, answers[0]


def test_it_saves_the_wait_for_what_goes_nowhere_else() -> None:
    """The question is for the group alone: the answer need not wait for it at the server."""
    delay = {}
    for forward in ("stable", "delivered", "received"):
        lab, _, answer = question_and_answer(find("daisy"), forward=forward)
        lab.run()
        assert lab.faults() == lab.kept() == []
        delay[forward] = lab.delivered_at[7, answer]
    assert delay["received"] < 0.1
    assert 0.5 < delay["delivered"] < delay["stable"]


def test_it_waits_for_what_goes_the_same_way() -> None:
    """The question is for 7, too: there the answer comes after it."""
    lab, question, answer = question_and_answer(find("daisy"), 7, **RECEIVED)
    assert lab.delivered[7] == []
    lab.run()
    assert lab.delivered[7] == [question, answer]
    assert lab.faults() == lab.kept() == []


def test_it_costs_a_list_on_every_message() -> None:
    """What goes beyond the group carries the last of each process that did, while it is kept."""
    entries = {}
    for forward in ("delivered", "received"):
        lab = Lab(forward=forward)
        sizes: list[int] = []

        def before(copy: Copy, sizes: list[int] = sizes) -> None:
            sizes.extend([copy[2].entries()] if copy[2].messages() else [])

        lab.before = before
        for sender in (1, 2, 1, 2):
            lab.send(sender, 7)
            lab.run(0.02)
        lab.run()
        entries[forward] = max(sizes)
    assert entries["received"] == entries["delivered"] + 4


def complaints(lab: Lab) -> list[str]:
    return lab.faults() + lab.kept()


def put_aside(lab: Lab, *processes: int) -> list[str]:
    """What these have sent on early and have never settled."""
    layers = [layer for process in processes for layer in lab.orders[process].layers()]
    return [f"{message} is aside" for layer in layers for message in layer.memory.came_ahead]


def server_dies_with_a_message_aside(order: type[Order]) -> list[str]:
    """The answer has been sent on ahead of its question; both die with all who had them."""
    lab, _, _ = question_and_answer(order, 7, **RECEIVED)
    lab.crash(0, 1, 2)
    lab.run()
    return complaints(lab) + put_aside(lab, *range(3, 9))


def question_and_answer_are_lost(order: type[Order]) -> list[str]:
    """1 and 2 die: the server has the answer alone, and takes it back from the servers."""
    lab, _, _ = question_and_answer(order, 7, **RECEIVED)
    lab.crash(1, 2)
    lab.run()
    return complaints(lab) + put_aside(lab, 4)


def the_answer_is_for_its_own_group_too(order: type[Order]) -> list[str]:
    """It is with the servers at once, but must not come back from there before the question."""
    return complaints(question_and_answer(order, **RECEIVED)[0].run())


def the_question_goes_the_same_way(order: type[Order]) -> list[str]:
    return complaints(question_and_answer(order, 7, **RECEIVED)[0].run())


def an_answer_comes_back_to_the_server(order: type[Order]) -> list[str]:
    """1 sends m1 to 0, the server, and then m2 to 4, which answers 0; m1 is lost for a while."""
    lab = Lab(order, **RECEIVED)
    first = MessageId(1, 1)
    lab.lose = lambda copy: copy[:2] == (1, 0) and carried(copy[2]) == [first] and lab.now < 0.5

    lab.let_answer(4, 0)
    lab.send(1, 0)
    lab.send(1, 4)
    lab.run(0.3)
    assert lab.delivered[4]
    return complaints(lab.run())


NEEDS = {
    "overtaken-by-its-answer": an_answer_comes_back_to_the_server,
    "ahead-of-its-past": the_question_goes_the_same_way,
    "aside-for-ever": server_dies_with_a_message_aside,
    "never-retracted": question_and_answer_are_lost,
    "comes-back-at-once": the_answer_is_for_its_own_group_too,
}


@pytest.mark.parametrize("name", NEEDS)
def test_the_schedules_pass(name: str) -> None:
    assert NEEDS[name](find("daisy")) == []


@pytest.mark.parametrize("rule", AHEAD, ids=lambda rule: rule.name)
def test_they_fail_without_the_rule(rule: Mutant) -> None:
    assert NEEDS[rule.name](mutated("daisy", rule))


def test_the_price_is_a_gap_that_is_told() -> None:
    """The question is for the group alone, and dies with 1 and 2; 7 has the answer already, so 3
    has to get it, without the question."""
    lab, question, answer = question_and_answer(find("daisy"), **RECEIVED)
    assert lab.delivered[7] == [answer]
    lab.crash(1, 2)
    lab.run()
    assert lab.faults() == [f"3 delivers {answer} before {question}"]
    assert {notice.members for notice in lab.told(Event.GAP)} == {0b110}


def test_the_gap_is_named_where_it_can_be_known() -> None:
    """1 sends to 3, which does not reach the server, and then to 3 and 7."""
    lab = Lab(groups=[[0, 1, 2, 3], [4, 5], [6, 7, 8]], **RECEIVED)
    lab.lose = lambda copy: copy[0] == 1 and carried(copy[2]) == [MessageId(1, 1)]
    first, second = lab.send(1, 3), lab.send(1, 3, 7)
    lab.run(0.1)
    assert lab.delivered[7] == [second]
    lab.crash(1)
    lab.run()
    assert lab.faults() == [f"3 delivers {second} before {first}"]
    [told] = lab.told(Event.GAP)
    assert told.messages == (first,)
    assert told.sentence() == f"group 0 goes on without {first}"


@pytest.mark.parametrize("forward", ["delivered", "received"])
@pytest.mark.parametrize("scenario", UNCHANGING, ids=lambda scenario: scenario.__name__)
def test_the_scenarios_of_the_daisy_pass(scenario: Scenario, forward: str) -> None:
    lab = scenario(find("daisy"), forward=forward)
    assert lab.faults() == lab.kept() == []


def drawn(trouble: Any, seed: int, forward: str) -> dict[str, Any]:
    random = Random(f"ahead {trouble.__name__} {seed}")
    data = draw(random, seed)
    data["workload"]["cascade"] = 0.4
    trouble(random, data)
    data["options"] = {**data.get("options", {}), "forward": forward}
    return data


@pytest.mark.parametrize("trouble", [crashing, three_levels, four_levels, partitioned])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_get_everything_in_order(trouble: Any, seed: int) -> None:
    assert judge(drawn(trouble, seed, "received")) == []


@pytest.mark.parametrize(
    ("trouble", "seed", "forward"),
    [
        *[(four_levels, seed, "received") for seed in (70, 126, 226, 242, 436)],
        *[(three_levels, seed, "received") for seed in (1227, 5056, 5197)],
        *[(crashing, seed, "delivered") for seed in (113, 159)],
    ],
)
def test_a_schedule_that_chance_has_found(trouble: Any, seed: int, forward: str) -> None:
    """Each has shown a fault once."""
    assert judge(drawn(trouble, seed, forward)) == []


@pytest.mark.parametrize("forward", ["delivered", "received"])
@pytest.mark.parametrize("change", [{"split_above": 4}, {"merge_below": 3}])
def test_groups_that_change_send_on_what_is_stable(forward: str, change: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="groups that split or merge send on what is stable"):
        Lab(forward=forward, **change)
