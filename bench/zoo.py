"""`python -m bench.zoo [--book FOLDER] [--part K/N] [--seconds S] [--page]`: what causal order
costs on networks that exist.

Runs every scheme of `bench.ways` on the networks of the Topology Zoo, writes each figure into the
book as soon as it is known, and docs/results/separators-zoo.md and .svg when all are there. The
same command again does only what is missing; with `--part 1/2` and `--part 2/2` two processes share
the work. Networks come in an order of chance, so that after `--seconds` of CPU time the book has a
fair sample; `--page` writes the page of that. Everything is counted on seeded runs: the same
figures come out on every machine. The book does not see changes to the code: a new revision takes a
new folder.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from math import inf, log
from pathlib import Path
from statistics import median, quantiles
from time import process_time
from typing import NamedTuple
from xml.sax.saxutils import escape

import msgspec

from antecede.campaigns.steady import FEWEST, TOLERANCE
from antecede.topology import load_topology, zoo
from antecede.topology.blocks import find_blocks
from antecede.topology.summary import articulation_points
from bench.described import wrapped
from bench.docs import ROOT, markdown
from bench.made import signed
from bench.ways import HOP_S, LOCAL, RATE, SCHEMES, Cost, cost

PAGE = ROOT / "docs" / "results" / "separators-zoo.md"
PICTURE = PAGE.with_suffix(".svg")
BOOK = ROOT / "build" / "zoo"
SMALL, ROUNDS = 20, 4
"""On networks of at most so many nodes each process sends so many messages for each node: contexts
grow until most pairs have talked."""
TOTAL, LEAST = 800, 8
"""Messages on larger networks: so many in all, but so many of each process at least."""
HUGE = 200
"""On networks with more nodes there are that many in all: else the runs of a single one would take
as long as those of all others."""
FLOODED = 200
"""Messages in all by flooding, where nothing grows."""


class Task(NamedTuple):
    network: str
    scheme: str
    traffic: str
    messages: int
    seed: int


class Entry(msgspec.Struct, frozen=True):
    """A figure in the book."""

    task: Task
    cost: Cost


class Size(NamedTuple):
    nodes: int
    links: int
    cuts: int
    """Articulation points."""


def main() -> None:
    parser = argparse.ArgumentParser(description="causal order on the Topology Zoo")
    parser.add_argument("--book", type=Path, default=BOOK, help="the folder of the figures")
    parser.add_argument("--part", default="1/1", help="this part of the work: K/N")
    parser.add_argument("--seconds", type=float, default=inf, help="stop after this CPU time")
    parser.add_argument("--page", action="store_true", help="only write the page, of what is there")
    chosen = parser.parse_args()
    part, parts = map(int, chosen.part.split("/"))
    sizes = {name: size_of(name) for name in zoo()}
    todo = list(tasks(sizes))
    book = read(chosen.book)
    if not chosen.page:
        own = [task for place, task in enumerate(todo) if place % parts == part - 1]
        left = [task for task in own if task not in book]
        work(left, chosen.book / f"part-{part}-of-{parts}.jsonl", chosen.seconds)
        book = read(chosen.book)
    every = set(todo)
    missing = len(every - book.keys())
    if missing and not chosen.page:
        sys.exit(f"{missing:,} of {len(every):,} runs are missing; give the other parts, or --page")
    figures = Figures(sizes, book)
    PAGE.write_text(signed(wrapped(page(figures, missing, len(every)))), "utf-8")
    PICTURE.write_text(draw(figures), "utf-8")
    print(f"written: {PAGE.relative_to(ROOT)} and {PICTURE.name}")


# The book.


def size_of(name: str) -> Size:
    topology = load_topology(name, "largest")
    cuts = articulation_points(find_blocks(topology)).bit_count()
    return Size(topology.size, len(topology.links), cuts)


def messages(scheme: str, nodes: int) -> int:
    """Of a run on a network of so many nodes."""
    if scheme == "flood":
        return FLOODED
    if nodes <= SMALL:
        return max(ROUNDS * nodes * nodes, 2 * FEWEST)
    return TOTAL if nodes > HUGE else max(TOTAL, nodes * LEAST)


def tasks(sizes: dict[str, Size]) -> Iterator[Task]:
    """Every scheme on every network: the small ones first, huge ones last, otherwise in an order
    of chance."""

    def place(name: str) -> tuple[bool, bool, bytes]:
        nodes = sizes[name].nodes
        return nodes > SMALL, nodes > HUGE, sha256(name.encode()).digest()

    for name in sorted(sizes, key=place):
        for traffic in LOCAL:
            for scheme in SCHEMES:
                yield Task(name, scheme, traffic, messages(scheme, sizes[name].nodes), 1)


def read(folder: Path) -> dict[Task, Cost]:
    decode = msgspec.json.Decoder(Entry).decode
    found = {}
    for file in sorted(folder.glob("*.jsonl")):
        for line in file.read_text("utf-8").splitlines():
            if line.endswith("}"):  # the last one may have been cut off
                entry = decode(line)
                found[entry.task] = entry.cost
    return found


def work(left: Sequence[Task], file: Path, seconds: float) -> None:
    """Make these runs, as many as fit into the time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("ab") as book:
        for place, task in enumerate(left, 1):
            if process_time() > seconds:
                return
            book.write(b"\n" + msgspec.json.encode(Entry(task, cost(*task))))
            book.flush()
            if place % 50 == 0 or place == len(left):
                print(f"{place:,} of {len(left):,}: {task.network}", flush=True)


# The page.

TREE, BARE = "tree, R9", "FIFO tree"
TITLES = {BARE: "tree", TREE: "tree", "shortest, R9": "shortest"} | {
    scheme: scheme for scheme in SCHEMES if scheme not in ("tree", "shortest")
}
"""The rows of the page, and the runs that they are made of: on a tree of single routers with FIFO
links no stamp is needed at all."""
INTRODUCTION = f"""# Causal order on networks that exist

Written by `python -m bench.zoo`; do not edit. Everything is counted on seeded runs, so the same
figures come out everywhere.

The networks are those of the Internet Topology Zoo that ship with Antecede; of one in pieces, the
largest piece. One application process lives at every node, sends {RATE:g} messages a second, each
to one process, and a hop takes {HOP_S * 1e3:g} ms on average. *Local*: nine messages of ten go to
a node that is linked to the sender's (`local = 0.9`), the others to any; *global*: all go to any.
Counted are the bytes of ordering information that a message causes on all its hops together, with
what a protocol sends by itself; and the *stretch*, which is the delay from the send to the delivery
over that of a shortest way without any waiting.

- **{BARE}**: hop by hop along a tree of shortest paths, from router to router, over FIFO links.
  That alone is causal order, without any stamp: whatever a router forwards later comes later on the
  only way there is. This is the baseline. It pays with longer ways, and with every router that
  fails.
- **{TREE}**: the same tree with the stamps of rules R1 to R9 (`routes=tree`). On FIFO links and
  single routers they are superfluous; they are what links that reorder, and sets of routers that
  stand in for each other, cost on a tree.
- **shortest, R9**: all links, shortest ways, any routes (`routes=shortest`): contexts that travel
  with the messages, filtered by R9 at the borders of regions. **shortest, no R9**: the same with
  `regions=[]`, unfiltered.
- **flood**: headers over all links, FIFO, no stamps (`routes=flood`).
- **histories**, **optimal**: end to end among the applications, which know nothing of the network;
  a stamp travels all hops of a shortest way.
"""


class Figures:
    """What the book says, by row of the page."""

    def __init__(self, sizes: dict[str, Size], book: dict[Task, Cost]) -> None:
        self.sizes = sizes
        self._book = book

    def of(self, name: str, title: str, traffic: str) -> Cost | None:
        """None where the book has nothing."""
        scheme = TITLES[title]
        length = messages(scheme, self.sizes[name].nodes)
        found = self._book.get(Task(name, scheme, traffic, length, 1))
        if found is not None and title == BARE:
            return found._replace(stamp_bytes=0.0, drift=0.0, is_drifting=False)
        return found

    def all(self, names: Sequence[str], title: str, traffic: str) -> list[Cost]:
        found = (self.of(name, title, traffic) for name in names)
        return [one for one in found if one is not None]

    def wins(self, names: Sequence[str], title: str, others: Sequence[str], traffic: str) -> str:
        """On how many of these networks one takes fewer bytes than all the others."""
        won = known = 0
        for name in names:
            own, *rest = (self.of(name, one, traffic) for one in (title, *others))
            sizes = [one.stamp_bytes for one in rest if one is not None]
            if own is not None and len(sizes) == len(others):
                known += 1
                won += own.stamp_bytes < min(sizes)
        return f"{won} of {known}"


def page(figures: Figures, missing: int, total: int) -> str:
    sizes = figures.sizes
    gaps = f" {missing:,} of {total:,} runs are still to be made (–)." if missing else ""
    return (
        INTRODUCTION
        + f"\n{len(sizes)} networks. Contexts grow until most pairs have talked. So on the "
        f"{len(small(sizes))} networks of up to {SMALL} nodes each process sends {ROUNDS} messages "
        f"for each node there is; on larger ones {TOTAL} are sent in all, or {LEAST} by each "
        f"process if that is more (but on those of more than {HUGE} nodes), which is too few to be "
        f"steady there. The first half of a run is dropped, and the second is held to "
        f"the laboratory's rule of drift (two halves of ten batches; more than {TOLERANCE:.0%} and "
        f"more than chance, 99 %): † says that it drifts, and a figure that grows is a lower bound."
        f"{gaps}"
        "\n\n## What a message costs\n\nMedians over the networks, with quartiles; *drift*: on how "
        f"many of them the bytes drift.\n\nUp to {SMALL} nodes:\n\n"
        + summary(figures, small(sizes))
        + "\nLarger ones:\n\n"
        + summary(figures, [name for name in sizes if name not in small(sizes)])
        + verdict(figures)
        + f"\n![Bytes a message against nodes]({PICTURE.name})\n"
        + "\n## All networks\n\nBytes a message, local traffic / global traffic; †: they drift. "
        "Stretch likewise, of the tree and of shortest ways with R9.\n\n" + table(figures)
    )


def small(sizes: dict[str, Size]) -> list[str]:
    """The networks whose runs are long enough to be steady."""
    return [name for name, size in sizes.items() if size.nodes <= SMALL]


def summary(figures: Figures, names: Sequence[str]) -> str:
    rows = []
    for title in TITLES:
        cells = []
        for traffic in LOCAL:
            found = figures.all(names, title, traffic)
            sizes = [one.stamp_bytes for one in found]
            drifting = sum(one.is_drifting for one in found)
            cells += [
                _quartiles(sizes),
                f"{median(one.stretch for one in found):.2f}" if found else "–",
                f"{drifting} of {len(found)}",
            ]
        rows.append([title, *cells])
    heads = [f"{traffic}: {what}" for traffic in LOCAL for what in ("bytes", "stretch", "drift")]
    return markdown(("scheme", *heads), rows)


def _quartiles(values: Sequence[float]) -> str:
    if len(values) < 2:
        return "–"
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return f"{middle:.0f} ({low:.0f} to {high:.0f})"


def verdict(figures: Figures) -> str:
    """In one sentence, from the networks whose runs are long enough."""
    names = small(figures.sizes)
    slow, quick = (
        median(one.stretch for one in figures.all(names, title, "local"))
        for title in (BARE, "shortest, R9")
    )
    stamped, plain = (
        median(one.stamp_bytes for one in figures.all(names, title, "local"))
        for title in (TREE, "optimal")
    )
    least = ("optimal", "histories")

    def wins(title: str, others: Sequence[str], where: Sequence[str] = names) -> str:
        return " and on ".join(
            f"{figures.wins(where, title, others, traffic)} with {traffic} traffic"
            for traffic in LOCAL
        )

    larger = [name for name in figures.sizes if name not in names]
    treelike = [name for name in names if figures.sizes[name].links <= figures.sizes[name].nodes]
    meshed = [name for name in names if name not in treelike]

    return (
        f"\n**When separators pay.** Where links are FIFO and routers single, a FIFO tree is "
        f"enough: it needs no stamp and costs only its longer ways (stretch {slow:.2f} in the "
        f"median instead of {quick:.2f}, local traffic); separators pay on a tree whose links "
        f"reorder or whose routers stand in for each other ({stamped:.0f} bytes a message instead "
        f"of {plain:.0f} of `optimal` end to end), and on shortest ways, up to {SMALL} nodes, only "
        f"for global traffic on networks that are trees or nearly so: of those with at most one "
        f"link more than a tree they take fewer bytes than both protocols that go end to end on "
        f"{wins('shortest, R9', least, treelike)}, of the others on "
        f"{wins('shortest, R9', least, meshed)}.\n\n"
        f"Of the larger ones that were run they do on {wins('shortest, R9', least, larger)}; "
        f"their runs are short, and what grows is a lower bound.\n\n"
        f"R9 on shortest ways takes fewer bytes than the same without it on "
        f"{wins('shortest, R9', ['shortest, no R9'])}. The tree with R9 takes fewer than both "
        f"protocols that go end to end on {wins(TREE, least)}.\n"
    )


def table(figures: Figures) -> str:
    shown = [title for title in TITLES if title != BARE]
    rows = []
    for name in sorted(figures.sizes, key=str.casefold):
        size = figures.sizes[name]
        cells = [
            " / ".join(_cell(figures.of(name, title, traffic)) for traffic in LOCAL)
            for title in shown
        ]
        slow = [
            " / ".join(
                "–" if (one := figures.of(name, title, traffic)) is None else f"{one.stretch:.1f}"
                for traffic in LOCAL
            )
            for title in (BARE, "shortest, R9")
        ]
        rows.append([name, *map(str, size), *cells, *slow])
    heads = ("network", "nodes", "links", "articulation points", *shown)
    return markdown((*heads, "stretch of the tree", "of shortest ways"), rows)


def _cell(found: Cost | None) -> str:
    if found is None:
        return "–"
    return f"{found.stamp_bytes:.0f}" + ("†" if found.is_drifting else "")


WIDTH, HEIGHT, LEFT, BELOW = 900, 520, 60, 50
DRAWN = {TREE: "#2b6cb0", "shortest, R9": "#2f855a", "optimal": "#c53030"}
WIDEST, TALLEST = 200, 3000


def draw(figures: Figures) -> str:
    """Bytes a message against nodes, local traffic, on logarithmic scales."""

    def across(nodes: float) -> float:
        return LEFT + log(nodes / 4) / log(WIDEST / 4) * (WIDTH - LEFT - 20)

    def up(size: float) -> float:
        return HEIGHT - BELOW - log(size / 10) / log(TALLEST / 10) * (HEIGHT - BELOW - 40)

    shapes = []
    for size in (10, 30, 100, 300, 1000, 3000):
        y = up(size)
        shapes += [
            f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - 20}" y2="{y:.1f}"/>',
            f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{size}</text>',
        ]
    for nodes in (5, 10, 20, 50, 100, 200):
        x = across(nodes)
        shapes.append(f'<text x="{x:.1f}" y="{HEIGHT - 30}" text-anchor="middle">{nodes}</text>')
    for title, colour in DRAWN.items():
        for name in sorted(figures.sizes):
            found, nodes = figures.of(name, title, "local"), figures.sizes[name].nodes
            if found is None or nodes > WIDEST or not 10 <= found.stamp_bytes <= TALLEST:
                continue
            shapes.append(
                f'<circle fill="{colour}" fill-opacity="0.6" cx="{across(nodes):.1f}" '
                f'cy="{up(found.stamp_bytes):.1f}" r="3"><title>{escape(name)}: '
                f"{found.stamp_bytes:.0f}</title></circle>"
            )
    words = ", ".join(
        f'<tspan fill="{colour}">{escape(title)}</tspan>' for title, colour in DRAWN.items()
    )
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
            "<style>line { stroke: #dde3e9 } text { font: 12px sans-serif; fill: #1a202c }</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{LEFT}" y="22">Bytes a message, by nodes, local traffic: {words}</text>',
            *shapes,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    main()
