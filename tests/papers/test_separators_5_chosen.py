"""Rodrigues and Verissimo, chapter 5: the separators that are chosen for a real network,
loaded into rule R9, keep causal order and leave something out."""

from random import Random

import pytest

from antecede.message import Membership, members
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions
from antecede.topology import Separator, Topology, choose_separators, load_topology
from tests.papers.harness import History, Send, early, run, undelivered

Lists = tuple[tuple[Separator, ...], ...]
MESSAGES = 150
SEEDS = range(8)


def ran(topology: Topology, lists: Lists, seed: int) -> History:
    """Random traffic between neighbours, each process applying the separators of its list."""
    chance = Random(seed)
    lines = []
    for _ in range(MESSAGES):
        sender = chance.randrange(topology.size)
        near = list(members(topology.neighbours[sender]))
        lines.append(
            Send(sender, tuple(sorted(chance.sample(near, chance.choice([1, len(near)])))))
        )
    orders = [
        Histories(
            node,
            Membership(topology.size),
            HistoriesOptions(rules="R1-R9"),
            Surroundings(node, topology.neighbours[node], lists[node]),
        )
        for node in range(topology.size)
    ]
    return run(orders, lines, seed, duplicate=0.1)


def cited(history: History) -> int:
    return sum(flight.packet.stamp.entries() for flight in history.flights)


@pytest.mark.parametrize("name", ["Abilene", "Arpanet19706", "Getnet"])
def test_chosen_separators_keep_causal_order_and_leave_something_out(name: str) -> None:
    topology = load_topology(name)
    chosen = choose_separators(topology).lists
    left_out = 0
    for seed in SEEDS:
        with_r9 = ran(topology, chosen, seed)
        assert early(with_r9) == []
        assert undelivered(with_r9) == []
        left_out += cited(ran(topology, ((),) * topology.size, seed)) - cited(with_r9)
    assert left_out > 0


@pytest.mark.parametrize("name", ["Abilene", "Arpanet19706", "Getnet"])
def test_such_traffic_finds_separators_that_do_not_separate(name: str) -> None:
    topology = load_topology(name)
    broken = tuple(
        tuple(Separator(one.members, one.front, one.back | one.front) for one in own)
        for own in choose_separators(topology).lists
    )
    assert any(early(ran(topology, broken, seed)) for seed in SEEDS)
