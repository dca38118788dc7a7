"""How local groups that have grown are split, and small ones merged.

The server of a local group tells the servers who its members are (`Roll`), with those that talk
much with each other side by side, so that a cut in the middle parts few of them. The server of the
servers proposes a change; when all groups that it ends have agreed (`consent`), it tells all
(`Change`). A change reaches the servers in causal order, hence before anything that depends on it,
and from them their groups.

A group that gives way is emptied first: its members send nothing more in it (`Ready`), and leave it
when they have all that was sent. Then they found the new group with those whom the change names. As
in any group that is founded anew, each first sends all that it keeps, and all take these batches in
the order of Lamport time before anything else. So what is in flight goes on, and nothing is lost or
doubled. A process that was away meanwhile and asks for the old group is told of the changes.

Founders that have not come yet are given more time than usual: if somebody has died in their old
group, they can leave that only after its next view.
"""

from itertools import pairwise

from antecede.message import Message, members
from antecede.overlays.daisy.items import Change, Roll, unpack
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.load import BUSY, QUIET
from antecede.overlays.daisy.options import DaisyOptions

_FEWEST = 4
"""That make two groups of two."""


def due_change(
    parent: int,
    version: int,
    first: int,
    rolls: dict[int, tuple[int, ...]],
    loads: dict[int, int],
    options: DaisyOptions,
) -> Change | None:
    """The change that is due under a group of servers, if any. A group above the limit, or one that
    carries too much, is cut in two. A group below the limit is merged with the smallest other with
    which it stays within the limit, if both are quiet.

    `first`: the number of the first group that the change makes. `rolls`: who is in the groups, in
    the order of their servers in the group above: of two servers the senior one goes on, for if
    there are no others, the junior one would be no majority.
    """
    split_above, merge_below = options.split_above, options.merge_below
    for node, processes in rolls.items():
        is_busy = loads.get(node, QUIET) == BUSY and len(processes) >= _FEWEST
        if is_busy or 0 < split_above < len(processes):
            half = len(processes) // 2
            made = ((first, processes[:half]), (first + 1, processes[half:]))
            return Change(version, parent, (node,), made)
    by_size = sorted(
        (len(processes), node)
        for node, processes in rolls.items()
        if loads.get(node, QUIET) == QUIET
    )
    for (size, node), (other_size, other) in pairwise(by_size):
        limit = split_above or size + other_size
        if size < merge_below and size + other_size <= limit and len(by_size) > 1:
            gone = tuple(one for one in rolls if one in (node, other))
            together = rolls[gone[0]] + rolls[gone[1]]
            return Change(version, parent, gone, ((first, together),))
    return None


def is_under(stored: bytes, parent: int) -> bool:
    """Whether a change is one of local groups below this group."""
    change = unpack(stored)
    return isinstance(change, Change) and change.parent == parent


def side_by_side(inside: tuple[int, ...], talk: dict[tuple[int, int], int]) -> tuple[int, ...]:
    """The members in an order in which those that talk most are near each other: after the first,
    always the one that talks most with those already placed, up to the middle; then the rest in the
    same way."""
    if len(inside) < 3:
        return inside
    placed = [inside[0]]
    left = list(inside[1:])
    while left:
        near = placed if len(placed) < len(inside) // 2 else placed[len(inside) // 2 :]
        best = max(left, key=lambda one: (_talk(one, near, talk), -left.index(one)))
        left.remove(best)
        placed.append(best)
    return tuple(placed)


def count_talk(talk: dict[tuple[int, int], int], layer: Layer, message: Message) -> None:
    """Count a message for those who talk with each other in a local group, at its server."""
    if layer.options.evolves and layer.is_server:
        sender = message.id.sender
        for to in members(message.destinations & layer.node.processes):
            pair = (min(sender, to), max(sender, to))
            talk[pair] = talk.get(pair, 0) + 1


def _talk(one: int, others: list[int], talk: dict[tuple[int, int], int]) -> int:
    return sum(talk.get((min(one, other), max(one, other)), 0) for other in others)


def make_roll(
    node: int, inside: tuple[int, ...], talk: dict[tuple[int, int], int], load: int
) -> Roll:
    return Roll(node, side_by_side(inside, talk), load)
