"""State per process over a million messages, for every protocol whose paper promises a bound.

Entries: the most that a process ever kept, looked at after every thousandth message, beside the
promised bound. Bytes: the largest snapshot, with its growing counters and the messages held."""

from antecede.message import Membership
from antecede.order import Addressing
from antecede.protocols import find, names
from bench.traffic import Choice, Traffic, group_broadcast, ring, unicast

PROCESSES = 6
RING_GROUP = 3
MESSAGES = 1_000_000
LOOKS = (1_000, 10_000, 100_000, 1_000_000)
EVERY = 1_000
IN_FLIGHT = 24


def main(messages: int = MESSAGES) -> None:
    looks = [look for look in LOOKS if look <= messages]
    heads = "".join(f"{f'{look:,}':>22}" for look in looks)
    print("the largest entries / bytes so far, by messages sent\n")
    print(f"{'protocol':18}{'traffic':12}{'bound':>8}{heads}")
    exceeded = []
    for name in names():
        traits = find(name).traits
        if not traits.state_bound:
            continue
        one_group = Membership(PROCESSES)
        choices = {"one group": (one_group, group_broadcast(one_group))}
        if traits.addressing >= Addressing.GROUPS:
            overlapping = ring(PROCESSES, RING_GROUP)
            choices["ring"] = (overlapping, group_broadcast(overlapping))
        if traits.addressing is Addressing.SETS:
            choices = {"unicast": (one_group, unicast(one_group)), "ring": choices["ring"]}
        for title, (membership, choose) in choices.items():
            row, is_bounded = endure(name, membership, choose, looks)
            print(f"{name:18}{title:12}{row}", flush=True)
            if not is_bounded:
                exceeded.append(f"{name}, {title}")
    if exceeded:
        raise SystemExit(f"the bound does not hold: {'; '.join(exceeded)}")


def endure(name: str, membership: Membership, choose: Choice, looks: list[int]) -> tuple[str, bool]:
    """The largest state so far, each time the traffic has reached one of these lengths; and whether
    it kept the bound."""
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
    return f"{bound:>8,}{cells}", bound is not None and entries <= bound
