"""A scenario: everything that determines a simulated run.

It is validated as a whole, stored with the trace, and enough to repeat the run anywhere. A process
is given by its index or by its name. `antecede.simulate.loading` reads scenarios from files and
from flags and says what is wrong with them in words.
"""

from collections.abc import Iterable
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import tomli_w
from pydantic import Field, ValidationInfo, field_validator

from antecede.message import Membership, ProcessSet, members, process_set
from antecede.order import Channels, Gives, Options, Order, Traits
from antecede.overlays import Overlay
from antecede.protocols import find, network_options, parse_options
from antecede.simulate.checks import CHECKS
from antecede.simulate.graphs import Graph
from antecede.simulate.layouts import lay_out
from antecede.simulate.participants import deployment_of, graph_of, usual_names, with_routers
from antecede.simulate.parts import (
    Asked,
    Broadcast,
    Crash,
    FullyDelivered,
    Groups,
    Join,
    Layout,
    Network,
    NewLink,
    Part,
    Positive,
    ProcessRef,
    Regrouping,
    Replay,
    Workload,
)
from antecede.topology.deployment import Deployment

DEFAULT_MESSAGES = 1000
MOST_AHEAD_S = 1e8
"""Three years: the clock of a machine counts from its start."""


def _default_workload(valid: dict[str, Any]) -> Groups | Broadcast:
    return Groups() if valid.get("groups") else Broadcast()


class Latecomer(NamedTuple):
    """A process that joins at a time: `before` is the one that it was until it crashed, or itself
    if it comes for the first time."""

    process: int
    before: int
    time_s: float
    talks_with: ProcessSet = 0


class Scenario(Part):
    """A simulated run."""

    protocol: str
    """Which protocol: a name that `antecede protocols` lists, or `module:Class`."""
    options: dict[str, Any] = Field(default={})
    """Options of the protocol; `antecede protocols NAME` lists them."""
    topology: str | None = None
    """A file, a network of the Topology Zoo or a generator with its numbers."""
    attach: list[ProcessRef] | None = Field(default=None, min_length=1)
    """The node that each process is attached to; by default one process at every node that
    hosts."""
    processes: int | None = Field(default=None, ge=1, le=65_536, strict=True, validate_default=True)
    """How many there are, unless a topology or a graph says so."""
    names: list[Annotated[str, Field(min_length=1)]] | None = None
    """A name for each process, which other fields may use."""
    groups: list[Annotated[list[ProcessRef], Field(min_length=1)]] | Layout | None = None
    """The groups, as lists of processes, or a shape."""
    seed: int = Field(default=1, ge=0, strict=True)
    """Explains the whole run."""
    messages: int | None = Field(default=None, ge=1, strict=True)
    """How many messages are sent in all; 1,000 unless a graph says how many."""
    workload: Workload = Field(default_factory=_default_workload, validate_default=True)
    """Who sends what to whom."""
    rate: Positive = 10.0
    """Messages per second that each process starts."""
    payload_bytes: int = Field(default=0, ge=0, le=1 << 24, strict=True)
    """The size of every payload."""
    network: Network = Network()
    """Links and their faults."""
    clocks: list[Annotated[float, Field(ge=0, le=MOST_AHEAD_S)]] = Field(default=[])
    """By how many seconds the clock of each process is ahead, in their order; those that are left
    out are right. A protocol sees the clock of its own process alone."""
    joins: list[Join] = Field(default=[])
    """Which of the processes come later."""
    new_links: list[NewLink] = Field(default=[])
    """Which links of the topology come later, or are new."""
    crashes: list[Crash] = Field(default=[])
    """Who crashes when, and comes back."""
    regroupings: list[Regrouping] = Field(default=[])
    """When the groups change."""
    incomplete: Asked | None = None
    """Less than causal order, if that is asked for."""
    fully_delivered: FullyDelivered | None = None
    """How senders get to know that a message is delivered everywhere, if they do."""
    patience_s: Positive = 60.0
    """How long a run goes on in which nothing happens any more but a protocol's own timers."""
    run: str = ""
    """The name of the execution in the trace; by default protocol and seed."""

    @field_validator(*CHECKS)
    @classmethod
    def _check(cls, value: Any, info: ValidationInfo) -> Any:
        return CHECKS[str(info.field_name)](value, info)

    @cached_property
    def graph(self) -> Graph | None:
        """What is replayed, if anything."""
        return graph_of(self.workload, self.messages) if isinstance(self.workload, Replay) else None

    @cached_property
    def order(self) -> type[Order]:
        """What runs at each process, with these options."""
        found = find(self.protocol)
        return found.variant(parse_options(self.protocol, self.options, processes=2))

    @property
    def traits(self) -> Traits:
        """What the protocol needs and gives under its options."""
        return self.order.traits_under(self.order_options)

    @cached_property
    def order_options(self) -> Options:
        deployment = self.deployment
        own: dict[str, Any] = {}
        if deployment is not None:
            own = network_options(self.protocol, self.options, deployment)
        if self.latecomers and "links" in own:  # with the links of those whose place they take
            own["latecomers"] = [(one.process, one.before) for one in self.latecomers]
        if self.new_links:
            later = [(first, second) for first, second, _ in self.link_times]
            known = {frozenset(link) for link in own["links"]}
            own["later_links"] = later
            own["links"] = [*own["links"], *(one for one in later if frozenset(one) not in known)]
        if self.latecomers and "links" not in own:
            own = {"latecomers": [latecomer.process for latecomer in self.latecomers]}
            knows_talk = "talks_with" in self.order.options_type.__struct_fields__
            if knows_talk and any(latecomer.talks_with for latecomer in self.latecomers):
                own["talks_with"] = [[*members(one.talks_with)] for one in self.latecomers]
        return parse_options(self.protocol, {**self.options, **own}, self.applications.size)

    @cached_property
    def neighbours(self) -> list[ProcessSet] | None:
        """Whom each process is linked to, where processes talk to their neighbours alone."""
        if not self.order.talks_to_neighbours(self.options):
            return None
        found = [0] * self.applications.size
        for first, second in getattr(self.order_options, "links", ()):
            found[first] |= 1 << second
            found[second] |= 1 << first
        return found

    @cached_property
    def deployment(self) -> Deployment | None:
        """The processes on the topology, if there is one."""
        return deployment_of(vars(self), self.processes)

    @property
    def is_routed(self) -> bool:
        """Whether the protocol is an overlay, whose servers and routers are processes, too."""
        return issubclass(self.order, Overlay)

    @property
    def run_name(self) -> str:
        return self.run or f"{self.protocol}-{self.seed}"

    @property
    def message_limit(self) -> int:
        """How many messages are sent at most."""
        return len(self.graph) if self.graph else self.messages or DEFAULT_MESSAGES

    @property
    def fifo_links(self) -> bool:
        """Links are FIFO where the scenario says so, and where the protocol needs it, as a
        transport under it would make them."""
        return self.network.fifo or self.traits.channels is Channels.FIFO

    @property
    def promises_order(self) -> bool:
        """Whether the protocol promises causal order on such a network: a FIFO channel that loses
        packets is not one."""
        traits, network = self.traits, self.network
        loses = network.loss or any(link.loss for link in network.links)
        loses = loses or any(partition.packets == "lost" for partition in network.partitions)
        return traits.gives is Gives.CAUSAL and not (traits.channels is Channels.FIFO and loses)

    @cached_property
    def process_names(self) -> list[str]:
        """The application processes, then the routers."""
        size = self.graph.size if self.graph else self.processes or 0
        names = list(self.names or usual_names(size, self.deployment))
        names = with_routers(names, self.deployment) if self.is_routed else names
        for crash in self.crashes:
            if crash.back_s is not None:
                before = crash.process
                name = names[before] if isinstance(before, int) else before
                while name in names:
                    name += "'"
                names.append(name)
        return names

    @cached_property
    def latecomers(self) -> tuple[Latecomer, ...]:
        """Those who come back and those who come for the first time."""
        return (*self.returning, *self.newcomers)

    @cached_property
    def link_times(self) -> list[tuple[int, int, float]]:
        """The links that come later: between whom, and when."""
        ends = [(sorted(map(self.index, link.between)), link.time_s) for link in self.new_links]
        return [(first, second, time_s) for (first, second), time_s in ends]

    @cached_property
    def newcomers(self) -> tuple[Latecomer, ...]:
        """Those who come for the first time."""
        coming = [(self.index(join.process), join) for join in self.joins]
        return tuple(
            Latecomer(process, process, join.time_s, self.members(join.talks_with))
            for process, join in coming
        )

    @cached_property
    def returning(self) -> tuple[Latecomer, ...]:
        """Those who come back, as the last of all processes."""
        back = [crash for crash in self.crashes if crash.back_s is not None]
        first = len(self.process_names) - len(back)
        return tuple(
            Latecomer(first + place, self.index(crash.process), crash.back_s or 0.0)
            for place, crash in enumerate(back)
        )

    @cached_property
    def application_names(self) -> list[str]:
        """Those who send and are addressed, and who comes back in their places."""
        found = set(range(self.applications.size))
        for one in self.returning:
            if one.before in found:
                found.add(one.process)
        return [self.process_names[process] for process in sorted(found)]

    def latecomer(self, process: int) -> Latecomer:
        return next(one for one in self.latecomers if one.process == process)

    @cached_property
    def membership(self) -> Membership:
        """Everybody who takes part, routers included."""
        return Membership(len(self.process_names), self.applications.groups)

    @cached_property
    def applications(self) -> Membership:
        """The processes that send and are addressed: the first ones."""
        size = self.processes or len(self.process_names)
        if self.groups is None:
            return Membership(size)
        if isinstance(self.groups, Layout):
            layout = self.groups
            groups = lay_out(layout.layout, size, layout.count, layout.size, self.seed)
            return Membership(size, groups)
        return Membership(size, tuple(self.members(group) for group in self.groups))

    def to_json(self) -> str:
        """Everything, defaults included, as it is stored with a trace."""
        return self.model_dump_json(by_alias=True, exclude_none=True)

    def to_toml(self) -> str:
        """A file that `load_scenario` reads; what has its default is left out."""
        plain = self.model_dump(by_alias=True, exclude_none=True, exclude_defaults=True)
        if "network" in plain:
            plain["network"] = self.network.model_dump(by_alias=True, exclude_none=True)
        if self.workload == _default_workload({"groups": self.groups}):
            del plain["workload"]
        else:
            plain["workload"] = self.workload.model_dump(exclude_none=True)
        return tomli_w.dumps(plain)

    def index(self, process: int | str) -> int:
        """The index of a process that is given by index or name."""
        return process if isinstance(process, int) else self.process_names.index(process)

    def members(self, processes: Iterable[int | str]) -> ProcessSet:
        return process_set(map(self.index, processes))
