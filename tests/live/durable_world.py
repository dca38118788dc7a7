"""Durable and other members on random schedules: links, views, crashes, restarts, with real logs.

The driver plays the links, the substrate, the event loop (what a machine wants done is staged, then
written in one transaction, then done) and the applications. A crash takes everything that is not in
the log. The checker knows nothing of the machines: it compares what was sent and what applications
saw over all their lives.
"""

import random
from collections import defaultdict, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from antecede.groups import MemberId, View
from antecede.live.durable.admission import Admission
from antecede.live.durable.journal import Durability, Journal
from antecede.live.durable.remembered import Remembered
from antecede.live.events import Gap, State, StateWanted
from antecede.live.ordering.effects import Delivery, ToPeers, ViewChange
from antecede.live.ordering.items import Carried, Report, Run, Settle, decode_items, encode_item
from antecede.live.ordering.offers import Given, Subject, encode_content
from antecede.live.ordering.session import Session
from antecede.live.outputs import (
    Dropped,
    Durable,
    Kept,
    Moved,
    ReadPast,
    Recall,
    Told,
    ToPeer,
)
from antecede.live.roster import Entry, Habits, Roster
from antecede.live.transmission import Batch
from antecede.live.transport.outgoing import array_head
from antecede.protocols import create, find

Sent = tuple[str, int, int]
"""Sender, series (0 for the first life of one that is not durable, and so on), number."""


def last_sent(remembered: Remembered) -> int:
    """The number of the last message that a log has of its own member."""
    return remembered.outbox[-1].number if remembered.outbox else remembered.reached


class Process:
    """A process over all its lives."""

    def __init__(self, world: "World", name: str, number: int, *, durable: bool) -> None:
        self.world = world
        self.name = name
        self.number = number
        self.path = world.folder / f"{name}.log" if durable else None
        self.journal: Journal | None = None
        self.me = MemberId(number, 0)
        self.roster = Roster()
        self.session: Session | None = None
        self.admission: Admission | None = None
        self.is_alive = False
        self.is_excluded = False
        """Whether it has all that it had in memory, and no life."""
        self.staged: list[Any] = []
        self.inbox: deque[tuple[Any, int, bool]] = deque()
        self.handed = self.taken = self.written = 0
        """Positions in the log: given to the application, dealt with, known in the log as such."""
        self.seen: list[tuple[Any, int]] = []
        """What the application has dealt with or is dealing with, and the positions."""
        self.gaps: list[Gap] = []
        self.has_state = False
        self.lives: list[list[Any]] = []
        """What a process that is not durable saw, life by life."""

    # -- life

    def live(self, incarnation: int) -> Habits:
        """Begin a life, up to where others have to know of it."""
        self.me = MemberId(self.number, incarnation)
        self.is_alive = True
        if self.is_excluded:
            assert self.admission is not None
            self.is_excluded = False
            return self.admission.habits
        self.staged, self.inbox = [], deque()
        remembered = None
        if self.path is not None:
            durability = Durability(kept_messages=self.world.kept_messages)
            self.journal = Journal(self.path, "g", self.name, "vector", durability)
            remembered = self.journal.remembered
            # What it had dealt with and not written down is given again.
            self.seen = [(what, at) for what, at in self.seen if at <= self.written]
            self.handed = self.taken = self.written
            for position, delivery in self.journal.untaken():
                self.inbox.append((delivery, position, False))
        else:
            self.seen = []
            self.lives.append([])
        self.admission = Admission(
            self.name,
            self.roster,
            remembered,
            wants_state=self.world.wants_state,
            group_is_named=lambda index: False,
        )
        self.admission.host.part_bytes = 200
        return self.admission.habits

    def join(self, view: View) -> None:
        assert self.admission is not None
        self.session = Session(
            self.me,
            lambda process, membership: create(self.world.protocol, process, membership),
            name_of=lambda member: self.roster.name_of(member.process),
            sent=self.admission.remembered.reached if self.admission.remembered else 0,
        )
        self.session.traffic.audience = deque()
        self.admission.begin(self.session)
        self.install(view)

    def be_excluded(self) -> None:
        """The others go on without it. What it has done is in its log."""
        self.commit()
        self.is_alive, self.is_excluded = False, True
        self.session = None
        self.staged = []
        self.inbox = deque((event, position, False) for event, position, _ in self.inbox)

    def crash(self) -> None:
        self.is_alive = False
        if self.journal is not None:
            self.journal.close()
        self.session = self.admission = None
        kept = self.world.numbers_in_log(self)
        for sent in [one for one in self.world.sent if one[0] == self.name]:
            if self.path is not None and sent[2] > kept:
                del self.world.sent[sent]

    # -- the event loop

    def install(self, view: View) -> None:
        assert self.session is not None
        self.pass_on(self.session.install(view, 0.0))

    def pass_on(self, effects: Sequence[Any]) -> None:
        assert self.admission is not None
        self.admission.pass_on(effects, self.staged)

    def commit(self) -> None:
        """The end of a turn."""
        if not self.is_alive:
            return
        staged, self.staged = self.staged, []
        if self.journal is not None:
            self.journal.write([one for one in staged if isinstance(one, Durable)], self.taken)
            self.written = self.taken
        for output in staged:
            self.carry_out(output)

    def carry_out(self, output: Any) -> None:
        match output:
            case ToPeers():
                for name in output.names:
                    self.world.links[self.name, name].append((self.me, output))
            case ToPeer():
                self.world.links[self.name, output.name].append((self.me, ToPeers((), output.item)))
            case ReadPast():
                assert self.journal is not None
                rows, after, more = self.journal.past(
                    output.marks, output.after, output.upto, output.part_bytes
                )
                content = encode_content(msgspec.structs.replace(output.past, rows=rows))
                given = Given(output.life, output.view, Subject.PAST, True, after, more, content)
                put = ToPeers((), encode_item(given))
                self.world.links[self.name, output.name].append((self.me, put))
            case Recall():
                assert self.journal is not None
                assert self.admission is not None
                found = self.journal.own(output.after, output.upto)
                self.admission.outbox.recalled(found, self.staged)
                self.world.resend(self)
            case Kept():
                self.inbox.append((output.delivery, output.position, output.is_counted))
            case Delivery() | State() | StateWanted() | Gap():
                self.inbox.append((output, 0, True))
            case ViewChange() | Told():
                change = output if isinstance(output, ViewChange) else output.change
                self.inbox.append((change, 0, False))
            case Dropped() | Moved():
                pass

    def take(self) -> None:
        """The application asks for the next event."""
        if not self.inbox or self.session is None:
            return
        event, position, is_counted = self.inbox.popleft()
        self.taken = self.handed
        if isinstance(event, Gap):
            self.gaps.append(event)
        elif isinstance(event, StateWanted):
            self.give_state(event)
        elif isinstance(event, State):
            self.take_state(event)
        elif isinstance(event, Delivery):
            assert event.member is not None
            if is_counted:
                self.session.take((event,))
            self.see(self.world.identity(event), position)
            self.handed = position or self.handed
        else:
            self.see(event, position or self.handed)

    def see(self, what: Any, position: int) -> None:
        self.seen.append((what, position))
        if self.lives:
            self.lives[-1].append(what)

    def give_state(self, event: StateWanted) -> None:
        assert self.admission is not None
        listed = [what for what, _ in self.seen if isinstance(what, tuple)]
        self.staged += self.admission.host.give(event.view, encode_content(listed))

    def take_state(self, event: State) -> None:
        """What older members have seen counts as seen."""
        assert not self.seen, "a state comes first"
        self.has_state = event.payload is not None or self.me.incarnation == 1
        contained = msgspec.msgpack.decode(event.payload or b"\x90", type=list[Sent])
        for what in contained:
            self.see(what, self.handed)

    def messages(self) -> list[Sent]:
        return [what for what, _ in self.seen if isinstance(what, tuple)]


class World:
    packs = False
    """Whether messages that may travel together do."""

    def __init__(
        self,
        folder: Path,
        seed: int,
        *,
        durable: int = 3,
        others: int = 1,
        protocol: str = "vector",
        kept_messages: int = 10_000,
        wants_state: bool = False,
        begins_in_peace: bool = True,
        spares_nobody: bool = False,
    ) -> None:
        self.spares_nobody = spares_nobody
        self.folder = folder
        self.random = random.Random(seed)
        self.protocol = protocol
        self.kept_messages = kept_messages
        self.wants_state = wants_state
        self.stamp_type = find(protocol).stamp_type
        self.links: dict[tuple[str, str], deque[tuple[MemberId, ToPeers]]] = defaultdict(deque)
        self.sent: dict[Sent, frozenset[Sent]] = {}
        """What its sender had sent and seen."""
        self.sent_in: dict[Sent, int] = {}
        """The view that a message was sent in."""
        self.began_in: dict[str, int] = {}
        """The first view of each process."""
        self.processes = [
            Process(self, f"p{number}", number, durable=number < durable)
            for number in range(durable + others)
        ]
        self.incarnation = 0
        self.views: list[View] = []
        self.installed: dict[str, int] = {}
        self.restarts = self.runs = 0
        self.found(self.processes[0])
        for process in self.processes[1:]:
            self.come(process)
        if begins_in_peace:
            self.drain()

    def numbers_in_log(self, process: Process) -> int:
        """The number of the last message that a durable process has in its log."""
        if process.path is None:
            return 0
        journal = Journal(process.path, "g", process.name, "vector", Durability())
        sent = last_sent(journal.remembered)
        if journal.remembered.begins:
            del self.began_in[process.name]  # It had not really begun.
            process.seen, process.written = [], 0
        journal.close()
        return sent

    def identity(self, delivery: Delivery) -> Sent:
        assert delivery.member is not None
        is_durable = self.processes[delivery.member.process].path is not None
        return delivery.sender, 0 if is_durable else delivery.member.incarnation, delivery.number

    # -- coming and going

    def found(self, process: Process) -> None:
        self.introduce(process)
        self.views = [View(1, (process.me,))]
        self.installed = {process.name: 0}
        self.began_in.setdefault(process.name, 1)
        process.join(self.views[0])

    def introduce(self, process: Process) -> None:
        self.incarnation += 1
        habits = process.live(self.incarnation)
        entry = Entry(process.number, process.name, "host", 1, habits)
        for other in self.processes:
            other.roster.add(entry)
        for one in self.processes:
            known = one.roster.named(one.name)
            if known is not None:
                process.roster.add(known)

    def come(self, process: Process) -> None:
        self.introduce(process)
        current = self.views[-1]
        self.views.append(View(current.number + 1, (*current.members, process.me)))
        self.installed[process.name] = len(self.views) - 1
        self.began_in.setdefault(process.name, self.views[-1].number)
        process.join(self.views[-1])

    def crash(self, process: Process) -> None:
        process.crash()
        self.go_on_without(process)

    def exclude(self, process: Process) -> None:
        process.be_excluded()
        self.go_on_without(process)

    def go_on_without(self, process: Process) -> None:
        self.restarts += 1
        for (source, to), items in self.links.items():
            if source == process.name:
                for _ in range(self.random.randint(0, len(items))):
                    items.pop()
            if to == process.name:
                items.clear()
        current = self.views[-1]
        members = tuple(member for member in current.members if member != process.me)
        if members:
            self.views.append(View(current.number + 1, members))

    def is_settled(self) -> bool:
        """All that live have come to the last view, so that one more may go."""
        return all(
            one.session is not None
            and one.session.is_open
            and one.session.epoch is not None
            and one.session.epoch.number == self.views[-1].number
            for one in self.processes
            if one.is_alive
        )

    # -- steps

    def alive(self) -> list[Process]:
        return [one for one in self.processes if one.is_alive]

    def send(self, process: Process) -> None:
        session, admission = process.session, process.admission
        if session is None or admission is None or not session.is_open or not admission.is_open:
            return
        series = 0 if process.path is not None else process.me.incarnation
        sent = (process.name, series, session.sent + 1)
        past = {one for one in self.sent if one[:2] == sent[:2]}
        # What has left the machine of this life counts, and what its application has seen.
        past |= set(process.messages())
        self.sent[sent] = frozenset(past)
        self.sent_in[sent] = self.views[self.installed[process.name]].number
        effects = session.send(b"x" * self.random.randint(1, 60), None, 0.0)
        admission.outbox.note_sent(b"x", None, None, process.staged)
        process.pass_on(effects)

    def carry_one(self) -> bool:
        ready = [
            (source, to)
            for (source, to), items in sorted(self.links.items())
            if items and self.named(to).session is not None
        ]
        if not ready:
            return False
        source, to = self.random.choice(ready)
        receiver, (member, put) = self.named(to), self.links[source, to].popleft()
        session, admission = receiver.session, receiver.admission
        assert session is not None
        assert admission is not None
        batch, link = Batch(2**16), self.links[source, to]
        batch.add(put.item, follows=False, size=1)
        while self.packs and isinstance(put.item, Carried) and link and link[0][1].follows:
            batch.add(link.popleft()[1].item, follows=True, size=1)
        (item,) = batch.take()
        (decoded,) = decode_items(array_head(1) + item, self.stamp_type)
        self.runs += isinstance(decoded, Run)
        if isinstance(decoded, Carried | Run | Settle | Report):
            receiver.pass_on(session.receive(member, [decoded], 0.0))
        else:
            admission.receive(source, decoded, receiver.staged)  # type: ignore[arg-type]
        self.resend(receiver)
        return True

    def named(self, name: str) -> Process:
        return self.processes[int(name[1:])]

    def resend(self, process: Process) -> None:
        if process.admission is not None and process.admission.outbox.has_to_resend:
            process.admission.outbox.resend(0.0, process.staged)

    def tick(self, process: Process) -> None:
        if process.session is None or process.admission is None:
            return
        process.pass_on(process.session.report())
        process.admission.tick(0, process.staged)
        self.resend(process)

    def install_one(self) -> bool:
        last = len(self.views) - 1
        behind = [one for one in self.alive() if self.installed[one.name] < last]
        if not behind:
            return False
        process = self.random.choice(behind)
        self.installed[process.name] += 1
        process.install(self.views[self.installed[process.name]])
        return True

    def change(self) -> None:
        down = [one for one in self.processes if not one.is_alive]
        if down and self.random.random() < 0.6:
            self.come(self.random.choice(down))
        elif self.is_settled():
            self.crash_one()

    def crash_one(self) -> None:
        """Somebody, as long as somebody stays who can tell the others what they missed; or
        whoever it is."""
        process = self.random.choice(self.alive())
        if self.spares_nobody:
            if len(self.alive()) > 1:
                self.random.choice((self.crash, self.exclude))(process)
            return
        others = [one for one in self.alive() if one is not process]
        telling = [
            one
            for one in others
            if (one.path is not None or self.wants_state)
            and one.admission is not None
            and one.admission.is_open
        ]
        if len(others) > 1 and telling:
            self.crash(process)

    def step(self) -> None:
        draw = self.random.random()
        process = self.random.choice(self.alive())
        if draw < 0.15:
            self.send(process)
        elif draw < 0.25:
            self.tick(process)
        elif draw < 0.35:
            self.install_one()
        elif draw < 0.55:
            process.commit()
        elif draw < 0.7:
            process.take()
        else:
            self.carry_one()

    def run(self, steps: int, changes: float = 0.02) -> None:
        for _ in range(steps):
            if self.random.random() < changes:
                self.change()
            self.step()
        for process in self.processes:
            if not process.is_alive:
                self.come(process)
        self.drain()

    def drain(self) -> None:
        """Everything that is under way arrives, and applications take it."""
        rounds = 0
        while rounds < 3 or not all(
            one.admission and one.admission.is_open for one in self.alive()
        ):
            rounds += 1
            assert rounds < 300, "somebody waits for ever"
            self.go_on()

    def go_on(self) -> None:
        """Everything that is under way arrives, whether or not members wait for something."""
        quiet = False
        while not quiet:
            quiet = not self.install_one()
            for process in self.alive():
                quiet = quiet and not process.staged
                process.commit()
            quiet = not self.carry_one() and quiet
        for process in self.alive():
            while process.inbox:
                process.take()
            self.tick(process)
