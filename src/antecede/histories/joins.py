"""Changes of topology: processes that join a network whose separators are in use (Rodrigues,
Verissimo, section 4.4).

A member of a separator leaves out of a message what all members have been told (rule R9). Whoever
becomes a member has been told nothing, so it must first know what the members know. There are four
cases (`plan`):

- *beside* (i): the newcomer is on one side of each separator. Nothing to do.
- *bridges* (ii): it connects what no separator in use has ever connected. Nothing to do, either.
- *widens* (iii): there is now a way round a separator, through the newcomer. It joins the members.
- *reconnects* (iv): all members have failed, and the newcomer takes their place.

In the last two it starts from the merged histories of others (`take_over`), of whom depends on the
way:

- *members*, among them witnesses, which do nothing but keep the history: all that are alive. Each
  hands over in one step (`hand_over`): it says what it knows and adopts the new separator. Had it
  gone on with the old one in between, what it left out then would be known to nobody. If members
  have failed, first let everything arrive and be delivered that was on its way to a survivor when
  they did, *whoever sent it*: reported is not delivered.
- *checkpoint*: all processes alive on either side. First let everything be delivered that failed
  processes have sent.
- *stable memory*: the memories of all members that have failed, not only of the last one. What a
  member knows must be in its memory before it sends (`Remembering`); then nothing need arrive.

The network is reliable: what a failed process has sent arrives. Failures are for ever; who comes
back is a new process with a new number, for the others hold its old messages against it. All
processes must know of the newcomer (`refit`) before they hear of its messages, and a failed process
remains a neighbour for as long as something from it may come.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from antecede.errors import Misuse
from antecede.histories.history import Cited, History, merge
from antecede.message import Membership, Message, ProcessSet, members
from antecede.order import Effect
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Entry, Histories, HistoriesOptions, State
from antecede.snapshot import thaw
from antecede.topology.separator import Separator, path_avoiding

__all__ = [
    "Case",
    "Change",
    "Memory",
    "Plan",
    "Remembering",
    "Surroundings",
    "hand_over",
    "history_of",
    "plan",
    "refit",
    "take_over",
]


class Case(StrEnum):
    """What a join does to a separator, or to all of them."""

    BESIDE = "beside"
    BRIDGES = "bridges"
    WIDENS = "widens"
    RECONNECTS = "reconnects"


class Change(msgspec.Struct, frozen=True):
    """A separator before and after a join."""

    case: Case
    before: Separator
    after: Separator


class Plan(msgspec.Struct, frozen=True):
    """What a join comes to. `changes`: one for each separator in use. `created`: separators that
    the newcomer alone makes possible (ii)."""

    case: Case
    changes: tuple[Change, ...]
    created: tuple[Separator, ...]

    @property
    def separators(self) -> tuple[Separator, ...]:
        """Those to be used from now on."""
        return tuple([change.after for change in self.changes]) + self.created


def plan(
    neighbours: Sequence[ProcessSet],
    separators: Iterable[Separator],
    alive: ProcessSet,
    newcomer: int,
) -> Plan:
    """The case of a join. Process p is linked to `neighbours[p]` once the newcomer is there;
    `separators` are those in use; `alive`, who has not failed, without the newcomer.

    Two parts of a network that are connected by members which do not use R9, or were, count as
    never connected: nothing has ever been left out between them."""
    if alive >> newcomer & 1 or neighbours[newcomer] & ~alive:
        raise Misuse(f"process {newcomer} must be new, and linked to processes that are alive")
    changes = tuple([_change(neighbours, one, alive, newcomer) for one in separators])
    cases = {change.case for change in changes}
    created: tuple[Separator, ...] = ()
    case = Case.BESIDE
    if Case.RECONNECTS in cases:
        case = Case.RECONNECTS
    elif Case.WIDENS in cases:
        case = Case.WIDENS
    else:
        created = _created(neighbours, alive, newcomer)
        if created:
            case = Case.BRIDGES
    return Plan(case, changes, created)


def _change(
    neighbours: Sequence[ProcessSet], separator: Separator, alive: ProcessSet, newcomer: int
) -> Change:
    """What becomes of one separator."""
    own = 1 << newcomer
    failed = ~(alive | own)
    S, F, B = separator.members, separator.front, separator.back

    def is_linked(sources: ProcessSet, targets: ProcessSet, avoided: ProcessSet) -> bool:
        absent = (avoided | failed) & (1 << len(neighbours)) - 1
        return path_avoiding(neighbours, absent, sources, targets) is not None

    if is_linked(F, B, S | own):
        raise Misuse(
            f"{list(members(F))} and {list(members(B))} are linked round {list(members(S))} and "
            f"round process {newcomer}, too; a new link is a change of topology of its own"
        )
    if is_linked(F, B, S):
        survivors = S & alive
        case = Case.WIDENS if survivors else Case.RECONNECTS
        return Change(case, separator, Separator(survivors | own, F, B))
    if is_linked(own, F, S):
        F |= own
    elif is_linked(own, B, S):
        B |= own
    return Change(Case.BESIDE, separator, Separator(S, F, B))


def _created(
    neighbours: Sequence[ProcessSet], alive: ProcessSet, newcomer: int
) -> tuple[Separator, ...]:
    """The parts that the newcomer connects, each separated from the others by it."""
    own = 1 << newcomer
    parts = []
    left = neighbours[newcomer] & alive
    while left:
        part, wave = 0, left & -left
        while wave:
            part |= wave
            reached = 0
            for process in members(wave):
                reached |= neighbours[process]
            wave = reached & alive & ~part & ~own
        parts.append(part)
        left &= ~part
    if len(parts) < 2:
        return ()
    everybody = sum(parts)  # they are disjoint
    return tuple([Separator(own, part, everybody & ~part) for part in parts])


# Taking histories over.


def history_of(order: Histories) -> History:
    """What precedes the next message of a process, as a value."""
    return History(
        tuple(
            [
                Cited(sender, number, entry.A, entry.C)
                for sender, entries in sorted(order.state.H.items())
                for number, entry in sorted(entries.items())
            ]
        )
    )


def refit(order: Histories, membership: Membership, surroundings: Surroundings) -> Histories:
    """The same process among more processes, with other neighbours and separators."""
    if membership.size < order.membership.size:
        raise Misuse("processes that have failed keep their numbers; a membership does not shrink")
    if type(order) is not Histories:
        raise Misuse(
            f"joins are for plain histories; {type(order).__name__} keeps more than they do"
        )
    fitted = Histories(order.process, membership, order.options, surroundings)
    fitted.state = thaw(order.snapshot(), State)
    fitted.state.D += [0] * (membership.size - order.membership.size)
    fitted.resume()
    return fitted


def hand_over(
    order: Histories, membership: Membership, surroundings: Surroundings
) -> tuple[Histories, History]:
    """One member's part in a join: the process with the new separator, and what it knew with the
    old one. It must not send from the old `order` any more."""
    return refit(order, membership, surroundings), history_of(order)


def take_over(
    process: int,
    membership: Membership,
    surroundings: Surroundings,
    histories: Iterable[History],
    options: HistoriesOptions | None = None,
    *,
    case: Case | None = None,
) -> Histories:
    """The newcomer, which knows what these histories tell and has delivered nothing. Let it send
    and receive only now.

    `case`: what `plan` has found. A newcomer in no separator needs no histories, nor does one that
    bridges; any other is refused without."""
    order = Histories(process, membership, options or HistoriesOptions(rules="R1-R9"), surroundings)
    given = tuple(histories)
    if not given and case is not Case.BRIDGES:
        _refuse_ignorance(process, surroundings)
    for sender, number, A, C in merge(*given, fifo=True).entries:
        if sender == process or (A | C) >> process & 1:
            raise Misuse(
                f"message {sender}:{number} knows process {process} already; "
                f"one that recovers joins as a new process with a new number"
            )
        order.state.H.setdefault(sender, {})[number] = Entry(A, C)
    order.resume()
    return order


def _refuse_ignorance(process: int, surroundings: Surroundings) -> None:
    """Whoever is in a separator must know what its members knew."""
    own = 1 << process
    for separator in surroundings.separators:
        if not separator.members & own:
            continue
        others, sides = separator.members & ~own, separator.front | separator.back
        if not others:
            raise Misuse(
                f"process {process} takes the place of members that have all failed and needs "
                f"their histories from stable memory, or those of all of {list(members(sides))} "
                f"that are alive; if it connects what never was connected, say case=Case.BRIDGES"
            )
        raise Misuse(
            f"process {process} joins a separator and needs the histories of all its members "
            f"that are alive, {list(members(others))}"
        )


class Memory(Protocol):
    """What outlives a process, such as `antecede.histories.stable.StableMemory`."""

    def save(self, history: History) -> None:
        """Keep this history in place of the last one. Once this returns, no failure of the process
        takes it back; if the process fails before, the last one or this one is kept."""


class Remembering:
    """A member of a separator with a memory: it sends nothing before it has stored what it knows.

    What is stored does not name the message that is about to be sent, for it may never leave;
    nothing has been left out because of it yet. So hand the effects of a send to the network before
    the next one. `order` may be replaced (`hand_over`)."""

    def __init__(self, order: Histories, memory: Memory) -> None:
        self.order = order
        self.memory = memory
        self._stored: History | None = None

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        history = history_of(self.order)
        if history != self._stored:
            self.memory.save(history)
            self._stored = history
        return self.order.send(message, now)
