"""A process together with the packets on their way to it, as one small integer.

A *node* is (local state, inbox). All that can happen to a process happens to its node: it sends, it
takes a packet out of its inbox, it wakes up, or a packet is put into its inbox. These four are
tables over integers, filled as they are needed. A state of the whole system is then a tuple of
nodes, and a step replaces a few of them: integer work, whatever the protocol.

The inbox holds packets, not the times they were sent: a multiset where channels may reorder, one
queue for each source where they are FIFO. Putting a packet in and taking another out commute.
"""

from typing import NamedTuple

from antecede.explore.automaton import Automata, Flaw, LocalStep

Inbox = tuple[tuple[int, ...], ...]
"""One queue for each source; or, where channels may reorder, one sorted tuple for all."""
Outputs = tuple[tuple[int, int], ...]

WAKE = -1
SEND = -2


class Move(NamedTuple):
    """A step of one process: `label` is the packet it takes in, `WAKE` or `SEND`."""

    node: int
    outputs: Outputs
    label: int


class Flawed(Exception):
    """The step `label` from a node is wrong."""

    def __init__(self, flaw: Flaw, label: int) -> None:
        super().__init__(flaw)
        self.flaw = flaw
        self.label = label


class Talks(Exception):
    """A process transmits to processes that it was presumed not to talk to."""

    def __init__(self, process: int, to: int) -> None:
        super().__init__(process, to)
        self.process = process
        self.to = to


class Nodes:
    """The nodes of all processes, numbered as they are found, and the moves between them."""

    def __init__(self, automata: Automata, size: int, *, fifo: bool, talks_to: list[int]) -> None:
        self.automata = automata
        self._fifo = fifo
        self._nothing: Inbox = ((),) * size if fifo else ((),)
        self.talks_to = talks_to
        self._nodes: list[tuple[int, Inbox]] = []
        self._ids: dict[tuple[int, Inbox], int] = {}
        self._moves: list[list[Move] | None] = []
        self._sends: list[dict[int, Move]] = []
        self._arrivals: list[dict[int, int]] = []
        self.sent: list[int] = []
        """How many messages the process has sent, by node."""
        self.is_idle: list[bool] = []
        """Whether nothing can happen at a node but sends and arrivals, by node."""

    def __len__(self) -> int:
        return len(self._nodes)

    def initial(self, process: int) -> int:
        """The node of a process before anything has happened."""
        return self._id(self.automata.initial(process), self._nothing)

    def delivered(self, node: int) -> int:
        """The messages delivered at a node."""
        return self.automata.locals[self._nodes[node][0]].delivered

    def is_cut(self, node: int) -> bool:
        """Whether the process was refused a wake-up."""
        return self.automata.locals[self._nodes[node][0]].is_cut

    def snapshot(self, node: int) -> bytes:
        """The protocol's state at a node."""
        return self.automata.locals[self._nodes[node][0]].snapshot

    def past(self, node: int) -> int:
        """The messages in the causal past of a node."""
        return self.automata.locals[self._nodes[node][0]].past

    def _id(self, local: int, inbox: Inbox) -> int:
        found = self._ids.get((local, inbox))
        if found is None:
            found = self._ids[local, inbox] = len(self._nodes)
            self._nodes.append((local, inbox))
            self._moves.append(None)
            self._sends.append({})
            self._arrivals.append({})
            state = self.automata.locals[local]
            self.sent.append(state.sent)
            self.is_idle.append(inbox == self._nothing and not state.wakes)
        return found

    def arrive(self, node: int, packet: int) -> int:
        """The node after a packet was sent to it."""
        arrivals = self._arrivals[node]
        after = arrivals.get(packet)
        if after is None:
            local, inbox = self._nodes[node]
            queues = list(inbox)
            if self._fifo:
                source = self.automata.packets[packet].source
                queues[source] = (*queues[source], packet)
            else:
                queues[0] = tuple(sorted((*queues[0], packet)))
            after = self._id(local, tuple(queues))
            arrivals[packet] = after
        return after

    def send(self, node: int, message: int) -> Move:
        """The process sends a message of the program."""
        move = self._sends[node].get(message)
        if move is None:
            local, inbox = self._nodes[node]
            step = self.automata.send(local, message)
            move = self._sends[node][message] = self._move(local, step, inbox, SEND)
        return move

    def moves(self, node: int) -> list[Move]:
        """All that can happen at a node but sends and arrivals."""
        moves = self._moves[node]
        if moves is None:
            local, inbox = self._nodes[node]
            automata = self.automata
            moves = [
                self._move(local, automata.receive(local, packet), rest, packet)
                for packet, rest in self._heads(inbox)
            ]
            if automata.locals[local].wakes:
                moves.append(self._move(local, automata.wake(local), inbox, WAKE))
            self._moves[node] = moves
        return moves

    def _heads(self, inbox: Inbox) -> list[tuple[int, Inbox]]:
        """Each packet that can be taken out, and the inbox without it."""
        if self._fifo:
            return [
                (queue[0], (*inbox[:source], queue[1:], *inbox[source + 1 :]))
                for source, queue in enumerate(inbox)
                if queue
            ]
        packets = inbox[0]
        return [
            (packet, ((*packets[:index], *packets[index + 1 :]),))
            for index, packet in enumerate(packets)
            if index == 0 or packets[index - 1] != packet
        ]

    def _move(self, local: int, step: LocalStep, inbox: Inbox, label: int) -> Move:
        if step.flaw is not None:
            raise Flawed(step.flaw, label)
        process = self.automata.locals[local].process
        if step.talks_to & ~self.talks_to[process]:
            raise Talks(process, step.talks_to)
        return Move(self._id(step.local, inbox), step.outputs, label)
