"""The traffic that the model knows: who sends how much to how many, and how long a packet takes."""

from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from math import exp
from statistics import fmean

import msgspec

from antecede.message import Membership
from antecede.simulate.parts import (
    Broadcast,
    Constant,
    Delay,
    Exponential,
    Groups,
    Lognormal,
    Multicast,
    Unicast,
)
from antecede.simulate.scenario import Scenario

__all__ = ["Kind", "Traffic", "Tree", "traffic_of"]


class Kind(StrEnum):
    """Whom messages are for."""

    UNICAST = "unicast"
    SETS = "sets"
    BROADCAST = "broadcast"
    GROUPS = "groups"


class Tree(msgspec.Struct, frozen=True):
    """A network of organisations of departments of nodes, one process at each node, one router
    over each department and organisation and one over all; with the probability `local` a message
    stays in the department, else with the same probability in the organisation."""

    organisations: int
    departments: int
    nodes: int
    local: float = 0.0

    @property
    def processes(self) -> int:
        return self.organisations * self.departments * self.nodes

    @property
    def leaves(self) -> tuple[float, float]:
        """The probabilities that a message leaves its department, and its organisation."""
        n, near = self.processes, self.departments * self.nodes
        beyond_department = 1 - (self.nodes - 1) / (n - 1)
        beyond_organisation = 1 - (near - 1) / (n - 1)
        if not self.local:
            return beyond_department, beyond_organisation
        stays = self.local if self.nodes > 1 else 0.0
        wider = (1 - stays) * (self.local if self.departments > 1 else 0.0)
        outside = 1 - stays - wider
        inside = wider * (1 - (self.nodes - 1) / max(1, near - 1))
        return inside + outside * beyond_department, outside * beyond_organisation

    def leaves_part(self, size: float) -> float:
        """The probability that a message leaves the part of so many processes, next to each other,
        that its sender is in."""
        beyond_department, beyond_organisation = self.leaves
        bounds = (
            (1, 1.0),
            (self.nodes, beyond_department),
            (self.departments * self.nodes, beyond_organisation),
            (self.processes, 0.0),
        )
        for (low, before), (high, after) in pairwise(bounds):
            if size <= high:
                return before + (after - before) * (size - low) / max(1, high - low)
        return 0.0


class Traffic(msgspec.Struct, frozen=True, kw_only=True):
    """Steady traffic: every process sends at `rate`, as a Poisson process."""

    kind: Kind
    processes: int
    copies: float
    """How many others a message is for."""
    rate: float = 10.0
    """Messages per second of a process."""
    delay_s: float = 0.1
    """Of a packet, on the mean, exponential where delays are claimed."""
    sent: tuple[float, float] = (0.0, 100.0)
    """How many messages each process has sent when the measuring begins and ends: numbers take the
    more bytes the larger they are."""
    groups: int = 1
    listed: float
    """The sum of the sizes of all groups."""
    own: float
    """The sum of the sizes of a process' own groups, on the mean."""
    neighbours: float = 0.0
    """The processes that share a group with one, on the mean."""
    tree: Tree | None = None
    is_exponential: bool = True
    """Whether delays are: what is said of delays is claimed for no others."""

    @property
    def load(self) -> float:
        """Messages that a process sends while one packet is on its way."""
        return self.rate * self.delay_s

    @property
    def group_size(self) -> float:
        return self.listed / self.groups

    @property
    def shape(self) -> float:
        """The number that a law depends on besides processes and load."""
        return self.group_size if self.kind is Kind.GROUPS else self.copies


def broadcast(processes: int, **fields: object) -> Traffic:
    """Everybody to everybody: one group."""
    return msgspec.convert(
        {
            "kind": Kind.BROADCAST,
            "processes": processes,
            "copies": processes - 1,
            "listed": processes,
            "own": processes,
            "neighbours": processes - 1,
            **fields,
        },
        Traffic,
    )


def traffic_of(scenario: Scenario, sent: tuple[float, float] | None = None) -> Traffic | None:
    """What the model knows of a scenario; None where it does not know such traffic (requests,
    tokens, replays, cascades, faults, messages that stay near on a network that is no tree, fewer
    than three processes). Raises nothing; `estimate` has an example."""
    work, network = scenario.workload, scenario.network
    faulty = network.loss or network.links or network.partitions or network.duplication
    changing = scenario.crashes or scenario.joins or scenario.new_links or scenario.regroupings
    if not isinstance(work, Unicast | Multicast | Broadcast | Groups) or work.cascade:
        return None
    if faulty or changing or scenario.incomplete:
        return None
    tree = _tree(scenario)
    is_near = isinstance(work, Unicast | Multicast) and bool(work.local)
    if is_near and (tree is None or not isinstance(work, Unicast)):
        return None
    membership = scenario.applications
    n = membership.size
    if n < 3:
        return None
    match work:
        case Unicast():
            kind, copies = Kind.UNICAST, 1.0
        case Multicast():
            copies = float(work.size or max(1.0, (work.probability or 0) * (n - 1)))
            kind = Kind.UNICAST if copies == 1 else Kind.SETS
        case Groups() if membership.groups:
            kind, copies = Kind.GROUPS, 0.0
        case _:
            kind, copies = Kind.BROADCAST, n - 1.0
    groups, listed, own, neighbours = 1, float(n), float(n), n - 1.0
    if kind is Kind.GROUPS:
        sizes = [group.bit_count() for group in membership.groups]
        of = [membership.groups_of(process) for process in range(n)]
        groups, listed = len(sizes), float(sum(sizes))
        own = fmean(sum(sizes[group] for group in mine) for mine in of)
        copies = fmean(fmean(sizes[group] for group in mine) - 1 for mine in of)
        neighbours = fmean(_others(membership, process, mine) for process, mine in enumerate(of))
    per_process = scenario.message_limit / n
    return Traffic(
        kind=kind,
        processes=n,
        copies=copies,
        rate=scenario.rate,
        delay_s=_mean(network.delay),
        sent=sent or (per_process / 2, per_process),
        groups=groups,
        listed=listed,
        own=own,
        neighbours=neighbours,
        tree=tree,
        is_exponential=isinstance(network.delay, Exponential),
    )


def _others(membership: Membership, process: int, groups: Sequence[int]) -> int:
    """How many share a group with a process."""
    shared = 0
    for group in groups:
        shared |= membership.group(group)
    return (shared & ~(1 << process)).bit_count()


def _mean(delay: Delay) -> float:
    match delay:
        case Exponential():
            return delay.mean_s
        case Constant():
            return delay.value_s
        case Lognormal():
            return delay.median_s * exp(delay.sigma**2 / 2)
        case _:
            return (delay.low_s + delay.high_s) / 2


def _tree(scenario: Scenario) -> Tree | None:
    """The tree that a scenario runs on, if it is one, with a process at each node."""
    kind, _, numbers = (scenario.topology or "").partition(":")
    parts = numbers.split(",")
    if kind != "tree" or len(parts) != 3 or scenario.attach:
        return None
    local = getattr(scenario.workload, "local", None) or 0.0
    organisations, departments, nodes = map(int, parts)
    tree = Tree(organisations, departments, nodes, local)
    is_at_every_node = tree.processes == scenario.applications.size
    return tree if is_at_every_node and tree.organisations > 1 else None
