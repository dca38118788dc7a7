"""What a server had for itself from the servers, and did not deliver, when its local group lost it.

It does not deliver that alone: what it sends next would depend on something that its group has not
had. As a rule the group gets it from the servers, before anything that depends on it. But these may
be founded anew without the groups that keep it (`forget_after_s`), and then it comes late. Whoever
has it knows that, and says so by name.
"""

from antecede.message import MessageId
from antecede.overlays.daisy.items import Carry, carries, carry, pack, unpack
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.records import Kept, Undelivered


def left_undelivered(local: Layer, above: Layer, delivered: dict[int, int]) -> list[Undelivered]:
    """The messages that a server which is about to leave the servers has to remember."""
    options, own = local.options, local.process
    is_in_line = options.forward == "stable" and options.reaches_all
    if not local.is_lost or not is_in_line:
        return []
    return [
        Undelivered(pack(item), above.node.index, above.state.epoch, local.node.processes)
        for item in (carry(kept.message, kept.clock) for kept in above.in_order())
        if item.message.destinations >> own & 1 and item.number > delivered.get(item.sender, 0)
    ]


def overtaken(layer: Layer, kept: Kept) -> tuple[MessageId, ...]:
    """The messages of these that count as had in the local group, though it has not got them, or
    that may precede this one, which the group hands over. Those come from other groups, through
    later servers than those that had what is missing."""
    state, memory = layer.state, layer.memory
    left = [one for one in state.undelivered if _item(one).id not in memory.kept]
    late = [
        one
        for one in left
        if layer.has_passed(_item(one).id)
        or (
            _item(one).clock < kept.clock
            and one.epoch < memory.bound.get(one.node, 0)
            and not one.home >> kept.message.id.sender & 1
        )
    ]
    state.undelivered = [one for one in left if one not in late]
    return tuple(sorted({_item(one).id for one in late}))


def _item(one: Undelivered) -> Carry:
    [item] = carries([unpack(one.stored)])
    return item
