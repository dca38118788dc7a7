"""Which separators each node keeps: few, and those that will filter most.

A member p of S applies rule R9 to a message for its neighbours in F, and leaves out messages that
were addressed to B alone. So at p a separator is worth

    traffic from p into F  ×  traffic addressed to nodes of B  ×  chance that S knows.

Weights say how much traffic is addressed to each node; unless they are given every link is equally
busy, and the weight of a node is the number of its links. The traffic from p to a neighbour is that
neighbour's weight, spread evenly over its links. The chance is 1 when p is the only member; it is
taken to be a half when the members can be told in one multicast (each two are linked or have a
common neighbour in B), else an eighth: a guess, but the order that it makes is plain: one member
before several, near before far.

Every neighbour of p first gets the separator that filters most on the way to it. What room is left
goes to the best of the others, which serve messages for several neighbours at once, except those
that one already chosen makes needless.
"""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations

import msgspec

from antecede.errors import Misuse
from antecede.message import ProcessSet, members
from antecede.topology.candidates import Candidate, find_candidates
from antecede.topology.model import Topology, check_connected
from antecede.topology.separator import Separator, check_separator

PER_NODE = 64
"""How many separators a node keeps unless told otherwise."""


class Choice(msgspec.Struct, frozen=True):
    """`lists[v]` are the separators that node v applies, the best first; `origins` says of each
    where it comes from."""

    lists: tuple[tuple[Separator, ...], ...]
    origins: dict[Separator, str]

    def distinct(self) -> list[Separator]:
        """Every separator that some node keeps, in the order of their origins."""
        kept = {separator for separators in self.lists for separator in separators}
        return [separator for separator in self.origins if separator in kept]


def choose_separators(
    topology: Topology, weights: Sequence[int] | None = None, per_node: int = PER_NODE
) -> Choice:
    """The separators of a connected topology, checked against the definition, at most `per_node`
    for each node."""
    check_connected(topology)
    if weights is None:
        weights = [linked.bit_count() for linked in topology.neighbours]
    elif len(weights) != topology.size or min(weights) < 0:
        raise Misuse(f"{topology.name}: weights are {topology.size} numbers, none below zero")
    scales = _Scales(topology, weights)
    candidates = find_candidates(topology)
    by_member: list[list[Candidate]] = [[] for _ in range(topology.size)]
    for candidate in candidates:
        for node in members(candidate.separator.members):
            by_member[node].append(candidate)
    chances = {
        candidate.separator: _chance(topology, candidate.separator) for candidate in candidates
    }
    lists = tuple(
        _choose_at(node, own, scales, chances, per_node) for node, own in enumerate(by_member)
    )
    origins = {candidate.separator: candidate.origin for candidate in candidates}
    choice = Choice(lists, origins)
    for separator in choice.distinct():
        check_separator(topology.neighbours, separator, topology.names)
    return choice


class _Scales:
    """Weighs sets of nodes. Bit k of every weight is kept in one bit set, so that the weight of a
    set is a sum of a few bit counts."""

    def __init__(self, topology: Topology, weights: Sequence[int]) -> None:
        self.neighbours = topology.neighbours
        self.weights = weights
        self._planes = [
            sum(1 << node for node, weight in enumerate(weights) if weight >> bit & 1)
            for bit in range(max(weights).bit_length())
        ]

    def weigh(self, nodes: ProcessSet) -> int:
        return sum((plane & nodes).bit_count() << bit for bit, plane in enumerate(self._planes))

    def traffic(self, node: int, front: ProcessSet) -> Fraction:
        """From a node to its neighbours in this set."""
        return sum(
            (
                Fraction(self.weights[neighbour], self.neighbours[neighbour].bit_count())
                for neighbour in members(self.neighbours[node] & front)
            ),
            Fraction(0),
        )


def _chance(topology: Topology, separator: Separator) -> Fraction:
    """That all members have heard of a message that one of them has heard of."""
    if separator.members.bit_count() == 1:
        return Fraction(1)
    neighbours = topology.neighbours
    near = all(
        neighbours[first] >> second & 1 or neighbours[first] & neighbours[second] & separator.back
        for first, second in combinations(members(separator.members), 2)
    )
    return Fraction(1, 2) if near else Fraction(1, 8)


def _choose_at(
    node: int,
    candidates: Iterable[Candidate],
    scales: _Scales,
    chances: dict[Separator, Fraction],
    per_node: int,
) -> tuple[Separator, ...]:
    """The list of one node."""
    filtered = {
        candidate.separator: scales.weigh(candidate.separator.back) * chances[candidate.separator]
        for candidate in candidates
        if candidate.separator.front & scales.neighbours[node]
    }
    worth = {
        separator: value * scales.traffic(node, separator.front)
        for separator, value in filtered.items()
    }
    waiting = scales.neighbours[node]
    first: list[Separator] = []
    for separator in sorted(filtered, key=lambda one: (-filtered[one], one)):
        if separator.front & waiting:
            first.append(separator)
            waiting &= ~separator.front
    ranked = sorted(worth, key=lambda one: (-worth[one], one))
    needed = set(first)
    chosen = [separator for separator in ranked if separator in needed][:per_node]
    for separator in ranked:
        if len(chosen) >= per_node:
            break
        if not any(_replaces(kept, separator) for kept in chosen):
            chosen.append(separator)
    return tuple(sorted(chosen, key=lambda one: (-worth[one], one)))


def _replaces(kept: Separator, other: Separator) -> bool:
    """Whether `kept` filters all that `other` does, and asks no more."""
    return not (
        other.front & ~kept.front or other.back & ~kept.back or kept.members & ~other.members
    )
