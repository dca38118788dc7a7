"""The campaign file: what people write, validated as a whole.

It spans a grid: every protocol with every combination of its options, on every network, under
every workload, with every number of processes and every seed. `antecede.campaigns.plan` makes runs
of it; docs/campaigns.md describes it for people.
"""

import os
from collections.abc import Mapping
from itertools import product
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from antecede.campaigns.scaled import Rate, Scaled, WarmUp
from antecede.errors import AntecedeError, BadFile
from antecede.protocols import find, names, parse_options
from antecede.simulate.layouts import Shape
from antecede.simulate.loading import beside, mistakes_in, read_toml
from antecede.simulate.parts import (
    Broadcast,
    Crash,
    Groups,
    Join,
    Local,
    Network,
    NewLink,
    Part,
    Probability,
    ProcessRef,
    Replay,
    Talks,
    Token,
    Unicast,
)

EVERY = "all"
TracePolicy = Literal["none", "interesting", "all"]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Size = Annotated[int, Field(ge=1, le=65_536, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]


class ProtocolEntry(Part):
    """A protocol, or `all` of them. An option with a list of values spans the grid."""

    name: str
    """Of the protocol, or `all`."""
    options: dict[str, Any] = Field(default={})
    """Its options; a list of values spans the grid."""
    processes: list[Size] | None = Field(default=None, min_length=1)
    """With these numbers of processes only, for one that cannot be had with many."""

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        try:
            return name if name == EVERY else find(name).name
        except AntecedeError as error:
            raise ValueError(str(error)) from None

    @model_validator(mode="after")
    def _check_options(self) -> "ProtocolEntry":
        if self.name == EVERY and self.options:
            raise ValueError(f"options belong to one protocol; '{EVERY}' has none")
        for options in self.combinations():
            try:
                # Whether a number suits the number of processes is seen when runs are planned.
                parse_options(self.protocols()[0], options, processes=2)
            except AntecedeError as error:
                raise ValueError(str(error)) from None
        return self

    def protocols(self) -> list[str]:
        return list(names()) if self.name == EVERY else [self.name]

    def combinations(self) -> list[dict[str, Any]]:
        """The options of each variant."""
        values = [value if isinstance(value, list) else [value] for value in self.options.values()]
        return [dict(zip(self.options, chosen, strict=True)) for chosen in product(*values)]


class NetworkEntry(Network):
    """A network: its links as in a scenario, and where processes live."""

    name: Name = "network"
    """What tables and report call it."""
    topology: str | dict[str, str] | None = None
    """As in a scenario; or one for each number of processes, which then are the only ones."""
    attach: list[ProcessRef] | None = None
    """The node that each process is attached to."""
    crashes: list[Crash] = Field(default=[])
    """Who crashes when, and comes back."""
    joins: list[Join] = Field(default=[])
    """Who is not there from the start, and comes when."""
    new_links: list[NewLink] = Field(default=[])
    """Links that come while it runs."""

    def topology_for(self, processes: int | None) -> str | None:
        if isinstance(self.topology, dict):
            return self.topology.get(str(processes))
        return self.topology


class ScaledLayout(Part):
    """As in a scenario, but with numbers that may grow."""

    layout: Shape
    """The shape."""
    count: Scaled
    """How many groups."""
    size: Scaled | None = None
    """How many members each has."""


class Load(Part):
    """What every workload says."""

    name: Name = "workload"
    """What tables and report call it."""
    messages: Scaled | None = None
    """How many messages a run has."""
    rate: Rate | None = None
    """Messages a second of each process; `16/n` are 16 of all of them."""
    payload_bytes: int | None = Field(default=None, ge=0, le=1 << 24, strict=True)
    """The size of every payload."""
    warm_up: WarmUp | None = None
    """Instead of the campaign's."""


class UnicastLoad(Load, Unicast):
    pass


class BroadcastLoad(Load, Broadcast):
    pass


class GroupsLoad(Load, Groups):
    groups: list[Annotated[list[ProcessRef], Field(min_length=1)]] | ScaledLayout
    """The groups, or a shape."""


class MulticastLoad(Load, Local):
    kind: Literal["multicast"] = "multicast"
    """To a random set."""
    size: Scaled | None = None
    """How many destinations a message has."""
    probability: Probability | None = None
    """With which probability each process is one."""


class RequestsLoad(Load):
    kind: Literal["requests"] = "requests"
    """Clients ask, servers answer."""
    servers: Scaled = 1
    """How many processes serve."""


class TokenLoad(Load, Token):
    pass


class TalksLoad(Load, Talks):
    pass


class ReplayLoad(Load, Replay):
    pass


WorkloadEntry = Annotated[
    UnicastLoad
    | MulticastLoad
    | BroadcastLoad
    | GroupsLoad
    | RequestsLoad
    | TokenLoad
    | TalksLoad
    | ReplayLoad,
    Field(discriminator="kind"),
]


def _entry(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _seeds(value: Any) -> Any:
    if type(value) is not int:
        return value
    if value < 1:
        raise ValueError("there have to be some")
    return list(range(1, value + 1))


class Campaign(Part):
    """A campaign file."""

    name: Name
    """Of the campaign."""
    question: str = ""
    """What it is to answer, for the report."""
    seeds: Annotated[list[Seed], BeforeValidator(_seeds)] = Field(default=[1, 2, 3, 4, 5])
    """How many, counted from 1; or which."""
    processes: list[Size] | None = Field(default=None, min_length=1)
    """Which numbers of processes; none where a topology or a graph says how many."""
    warm_up: WarmUp = 0
    """Messages at the start of each run that are not measured: so many, `2n`, a share of the run
    (`50%`), or `auto`, by MSER-5."""
    traces: TracePolicy = "none"
    """Which traces to keep: of each variant the one with the longest delay and the first one with
    a violation (`interesting`), all, or none."""
    protocols: list[Annotated[ProtocolEntry, BeforeValidator(_entry)]] = Field(min_length=1)
    """Which protocols, with which options."""
    networks: list[NetworkEntry] = Field(default=[NetworkEntry()], min_length=1)
    """Which networks."""
    workloads: list[WorkloadEntry] = Field(min_length=1)
    """Which workloads."""

    @field_validator("networks", "workloads")
    @classmethod
    def _check_names(cls, entries: Any) -> Any:
        known = [entry.name for entry in entries]
        for name in known:
            if known.count(name) > 1:
                raise ValueError(f"there are {known.count(name)} called '{name}'; name them apart")
        return entries

    @field_validator("seeds", "processes")
    @classmethod
    def _check_repeats(cls, values: Any) -> Any:
        if values is not None and len(set(values)) != len(values):
            raise ValueError("has a number twice")
        if values == []:
            raise ValueError("is empty")
        return values


def load_campaign(path: str | os.PathLike[str]) -> Campaign:
    """The campaign in a TOML file. Graphs and topologies that it names by a path are looked for
    beside it."""
    text, data = read_toml(path)
    for field, key in (("workloads", "graph"), ("networks", "topology")):
        entries = data.get(field)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, dict):
                beside(path, entry, key)
                if isinstance(of_size := entry.get(key), dict):
                    for size in of_size:
                        beside(path, of_size, size)
    try:
        return Campaign.model_validate(data)
    except ValidationError as error:
        raise BadFile(str(path), mistakes_in(text, data, error)) from None


def make_campaign(data: Mapping[str, Any]) -> Campaign:
    """The campaign that a dict describes, as a file would."""
    try:
        return Campaign.model_validate(dict(data))
    except ValidationError as error:
        raise BadFile("the campaign", mistakes_in("", data, error)) from None
