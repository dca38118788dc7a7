"""One seed, one scenario: topology, groups, workload, network, faults and options of a protocol.

Runs are small, for a bug that takes many processes is rare and a small run is quick: most have
fewer than six processes and forty messages. What matters for order is that messages overtake each
other; so the rate of sending is drawn with the delay in view, delays vary widely, and now and then
some links are much slower than the others.
"""

from itertools import pairwise
from typing import Any

import msgspec

from antecede.drawn import BACK_S, FOR_EVER_S, cut_off_s
from antecede.fuzzing.asking import ask
from antecede.fuzzing.chance import Chance
from antecede.fuzzing.changes import FEWEST, SHARE, draw_changes
from antecede.fuzzing.hardship import (
    draw_crowd,
    draw_hardship,
    draw_small_hardship,
    draw_steady_hardship,
)
from antecede.fuzzing.options import draw_options, fitting_options, options_of
from antecede.fuzzing.stories import draw_story
from antecede.order import Addressing, Order, Traits
from antecede.overlays import Overlay
from antecede.protocols import find, parse_options
from antecede.simulate import Scenario, make_scenario
from antecede.simulate.duty import may_lose
from antecede.topology.deployment import deploy, deploy_nodes

LARGEST = 12
"""Processes, at most, where no topology says how many."""
MOST_MESSAGES = 150
CALM_S = 0.5
"""Delays where silence is taken for a crash: well below the time that takes."""
HARD = 0.5
"""The share of runs with hardship, of protocols that survive it."""
SMALL = 0.3
"""The share of runs with hardship in small groups, of the same."""
STEADY = 0.08
"""The share of runs with hardship in small groups that stay as they are, of the same."""
STORIES = 0.4
"""The share of runs in small worlds around one idea, of the same."""
CROWDS = 0.05
"""The share of what is left in which crowds of newcomers come, of those that let them in."""
PATIENCE_S = 5.0
"""Long against every delay and timer that is drawn."""

APART = 0.3
"""The share of runs, of protocols that take silence for a crash, in which clocks differ."""

CHANGING = "separators"
"""Whose network may change while it runs."""

Fields = dict[str, Any]
NO_OPTIONS = "{}"


def draw(protocol: str, seed: int, options: str = NO_OPTIONS) -> Scenario:
    """The scenario of this seed; `options`, as JSON, take the place of those that are drawn."""
    fields = draw_fields(protocol, seed)
    if options == NO_OPTIONS:
        return make_scenario(fields)
    fields["options"] |= msgspec.json.decode(options)
    scenario = make_scenario(fields)
    scenario.order(0, scenario.membership, scenario.order_options)  # refuses what does not suit
    return scenario


def draw_fields(protocol: str, seed: int) -> Fields:
    """The same as plain data, as a file would say it."""
    fields, own = _draw_fields(protocol, seed), Chance(seed, f"{protocol} clocks")
    if silence_s(find(protocol)) and own.happens(APART):
        fields["clocks"] = _clocks(fields, own)
    return fields


def _clocks(fields: Fields, chance: Chance) -> list[float]:
    """Machines that were started within seconds or weeks; now and then one has just been."""
    longest_s = chance.pick([10.0, 100.0, 1e6])
    some = fields.get("processes") or 1
    return [chance.pick([0.0, longest_s, chance.within(0.0, longest_s)]) for _ in range(some)]


def _draw_fields(protocol: str, seed: int) -> Fields:
    chance = Chance(seed, protocol)
    variant = options_of(protocol).drawn_variant(chance)
    order = find(protocol).variant(parse_options(protocol, variant))
    fields: Fields = {"protocol": protocol, "seed": seed, "patience_s": PATIENCE_S}
    is_hard = order.traits.survives_crashes and silence_s(order) and not order.traits.takes_back
    own = Chance(seed, f"{protocol} story")
    if is_hard and own.happens(STORIES):
        story = draw_story(silence_s(order), own)
        return _with_options({**fields, **story}, variant, own)
    own = Chance(seed, f"{protocol} stays")
    if is_hard and own.happens(STEADY):
        hardship = draw_steady_hardship(silence_s(order), lets_in_by_default(order), own)
        return _with_options({**fields, **hardship}, variant, own)
    own = Chance(seed, f"{protocol} small")
    if is_hard and own.happens(SMALL):
        hardship = draw_small_hardship(silence_s(order), lets_in_by_default(order), own)
        return _with_options({**fields, **hardship}, variant, own)
    own = Chance(seed, f"{protocol} crowd")
    if is_hard and lets_in_by_default(order) and own.happens(CROWDS):
        return _with_options({**fields, **draw_crowd(own)}, variant, own)
    if is_hard and chance.happens(HARD):
        lets_in = lets_in_by_default(order)
        hardship = draw_hardship(silence_s(order), lets_in, chance)
        return _with_options({**fields, **hardship}, variant, chance)
    own = Chance(seed, f"{protocol} changes")
    if protocol == CHANGING and own.happens(SHARE):
        topology = _topology(own)
        while deploy(topology).applications < FEWEST:
            topology = _topology(own)
        return {**fields, **draw_changes(topology, own)}
    # Groups of groups take some processes, and so do crashes that leave somebody.
    least = 4 if order.traits.survives_crashes and chance.happens(0.7) else 2
    size = applications = chance.small(least, LARGEST)
    if issubclass(order, Overlay) and chance.happens(0.8):
        fields["topology"] = _topology(chance)
        if chance.happens(0.5):
            fields["processes"] = applications
        deployment = deploy(fields["topology"], None, fields.get("processes"))
        size, applications = deployment.topology.size, deployment.applications
    is_near = _may_be_near(order) and chance.happens(0.3)
    if is_near:
        fields["topology"] = _topology(chance)
        size = applications = deploy_nodes(fields["topology"]).applications
    fields["processes"] = applications
    fields |= _workload(order.traits, applications, chance, is_near)
    fields["messages"] = chance.small(2, MOST_MESSAGES)
    fields["rate"] = chance.between(0.3, 300.0)
    if chance.happens(0.1):
        fields["payload_bytes"] = chance.small(1, 64)
    span_s = fields["messages"] / (fields["rate"] * applications) + 0.2
    fields["network"] = _network(order, size, span_s, chance)
    fields["crashes"] = _crashes(order, size, span_s, chance)
    if order.traits.survives_crashes:
        fields["network"].pop("fifo", None)  # one slow packet would silence a link for long
        if fields["crashes"]:
            fields["network"].pop("partitions", None)  # hardship has both
    if order.traits.takes_back:
        fields["network"].pop("partitions", None)  # whoever is taken for dead is out for good
    return ask(order, _with_options(fields, variant, chance), _groups)


def _may_be_near(order: type[Order]) -> bool:
    """Whether on a network its processes are the nodes, each of which talks to its neighbours."""
    given: Fields = {"topology": "", "network": {}, "crashes": [], "options": {}}
    return order.talks_to_neighbours(order.options_type.needed(given))


def _with_options(fields: Fields, variant: Fields, chance: Chance) -> Fields:
    fields["options"] = {**draw_options(fields["protocol"], fields, chance), **variant}
    return _patient(fields)


def finished(fields: Fields) -> Fields:
    """The same with all that the protocol needs to keep its promises, and nothing that it does not
    promise to bear."""
    order, network = _order(fields), fields["network"]
    if order.traits.takes_back:
        network["partitions"] = []
    if not may_lose(order.traits):
        network.pop("loss", None)
        for cut in network.get("partitions", ()):
            cut["packets"] = "held"
    if silence_s(order):
        network["fifo"] = False
    fields["options"] = fitting_options(fields["protocol"], fields)
    return _patient(fields)


def _order(fields: Fields) -> type[Order]:
    """The protocol as its options make it."""
    protocol = fields["protocol"]
    return find(protocol).variant(parse_options(protocol, fields["options"]))


def _patient(fields: Fields) -> Fields:
    """Where silence is taken for a crash, a run waits until everybody can be back, and from then on
    until it is given up that somebody comes; and until a link that is cut for good does not matter
    any more."""
    if _order(fields).traits.survives_crashes:
        cuts = fields["network"].get("partitions", ())
        options = parse_options(fields["protocol"], fields["options"])
        is_for_ever = any(cut["end_s"] >= FOR_EVER_S for cut in cuts)
        waits_s = options.waits_s + (options.replaces_s if is_for_ever else 0.0)
        fields["patience_s"] = BACK_S + cut_off_s(cuts) + waits_s
    return fields


def _topology(chance: Chance) -> str:
    """Small networks of every kind that can be made, with one or two routers in the way."""
    routers = chance.whole(1, 2)
    match chance.whole(0, 3):
        case 0:
            return f"tree:{chance.whole(1, 2)},{chance.whole(1, 2)},{chance.whole(1, 3)},{routers}"
        case 1:
            return f"ring:{chance.whole(3, 4)},{chance.whole(1, 2)},{routers}"
        case 2:
            sizes = [chance.whole(1, 4) for _ in range(chance.whole(2, 4))]
            return f"clusters:{'+'.join(map(str, sizes))},{routers}"
        case _:
            return f"internet:{chance.whole(6, 16)},{chance.whole(1, 20)}"


def _workload(traits: Traits, size: int, chance: Chance, is_near: bool) -> Fields:
    """Who talks to whom. Answers make the chains in which order shows."""
    kinds = [] if is_near else ["broadcast"]
    if traits.addressing >= Addressing.GROUPS and size > 1 and not is_near:
        kinds += ["groups"] * 3
    if traits.addressing >= Addressing.SETS and size > 1:
        kinds += ["unicast", "multicast", "multicast"]
    workload: Fields = {"kind": chance.pick(kinds)}
    fields: Fields = {"workload": workload}
    if chance.happens(0.7):
        workload["cascade"] = chance.between(0.02, 0.9)
    if workload["kind"] == "groups":
        fields["groups"] = _groups(size, chance)
    elif workload["kind"] == "multicast" and chance.happens(0.5):
        workload["size"] = chance.whole(1, size - 1)
    elif workload["kind"] == "multicast":
        workload["probability"] = chance.between(0.05, 1.0)
    return fields


def _groups(size: int, chance: Chance) -> list[list[int]]:
    """Overlapping in a line, in a ring, one inside the other, or as it comes."""
    everybody = list(range(size))
    if size >= 3 and chance.happens(0.5):
        # Each group ends with the first member of the next one; a ring closes, a line does not.
        starts = chance.some(everybody, chance.whole(2, size))
        ring = [*everybody[starts[0] :], *everybody[: starts[0]], starts[0]]
        cuts = [ring.index(start) for start in starts] + [size]
        groups = [ring[first : last + 1] for first, last in pairwise(cuts)]
        return groups if chance.happens(0.6) else groups[:-1]
    if chance.happens(0.2):
        return [everybody[: chance.whole(1, size)] for _ in range(2)] + [everybody]
    return [
        chance.some(everybody, chance.whole(min(2, size), size)) for _ in range(chance.whole(1, 5))
    ]


def _network(order: type[Order], size: int, span_s: float, chance: Chance) -> Fields:
    traits, suspect_after_s = order.traits, silence_s(order)
    # Who survives crashes tells them by silence: a network may not look like one all the time.
    slowest_s = CALM_S if traits.survives_crashes else 3.0
    network: Fields = {"delay": _delay(slowest_s, chance)}
    if chance.happens(0.15):
        network["fifo"] = True
    if chance.happens(0.25):
        network["duplication"] = chance.between(0.01, 0.5)
    if size > 1 and chance.happens(0.4):
        network["links"] = [_link(size, slowest_s, chance) for _ in range(chance.small(1, 4))]
    if size > 1 and chance.happens(0.15):
        network["partitions"] = [
            _partition(size, span_s, suspect_after_s, chance) for _ in range(chance.small(1, 3))
        ]
    # A run in which things get lost says less about the protocols that stop there.
    if may_lose(traits) and chance.happens(0.5 if traits.repairs_loss else 0.15):
        network["loss"] = chance.between(0.01, 0.3)
        for partition in network.get("partitions", ()):
            partition["packets"] = chance.pick(["held", "lost"])
    return network


def _delay(slowest_s: float, chance: Chance) -> str:
    """The slowest is rare where delays have no limit."""
    match chance.whole(0, 4):
        case 0:
            return f"constant:{chance.between(0.001, 0.1)}"
        case 1:
            return f"uniform:0,{chance.between(0.01, slowest_s / 3)}"
        case 2:
            return f"lognormal:{slowest_s / 60},{chance.between(0.1, 2.0)}"
        case _:
            return f"exponential:{chance.between(0.01, slowest_s / 6)}"


def _link(size: int, slowest_s: float, chance: Chance) -> Fields:
    """One that is slow, or quick, for its kind."""
    source, to = chance.some(range(size), 2)
    ends = (source, to) if chance.happens(0.5) else (to, source)
    delay = f"constant:{chance.pick([0.0, 0.001, slowest_s / 3, slowest_s])}"
    return {"from": [ends[0]], "to": [ends[1]], "delay": delay}


def _partition(size: int, span_s: float, suspect_after_s: float, chance: Chance) -> Fields:
    """Often long enough to be taken for a crash, where something is."""
    start_s = chance.between(span_s / 20, span_s)
    length_s = chance.between(span_s / 20, span_s)
    if suspect_after_s and chance.happens(0.5):
        length_s = suspect_after_s + chance.between(0.1, 4.0)
    side = chance.some(range(size), chance.whole(1, size - 1))
    return {
        "start_s": start_s,
        "end_s": start_s + length_s,
        "sides": [side],
    }


def _crashes(order: type[Order], size: int, span_s: float, chance: Chance) -> list[Fields]:
    """Of fewer than half of the processes. Some of them come back, where they are let in. Where
    others go on without them, many crashes are near another: at once, while it is found out, or
    while somebody comes back."""
    share = 0.4 if order.traits.survives_crashes else 0.2 if issubclass(order, Overlay) else 0.05
    if size < 3 or not chance.happens(share):
        return []
    processes = chance.some(range(size), chance.small(1, (size - 1) // 2))
    crashes: list[Fields] = []
    for process in processes:
        time_s = chance.between(span_s / 20, span_s)
        if crashes and order.traits.survives_crashes and chance.happens(0.6):
            time_s = _near(crashes[-1], silence_s(order), chance)
        crashes.append({"process": process, "time_s": time_s})
        if lets_in_by_default(order) and chance.happens(0.4):
            crashes[-1]["back_s"] = time_s + chance.between(0.1, 10.0)
    return crashes


def _near(crash: Fields, found_out_s: float, chance: Chance) -> float:
    """A time at which another crash, or a return, keeps the others busy."""
    time_s = float(crash["time_s"])
    moments = [time_s, time_s + found_out_s + chance.between(0.01, 1.5)]
    if "back_s" in crash:
        moments.append(crash["back_s"] + chance.between(0.01, 1.0))
    return chance.pick(moments)


def lets_in_by_default(order: type[Order]) -> bool:
    """Whether others may come, whatever the options: `separators` lets somebody in on shortest ways
    alone, and tells a crash by a silence that drawn delays may look like."""
    return order.join is not Order.join and order.name != "separators"


def silence_s(order: type[Order]) -> float:
    """How long a silence is taken for a crash; 0 where none is."""
    if not order.traits.survives_crashes:
        return 0.0
    return float(getattr(order.options_type(), "suspect_after_s", 0.0))
