"""`antecede topology`: a network, and what separates it."""

from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from antecede.cli._plain import Command, CommandGroup
from antecede.cli._shared import JsonFlag, print_json, print_table
from antecede.errors import Misuse, counted
from antecede.files import write_whole
from antecede.message import ProcessSet, members
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.plan import plan_zones
from antecede.overlays.separators.regions import Regions, regions_of
from antecede.overlays.separators.zones import Place, structure
from antecede.topology import Choice, Separator, Topology, attach, choose_separators, load_topology
from antecede.topology.choose import PER_NODE
from antecede.topology.load import GENERATORS
from antecede.topology.picture import draw
from antecede.topology.summary import Summary, summarise

SHOWN = 20
"""Separators listed to a person; --json lists them all."""

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    help="Look at a network and at what separates it.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_KINDS = ", ".join(GENERATORS.values()).replace("[", "\\[")
Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME|GENERATOR",
        help=f"A GraphML file, a network of the Topology Zoo (Abilene), or one of {_KINDS}; "
        "largest: before it keeps the largest part only.",
    ),
]
LargestFlag = Annotated[
    bool, typer.Option("--largest", help="Of a network in pieces, keep the largest part only.")
]


@app.command("show", cls=Command)
def show(
    source: Source,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE.svg", help="Draw it, too.")
    ] = None,
    largest: LargestFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Tell the size and the shape of a network, and draw it.

    Example: antecede topology show Abilene --out abilene.svg
    """
    topology = load_topology(source, "largest" if largest else "keep")
    summary = summarise(topology)
    if out is not None:
        write_whole(out, draw(topology))
    if as_json:
        print_json(msgspec.to_builtins(summary))
    else:
        tell(summary)


def tell(summary: Summary) -> None:
    """The summary for a person."""
    print(f"{summary.name}: {counted(summary.nodes, 'node')}, {counted(summary.links, 'link')}")
    print(f"hosts: {summary.hosts:,}, routers: {summary.routers:,}")
    print(
        f"blocks: {summary.blocks:,}, the largest of {counted(summary.largest_block, 'node')}; "
        f"articulation points: {summary.articulation_points:,}"
    )
    if summary.parts > 1:
        print(f"NOT CONNECTED: {summary.parts:,} parts; --largest keeps the largest")
    diameter = "" if summary.diameter is None else f"diameter: {summary.diameter}, "
    print(f"{diameter}most links of a node: {summary.most_links:,}")
    for note in summary.notes:
        print(f"note: {note}")


@app.command("separators", cls=Command)
def separators(
    source: Source,
    processes: Annotated[
        int,
        typer.Option(min=0, help="Attach this many application processes to every host."),
    ] = 0,
    per_node: Annotated[
        int, typer.Option(min=1, help="How many separators a node keeps at most.")
    ] = PER_NODE,
    routed: Annotated[
        bool,
        typer.Option("--routed", help="List what protocol separators uses on its tree."),
    ] = False,
    regions: Annotated[
        bool,
        typer.Option("--regions", help="List what it uses on shortest ways: routes=shortest."),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE.svg", help="Draw it, the members marked."),
    ] = None,
    largest: LargestFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """List separators of a network that are worth applying, the most even first.

    S separates F from B: towards F a member of S leaves out what concerns B alone, and both ways
    also what concerns F alone towards B. They separate the whole graph, and serve processes that
    address their neighbours: protocol histories with rule R9.

    Protocol separators routes along a tree through the network, and its sets separate the branches
    of that tree. --routed lists these instead; --regions, the regions whose borders filter when it
    takes shortest ways. Both put one process at every host unless --processes says more.

    Example: antecede topology separators Abilene
    """
    topology = load_topology(source, "largest" if largest else "refuse")
    if routed and regions:
        raise Misuse("--routed is about the tree, --regions about shortest ways; give one of them")
    if routed or regions:
        processes = max(processes, 1)
    if processes:
        if not topology.hosts:
            raise Misuse(f"{source}: no node hosts processes")
        at = [node for node in members(topology.hosts) for _ in range(processes)]
        topology = attach(topology, at)
    if regions:
        found = chosen_regions(topology)
        _mark(out, topology, list(found.border))
        if as_json:
            print_json(regions_as_plain(topology, found))
        else:
            list_regions(topology, found)
        return
    if routed:
        sets = routed_sets(topology)
        _mark(out, topology, [place.members for place in sets])
        if as_json:
            print_json(routed_as_plain(topology, sets))
        else:
            list_routed(topology, sets)
        return
    choice = choose_separators(topology, per_node=per_node)
    _mark(out, topology, [separator.members for separator in choice.distinct()])
    if as_json:
        print_json(as_plain(topology, choice))
    else:
        list_separators(topology, choice)


def _mark(out: Path | None, topology: Topology, sets: list[ProcessSet]) -> None:
    """Draw the network with the members of these sets marked, if a picture is wanted."""
    if out is not None:
        marked = 0
        for one in sets:
            marked |= one
        write_whole(out, draw(topology, marked, "members of separators"))


def as_plain(topology: Topology, choice: Choice) -> dict[str, Any]:
    """The separators as JSON."""

    return {
        "topology": topology.name,
        "nodes": topology.size,
        "notes": list(topology.notes),
        "separators": [
            {
                "members": _names(topology, separator.members),
                "front": _names(topology, separator.front),
                "back": _names(topology, separator.back),
                "origin": choice.origins[separator],
                "kept_by": [
                    topology.names[node]
                    for node in members(separator.members)
                    if separator in choice.lists[node]
                ],
            }
            for separator in _ranked(choice)
        ],
    }


def _ranked(choice: Choice) -> list[Separator]:
    """The most even ones first: those with the most pairs of nodes on different sides."""
    return sorted(
        choice.distinct(),
        key=lambda one: (-one.front.bit_count() * one.back.bit_count(), one),
    )


def list_separators(topology: Topology, choice: Choice) -> None:
    """The separators for a person, both directions of a cut in one row."""
    ranked = _ranked(choice)
    kept = set(ranked)
    rows = [
        separator
        for separator in ranked
        if separator < separator.reversed() or separator.reversed() not in kept
    ]
    print_table(
        ("S", "found as", "filters", "F", "B", "|S|", "|F|", "|B|"),
        (
            (
                topology.named(separator.members),
                choice.origins[separator],
                "both ways" if separator.reversed() in kept else "towards F",
                _few(topology, separator.front),
                _few(topology, separator.back),
                *(
                    f"{side.bit_count():,}"
                    for side in (separator.members, separator.front, separator.back)
                ),
            )
            for separator in rows[:SHOWN]
        ),
        text=5,
    )
    if len(rows) > SHOWN:
        print(f"and {len(rows) - SHOWN:,} more; --json lists them all")
    applying = sum(bool(own) for own in choice.lists)
    longest = max(map(len, choice.lists))
    print(
        f"{len(ranked):,} separators of the graph, for histories with rule R9: {applying:,} of "
        f"{topology.size:,} nodes apply some, none more than {longest:,}"
    )
    print("what protocol separators uses: --routed on its tree, --regions on shortest ways")
    for note in topology.notes:
        print(f"note: {note}")


def routed_sets(topology: Topology) -> list[Place]:
    """The sets of the routed overlay that filter, those with the most processes apart first."""
    zones = plan_zones(topology.size, topology.links, topology.hosts)
    places = structure(topology.size, zones, topology.links).places
    sets = {place.members: place for place in places if len(place.zones) > 1}
    return sorted(sets.values(), key=lambda place: (-_pairs_apart(place), place.members))


def _sides(place: Place) -> list[ProcessSet]:
    """What lies beyond each zone of a set: F in turn, while B is all the others."""
    return [zone.beyond(own) for zone, own in place.zones]


def _pairs_apart(place: Place) -> int:
    sizes = [side.bit_count() for side in _sides(place)]
    return sum(sizes) ** 2 - sum(size**2 for size in sizes)


def routed_as_plain(topology: Topology, sets: list[Place]) -> dict[str, Any]:
    """The sets of the routed overlay as JSON."""
    return {
        "topology": topology.name,
        "nodes": topology.size,
        "notes": list(topology.notes),
        "sets": [
            {
                "members": _names(topology, place.members),
                "sides": [_names(topology, side) for side in _sides(place)],
            }
            for place in sets
        ],
    }


def list_routed(topology: Topology, sets: list[Place]) -> None:
    """The sets of the routed overlay for a person."""
    print_table(
        ("S", "keeps apart", "|S|", "sides"),
        (
            (
                topology.named(place.members),
                " | ".join(_few(topology, side) for side in _sides(place)),
                f"{place.members.bit_count():,}",
                f"{len(place.zones):,}",
            )
            for place in sets[:SHOWN]
        ),
        text=2,
    )
    if len(sets) > SHOWN:
        print(f"and {len(sets) - SHOWN:,} more; --json lists them all")
    print(f"{len(sets):,} sets of the routed overlay filter; towards each side F, B is the others")
    for note in topology.notes:
        print(f"note: {note}")


def chosen_regions(topology: Topology) -> Regions:
    """Those that `routes=shortest` chooses on a network."""
    options = SeparatorsOptions(links=topology.links)
    return regions_of(topology.neighbours, topology.hosts, options)


def regions_as_plain(topology: Topology, regions: Regions) -> dict[str, Any]:
    """Regions as JSON."""
    return {
        "topology": topology.name,
        "nodes": topology.size,
        "notes": list(topology.notes),
        "regions": [
            {"nodes": _names(topology, inside), "border": _names(topology, border)}
            for inside, border in zip(regions.inside, regions.border, strict=True)
        ],
    }


def list_regions(topology: Topology, regions: Regions) -> None:
    """Regions for a person."""
    pairs = list(zip(regions.inside, regions.border, strict=True))
    print_table(
        ("border", "region", "|border|", "|region|", "processes"),
        (
            (
                topology.named(border),
                _few(topology, inside),
                f"{border.bit_count():,}",
                f"{inside.bit_count():,}",
                f"{(inside & topology.hosts).bit_count():,}",
            )
            for inside, border in pairs[:SHOWN]
        ),
        text=2,
    )
    if len(pairs) > SHOWN:
        print(f"and {len(pairs) - SHOWN:,} more; --json lists them all")
    print(f"{len(pairs):,} regions filter on shortest ways; into a region goes what concerns it")
    for note in topology.notes:
        print(f"note: {note}")


def _names(topology: Topology, nodes: ProcessSet) -> list[str]:
    return [topology.names[node] for node in members(nodes)]


def _few(topology: Topology, nodes: ProcessSet) -> str:
    """The first name of a set and how many more."""
    more = nodes.bit_count() - 1
    return topology.names[next(members(nodes))] + (f" and {more:,} more" if more else "")
