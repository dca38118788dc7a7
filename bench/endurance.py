"""State per process over a million messages, for every protocol whose paper promises a bound.

Entries: the most that a process ever kept, looked at after every thousandth message, beside the
promised bound. Bytes: the largest snapshot, with its growing counters and the messages held."""

from antecede.message import Membership
from antecede.order import Addressing
from antecede.protocols import find, names
from bench.traffic import Traffic, group_broadcast, unicast

PROCESSES = 4
MESSAGES = 1_000_000
LOOKS = (1_000, 10_000, 100_000, 1_000_000)
EVERY = 1_000
IN_FLIGHT = 24


def main(messages: int = MESSAGES) -> None:
    looks = [look for look in LOOKS if look <= messages]
    heads = "".join(f"{f'{look:,}':>22}" for look in looks)
    print(f"{'protocol':18}{'bound':>8}{heads}   (largest entries / bytes so far, by messages)")
    for name in names():
        if not find(name).traits.state_bound:
            continue
        print(f"{name:18}{endure(name, looks)}")


def endure(name: str, looks: list[int]) -> str:
    """The largest state so far, each time the traffic has reached one of these lengths."""
    membership = Membership(PROCESSES)
    is_unicast = find(name).traits.addressing is Addressing.SETS
    choose = unicast(membership) if is_unicast else group_broadcast(membership)
    traffic = Traffic(name, membership, choose)
    bound = traffic.orders[0].entries_bound()
    entries = size = 0
    cells = ""
    for sent in range(EVERY, looks[-1] + 1, EVERY):
        traffic.advance(EVERY, IN_FLIGHT)
        entries = max(entries, *(order.entries() for order in traffic.orders))
        size = max(size, *(len(order.snapshot()) for order in traffic.orders))
        if sent in looks:
            cells += f"{entries:>12,} / {size:>7,}"
    return f"{bound:>8,}{cells}"
