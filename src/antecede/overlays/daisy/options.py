"""What can be chosen about a daisy."""

from typing import Annotated, Literal

import msgspec

from antecede.drawn import Chance, Drawn, Fields
from antecede.errors import Misuse
from antecede.groups import Quorum
from antecede.order import (
    Count,
    Options,
    Says,
    stated,
)
from antecede.overlays.daisy import draws

Seconds = Annotated[float, msgspec.Meta(gt=0)]


class DaisyOptions(Options, frozen=True):
    """`sizes`: the fewest members of a local group, the fewest groups under one group of servers,
    and so on upwards; without it there are two levels, with groups of about √n. `groups`: the local
    groups themselves. `latecomers`: processes that are not there at the start, but may join.
    `talks_with`: for each latecomer the processes with which it will talk most; it lives in the
    local group of most of these.

    `split_above`, `merge_below`: local groups of more or fewer members are split or merged; 0 for
    never. `split_servers_above`, `merge_servers_below`: the same for groups of servers, by the
    number of groups below, so that levels come and go. `split_rate`: a local group of four members
    or more is split when it carries more messages a second, as measured over windows of
    `load_window_s`; 0 for never.

    `local`: whether a message is broadcast in a local group, goes through its server to the members
    that it is for, or goes straight to them; then `copies` others have it before it is delivered.
    `forward`: whether a message is sent on when all members have it, as soon as it is delivered, or
    as soon as it is received.

    `pack_s`: how long a message may wait for others, to travel with them in one packet. `tidy_s`:
    how long word of what is done may wait for others. `forget_after_s`: how long messages are kept
    for a process that is away.

    The other options are the clockwork of the groups: see `antecede.groups.GroupConfig`.
    """

    says = stated(
        sizes=Says.NUMBERS,
        groups=Says.NUMBERS,
        latecomers=Says.NUMBERS,
        talks_with=Says.NUMBERS,
        split_above=Says.NOTHING,
        merge_below=Says.NOTHING,
        split_servers_above=Says.NOTHING,
        merge_servers_below=Says.NOTHING,
        split_rate=Says.NOTHING,
        load_window_s=Says.NOTHING,
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
    talks_with: tuple[tuple[Count, ...], ...] = ()
    split_above: Count = 0
    merge_below: Count = 0
    split_servers_above: Count = 0
    merge_servers_below: Count = 0
    split_rate: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    load_window_s: Seconds = 5.0
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

    @classmethod
    def drawn(cls, fields: Fields, chance: Chance) -> Drawn:
        return draws.draw(fields, chance)

    @classmethod
    def needed(cls, fields: Fields) -> Drawn:
        return draws.need(fields)

    @classmethod
    def fitting(cls, fields: Fields) -> Drawn:
        return draws.fit(fields)

    @property
    def waits_s(self) -> float:
        """The longest wait for a group that has died, over all levels, until that is told. Each
        level of servers waits for it, higher levels for longer; where local groups do not
        broadcast, servers are waited for twice as long. Where groups change, a level waits longer
        than the one below only by the time to be back, but a group that has died when it gave way
        is waited for, too."""
        levels = max(1, len(self.sizes))
        if self.evolves:
            back_s = self.silences_back * self.suspect_after_s * (levels * (levels - 1) // 2)
            return self.forget_after_s * (levels + 2) + back_s
        times = max(levels * (levels + 1) // 2, 1 + (not self.reaches_all))
        return self.forget_after_s * times + _SILENCES_TOLD * self.suspect_after_s

    @property
    def replaces_s(self) -> float:
        return (SPELL + _SILENCES_TOLD) * self.suspect_after_s

    @property
    def silences_back(self) -> int:
        """In how many times `suspect_after_s` a process that can be reached again is back, or
        replaced. In groups that change it takes longer: the founders of the next one are waited
        for."""
        return 10 if self.evolves else 4

    @property
    def reaches_all(self) -> bool:
        """Whether all members of a local group get all its messages."""
        return self.local == "broadcast"

    @property
    def evolves(self) -> bool:
        """Whether groups split or merge."""
        return bool(self.split_above or self.merge_below or self.split_rate or self.reshapes)

    @property
    def reshapes(self) -> bool:
        """Whether groups of servers come and go."""
        return bool(self.split_servers_above or self.merge_servers_below)


_SILENCES_TOLD = 10
"""After how many times `suspect_after_s` more it is told at most that a wait was in vain."""

SPELL = 30
"""Calls come ever more seldom. Those that are at most so many times `suspect_after_s` apart count
as one call that lasts."""

_LEAST_SPLIT = 3
"""Four are the fewest that make two groups of two."""


def check_options(options: DaisyOptions) -> None:
    """Refuse options that would do nothing, or make groups of one."""
    if options.copies != DaisyOptions().copies and options.local != "recipients":
        raise Misuse(f"copies={options.copies}: only local=recipients counts copies; drop it")
    if options.talks_with and len(options.talks_with) != len(options.latecomers):
        raise Misuse(
            f"talks_with: lists {len(options.talks_with)} sets of processes for "
            f"{len(options.latecomers)} latecomers; one for each, or none at all"
        )
    if 0 < options.split_above < _LEAST_SPLIT:
        raise Misuse(
            f"split_above={options.split_above}: a group has 2 members or more, so that 4 are the "
            f"fewest to be split; make it {_LEAST_SPLIT} or more, or 0 for never"
        )
    if options.merge_below == 1:
        raise Misuse("merge_below=1: no group is smaller; make it 2 or more, or 0 for never")
    _check_servers(options)
    if options.load_window_s != DaisyOptions().load_window_s and not options.split_rate:
        raise Misuse(f"load_window_s={options.load_window_s:g}: is for split_rate alone; drop it")
    if not options.reaches_all:
        _check_local(options)
    if options.forward != "stable" and options.evolves:
        raise Misuse(
            f"forward={options.forward}: groups that split or merge send on what is stable; "
            "what one of them had early might overtake what the other has yet to get"
        )


def _check_servers(options: DaisyOptions) -> None:
    """Refuse limits that do not suit groups of servers that come and go."""
    limit, least = options.split_servers_above, options.merge_servers_below
    if 0 < limit < _LEAST_SPLIT:
        raise Misuse(
            f"split_servers_above={limit}: a group has 2 members or more, so that 4 are the fewest "
            f"to be split; make it {_LEAST_SPLIT} or more, or 0 for never"
        )
    if least == 1:
        raise Misuse("merge_servers_below=1: no group is smaller; make it 2 or more, or 0")
    if limit and least > (limit + 1) // 2:
        raise Misuse(
            f"merge_servers_below={least}: half of a group that split_servers_above={limit} splits "
            f"would be merged at once; make it {(limit + 1) // 2} or less"
        )


def _check_local(options: DaisyOptions) -> None:
    """Refuse what does not go with local groups that do not broadcast."""
    local = f"local={options.local}"
    if options.evolves:
        raise Misuse(f"{local}: groups that do not broadcast do not split or merge")
    if options.pack_s or options.forward == "received":
        raise Misuse(f"{local}: pack_s and forward=received are for groups that broadcast")
