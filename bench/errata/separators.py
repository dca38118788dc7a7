"""Rodrigues, Verissimo: rules R1 to R9, and chapter 5."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from antecede.message import Membership, Message
from antecede.order import Effect, Packet
from antecede.orders.histories import Entry, Histories, HistoriesOptions
from antecede.simulate import make_scenario, simulate
from antecede.wire import encode_stamp
from tests.overlays.networks import SHARED
from tests.papers import test_separators_4_2_errata as section4_2
from tests.papers import test_separators_4_3_explored as section4_3
from tests.papers import test_separators_5_end_to_end as section5
from tests.papers.harness import run, traffic
from tests.papers.neighbours import PATH

LINKS = [("n1", "d1"), ("n1", "d2"), ("d1", "d3"), ("d2", "d3"), ("n2", "d3"), ("n3", "d3")]
"""Figure 5.2."""


def rounds() -> list[str]:
    """R6.3: the union over what has just arrived lets H grow without bound"""
    counts = (10, 50, 200)
    rows = []
    for union, name in (("arrived", "as printed"), ("all", "repaired")):
        sizes = [section4_2.alternating(union, count)[2] for count in counts]
        rows.append(f"| H at 2, {name} | {' | '.join(map(str, sizes))} |")
    return rows


class _Watched(Histories):
    """Remembers how long its history was after each event."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.sizes: list[int] = []

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = super().send(message, now)
        self.sizes.append(self.entries())
        return effects

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        effects = super().receive(packet, now)
        self.sizes.append(self.entries())
        return effects


def _measured(size: int, fanout: int | None, **options: Any) -> tuple[float, int, float, float]:
    """Of H the mean and the maximum; of stamps the identifiers and the bytes."""
    chosen = HistoriesOptions(**options)
    orders = [_Watched(process, Membership(size), chosen) for process in range(size)]
    history = run(orders, traffic(size, 1500, 1, fanout), 1)
    sizes = [length for order in orders for length in order.sizes]
    stamps = [flight.packet.stamp for flight in history.flights]
    entries = sum(stamp.entries() for stamp in stamps) / len(stamps)
    length = sum(len(encode_stamp(stamp)) for stamp in stamps) / len(stamps)
    return sum(sizes) / len(sizes), max(sizes), entries, length


def history_sizes() -> list[str]:
    """R6.3: the union over what has just arrived lets H grow without bound"""
    rows = []
    for to, size, fanout in (("one", 8, 1), ("one", 16, 1), ("any set", 8, None)):
        for name, options in (
            ("printed", {"union": "arrived"}),
            ("repaired", {"union": "all"}),
            ("repaired, with R6.1", {"carbon_copies": True}),
        ):
            mean, most, entries, length = _measured(size, fanout, **options)
            cells = f"{mean:.1f} | {most} | {entries:.1f} | {length:.0f}"
            rows.append(f"| {size} | {to} | {name} | {cells} |")
    return rows


def left_out() -> list[str]:
    """R9: a member of S need not report to itself"""
    counts = {name: _omissions(name) for name in section4_3.REPAIRS}
    return [
        f"R9 leaves out {counts['own-implied']:,} identifiers instead of {counts['printed']:,}",
        f"R9 leaves out {counts['gateways']:,} identifiers instead of {counts['own-implied']:,}",
    ]


def _omissions(repairs: str) -> int:
    """How often something is left out on the path of four, over all distinct local steps."""
    count = 0

    class Counted(Histories):
        def is_behind(self, entry: Entry, cuts: Any) -> bool:
            nonlocal count
            found = super().is_behind(entry, cuts)
            count += found
            return found

    assert section4_3.explored(PATH, 4, Counted, repairs=repairs).passed
    return count


def one_of_two() -> list[str]:
    """R9: all members of a separator must hear of it"""
    one = section4_3.omissions(section4_3.ONE_OF_S)
    both = section4_3.omissions(section4_3.ALL_OF_S)
    return [
        f"{one} identifiers are left out if processes address one gateway at a time, {both} if both"
    ]


def shared_forwarding() -> list[str]:
    """Chapter 5: order of the hops is not order end to end"""
    with TemporaryDirectory() as folder:
        figure = _figure(Path(folder))
        found = [section5.judged(figure, Path(folder, order.__name__), order) for order in SHARED]
    assert not any(hop for _, hop in found)
    first, second, third = [early for early, _ in found]
    return [f"{first}, {second} and {third} deliveries are early, and no hop is"]


def forwarders() -> list[str]:
    """Chapter 5: order of the hops is not order end to end"""
    rows = []
    with TemporaryDirectory() as folder:
        for forwarding, name in (("one", "one forwarder for each link"), ("all", "all forward")):
            for filters, with_r9 in (("all", "yes"), ("none", "no")):
                scenario = {
                    "protocol": "separators",
                    "topology": _figure(Path(folder)),
                    "attach": ["n1", "n1", "n2", "n2", "n3", "n3"],
                    "messages": 1000,
                    "workload": {"kind": "multicast", "size": 2},
                    "options": {"forwarding": forwarding, "filters": filters},
                    "network": {"delay": "exponential:0.05"},
                }
                summary = simulate(make_scenario(scenario))
                assert summary.violations == 0
                entries, length = summary.hop_stamp_entries.mean, summary.hop_stamp_bytes.mean
                rows.append(
                    f"| {name} | {with_r9} | {summary.hops:,} | {entries:.2f} | {length:.1f} |"
                )
    return rows


def _figure(folder: Path) -> str:
    names = sorted({name for link in LINKS for name in link})
    nodes = "\n".join(f'<node id="{name}"/>' for name in names)
    edges = "\n".join(f'<edge source="{a}" target="{b}"/>' for a, b in LINKS)
    file = folder / "figure.graphml"
    file.write_text(section5.GRAPH.format(nodes=nodes, edges=edges), "utf-8")
    return str(file)
