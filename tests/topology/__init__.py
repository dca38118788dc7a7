"""Graphs for the tests of `antecede.topology`."""

from itertools import combinations

from hypothesis import strategies as st

from antecede.topology.model import Topology, build


@st.composite
def connected(draw: st.DrawFn, most: int = 8) -> Topology:
    """Any connected graph of a few nodes: a random tree and some more links."""
    size = draw(st.integers(2, most))
    tree = [(draw(st.integers(0, node - 1)), node) for node in range(1, size)]
    more = draw(st.lists(st.sampled_from(list(combinations(range(size), 2))), max_size=size))
    return build("drawn", [f"v{node}" for node in range(size)], tree + more)


def path(size: int) -> Topology:
    return build(
        "path", [f"v{node}" for node in range(size)], [(v, v + 1) for v in range(size - 1)]
    )
