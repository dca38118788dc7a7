"""What can be chosen about the routed overlay."""

from typing import Annotated, Literal

import msgspec

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

    `latecomers`: processes that are not there at the start, each with the one whose place it takes:
    it has the same links. With `shortest` alone.

    `suspect_after_s`: how long a silence is taken for a crash; 0 for never. With it, others take
    the place of routers that crash (`gossip`).

    For trees alone: `zones`: for each zone its sets of processes; without them they are chosen
    (`plan`). `filters`: the sets that apply R9. `own_implied` and `gateways`: see `histories`."""

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
    suspect_after_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
