"""Who is in which group of a daisy: a tree of groups, the same at all processes.

A process is in one local group, a leaf of the tree. The members of an inner group are the servers
of the groups below it, one each: causal servers, hyper-servers, and so on. Groups are numbered from
the bottom to the top, level by level.
"""

from functools import lru_cache
from itertools import pairwise
from math import isqrt

import msgspec

from antecede.errors import Misuse
from antecede.message import Message, ProcessSet, members, process_set


class Node(msgspec.Struct, frozen=True):
    """A group: `processes` are all that live in it or below it, `founders` its first members, and
    `children` the groups below it, none if it is a local one."""

    index: int
    level: int
    parent: int | None
    children: tuple[int, ...]
    processes: ProcessSet
    founders: tuple[int, ...]

    def contains(self, message: Message) -> bool:
        """Whether a message is the group's own: its sender lives here, and all that it is for."""
        is_inside = self.processes >> message.id.sender & 1
        return bool(is_inside) and not message.destinations & ~self.processes

    @property
    def name(self) -> str:
        """For people."""
        return f"group {self.index}" if not self.level else f"servers {self.index}"


class Plan(msgspec.Struct, frozen=True):
    """The tree: its groups by number, and by process its leaf."""

    nodes: dict[int, Node]
    leaves: tuple[int, ...]

    def leaf(self, process: int) -> Node:
        return self.nodes[self.leaves[process]]

    def child_of(self, node: Node, process: int) -> int | None:
        """The group below this one that a process lives in or under."""
        below = self.leaf(process)
        while below.parent is not None and below.parent != node.index:
            below = self.nodes[below.parent]
        return below.index if below.parent == node.index else None

    def changed(
        self, parent: int, gone: tuple[int, ...], made: tuple[tuple[int, tuple[int, ...]], ...]
    ) -> "Plan":
        """The plan in which the local groups `gone` have given way to those `made`, each with its
        number and its founders. Whoever belonged to the old ones and founds no new one, being away,
        belongs to the last of these, which is no smaller than the others: it would wait in vain if
        all founders died."""
        nodes = dict(self.nodes)
        lives = [process_set(founders) for _, founders in made]
        lives[-1] |= sum(nodes[index].processes for index in gone) & ~sum(lives)
        children = [child for child in nodes[parent].children if child not in gone]
        leaves = list(self.leaves)
        for (index, founders), processes in zip(made, lives, strict=True):
            nodes[index] = Node(index, 0, parent, (), processes, founders)
            children.append(index)
            for process in members(processes):
                leaves[process] = index
        nodes[parent] = msgspec.structs.replace(nodes[parent], children=tuple(children))
        return Plan(nodes, tuple(leaves))


def default_sizes(size: int) -> tuple[int, ...]:
    """Two levels, about as many groups as members."""
    return (max(3, isqrt(size)),)


@lru_cache(maxsize=16)
def plan(
    size: int,
    sizes: tuple[int, ...],
    groups: tuple[tuple[int, ...], ...],
    latecomers: tuple[int, ...],
) -> Plan:
    """Local groups of at least `sizes[0]` processes in a row (or these very `groups`), at least
    `sizes[1]` of them under a group of servers, and so on; what is left is under one at the top.
    Latecomers belong to the local groups in turn."""
    absent = process_set(latecomers)
    if absent >> size or any(not 0 <= process < size for process in latecomers):
        raise Misuse(f"latecomers: there are processes 0 to {size - 1}")
    founders = [process for process in range(size) if not absent >> process & 1]
    sizes = sizes or default_sizes(len(founders))
    if min(sizes) < 2 and len(founders) > 1:
        raise Misuse(f"sizes: a group has 2 members or more, not {min(sizes)}")
    local = [tuple(group) for group in groups] or _rows(founders, sizes[0])
    _check_groups(local, founders)
    lives: list[ProcessSet] = [process_set(group) for group in local]
    for place, latecomer in enumerate(latecomers):
        lives[place % len(local)] |= 1 << latecomer
    nodes = [
        Node(index, 0, None, (), lives[index], founding) for index, founding in enumerate(local)
    ]
    _raise_levels(nodes, sizes[1:])
    leaves = [0] * size
    for index, processes in enumerate(lives):
        for process in members(processes):
            leaves[process] = index
    return Plan(dict(enumerate(nodes)), tuple(leaves))


def _raise_levels(nodes: list[Node], sizes: tuple[int, ...]) -> None:
    """Put groups of servers over groups until there is one at the top."""
    below = list(range(len(nodes)))
    level = 0
    while len(below) > 1:
        level += 1
        width = sizes[level - 1] if level <= len(sizes) else len(below)
        above = []
        for children in _rows(below, max(2, width)):
            index = len(nodes)
            for child in children:
                nodes[child] = msgspec.structs.replace(nodes[child], parent=index)
            processes = sum(nodes[child].processes for child in children)
            servers = tuple(nodes[child].founders[0] for child in children)
            nodes.append(Node(index, level, None, tuple(children), processes, servers))
            above.append(index)
        below = above


def _rows(items: list[int], width: int) -> list[tuple[int, ...]]:
    """As many rows of this width as there can be; what is left is spread over them, since of two
    members one alone is no majority. So a row may be nearly twice as wide."""
    count = max(1, len(items) // width)
    ends = [len(items) * row // count for row in range(count + 1)]
    return [tuple(items[first:end]) for first, end in pairwise(ends)]


def _check_groups(groups: list[tuple[int, ...]], founders: list[int]) -> None:
    for index, group in enumerate(groups):
        if not group:
            raise Misuse(f"groups: group {index} is empty; drop it")
    listed = sorted(process for group in groups for process in group)
    if listed != founders:
        raise Misuse(
            f"groups: every process is in one local group; they list {listed} of {founders}"
        )
