"""What a process does when views change.

In a new view it takes over what the group remembers if it has just joined; serves the group if it
is the most senior member, and then asks to be let in above; and has the other parts look again, for
who is there, or who serves, has changed. When the others have gone on without this process, it
comes back with what they may lack.
"""

from antecede import groups
from antecede.message import ProcessSet, process_set, set_to_bytes
from antecede.order import Event, Notice
from antecede.overlays.daisy.absence import Absence
from antecede.overlays.daisy.ahead import RunningAhead
from antecede.overlays.daisy.arrivals import Arrivals
from antecede.overlays.daisy.batches import drop_absent
from antecede.overlays.daisy.changes import Changes
from antecede.overlays.daisy.core import Core, Part
from antecede.overlays.daisy.fence import Fencing
from antecede.overlays.daisy.items import Above, decode_items, pack
from antecede.overlays.daisy.layer import Layer, founding, joining
from antecede.overlays.daisy.records import Memory
from antecede.overlays.daisy.relay import Relay
from antecede.overlays.daisy.undelivered import untold


class Views(Part):
    """Answers new views of the groups of this process."""

    def __init__(
        self,
        core: Core,
        relay: Relay,
        ahead: RunningAhead,
        absence: Absence,
        changes: Changes,
        fencing: Fencing,
        arrivals: Arrivals,
    ) -> None:
        super().__init__(core)
        self.relay = relay
        self.ahead = ahead
        self.absence = absence
        self.changes = changes
        self.fencing = fencing
        self.arrivals = arrivals

    def on_view(self, layer: Layer, event: groups.ViewInstalled, now: float) -> None:
        """A group has a new view."""
        view, state = event.view, layer.state
        where = layer.node.name
        self.core.emit(Notice(Event.VIEW, where, view.number, view.processes))
        state.stopped = False
        server = view.members[0].process
        if state.server not in (-1, server):
            self.core.emit(Notice(Event.SERVER, where, view.number, 1 << server))
            if server == self.process:
                state.sleep.called_since = now  # others may hear this one, unlike the last
        state.server = server
        state.others_may_lack = False
        if event.state:
            self._absorb(layer, event.state, now)
        levels = self.changes.levels
        levels.unfreeze(layer, layer.memory)
        served = self.fencing.on_view(layer)
        present = {self.core.stands_for(layer, member.process) for member in view.members}
        self._await_again(layer, event)
        if layer.memory.missing_batches:
            drop_absent(layer, present)
            self.arrivals.take_batches(layer, now)
        self.changes.on_stable(layer, sorted(layer.memory.pending_changes), now)
        if layer not in self.core.layers:  # it has ended
            return
        self.changes.announce(layer, now)
        self.absence.note_away(layer, view, now)
        if words := untold(layer):
            self.core.send_words(layer, words, now)
        self.ahead.settle_early(layer, event, now)
        self.relay.transport(layer).on_view(layer, event, now)
        if layer.is_server:
            self._serve(layer, now)
        above = self.core.above(layer)
        if above is not None:
            self.absence.hand_down_missed(above, now)
        self.relay.reconcile(layer, now)
        self._tell_below(layer, view, now)
        self.changes.call_roll(layer, now)
        self.changes.consent.on_view(layer, now)
        if layer.node.level and self.options.evolves:
            self.changes.decide(layer, now)
        self.changes.move_if_ready(layer, now)
        for node in served:
            self.absence.on_served(node, now)
        levels.on_view(layer, now)
        levels.advance(layer, now)

    def _await_again(self, layer: Layer, event: groups.ViewInstalled) -> None:
        """While batches are awaited, a member that comes brings that of its group (F3). Otherwise
        what that group has yet to send would count as had where others bring something later.

        Where messages are sent on before all have them, several servers that leave together may
        have been the only ones with a message, and have sent on what depends on it. So nothing is
        taken before their groups have brought what they keep, through new servers.
        """
        if not layer.waits_for_groups:
            return
        if layer.memory.missing_batches:
            come = {self.core.stands_for(layer, member.process) for member in event.joined}
            layer.memory.missing_batches |= {group for group in come if group is not None}
        if self.options.forward == "stable":
            return
        stayed = [member for member in event.view.members if member not in event.joined]
        here = {self.core.stands_for(layer, member.process) for member in stayed}
        left = {self.core.stands_for(layer, member.process) for member in event.departed} - here
        bereft = {group for group in left if group is not None} - layer.memory.forgotten
        if len(bereft) > 1:
            layer.memory.missing_batches |= bereft
            layer.memory.brought -= bereft

    def _absorb(self, layer: Layer, content: bytes, now: float) -> None:
        """Take over what a group remembers, when this process has joined it or is back in it."""
        memory = Memory.taken_at(now, content)
        self.changes.levels.unfreeze(layer, memory)
        if layer.node.level:
            self.changes.history.learn(memory.changes)
            self.changes.history.carry_over_missed(memory)
        else:
            self.changes.history.go_by(memory.changes, layer.node.processes)
        if memory.came_under:
            self.changes.levels.come_under(layer, memory.came_under)
        had = {} if layer.node.level else dict(self.core.state.delivered)
        known, beside = layer.memory.missed, layer.memory.missed_beside
        self.relay.transport(layer).absorb(layer, memory, now)
        self.relay.forwarding.tell_lost(layer)
        self.absence.tell_missed(layer, now, had)
        self.absence.tell_doubtful(layer, now)
        self.absence.pass_on_missed(layer, known, now)
        self.absence.pass_on_beside(layer, beside, now)
        self.changes.give_way(layer, now)
        if layer.node.level:
            self.changes.tell_servers(layer, now)

    def _serve(self, layer: Layer, now: float) -> None:
        """Be in the group above, as the server of this one."""
        node = layer.node
        if node.parent is None or layer is not self.core.layers[-1]:
            return
        parent = self.core.plan.nodes[node.parent]
        if self.core.is_start:
            above = founding(self.process, parent, self.options)
        else:
            known = layer.state.above
            contacts = known.processes | process_set(parent.founders)
            epoch = max(known.epoch, self.core.earliest_epoch(parent.index))
            raised = self.changes.levels.raised_over(layer, now)
            life = self.core.state.next_incarnations.get(parent.index, 0)
            new = joining(self.process, parent, self.options, life, epoch, contacts)
            above = new if raised is None else raised
        self.core.add(above, now)

    def _tell_below(self, layer: Layer, view: groups.View, now: float) -> None:
        """Tell the group below which servers its next server can turn to."""
        below = self.core.below(layer)
        if below is not None and view.number > 1:
            epoch, senior = layer.state.epoch, view.members[0].process
            has_begun = not layer.memory.missing_batches
            word = Above(epoch, set_to_bytes(view.processes), senior, has_begun)
            below.tell(word, now)

    def on_stopped(self, layer: Layer, event: groups.Stopped, now: float) -> None:
        """Ask to be let in again: the others went on without this process. It serves no group
        meanwhile."""
        old, from_above = layer.state, self.core.kept_above(layer)
        again = joining(
            self.process,
            layer.node,
            self.options,
            old.incarnation + 1,
            old.epoch,
            layer.node.processes if not layer.node.level else self._contacts(layer),
        )
        again.state.memory = old.memory
        again.state.memory.missed_beside = {}  # the others know that
        again.state.epochs.epoch = old.epochs.epoch
        again.state.out.outbox = layer.to_bring(layer.unsent(), from_above)
        again.state.above, again.state.predecessors = old.above, old.predecessors
        lost = [
            pack(item)
            for message in event.undelivered
            for item in layer.carries(decode_items(message.payload))
        ]
        waiting = [*old.out.resend, *lost, *layer.put_aside()]
        again.state.out.resend = layer.to_bring(waiting, from_above)
        self.core.replace(layer, again, now)

    def _contacts(self, layer: Layer) -> ProcessSet:
        below = self.core.below(layer)
        known = below.state.above.processes if below is not None else 0
        return known | sum(1 << process for process in layer.node.founders)
