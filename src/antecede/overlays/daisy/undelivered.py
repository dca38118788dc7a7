"""What a server had from the servers, and its local group did not have when it lost the server.

The server does not deliver that alone: what it sends next would depend on something that its group
has not had. As a rule the group gets it from the servers, before anything that depends on it. But
these may be founded anew without the groups that keep it (`forget_after_s`), and then it comes
late. Whoever has it knows that, and tells its group when it is back (`Undelivered`), so that each
member whom it is for can say by name that it is lost.
"""

from antecede.errors import BrokenInvariant
from antecede.message import MessageId
from antecede.overlays.daisy.items import Undelivered, pack, shorter, unfolded, unpack
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.records import Kept


def left_undelivered(local: Layer, above: Layer) -> list[bytes]:
    """The messages that a server which is about to leave the servers has to remember."""
    options, home = local.options, local.node.processes
    is_in_line = options.forward == "stable" and options.reaches_all
    if not local.is_lost or not is_in_line:
        return []
    found = []
    for kept in above.in_order():
        (sender, number), to = kept.message.id, kept.message.destinations
        if to & home and not local.has_passed(kept.message.id):
            node, epoch = above.node.index, above.state.epoch
            item = Undelivered(sender, number, shorter(to), kept.clock, node, epoch, shorter(home))
            found.append(pack(item))
    return found


def untold(layer: Layer) -> list[Undelivered]:
    """What this process has yet to tell its local group."""
    known = layer.memory.undelivered
    left = (_item(stored) for stored in layer.state.undelivered if stored not in known)
    return [item for item in left if not layer.has_passed(item.id)]


def note(layer: Layer, item: Undelivered) -> None:
    """A member tells its local group."""
    known, stored = layer.memory.undelivered, pack(item)
    if not layer.has_passed(item.id) and stored not in known:
        known.append(stored)


def overtaken(layer: Layer, kept: Kept, delivered: dict[int, int]) -> tuple[MessageId, ...]:
    """The messages for this process that count as had in the local group, though it has not got
    them, or that may precede this one, which the group hands over. `delivered`: by process, the
    last number that was delivered here."""
    state, memory = layer.state, layer.memory
    known = dict.fromkeys((*memory.undelivered, *state.undelivered))
    left = [stored for stored in known if _item(stored).id not in memory.kept]
    late = [stored for stored in left if _is_late(layer, _item(stored), kept)]
    waiting = set(left) - set(late)
    memory.undelivered = [stored for stored in memory.undelivered if stored in waiting]
    state.undelivered = [stored for stored in state.undelivered if stored in waiting]
    mine = {
        item.id
        for item in map(_item, late)
        if unfolded(item.destinations) >> layer.process & 1
        and item.sender != layer.process
        and item.number > delivered.get(item.sender, 0)
    }
    return tuple(sorted(mine))


def _is_late(layer: Layer, item: Undelivered, kept: Kept) -> bool:
    """Whether a message that the group has not got counts as had, or may precede one that comes
    from another group, through later servers than those that had it."""
    if layer.has_passed(item.id):
        return True
    is_from_later = item.epoch < layer.memory.bound.get(item.node, 0)
    is_inside = unfolded(item.home) >> kept.message.id.sender & 1
    return item.clock < kept.clock and is_from_later and not is_inside


def _item(stored: bytes) -> Undelivered:
    item = unpack(stored)
    if not isinstance(item, Undelivered):
        raise BrokenInvariant(f"{item} is no message that was left undelivered")
    return item
