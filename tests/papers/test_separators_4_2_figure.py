"""Rodrigues and Verissimo, figure 4.1, step by step; P1, P2, P3 are processes 0, 1, 2."""

from antecede.message import members
from antecede.order import Awaited, Order
from tests.papers.harness import Network, team

P1, P2, P3 = range(3)


def histories(order: Order) -> dict[str, tuple[list[int], list[int]]]:
    """Each message of H with its A and its C."""
    return {
        f"{sender}:{number}": (list(members(entry.A)), list(members(entry.C)))
        for sender, entries in sorted(order.state.H.items())
        for number, entry in sorted(entries.items())
    }


def test_figure_4_1() -> None:
    net = Network(team("histories", 3))
    one, two, three = net.orders

    a = net.send(P1, P2, P3)  # delivered at P3, delayed on its way to P2
    assert histories(one) == {"0:1": ([P2, P3], [])}
    net.bring(a, P3)
    assert net.history.deliveries(P3) == ["0:1"]
    assert histories(three) == {"0:1": ([P2, P3], [P1, P3])}  # R6.3
    assert three.state.D == [1, 0, 0]

    b = net.send(P3, P2)  # delayed, too
    assert net.find(P2, P3, b).packet.stamp.H == ((P1, 1, b"\x06"),)
    # R6.2: a has now been reported to P1, P2 and P3, which is all it was addressed to; R8: removed.
    assert histories(three) == {"2:1": ([P2], [])}

    c = net.send(P3, P2)
    assert net.find(P2, P3, c).packet.stamp.H == ((P3, 1, b"\x02"),)  # b stands for a
    assert histories(three) == {"2:2": ([P2], [])}
    assert three.state.D == [1, 0, 2]

    net.bring(c, P2)
    assert [(held.message, held.awaited) for held in two.held()] == [(c, (Awaited(*b),))]
    net.bring(b, P2)
    assert [(held.message, held.awaited) for held in two.held()] == [
        (b, (Awaited(*a),)),
        (c, (Awaited(*b),)),
    ]
    assert net.history.deliveries(P2) == []
    assert histories(two) == {}

    net.bring(a, P2)
    assert net.history.deliveries(P2) == ["0:1", "2:1", "2:2"]
    assert two.held() == []
    assert two.state.D == [1, 0, 2]
    assert histories(two) == {}  # b shows that P3 knows of a; b and c were for P2 alone
