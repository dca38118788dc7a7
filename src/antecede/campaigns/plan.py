"""From a campaign file to the runs that it asks for.

A run is known by what determines it: its identity is a hash of its whole scenario, of the files
that this names, and of the version of Antecede. So a campaign file that has been changed shares
with what it was before the runs that both have.

What no protocol could run (more groups than processes, say) is a mistake in the file. What one
protocol cannot run (it addresses groups only, it needs a topology, its k is too small) is skipped,
and the plan says why.
"""

import json
from collections.abc import Iterator
from functools import cache, lru_cache
from hashlib import sha256
from importlib.metadata import version
from itertools import product
from typing import Any, Final

import msgspec

from antecede.campaigns.file import (
    Campaign,
    GroupsLoad,
    Load,
    MulticastLoad,
    NetworkEntry,
    ReplayLoad,
    RequestsLoad,
    ScaledLayout,
    WorkloadEntry,
)
from antecede.campaigns.scaled import in_all, percentage
from antecede.campaigns.steady import AUTO
from antecede.errors import AntecedeError, BadFile, Misuse
from antecede.files import path_of
from antecede.message import members
from antecede.scaled import scale, scale_options
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.graphs import load_graph
from antecede.simulate.parts import Multicast, Network, Requests, Unicast
from antecede.topology.deployment import deploy
from antecede.topology.load import LARGEST

FORMAT: Final = 2
"""Of the results of a run: another one makes all runs new."""


EVENTS_LIMIT: Final = 50_000_000
"""A campaign of more events wants to be asked for: it takes the better part of an hour, or more."""


class Setting(msgspec.Struct, frozen=True, order=True):
    """A cell of the grid, without the seed; the columns of `tables.SETTING`."""

    protocol: str
    variant: str
    options: str
    network: str
    workload: str
    processes: int


class PlannedRun(msgspec.Struct, frozen=True):
    run: str
    setting: Setting
    seed: int
    scenario: str
    """As JSON."""
    promised: bool
    events: int
    """About how many events it takes."""
    warm_up: int | str = 0
    """Messages that are left out of the measures, or `auto`."""


class Skipped(msgspec.Struct, frozen=True):
    setting: Setting
    reason: str


class Plan(msgspec.Struct, frozen=True):
    runs: tuple[PlannedRun, ...]
    skipped: tuple[Skipped, ...]

    @property
    def events(self) -> int:
        return sum(run.events for run in self.distinct())

    def distinct(self) -> list[PlannedRun]:
        """One planned run for every identity: settings with different names can be the same."""
        return list({run.run: run for run in self.runs}.values())

    @property
    def fingerprint(self) -> str:
        """A hash of all of it."""
        return sha256(msgspec.json.encode(self)).hexdigest()


def make_plan(campaign: Campaign, file: str = "the campaign") -> Plan:
    """The runs that the campaign asks for, and what it cannot have."""
    runs: list[PlannedRun] = []
    skipped: list[Skipped] = []
    mistakes: list[str] = []
    for network, workload, processes in _surroundings(campaign):
        place = f"network '{network.name}', workload '{workload.name}'"
        place += f", {processes} processes" if processes else ""
        try:
            base = _scenario(network, workload, processes)
            plain = make_scenario(_without_changes(base))
            size = plain.applications.size
            warm_up = _warm_up(campaign, workload, plain)
        except AntecedeError as error:
            mistakes.append(f"{place}: {error}")
            continue
        for variant in _variants(campaign, size):
            setting = Setting(
                variant.protocol,
                str(variant),
                json.dumps(variant.options, sort_keys=True),
                network.name,
                workload.name,
                size,
            )
            options = scale_options(variant.options, size)
            made = _cell(setting, {**base, "options": options}, campaign.seeds, warm_up)
            if isinstance(made, Skipped):
                skipped.append(made)
            else:
                runs += made
    if mistakes:
        raise BadFile(file, mistakes)
    if not runs:
        reasons = [f"{cell.setting.variant}: {cell.reason}" for cell in skipped]
        raise BadFile(file, ["there is nothing that can be run", *dict.fromkeys(reasons)])
    return Plan(tuple(runs), tuple(skipped))


def check_size(plan: Plan, limit: int | None = None) -> None:
    """Refuse a campaign that nobody may have wanted."""
    limit = EVENTS_LIMIT if limit is None else limit
    if plan.events > limit:
        raise Misuse(
            f"this campaign makes about {plan.events:,} events in {len(plan.distinct()):,} runs, "
            f"more than {limit:,}; --yes runs it all the same"
        )


def _without_changes(base: dict[str, Any]) -> dict[str, Any]:
    """What every protocol can be asked for: not all let others in, nor have routers that crash."""
    return {**base, "protocol": "none", "crashes": [], "joins": [], "new_links": []}


class _Variant(msgspec.Struct, frozen=True):
    protocol: str
    options: dict[str, Any]

    def __str__(self) -> str:
        words = (f"{name}={_shown(value)}" for name, value in self.options.items())
        return " ".join((self.protocol, *words))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _variants(campaign: Campaign, size: int) -> Iterator[_Variant]:
    """Every variant that takes part with so many processes, once, however often the file has it."""
    seen: set[str] = set()
    for entry in campaign.protocols:
        if entry.processes is not None and size not in entry.processes:
            continue
        for protocol, options in product(entry.protocols(), entry.combinations()):
            variant = _Variant(protocol, options)
            if str(variant) not in seen:
                seen.add(str(variant))
                yield variant


def _surroundings(
    campaign: Campaign,
) -> Iterator[tuple[NetworkEntry, WorkloadEntry, int | None]]:
    """The cells of the grid without protocols and seeds. A network that has a topology for some
    numbers of processes takes no others; a graph that is replayed brings its own number."""
    sizes: list[int | None] = [*campaign.processes] if campaign.processes else [None]
    for network, workload in product(campaign.networks, campaign.workloads):
        if isinstance(workload, ReplayLoad) and network.topology is None:
            yield network, workload, None
            continue
        for processes in sizes:
            if not isinstance(network.topology, dict) or network.topology_for(processes):
                yield network, workload, processes


def _scenario(
    network: NetworkEntry, workload: WorkloadEntry, processes: int | None
) -> dict[str, Any]:
    """The scenario of a cell, without protocol and seed."""
    topology = network.topology_for(processes)
    size = processes or _size(network, topology, workload)
    network_fields = network.model_dump(include=set(Network.model_fields), by_alias=True)
    own = {*type(workload).model_fields} - {*Load.model_fields, "groups"}
    traffic = workload.model_dump(include=own, exclude_none=True)
    if isinstance(workload, MulticastLoad) and workload.size is not None:
        traffic["size"] = max(1, scale(workload.size, size))
    if isinstance(workload, RequestsLoad):
        traffic["servers"] = max(1, scale(workload.servers, size))
    fields = {
        "topology": topology,
        "attach": network.attach,
        "processes": processes,
        "messages": scale(workload.messages, size),
        "rate": in_all(workload.rate, size),
        "payload_bytes": workload.payload_bytes,
        "groups": _groups(workload, size) if isinstance(workload, GroupsLoad) else None,
        "joins": [join.model_dump() for join in network.joins] or None,
        "new_links": [link.model_dump() for link in network.new_links] or None,
    }
    return {
        **{name: value for name, value in fields.items() if value is not None},
        "network": network_fields,
        "workload": traffic,
        "crashes": [crash.model_dump() for crash in network.crashes],
    }


def _size(network: NetworkEntry, topology: str | None, workload: WorkloadEntry) -> int:
    """The number of processes that topology or graph imply."""
    if topology is not None:
        attach = None if network.attach is None else tuple(network.attach)
        return deploy(topology, attach).applications
    if isinstance(workload, ReplayLoad):
        return load_graph(workload.graph, workload.session).size
    raise Misuse("processes: is missing; say how many there are")


def _groups(workload: GroupsLoad, size: int) -> Any:
    layout = workload.groups
    if not isinstance(layout, ScaledLayout):
        return layout
    made: dict[str, Any] = {"layout": layout.layout, "count": max(1, scale(layout.count, size))}
    if layout.size is not None:
        made["size"] = scale(layout.size, size)
    return made


def _warm_up(campaign: Campaign, workload: WorkloadEntry, scenario: Scenario) -> int | str:
    """How many messages to leave out of so many, or `auto`."""
    asked = campaign.warm_up if workload.warm_up is None else workload.warm_up
    if asked == AUTO:
        return AUTO
    messages = scenario.message_limit
    share = percentage(asked)
    cut = int(messages * share) if share is not None else scale(asked, scenario.applications.size)
    if cut >= messages:
        raise Misuse(f"warm_up: leaves out {cut} messages of {messages}; make it less")
    return int(cut)


def _cell(
    setting: Setting, base: dict[str, Any], seeds: list[int], warm_up: int | str
) -> list[PlannedRun] | Skipped:
    """The runs of one setting, or why there are none."""
    try:
        scenario = make_scenario({**base, "protocol": setting.protocol})
        # An order may refuse what only it understands.
        scenario.order(0, scenario.membership, scenario.order_options)
    except AntecedeError as error:
        return Skipped(setting, str(error))
    fields = msgspec.json.decode(scenario.to_json())
    events = estimate_events(scenario)
    runs = []
    for seed in seeds:
        fields |= {"seed": seed, "run": ""}
        fields["run"] = run = _identity(fields, warm_up)
        text = json.dumps(fields, sort_keys=True)
        runs.append(PlannedRun(run, setting, seed, text, scenario.promises_order, events, warm_up))
    return runs


def _identity(fields: dict[str, Any], warm_up: int | str) -> str:
    topology = (fields.get("topology") or "").removeprefix(LARGEST)
    graph = fields["workload"].get("graph") or ""
    files = [hash_of(name) for name in (topology, graph) if path_of(name).is_file()]
    known = {
        "fields": fields,
        "files": files,
        "warm_up": warm_up,
        "version": _version(),
        "format": FORMAT,
    }
    return sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16]


@cache
def _version() -> str:
    return version("antecede")


@lru_cache(maxsize=64)
def hash_of(file: str) -> str:
    """Of what is in the file."""
    return sha256(path_of(file).read_bytes()).hexdigest()


def estimate_events(scenario: Scenario) -> int:
    """About how many events a run takes: a send and its copies, hop by hop where there are routers.
    What a protocol sends by itself is not known beforehand."""
    size = scenario.applications.size
    workload = scenario.workload
    if isinstance(workload, Unicast | Requests):
        copies = 1.0
    elif isinstance(workload, Multicast):
        copies = workload.size or max(1.0, (workload.probability or 0.0) * (size - 1))
    elif scenario.applications.groups:
        groups = [len(list(members(group))) for group in scenario.applications.groups]
        copies = sum(count * (count - 1) for count in groups) / max(1, sum(groups))
    else:
        copies = size - 1
    if scenario.is_routed and scenario.deployment is not None:
        links = len(scenario.deployment.topology.links)
        copies = min(float(links), copies * _HOPS)
    return int(scenario.message_limit * (1 + copies))


_HOPS: Final = 4
"""Hops that a copy takes, roughly, as long as few copies share them."""
