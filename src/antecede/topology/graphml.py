"""Topologies from GraphML files.

Of a node, these attributes matter: `label` (its name), `Longitude` and `Latitude` (where it
stands), `role` (``host``, ``router`` or ``both``, which it is when nothing is said), `zone` (its
place in the hierarchy, such as ``o1/d2``) and `hyperedge` (the Topology Zoo's mark of a shared
medium: a router that hosts nothing).
"""

import io
from collections import Counter
from typing import TYPE_CHECKING, Any

from antecede.errors import BadFile
from antecede.message import process_set
from antecede.topology.model import Place, Topology, build

if TYPE_CHECKING:
    from xml.etree import ElementTree

    import networkx

_ROLES = ("both", "host", "router")


def read_graphml(name: str, content: bytes) -> Topology:
    """The topology in a GraphML file. `name` is what errors call it."""
    root = _parse(name, content)
    graph = _read(name, content)
    mistakes = _strangers(root, list(graph))
    if mistakes:
        raise BadFile(name, mistakes)
    identifiers = list(graph)
    attributes = [graph.nodes[identifier] for identifier in identifiers]
    number = {identifier: index for index, identifier in enumerate(identifiers)}
    ends = [(number[first], number[second]) for first, second in graph.edges()]
    links = {(min(pair), max(pair)) for pair in ends if pair[0] != pair[1]}
    names, renamed = _names(identifiers, attributes)
    roles = [_role(name, names[index], node) for index, node in enumerate(attributes)]
    return build(
        name,
        names,
        links,
        hosts=process_set(index for index, role in enumerate(roles) if role != "router"),
        routers=process_set(index for index, role in enumerate(roles) if role != "host"),
        zones=[str(node.get("zone", "")) for node in attributes],
        places=[_place(node) for node in attributes],
        notes=_notes(root, graph.is_directed(), ends, len(links), renamed, attributes),
    )


def _parse(name: str, content: bytes) -> "ElementTree.Element":
    """The root of the file."""
    from xml.etree import ElementTree  # noqa: PLC0415  only those who read a file pay for it

    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, UnicodeError, ValueError, LookupError) as error:
        raise BadFile(name, [f"this is not GraphML: {error}"]) from None
    if _kind(root) != "graphml":
        raise BadFile(name, [f"this is not GraphML: its root element is <{root.tag}>"])
    return root


def _kind(element: "ElementTree.Element") -> str:
    """The tag without its namespace."""
    return element.tag.rpartition("}")[2]


def _read(name: str, content: bytes) -> "networkx.Graph[str]":
    """The graph as networkx reads it."""
    import networkx  # noqa: PLC0415

    try:
        return networkx.read_graphml(io.BytesIO(content))
    except (networkx.NetworkXError, KeyError, ValueError, AttributeError, TypeError) as error:
        raise BadFile(name, [f"its GraphML cannot be understood: {error}"]) from None


def _strangers(root: "ElementTree.Element", nodes: list[str]) -> list[str]:
    """Nodes that networkx makes up or merges without a word."""
    elements = [element for element in root.iter() if _kind(element) == "node"]
    declared = [element.get("id") for element in elements]
    if None in declared:
        return ["a node of the file has no identifier"]
    twice = sorted(own for own, count in Counter(map(str, declared)).items() if count > 1)
    known = set(declared)
    unknown = [node for node in nodes if node not in known]
    return [f"two nodes of the file have the identifier {own}" for own in twice] + [
        f"a link ends at {node}, which is no node of the file" for node in unknown
    ]


def _names(identifiers: list[str], attributes: list[dict[str, Any]]) -> tuple[list[str], int]:
    """One name for each node, its label if nobody else has it; and how many share a label."""
    labels = [str(node.get("label", "")).strip() for node in attributes]
    labels = [label or own for label, own in zip(labels, identifiers, strict=True)]
    shared = {label for label, count in Counter(labels).items() if count > 1}
    names: list[str] = []
    for label, own in zip(labels, identifiers, strict=True):
        name = f"{label} ({own})" if label in shared else label
        while name in names:
            name += "'"
        names.append(name)
    return names, sum(label in shared for label in labels)


def _role(file: str, name: str, node: dict[str, Any]) -> str:
    if node.get("hyperedge"):
        return "router"
    role = str(node.get("role", "both"))
    if role not in _ROLES:
        raise BadFile(file, [f"{name} has the role '{role}'; there are {', '.join(_ROLES)}"])
    return role


def _place(node: dict[str, Any]) -> Place | None:
    try:
        return float(node["Longitude"]), float(node["Latitude"])
    except (KeyError, ValueError):
        return None


def _notes(
    root: "ElementTree.Element",
    directed: bool,
    ends: list[tuple[int, int]],
    links: int,
    renamed: int,
    attributes: list[dict[str, Any]],
) -> list[str]:
    """What was changed, in sentences."""
    loops = sum(first == second for first, second in ends)
    parallel = len(ends) - loops - links
    media = sum(bool(node.get("hyperedge")) for node in attributes)
    graphs = sum(_kind(child) == "graph" for child in root)
    said = {
        f"the file holds {graphs} graphs; the first one is read": graphs > 1,
        "the directions of its links are dropped": directed,
        f"{parallel} parallel links are merged with others": parallel,
        f"{loops} links of a node to itself are dropped": loops,
        f"{renamed} nodes share a label and got their identifier behind it": renamed,
        f"{media} nodes stand for a shared medium and host nothing": media,
    }
    return [sentence for sentence, holds in said.items() if holds]
