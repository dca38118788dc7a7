"""`python -m bench.explored [NAME ...]`: how far the explorer went, as docs/errata.md has it.

Prints the rows of its tables, or of those that are named: pairs, failures, bounded, networks,
blocks. A row that does not stand on the page is marked, and the exit status is then 1. All is
counted; the larger rows take minutes each, and all of them some hours. With `--rows N`, only the
first rows of each table.
"""

import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from antecede.explore import Exploration, Settings, explore
from antecede.message import members, process_set
from tests.papers import neighbours
from tests.papers import test_pairs_section4_3_exhaustive as recovery
from tests.papers.test_separators_4_3_explored import ALL_OF_S, explored

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errata.md"
Row = tuple[str, Callable[[], str]]
"""How it begins, and the rest of it."""


def _counted(explored: Callable[[], Exploration]) -> str:
    found = explored()
    _check(found)
    return f"{found.programs:,} | {found.states:,} | {found.schedules:,}"


def _check(found: Exploration) -> None:
    if not found.passed:
        raise SystemExit(f"not as it should be: {found.failure or found.incomplete}")


def pairs() -> Iterator[Row]:
    sizes = [(3, 6, "unicast"), (4, 6, "unicast"), (5, 5, "unicast")]
    sizes += [(3, 5, "sets"), (4, 4, "sets"), (3, 4, "sets-and-self")]
    words = {
        "unicast": "one site",
        "sets": "any set of others",
        "sets-and-self": "any set, the sender included or not",
    }
    for sites, messages, kind in sizes:
        found = partial(explore, "pairs", sites, messages, addressing=kind)
        yield f"| {sites}, up to {messages}, {words[kind]} |", partial(_counted, found)


def failures() -> Iterator[Row]:
    """States, ends, and how many are stuck as printed and repaired."""

    def row(sends: tuple[int, int, int]) -> str:
        states = found = printed = repaired = 0
        for program in recovery._programs(*sends):
            seen: set[object] = set()
            for moves in recovery._ends(program, seen):
                found += 1
                printed += recovery._is_stuck(recovery._play(program, moves), printed=True)
                repaired += recovery._is_stuck(recovery._play(program, moves), printed=False)
            states += len(seen)
        return f"{states:,} | {found:,} | {printed:,} | {repaired:,}"

    for sends in ((2, 1, 1), (3, 0, 1), (3, 1, 1), (4, 0, 1)):
        yield f"| {', '.join(map(str, sends))} |", partial(row, sends)


def bounded() -> Iterator[Row]:
    def row(k: int | list[int]) -> str:
        found = []
        for messages, kind in ((4, "sets"), (5, "unicast")):
            if isinstance(k, list) and kind == "unicast":
                found.append("")
                continue
            one = explore("bounded", 3, messages, addressing=kind, options={"k": k}, symmetry=False)
            _check(one)
            programs = f"{one.programs:,} programs, " if k == 3 else ""
            found.append(f"{programs}{one.states:,} states")
        return " | ".join(found)

    ks: dict[str, int | list[int]] = {"n = 3": 3, "n + 1 = 4": 4, "2n = 6": 6, "n² = 9": 9}
    ks["3, 4 and 9, one each"] = [3, 4, 9]
    for title, k in ks.items():
        yield f"| {title} |", partial(row, k)


def networks() -> Iterator[Row]:
    nets = {
        "path of four": (neighbours.PATH, 5, None),
        "triangle with a tail": (neighbours.TAIL, 4, None),
        "five, two gateways to two processes": (neighbours.FIVE, 4, None),
        "the same, gateways addressed together": (neighbours.FIVE, 5, ALL_OF_S),
        "nested separators on six": (neighbours.NESTED, 5, None),
    }
    for title, (net, messages, choices) in nets.items():
        found = partial(explored, net, messages, choices=choices)
        yield f"| {title} | {messages} |", partial(_counted, found)


def blocks() -> Iterator[Row]:
    def row(groups: list[int], messages: int) -> str:
        return " | ".join(states(protocol, groups, messages) for protocol in protocols)

    def states(protocol: str, groups: list[int], messages: int) -> str:
        size = max(member for group in groups for member in members(group)) + 1
        if (protocol, size) == ("blocks-slow", 6):
            return "not finished"
        settings, options = Settings(max_wakes=8), {"silence_s": 0}
        found = explore(protocol, size, messages, groups=groups, options=options, settings=settings)
        _check(found)
        return f"{found.states:,}"

    shapes = {"{0,1,2}": 5, "{0,1,2} {0,1}": 4, "{0,1,2} twice": 3, "{0,1} {1,2} {2,0}": 5}
    shapes |= {"{0,1} {1,2} {2,3} {3,0}": 4, "{0,1,2} {1,2,3}": 3, "{0,1,2} {2,3,4} {4,5,0}": 3}
    protocols = ("blocks-slow", "blocks-fast", "blocks-relative")
    for shape, messages in shapes.items():
        groups = [
            process_set(map(int, group.strip("{}").split(",")))
            for group in shape.removesuffix(" twice").split(" ")
        ]
        groups *= 2 if shape.endswith("twice") else 1
        yield f"| {shape} | {messages} |", partial(row, groups, messages)


TABLES: dict[str, Callable[[], Iterator[Row]]] = {
    table.__name__: table for table in (pairs, failures, bounded, networks, blocks)
}


def main(arguments: list[str] | None = None) -> int:
    parser = ArgumentParser("python -m bench.explored", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(TABLES))
    parser.add_argument("--rows", type=int, help="only the first rows of each table")
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in TABLES]
    if unknown:
        parser.error(f"no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    page = PAGE.read_text("utf-8").splitlines()
    missing = 0
    for name in chosen.names or TABLES:
        print(f"\n{name}")
        for start, rest in list(TABLES[name]())[: chosen.rows]:
            line = f"{start} {rest()} |".replace("  ", " ")
            is_there = line in page
            missing += not is_there
            print(line + ("" if is_there else "   (not on the page)"), flush=True)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
