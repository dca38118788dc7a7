"""Draws for protocols that take silence for a crash: what hurts them takes time.

Such a protocol suspects, agrees on views and looks for a new order of things, which takes several
times as long as a silence that it takes for a crash. So cuts last for 2 to 30 s, overlap, come one
after the other, run through groups and between them and their servers, or sever one link, or one
direction; processes crash, return and come for the first time while they last; and traffic is thin
and lasts until after the last fault. The `blocks` are the groups that the protocol starts with, as
far as they are known: neighbours, the first of which has the most to do.
"""

from itertools import pairwise
from typing import Any

from antecede.drawn import FOR_EVER_S
from antecede.fuzzing.chance import Chance

Fields = dict[str, Any]
Blocks = list[list[int]]

TICK_S = 0.3
"""Of most runs: three times as long as usual, for what takes seconds takes as many ticks."""
SPAN_S = (6.0, 20.0)
"""How long traffic lasts, unless a fault lasts for longer."""
KINDS = (
    *["overlapping"] * 6,
    *["long"] * 4,
    *["rolling"] * 3,
    *["crashes"] * 3,
    "sides",
    "link",
    "one way",
    "none",
)
"""Of cuts; `crashes` has one at most, and crashes in most of the blocks."""
CHANGES: tuple[Fields, ...] = (
    {},
    {"merge_below": 3},
    {"split_above": 4, "merge_below": 3},
    {"split_servers_above": 3, "merge_servers_below": 2},
)
"""Of small groups that come and go."""

STEADY: tuple[Fields, ...] = (
    {},
    {"forward": "delivered"},
    {"forward": "received"},
    {"local": "recipients"},
    {"local": "recipients", "forward": "delivered"},
)
"""Of small groups that stay."""

LEVELS: tuple[Fields, ...] = (
    {"split_servers_above": 5, "merge_servers_below": 3},
    {"split_servers_above": 6, "merge_servers_below": 3, "split_above": 4, "merge_below": 3},
)
"""With these the groups of servers in the middle of three levels dissolve."""


def draw_hardship(silence_s: float, lets_in: bool, chance: Chance) -> Fields:
    """Processes, traffic, network and faults. `lets_in`: whether processes may come later."""
    sizes, processes = _sizes(chance)
    blocks = _blocks(processes, sizes[0])
    kind = chance.pick(KINDS)
    cuts = _cuts(kind, blocks, chance)
    healed_s = max((cut["end_s"] for cut in cuts if cut["end_s"] < FOR_EVER_S), default=0.0)
    crashes: list[Fields] = []
    if kind == "crashes" or chance.happens(0.2):
        crashes = _crashes(blocks, cuts, silence_s, lets_in, kind == "crashes", chance)
    last_s = max([healed_s, *(crash["time_s"] for crash in crashes)])
    span_s = max(chance.within(*SPAN_S), last_s + chance.within(0.0, 3 * silence_s))
    fields: Fields = {"processes": processes, "crashes": crashes, **draw_traffic(processes, chance)}
    fields["messages"] = chance.whole(20, 60)
    fields["rate"] = float(f"{fields['messages'] / (processes * span_s):.3g}")
    if lets_in and chance.happens(0.15):
        fields["joins"] = _joins(processes, crashes, span_s, chance)
    fields["network"] = {"delay": f"exponential:{chance.between(0.01, 0.15)}", "partitions": cuts}
    if chance.happens(0.4):
        fields["network"]["loss"] = chance.between(0.01, 0.3)
    if chance.happens(0.1):
        fields["network"]["duplication"] = chance.between(0.01, 0.5)
    fields["options"] = {"sizes": sizes, "quorum": "majority"}
    if chance.happens(0.8):
        fields["options"]["tick_s"] = TICK_S
    return fields


def draw_small_hardship(silence_s: float, lets_in: bool, chance: Chance) -> Fields:
    """The same in small groups with one or two faults: some runs a second more, in which what takes
    an unlikely moment rather than many faults is found. Groups may split and merge, and whoever is
    away for long is forgotten."""
    processes = chance.pick([4, 4, 5, 6, 6, 7, 8])
    blocks = _blocks(processes, 2)
    faults = chance.pick(["cut", "crash", "crash", "both"])
    cuts: list[Fields] = []
    if faults != "crash":
        for _ in range(chance.whole(1, 2)):
            start_s, length_s = chance.within(0.3, 4.0), chance.within(2.0, 12.0)
            cuts.append(_cut(start_s, length_s, [_side(blocks, chance)], chance))
    crashes: list[Fields] = []
    if faults != "cut" and chance.happens(0.3):  # of a whole group, or all but one
        time_s = chance.within(0.3, 8.0)
        block = chance.pick(blocks)
        crashes = [{"process": one, "time_s": time_s} for one in block[: chance.whole(1, 3)]]
    elif faults != "cut":
        crashes = _crashes(blocks, cuts, silence_s, lets_in, chance.happens(0.5), chance)
    last_s = max([*(cut["end_s"] for cut in cuts), *(crash["time_s"] for crash in crashes)])
    span_s = last_s + chance.within(0.0, 3 * silence_s)
    fields: Fields = {"processes": processes, "crashes": crashes, **draw_traffic(processes, chance)}
    fields["messages"] = chance.whole(8, 30)
    fields["rate"] = float(f"{fields['messages'] / (processes * span_s):.3g}")
    if lets_in and chance.happens(0.2):
        fields["joins"] = _joins(processes, crashes, span_s, chance)
    fields["network"] = {"delay": f"exponential:{chance.between(0.01, 0.15)}", "partitions": cuts}
    if chance.happens(0.2):
        fields["network"]["loss"] = chance.between(0.01, 0.3)
    sizes = [2, 2] if processes == 8 and chance.happens(0.5) else [2]
    fields["options"] = {"sizes": sizes, "quorum": "majority", "tick_s": TICK_S}
    if chance.happens(0.5):
        fields["options"]["forget_after_s"] = chance.within(3.0, 8.0)
    fields["options"] |= chance.pick(CHANGES)
    if len(sizes) > 1 and chance.happens(0.4):
        fields["options"] |= chance.pick(LEVELS)
    return fields


def draw_steady_hardship(silence_s: float, lets_in: bool, chance: Chance) -> Fields:
    """The same in small groups that stay as they are, which send messages on early, or straight to
    those whom they are for, or neither."""
    fields = draw_small_hardship(silence_s, lets_in, chance)
    changing = {name for changes in (*CHANGES, *LEVELS) for name in changes}
    options = {name: fields["options"][name] for name in fields["options"] if name not in changing}
    if fields["processes"] >= 6 and chance.happens(0.4):
        options["sizes"] = [3]
    fields["options"] = options | chance.pick(STEADY)
    return fields


def draw_crowd(chance: Chance) -> Fields:
    """More newcomers at once, beside the same two, than groups that split can take in; now and then
    a cut or a crash while they come."""
    there = chance.whole(2, 8)
    processes = there + chance.whole(6, 12)
    coming_s = chance.within(0.5, 3.0)
    cuts: list[Fields] = []
    if chance.happens(0.3):
        blocks = _blocks(processes, 3)
        start_s, length_s = chance.within(0.5, 5.0), chance.within(2.0, 9.0)
        cuts = [_cut(start_s, length_s, [_side(blocks, chance)], chance)]
    crashes: list[Fields] = []
    if chance.happens(0.3):
        crashes = [{"process": chance.whole(0, processes - 1), "time_s": chance.within(3.5, 9.0)}]
    fields: Fields = {"processes": processes, "crashes": crashes, **draw_traffic(processes, chance)}
    fields["messages"] = chance.whole(15, 50)
    fields["rate"] = float(f"{fields['messages'] / (processes * 10.0):.3g}")
    fields["joins"] = [
        {
            "process": process,
            "time_s": chance.within(0.2, 0.2 + coming_s),
            "talks_with": list(range(min(2, there))),
        }
        for process in range(there, processes)
    ]
    fields["network"] = {"delay": f"exponential:{chance.between(0.01, 0.1)}", "partitions": cuts}
    fields["options"] = {"sizes": [chance.whole(2, 4)], "quorum": "majority", "split_above": 4}
    fields["options"] |= chance.pick(
        [{}, {"merge_below": 3}, {"split_servers_above": 4, "merge_servers_below": 2}]
    )
    return fields


def _sizes(chance: Chance) -> tuple[list[int], int]:
    """Of groups on two to four levels, and how many processes that takes."""
    sizes = chance.pick([*[[3]] * 8, [4], [3, 2], [2, 2], [2, 2, 2]])
    least = sizes[0] * 2 ** (len(sizes) - 1) * (2 if len(sizes) > 1 else 3)
    return sizes, least + (chance.whole(1, 3) if chance.happens(0.3) else 0)


def _blocks(processes: int, width: int) -> Blocks:
    count = max(1, processes // width)
    ends = [processes * row // count for row in range(count + 1)]
    return [list(range(first, end)) for first, end in pairwise(ends)]


def draw_traffic(processes: int, chance: Chance) -> Fields:
    workload: Fields = {"kind": chance.pick(["multicast", "multicast", "multicast", "unicast"])}
    if workload["kind"] == "multicast":
        workload["size"] = chance.whole(1, min(4, processes - 1))
    if chance.happens(0.05):
        workload = {"kind": "broadcast"}
    if chance.happens(0.6):
        workload["cascade"] = chance.between(0.05, 0.6)
    return {"workload": workload}


# Cuts.


def _cuts(kind: str, blocks: Blocks, chance: Chance) -> list[Fields]:
    start_s = chance.within(0.3, 4.0)
    match kind:
        case "overlapping":
            return _overlapping(start_s, blocks, chance)
        case "long":
            return [_cut(start_s, chance.between(7.0, 30.0), [_side(blocks, chance)], chance)]
        case "rolling":
            cuts = []
            for _ in range(chance.whole(2, 3)):
                cuts.append(_cut(start_s, chance.within(2.5, 9.0), [_side(blocks, chance)], chance))
                start_s = max(0.1, cuts[-1]["end_s"] + chance.within(-0.6, 2.5))
            return cuts
        case "sides":
            return [_cut(start_s, chance.within(4.0, 20.0), _sides(blocks, chance), chance)]
        case "link":
            is_lasting = chance.happens(0.3)
            length_s = FOR_EVER_S if is_lasting else chance.within(5.0, 30.0)
            return [_cut(start_s, length_s, _link(blocks, chance), chance)]
        case "one way":
            side = _side(blocks, chance)
            sides = [side] if chance.happens(0.5) else _link(blocks, chance)
            cut = _cut(start_s, chance.within(2.0, 20.0), sides, chance)
            return [{**cut, "one_way": True}]
        case "crashes" if chance.happens(0.6):
            return [_cut(start_s, chance.within(2.0, 15.0), [_side(blocks, chance)], chance)]
    return []


def _overlapping(start_s: float, blocks: Blocks, chance: Chance) -> list[Fields]:
    """The next begins shortly before the last ends."""
    cuts = [_cut(start_s, chance.within(2.0, 8.0), [_side(blocks, chance)], chance)]
    for _ in range(2 if chance.happens(0.2) else 1):
        start_s = max(0.1, cuts[-1]["end_s"] - chance.within(0.1, 1.0))
        cuts.append(_cut(start_s, chance.within(5.0, 12.0), [_side(blocks, chance)], chance))
    return cuts


def _cut(start_s: float, length_s: float, sides: list[list[int]], chance: Chance) -> Fields:
    packets = "lost" if chance.happens(0.8) else "held"
    end_s = round(start_s + length_s, 3)
    return {"start_s": round(start_s, 3), "end_s": end_s, "sides": sides, "packets": packets}


def _side(blocks: Blocks, chance: Chance) -> list[int]:
    """Of each block none, all, its first, the rest, or half of it."""
    everybody = sum(len(block) for block in blocks)
    side: list[int] = []
    while not 0 < len(side) < everybody:
        side = []
        for block in blocks:
            some = chance.some(block, len(block) // 2)
            side += chance.pick([[], [], block, block[:1], block[1:], some])
    return side


def _sides(blocks: Blocks, chance: Chance) -> list[list[int]]:
    """Three, each with somebody; most blocks stay whole."""
    sides: list[list[int]] = [[], [], []]
    while not all(sides):
        sides = [[], [], []]
        for block in blocks:
            if chance.happens(0.6):
                sides[chance.whole(0, 2)] += block
            else:
                for process in block:
                    sides[chance.whole(0, 2)].append(process)
    return sides


def _link(blocks: Blocks, chance: Chance) -> list[list[int]]:
    """Between two first ones, or any two."""
    first = [block[0] for block in blocks]
    if len(first) < 2 or chance.happens(0.5):
        first = [process for block in blocks for process in block]
    one, other = chance.some(first, 2)
    return [[one], [other]] if chance.happens(0.5) else [[other], [one]]


# Crashes and arrivals.


def _crashes(
    blocks: Blocks,
    cuts: list[Fields],
    silence_s: float,
    lets_in: bool,
    is_several: bool,
    chance: Chance,
) -> list[Fields]:
    """One a block at most, the first one mostly; while a cut lasts, or near another crash."""
    count = chance.whole(2, len(blocks)) if is_several and len(blocks) > 2 else 1
    crashes: list[Fields] = []
    for block in chance.some(blocks, count):
        process = block[0] if chance.happens(0.6) else chance.pick(block)
        time_s = chance.within(0.3, 8.0)
        if cuts and chance.happens(0.7):
            cut = chance.pick(cuts)
            end_s = min(cut["end_s"], cut["start_s"] + 10 * silence_s)
            time_s = chance.within(cut["start_s"], end_s + 2 * silence_s)
        elif crashes and chance.happens(0.6):
            last_s = crashes[-1]["time_s"]
            time_s = last_s + chance.pick([0.0, silence_s]) + chance.within(0.0, 1.5)
        crashes.append({"process": process, "time_s": round(time_s, 3)})
        if lets_in and chance.happens(0.4):
            crashes[-1]["back_s"] = round(time_s + chance.within(0.2, 5 * silence_s), 3)
    return crashes


def _joins(processes: int, crashes: list[Fields], span_s: float, chance: Chance) -> list[Fields]:
    """Of those who do not crash; somebody is there from the start."""
    others = [p for p in range(1, processes) if p not in {crash["process"] for crash in crashes}]
    coming = chance.some(others, min(len(others) - 2, chance.whole(1, 3)))
    return [{"process": process, "time_s": chance.within(0.2, span_s / 2)} for process in coming]
