"""What protocols tell of themselves while a run goes on: views, servers, gaps, in words.

All members of a group tell of the same view; one line stands for all of them.
"""

from collections.abc import Mapping, Sequence

import msgspec

from antecede.message import ProcessSet, members
from antecede.order import Notice

_SHOWN = 8
"""The members of a set that are named."""


class Noticed(msgspec.Struct):
    """When the processes that gave the same notice did so, and who they are."""

    first_s: float
    last_s: float
    processes: ProcessSet


def tell_notices(notices: Mapping[Notice, Noticed], names: Sequence[str]) -> tuple[str, ...]:
    """One sentence a notice, in the order of time."""
    told = sorted(notices.items(), key=lambda pair: pair[1].first_s)
    return tuple([_sentence(notice, noticed, names) for notice, noticed in told])


def _sentence(notice: Notice, noticed: Noticed, names: Sequence[str]) -> str:
    when = f"{noticed.first_s:.3f} s"
    if noticed.last_s > noticed.first_s:
        when += f" to {noticed.last_s:.3f} s"
    told = notice.sentence()
    if notice.members:
        told += f": {_named(notice.members, names)}"
    return f"{when}: {told}"


def _named(processes: ProcessSet, names: Sequence[str]) -> str:
    listed = [names[process] for process in members(processes)]
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
