"""Networks as a file describes them, runs on them, and what comes out over several seeds.

See experiments/chapter7.toml for how a network is written.
"""

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist, stdev
from statistics import mean as average
from typing import Any, Literal, NamedTuple

from antecede.message import Message, MessageId, ProcessSet, members, process_set
from antecede.topology.separator import Separator
from bench.hops import Counted, Local, Network, mean, run, run_overlay

_RANGE = re.compile(r"([a-z]+)(\d+)\.\.\1(\d+)")


class Estimate(NamedTuple):
    """A mean over seeds, and half of its 95 % confidence interval."""

    value: float
    half: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.half:.2f}"


class Described:
    """A network of the file, with the names of its processes."""

    def __init__(self, fields: Mapping[str, Any], local: Local, forwarding: Any) -> None:
        nodes: dict[str, list[str]] = fields.get("nodes", {})
        groups = {name: expand(listed) for name, listed in fields["groups"].items()}
        applications = list(dict.fromkeys(name for group in groups.values() for name in group))
        zones: list[list[list[str]]] = []
        for server, hosted in nodes.items():
            if local == "each":
                zones += [[[name], [server]] for name in hosted]
            else:
                zones.append([[server], *([name] for name in hosted)])
        for link in fields["links"]:
            zones.append([one for item in link for one in _sets(item)])
        others = [name for zone in zones for one in zone for name in one]
        self.names = list(dict.fromkeys([*applications, *others]))
        self.applications = len(applications)
        self.groups = {name: self.bits(listed) for name, listed in groups.items()}
        self.network = Network(
            len(self.names),
            self.applications,
            tuple(tuple(tuple(map(self.index, one)) for one in zone) for zone in zones),
            list(self.groups.values()),
            forwarding,
            local,
        )

    def index(self, name: str) -> int:
        return self.names.index(name)

    def bits(self, listed: Iterable[str]) -> ProcessSet:
        return process_set(map(self.index, expand(listed)))

    def next_hops(self, name: str, source: str | None, sender: str, group: str) -> list[list[str]]:
        """Whom a process passes on a message to this group, in the order of its hops."""
        message = Message(MessageId(self.index(sender), 1), self.groups[group])
        came_from = None if source is None else self.index(source)
        hops = self.network.hops(self.index(name), came_from, message)
        return [[self.names[process] for process in members(to)] for to in hops]

    def separators(self, described: Mapping[str, Any], unknown: Sequence[str]) -> list[Separator]:
        """Each part in front, all others at the back; nothing is said of those unknown."""
        own = self.bits(described["members"])
        hidden = self.bits(unknown)
        sides = [self._reached(own, self.bits(part)) & ~hidden for part in described["parts"]]
        return [Separator(own, side, sum(sides) - side) for side in sides]

    def _reached(self, own: ProcessSet, neighbours: ProcessSet) -> ProcessSet:
        member = own.bit_length() - 1
        return sum(
            port.side
            for zone, mine in self.network.structure.places[member].zones
            for port in zone.ports
            if port is not mine and port.members & neighbours
        )


def expand(listed: Iterable[str]) -> list[str]:
    """Names, with ranges like p1..p10 written out."""
    found = []
    for name in listed:
        match = _RANGE.fullmatch(name)
        if match:
            found += [f"{match[1]}{k}" for k in range(int(match[2]), int(match[3]) + 1)]
        else:
            found.append(name)
    return found


def _sets(item: str | list[str]) -> list[list[str]]:
    return [[name] for name in expand([item])] if isinstance(item, str) else [item]


def measure(
    experiment: Mapping[str, Any],
    network: str,
    separators: Iterable[str],
    *,
    seeds: int,
    local: Local = "direct",
    s2: Sequence[Sequence[str]] | None = None,
    unknown: Sequence[str] = (),
    watched: Sequence[str] = (),
    senders: Sequence[str] | None = None,
    **options: Any,
) -> list[Counted]:
    """One run for each seed."""
    fields = experiment[network]
    described = Described(fields, local, experiment["forwarding"])
    chosen = []
    for name in separators:
        separator = dict(fields["separators"][name])
        if name == "S2" and s2 is not None:
            separator["parts"] = s2
        chosen += described.separators(separator, unknown)
    parameters = {key: experiment[key] for key in ("messages", "rate", "mean_delay_s")}
    return [
        run(
            described.network,
            chosen,
            seed=seed,
            watched=[described.index(name) for name in watched],
            senders=None if senders is None else described.bits(senders),
            **parameters | options,
        )
        for seed in range(1, seeds + 1)
    ]


def overlaid(
    experiment: Mapping[str, Any],
    network: str,
    separators: Iterable[str],
    *,
    seeds: int,
    forwarding: Literal["one", "all"],
    watched: Sequence[str] = (),
    senders: Sequence[str] | None = None,
    **options: Any,
) -> list[Counted]:
    """The same through the overlay that ships, one run for each seed."""
    fields = experiment[network]
    described = Described(fields, "together", forwarding)
    filters = [described.bits(fields["separators"][name]["members"]) for name in separators]
    parameters = {key: experiment[key] for key in ("messages", "rate", "mean_delay_s")}
    return [
        run_overlay(
            described.network,
            filters,
            seed=seed,
            forwarding=forwarding,
            watched=[described.index(name) for name in watched],
            senders=None if senders is None else described.bits(senders),
            **parameters | options,
        )
        for seed in range(1, seeds + 1)
    ]


def estimate(values: Sequence[float]) -> Estimate:
    """The mean, and half of the confidence interval by Student's t (its quantile by the expansion
    of Cornish and Fisher)."""
    z, free = NormalDist().inv_cdf(0.975), len(values) - 1
    t = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    return Estimate(average(values), t * stdev(values) / len(values) ** 0.5)


def stamps(runs: Sequence[Counted]) -> Estimate:
    return estimate([mean(counted.stamps) for counted in runs])


def history(runs: Sequence[Counted]) -> Estimate:
    """Of all who are watched, over all seeds."""
    return estimate(
        [mean(sum(counted.histories.values(), Counter[int]())) for counted in runs],
    )


def wrapped(page: str) -> str:
    """A page with its long lines broken, tables and pictures aside."""
    return "".join(
        line if len(line) <= 101 or line[0] in "|!" else textwrap.fill(line, 100) + "\n"
        for line in page.splitlines(keepends=True)
    )
