"""What topological timestamps save as a network grows: `separators` against protocols that know
nothing of the network, on trees of departments, from 10 to 1,000 application processes.

A department has ten nodes with one process each, ten departments make an organisation. Nine
messages of ten go to a process of the same department, the tenth to any process. `separators` sends
a message as a chain of hops, each with a stamp of its own: *hop* is the stamp of one, *all hops*
those of a message together. The others send one stamp with a message. A flat vector, which would
not do for such traffic, is n counters, here as large as they have become.

Then 300 processes in departments of other sizes, which are zones of the overlay. Elements of a hop
grow neither with the system nor with the zone; its bytes grow a little, with the digits of the
processes. The time that a hop takes grows with the zone, not with the system: a router keeps what
it has heard of in its zones, and goes through that for every hop.

Then what a hop costs at a router, rules R2 to R9, by the messages that it knows of in a zone."""

from dataclasses import dataclass
from statistics import median
from time import process_time

from antecede.message import Membership, Message, MessageId, ProcessSet, process_set
from antecede.order import Packet, Transmit
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories, HistoriesOptions, Timestamp
from antecede.topology.deployment import deploy
from antecede.topology.separator import Separator
from antecede.wire import encode_stamp
from bench.traffic import Traffic, mostly_local

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
    print(row("separators, µs a hop", [f"{one.hop_us:.0f}" for one in hops]))
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
    timed_s: float
    is_cut: bool

    @property
    def hop_us(self) -> float:
        """The CPU time of a hop: stamped, received, ordered and passed on."""
        return 1e6 * self.timed_s / self.packets


def sizes(name: str) -> list[Sizes]:
    """What a protocol sends, on each of the trees that it is run on."""
    found = []
    for size, tree in TREES.items():
        if size <= LARGEST[name]:
            found.append(measure(name, tree))
    return found


def measure(name: str, tree: str) -> Sizes:
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
    found = traffic.run(PER_PROCESS * size, size, BUDGET_S)
    is_cut = found.sends < PER_PROCESS * size
    return Sizes(
        found.packets, found.sends, found.entries, found.stamp_bytes, found.timed_s, is_cut
    )


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
    found = {
        name: [measure(name, tree) for tree in DEPARTMENTS.values()]
        for name in ("separators", "optimal")
    }
    rows = {name: [cell(one, one.packets) for one in sizes] for name, sizes in found.items()}
    rows["separators, µs a hop"] = [f"{one.hop_us:.0f}" for one in found["separators"]]
    for title, cells in rows.items():
        print(f"{title:22}" + "".join(f"{one:>16}" for one in cells))
    print()


# What a hop costs as histories grow.


def costs() -> None:
    heads = ("history", *("stamp " + where for where in CITED), *("delivery " + w for w in CITED))
    print(f"{'µs, by what is known':22}" + "".join(f"{head:>18}" for head in heads))
    for length in HISTORIES:
        kept, *times = cost_us(length)
        cells = [f"{kept:,.0f}", *(f"{cost:.1f}" for cost in times)]
        print(f"{length:<22,}" + "".join(f"{cell:>18}" for cell in cells))


CITED = ("inwards", "again", "outwards")


def cost_us(length: int) -> list[float]:
    """At a router that rules R1 to R9 are applied at, between a zone of many processes and a zone
    of few: it knows of so many messages of the first zone, each addressed to another process there
    beside the router. How many of them it keeps; the time to stamp a message to a process of the
    same zone that has been told nothing (all are cited), another to the same process (R7: none
    are), and one out of the zone (R9: none are); and to deliver these, at the other end."""
    insiders = range(1, length + REPEATS + 2)
    outsiders = range(insiders.stop, insiders.stop + REPEATS)
    membership = Membership(outsiders.stop)
    inside, outside = process_set(insiders), process_set(outsiders)
    router = hop_order(0, membership, inside | outside, Separator(1, inside, outside))
    *senders, silent = insiders[REPEATS:]
    for sender in senders:
        order = hop_order(sender, membership, inside | 1)
        (packet,) = packets(order, Message(MessageId(sender, 1), 1 | 1 << silent))
        router.receive(packet)
    kept = router.entries()
    timed: list[list[float]] = [[] for _ in range(2 * len(CITED))]
    number = 0
    for insider, outsider in zip(insiders, outsiders, strict=False):
        receivers = {
            insider: hop_order(insider, membership, inside | 1),
            outsider: hop_order(outsider, membership, outside | 1),
        }
        for place, to in enumerate((insider, insider, outsider)):
            number += 1
            message = Message(MessageId(0, number), 1 << to)
            start = process_time()
            effects = router.send(message)
            timed[place].append(process_time() - start)
            (packet,) = [effect.packet for effect in effects if isinstance(effect, Transmit)]
            start = process_time()
            receivers[to].receive(packet)
            timed[len(CITED) + place].append(process_time() - start)
    return [kept, *(1e6 * median(times) for times in timed)]


def hop_order(
    process: int, membership: Membership, near: ProcessSet, separator: Separator | None = None
) -> Histories:
    """The order of the hops of one process, as the overlay makes it."""
    separators = (separator, separator.reversed()) if separator else ()
    surroundings = Surroundings(process, near & ~(1 << process), separators)
    return Histories(process, membership, HistoriesOptions(rules="R1-R9"), surroundings)


def packets(order: Histories, message: Message) -> list[Packet[Timestamp]]:
    return [effect.packet for effect in order.send(message) if isinstance(effect, Transmit)]
