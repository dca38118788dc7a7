"""Section 2.3, figure 2: one crash and one lost message block every plain causal protocol."""

import pytest

from antecede.message import MessageId
from antecede.order import Addressing, Gives
from antecede.protocols import find, names
from tests.papers.harness import Network, team

A, B, C = range(3)
ASSUMES_GROUPS = "daisy"
"""It works on groups, which plain protocols have not: `tests/overlays/test_daisy_scenarios.py` has
the same figure for it."""


def figure_2(protocol: str) -> tuple[Network, MessageId]:
    """m1 is lost on its way from a to b; m2 goes from a to c, which then sends m3 to b; a crashes.
    Where only everybody can be addressed, m1 and m2 are one message, lost at b alone."""
    network = Network(team(protocol, 3))
    if find(protocol).traits.addressing is Addressing.SETS:
        first = network.send(A, B)
        second = network.send(A, C)
        network.lose(first, B)
        network.bring(second, C)
        third = network.send(C, B)
    else:
        first = network.send(A, A, B, C, group=0)
        network.lose(first, B)
        network.bring(first, C)
        third = network.send(C, A, B, C, group=0)
    _crash(network, A)
    return network, third


def _crash(network: Network, process: int) -> None:
    """Nothing reaches the process any more, and it does nothing; what survives comes to rest. What
    it sent before and is still under way arrives."""
    while True:
        network.in_flight = [flight for flight in network.in_flight if flight.to != process]
        network.wakes = [woken for woken in network.wakes if woken != process]
        if network.in_flight:
            network.arrive(network.in_flight[0])
        elif network.wakes:
            network.wake(network.wakes[0])
        else:
            return


PLAIN = [name for name in names() if name != ASSUMES_GROUPS]
BLOCKED = [
    name
    for name in PLAIN
    if find(name).traits.gives is Gives.CAUSAL and not find(name).traits.survives_loss
]


def test_the_protocols_that_block_are_all_but_these() -> None:
    assert set(PLAIN) - set(BLOCKED) == {"none", "fifo", "piggyback"}


@pytest.mark.parametrize("protocol", BLOCKED)
def test_figure_2_blocks(protocol: str) -> None:
    network, third = figure_2(protocol)
    assert network.history.deliveries(B) == []
    assert third in [held.message for held in network.orders[B].held()]


@pytest.mark.parametrize("protocol", BLOCKED)
def test_figure_2_blocks_for_ever(protocol: str) -> None:
    """Whatever the survivor sends from then on is held, too."""
    network, _ = figure_2(protocol)
    to = (B,) if find(protocol).traits.addressing is Addressing.SETS else (A, B, C)
    for _ in range(3):
        network.send(C, *to, group=-1 if len(to) == 1 else 0)
        _crash(network, A)
    assert network.history.deliveries(B) == []
    assert len(network.orders[B].held()) == 4


@pytest.mark.parametrize("protocol", ["none", "fifo"])
def test_figure_2_without_order_leaves_the_gap_unsaid(protocol: str) -> None:
    network, third = figure_2(protocol)
    assert network.history.deliveries(B) == [str(third)]


def test_figure_2_solution_c_carries_what_is_not_stable() -> None:
    """The early ISIS puts m1 into m2 and m3: large messages, no blocking."""
    network, third = figure_2("piggyback")
    assert network.history.deliveries(B) == ["0:1", str(third)]
