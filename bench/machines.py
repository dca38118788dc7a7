"""Deliveries per second of each state machine alone, without a network, and how that falls as the
number of processes grows: unicast between all pairs where the protocol can address any set,
broadcast in one group where it cannot."""

from antecede.message import Membership
from antecede.order import Addressing
from antecede.protocols import find, names
from bench.traffic import Traffic, group_broadcast, unicast

SIZES = (8, 64, 512)
BUDGET_S = 4.0
"""CPU time for one protocol at one size; a run that takes longer is cut, and says so."""


def main() -> None:
    print(f"{'protocol':18}{'traffic':12}" + "".join(f"{f'n = {size}':>14}" for size in SIZES))
    for name in names():
        cells = []
        is_unicast = find(name).traits.addressing is Addressing.SETS
        for size in SIZES:
            membership = Membership(size)
            choose = unicast(membership) if is_unicast else group_broadcast(membership)
            messages = 40 * size if is_unicast else max(4000 // size, 40)
            measured = Traffic(name, membership, choose).run(messages, 4 * size, BUDGET_S)
            cut = " " if measured.sends == messages else "*"
            cells.append(f"{measured.deliveries / measured.timed_s:>13,.0f}{cut}")
        print(f"{name:18}{'unicast' if is_unicast else 'broadcast':12}" + "".join(cells))
    print("\nDeliveries per second of CPU time, sends included. * cut off after the budget.")
