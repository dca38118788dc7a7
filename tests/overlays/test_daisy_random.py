"""Random schedules of the daisy with losses, duplicates, crashes, partitions and changes, judged by
what was sent and delivered alone."""

from random import Random
from typing import Any

import pytest

from antecede.message import MessageId, ProcessSet, members
from antecede.order import Event, Order
from antecede.simulate import make_scenario
from antecede.simulate.recorder import Recorder
from antecede.simulate.run import Simulation
from antecede.verify import OnlineOracle, Violation

SEEDS = 8


class Judge(OnlineOracle):
    """The oracle, and who has sent, delivered and crashed."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(names)
        self.to: dict[MessageId, ProcessSet] = {}
        self.got: dict[MessageId, ProcessSet] = {}
        self.dead: ProcessSet = 0
        self.early: list[Violation] = []

    def send(self, process: int, sender: int, number: int, destinations: ProcessSet) -> None:
        super().send(process, sender, number, destinations)
        self.to[MessageId(sender, number)] = destinations & ~(1 << sender)
        self.got[MessageId(sender, number)] = 0

    def deliver(
        self, process: int, sender: int, number: int, time: float | None = None
    ) -> Violation | None:
        violation = super().deliver(process, sender, number, time)
        self.got[MessageId(sender, number)] |= 1 << process
        if violation is not None:
            self.early.append(violation)
        return violation

    def crash(self, process: int) -> None:
        super().crash(process)
        self.dead |= 1 << process

    def is_owed(self, message: MessageId) -> bool:
        """Whether its sender or somebody who has it survives."""
        return not self.dead >> message.sender & 1 or self.got[message] & ~self.dead != 0

    def verdict(self, is_gap_told: bool) -> list[str]:
        """What survivors sent reaches all survivors; what one of them has, all have. A message may
        be overtaken if it died with all who had it, and that is told."""
        faults = [
            self.witness(violation).sentence()
            for violation in self.early
            if self.is_owed(violation.first) or not is_gap_told
        ]
        for message, to in self.to.items():
            missing = to & ~self.dead & ~self.got[message]
            if missing and self.is_owed(message):
                faults.append(f"{message} is missing at {list(members(missing))}")
        return faults


def judge(data: dict[str, Any], order: type[Order] | None = None) -> list[str]:
    log, told = story(data, order)
    return log.verdict(Event.GAP in told)


def story(data: dict[str, Any], order: type[Order] | None = None) -> tuple[Judge, set[Event]]:
    """A run, and what was told in it."""
    scenario = make_scenario({"protocol": "daisy", **data})
    log = Judge(scenario.process_names)
    simulation = Simulation(scenario, Recorder(None, log), order)
    simulation.run()
    return log, {notice.event for notice in simulation.notices}


def draw(random: Random, seed: int) -> dict[str, Any]:
    """Traffic and a network."""
    return {
        "processes": random.randint(4, 12),
        "messages": random.randint(10, 40),
        "seed": seed,
        "rate": random.choice([1.0, 3.0, 10.0]),
        "workload": {
            "kind": "multicast",
            "probability": random.choice([0.2, 0.4, 0.8]),
            "cascade": random.choice([0.0, 0.3]),
        },
        "network": {
            "delay": random.choice(["exponential:0.1", "uniform:0.01,0.3", "lognormal:0.05,0.8"]),
            "loss": random.choice([0.0, 0.1, 0.3]),
            "duplication": random.choice([0.0, 0.1]),
        },
    }


def crashes(random: Random, processes: int, most: int) -> list[dict[str, Any]]:
    """Some at once, some apart; two survive."""
    victims = random.sample(range(processes), random.randint(1, min(most, processes - 2)))
    time_s = random.uniform(0, 4)
    found: list[dict[str, Any]] = []
    for victim in victims:
        if random.random() < 0.5:
            time_s = random.uniform(0, 6)
        found.append({"process": victim, "time_s": time_s})
    return found


def calm(random: Random, data: dict[str, Any]) -> None:
    """Nobody crashes."""


def crashing(random: Random, data: dict[str, Any]) -> None:
    data["crashes"] = crashes(random, data["processes"], 5)
    data["options"] = {"quorum": "survivors"}


def returning(random: Random, data: dict[str, Any]) -> None:
    crashing(random, data)
    for crash in data["crashes"]:
        crash["back_s"] = crash["time_s"] + random.uniform(0.1, 6)


def three_levels(random: Random, data: dict[str, Any]) -> None:
    crashing(random, data)
    data["options"]["sizes"] = [2, 2]


def four_levels(random: Random, data: dict[str, Any]) -> None:
    data["processes"] = random.randint(16, 20)
    crashing(random, data)
    data["options"]["sizes"] = [2, 2, 2]


def partitioned(random: Random, data: dict[str, Any]) -> None:
    size = data["processes"]
    side = random.sample(range(size), random.randint(1, size // 4))
    start_s = random.uniform(0, 5)
    cut = {"start_s": start_s, "end_s": start_s + random.uniform(0.2, 6), "sides": [side]}
    data["network"]["partitions"] = [{**cut, "packets": "lost"}]


def evolving(random: Random, data: dict[str, Any]) -> None:
    crashing(random, data)
    data["options"] |= {"sizes": [random.choice([2, 4])], "split_above": 4, "merge_below": 3}


def packing(random: Random, data: dict[str, Any]) -> None:
    crashing(random, data)
    data["options"]["pack_s"] = 0.2


@pytest.mark.parametrize(
    "trouble",
    [calm, crashing, returning, three_levels, four_levels, partitioned, evolving, packing],
)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_survivors_get_everything_in_order(trouble: Any, seed: int) -> None:
    random = Random(f"{trouble.__name__} {seed}")
    data = draw(random, seed)
    trouble(random, data)
    assert judge(data) == []


@pytest.mark.parametrize("seed", range(2 * SEEDS))
def test_a_lost_majority_says_that_it_stops(seed: int) -> None:
    """Whatever does not arrive then, order is kept, and whoever waits has been told why."""
    random = Random(f"majority {seed}")
    data = draw(random, seed)
    data["crashes"] = crashes(random, data["processes"], 5)
    log, told = story(data)
    assert [violation for violation in log.early if log.is_owed(violation.first)] == []
    assert log.verdict(Event.GAP in told) == [] or Event.STOPPED in told


GROUPS = [[0, 1, 2], [3, 4, 5], [6, 7]]
LOST_MAJORITY = {
    "processes": 8,
    "messages": 8,
    "workload": {"kind": "multicast", "probability": 0.6},
    "crashes": [{"process": 4, "time_s": 0.0}, {"process": 5, "time_s": 0.0}],
    "options": {"groups": GROUPS},
}
"""Of three members of a group one is left: it may be that it is cut off from two others."""


def test_one_of_three_stops_and_two_go_on() -> None:
    log, told = story(LOST_MAJORITY)
    assert Event.STOPPED in told
    faults = log.verdict(is_gap_told=False)
    assert faults
    survivors = story(LOST_MAJORITY | {"options": {"groups": GROUPS, "quorum": "survivors"}})
    assert survivors[0].verdict(is_gap_told=False) == []
    assert Event.STOPPED not in survivors[1]


def out_of_step(seed: int) -> dict[str, Any]:
    """Small groups that are merged, while a third of all is lost and two processes die at once: of
    the groups that are merged, one is ahead of the other."""
    random = Random(seed)
    time_s = random.uniform(0.3, 2.5)
    victims = random.sample(range(9), 2)
    return {
        "processes": 9,
        "messages": 10,
        "seed": seed,
        "rate": 10.0,
        "workload": {"kind": "multicast", "probability": 0.4, "cascade": 0.3},
        "network": {"loss": 0.3, "delay": "exponential:0.1"},
        "crashes": [{"process": victim, "time_s": time_s} for victim in victims],
        "options": {"quorum": "survivors", "sizes": [2], "split_above": 4, "merge_below": 3},
    }


FOUND = (34, 60, 71, 85, 113, 130)
"""Schedules that chance has found."""


@pytest.mark.parametrize("seed", FOUND)
def test_a_schedule_that_chance_has_found(seed: int) -> None:
    assert judge(out_of_step(seed)) == []
