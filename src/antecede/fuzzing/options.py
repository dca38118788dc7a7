"""The options that are drawn: every value under which a protocol keeps its promises.

What a paper prints and the errata refute (`printed`, mostly) is not drawn. A protocol
that is not listed runs with its defaults.
"""

from collections.abc import Callable, Sequence
from typing import Any

from antecede.fuzzing.chance import Chance

FOR_EVER_S = 1_000.0
"""When a cut ends that does not heal."""

Fields = dict[str, Any]
Drawn = dict[str, Any]

BACK_S = 30.0
"""Enough to find out who is there, and to come back."""


def draw_options(protocol: str, fields: Fields, chance: Chance) -> Drawn:
    """Options for the rest of the scenario, besides those that it has; half of the time none but
    those that it needs."""
    draw = _OPTIONS.get(protocol)
    drawn = {} if draw is None or chance.happens(0.5) else draw(fields, chance)
    drawn |= fields.get("options", {})
    return {**drawn, **needed_options(protocol, {**fields, "options": drawn})}


def draw_variant(protocol: str, chance: Chance) -> Drawn:
    """Options that make another protocol of it, which bears other faults."""
    if protocol == "pairs" and chance.happens(0.4):
        return {"recovery": "rollback"}
    return {}


def needed_options(protocol: str, fields: Fields) -> Drawn:
    """Those without which the protocol promises less than it is judged by."""
    need = _NEEDED.get(protocol)
    return {} if need is None else need(fields)


def fitting_options(protocol: str, fields: Fields) -> Drawn:
    """The options of a scenario whose faults have changed, with those that it needs now."""
    fit = _FITTING.get(protocol)
    options = dict(fields["options"]) if fit is None else fit(fields)
    return {**options, **needed_options(protocol, {**fields, "options": options})}


def _blocks(fields: Fields, chance: Chance) -> Drawn:
    return {"silence_s": chance.between(0.001, 1.0)}


def _blocks_slow(fields: Fields, chance: Chance) -> Drawn:
    return {**_blocks(fields, chance), "total": chance.happens(0.5)}


def _bounded(fields: Fields, chance: Chance) -> Drawn:
    """Often the least k that is allowed: it makes most of the extra messages."""
    processes = fields["processes"]
    least, most = processes, processes**2
    if chance.happens(0.5):
        return {"k": least}
    if chance.happens(0.5):
        return {"k": chance.small(least, most)}
    return {"k": [chance.small(least, most) for _ in range(processes)]}


def _histories(fields: Fields, chance: Chance) -> Drawn:
    """Carbon copies and unions belong to R6, separators to R9 and thus to a network."""
    if "topology" in fields:
        repairs = {"own_implied": chance.happens(0.5), "gateways": chance.happens(0.5)}
        return {"rules": "R1-R9", "carbon_copies": chance.happens(0.5), **repairs}
    rules = chance.pick(["R1-R4", "R1-R5", "R1-R8", "R1-R8"])
    if rules != "R1-R8":
        return {"rules": rules}
    return {"carbon_copies": chance.happens(0.5), "union": chance.pick(["all", "arrived"])}


def _pairs(fields: Fields, chance: Chance) -> Drawn:
    return {
        "tick_on_delivery": chance.happens(0.5),
        "delete_obsolete": chance.happens(0.5),
    }


def _piggyback(fields: Fields, chance: Chance) -> Drawn:
    return {
        "cleanup": chance.pick(["repaired", "repaired", "off"]),
        "cleanup_interval_s": chance.between(0.01, 1.0),
        "repeat_s": chance.between(0.1, 10.0),
        "leave_out_s": chance.between(0.2, 20.0),
    }


def _piggyback_needs(fields: Fields) -> Drawn:
    """Where nobody crashes everything is owed, to whoever is slow, too."""
    return {} if fields["crashes"] else {"leave_out_s": 0}


def _separators(fields: Fields, chance: Chance) -> Drawn:
    """Flooding stands on FIFO links, and links that lose packets are none. Where routers crash on
    shortest ways, silence would have to tell, and drawn delays are too long for that."""
    if not fields["crashes"] and chance.happens(0.3):
        return {
            "routes": "shortest",
            "tidy": chance.pick([0, 1, 4, 32]),
            "write_ahead": chance.happens(0.3),
        }
    if not fields["network"].get("loss") and chance.happens(0.3):
        return {"routes": "flood", "forwarding": chance.pick(["one", "all"])}
    return {
        "routes": chance.pick(["direct", "tree"]),
        "forwarding": chance.pick(["one", "all"]),
        "filters": chance.pick(["all", "all", "none"]),
        "own_implied": chance.happens(0.5),
        "gateways": chance.happens(0.5),
    }


def _separators_fit(fields: Fields) -> Drawn:
    options, network = dict(fields["options"]), fields["network"]
    is_lost = any(cut.get("packets") == "lost" for cut in network.get("partitions", ()))
    if options.get("routes") == "flood" and (network.get("loss") or is_lost):
        del options["routes"]
    return options


def _separators_need(fields: Fields) -> Drawn:
    """Where routers crash, the others of their set have to forward, too."""
    return {"forwarding": "all"} if fields["crashes"] else {}


def _vector(fields: Fields, chance: Chance) -> Drawn:
    """Own groups alone are enough where no cycle of groups overlaps: surely where there is one."""
    return {"carry": "own" if len(fields.get("groups", ())) <= 1 else "all"}


def _daisy(fields: Fields, chance: Chance) -> Drawn:
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
    return drawn


def _copies(fields: Fields, chance: Chance) -> int:
    """No more members of a group may leave at once, dead or wrongly suspected, than there are
    copies: where they may leave, all others have one."""
    network = fields["network"]
    is_troubled = fields["crashes"] or network.get("partitions") or network.get("loss")
    return int(fields["processes"]) if is_troubled else chance.whole(1, 3)


def _daisy_needs(fields: Fields) -> Drawn:
    """Crashes may take the greater part of a group, after which a majority is no more to be had;
    without partitions the survivors need none, unless the options say so. What is kept for one
    that is cut off is kept until it can be back, unless it is to be lost."""
    options, cuts = fields["options"], fields["network"].get("partitions", ())
    needed: Drawn = {}
    if not cuts and "quorum" not in options and not _leave_majorities(fields):
        needed["quorum"] = "survivors"
    if cuts and "forget_after_s" not in options:
        needed["forget_after_s"] = BACK_S + cut_off_s(cuts)
    return needed


def _daisy_fits(fields: Fields) -> Drawn:
    """What was needed for other faults goes; and so does what promises nothing with these."""
    options, cuts = dict(fields["options"]), fields["network"].get("partitions")
    if options.get("forget_after_s", 0.0) >= BACK_S:
        del options["forget_after_s"]
    if cuts and options.get("quorum") == "survivors":
        del options["quorum"]
    if cuts and options.get("local") == "server":
        del options["local"]
    if options.get("local") == "recipients":
        options["copies"] = int(fields["processes"])
    else:
        options.pop("copies", None)
    return options


def _leave_majorities(fields: Fields) -> bool:
    """Whether the crashes leave a majority in every group: nobody crashes; or one process does,
    where all groups have three members or more by default, and two servers, where there are two,
    keep the senior one."""
    crashes, options = fields["crashes"], fields["options"]
    if len(crashes) != 1 or fields["processes"] < 3:
        return not crashes
    is_default = not options.keys() & {"sizes", "split_above", "merge_below"}
    return is_default and (fields["processes"] // 3 != 2 or crashes[0]["process"] != 0)


def cut_off_s(cuts: Sequence[Fields]) -> float:
    """For how long a process may be cut off, at most: the next cut may come at once. One that does
    not heal is of a link."""
    healing = [cut for cut in cuts if cut["end_s"] < FOR_EVER_S]
    first_s = min((cut["start_s"] for cut in healing), default=0.0)
    return float(max((cut["end_s"] for cut in healing), default=0.0) - first_s)


_OPTIONS: dict[str, Callable[[Fields, Chance], Drawn]] = {
    "blocks-fast": _blocks,
    "blocks-relative": _blocks,
    "blocks-slow": _blocks_slow,
    "bounded": _bounded,
    "daisy": _daisy,
    "histories": _histories,
    "pairs": _pairs,
    "piggyback": _piggyback,
    "separators": _separators,
    "vector": _vector,
}


def _histories_need(fields: Fields) -> Drawn:
    return {"rules": "R1-R9"} if "topology" in fields else {}


_NEEDED: dict[str, Callable[[Fields], Drawn]] = {
    "daisy": _daisy_needs,
    "histories": _histories_need,
    "piggyback": _piggyback_needs,
    "separators": _separators_need,
}
_FITTING: dict[str, Callable[[Fields], Drawn]] = {
    "daisy": _daisy_fits,
    "separators": _separators_fit,
}
TO_NEIGHBOURS = ("histories",)
"""Those that also run on the nodes of a network, each of which talks to its neighbours."""
