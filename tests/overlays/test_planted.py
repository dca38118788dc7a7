"""Bugs planted in routing and filtering. Where everybody is one hop away they change nothing, so
the explorer and the conformance suite cannot see them: random traffic on topologies does."""

from random import Random

import msgspec
import pytest

from antecede.errors import MalformedStamp
from antecede.message import Membership
from antecede.order import Order
from antecede.overlays.separators import Separators
from antecede.topology import attach, load_topology
from tests.mutants import Mutant, mutated
from tests.papers.harness import Send, early, run, undelivered

SEEDS = range(4)
MUTANTS = [
    Mutant(
        name="back-includes-front",
        old="Separator(place.members, ahead, sum(beyond) - ahead)",
        new="Separator(place.members, ahead, sum(beyond))",
    ),
    Mutant(
        name="filters-the-wrong-side",
        old="Separator(place.members, ahead, sum(beyond) - ahead)",
        new="Separator(place.members, ahead, ahead)",
    ),
    Mutant(
        name="copies-pass",
        old="if number <= self.state.passed.get(sender, 0):",
        new="if number < self.state.passed.get(sender, 0):",
    ),
    Mutant(
        name="forwards-to-where-it-came-from",
        old="if zone is not entrance and (",
        new="if (",
    ),
]


def goes_wrong(order: type[Order], source: str, forwarding: str, seed: int) -> bool:
    """Whether random traffic on a topology is refused on its way, or delivered early, twice
    or not at all."""
    topology = attach(load_topology(source))
    applications = topology.hosts.bit_count()
    network = {"links": topology.links, "applications": applications}
    options = msgspec.convert({**network, "forwarding": forwarding}, order.options_type)
    chance = Random(seed)
    lines = []
    for _ in range(60):
        sender, *to = chance.sample(range(applications), chance.randint(2, 4))
        lines.append(Send(sender, tuple(sorted(to))))
    membership = Membership(topology.size)
    team = [order(process, membership, options) for process in range(topology.size)]
    try:
        history = run(team, lines, seed)
    except MalformedStamp:
        return True
    return bool(early(history) or undelivered(history))


CASES = {
    "back-includes-front": ("Arpanet19706", "one"),
    "filters-the-wrong-side": ("Arpanet19706", "one"),
    "copies-pass": ("tree:1,2,2,2", "all"),
    "forwards-to-where-it-came-from": ("clusters:3+4,2", "one"),
}
"""Where each bug shows."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    source, forwarding = CASES[mutant.name]
    broken = mutated("separators", mutant)
    found = [seed for seed in SEEDS if goes_wrong(broken, source, forwarding, seed)]
    assert found
    assert not goes_wrong(Separators, source, forwarding, found[0])
