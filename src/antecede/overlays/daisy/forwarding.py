"""When a message may be sent on, into the group above or the one below.

A server asks this for each message that it has, again whenever something has changed. What may not
go yet waits where it is kept (`relay`).

- *Up*, a message goes at once, unless the group above is yet to begin, or is frozen (G1). Where
  messages are sent on early (`forward`), a *stray* is left to the group of its sender, and what
  comes after it waits.
- *Down*, nothing goes while a member of the local group may yet bring what precedes it, nor while
  the group seems to have another server, which this process has not heard of (F7). What goes down
  when such a member is waited for no more overtakes what that one has sent before: that is told.
"""

from collections.abc import Iterable
from math import inf

from antecede.groups import Quorum
from antecede.message import MessageId, process_set
from antecede.overlays.daisy.core import Part
from antecede.overlays.daisy.layer import Layer
from antecede.overlays.daisy.records import NEVER, Kept


class Forwarding(Part):
    """Says whether a message may go up, or down, and notes the strays."""

    # Up.

    def note_stray(self, layer: Layer, message: MessageId, now: float) -> None:
        """Note a stray: a message that came into a local group with a member that was away, and not
        from the servers."""
        if self.options.forward != "stable" and not layer.node.processes >> message.sender & 1:
            layer.memory.strays[message] = now

    def may_rise(self, layer: Layer, above: Layer, kept: Kept) -> bool:
        """Whether a message goes up. Where messages are sent on early, it may be a stray: a server
        that was replaced got it from other servers and brought it into this group, and the next
        server may not have what precedes it there. So a stray is left to those that it comes from,
        or is brought in a batch; what comes after it waits until the servers have had it, or until
        that is given up."""
        if not above.is_open:
            return False
        message, strays = kept.message.id, layer.memory.strays
        if self.options.forward == "stable":
            return True
        if not layer.node.processes >> message.sender & 1 and strays.get(message) != NEVER:
            return False
        return not any(
            since != NEVER and not above.has_passed(stray) and self._precedes(layer, stray, kept)
            for stray, since in strays.items()
        )

    def ends_wait(self, layer: Layer, message: MessageId) -> bool:
        """Whether with this message the servers have had a stray of this group, or do not get it
        any more: what comes after that stray has waited, and goes up before anything else."""
        sender, number = message
        strays = layer.memory.strays
        return any(stray.sender == sender and stray.number <= number for stray in strays)

    def _precedes(self, layer: Layer, stray: MessageId, kept: Kept) -> bool:
        """Whether a stray is still kept here, and came before this message."""
        earlier = layer.memory.kept.get(stray)
        return earlier is not None and earlier.place < kept.place

    # Down.

    def is_awaited_below(self, layer: Layer, below: Layer, now: float) -> bool:
        """Whether a member of the group below has sent on early what that group has not had, and
        may still bring it, with all that it sent before: what comes from here may depend on that.
        """
        if self.options.forward == "stable":
            return False
        had, memory = below.memory.passed, layer.memory
        return any(
            memory.last_passed(who) > had.get(who, 0) and self._may_bring(below, who, now)
            for who in (*below.memory.away, *below.state.returned)
        )

    def is_replaced(self, layer: Layer, kept: Kept, now: float) -> bool:
        """Whether the local group has another server by now, and this process does not know (F7):
        it has not had what a member has sent, and the group's server must have. What comes from
        here may depend on what that group has had since. This process looks around, and waits, for
        `forget_after_s` at most."""
        below, state, sender = self.core.below(layer), layer.state, kept.message.id.sender
        if below is None or below.node.level or self.options.quorum is Quorum.SURVIVORS:
            return False
        if state.replaced_since < 0:
            is_beginning = below.memory.missing_batches or below.state.handover.gathering
            is_inside = below.view is not None and below.view.processes >> sender & 1
            is_news = is_inside and sender != self.process
            if is_beginning or not (is_news or self._is_behind(layer, below)):
                return False
            state.replaced_since = now
            below.rest.look_around(now)
        return now - state.replaced_since <= self.options.forget_after_s

    def _is_behind(self, layer: Layer, below: Layer) -> bool:
        """Whether the servers have had something of a member that the local group has not, as far
        as this process knows, even if they keep it no more. That says nothing of a group that came
        in the place of others, which does not know what these had, nor of one whose members do not
        get all messages."""
        if self.options.evolves or not self.options.reaches_all:
            return False
        had, seen = below.memory.passed, layer.memory.passed
        inside = () if below.view is None else below.view.members
        others = (one.process for one in inside if one.process != self.process)
        is_stable = self.options.forward == "stable"
        return is_stable and any(seen.get(who, 0) > had.get(who, 0) for who in others)

    def _may_bring(self, layer: Layer, process: int, now: float) -> bool:
        """Whether messages of a process that its own group has missed may still come from itself,
        with all that it sent before them: it is away, and not for ever, or it has just come back.

        Where messages are not broadcast, members hand over all that they have to a new server,
        which goes on with that. And with `survivors` a process that is away is taken for dead.
        """
        if layer.node.level or not self.options.reaches_all:
            return False
        if self.options.quorum is Quorum.SURVIVORS:
            return False
        since = layer.memory.away.get(process, -inf)
        return process in layer.state.returned or now - since <= self.options.forget_after_s

    def go_on_without(self, layer: Layer, below: Layer) -> None:
        """Something goes down, and waits for nobody any more. It may come from one who is away from
        the group below, or depend on what does. Then it overtakes what that one has sent before and
        nobody has brought: that is told, once."""
        told = layer.state.told_lost
        ahead = self._ahead_of(layer, below)
        ahead = [one for one in ahead if one.number - 1 > told.get(one.sender, 0)]
        names = self._lost_before(layer, ahead, below) if ahead else ()
        news = tuple(name for name in names if name.number > told.get(name.sender, 0))
        if news:
            self._tell_lost(layer, below, news, news)
            told |= {one.sender: one.number - 1 for one in ahead}

    def tell_lost(self, layer: Layer) -> None:
        """At a new server, in its group of servers, and when one who has left is forgotten. They
        may have had messages of it that its own group never had: what came before those is lost as
        well, unless it comes back."""
        below = self.core.below(layer)
        ahead = [] if below is None else self._ahead_of(layer, below)
        if below is not None and ahead:
            self._tell_lost(layer, below, ahead, self._lost_before(layer, ahead, below))

    def _tell_lost(
        self,
        layer: Layer,
        below: Layer,
        ahead: Iterable[MessageId],
        names: tuple[MessageId, ...],
    ) -> None:
        layer.state.told_lost |= {name.sender: name.number for name in names}
        self.core.tell_gap(below, process_set(message.sender for message in ahead), names)

    def _ahead_of(self, layer: Layer, below: Layer) -> list[MessageId]:
        """The last message of each process that is away from a local group, if the servers have had
        it, and the group has not. Where not all of a group have its messages, nobody knows yet; the
        handover finds out."""
        if below.node.level or not self.options.reaches_all:
            return []
        if self.options.evolves:  # sent on is what all have; and before a split others had it
            return []
        absent, memory = {*below.memory.away, *below.memory.forgotten}, layer.memory
        ahead = [MessageId(who, memory.last_passed(who)) for who in sorted(absent)]
        return [message for message in ahead if not below.has_passed(message)]

    def _lost_before(
        self, layer: Layer, ahead: list[MessageId], below: Layer
    ) -> tuple[MessageId, ...]:
        """What precedes these, and neither the group below has had, nor the servers keep."""
        names = missing_before(below, ahead)
        return tuple(name for name in names if name not in layer.memory.kept)


def missing_before(layer: Layer, survivors: list[MessageId]) -> tuple[MessageId, ...]:
    """What is known by name of the past that these have lost: of their own senders, since all that
    a process sends passes its group, in the order of its numbers."""
    names = {
        MessageId(sender, earlier)
        for sender, number in survivors
        for earlier in range(layer.memory.passed.get(sender, 0) + 1, number)
    }
    return tuple(sorted(names.difference(survivors)))
