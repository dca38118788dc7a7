"""What a group does about members that are away, and what they hear when they are back.

A process that is silent may be dead or merely slow. What is for it is kept for a while; a group of
servers does the same for a group below that has no server in it.
"""

from collections.abc import Iterable

from antecede import groups
from antecede.message import ProcessSet, members, process_set
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.items import Forget
from antecede.overlays.daisy.layer import ABOVE, Layer
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.search import Search


class Absence(Part):
    """A process in its groups, as far as others are away from them."""

    def __init__(self, core: Core, relay: Relay, search: Search) -> None:
        super().__init__(core)
        self.relay = relay
        self.search = search

    def note(self, layer: Layer, view: groups.View, now: float) -> None:
        """Who has left may come back: remember since when it is away."""
        memory, node = layer.memory, layer.node
        if node.level:
            present = {self.core.plan.child_of(node, member.process) for member in view.members}
            expected: Iterable[int] = node.children
        else:
            present = {member.process for member in view.members}
            expected = members(node.processes & ~self._unborn(layer))
        for who in expected:
            if who not in present:
                if who not in memory.forgotten:
                    memory.away.setdefault(who, now)
            elif node.level:
                memory.away.pop(who, None)
                memory.forgotten.discard(who)

    def note_return(self, layer: Layer, now: float) -> None:
        """Who has come back has what was kept for it as soon as it speaks in the new view."""
        memory, view = layer.memory, layer.view
        if view is None or not (memory.away or memory.forgotten or memory.missed):
            return
        heard = [self.core.whom(layer, process) for process in layer.member.present()]
        memory.missed.difference_update(heard)
        back = [who for who in heard if who in memory.away or who in memory.forgotten]
        for process in back if not layer.node.level else ():
            memory.away.pop(process, None)
            memory.forgotten.discard(process)
            layer.state.returned[process] = now
        if back and not layer.node.level:
            self.relay.check_all(layer, now)

    def give_up_waiting(self, layer: Layer, now: float) -> None:
        """Who has come back, or is away for long, has had the time to bring what its group has
        missed of it: the rest comes from the servers."""
        returned, below = layer.state.returned, self.core.below(layer)
        late = [who for who, at in returned.items() if now - at > self.options.suspect_after_s]
        for who in late:
            del returned[who]
        if late or (below is not None and below.is_server and below.memory.away):
            self.relay.reconcile(layer, now)

    def _unborn(self, layer: Layer) -> ProcessSet:
        """Latecomers that nobody has seen."""
        return process_set(self.options.latecomers) & ~process_set(layer.memory.away)

    def look_after(self, layer: Layer, now: float) -> None:
        """Forget who has been away for too long; wake groups that have no server here, and members
        that may not know that they are out."""
        memory, node = layer.memory, layer.node
        self._hurry_batches(layer, now)
        for who, since in sorted(memory.away.items()):
            if now - since > self.options.forget_after_s and memory.kept:
                if not layer.is_told(Forget(who)):
                    layer.tell(Forget(who), now, self.options.tidy_s)
            elif layer.keeps_for(self.core.those(layer, who)):
                self.search.call(layer, who)
            elif not node.level:
                self.search.tell_changes(node, 1 << who)

    def _hurry_batches(self, layer: Layer, now: float) -> None:
        """Wake the groups whose batches are missing; give up those that do not come."""
        founding, missing = layer.state.founding, layer.memory.batches - {ABOVE}
        if not missing or not layer.node.level:
            founding.since = -1.0
        elif founding.since < 0:
            founding.since = now
        for who in sorted(missing) if founding.since >= 0 else ():
            if now - founding.since <= self.options.forget_after_s:
                self.search.call(layer, who)
            elif not layer.is_told(Forget(who)):
                layer.tell(Forget(who), now, self.options.tidy_s)

    def on_forget(self, layer: Layer, who: int, now: float) -> None:
        memory = layer.memory
        if who in memory.batches:
            memory.batches.discard(who)
            self.core.tell_gap(layer, self.core.those(layer, who))
        if who in memory.away:
            del memory.away[who]
            memory.forgotten.add(who)
            self.relay.check_all(layer, now)
            self.relay.reconcile(layer, now)

    def tell_missed(self, layer: Layer) -> None:
        """Back after so long that something for this process or its group has been let go."""
        if self.core.whom(layer, self.process) in layer.memory.missed:
            self.core.tell_gap(layer)
