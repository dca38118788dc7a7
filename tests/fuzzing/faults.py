"""What may befall a daisy in a scenario, as far as the scenario says so."""

from collections.abc import Iterator

from antecede.groups import Quorum
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Plan, plan
from antecede.simulate import Scenario
from antecede.simulate.parts import Crash

FAULTS = (
    *("loss", "loss of a quarter and more", "duplication", "links much slower or quicker"),
    *("healed partition", "false suspicion"),
    *("crash of a member", "crash of a server", "crash with a majority to be kept"),
    *("two crashes or more", "crash of a sender with its server", "return of a process"),
    *("crash during a flush", "crash during a join"),
    *("groups that split and merge", "crash while groups split and merge"),
    *("partition while groups split and merge", "three levels or more", "packing"),
    *("early forwarding", "through the server alone", "straight to the recipients"),
)
"""In the order of the page that counts them."""


def faults_of(scenario: Scenario) -> Iterator[str]:
    """The kinds of faults, and of what makes them worse; some of them more than once."""
    options = scenario.order_options
    if not isinstance(options, DaisyOptions):
        raise TypeError(f"{scenario.protocol} is no daisy")
    groups = plan(scenario.membership.size, options.sizes, options.groups, options.latecomers)
    evolves = bool(options.split_above and options.merge_below)
    yield from _of_the_network(scenario, options)
    for cut in scenario.network.partitions:
        yield "healed partition"
        if cut.end_s - cut.start_s > options.suspect_after_s:
            yield "false suspicion"
        if evolves:
            yield "partition while groups split and merge"
    yield from _of_the_choices(options, groups, evolves)
    for one in scenario.crashes:
        server = groups.leaf(int(one.process)).founders[0]
        yield "crash of a server" if one.process == server else "crash of a member"
        if evolves:
            yield "crash while groups split and merge"
        if one.back_s is not None:
            yield "return of a process"
        if options.quorum is Quorum.MAJORITY:
            yield "crash with a majority to be kept"
        for other in scenario.crashes:
            if other is not one:
                yield "two crashes or more"
                if groups.leaf(int(one.process)) == groups.leaf(int(other.process)):
                    yield from _of_two(one, other, server, options.suspect_after_s)


def _of_the_network(scenario: Scenario, options: DaisyOptions) -> Iterator[str]:
    network = scenario.network
    if network.loss:
        yield "loss"
    if network.loss >= 0.25:
        yield "loss of a quarter and more"
    if network.duplication:
        yield "duplication"
    if network.links:
        yield "links much slower or quicker"


def _of_the_choices(options: DaisyOptions, groups: Plan, evolves: bool) -> Iterator[str]:
    if evolves:
        yield "groups that split and merge"
    if max(node.level for node in groups.nodes.values()) > 1:
        yield "three levels or more"
    if options.pack_s:
        yield "packing"
    if options.forward != "stable":
        yield "early forwarding"
    if options.local != "broadcast":
        ways = {"server": "through the server alone", "recipients": "straight to the recipients"}
        yield ways[options.local]


def _of_two(one: Crash, other: Crash, server: int, found_out_s: float) -> Iterator[str]:
    """Crashes in the same local group."""
    if one.process == server and one.time_s == other.time_s:
        yield "crash of a sender with its server"
    if 0 < other.time_s - one.time_s - found_out_s < 1.5:
        yield "crash during a flush"
    if one.back_s is not None and 0 < other.time_s - one.back_s < 1.0:
        yield "crash during a join"
