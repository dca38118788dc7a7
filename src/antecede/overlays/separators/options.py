"""What can be chosen about the routed overlay."""

from typing import Annotated, Literal

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.order import Count, Options, Says, stated
from antecede.overlays.separators.zones import Links, Zones


class SeparatorsOptions(Options, frozen=True):
    """`links`: who is linked to whom. `applications`: how many processes, the first ones,
    applications live at; without it, all.

    `routes`: which ways messages take. `direct` and `tree`: along a tree of sets and zones, where
    processes that are all linked with each other talk directly, or not (`tree`). `flood`: headers
    over all links, messages along shortest ways (`flood`). `forwarding`: whether one router
    forwards a message, or all; with `flood`, whether a message takes one way, or goes with its
    header everywhere. `shortest`: along shortest ways, and R9 by deposits (`shortest`); `regions`:
    the sets of nodes whose borders filter, without them chosen ones; `tidy`: after how many
    deliveries a process tells everybody what it has delivered, 0 for never; `write_ahead`: whether
    a message enters a region only when the whole border has what was left out of it.

    `latecomers`: processes that are not there at the start, each with the one whose place it takes,
    whose links it has, or with itself if its place is new. `later_links`: those of `links` that are
    not there at the start. `recovery`: how one that takes another's place gets to know what was
    left out there, with `shortest`: from the others of its borders (`witnesses`), or also from
    the stable memory of the one before it (`memory`).

    `suspect_after_s`: how long a silence is taken for a crash; 0 for never. With it, others take
    the place of routers that crash (`gossip`).

    For trees alone: `zones`: for each zone its sets of processes; without them they are chosen
    (`plan`). `filters`: the sets that apply R9. `own_implied` and `gateways`: see `histories`.
    What the chosen `routes` do not use is refused."""

    says = stated(
        links=Says.NUMBERS,
        applications=Says.NUMBERS,
        zones=Says.NUMBERS,
        routes=Says.NOTHING,
        forwarding=Says.NOTHING,
        filters=Says.NUMBERS,
        own_implied=Says.NOTHING,
        gateways=Says.NOTHING,
        regions=Says.NUMBERS,
        tidy=Says.NOTHING,
        write_ahead=Says.NOTHING,
        latecomers=Says.NUMBERS,
        later_links=Says.NUMBERS,
        recovery=Says.NOTHING,
        suspect_after_s=Says.NOTHING,
    )

    links: Links = ()
    applications: Annotated[int, msgspec.Meta(ge=1)] | None = None
    zones: Zones = ()
    routes: Literal["direct", "tree", "flood", "shortest"] = "direct"
    forwarding: Literal["one", "all"] = "one"
    filters: Literal["all", "none"] | tuple[tuple[int, ...], ...] = "all"
    own_implied: bool = True
    gateways: bool = True
    regions: tuple[tuple[int, ...], ...] | None = None
    tidy: Count = 32
    write_ahead: bool = False
    latecomers: tuple[tuple[int, int], ...] = ()
    later_links: Links = ()
    recovery: Literal["witnesses", "memory"] = "witnesses"
    suspect_after_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        """Flooding stands on FIFO links, and links that lose packets are none. Where routers crash
        on shortest ways, silence would have to tell, and drawn delays are too long for that."""
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

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        """Where routers crash, the others of their set have to forward, too."""
        is_shortest = fields["options"].get("routes") == "shortest"
        return {"forwarding": "all"} if fields["crashes"] and not is_shortest else {}

    @classmethod
    def fitting(cls, fields: Fields) -> Drawn:
        options, network = dict(fields["options"]), fields["network"]
        is_lost = any(cut.get("packets") == "lost" for cut in network.get("partitions", ()))
        if options.get("routes") == "flood" and (network.get("loss") or is_lost):
            del options["routes"]
        return options
