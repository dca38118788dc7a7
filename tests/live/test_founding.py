"""Seeds found one group: in a world of starts, deaths, cuts and slow addresses, with every rule on,
and with each of them off."""

import types
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from antecede.live import bootstrap
from antecede.live.bootstrap import Bootstrap
from antecede.live.ordering.founding import Accept, Accepted, Founded, Founder, Prepare, Promise
from tests.live.founding_world import MakeBootstrap, World


class Mutant(NamedTuple):
    """A piece of the machine, and what replaces it; a seed of the world that shows the fault."""

    old: str
    new: str
    seed: int
    finding: str


MUTANTS = {
    "what can never be a group does not bind": Mutant(
        "if not founders or is_superseded(founders, lives) else",
        "if not founders else",
        323,
        "no group",
    ),
    "a seed comes only with most of its company": Mutant(
        "        return bool(lacking)\n", "        return False\n", 44, "two groups"
    ),
    "enough have to agree": Mutant(
        "        if len(self._agreeing) < self.expect:\n",
        "        if len(self._agreeing) < self.expect - 1:\n",
        187,
        "two groups",
    ),
    "who hears of a group tells its first members": Mutant(
        "        return [(name, item) for name in names] if was_asking else []\n",
        "        return []\n",
        599,
        "no group",
    ),
}
"""What the world finds by itself."""
RARE = {
    "what may have been chosen binds": (
        "if not founders or is_superseded(founders, lives) else latest.accepted",
        "",
    ),
    "who accepts remembers with whom": (
        "            self.company = tuple(sorted(founder.name for founder in item.founders))\n",
        "",
    ),
    "only what was promised is accepted": (
        "            if ballot != self._promised:  # Or it was promised by a former life.\n",
        "            if False:\n",
    ),
    "every seed is tried before a round begins": (
        "        if self.founders or not tried_all:\n",
        "        if self.founders:\n",
    ),
    "a first member answers that there is a group": (
        "[(sender, Founded(self.founders))] if isinstance(item, Prepare) else []",
        "[]",
    ),
}
"""What takes more luck than some hundred runs have: each has its schedule below."""


def planted(old: str, new: str) -> MakeBootstrap:
    source = Path(bootstrap.__file__).read_text("utf-8")
    assert source.count(old) == 1
    module = types.ModuleType("antecede.live.planted")
    exec(compile(source.replace(old, new), "planted", "exec"), vars(module))
    make: MakeBootstrap = module.Bootstrap
    return make


@pytest.mark.parametrize("name", MUTANTS)
def test_each_rule_is_needed(name: str) -> None:
    old, new, seed, finding = MUTANTS[name]
    assert World(seed).run() == ""
    assert finding in World(seed, planted(old, new)).run()


def test_one_group_whatever_happens() -> None:
    worlds = [World(seed) for seed in range(100)]
    assert [world.run() for world in worlds] == [""] * len(worlds)
    assert sum(world.founded for world in worlds) > len(worlds)
    assert {world.is_durable for world in worlds} == {True, False}


def test_slow_machines_found_a_group_too() -> None:
    """Answers take longer than the first rounds wait; and all seeds have to answer. With rounds
    that never wait for longer, there is none."""

    def run(seed: int, make: MakeBootstrap) -> str:
        world = World(seed, make)
        world.delay_s, world.expect = 0.5, len(world.names)
        return world.run()

    assert [run(seed, Bootstrap) for seed in range(8)] == [""] * 8
    impatient = planted("MOST_SLACK: Final = 16", "MOST_SLACK: Final = 1")
    assert any("no group" in run(seed, impatient) for seed in range(8))


class Table:
    """Seeds, of whom most found a group; what they say waits until it is handed over."""

    def __init__(self, make: MakeBootstrap, names: str = "abc") -> None:
        self._make = make
        self._expect = len(names) // 2 + 1
        self.seeds: dict[str, Bootstrap] = {}
        self.said: list[tuple[str, str, Any]] = []
        self._reached: dict[str, tuple[str, ...]] = {}
        self.now = 0.0
        for name in names:
            self.start(name)

    def start(self, name: str, company: tuple[str, ...] = ()) -> None:
        life = 1 + (self.seeds[name].founder.incarnation if name in self.seeds else 0)
        self.seeds[name] = self._make(Founder(name, life, name, 1), self._expect, company)

    def tick(self, name: str, *reached: str, tried_all: bool = True) -> None:
        """Long enough for a round to begin."""
        self._reached[name] = reached
        for _ in range(2):
            said = self.seeds[name].tick(reached, self.now, tried_all=tried_all)
            self.said += [(name, to, item) for to, item in said]
            if said:
                break
            self.now += 5.0

    def hand(self, kind: type, sender: str, to: str) -> None:
        """One thing that was said arrives; the two reach each other and nobody else."""
        (found,) = [one for one in self.said if one[:2] == (sender, to) and type(one[2]) is kind]
        self.said.remove(found)
        reached = self._reached.get(to, (sender,))
        said = self.seeds[to].receive(sender, found[2], reached, self.now)
        self.said += [(to, name, item) for name, item in said]

    def founded(self) -> int:
        """How many groups."""
        return len({seed.founders for seed in self.seeds.values() if seed.founders})


def half_founded(table: Table) -> None:
    """`b` has accepted the list of `a`, and `a` does not know it yet."""
    table.tick("a", "b")
    table.hand(Prepare, "a", "b")
    table.hand(Promise, "b", "a")
    table.hand(Accept, "a", "b")


def founded_by(table: Table, name: str, other: str) -> None:
    """These two, who reach nobody else, found a group if they may."""
    table.tick(name, other)
    for kind, sender, to in ((Prepare, name, other), (Promise, other, name)):
        table.hand(kind, sender, to)
    if any(type(item) is Accept and sender == name for sender, _, item in table.said):
        table.hand(Accept, name, other)
        table.hand(Accepted, other, name)


def what_was_accepted_is_found_again(table: Table) -> bool:
    """`a` knows that `b` and `c` have accepted its list; they do not, when `d` asks them."""
    for name, founds in (("a", True), ("d", False)):
        table.tick(name, "b", "c")
        for kind in (Prepare, Accept):
            for other in "bc":
                table.hand(kind, name, other)
            for other in "bc":
                table.hand(Promise if kind is Prepare else Accepted, other, name)
        if founds:
            table.said.clear()
    return table.founded() == 1


def a_former_life_has_accepted(table: Table) -> bool:
    half_founded(table)
    table.start("b", table.seeds["b"].company)
    founded_by(table, "c", "b")
    table.hand(Accepted, "b", "a")
    return table.founded() == 1


def a_former_life_has_promised(table: Table) -> bool:
    table.tick("a", "b")
    table.hand(Prepare, "a", "b")
    table.hand(Promise, "b", "a")
    table.start("b")
    founded_by(table, "c", "b")
    table.hand(Accept, "a", "b")
    if any(type(item) is Accepted and to == "a" for _, to, item in table.said):
        table.hand(Accepted, "b", "a")
    return table.founded() == 1


def somebody_may_be_in_a_group(table: Table) -> bool:
    table.tick("c", "b", tried_all=False)
    return not table.said


def a_latecomer_asks(table: Table) -> bool:
    half_founded(table)
    table.hand(Accepted, "b", "a")
    table.said.clear()
    table.tick("c", "a")
    table.hand(Prepare, "c", "a")
    return any(isinstance(item, Founded) for *_, item in table.said)


SCHEDULES = dict(
    zip(
        RARE,
        (
            what_was_accepted_is_found_again,
            a_former_life_has_accepted,
            a_former_life_has_promised,
            somebody_may_be_in_a_group,
            a_latecomer_asks,
        ),
        strict=True,
    )
)


@pytest.mark.parametrize("name", RARE)
def test_each_rare_rule_is_needed(name: str) -> None:
    names = "abcde" if name == "what may have been chosen binds" else "abc"
    assert SCHEDULES[name](Table(Bootstrap, names))
    assert not SCHEDULES[name](Table(planted(*RARE[name]), names))
