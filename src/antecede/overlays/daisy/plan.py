"""Who is in which group of a daisy: a tree of groups, the same at all processes.

A process is in one local group, a leaf of the tree. The members of an inner group are the servers
of the groups below it, one each: causal servers, hyper-servers, and so on. The groups of the first
plan are numbered from the bottom to the top, level by level.
"""

from functools import lru_cache
from itertools import pairwise
from math import isqrt

import msgspec

from antecede.errors import Misuse
from antecede.message import Message, ProcessSet, members, process_set
from antecede.overlays.daisy.items import Group, Reshape

_MOST_ASKED = 64
"""A process that wants to be let in asks no more processes than these."""


class Node(msgspec.Struct, frozen=True):
    """A group of the tree."""

    index: int
    """Its number."""
    level: int
    """How many levels of groups are below it; 0 for a local one."""
    parent: int | None
    """The group above it; none at the top."""
    children: tuple[int, ...]
    """The groups below it; none if it is a local one."""
    processes: ProcessSet
    """All that live in it or below it."""
    founders: tuple[int, ...]
    """Its first members."""
    counts: float = 1.0
    """Of a local group: for how many of those that there were at first it counts."""

    def contains(self, message: Message) -> bool:
        """Whether a message is the group's own: its sender lives here, and all that it is for."""
        is_inside = self.processes >> message.id.sender & 1
        return bool(is_inside) and not message.destinations & ~self.processes

    @property
    def contacts(self) -> ProcessSet:
        """Whom to ask to be let in: all, unless these are so many that most of them can hardly be
        there; then those who were when it was founded."""
        is_small = self.processes.bit_count() <= _MOST_ASKED
        return self.processes if is_small else process_set(self.founders)

    @property
    def name(self) -> str:
        """For people."""
        return f"group {self.index}" if not self.level else f"servers {self.index}"


class Plan(msgspec.Struct, frozen=True):
    """The tree of groups, as it is by now."""

    nodes: dict[int, Node]
    """Its groups, by number."""
    leaves: tuple[int, ...]
    """By process, its local group in the first plan."""
    moves: tuple[tuple[int, ProcessSet], ...] = ()
    """The local groups made since, each with those who have belonged to it from then on."""
    gone: frozenset[int] = frozenset()
    """The groups that have given way."""
    raised: dict[int, tuple[int, ...]] = {}
    """The groups of servers that are new, and the groups over which they were raised."""
    near: dict[int, ProcessSet] = {}
    """By latecomer: those with whom it will talk most."""
    named: dict[int, ProcessSet] = {}
    """`near` the other way round: by process, the latecomers that will talk with it."""

    def leaf(self, process: int) -> Node:
        """The local group of a process."""
        homes = (index for index, processes in reversed(self.moves) if processes >> process & 1)
        return self.nodes[next(homes, self.leaves[process])]

    def child_of(self, node: Node, process: int) -> int | None:
        """The group below this one that a process lives in or under. One whose making is not known
        here yet may be below a group that is."""
        nodes = self.nodes
        for child in node.children:
            if child in nodes and nodes[child].processes >> process & 1:
                return child
        return None

    def count(self, index: int) -> float:
        """For how many local groups of the first plan a group counts: for all that have merged in
        it, or that are below it. Splits and merges below a group of servers leave its count as it
        is; so two parts of it count alike, whatever changes they have heard of."""
        node = self.nodes.get(index)
        if node is None or not node.children:
            return 1.0 if node is None else node.counts
        return sum(map(self.count, node.children))

    def place(self, index: int) -> tuple[int, int]:
        """A key by which the first of several groups is found: the one with members of the first
        group of the first plan, whatever has merged or been split since. Its server is the senior
        one, if nobody has left, and goes on where the other half has stopped."""
        inhabitants = members(self.nodes[index].processes)
        return min((self.leaves[process], process) for process in inhabitants)

    def changed(
        self, parent: int, gone: tuple[int, ...], made: tuple[tuple[int, tuple[int, ...]], ...]
    ) -> "Plan":
        """The plan in which the local groups `gone` have given way to those `made`, each with its
        number and its founders. Whoever belonged to the old ones and founds no new one, being away
        or yet to come, belongs to the one of those with whom it talks, or else to the last, which
        is no smaller than the others: it would wait in vain if all founders died."""
        nodes, raised = dict(self.nodes), dict(self.raised)
        indices = tuple(index for index, _ in made)
        if parent not in nodes:
            everybody = sum(nodes[index].processes for index in gone)
            first = tuple(founders[0] for _, founders in made)
            nodes[parent] = Node(parent, 1, None, (), everybody, first)
            raised[parent] = indices
        founding = [process_set(founders) for _, founders in made]
        rest = sum(nodes[index].processes for index in gone) & ~sum(founding)
        named = [self._named(founders) for _, founders in made]
        once = twice = 0
        for those in named:
            twice |= once & those
            once |= those
        lives = [
            home | (rest & those & ~twice) for home, those in zip(founding, named, strict=True)
        ]
        for process in members(rest & twice):
            talk = [(group & self.near[process]).bit_count() for group in founding]
            lives[talk.index(max(talk))] |= 1 << process
        lives[-1] |= rest & ~sum(lives)
        children = [child for child in nodes[parent].children if child not in gone]
        counts = sum(nodes[index].counts for index in gone) / len(made)
        for (index, founders), processes in zip(made, lives, strict=True):
            nodes[index] = Node(index, 0, parent, (), processes, founders, counts)
        nodes[parent] = msgspec.structs.replace(nodes[parent], children=(*children, *indices))
        moves = (*self.moves, *zip(indices, lives, strict=True))
        over = self.gone.union(gone)
        return msgspec.structs.replace(self, nodes=nodes, moves=moves, raised=raised, gone=over)

    def _named(self, founders: tuple[int, ...]) -> ProcessSet:
        """The latecomers that will talk with any of these."""
        latecomers = 0
        for founder in founders:
            latecomers |= self.named.get(founder, 0)
        return latecomers

    def reshaped(self, change: Reshape) -> "Plan":
        """The plan in which a group of servers has given way. The groups below it go by what they
        remember themselves of the group above them."""
        nodes, raised, above = dict(self.nodes), dict(self.raised), change.above
        gone = self.gone | {change.gone}
        new = [group for group in change.made or change.below if group.index not in gone]
        for group in (*change.below, *change.made):
            if group.index not in nodes:
                nodes[group.index] = _node(group, change.parent_of(group.index))
        if above is None:
            for group in new:
                nodes[group.index] = msgspec.structs.replace(nodes[group.index], parent=None)
            return msgspec.structs.replace(self, nodes=nodes, gone=gone)
        if above.index not in nodes:
            nodes[above.index] = _node(above, None)
            if change.raised:
                raised[above.index] = tuple(group.index for group in change.made)
        known = nodes[above.index].children
        children = [child for child in known if child != change.gone]
        children += [group.index for group in new if group.index not in known]
        nodes[above.index] = msgspec.structs.replace(nodes[above.index], children=tuple(children))
        return msgspec.structs.replace(self, nodes=nodes, gone=gone, raised=raised)


def _node(group: Group, parent: int | None) -> Node:
    index, founders = group.index, group.founders
    return Node(index, group.level, parent, group.children, group.inhabitants, founders)


def default_sizes(size: int) -> tuple[int, ...]:
    """Two levels, about as many groups as members."""
    return (max(3, isqrt(size)),)


@lru_cache(maxsize=16)
def plan(
    size: int,
    sizes: tuple[int, ...],
    groups: tuple[tuple[int, ...], ...],
    latecomers: tuple[int, ...],
    talks_with: tuple[tuple[int, ...], ...] = (),
) -> Plan:
    """Local groups of at least `sizes[0]` processes in a row (or these very `groups`), at least
    `sizes[1]` of them under a group of servers, and so on; what is left is under one at the top.
    Latecomers belong to the local groups of those whom they talk with, else to all in turn."""
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
        near = process_set(talks_with[place]) if talks_with else 0
        talk = [(processes & near).bit_count() for processes in lives]
        home = talk.index(max(talk)) if any(talk) else place % len(local)
        lives[home] |= 1 << latecomer
    nodes = [
        Node(index, 0, None, (), lives[index], founding) for index, founding in enumerate(local)
    ]
    _raise_levels(nodes, sizes[1:])
    leaves = [0] * size
    for index, processes in enumerate(lives):
        for process in members(processes):
            leaves[process] = index
    friends = {latecomers[place]: process_set(one) for place, one in enumerate(talks_with) if one}
    named: dict[int, ProcessSet] = {}
    for latecomer, those in friends.items():
        for process in members(those):
            named[process] = named.get(process, 0) | 1 << latecomer
    return Plan(dict(enumerate(nodes)), tuple(leaves), near=friends, named=named)


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
    """As many rows of this width as there can be; what is left is spread over them, since one of
    two members is no majority. So a row may be nearly twice as wide."""
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
