"""`python -m bench.zoo [--messages M] [--without-up-to NODES]`: what topological timestamps save
on the networks of the Topology Zoo.

Writes docs/results/separators-zoo.md and .svg. Everything is counted on seeded runs: the same
figures come out on every machine, in some minutes.
"""

import argparse
from collections.abc import Sequence
from statistics import median, quantiles
from typing import Any

import msgspec

from antecede.message import Membership, members
from antecede.topology import Topology, attach, load_topology, zoo
from antecede.topology.blocks import find_blocks
from antecede.topology.summary import articulation_points
from bench.described import wrapped
from bench.docs import ROOT, markdown
from bench.traffic import Traffic, mostly_local

PAGE = ROOT / "docs" / "results" / "separators-zoo.md"
PICTURE = PAGE.with_suffix(".svg")
PER_NODE = 2
LOCALITY = 0.9
MESSAGES = 6
LARGEST = 80
"""The most nodes of a network that is run without R9, too."""
SHOWN = 10
GROWTH = ("Abilene", "AttMpls", "Geant2012")
LONGER = (1, 2, 4, 8)
"""Runs that are so many times as long show whether a figure has settled."""

INTRODUCTION = """# What separators save on networks that exist

Written by `python -m bench.zoo`; do not edit. Everything is counted on seeded runs, so the same
figures come out everywhere.

The networks are those of the Internet Topology Zoo that ship with Antecede; of one in pieces, the
largest piece. Two application processes live at every node that hosts. Nine messages of ten go to a
process that is near (at the same node, or at one that is linked to it), the tenth to any process.
The protocol is `separators`: messages travel hop by hop along a tree through the network, and every
hop message carries a stamp. Counted are the elements of these stamps, with rule R9 at every node
and without it; everything else is the same.

A network has *separators of its own* if a single node can cut it (an articulation point). Where
there is none, the servers of the nodes still separate their processes from the rest, and the tree
that messages take has its inner nodes; so R9 applies on every network.
"""


class Size(msgspec.Struct, frozen=True):
    """Elements and bytes of a hop message's stamp, mean."""

    elements: float
    stamp_bytes: float


class Found(msgspec.Struct, frozen=True):
    """The stamps on a network, without R9, where that was run, and with it."""

    name: str
    nodes: int
    links: int
    cuts: int
    without: Size | None
    with_rule: Size

    @property
    def saving(self) -> float:
        """The part of the elements that R9 leaves out; 0 where that is not known."""
        return 1 - self.with_rule.elements / self.without.elements if self.without else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description="separators on the Topology Zoo")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="messages of each process")
    parser.add_argument(
        "--without-up-to", type=int, default=LARGEST, help="the most nodes to run without R9, too"
    )
    chosen = parser.parse_args()
    found = [
        measure(topology, chosen.messages, chosen.without_up_to)
        for topology in (load_topology(name, "largest") for name in zoo())
    ]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(wrapped(page(found, chosen.messages)), "utf-8")
    PICTURE.write_text(draw(found), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)} and {PICTURE.name}, {len(found)} networks")


def measure(topology: Topology, messages: int, largest: int = LARGEST) -> Found:
    return Found(
        name=topology.name,
        nodes=topology.size,
        links=len(topology.links),
        cuts=articulation_points(find_blocks(topology)).bit_count(),
        without=run(topology, messages, "none") if topology.size <= largest else None,
        with_rule=run(topology, messages, "all"),
    )


def run(topology: Topology, messages: int, filters: str) -> Size:
    """So many messages of each process, with about one packet for each in flight."""
    homes = [node for node in members(topology.hosts) for _ in range(PER_NODE)]
    size = len(homes)
    extended = attach(topology, homes)
    near = [
        [
            other
            for other, there in enumerate(homes)
            if (topology.neighbours[home] | 1 << home) >> there & 1 and other != process
        ]
        for process, home in enumerate(homes)
    ]
    options: dict[str, Any] = {"links": extended.links, "applications": size, "filters": filters}
    choose = mostly_local(near, LOCALITY)
    traffic = Traffic("separators", Membership(extended.size), choose, options=options)
    measured = traffic.run(messages * size, size)
    return Size(measured.entries / measured.packets, measured.stamp_bytes / measured.packets)


def page(found: Sequence[Found], messages: int) -> str:
    both = [one for one in found if one.without]
    ranked = sorted(both, key=lambda one: (-one.saving, one.name))
    with_cuts = [one for one in both if one.cuts]
    groups = {
        f"all {len(both)} run both ways": both,
        f"{len(with_cuts)} with separators of their own": with_cuts,
        f"{len(both) - len(with_cuts)} without": [one for one in both if not one.cuts],
        "up to 20 nodes": [one for one in both if one.nodes <= 20],
        "21 to 50 nodes": [one for one in both if 20 < one.nodes <= 50],
        "more than 50 nodes": [one for one in both if one.nodes > 50],
        f"{len(found) - len(both)} run with R9 alone": [one for one in found if not one.without],
    }
    return (
        INTRODUCTION
        + f"\n{len(found)} networks, {messages} messages a process. On {len(found) - len(both)} "
        f"large ones histories without R9 take too long; these are run with R9 alone (–).\n"
        + "\n## How much is saved\n\nThe part of the elements of a stamp that R9 leaves out, by "
        "quantiles over networks; and the median elements and bytes of a stamp.\n\n"
        + summary(groups)
        + growth(messages)
        + f"\n![Elements of a stamp against nodes]({PICTURE.name})\n"
        + f"\n## The {SHOWN} that save most\n\n"
        + table(ranked[:SHOWN])
        + f"\n## The {SHOWN} that save least\n\n"
        + table(ranked[::-1][:SHOWN])
        + "\n## All\n\n"
        + table(sorted(found, key=lambda one: one.name.casefold()))
    )


def growth(messages: int) -> str:
    """Whether the figures have settled after so many messages."""
    rows = []
    for name in GROWTH:
        topology = load_topology(name, "largest")
        for title, filters in (("without R9", "none"), ("with", "all")):
            sizes = [run(topology, times * messages, filters) for times in LONGER]
            rows.append([name, title, *(f"{one.elements:.2f}" for one in sizes)])
    heads = ("elements of a stamp", "rule", *(f"{times * messages} messages" for times in LONGER))
    return (
        f"\n{messages} messages a process are few for the figures without R9, which may still be "
        f"growing. On some networks, longer runs:\n\n" + markdown(heads, rows)
    )


def summary(groups: dict[str, list[Found]]) -> str:
    rows = []
    for title, group in groups.items():
        if len(group) < 2:
            continue
        without = [one.without for one in group if one.without]
        with_rule = [one.with_rule for one in group]
        cells = ["–"] * 5
        if without:
            savings = sorted(one.saving for one in group)
            low, middle, high = quantiles(savings, n=4, method="inclusive")
            cells = [f"{value:.0%}" for value in (savings[0], low, middle, high, savings[-1])]
        rows.append(
            [
                title,
                *cells,
                *(_median([one.elements for one in sizes], 1) for sizes in (without, with_rule)),
                *(_median([one.stamp_bytes for one in sizes], 0) for sizes in (without, with_rule)),
            ]
        )
    heads = ("networks", "least", "lower quarter", "median", "upper quarter", "most")
    more = ("elements without R9", "with", "bytes without R9", "with")
    return markdown((*heads, *more), rows)


def _median(values: list[float], digits: int) -> str:
    return f"{median(values):.{digits}f}" if values else "–"


def table(found: Sequence[Found]) -> str:
    rows = [
        [
            one.name,
            *map(str, (one.nodes, one.links, one.cuts)),
            f"{one.without.elements:.2f}" if one.without else "–",
            f"{one.with_rule.elements:.2f}",
            f"{one.without.stamp_bytes:.0f}" if one.without else "–",
            f"{one.with_rule.stamp_bytes:.0f}",
            f"{one.saving:.0%}" if one.without else "–",
        ]
        for one in found
    ]
    heads = ("network", "nodes", "links", "articulation points", "elements without R9", "with")
    return markdown((*heads, "bytes without R9", "with", "saved"), rows)


WIDTH, HEIGHT, LEFT, BELOW = 900, 520, 60, 50
_STYLE = """\
  line { stroke: #dde3e9 } text { font: 12px sans-serif; fill: #1a202c }
  .without { fill: #c53030; fill-opacity: 0.6 } .with { fill: #2b6cb0; fill-opacity: 0.6 }"""


def draw(found: Sequence[Found]) -> str:
    """Elements of a stamp against nodes: two dots a network, one without R9 and one with it. Where
    a network was run with R9 alone, the table has it, and the picture has room for the others."""
    dots = [
        (one, kind, size.elements)
        for one in sorted(found, key=lambda one: one.name)
        for kind, size in (("without", one.without), ("with", one.with_rule))
        if size and one.without
    ]
    most_nodes = max(one.nodes for one, _, _ in dots)
    most = max(elements for _, _, elements in dots)

    def across(nodes: float) -> float:
        return LEFT + nodes / most_nodes * (WIDTH - LEFT - 20)

    def up(elements: float) -> float:
        return HEIGHT - BELOW - elements / most * (HEIGHT - BELOW - 40)

    shapes = []
    for step in range(5):
        nodes, elements = most_nodes * step / 4, most * step / 4
        x, y = across(nodes), up(elements)
        shapes += [
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 20}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{elements:.0f}</text>',
            f'<text x="{x:.1f}" y="{HEIGHT - 30}" text-anchor="middle">{nodes:.0f}</text>',
        ]
    for one, kind, elements in dots:
        shapes.append(
            f'<circle class="{kind}" cx="{across(one.nodes):.1f}" cy="{up(elements):.1f}" '
            f'r="3"><title>{one.name}: {elements:.2f}</title></circle>'
        )
    caption = "Elements of a hop message's stamp, by nodes of the network"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            f"<style>\n{_STYLE}\n</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="22">{caption}: without R9 (red) and with it (blue)</text>',
            *shapes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main()
