"""A topology as an SVG picture, drawn the same way every time.

Nodes stand where the file says. One without a place stands amid its neighbours; where no node has a
place, the network is drawn as circles around its busiest node, each subtree in a sector of its own.
"""

from collections import Counter
from math import cos, pi, radians, sin
from xml.sax.saxutils import escape

from antecede.message import ProcessSet, members
from antecede.topology.blocks import find_blocks
from antecede.topology.model import Place, Topology
from antecede.topology.summary import articulation_points

WIDTH = 1000.0
HEIGHT = 700.0
MARGIN = 50.0
MOST_LABELS = 60
"""With more nodes than this their names appear only under the pointer."""

_STYLE = """\
  line { stroke: #9aa5b1; stroke-width: 1 }
  .host { fill: #2b6cb0 } .router { fill: #4a5568 } .cut { fill: #c53030 }
  .marked { stroke: #dd6b20; stroke-width: 4 }
  text { font: 11px sans-serif; fill: #1a202c }"""


def draw(topology: Topology, marked: ProcessSet = 0, meaning: str = "") -> str:
    """The picture. Circles host, squares only forward, red nodes are articulation points. `marked`
    nodes have an orange rim, and the caption says what that means."""
    cuts = articulation_points(find_blocks(topology))
    points = _fit(lay_out(topology))
    radius = 6 if topology.size <= MOST_LABELS else 3
    shapes = []
    for first, second in topology.links:
        (x1, y1), (x2, y2) = points[first], points[second]
        shapes.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')
    for node, (x, y) in enumerate(points):
        name = escape(topology.names[node])
        host = topology.hosts >> node & 1
        look = "cut" if cuts >> node & 1 else "host" if host else "router"
        if marked >> node & 1:
            look += " marked"
        if host:
            shape = f'circle class="{look}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"'
        else:
            corner = f'x="{x - radius:.1f}" y="{y - radius:.1f}"'
            shape = f'rect class="{look}" {corner} width="{2 * radius}" height="{2 * radius}"'
        shapes.append(f"<{shape}><title>{name}</title></{shape.split()[0]}>")
        if topology.size <= MOST_LABELS:
            shapes.append(f'<text x="{x + radius + 3:.1f}" y="{y + 4:.1f}">{name}</text>')
    caption = escape(
        f"{topology.name}: {topology.size} nodes, {len(topology.links)} links, "
        f"{cuts.bit_count()} articulation points (red)"
    )
    if meaning:
        caption += escape(f", {marked.bit_count()} {meaning} (orange rim)")
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}">',
            f"<style>\n{_STYLE}\n</style>",
            '<rect width="100%" height="100%" fill="white"/>',
            f'<text x="{MARGIN:.0f}" y="24">{caption}</text>',
            *shapes,
            "</svg>\n",
        ]
    )


def lay_out(topology: Topology) -> list[Place]:
    """Where each node stands, in any unit, y upwards."""
    known = {node: place for node, place in enumerate(topology.places) if place is not None}
    if not known:
        return _spread(_circles(topology))
    middle = sum(place[1] for place in known.values()) / len(known)
    narrowing = max(0.2, cos(radians(middle)))
    points = {node: (x * narrowing, y) for node, (x, y) in known.items()}
    waiting = [node for node in range(topology.size) if node not in points]
    while waiting:
        placed = {}
        for node in waiting:
            near = [
                points[other] for other in members(topology.neighbours[node]) if other in points
            ]
            if near:
                placed[node] = _mean(near)
        if not placed:  # a part of the network of which nothing is known
            placed = dict.fromkeys(waiting, _mean(list(points.values())))
        points |= placed
        waiting = [node for node in waiting if node not in placed]
    return _spread([points[node] for node in range(topology.size)])


def _mean(places: list[Place]) -> Place:
    return (
        sum(x for x, _ in places) / len(places),
        sum(y for _, y in places) / len(places),
    )


def _spread(points: list[Place]) -> list[Place]:
    """Nodes at the same place move to a small circle around it."""
    step = max(max(axis) - min(axis) for axis in zip(*points, strict=True)) / 60 or 1.0
    crowd = Counter(points)
    turn: Counter[Place] = Counter()
    spread = []
    for x, y in points:
        if crowd[x, y] > 1:
            angle = 2 * pi * turn[x, y] / crowd[x, y]
            turn[x, y] += 1
            x, y = x + step * cos(angle), y + step * sin(angle)  # noqa: PLW2901
        spread.append((x, y))
    return spread


def _circles(topology: Topology) -> list[Place]:
    """A node's distance from the centre is its circle; its share of the turn is its share of the
    leaves of the tree of shortest paths. Parts of the network stand side by side."""
    points: dict[int, Place] = {}
    offset = 0.0
    for part in topology.components():
        centre = max(members(part), key=lambda node: topology.neighbours[node].bit_count())
        depths = {centre: 0}
        children: dict[int, list[int]] = {}
        walk = [centre]
        for node in walk:
            children[node] = [
                other for other in members(topology.neighbours[node]) if other not in depths
            ]
            depths |= dict.fromkeys(children[node], depths[node] + 1)
            walk += children[node]
        leaves: dict[int, int] = {}
        for node in reversed(walk):
            leaves[node] = sum(leaves[child] for child in children[node]) or 1
        start = {centre: 0.0}
        reach = max(depths.values()) + 0.5
        for node in walk:
            angle = 2 * pi * (start[node] + leaves[node] / 2) / leaves[centre]
            x, y = depths[node] * cos(angle), depths[node] * sin(angle)
            points[node] = (offset + reach + x, y)
            first = start[node]
            for child in children[node]:
                start[child] = first
                first += leaves[child]
        offset += 2 * reach
    return [points[node] for node in range(topology.size)]


def _fit(points: list[Place]) -> list[Place]:
    """The points within the picture, y downwards, with one scale for both axes."""
    left, bottom = min(x for x, _ in points), min(y for _, y in points)
    wide = max(x for x, _ in points) - left
    high = max(y for _, y in points) - bottom
    scale = min(
        (WIDTH - 2 * MARGIN) / wide if wide else HEIGHT,
        (HEIGHT - 2 * MARGIN) / high if high else WIDTH,
    )
    across, up = (WIDTH - scale * wide) / 2, (HEIGHT - scale * high) / 2
    return [(across + scale * (x - left), HEIGHT - up - scale * (y - bottom)) for x, y in points]
