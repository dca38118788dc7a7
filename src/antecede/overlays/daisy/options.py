"""What can be chosen about a daisy."""

from typing import Annotated, Literal

import msgspec

from antecede.errors import Misuse
from antecede.groups import Quorum
from antecede.order import (
    Count,
    Options,
    Says,
    stated,
)

Seconds = Annotated[float, msgspec.Meta(gt=0)]


class DaisyOptions(Options, frozen=True):
    """`sizes`: the fewest members of a local group, groups under one of servers, and so on; without
    it two levels with groups of about √n. `groups`: the local groups themselves. `latecomers`:
    processes that are not there at the start, but may join. `split_above`, `merge_below`: the sizes
    beyond which a local group is split or merged; 0 for never.

    `local`: whether a message is broadcast in a local group, goes through its server to those whom
    it is for, or straight to them; then `copies` others have it before it is delivered. `forward`:
    whether a message is sent on when all members have it, as soon as it is delivered, or as soon as
    it is received.

    `pack_s`: how long a message may wait for others, to travel with them in one packet. `tidy_s`:
    how long word of what is done may wait for others. `forget_after_s`: how long messages are kept
    for one that is away.

    The rest is the clockwork of the groups: see `antecede.groups.GroupConfig`."""

    says = stated(
        sizes=Says.NUMBERS,
        groups=Says.NUMBERS,
        latecomers=Says.NUMBERS,
        split_above=Says.NOTHING,
        merge_below=Says.NOTHING,
        local=Says.NOTHING,
        copies=Says.NOTHING,
        forward=Says.NOTHING,
        pack_s=Says.NOTHING,
        tidy_s=Says.NOTHING,
        forget_after_s=Says.NOTHING,
        quorum=Says.NOTHING,
        tick_s=Says.NOTHING,
        suspect_after_s=Says.NOTHING,
        flush_timeout_s=Says.NOTHING,
        retry_s=Says.NOTHING,
        retry_limit_s=Says.NOTHING,
        fanout=Says.NOTHING,
        window=Says.NOTHING,
        detours=Says.NOTHING,
    )

    sizes: tuple[Annotated[int, msgspec.Meta(ge=2)], ...] = ()
    groups: tuple[tuple[int, ...], ...] = ()
    latecomers: tuple[int, ...] = ()
    split_above: Count = 0
    merge_below: Count = 0
    local: Literal["broadcast", "server", "recipients"] = "broadcast"
    copies: Count = 1
    forward: Literal["stable", "delivered", "received"] = "stable"
    pack_s: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    tidy_s: Seconds = 0.1
    forget_after_s: Seconds = 30.0
    quorum: Quorum = Quorum.MAJORITY
    tick_s: Seconds = 0.1
    suspect_after_s: Seconds = 2.0
    flush_timeout_s: Seconds = 1.0
    retry_s: Seconds = 0.3
    retry_limit_s: Seconds = 1.2
    fanout: Count = 0
    window: Annotated[int, msgspec.Meta(ge=1)] = 64
    detours: bool = True


_LEAST_SPLIT = 3
"""Four are the fewest that make two groups of two."""


def check_options(options: DaisyOptions) -> None:
    """Refuse what would do nothing, or make groups of one."""
    if options.copies != DaisyOptions().copies and options.local != "recipients":
        raise Misuse(f"copies={options.copies}: only local=recipients counts copies; drop it")
    if 0 < options.split_above < _LEAST_SPLIT:
        raise Misuse(
            f"split_above={options.split_above}: a group has 2 members or more, so that 4 are the "
            f"fewest to be split; make it {_LEAST_SPLIT} or more, or 0 for never"
        )
    if options.merge_below == 1:
        raise Misuse("merge_below=1: no group is smaller; make it 2 or more, or 0 for never")
    if options.local != "broadcast":
        _check_local(options)
    if options.forward != "stable" and (options.split_above or options.merge_below):
        raise Misuse(
            f"forward={options.forward}: groups that split or merge send on what is stable; "
            "what one of them had early might overtake what the other has yet to get"
        )


def _check_local(options: DaisyOptions) -> None:
    """What does not go with local groups that do not broadcast."""
    local = f"local={options.local}"
    if options.split_above or options.merge_below:
        raise Misuse(f"{local}: groups that do not broadcast do not split or merge")
    if options.pack_s or options.forward == "received":
        raise Misuse(f"{local}: pack_s and forward=received are for groups that broadcast")
