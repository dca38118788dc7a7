"""All schedules of one program: what is reduced, and why nothing is lost.

A *schedule* is a sequence of steps; a step belongs to one process: it sends its next message, takes
in a packet on its way to it, or wakes up. It ends when nothing is in flight, everything has been
sent and no wake-up is due.

**What is left out.** A process is woken `max_wakes` times at most; a wake-up that it asks for
beyond these never comes. A schedule that is cut in this way is judged up to there, except that what
is undelivered at its end is no flaw: then the exploration is incomplete. In any case it says
`wakes_cut`: what an order does on a later wake-up was not seen. Sends are finite, too, and so are
packets, or else the search comes back to an earlier state or hits the limit on states, and is
incomplete. So every schedule of the system that is explored ends. Of programs that differ only in
the names of the processes one is explored; that presumes that the protocol treats all processes
alike, and that all may be woken equally often (see `program`).

**What commutes.** A step at q changes q's local state, takes at most one packet out of q's inbox
and puts packets into inboxes. Steps at different processes, both possible in a state, can be made
in either order with the same result, and neither makes the other impossible: putting a packet into
an inbox never hinders taking another one out (with FIFO channels it goes to the tail of a queue
whose head is taken). Two schedules that differ by such exchanges are *equivalent*; each process
goes through the same local steps in both. Every flaw is a matter of one process' local steps: a
delivery is judged by what the process and the message know, and what is never delivered, by the
last local state. So one schedule of each class of equivalent ones is enough.

**Which steps are tried.** Let q *influence* p in a state when q may yet transmit something to p:
the program has q send to p later, or q is known to *talk* to p, that is, to transmit to it without
being told to by the program (acknowledgements, null messages, forwarding). Choose a set P of
processes that nobody outside P influences and of which one can make a step, and try the steps of
P's members only. *Claim*: for every complete schedule w from this state, one equivalent to w is
tried. As long as no member of P moves, its possible steps stay possible, so w contains a step of P;
let t be the first. What precedes t in w happens outside P and puts nothing into an inbox of P, so
t's process is in the same local state and its packet is there already: t is possible now, is among
the steps tried, and can be moved to the front, because it commutes with all that precedes it. The
rest of w is shorter, and the claim holds for it by induction. ∎ (P's steps are a persistent set.
There are no sleep sets, and the choice of P depends on nothing but the state, so a state that was
visited need not be visited again, however it is reached. The induction needs that schedules end:
there is no cycle on which a step could be put off for ever.)

P is the smallest set of the kind among the processes that still influence somebody. So a process
that has nothing more to send stands still, its packets waiting, until nobody has. From then on the
processes are independent of each other, and their *tails* are explored each for itself, as a sum
instead of a product: whatever one does in its tail is possible whatever the others do.

**Who talks is found out, not trusted.** At first nobody is presumed to talk. When a local step is
seen that transmits to a process to which the program does not have it transmit, this pair is noted
and the program is explored anew. Nothing escapes: consider the system in which such transmissions
are lost. The reduction is sound for it, so each of its local steps is made in some schedule tried.
A schedule of the real system in which somebody talks for the first time is, up to there, a schedule
of that system; hence its last step is made, and seen.

Counting: `schedules` is the number of complete schedules among those tried, where the tails follow
one another.
"""

from typing import NamedTuple

from antecede.explore.automaton import Flaw
from antecede.explore.node import Flawed, Move, Nodes
from antecede.explore.program import Program

_OPEN = -1

State = tuple[int, ...]
"""A node for each process."""
Path = list[tuple[int, Move]]
"""A schedule: the process and its move, step by step."""
Origins = dict[State, tuple[State, int, Move] | None]
"""How each state was reached."""


class TooManyStates(Exception):
    """The limit on states was hit."""


class Endless(Exception):
    """A schedule returns to an earlier state: packets may be exchanged for ever."""


class Undelivered(Exception):
    """A schedule ends without a delivery."""


class Tail(NamedTuple):
    """All that one process can do alone: how many schedules, what is delivered at the end of all
    of them, whether a wake-up was refused in one."""

    schedules: int
    delivered: int
    is_cut: bool


class Search:
    """The states of one program."""

    def __init__(
        self, program: Program, nodes: Nodes, tails: dict[int, Tail], *, reduction: bool = True
    ) -> None:
        self._program = program
        self._nodes = nodes
        self._tails = tails
        self._reduction = reduction
        intern = nodes.automata.message_id
        self._messages = [[intern(m) for m in messages] for messages in program.messages()]
        self._everybody = tuple(range(program.membership.size))
        self._due = [0] * program.membership.size
        for messages in self._messages:
            for message in messages:
                for process in self._everybody:
                    if nodes.automata.messages[message].destinations >> process & 1:
                        self._due[process] |= 1 << message
        self._closed: dict[State, list[tuple[int, ...]]] = {}
        self.initial: State = tuple(map(nodes.initial, self._everybody))
        self._max_states: int | None = None
        self.states = 0
        self.is_cut = False
        """Whether a process was refused a wake-up in some schedule."""
        self.is_undecided = False
        """Whether something was undelivered in such a schedule."""

    def schedules(self, max_states: int | None = None) -> int:
        """Visit all states; the number of schedules. Raises `Flawed` or `Undelivered` when it finds
        something wrong, `TooManyStates` beyond the limit, `Endless` when a state comes back."""
        self._max_states = max_states
        counts: dict[State, int] = {}  # _OPEN while the state is on the stack
        stack: list[tuple[State, list[State], list[int]]] = []
        state, total = self.initial, [0]
        while True:
            known = counts.get(state)
            if known is None:
                self._count()
                after = self.successors(state)
                if after:
                    counts[state] = _OPEN
                    stack.append((state, after, [0]))
                else:
                    known = counts[state] = self._end(state)
            if known is not None:
                if known == _OPEN:
                    raise Endless
                if not stack:
                    return known
                stack[-1][2][0] += known
            while True:
                state, after, total = stack[-1]
                if after:
                    state = after.pop()
                    break
                counts[state] = total[0]
                stack.pop()
                if not stack:
                    return total[0]
                stack[-1][2][0] += total[0]

    def _count(self) -> None:
        self.states += 1
        if self._max_states is not None and self.states > self._max_states:
            raise TooManyStates

    def successors(self, state: State, *, tails: bool = False) -> list[State]:
        """The states after one step: of any process without reduction, of a set P with it. With
        `tails` these are stepped through, too, one after the other."""
        after = []
        for process in self._moving(state, tails):
            after += [reached for reached, _, _ in self._after(state, process)]
        return after

    def _after(self, state: State, process: int) -> list[tuple[State, int, Move]]:
        """What a process can do in a state, and what each step leads to."""
        arrive = self._nodes.arrive
        after = []
        for move in self.moves(process, state[process]):
            reached = list(state)
            reached[process] = move.node
            for destination, packet in move.outputs:
                reached[destination] = arrive(reached[destination], packet)
            after.append((tuple(reached), process, move))
        return after

    def moves(self, process: int, node: int) -> list[Move]:
        """All that a process can do."""
        messages = self._messages[process]
        sent = self._nodes.sent[node]
        moves = self._nodes.moves(node)
        if sent < len(messages):
            return [self._nodes.send(node, messages[sent]), *moves]
        return moves

    def _moving(self, state: State, tails: bool) -> tuple[int, ...]:
        """The processes whose steps are tried."""
        if not self._reduction:
            return self._everybody
        nodes = self._nodes
        sent = tuple([nodes.sent[node] for node in state])
        closed = self._closed.get(sent)
        if closed is None:
            closed = self._closed[sent] = self._closed_sets(sent)
        for processes in closed:
            for process in processes:
                if (
                    sent[process] < len(self._messages[process])
                    or not nodes.is_idle[state[process]]
                ):
                    return processes
        if tails:
            for process in self._everybody:
                if not nodes.is_idle[state[process]]:
                    return (process,)
        return ()

    def _closed_sets(self, sent: State) -> list[tuple[int, ...]]:
        """For each process that may influence another, the least set with it that nobody outside
        influences; small ones first."""
        messages = self._nodes.automata.messages
        influences = list(self._nodes.talks_to)
        for process, done in enumerate(sent):
            for message in self._messages[process][done:]:
                influences[process] |= messages[message].destinations
        found = []
        for process in self._everybody:
            if influences[process] or sent[process] < len(self._messages[process]):
                closed = 1 << process
                grown = 0
                while grown != closed:
                    grown = closed
                    for other in self._everybody:
                        if influences[other] & closed:
                            closed |= 1 << other
                found.append(tuple([p for p in self._everybody if closed >> p & 1]))
        return sorted(found, key=len)

    def _end(self, state: State) -> int:
        """Nobody influences anybody any more: explore the tails and check that all arrives."""
        schedules = 1
        missing = False
        is_cut = False
        for process, node in enumerate(state):
            tail = self._tails.get(node) or self._tail(node)
            schedules *= tail.schedules
            missing |= self._due[process] & ~tail.delivered != 0
            is_cut |= tail.is_cut
        self.is_cut |= is_cut
        if missing:
            if not is_cut:
                raise Undelivered
            self.is_undecided = True
        return schedules

    def _tail(self, node: int) -> Tail:
        moves = self._nodes.moves(node)
        if moves:
            self._count()
            after = [self._tails.get(move.node) or self._tail(move.node) for move in moves]
            delivered = -1
            for tail in after:
                delivered &= tail.delivered
            schedules = sum([tail.schedules for tail in after])
            found = Tail(schedules, delivered, any(tail.is_cut for tail in after))
        else:
            found = Tail(1, self._nodes.delivered(node), self._nodes.is_cut(node))
        self._tails[node] = found
        return found

    def shortest_flaw(self, max_states: int | None) -> tuple[Flaw, Path] | None:
        """Breadth first: what is wrong and the steps that lead to it; None when the limit is hit
        before anything is found."""
        origins: Origins = {self.initial: None}
        level = [self.initial]
        while level:
            following: list[State] = []
            for state in level:
                after = []
                for process in self._moving(state, tails=True):
                    try:
                        after += self._after(state, process)
                    except Flawed as found:
                        last = process, Move(-1, (), found.label)
                        return found.flaw, [*_path(origins, state), last]
                if not after and self._is_missing(state):
                    return Flaw.UNDELIVERED, _path(origins, state)
                for reached, process, move in after:
                    if reached not in origins:
                        origins[reached] = state, process, move
                        following.append(reached)
            if max_states is not None and len(origins) > max_states:
                return None
            level = following
        return None

    def _is_missing(self, state: State) -> bool:
        nodes = self._nodes
        if any(map(nodes.is_cut, state)):
            return False
        return any(due & ~nodes.delivered(node) for due, node in zip(self._due, state, strict=True))

    def ends(self) -> set[tuple[tuple[bytes, int, int], ...]]:
        """The ends of all schedules tried: for each process its snapshot, its causal past and what
        it has delivered. For tests: it visits the product of the tails."""
        seen = {self.initial}
        stack = [self.initial]
        found = set()
        nodes = self._nodes
        while stack:
            state = stack.pop()
            after = self.successors(state, tails=True)
            if not after:
                found.add(
                    tuple([(nodes.snapshot(n), nodes.past(n), nodes.delivered(n)) for n in state])
                )
            for reached in after:
                if reached not in seen:
                    seen.add(reached)
                    stack.append(reached)
        return found


def _path(origins: Origins, state: State) -> Path:
    steps = []
    origin = origins[state]
    while origin is not None:
        state, process, move = origin
        steps.append((process, move))
        origin = origins[state]
    return steps[::-1]
