"""What it costs to send to the recipients alone in a local group."""

import pytest

from tests.overlays.daisy_lab import DELAY_S, Lab, carried, cost_of


@pytest.mark.parametrize(("copies", "packets", "hops"), [(0, 1, 1), (1, 1, 1), (2, 2, 3)])
def test_to_one_of_eight(copies: int, packets: int, hops: int) -> None:
    """A packet for each copy, with a matrix of 64, the number, what is safe, the Lamport time and
    the channel's number. The second copy has to be acknowledged, and that to be told."""
    cost = cost_of(2, local="recipients", copies=copies)
    assert cost[:2] == (packets, packets * (64 + 4))
    assert cost[2] == pytest.approx(hops * DELAY_S)
    assert cost_of(2)[:2] == (7, 7 * 9)


def test_to_one_in_another_group() -> None:
    """To the server, to the other server, to the recipient: a hop each."""
    packets, integers, _ = cost_of(9, local="recipients")
    assert (packets, integers) == (3, 68 + 3 + 68)
    assert cost_of(9)[0] == 7 + 1 + 7


def test_the_server_has_nothing_to_do_with_messages_in_its_group() -> None:
    lab = Lab(size=8, groups=[list(range(8))], local="recipients")
    handled: list[int] = []
    lab.before = lambda copy: handled.extend(copy[:2] if carried(copy[2]) else ())
    for sender in range(1, 8):
        lab.send(sender, 1 + sender % 7)
    assert lab.run().faults() == []
    assert 0 not in handled
    assert handled
