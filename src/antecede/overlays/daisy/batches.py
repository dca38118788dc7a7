"""How a group begins that is founded in the place of others (F1, F3, C5).

Its founders have no common past. Each of them first sends all that its group keeps (`Batch`), and
puts aside whatever comes until the batches of all are there. Then it takes the batches in the order
of Lamport time, which respects causality whatever way the messages came. If there is a group above,
that brings a batch, too, through its member that serves this group: what the group above keeps for
this one may precede what the others bring. A group that brings no batch may have died with messages
that others depend on: that is told as a gap.
"""

from collections.abc import Mapping

from antecede.groups import GroupMessageId, Quorum
from antecede.message import MessageId, ProcessSet, members, process_set
from antecede.overlays.daisy.items import (
    Batch,
    Carry,
    Ids,
    Item,
    carries,
    carry,
    causal,
    message_ids,
    pack,
    process_key,
    unpack,
)
from antecede.overlays.daisy.layer import ABOVE, Layer, last_view_key


def batch(layer: Layer, below: Layer | None, absent: ProcessSet = 0) -> tuple[Item, ...]:
    """What a founder brings along: what it had as a member before, and what its group keeps (or has
    put aside) that goes beyond it. `absent`: who is away from its groups."""
    items = {item.id: item for item in carries(map(unpack, layer.state.out.resend))}
    if below is not None:
        kept = [carry(kept.message, kept.clock) for kept in below.in_order()]
        for item in (*kept, *carries(map(unpack, below.put_aside()))):
            if item.message.destinations & ~below.node.processes:
                items[item.id] = item
    layer.state.out.resend = []
    memory = layer.memory
    bound = dict(memory.bound)
    for node, epoch in below.memory.bound.items() if below is not None else ():
        if node != layer.node.index:
            bound[node] = max(epoch, bound.get(node, 0))
    beside = dict(memory.missed_beside)
    for who, names in ({} if below is None else known_beside(below)).items():
        beside[who] = names | beside.get(who, set())
    head = Batch(
        missed=listed(memory.missed),
        away=tuple(sorted(memory.away)),
        bound=tuple(sorted(bound.items())),
        beside=listed(beside),
        changes=() if below is None else _changes(layer, below),
        was_in=layer.state.founding.was_in,
        of=None if below is None else below.node.index,
        absent=tuple(members(absent)),
        had=None if below is None or memory.lacking else _had(layer, below),
    )
    return (head, *sorted(items.values(), key=causal))


def _changes(layer: Layer, below: Layer) -> tuple[bytes, ...]:
    """The changes that a group remembers, and those that the servers before remembered: what these
    have decided of a group that has not heard of it may be known to some of the founders alone."""
    return tuple(dict.fromkeys((*below.memory.changes, *layer.memory.changes)))


def known_beside(below: Layer) -> dict[int, set[MessageId]]:
    """What others have missed, as a group knows, and what those have who are away from the group:
    the next group, or the next server, may know nothing of it."""
    if below.node.level:
        return {who: names for who, names in below.memory.missed_beside.items() if who >= 0}
    found = dict(below.memory.missed_beside)
    for who, names in below.memory.missed.items():
        found[process_key(who)] = names | found.get(process_key(who), set())
    return found


def _had(layer: Layer, below: Layer) -> Ids | None:
    """By process, the last number that a local group has had; None where it does not matter or
    nobody knows. With `survivors`, those who are away are taken for dead; and where not all members
    have all messages, nobody knows."""
    options = layer.options
    is_early = options.forward != "stable" and options.reaches_all
    if not is_early or options.quorum is Quorum.SURVIVORS or below.node.level:
        return None
    return tuple(sorted(below.memory.passed.items()))


def note_lacking(layer: Layer, inside: Mapping[int, ProcessSet]) -> set[int]:
    """The groups that lack what others have had of a process of theirs: it has sent that on early,
    was cut off then, and may yet bring it, with what precedes it and nobody else has. `inside`: the
    processes of each group."""
    memory = layer.memory
    behind: set[int] = set()
    for group, own in memory.passed_below.items():
        for who, number in [pair for one in memory.passed_below.values() for pair in one.items()]:
            is_behind = number > max(own.get(who, 0), memory.passed.get(who, 0))
            if is_behind and inside.get(group, 0) >> who & 1:
                memory.lacking[who] = max(number, memory.lacking.get(who, 0))
                behind.add(group)
    memory.passed_below = {}
    return behind


def listed(names: dict[int, set[MessageId]]) -> tuple[tuple[int, Ids], ...]:
    """What was missed, by whom, as it travels."""
    return tuple((who, tuple(sorted(ids))) for who, ids in sorted(names.items()))


def batch_from_above(layer: Layer, above: Layer) -> tuple[Item, ...]:
    """What the servers keep for a group, and what its members have missed, as the servers know."""
    known = above.memory.missed_beside
    beside = {who: names for who, names in known.items() if is_member(layer, who)}
    return (
        Batch(above=True, beside=listed(beside)),
        *(
            carry(kept.message, kept.clock)
            for kept in above.in_order()
            if kept.message.destinations & layer.node.processes
        ),
    )


Arrival = tuple[int, GroupMessageId, Item]
"""The process that sent it, the group message it came in, and what came."""


def gather(
    layer: Layer,
    arrivals: list[Arrival],
    whose: int | None,
    present: set[int | None],
    now: float,
) -> None:
    """Put arrivals aside until all batches are here. `whose` batch it is that comes with them;
    `present`: the groups or processes that are here by now."""
    for sender, within, item in arrivals:
        if isinstance(item, Batch):
            layer.state.founding.unstable_batches.add(within)
            _note_batch(layer, item, whose, present, now)
        else:
            layer.memory.aside.append((sender, within, pack(item)))


def _note_batch(
    layer: Layer, head: Batch, whose: int | None, present: set[int | None], now: float
) -> None:
    """Note that a batch is here, and what its head tells. Groups that are `present` are away no
    longer, whatever a founder says of before."""
    memory, founding = layer.memory, layer.state.founding
    if head.above:
        memory.missing_batches.discard(ABOVE)
        founding.owed_batches.discard(ABOVE)
    elif head.of is None and whose is not None:
        memory.missing_batches.discard(whose)
    if head.was_in is not None:
        memory.missing_batches.discard(last_view_key(head.was_in))
    if head.of is not None and head.had is not None:  # it may have had nothing at all
        memory.passed_below[head.of] = dict(head.had)
    founding.absent |= process_set(head.absent)
    for who, ids in head.missed:
        memory.note_missed(who, message_ids(ids))
    for who, ids in head.beside:
        _note_beside(layer, who, message_ids(ids))
    for who in head.away:
        # One of the servers may know of groups that never came about.
        is_below = who in layer.node.children and who not in present
        if not layer.node.level or is_below:
            memory.away.setdefault(who, now)
    memory.changes += [one for one in head.changes if one not in memory.changes]
    for node, epoch in head.bound:
        memory.bound[node] = max(epoch, memory.bound.get(node, 0))


def _note_beside(layer: Layer, who: int, messages: list[MessageId]) -> None:
    """Note what one beside the founder's group has missed: it may be a member of this group, or a
    group below it."""
    memory = layer.memory
    if is_member(layer, who):
        memory.note_missed(process_key(who), messages)
    elif layer.node.level and who in layer.node.children:
        memory.note_missed(who, messages)
    else:
        memory.note_missed_beside(who, messages)


def is_member(layer: Layer, who: int) -> bool:
    """Whether one that has missed something is no group, and lives in this local one."""
    return who < 0 and not layer.node.level and bool(layer.node.processes >> process_key(who) & 1)


def take_aside(layer: Layer) -> tuple[list[Arrival], list[Arrival]]:
    """Take back what was put aside: the messages, in the order of Lamport time, and the rest."""
    aside = [(sender, within, unpack(stored)) for sender, within, stored in layer.memory.aside]
    layer.memory.aside = []
    messages = [arrival for arrival in aside if isinstance(arrival[2], Carry)]
    messages.sort(key=lambda arrival: causal(arrival[2]))
    return messages, [arrival for arrival in aside if not isinstance(arrival[2], Carry)]


def drop_absent(layer: Layer, present: set[int | None]) -> None:
    """Wait no more for batches of members that are not in the view any more, unless their groups
    bring these."""
    batches = layer.memory.missing_batches
    if not layer.waits_for_groups:
        layer.memory.missing_batches = {who for who in batches if who < 0 or who in present}
