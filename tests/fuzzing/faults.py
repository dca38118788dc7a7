"""What may befall a daisy in a scenario, as far as the scenario says so."""

from collections.abc import Iterator, Sequence

from antecede.groups import Quorum
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Plan, plan
from antecede.simulate import Scenario
from antecede.simulate.parts import Crash, Partition

FOUNDING_S = 8.0
"""By default: 2 s of suspicion, and 6 s of looking for others to found a group with."""

FAULTS = (
    *("loss", "loss of a quarter and more", "duplication", "links much slower or quicker"),
    "clocks that differ",
    *("cut", "cut that is taken for a crash", "cut of 8 s and more (founding anew takes 8 s)"),
    *("two cuts or more", "overlapping cuts", "server cut off from its group", "three sides"),
    *("cut of a single link", "cut of one direction", "cut past forget_after_s"),
    "traffic for 2 s and more after the last cut",
    *("crash of a member", "crash of a server", "crash with a majority to be kept"),
    *("two crashes or more", "several crashes with a majority to be kept"),
    *("crash of a sender with its server", "return of a process"),
    *("crash during a flush", "crash during a join"),
    *("crash while a cut lasts", "return while a cut lasts"),
    *("newcomer", "newcomer while a cut lasts"),
    "groups of servers that come and go",
    *("groups that split and merge", "crash while groups split and merge"),
    *("cut while groups split and merge", "two levels", "three levels", "four levels"),
    *("packing", "early forwarding", "early forwarding and a cut or several crashes"),
    *("through the server alone", "straight to the recipients"),
)
"""In the order of the page that counts them."""


def faults_of(scenario: Scenario) -> Iterator[str]:
    """The kinds of faults, and of what makes them worse; some of them more than once."""
    options = scenario.order_options
    if not isinstance(options, DaisyOptions):
        raise TypeError(f"{scenario.protocol} is no daisy")
    groups = plan(scenario.membership.size, options.sizes, options.groups, options.latecomers)
    cuts = scenario.network.partitions
    evolves = bool(options.split_above or options.merge_below)
    yield from _of_the_network(scenario)
    yield from _of_cuts(scenario, options, groups)
    yield from _of_the_choices(options, groups, evolves)
    if options.reshapes:
        yield "groups of servers that come and go"
    if evolves and cuts:
        yield "cut while groups split and merge"
    if options.forward != "stable" and (cuts or len(scenario.crashes) > 1):
        yield "early forwarding and a cut or several crashes"
    for join in scenario.joins:
        yield "newcomer"
        if any(cut.start_s <= join.time_s < cut.end_s for cut in cuts):
            yield "newcomer while a cut lasts"
    for one in scenario.crashes:
        yield from _of_one(one, cuts, groups, options)
        if evolves:
            yield "crash while groups split and merge"
        server = groups.leaf(int(one.process)).founders[0]
        for other in scenario.crashes:
            if other is not one:
                yield "two crashes or more"
                if options.quorum is Quorum.MAJORITY:
                    yield "several crashes with a majority to be kept"
                if groups.leaf(int(one.process)) == groups.leaf(int(other.process)):
                    yield from _of_two(one, other, server, options.suspect_after_s)


def traffic_s(scenario: Scenario) -> float:
    """How long traffic lasts, without answers."""
    return scenario.message_limit / (scenario.rate * scenario.applications.size)


def longest_cut_s(scenario: Scenario) -> float:
    return max((cut.end_s - cut.start_s for cut in scenario.network.partitions), default=0.0)


def _of_the_network(scenario: Scenario) -> Iterator[str]:
    network = scenario.network
    if network.loss:
        yield "loss"
    if network.loss >= 0.25:
        yield "loss of a quarter and more"
    if network.duplication:
        yield "duplication"
    if network.links:
        yield "links much slower or quicker"
    if any(scenario.clocks):
        yield "clocks that differ"


def _of_cuts(scenario: Scenario, options: DaisyOptions, groups: Plan) -> Iterator[str]:
    cuts = scenario.network.partitions
    for cut in cuts:
        yield "cut"
        length_s = cut.end_s - cut.start_s
        if length_s > options.suspect_after_s:
            yield "cut that is taken for a crash"
        if length_s >= FOUNDING_S:
            yield f"cut of {FOUNDING_S:g} s and more (founding anew takes {FOUNDING_S:g} s)"
        if length_s > options.forget_after_s:
            yield "cut past forget_after_s"
        if len(cut.sides) == 3:
            yield "three sides"
        if len(cut.sides) == 2 and sum(map(len, cut.sides)) == 2:
            yield "cut of a single link"
        if cut.one_way:
            yield "cut of one direction"
        if any(_is_cut_off(cut, node.founders) for node in groups.nodes.values() if not node.level):
            yield "server cut off from its group"
        for other in cuts:
            if other is not cut:
                yield "two cuts or more"
                if cut.start_s <= other.start_s < cut.end_s:
                    yield "overlapping cuts"
    if cuts and traffic_s(scenario) > max(cut.end_s for cut in cuts) + 2.0:
        yield "traffic for 2 s and more after the last cut"


def _is_cut_off(cut: Partition, group: Sequence[int]) -> bool:
    """Whether the first of a group is on another side than all others."""
    sides = {int(one): place for place, side in enumerate(cut.sides) for one in side}
    first, *others = (sides.get(one, -1) for one in group)
    return len(others) > 0 and first not in others and (len(cut.sides) == 1 or first >= 0)


def _of_the_choices(options: DaisyOptions, groups: Plan, evolves: bool) -> Iterator[str]:
    if evolves:
        yield "groups that split and merge"
    levels = 1 + max(node.level for node in groups.nodes.values())
    yield from {2: ["two levels"], 3: ["three levels"], 4: ["four levels"]}.get(levels, [])
    if options.pack_s:
        yield "packing"
    if options.forward != "stable":
        yield "early forwarding"
    if options.local != "broadcast":
        ways = {"server": "through the server alone", "recipients": "straight to the recipients"}
        yield ways[options.local]


def _of_one(
    one: Crash, cuts: Sequence[Partition], groups: Plan, options: DaisyOptions
) -> Iterator[str]:
    is_server = one.process == groups.leaf(int(one.process)).founders[0]
    yield "crash of a server" if is_server else "crash of a member"
    if any(cut.start_s <= one.time_s < cut.end_s for cut in cuts):
        yield "crash while a cut lasts"
    if one.back_s is not None:
        yield "return of a process"
        if any(cut.start_s <= one.back_s < cut.end_s for cut in cuts):
            yield "return while a cut lasts"
    if options.quorum is Quorum.MAJORITY:
        yield "crash with a majority to be kept"


def _of_two(one: Crash, other: Crash, server: int, found_out_s: float) -> Iterator[str]:
    """Crashes in the same local group."""
    if one.process == server and one.time_s == other.time_s:
        yield "crash of a sender with its server"
    if 0 < other.time_s - one.time_s - found_out_s < 1.5:
        yield "crash during a flush"
    if one.back_s is not None and 0 < other.time_s - one.back_s < 1.0:
        yield "crash during a join"
