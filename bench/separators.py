"""What topological timestamps save as a network grows: `separators` against protocols that know
nothing of the network, on trees of departments, from 10 to 1,000 application processes.

A department has ten nodes with one process each, ten departments make an organisation. Nine
messages of ten go to a process of the same department, the tenth to any process. `separators` sends
a message as a chain of hops, each with a stamp of its own: *hop* is the stamp of one, *all hops*
those of a message together. The others send one stamp with a message. A flat vector, which would
not do for such traffic, is n counters, here as large as they have become.

Then the cost of rules R2 to R8 at one process, by the length of its causal history."""

from dataclasses import dataclass
from statistics import median
from time import process_time

from antecede.message import Membership, Message, MessageId, members
from antecede.order import Packet, Transmit
from antecede.orders.histories import Histories, Timestamp
from antecede.simulate.deployment import deploy
from antecede.wire import encode_stamp
from bench.traffic import Measured, Traffic, mostly_local

TREES = {10: "tree:1,1,10", 30: "tree:1,3,10", 100: "tree:1,10,10", 300: "tree:3,10,10"}
TREES[1000] = "tree:10,10,10"
LARGEST = {"separators": 1000, "optimal": 1000, "pairs": 100, "matrix": 100}
"""Up to which size a protocol is run: the matrices of 1,000 processes are 10⁹ numbers, and stamps
of n² elements need no measuring to be seen to grow."""
DEPARTMENTS = {5: "tree:3,20,5", 10: "tree:3,10,10", 25: "tree:3,4,25", 100: "tree:3,1,100"}
"""300 processes in departments of other sizes."""
LOCALITY = 0.9
PER_PROCESS = 20
BUDGET_S = 20.0
HISTORIES = (10, 100, 1000)
REPEATS = 20


def main() -> None:
    print(row("elements / bytes", [f"n = {size}" for size in TREES]))
    found = {name: sizes(name) for name in LARGEST}
    hops = found["separators"]
    print(row("separators, hop", [cell(one, one.packets) for one in hops]))
    print(row("separators, all hops", [cell(one, one.messages) for one in hops]))
    for name in list(LARGEST)[1:]:
        print(row(name, [cell(one, one.packets) for one in found[name]]))
    print(row("flat vector", [vector(size) for size in TREES]))
    for title, per in (("hop", "packets"), ("all hops", "messages")):
        ratios = [
            f"{one.stamp_bytes / getattr(one, per) / (other.stamp_bytes / other.packets):.3f}"
            for one, other in zip(hops, found["optimal"], strict=True)
        ]
        print(row(f"{title} / optimal", ratios))
    print(
        f"\n{PER_PROCESS} messages a process. * cut off after {BUDGET_S:.0f} s of CPU time: its "
        f"stamps were still growing. – not run: too large.\n"
    )
    departments()
    costs()


@dataclass
class Sizes:
    packets: int
    messages: int
    entries: int
    stamp_bytes: int
    is_cut: bool


def sizes(name: str) -> list[Sizes]:
    """What a protocol sends, on each of the trees that it is run on."""
    found = []
    for size, tree in TREES.items():
        if size <= LARGEST[name]:
            measured = measure(name, tree)
            is_cut = measured.sends < PER_PROCESS * size
            found.append(
                Sizes(
                    measured.packets, measured.sends, measured.entries, measured.stamp_bytes, is_cut
                )
            )
    return found


def measure(name: str, tree: str) -> Measured:
    """A run on a tree, cut short after the budget."""
    deployment = deploy(tree)
    size = deployment.applications
    zones = [zone.rpartition("/")[0] for zone in deployment.topology.zones[:size]]
    near = [
        [other for other in range(size) if zones[other] == zones[process] and other != process]
        for process in range(size)
    ]
    options, everybody = {}, size
    if name == "separators":
        options = {"links": deployment.topology.links, "applications": size}
        everybody = deployment.topology.size
    choose = mostly_local(near, LOCALITY)
    traffic = Traffic(name, Membership(everybody), choose, options=options)
    return traffic.run(PER_PROCESS * size, size, BUDGET_S)


def cell(found: Sizes, count: int) -> str:
    cut = "*" if found.is_cut else ""
    return f"{found.entries / count:.1f} / {found.stamp_bytes / count:.0f}{cut}"


def vector(size: int) -> str:
    return f"{size} / {len(encode_stamp([PER_PROCESS] * size))}"


def row(name: str, cells: list[str]) -> str:
    cells = cells + ["–"] * (len(TREES) - len(cells))
    return f"{name:22}" + "".join(f"{one:>16}" for one in cells)


def departments() -> None:
    print(f"{'300 processes':22}" + "".join(f"{f'zones of {size}':>16}" for size in DEPARTMENTS))
    for name in ("separators", "optimal"):
        cells = []
        for tree in DEPARTMENTS.values():
            measured = measure(name, tree)
            elements = measured.entries / measured.packets
            cells.append(f"{elements:.1f} / {measured.stamp_bytes / measured.packets:.0f}")
        print(f"{name:22}" + "".join(f"{one:>16}" for one in cells))
    print()


# What a hop costs as histories grow.


def costs() -> None:
    heads = ("stamp citing all", "stamp citing none", "delivery of all", "delivery of none")
    print(f"{'µs, by the history':22}" + "".join(f"{head:>20}" for head in heads))
    for length in HISTORIES:
        print(f"{length:<22,}" + "".join(f"{cost:>20.1f}" for cost in cost_us(length)))


def cost_us(length: int) -> list[float]:
    """At process 0, which knows of so many messages, each from another process and not reported to
    its second destination: stamping a message to somebody who has been told nothing, and to
    somebody who has been told everything; and the deliveries of these two, at the other end."""
    last = length + REPEATS + 1
    membership = Membership(last + 1)
    gateway = Histories(0, membership)
    for sender in range(REPEATS + 1, last):
        message = Message(MessageId(sender, 1), 1 | 1 << last)
        for packet in packets(Histories(sender, membership), message):
            gateway.receive(packet)
    timed: list[list[float]] = [[], [], [], []]
    number = 0
    for other in range(1, REPEATS + 1):
        receiver = Histories(other, membership)
        for place in (0, 1):
            number += 1
            message = Message(MessageId(0, number), 1 << other)
            start = process_time()
            effects = gateway.send(message)
            timed[place].append(process_time() - start)
            (packet,) = [effect.packet for effect in effects if isinstance(effect, Transmit)]
            start = process_time()
            receiver.receive(packet)
            timed[2 + place].append(process_time() - start)
    return [1e6 * median(times) for times in timed]


def packets(order: Histories, message: Message) -> list[Packet[Timestamp]]:
    return [
        effect.packet
        for effect in order.send(message)
        if isinstance(effect, Transmit) and any(process == 0 for process in members(effect.to))
    ]
