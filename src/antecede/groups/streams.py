"""The messages of a view: reliable FIFO streams, causal delivery, stability.

A member's messages in a view are one stream to all others. Receivers acknowledge it cumulatively in
their reports (and by the vectors on their own messages), ask for what a gap shows to be missing,
and the sender repeats what stays unacknowledged, ever more slowly. All members keep a message until
every one of them is known to have received it.

Delivery (Birman, Schiper and Stephenson, relative to the view): a message of the member with rank r
is deliverable when it is the next of r, and when all that its vector counts of the others is
delivered.
"""

from collections.abc import Iterable
from itertools import compress
from operator import gt

from antecede.groups.api import Deliver, Resumed, Stable, Suspended
from antecede.groups.core import Core
from antecede.groups.identities import EVERYBODY, GroupMessage
from antecede.groups.packets import Data, Nack, Vector
from antecede.message import ProcessSet, members, set_from_bytes, set_to_bytes


class Streams:
    """Sending, receiving, delivering and forgetting the messages of the present view."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.waiting: dict[int, list[int]] = {}
        """By rank: those whose next message waits for a delivery from it. Derived."""
        self.laggards: list[int] = []
        """By rank: how many members are not known to have received more than what is stable of
        it. Derived."""
        self.untidy = False
        """Whether the input at hand may have made messages stable."""

    def begin(self, size: int) -> None:
        """A view of this size begins: nobody has received anything, and nothing waits."""
        self.waiting = {}
        self.laggards = [size] * size

    def resume(self) -> None:
        self.waiting = {}
        state = self.core.state
        columns = zip(*(peer.row for peer in state.peers), strict=True)
        self.laggards = [
            column.count(stable) for column, stable in zip(columns, state.stable, strict=True)
        ]
        for rank in range(len(state.received)):
            self._deliverable(rank)

    # Sending.

    def drain(self) -> None:
        """Send what waits, as far as the view and the window allow."""
        core, state = self.core, self.core.state
        while state.queue and not core.blocked and self._window_open():
            to, payload = state.queue.pop(0)
            self._issue(to, payload)

    def _window_open(self) -> bool:
        state, rank = self.core.state, self.core.rank
        return state.received[rank] - state.stable[rank] < self.core.config.window

    def _issue(self, to: ProcessSet, payload: bytes) -> None:
        core, state, rank = self.core, self.core.state, self.core.rank
        for peer in state.peers:
            if peer.row[rank] == state.received[rank]:  # nothing was outstanding
                peer.retry_s = core.config.retry_s
                peer.retry_at = core.now + peer.retry_s
        state.received[rank] += 1
        vector = list(state.delivered)
        vector[rank] += 1
        number = state.base[rank] + vector[rank]
        message = GroupMessage(core.me, number, state.view.number, tuple(vector), to, payload)
        state.current[rank, vector[rank]] = message
        core.transmit(core.others, _data(rank, message))
        self._deliver(rank, message)
        self._released_by(rank)
        self._note_row(rank, tuple(state.received))

    def push(self, rank: int, has: Vector, messages: dict[tuple[int, int], GroupMessage]) -> None:
        """Send a member what it lacks of these messages (of its view)."""
        self.push_to(self.core.state.view.members[rank].process, has, messages)

    def push_to(
        self, process: int, has: Vector, messages: dict[tuple[int, int], GroupMessage]
    ) -> None:
        budget = self.core.config.burst * 4
        for rank, number in sorted(messages):
            if number > has[rank] and budget:
                budget -= 1
                message = messages[rank, number]
                self.core.transmit(1 << process, _data(rank, message), message.view)

    def repeat(self) -> None:
        """Send again what has waited too long for an acknowledgement."""
        core, state, own = self.core, self.core.state, self.core.rank
        if state.stable[own] >= state.received[own]:
            return
        for rank, peer in enumerate(state.peers):
            if peer.row[own] >= state.received[own] or core.now < peer.retry_at:
                continue
            peer.retry_s = min(2 * peer.retry_s, core.config.retry_limit_s)
            peer.retry_at = core.now + peer.retry_s
            self._repeat_to(rank, peer.row[own] + 1, state.received[own])

    def _repeat_to(self, rank: int, first: int, last: int) -> None:
        core, state, own = self.core, self.core.state, self.core.rank
        for number in range(first, min(last, first + core.config.burst - 1) + 1):
            message = state.current.get((own, number))
            if message is not None:
                core.transmit_to(rank, _data(own, message))

    def on_nack(self, rank: int, body: Nack) -> None:
        self._repeat_to(rank, body.first, min(body.last, self.core.state.received[self.core.rank]))

    # Receiving.

    def on_data(self, body: Data) -> None:
        """A message, from its sender or from one that hands it on."""
        core, state = self.core, self.core.state
        rank, number = body.rank, body.vector[body.rank]
        if rank == core.rank:
            return
        state.peers[rank].owed = True
        if number <= state.received[rank] or (rank, number) in state.current:
            return
        message = GroupMessage(
            state.view.members[rank],
            state.base[rank] + number,
            state.view.number,
            body.vector,
            set_from_bytes(body.to),
            body.payload,
        )
        state.current[rank, number] = message
        if number > state.received[rank] + 1:
            self._ask_for_gap(rank, number)
            return
        while (rank, state.received[rank] + 1) in state.current:
            state.received[rank] += 1
        self.note_row(rank, body.vector)
        self.acknowledge()
        self.deliver([rank])

    def acknowledge(self) -> None:
        """Say what has come. Not while nothing is delivered: whoever then is left out of the next
        view would never deliver what all take for stable."""
        if not self.core.blocked:
            self._note_row(self.core.rank, tuple(self.core.state.received))

    def beyond_gaps(self) -> tuple[tuple[int, int], ...]:
        """What has come here after a gap, by the rank of its sender and its number; nothing where
        members do not trust each other, for nobody would wait for it."""
        state = self.core.state
        if not self.core.config.trusts:
            return ()
        return tuple(sorted(key for key in state.current if key[1] > state.received[key[0]]))

    def _ask_for_gap(self, rank: int, number: int) -> None:
        core, state = self.core, self.core.state
        peer = state.peers[rank]
        if core.now - peer.nacked_at >= core.config.tick_s:
            peer.nacked_at = core.now
            core.transmit_to(rank, Nack(state.received[rank] + 1, number - 1))

    # Delivering.

    def deliver(self, ranks: list[int]) -> None:
        """Deliver what can be, beginning with the next messages of these members."""
        if self.core.blocked:
            return
        self.deliver_up_to(ranks, self.core.state.received)

    def deliver_up_to(self, ranks: list[int], limit: list[int] | Vector) -> None:
        """Deliver what can be, but of each member no more than this many messages. The most senior
        senders come first, so that the order depends on the state alone."""
        state = self.core.state
        agenda = set(ranks)
        while agenda:
            rank = min(agenda)
            agenda.remove(rank)
            while state.delivered[rank] < limit[rank] and self._deliverable(rank):
                message = state.current[rank, state.delivered[rank] + 1]
                self._deliver(rank, message)
                agenda.update(self._released_by(rank))

    def _deliverable(self, rank: int) -> bool:
        """Whether the next message of a member can be delivered; if it waits for another member,
        it is filed there."""
        state = self.core.state
        message = state.current.get((rank, state.delivered[rank] + 1))
        if message is None:
            return False
        for other, count in enumerate(message.vector):
            if other != rank and count > state.delivered[other]:
                filed = self.waiting.setdefault(other, [])
                if rank not in filed:
                    filed.append(rank)
                return False
        return True

    def _deliver(self, rank: int, message: GroupMessage) -> None:
        core, state = self.core, self.core.state
        state.delivered[rank] += 1
        state.unannounced.append(message)
        self.untidy = self.untidy or state.delivered[rank] <= state.stable[rank]
        if core.config.retains and message.to == EVERYBODY:
            state.retained[state.retained_count] = message
            state.retained_count += 1
        if message.concerns(core.me.process):
            core.emit(Deliver(message))

    def _released_by(self, rank: int) -> list[int]:
        return self.waiting.pop(rank, [])

    def watch_quorum(self) -> int:
        """Suspend when too few are within reach, and go on when there are enough again. Meanwhile
        nobody gets older as deaf: all may have been, and will hear each other at once. The ranks
        within reach, as a bit set."""
        core, state = self.core, self.core.state
        if state.decided is not None:  # it waits for something else
            return core.reached()
        if state.suspended:
            for peer in state.peers:
                peer.missing = dict.fromkeys(peer.missing, core.now)
        reached = core.reached()
        enough = core.is_quorum(reached)
        if not enough and not state.suspended:
            state.suspended, state.suspended_at = True, core.now
            heard = tuple(state.view.members[rank] for rank in members(reached))
            core.emit(Suspended(state.view.number, heard))
        elif enough and state.suspended and not core.frozen:
            state.suspended = False
            core.emit(Resumed(state.view.number))
            self.acknowledge()
            core.transmit(core.others, core.report())
            self.deliver(list(range(len(state.received))))
        return reached

    # Stability.

    def note_row(self, rank: int, row: Vector) -> None:
        """A member is known to have received this much; what all have received is stable."""
        peer = self.core.state.peers[rank]
        if row != peer.row or not peer.present:
            self._note_row(rank, _shared(tuple(map(max, peer.row, row)), row))

    def note_stable(self, stable: Vector) -> None:
        """Every member is known to have received this much. Of other senders than those of whom
        that is news, all rows say so already."""
        state = self.core.state
        news = list(compress(range(len(stable)), map(gt, stable, state.stable))) if stable else ()
        for rank, peer in enumerate(state.peers if news else ()):
            row = peer.row
            behind = [sender for sender in news if row[sender] < stable[sender]]
            if behind or not peer.present:
                raised = list(row)
                for sender in behind:
                    raised[sender] = stable[sender]
                self._raise_row(rank, _shared(tuple(raised), stable), behind)

    def _note_row(self, rank: int, row: Vector) -> None:
        before = self.core.state.peers[rank].row
        self._raise_row(rank, row, compress(range(len(row)), map(gt, row, before)))

    def _raise_row(self, rank: int, row: Vector, risen: Iterable[int]) -> None:
        """`risen`: the senders of whom the row counts more than before."""
        core, state = self.core, self.core.state
        peer = state.peers[rank]
        before, peer.row = peer.row, row
        own = core.rank
        if row[own] > before[own]:
            peer.retry_s = core.config.retry_s
            peer.retry_at = core.now + peer.retry_s
        if not peer.present:
            peer.present = True
            self.untidy = True
        for sender in risen:
            if before[sender] == state.stable[sender]:
                self.laggards[sender] -= 1
                if not self.laggards[sender]:
                    column = [other.row[sender] for other in state.peers]
                    stable = min(column)
                    state.stable[sender] = stable
                    self.laggards[sender] = column.count(stable)
                    self.untidy = True

    def settle(self) -> None:
        """After an input: report what has become stable, with all that precedes it, and drop it."""
        if not self.untidy:
            return
        self.untidy = False
        core, state = self.core, self.core.state
        announced: list[GroupMessage] = []
        kept: list[GroupMessage] = []
        everybody_is_here = all(peer.present for peer in state.peers)
        for message in state.unannounced:
            if message.view < state.view.number:
                stable = everybody_is_here
            else:
                rank = core.ranks[message.sender]  # its own count first: that is nearly free
                stable = message.vector[rank] <= state.stable[rank] and all(
                    map(int.__le__, message.vector, state.stable)
                )
            (announced if stable else kept).append(message)
        state.unannounced = kept
        if announced:
            core.emit(Stable(tuple(message.id for message in announced)))
        for message in announced:
            if message.view == state.view.number:
                rank = core.ranks[message.sender]
                del state.current[rank, message.vector[rank]]
        if everybody_is_here:
            state.previous.clear()
            state.captured = None


def _shared(row: Vector, said: Vector) -> Vector:
    """A row: the very object in which it was said, if it equals that, so that all keep but one."""
    return said if row == said else row


def _data(rank: int, message: GroupMessage) -> Data:
    return Data(rank, message.vector, set_to_bytes(message.to), message.payload)
