"""Options drawn for a scenario, under which the daisy keeps its promises."""

from antecede.drawn import BACK_S, Chance, Drawn, Fields, cut_off_s

_CHANGES = {"split_above", "merge_below", "split_servers_above", "merge_servers_below"}
"""With these hardly any other goes."""
_KEPT, _SUSPECT_S, _SOONEST_S = 10, 2.0, 0.6
"""How many times as long messages are kept as it takes to suspect somebody: by default, and at the
least that delays allow."""


def draw(fields: Fields, chance: Chance) -> Drawn:
    """Values of many options at once, besides those that the scenario has."""
    if fields.get("options", {}).keys() & {*_CHANGES, "forward", "local"}:
        return {"tidy_s": chance.between(0.01, 1.0)}
    local = chance.pick(["broadcast", "broadcast", "server", "recipients"])
    cuts = fields["network"].get("partitions")
    if local == "server" and cuts:
        local = "broadcast"  # a server that is cut off may have the only copy of what others await
    early = ["delivered", *(["received"] if local == "broadcast" else [])]
    evolves = local == "broadcast" and chance.happens(0.4)
    drawn: Drawn = {
        "tidy_s": chance.between(0.01, 1.0),
        "local": local,
        **({"copies": _copies(fields, chance)} if local == "recipients" else {}),
        "forward": chance.pick(["stable", "stable", *early]),
    }
    if evolves:  # which goes with nothing else
        drawn |= {"split_above": 4, "merge_below": 3, "forward": "stable"}
    if chance.happens(0.7):
        drawn["sizes"] = [chance.whole(2, 4) for _ in range(chance.whole(1, 3))]
    if local == "broadcast" and chance.happens(0.3):
        drawn["pack_s"] = chance.between(0.001, 0.3)
    if cuts and chance.happens(0.15):
        drawn["forget_after_s"] = chance.within(3.0, 10.0)
    if evolves and chance.happens(0.25):
        drawn |= {"split_rate": chance.within(0.5, 20.0), "load_window_s": chance.within(0.3, 3.0)}
    if evolves and chance.happens(0.4):
        drawn |= {"split_servers_above": chance.whole(3, 4), "merge_servers_below": 2}
    return drawn


def need(fields: Fields) -> Drawn:
    """Crashes may take the greater part of a group, after which a majority is no more to be had;
    without partitions the survivors need none, unless the options say so. What is kept for one
    that is cut off is kept until it can be back, unless it is to be lost. A group of servers that
    gives way waits for a group that has died until that is forgotten: well within a run."""
    options, cuts = fields["options"], fields["network"].get("partitions", ())
    needed: Drawn = {}
    if not cuts and "quorum" not in options and not _leave_majorities(fields):
        needed["quorum"] = "survivors"
    if options.get("local") == "recipients" and "copies" not in options:
        needed["copies"] = int(fields["processes"])
    if cuts and "forget_after_s" not in options:
        needed["forget_after_s"] = BACK_S + cut_off_s(cuts)
    elif "split_servers_above" in options and "forget_after_s" not in options:
        needed["forget_after_s"] = BACK_S * 2 / 3
    return needed | _hurried(options)


def _hurried(options: Drawn) -> Drawn:
    """Groups that change promise something to who is away only if they keep messages for ten times
    as long as it takes to suspect somebody. Where they are to forget soon, they suspect soon."""
    forget_s = options.get("forget_after_s", BACK_S)
    if not options.keys() & {*_CHANGES, "split_rate"} or forget_s >= _KEPT * _SUSPECT_S:
        return {}
    forget_s = max(forget_s, _KEPT * _SOONEST_S)
    times = {"suspect_after_s": forget_s / _KEPT, "flush_timeout_s": forget_s / _KEPT / 2}
    return {"forget_after_s": forget_s, **times, "tick_s": 0.1}


def fit(fields: Fields) -> Drawn:
    """Drop options that were needed for other faults only, and those that promise nothing with
    these."""
    options, cuts = dict(fields["options"]), fields["network"].get("partitions")
    if options.get("forget_after_s", 0.0) >= BACK_S:
        del options["forget_after_s"]
    if cuts and options.get("quorum") == "survivors":
        del options["quorum"]
    if "split_rate" not in options:
        options.pop("load_window_s", None)
    if cuts and options.get("local") == "server":
        del options["local"]
    if options.get("local") == "recipients":
        options["copies"] = int(fields["processes"])
    else:
        options.pop("copies", None)
    return options


def _copies(fields: Fields, chance: Chance) -> int:
    """No more members of a group may leave at once, dead or wrongly suspected, than there are
    copies: where they may leave, all others have one."""
    network = fields["network"]
    is_troubled = fields["crashes"] or network.get("partitions") or network.get("loss")
    return int(fields["processes"]) if is_troubled else chance.whole(1, 3)


def _leave_majorities(fields: Fields) -> bool:
    """Whether the crashes leave a majority in every group: nobody crashes; or one process does,
    where all groups have three members or more by default, and two servers, where there are two,
    keep the senior one."""
    crashes, options = fields["crashes"], fields["options"]
    if len(crashes) != 1 or fields["processes"] < 3:
        return not crashes
    is_default = not options.keys() & {"sizes", "split_above", "merge_below"}
    return is_default and (fields["processes"] // 3 != 2 or crashes[0]["process"] != 0)
