"""How a group leaves servers behind that have been replaced: it is *bound* to an epoch of the group
above (F2).

A group of servers that is founded anew may have a predecessor that lives on behind a cut. So a
founder first makes known, in its own group and in all groups below that, which epoch it takes part
in (`Bind`), and brings its batch only when all members know. From then on no server of that group
takes part in an earlier epoch. A process that still takes part in one serves no group any more:
nothing that it says becomes stable at home. docs/daisy-argument.md has the proof.
"""

from collections.abc import Iterable

from antecede.groups import GroupMessageId, Quorum
from antecede.overlays.daisy.core import Part
from antecede.overlays.daisy.items import Bind
from antecede.overlays.daisy.layer import LEFT, Layer


class Fencing(Part):
    """Binds the groups of this process to epochs of the groups of servers above them, and knows
    when all members know."""

    def bind_below(self, layer: Layer, now: float) -> bool:
        """Bind all groups below to the epoch of this one, and return whether all of their members
        know."""
        node, epoch = layer.node.index, layer.state.epoch
        if self.options.quorum is Quorum.SURVIVORS:  # who is away is dead
            return True
        below = self.core.all_below(layer)
        self._bind(below, Bind(node, epoch), now)
        return _are_bound(below, node, epoch)

    def _bind(self, below: Iterable[Layer], word: Bind, now: float) -> None:
        """Tell those of these groups of an epoch that do not know it and have not been told."""
        for lower in below:
            fence, node = lower.state.fence, word.node
            if max(fence.known_to_all.get(node, 0), fence.asked.get(node, 0)) < word.epoch:
                fence.asked[node] = word.epoch
                self.core.send_word(lower, word, now)

    def on_bind(self, layer: Layer, item: Bind, within: GroupMessageId) -> None:
        bound, binding = layer.memory.bound, layer.state.fence.binding
        bound[item.node] = max(item.epoch, bound.get(item.node, 0))
        binding[within] = (*binding.get(within, ()), (item.node, item.epoch))

    def bind_for_good(self, layer: Layer, now: float) -> bool:
        """Bind all groups below never to take part in this one again (G5), and return whether all
        of their members know. The next one below hears that with the change itself; the others are
        told here."""
        node, below = layer.node.index, self.core.all_below(layer)
        self._bind(below[:-1], Bind(node, LEFT), now)
        return _are_bound(below, node, LEFT)

    def on_stable(self, layer: Layer, stable: Iterable[GroupMessageId]) -> list[int]:
        """Note that all members have these group messages, and return the groups of servers of
        which they know the epoch by that."""
        fence, known = layer.state.fence, []
        for within in stable if fence.binding else ():
            for node, epoch in fence.binding.pop(within, ()):
                fence.known_to_all[node] = max(epoch, fence.known_to_all.get(node, 0))
                known.append(node)
        return known

    def on_view(self, layer: Layer) -> list[int]:
        """Note that all members of a new view know what was bound, and return the same: they have
        delivered the same, or were handed it."""
        fence = layer.state.fence
        known = [node for bound in fence.binding.values() for node, _ in bound]
        fence.binding, fence.known_to_all = {}, dict(layer.memory.bound)
        return known


def _are_bound(groups: Iterable[Layer], node: int, epoch: int) -> bool:
    """Whether all members of these groups know that they are bound to this epoch, or to a later
    one."""
    return all(group.state.fence.known_to_all.get(node, 0) >= epoch for group in groups)
