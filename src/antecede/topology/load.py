"""A topology by name: a file, a network of the Topology Zoo, or a generator with its numbers."""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Literal

from antecede.errors import BadFile, Misuse
from antecede.files import path_of
from antecede.topology import generate
from antecede.topology.graphml import read_graphml
from antecede.topology.model import Topology, check_connected, largest_part

Unconnected = Literal["refuse", "keep", "largest"]
"""What to do with a network in pieces: refuse it, keep it as it is, or keep its largest part."""

GENERATORS = {
    "tree": "tree:ORGANISATIONS,DEPARTMENTS,NODES[,ROUTERS]",
    "ring": "ring:NETWORKS,SIZE,GATEWAYS",
    "clusters": "clusters:SIZE+SIZE+...,GATEWAYS",
    "internet": "internet:NODES,SEED",
}
"""How each generator is written."""

LARGEST = "largest:"
"""Before any other name: of a network in pieces, the largest part only."""


def load_topology(source: str, unconnected: Unconnected = "refuse") -> Topology:
    """The topology that `source` names: a generator (``tree:2,3,4``), a network of the Topology Zoo
    (``Abilene``), or else a GraphML file. ``largest:`` before it keeps its largest part."""
    if source.startswith(LARGEST):
        return load_topology(source.removeprefix(LARGEST), "largest")
    kind, colon, numbers = source.partition(":")
    if colon and kind in GENERATORS:
        topology = _generate(kind, numbers)
    elif "." in source or "/" in source or "\\" in source:
        topology = read_graphml(source, _read(source))
    else:
        topology = _from_zoo(source)
    if unconnected == "largest":
        return largest_part(topology)
    if unconnected == "refuse":
        check_connected(topology, f"'{LARGEST}{source}' is the largest of them")
    return topology


def zoo() -> tuple[str, ...]:
    """The names of the networks that ship with Antecede."""
    return tuple(sorted(_archive()))


def _read(source: str) -> bytes:
    try:
        return path_of(source).read_bytes()
    except OSError as error:
        raise BadFile(source, [f"cannot be read: {error.strerror}"]) from None


@lru_cache(maxsize=1)
def _archive() -> dict[str, bytes]:
    """All files of the archive, by name: 8 MB, unpacked once."""
    import tarfile  # noqa: PLC0415  antecede itself imports this module, and should stay light
    from importlib import resources  # noqa: PLC0415

    packed = resources.files("antecede") / "data" / "topologies" / "graphml.tar.gz"
    networks = {}
    with packed.open("rb") as file, tarfile.open(fileobj=file) as archive:
        for entry in archive:
            content = archive.extractfile(entry)
            if content is not None and entry.name.endswith(".graphml"):
                networks[Path(entry.name).stem] = content.read()
    return networks


@lru_cache(maxsize=64)
def _from_zoo(name: str) -> Topology:
    networks = _archive()
    if name not in networks:
        from difflib import get_close_matches  # noqa: PLC0415

        folded = {known.casefold(): known for known in sorted(networks)}
        folded |= GENERATORS
        close = [folded[match] for match in get_close_matches(name.casefold(), folded)]
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        raise Misuse(
            f"there is no topology '{name}'; {meant}it can be one of {len(networks)} networks of "
            f"the Topology Zoo, a GraphML file (with a dot in its name), or "
            f"{', '.join(GENERATORS.values())}"
        )
    return read_graphml(name, networks[name])


def _generate(kind: str, text: str) -> Topology:
    makers: dict[str, Callable[..., Topology]] = {
        "tree": generate.tree,
        "ring": generate.ring,
        "clusters": generate.clusters,
        "internet": generate.internet,
    }
    usage = f"{kind}:{text}: write it as {GENERATORS[kind]}"
    try:
        if kind == "clusters":
            sizes, *rest = text.split(",")
            arguments: list[object] = [[int(size) for size in sizes.split("+")], *map(int, rest)]
        else:
            arguments = [int(number) for number in text.split(",")]
    except ValueError:
        raise Misuse(usage) from None
    fewest, most = {"tree": (3, 4), "ring": (2, 3), "clusters": (1, 2), "internet": (1, 2)}[kind]
    if not fewest <= len(arguments) <= most:
        raise Misuse(usage)
    return makers[kind](*arguments)
