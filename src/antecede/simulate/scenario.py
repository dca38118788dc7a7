"""A scenario: everything that determines a simulated run.

It is validated as a whole, stored with the trace, and enough to repeat the run anywhere. A process
is given by its index or by its name. `antecede.simulate.loading` reads scenarios from files and
from flags and says what is wrong with them in words.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from antecede.errors import AntecedeError, Misuse
from antecede.message import Membership, ProcessSet, members, process_set
from antecede.order import Addressing, Channels, Gives, Options, Order, Traits
from antecede.overlays import Overlay
from antecede.protocols import deploy_for, find, network_options, parse_options
from antecede.simulate.graphs import Graph, load_graph
from antecede.simulate.layouts import lay_out
from antecede.simulate.parts import (
    Asked,
    Broadcast,
    ByTime,
    Constant,
    Crash,
    FullyDelivered,
    Groups,
    Join,
    Layout,
    Multicast,
    Network,
    Part,
    Positive,
    ProcessRef,
    Regrouping,
    Replay,
    Requests,
    Token,
    Unicast,
    Uniform,
    Workload,
)
from antecede.simulate.toml import to_toml
from antecede.topology.deployment import Deployment, deploy

T = TypeVar("T")
DEFAULT_MESSAGES = 1000


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
    """A simulated run. Cross-checks stand with the later of the fields that they compare, so that
    one mistake does not hide another."""

    protocol: str
    options: dict[str, Any] = Field(default={})
    topology: str | None = None
    """A file, a network of the Topology Zoo or a generator with its numbers."""
    attach: list[ProcessRef] | None = Field(default=None, min_length=1)
    """The node that each process is attached to; by default one process at every node that
    hosts."""
    processes: int | None = Field(default=None, ge=1, le=65_536, strict=True, validate_default=True)
    names: list[Annotated[str, Field(min_length=1)]] | None = None
    groups: list[Annotated[list[ProcessRef], Field(min_length=1)]] | Layout | None = None
    seed: int = Field(default=1, ge=0, strict=True)
    messages: int | None = Field(default=None, ge=1, strict=True)
    workload: Workload = Field(default_factory=_default_workload, validate_default=True)
    rate: Positive = 10.0
    """Messages per second that each process starts."""
    payload_bytes: int = Field(default=0, ge=0, le=1 << 24, strict=True)
    network: Network = Network()
    joins: list[Join] = Field(default=[])
    """Which of the processes come later."""
    crashes: list[Crash] = Field(default=[])
    regroupings: list[Regrouping] = Field(default=[])
    incomplete: Asked | None = None
    """Less than causal order, if that is asked for."""
    fully_delivered: FullyDelivered | None = None
    """How senders get to know that a message is delivered everywhere, if they do."""
    patience_s: Positive = 60.0
    """How long a run goes on in which nothing happens any more but a protocol's own timers."""
    run: str = ""
    """The name of the execution in the trace; by default protocol and seed."""

    @field_validator("protocol")
    @classmethod
    def _check_protocol(cls, protocol: str) -> str:
        return _without_error(lambda: find(protocol).name)

    @field_validator("options")
    @classmethod
    def _check_options(cls, options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "protocol" in info.data:
            # Whether a number suits the number of processes is seen when there are some.
            _without_error(lambda: parse_options(info.data["protocol"], options, processes=2))
        if options.get("latecomers"):  # nobody would ever let them in
            raise ValueError(
                "latecomers: who comes later stands in joins and crashes (back_s); drop it"
            )
        return options

    @field_validator("topology")
    @classmethod
    def _check_topology(cls, topology: str | None, info: ValidationInfo) -> str | None:
        if topology is not None:
            _without_error(lambda: deploy(topology))
            given = {"links", "applications", "separators"} & set(info.data.get("options", ()))
            if given:
                raise ValueError(f"says who is linked to whom; drop the options {sorted(given)}")
        return topology

    @field_validator("attach")
    @classmethod
    def _check_attach(cls, attach: Any, info: ValidationInfo) -> Any:
        if attach is not None and info.data.get("topology") is None and "topology" in info.data:
            raise ValueError("is for a topology, and there is none")
        return attach

    @field_validator("processes")
    @classmethod
    def _check_processes(cls, processes: int | None, info: ValidationInfo) -> int | None:
        """With a topology the number follows from it, or it says how many to spread over it."""
        deployment = _without_error(lambda: _deployment(info.data, processes))
        if deployment is not None:
            return deployment.applications
        if processes is not None and {"protocol", "options", "topology"} <= info.data.keys():
            _without_error(lambda: _check_hosts(info.data, processes))
        return processes

    @field_validator("names")
    @classmethod
    def _check_names(cls, names: list[str] | None, info: ValidationInfo) -> list[str] | None:
        if names is not None:
            processes = info.data.get("processes")
            if processes is not None and len(names) != processes:
                raise ValueError(f"has {len(names)} names for {processes} processes")
            if len(set(names)) != len(names):
                raise ValueError("has a name twice")
        return names

    @field_validator("groups")
    @classmethod
    def _check_groups(cls, groups: Any, info: ValidationInfo) -> Any:
        processes = info.data.get("processes")
        if isinstance(groups, Layout) and processes is not None:
            layout = (groups.layout, processes, groups.count, groups.size, 0)
            _without_error(lambda: lay_out(*layout))
        elif isinstance(groups, list):
            for index, group in enumerate(groups):
                _check_references(f"groups[{index}]", group, info)
        return groups

    @field_validator("workload")
    @classmethod
    def _check_workload(cls, workload: Any, info: ValidationInfo) -> Any:
        groups, processes = info.data.get("groups"), info.data.get("processes")
        if isinstance(workload, Replay):
            graph = _without_error(lambda: _graph(workload, info.data.get("messages")))
            if processes not in (None, graph.size):
                fix = f"make it {graph.size}" if info.data.get("topology") else "leave it out"
                raise _at("processes", f"is {processes}, but the graph has {graph.size}; {fix}")
        elif processes is None and {"processes", "topology"} <= info.data.keys():
            raise _at("processes", "is missing; say how many there are")
        if groups and not isinstance(workload, Groups):
            raise ValueError(
                f"'{workload.kind}' does not use groups; use kind 'groups', or drop them"
            )
        if isinstance(workload, Groups) and groups is None and "groups" in info.data:
            raise _at("groups", "is missing; list the groups, or give a layout and a count")
        if isinstance(workload, Requests) and processes and workload.servers >= processes:
            raise ValueError(
                f"{workload.servers} servers among {processes} processes leave no client"
            )
        if isinstance(workload, Unicast | Multicast | Token) and processes == 1:
            raise ValueError(f"'{workload.kind}' needs at least 2 processes")
        if isinstance(workload, Token) and processes and workload.tokens > processes:
            raise ValueError(f"{workload.tokens} tokens are for as many processes, not {processes}")
        if isinstance(workload, Multicast) and processes and (workload.size or 0) >= processes:
            raise ValueError(f"there are only {processes - 1} other processes to send to")
        if getattr(workload, "local", None) is not None and info.data.get("topology") is None:
            raise _at("workload.local", "is for the parts of a topology, and there is none")
        if {"protocol", "options"} <= info.data.keys():
            _check_addressing(info.data, workload, groups)
        return workload

    @field_validator("network")
    @classmethod
    def _check_network(cls, network: Network, info: ValidationInfo) -> Network:
        for index, link in enumerate(network.links):
            _check_references(f"network.links[{index}]", [*link.source, *link.to], info)
        for index, partition in enumerate(network.partitions):
            place = f"network.partitions[{index}].sides"
            processes = [process for side in partition.sides for process in side]
            _check_references(place, processes, info)
            names = _names(info)
            given = processes if names is None else [_index(one, names) for one in processes]
            if len(set(given)) != len(given):
                raise _at(place, "a process stands on two sides")
            if names and len(partition.sides) == 1 and len(given) == len(names):
                raise _at(place, f"all {len(names)} processes are on one side; leave some out")
        return network

    @field_validator("joins")
    @classmethod
    def _check_joins(cls, joins: list[Join], info: ValidationInfo) -> list[Join]:
        protocol, names = info.data.get("protocol"), _names(info)
        if joins and protocol and find(protocol).join is Order.join:
            raise ValueError(f"{protocol} takes no newcomers; leave it out")
        if joins and info.data.get("topology"):
            raise ValueError("a topology says who is there; leave one of the two out")
        coming = set[int | str]()
        for index, join in enumerate(joins):
            _check_references(f"joins[{index}].process", [join.process], info)
            _check_references(f"joins[{index}].talks_with", join.talks_with, info)
            process = join.process if names is None else _index(join.process, names)
            if process in coming:
                raise _at(f"joins[{index}].process", f"{join.process!r} comes twice; drop one")
            coming.add(process)
        if names is not None and len(coming) == len(names):
            raise ValueError(f"all {len(names)} processes come later; leave somebody out")
        return joins

    @field_validator("crashes")
    @classmethod
    def _check_crashes(cls, crashes: list[Crash], info: ValidationInfo) -> list[Crash]:
        names, earlier = _names(info), dict[int | str, Crash]()
        for index, crash in enumerate(crashes):
            _check_references(f"crashes[{index}].process", [crash.process], info)
            process = crash.process if names is None else _index(crash.process, names)
            if process in earlier:
                raise _at(f"crashes[{index}].process", _twice(crash, earlier[process]))
            earlier[process] = crash
            for join in info.data.get("joins", ()):
                coming = join.process if names is None else _index(join.process, names)
                if coming == process and crash.time_s <= join.time_s:
                    words = f"is {crash.time_s:g}, and the process comes at {join.time_s:g} s"
                    raise _at(f"crashes[{index}].time_s", words)
            protocol = info.data.get("protocol")
            if crash.back_s is not None and protocol and find(protocol).join is Order.join:
                place = f"crashes[{index}].back_s"
                raise _at(place, f"{protocol} lets nobody back in; leave it out")
        return crashes

    @field_validator("regroupings")
    @classmethod
    def _check_regroupings(
        cls, regroupings: list[Regrouping], info: ValidationInfo
    ) -> list[Regrouping]:
        protocol = info.data.get("protocol")
        if regroupings and protocol and not hasattr(find(protocol), "regroup"):
            raise ValueError(
                f"the groups of {protocol} cannot change; drop it, or take blocks-slow"
            )
        if regroupings and not isinstance(info.data.get("workload"), Groups):
            raise ValueError("is for a workload of kind 'groups'; drop it, or take that")
        if regroupings and (info.data.get("crashes") or _may_lose(info.data.get("network"))):
            raise ValueError("needs a network that loses nothing, and nobody who crashes")
        for index, one in enumerate(regroupings):
            for place, group in enumerate(one.groups):
                _check_references(f"regroupings[{index}].groups[{place}]", group, info)
            if index and one.time_s <= regroupings[index - 1].time_s:
                raise _at(f"regroupings[{index}].time_s", "comes before the one above; sort them")
        return regroupings

    @field_validator("incomplete")
    @classmethod
    def _check_incomplete(cls, asked: Any, info: ValidationInfo) -> Any:
        protocol, workload = info.data.get("protocol"), info.data.get("workload")
        if asked is None or protocol is None:
            return asked
        if asked.kind != "labels" and protocol != "histories":
            raise ValueError(f"{asked.kind} are made of histories; take that protocol")
        if issubclass(find(protocol), Overlay) or info.data.get("options", {}).get("recovery"):
            raise ValueError(f"{protocol} cannot be had for each label; take another protocol")
        if workload is not None and not isinstance(workload, Unicast | Multicast | Broadcast):
            raise ValueError(f"goes with unicast, multicast and broadcast, not '{workload.kind}'")
        if info.data.get("crashes") or info.data.get("joins"):
            raise ValueError("goes with processes that are there from beginning to end")
        return asked

    @field_validator("fully_delivered")
    @classmethod
    def _check_fully_delivered(cls, asked: Any, info: ValidationInfo) -> Any:
        protocol, network = info.data.get("protocol"), info.data.get("network")
        if asked is None or protocol is None or network is None:
            return asked
        if protocol != "histories":
            raise ValueError(f"is known to histories; take that protocol, not {protocol}")
        if info.data.get("incomplete") or info.data.get("crashes"):
            raise ValueError("goes neither with incomplete orders nor with crashes")
        if isinstance(asked, ByTime) and not _is_within(network, asked.delta_s):
            raise ValueError(
                f"the network may take {asked.delta_s} s or longer; give it a constant or uniform "
                f"delay below that, and let it lose and hold nothing"
            )
        return asked

    @cached_property
    def graph(self) -> Graph | None:
        """What is replayed, if anything."""
        return _graph(self.workload, self.messages) if isinstance(self.workload, Replay) else None

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
        elif self.latecomers:
            own = {"latecomers": [latecomer.process for latecomer in self.latecomers]}
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
        return _deployment(vars(self), self.processes)

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
        names = list(self.names or _usual_names(size, self.deployment))
        names = _with_routers(names, self.deployment) if self.is_routed else names
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
        return to_toml(plain)

    def index(self, process: int | str) -> int:
        """The index of a process that is given by index or name."""
        return process if isinstance(process, int) else self.process_names.index(process)

    def members(self, processes: Iterable[int | str]) -> ProcessSet:
        return process_set(map(self.index, processes))


def _is_within(network: Network, delta_s: float) -> bool:
    """Whether every packet arrives before this time has passed."""
    for delay in (network.delay, *(link.delay for link in network.links if link.delay)):
        longest_s = delay.value_s if isinstance(delay, Constant) else None
        longest_s = delay.high_s if isinstance(delay, Uniform) else longest_s
        if longest_s is None or longest_s >= delta_s:
            return False
    return not (network.partitions or network.fifo or _may_lose(network))


def _may_lose(network: Network | None) -> bool:
    if network is None:
        return False
    lossy = any(partition.packets == "lost" for partition in network.partitions)
    return bool(network.loss or lossy or any(link.loss for link in network.links))


def _deployment(fields: Mapping[str, Any], processes: int | None) -> Deployment | None:
    """The processes on the topology that these fields name, if they do."""
    topology, attach = fields.get("topology"), fields.get("attach")
    if topology is None:
        return None
    places = None if attach is None else tuple(attach)
    if not {"protocol", "options"} <= fields.keys():
        return deploy(topology, places, processes)  # their own mistakes are told already
    return deploy_for(fields["protocol"], fields["options"], topology, places, processes)


def _usual_names(size: int, deployment: Deployment | None) -> list[str]:
    """Of the application processes: where they are the nodes of a network, the names of these."""
    if deployment is not None and deployment.is_nodes:
        return list(deployment.topology.names)
    return [f"p{process}" for process in range(size)]


def _with_routers(names: list[str], deployment: Deployment | None) -> list[str]:
    """All names: a router that is called like a process gets a dash."""
    found = list(names)
    for router in deployment.routers if deployment else ():
        name = router
        while name in names:
            name += "'"
        found.append(name)
    return found


def _check_hosts(fields: Mapping[str, Any], size: int) -> None:
    """Refuse an overlay without topology that cannot have an application at every process."""
    protocol = find(fields["protocol"])
    if not issubclass(protocol, Overlay):
        return
    membership = Membership(size)
    overlay = protocol(0, membership, parse_options(protocol.name, fields["options"], size))
    apart = list(members(membership.everybody & ~overlay.hosts))
    if apart:
        raise Misuse(f"no application can live at {apart}, which only forward; give a topology")


def _graph(workload: Replay, messages: int | None) -> Graph:
    graph = load_graph(workload.graph, workload.session)
    return graph if messages is None else graph.first(messages)


def _check_addressing(fields: Mapping[str, Any], workload: Any, groups: Any) -> None:
    """Refuse a workload that the protocol cannot carry."""
    protocol = fields["protocol"]
    is_near = find(protocol).talks_to_neighbours(fields["options"])
    if is_near and not isinstance(workload, Unicast | Multicast):
        raise ValueError(
            f"'{workload.kind}' goes beyond neighbours, whom alone {protocol} addresses with these "
            f"options; use kind 'unicast' or 'multicast'"
        )
    needed = Addressing.ONE_GROUP
    if isinstance(workload, Unicast | Multicast | Requests | Token):
        needed = Addressing.SETS
    elif isinstance(workload, Groups):
        count = groups.count if isinstance(groups, Layout) else len(groups or ())
        needed = Addressing.GROUPS if count > 1 else Addressing.ONE_GROUP
    given = find(protocol).traits.addressing
    if given < needed:
        words = {1: "one group of everybody", 2: "whole groups", 3: "any set of processes"}
        raise ValueError(
            f"'{workload.kind}' addresses {words[needed]}, and {protocol} can address only "
            f"{words[given]}"
        )


def _names(info: ValidationInfo) -> list[str] | None:
    """Of the processes, routers included, as far as they are known."""
    names, size = info.data.get("names"), info.data.get("processes")
    workload = info.data.get("workload")
    if size is None and isinstance(workload, Replay):
        size = _graph(workload, info.data.get("messages")).size
    if names is None and size is not None:
        names = _usual_names(size, _deployment(info.data, size))
    if names is None:
        return None
    if "protocol" in info.data and issubclass(find(info.data["protocol"]), Overlay):
        return _with_routers(names, _deployment(info.data, size))
    return list(names)


def _index(process: int | str, names: list[str]) -> int:
    return process if isinstance(process, int) else names.index(process)


def _twice(crash: Crash, earlier: Crash) -> str:
    """Why a process that has crashed does not crash again."""
    again = f"{crash.process!r} crashes at {earlier.time_s:g} s and again at {crash.time_s:g} s"
    if earlier.back_s is None:
        return f"{again}; drop one"
    return f"{again}; who is back is another process, which stays: drop one"


def _check_references(place: str, processes: Iterable[int | str], info: ValidationInfo) -> None:
    """Refuse indices and names of processes that do not exist."""
    names = _names(info)
    if names is None:
        return
    for process in processes:
        if process not in names if isinstance(process, str) else process >= len(names):
            known = f"there are {len(names)}, {names[0]} to {names[-1]}"
            raise _at(place, f"there is no process {process!r}; {known}")


def _without_error(action: Callable[[], T]) -> T:
    """The outcome of the action; an error of Antecede becomes one of the field."""
    try:
        return action()
    except AntecedeError as error:
        raise ValueError(str(error)) from None


def _at(field: str, text: str) -> PydanticCustomError:
    """A mistake that belongs to another field than the one being checked."""
    return PydanticCustomError("elsewhere", "{text}", {"place": field, "text": text})
