"""What is checked of a scenario beyond the types of its fields: one function a field. Cross-checks
stand with the later of the fields that they compare, so that one mistake does not hide another."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from antecede.errors import AntecedeError, Misuse
from antecede.message import Membership, members
from antecede.order import Addressing, Order
from antecede.overlays import Overlay
from antecede.protocols import find, parse_options
from antecede.simulate.layouts import lay_out
from antecede.simulate.participants import deployment_of, graph_of, names_of
from antecede.simulate.parts import (
    Broadcast,
    ByTime,
    Constant,
    Crash,
    Groups,
    Join,
    Layout,
    Multicast,
    Network,
    NewLink,
    Regrouping,
    Replay,
    Requests,
    Talks,
    Token,
    Unicast,
    Uniform,
)
from antecede.topology.deployment import deploy

T = TypeVar("T")


def check_protocol(protocol: str, info: ValidationInfo) -> str:
    return _without_error(lambda: find(protocol).name)


def check_options(options: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    if "protocol" in info.data:
        # Whether a number suits the number of processes is seen when there are some.
        _without_error(lambda: parse_options(info.data["protocol"], options, processes=2))
    for name in ("latecomers", "talks_with"):  # nobody would ever let them in
        if options.get(name):
            raise ValueError(
                f"{name}: who comes later stands in joins and crashes (back_s); drop it"
            )
    return options


def check_topology(topology: str | None, info: ValidationInfo) -> str | None:
    if topology is not None:
        _without_error(lambda: deploy(topology))
        given = {"links", "applications", "separators"} & set(info.data.get("options", ()))
        if given:
            raise ValueError(f"says who is linked to whom; drop the options {sorted(given)}")
    return topology


def check_attach(attach: Any, info: ValidationInfo) -> Any:
    if attach is not None and info.data.get("topology") is None and "topology" in info.data:
        raise ValueError("is for a topology, and there is none")
    return attach


def check_processes(processes: int | None, info: ValidationInfo) -> int | None:
    """With a topology the number follows from it, or it says how many to spread over it."""
    deployment = _without_error(lambda: deployment_of(info.data, processes))
    if deployment is not None:
        return deployment.applications
    if processes is not None and {"protocol", "options", "topology"} <= info.data.keys():
        _without_error(lambda: _check_hosts(info.data, processes))
    return processes


def check_names(names: list[str] | None, info: ValidationInfo) -> list[str] | None:
    if names is not None:
        processes = info.data.get("processes")
        if processes is not None and len(names) != processes:
            raise ValueError(f"has {len(names)} names for {processes} processes")
        if len(set(names)) != len(names):
            raise ValueError("has a name twice")
    return names


def check_groups(groups: Any, info: ValidationInfo) -> Any:
    processes = info.data.get("processes")
    if isinstance(groups, Layout) and processes is not None:
        layout = (groups.layout, processes, groups.count, groups.size, 0)
        _without_error(lambda: lay_out(*layout))
    elif isinstance(groups, list):
        for index, group in enumerate(groups):
            _check_references(f"groups[{index}]", group, info)
    return groups


def check_workload(workload: Any, info: ValidationInfo) -> Any:
    groups, processes = info.data.get("groups"), info.data.get("processes")
    if isinstance(workload, Replay):
        graph = _without_error(lambda: graph_of(workload, info.data.get("messages")))
        if processes not in (None, graph.size):
            fix = f"make it {graph.size}" if info.data.get("topology") else "leave it out"
            raise _at("processes", f"is {processes}, but the graph has {graph.size}; {fix}")
    elif processes is None and {"processes", "topology"} <= info.data.keys():
        raise _at("processes", "is missing; say how many there are")
    if groups and not isinstance(workload, Groups):
        raise ValueError(f"'{workload.kind}' does not use groups; use kind 'groups', or drop them")
    if isinstance(workload, Groups) and groups is None and "groups" in info.data:
        raise _at("groups", "is missing; list the groups, or give a layout and a count")
    if isinstance(workload, Requests) and processes and workload.servers >= processes:
        raise ValueError(f"{workload.servers} servers among {processes} processes leave no client")
    if isinstance(workload, Unicast | Multicast | Token) and processes == 1:
        raise ValueError(f"'{workload.kind}' needs at least 2 processes")
    if isinstance(workload, Talks):
        for place, talk in enumerate(workload.talks):
            _check_references(f"workload.talks[{place}]", [talk.sender, *talk.to], info)
    if isinstance(workload, Token) and processes and workload.tokens > processes:
        raise ValueError(f"{workload.tokens} tokens are for as many processes, not {processes}")
    if isinstance(workload, Multicast) and processes and (workload.size or 0) >= processes:
        raise ValueError(f"there are only {processes - 1} other processes to send to")
    if getattr(workload, "local", None) is not None and info.data.get("topology") is None:
        raise _at("workload.local", "is for the parts of a topology, and there is none")
    if {"protocol", "options"} <= info.data.keys():
        _check_addressing(info.data, workload, groups)
    return workload


def check_network(network: Network, info: ValidationInfo) -> Network:
    for index, link in enumerate(network.links):
        _check_references(f"network.links[{index}]", [*link.source, *link.to], info)
    for index, partition in enumerate(network.partitions):
        place = f"network.partitions[{index}].sides"
        processes = [process for side in partition.sides for process in side]
        _check_references(place, processes, info)
        names = names_of(info.data)
        given = processes if names is None else [_index(one, names) for one in processes]
        if len(set(given)) != len(given):
            raise _at(place, "a process stands on two sides")
        if names and len(partition.sides) == 1 and len(given) == len(names):
            raise _at(place, f"all {len(names)} processes are on one side; leave some out")
    if _may_lose(network) and {"protocol", "options"} <= info.data.keys():
        options = info.data["options"]
        _without_error(lambda: find(info.data["protocol"]).check_loss(options))
    return network


def check_clocks(clocks: list[float], info: ValidationInfo) -> list[float]:
    names = names_of(info.data)
    if names is not None and len(clocks) > len(names):
        raise ValueError(f"has {len(clocks)} clocks for {len(names)} processes")
    return clocks


def check_joins(joins: list[Join], info: ValidationInfo) -> list[Join]:
    protocol, names = info.data.get("protocol"), names_of(info.data)
    if joins and protocol and find(protocol).join is Order.join:
        raise ValueError(f"{protocol} takes no newcomers; leave it out")
    if joins and info.data.get("topology") and not _knows_links(protocol):
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


def _knows_links(protocol: str | None) -> bool:
    """Whether somebody, or a link, may come later on a topology."""
    return protocol is None or "later_links" in find(protocol).options_type.__struct_fields__


def check_new_links(links: list[NewLink], info: ValidationInfo) -> list[NewLink]:
    protocol, names = info.data.get("protocol"), names_of(info.data)
    if links and not _knows_links(protocol):
        raise ValueError(f"{protocol} knows no links; leave it out, or take separators")
    if links and info.data.get("topology", "") is None:
        raise ValueError("is for a topology, and there is none")
    for index, link in enumerate(links):
        place = f"new_links[{index}].between"
        _check_references(place, link.between, info)
        first, second = link.between
        if names is not None and _index(first, names) == _index(second, names):
            raise _at(place, "a link leads from one process to another")
    return links


def check_crashes(crashes: list[Crash], info: ValidationInfo) -> list[Crash]:
    names, earlier = names_of(info.data), dict[int | str, Crash]()
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


def check_regroupings(regroupings: list[Regrouping], info: ValidationInfo) -> list[Regrouping]:
    protocol = info.data.get("protocol")
    if regroupings and protocol and not hasattr(find(protocol), "regroup"):
        raise ValueError(f"the groups of {protocol} cannot change; drop it, or take blocks-slow")
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


def check_incomplete(asked: Any, info: ValidationInfo) -> Any:
    protocol, workload = info.data.get("protocol"), info.data.get("workload")
    if asked is None or protocol is None:
        return asked
    if asked.kind != "labels" and protocol != "histories":
        raise ValueError(f"{asked.kind} are made of histories; take that protocol")
    if issubclass(find(protocol), Overlay) or info.data.get("options", {}).get("recovery"):
        raise ValueError(f"{protocol} cannot be had for each label; take another protocol")
    if asked.kind == "labels" and find(protocol).stamp_type.carries_messages:
        raise ValueError(
            f"{protocol} puts messages into its stamps, where labels have no names for "
            "them; take another protocol"
        )
    if workload is not None and not isinstance(workload, Unicast | Multicast | Broadcast):
        raise ValueError(f"goes with unicast, multicast and broadcast, not '{workload.kind}'")
    if info.data.get("crashes") or info.data.get("joins"):
        raise ValueError("goes with processes that are there from beginning to end")
    return asked


def check_fully_delivered(asked: Any, info: ValidationInfo) -> Any:
    protocol, network = info.data.get("protocol"), info.data.get("network")
    if asked is None or protocol is None or network is None:
        return asked
    if protocol != "histories":
        raise ValueError(f"is known to histories; take that protocol, not {protocol}")
    if info.data.get("incomplete") or info.data.get("crashes"):
        raise ValueError("goes neither with incomplete orders nor with crashes")
    if info.data.get("clocks"):
        raise ValueError("goes with clocks that are right; drop clocks")
    if isinstance(asked, ByTime) and not _is_within(network, asked.delta_s):
        raise ValueError(
            f"the network may take {asked.delta_s} s or longer; give it a constant or uniform "
            f"delay below that, and let it lose and hold nothing"
        )
    return asked


CHECKS: Mapping[str, Callable[[Any, ValidationInfo], Any]] = {
    "protocol": check_protocol,
    "options": check_options,
    "topology": check_topology,
    "attach": check_attach,
    "processes": check_processes,
    "names": check_names,
    "groups": check_groups,
    "workload": check_workload,
    "network": check_network,
    "clocks": check_clocks,
    "joins": check_joins,
    "new_links": check_new_links,
    "crashes": check_crashes,
    "regroupings": check_regroupings,
    "incomplete": check_incomplete,
    "fully_delivered": check_fully_delivered,
}


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
    if isinstance(workload, Unicast | Multicast | Requests | Token | Talks):
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
    names = names_of(info.data)
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
