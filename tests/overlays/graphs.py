"""Small networks with cycles, for exploration and random runs."""

from antecede.overlays.separators.zones import Links

PATH: Links = ((0, 1), (1, 2), (2, 3))
SQUARE: Links = ((0, 1), (1, 2), (2, 3), (0, 3))
HEXAGON: Links = (*((node, node + 1) for node in range(5)), (0, 5))
THETA: Links = ((0, 1), (1, 4), (0, 2), (2, 4), (0, 3), (3, 4))
"""Three ways from 0 to 4."""
PRISM: Links = ((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5), (0, 3), (1, 4), (2, 5))
GATEWAYS: Links = ((0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4), (2, 5), (3, 5))
"""0 and 1 behind two gateways, 2 and 3, from 4 and 5."""
SMALL: dict[str, tuple[int, Links]] = {
    "path": (4, PATH),
    "square": (4, SQUARE),
    "theta": (5, THETA),
    "prism": (6, PRISM),
    "gateways": (6, GATEWAYS),
}
