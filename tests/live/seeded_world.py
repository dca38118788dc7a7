"""Whole members that are given seeds, on random schedules: they found a group, die and come back
with their logs, one by one or all at once, on links that are slow or cut now and then, and machines
that stand still.

The machines are the real ones, with the real substrate and real logs; the driver plays links,
processes that stand still, the event loop and the applications. What is judged: once everybody is
there, everybody is told of one view of all, and gets a last word of everybody; and what they saw
until then is as promised (`seeded_ledger`).

`python -m tests.live.seeded_world --first 0 --count 1000 [--talk] [--large]`: with `--talk` members
send all the time; with `--large` there are 16 of them, on machines that stand still for long.
"""

import argparse
import heapq
import random
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from antecede.errors import MalformedStamp
from antecede.groups import GroupConfig
from antecede.live.durable.journal import Durability, Journal
from antecede.live.durable.remembered import Outgone
from antecede.live.durable.write_ahead import WriteAhead
from antecede.live.events import Excluded
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.effects import Delivery, ToPeers, ViewChange
from antecede.live.ordering.epoch import TooEarly
from antecede.live.ordering.items import Introduced, decode_items, encoded, is_repeated
from antecede.live.outputs import (
    Begun,
    Durable,
    Identity,
    Kept,
    Known,
    Moved,
    Output,
    ReadPast,
    Recall,
    Told,
    ToPeer,
)
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.seeding import Seeding
from antecede.live.transport.outgoing import array_head
from antecede.order import Wake
from tests.live.seeded_ledger import Ledger, Reader

CONFIG = GroupConfig(
    tick_s=0.1, suspect_after_s=2.0, flush_timeout_s=2.0, patience=5.0, heartbeats=4.0,
    join_pause_s=0.15, fanout=6, transfers_state=True, detours=False, trusts=False,
)  # fmt: skip
MakeMachine = Callable[..., MemberMachine]
TICK_S, CALM_S = 0.05, 120.0
LACKING = "a group may go on with "


@dataclass(eq=False)
class Link:
    """From one life of a process to whoever has a name: FIFO, and nothing is lost on it as long as
    both live."""

    delay_s: float
    life: int | None = None
    """Of the other end, as it said last,"""
    stands: bool = False
    """and whether it can be talked to now."""
    waiting: deque[bytes] = field(default_factory=deque)
    free_at: float = 0.0
    """When the last of what is under way arrives."""


class Process:
    """One life of a seed; an exclusion goes on with it."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.links: dict[str, Link] = {}
        """Those to processes whose names are known."""
        self.tried: set[str] = set()
        self.view: tuple[str, ...] = ()
        self.got: set[bytes] = set()
        self.reader = world.reader(name)
        self.unsent = [f"{name} begins {world.now}".encode()]
        self.has_ended = False
        self.stalled_until = self.tick_at = 0.0
        self.staged: list[Output] = []
        self.taken: int | None = None
        self.journal: Journal | None = None
        incarnation = 1 + int(1000 * world.now)
        company: tuple[str, ...] = ()
        if world.folder is not None:
            path = world.folder / f"{name}.log"
            self.journal = Journal(path, "g", name, world.chosen.text, Durability())
            incarnation = self.journal.begin_life(incarnation)
            company = self.journal.remembered.company
        self.incarnation = incarnation
        """As the others know it."""
        self.machine = world.make(
            Identity(name, (name, 1), incarnation),
            world.chosen,
            CONFIG,
            founds=False,
            remembered=None if self.journal is None else self.journal.remembered,
            seeding=Seeding(world.expect, company),
        )
        if name in world.seeds:
            self.machine.be_seed()

    # -- the event loop

    def act(self, outputs: Sequence[Output]) -> None:
        """As the pump does: at once, or once it is in the log, at the end of the turn."""
        if self.journal is None:
            self.carry_out(outputs)
            return
        if not self.staged and outputs:
            self.world.later(self, 0.001, self.commit)
        self.staged += outputs

    def commit(self) -> None:
        if self.journal is not None:
            staged, self.staged = self.staged, []
            self.journal.write([one for one in staged if isinstance(one, Durable)], self.taken)
            self.taken = None
            for one in staged:
                if type(one) is Outgone:
                    self.world.ledger.write(self.reader, one.payload)
                elif type(one) is Begun:
                    self.world.ledger.begun.add(self.name)
            self.carry_out(staged)

    def carry_out(self, outputs: Sequence[Output]) -> None:
        for output in outputs:
            match output:
                case ToPeer():
                    self.put(output.name, output.item)
                case ToPeers():
                    for name in output.names:
                        self.put(name, encoded(output.item))
                case Wake():
                    self.world.later(self, output.at - self.world.now, self.wake)
                case Known():
                    if output.incarnation is not None:
                        self.meet(output.name, output.incarnation)
                    elif output.name != self.name and output.is_wanted:
                        self.world.dial(self, output.name)
                case ViewChange():
                    self.enter(output)
                    self.relink(output)
                case Moved():
                    self.relink(output.change)
                case Told():
                    self.enter(output.change)
                case Delivery():
                    self.take(output)
                case Kept():
                    self.take(output.delivery, is_counted=output.is_counted)
                    self.taken = output.position
                case ReadPast():
                    assert self.journal is not None
                    writer = WriteAhead(self.journal, self.act, lambda error: None)
                    answer = writer.read_past(output)
                    self.put(answer.name, answer.item)
                case Recall():
                    assert self.journal is not None
                    found = self.journal.own(output.after, output.upto)
                    self.act(self.machine.recalled(found, self.world.now))
                case Excluded():
                    self.incarnation, self.view = output.incarnation, ()
                    self.reader = self.world.reader(self.name)
                    names = [*self.links]
                    self.links.clear()
                    self.world.forget_links_to(self.name)
                    for name in names:
                        self.world.dial(self, name)

    def enter(self, change: ViewChange) -> None:
        self.view = change.members
        lives = [life.incarnation for life in change.lives]
        self.reader.enter(dict(zip(change.members, lives, strict=True)))

    def put(self, name: str, item: bytes) -> None:
        if name not in self.links and name in self.machine.members():
            self.world.dial(self, name)
        link = self.links.get(name)
        if link is not None and (link.stands or not is_repeated(item)):
            link.waiting.append(item)
            if link.stands:
                self.world.carry(self, name, link)

    def relink(self, change: ViewChange) -> None:
        for name, life in zip(change.members, change.lives, strict=True):
            self.meet(name, life.incarnation)

    def meet(self, name: str, incarnation: int) -> None:
        """A link that leads to a former life will not do."""
        link = self.links.get(name)
        if link is not None and link.life not in (None, incarnation):
            del self.links[name]
        if name != self.name:
            self.world.dial(self, name)

    def take(self, delivery: Delivery, *, is_counted: bool = True) -> None:
        self.got.add(delivery.payload)
        assert delivery.member is not None
        life = delivery.member.incarnation
        self.reader.see(delivery.payload, delivery.sender, life, is_past=not is_counted)
        if is_counted and delivery.member is not None:
            self.machine.take((delivery,))

    def wake(self) -> None:
        self.act(self.machine.wake(self.world.now))

    def tick(self) -> None:
        now = self.world.now
        if now - self.tick_at > 0.1:
            self.machine.excuse(now - self.tick_at, now)
        there = [] if self.view else [name for name, link in self.links.items() if link.stands]
        tried_all = self.tried >= {*self.world.seeds} - {self.name}
        self.act(self.machine.tick(there, now, tried_all=tried_all))
        if self.world.has_something_to_say() and self.machine.is_open:
            self.unsent.append(f"{self.name} at {now}".encode())
        while self.unsent and self.machine.is_open:
            self.world.ledger.send(self.reader, self.unsent[0], self.incarnation)
            self.act(self.machine.send(self.unsent.pop(0), None, None, now))
        self.tick_at = now + TICK_S
        self.world.later(self, TICK_S, self.tick)


class World:
    """One run; the seed explains it. With a folder, members are durable."""

    def __init__(
        self,
        seed: int,
        folder: Path | None = None,
        make: MakeMachine = MemberMachine,
        *,
        talks: bool = False,
        is_large: bool = False,
    ) -> None:
        self.is_large = is_large
        self.make = make
        self.ledger = Ledger()
        self._talk = random.Random(seed) if talks else None
        self.random = draw = random.Random(seed)
        self.folder = folder
        self.chosen = ProtocolChoice("vector", {})
        self.seeds = "abcde"[: draw.choice((2, 3, 3, 4, 5))]
        self.names = self.seeds + "wxyz"[: draw.choice((0, 0, 1, 3))]
        """Some only join."""
        if is_large:
            self.names = self.seeds = "abcdefghijklmnop"
        self.expect = len(self.seeds) // 2 + 1
        self.now = 0.0
        self.count = 0
        self.heap: list[tuple[float, int, Process | None, Callable[[], None]]] = []
        self.alive: dict[str, Process] = {}
        self.cut: set[frozenset[str]] = set()
        self.is_calm = False
        self.ambush = draw.choice(("", "", "", "others die", "it stands still"))
        """What happens when a newcomer is about to be let in."""
        self.slowness_s = draw.choice((0.01, 0.05, 0.3))

    def reader(self, name: str) -> Reader:
        """Of a new life: the same as before, if members are durable."""
        former = [one for one in self.ledger.readers if one.name == name and self.folder]
        for one in former:
            one.enter(one.view)
        return former[0] if former else self.ledger.add(name)

    def has_something_to_say(self) -> bool:
        """One of them, at a tick."""
        talk = self._talk
        return talk is not None and not self.is_calm and talk.random() < 0.1

    def at(self, delay_s: float, action: Callable[[], None]) -> None:
        self._push(delay_s, None, action)

    def later(self, process: Process, delay_s: float, action: Callable[[], None]) -> None:
        """If it lives by then, and as soon as it does not stand still."""
        self._push(delay_s, process, action)

    def _push(self, delay_s: float, process: Process | None, action: Callable[[], None]) -> None:
        self.count += 1
        heapq.heappush(self.heap, (self.now + max(delay_s, 0.0), self.count, process, action))

    def run(self) -> str:
        """What is wrong in the end; nothing, one hopes."""
        draw = self.random
        stormy_s = 25.0 if self.is_large else draw.choice((2.5, 4.0, 8.0))
        for name in self.names:
            self.at(draw.uniform(0.0, 1.0), partial(self.start, name))
        for _ in range(draw.randrange(5)):
            self.at(draw.uniform(1.0, stormy_s), self.fault)
        for _ in range(200 if self.is_large else draw.randrange(6)):
            self.at(draw.uniform(0.0, stormy_s + 3.0), self.stall)
        for name in self.names:
            self.at(stormy_s + 3.0, partial(self.start, name))
        self._play(stormy_s + 4.0)
        self.is_calm = True
        self.cut.clear()
        trouble = self._until(self._without_view)
        if not trouble:
            trouble = self._until(self._without_last_words) or "; ".join(self.ledger.problems()[:3])
        elif self.lack_others():
            trouble = ""
        for process in self.alive.values():
            if process.journal is not None:
                process.journal.close()
        return trouble

    def _until(self, trouble: Callable[[], str]) -> str:
        """Let it be calm until there is none, but not for ever. Many that have all come at once ask
        each other in turn, which takes long on slow links."""
        ends_at = self.now + (4 * CALM_S if self.is_large else CALM_S)
        while trouble() and self.now < ends_at:
            self._play(self.now + 1.0)
        return trouble()

    def _without_view(self) -> str:
        views = {name: process.view for name, process in self.alive.items()}
        lives = {name: process.incarnation for name, process in self.alive.items()}
        is_of_all = len(lives) == len(self.names) and all(
            process.view and process.reader.view == lives for process in self.alive.values()
        )
        return "" if is_of_all else f"no view of all: {views}"

    def lack_others(self) -> bool:
        """Whether seeds wait for some who are no seeds, and say so: these found nothing."""
        told = [process.machine.waits_for(()).get("", "") for process in self.alive.values()]
        others = {*self.names} - {*self.seeds}
        return any(
            others >= {*text.removeprefix(LACKING).partition(";")[0].split(", ")}
            for text in told
            if text.startswith(LACKING)
        )

    def _without_last_words(self) -> str:
        words = {name: f"{name} ends".encode() for name in self.names}
        for name, process in self.alive.items():
            if not process.has_ended:
                process.has_ended = True
                process.unsent.append(words[name])
        lacks = {
            name: sorted({*words.values()} - process.got) for name, process in self.alive.items()
        }
        return f"never got: {lacks}" if any(lacks.values()) else ""

    def _play(self, until: float) -> None:
        while self.heap and self.heap[0][0] < until:
            self.now, count, process, action = heapq.heappop(self.heap)
            if process is not None and self.alive.get(process.name) is not process:
                continue
            if process is not None and process.stalled_until > self.now:
                heapq.heappush(self.heap, (process.stalled_until, count, process, action))
            else:
                action()
        self.now = until

    # -- processes

    def start(self, name: str) -> None:
        if name not in self.alive:
            process = self.alive[name] = Process(self, name)
            process.act(process.machine.start(self.now))
            for other in self.seeds:
                if other != name:
                    self.later(process, 0.0, partial(self._seek, process, other))
            process.tick_at = self.now
            process.tick()

    def kill(self, name: str) -> None:
        process = self.alive.pop(name, None)
        if process is not None:
            self.forget_links_to(name)
            if process.journal is not None:
                process.journal.close()

    def fault(self) -> None:
        """One of them dies, or all; or a link between two sides stands still for a while."""
        if self.random.random() < 0.3:
            side = {name for name in self.names if self.random.random() < 0.5}
            cut = {frozenset((one, other)) for one in side for other in {*self.names} - side}
            self.cut |= cut
            self.at(self.random.uniform(0.2, 5.0), lambda: self.cut.difference_update(cut))
        else:
            self.strike(self.random.choice((self.random.choice(self.names), self.names)))

    def strike(self, names: str) -> None:
        """These die, and come back."""
        for name in () if self.is_calm else names:
            self.kill(name)
            self.at(self.random.uniform(0.0, 1.5), partial(self.start, name))

    def stall(self, name: str = "") -> None:
        process = self.alive.get(name or self.random.choice(self.names))
        if process is not None:
            longest_s = 6.0 if self.is_large else 1.2
            process.stalled_until = self.now + self.random.uniform(0.0, longest_s)

    # -- links

    def dial(self, process: Process, name: str) -> None:
        """There is a link to a process whose name is known."""
        if name not in process.links:
            delay_s = self.random.choice((0.001, self.slowness_s))
            process.links[name] = Link(delay_s)
            self.later(process, self.random.uniform(0.0, 0.2), partial(self._try, process, name))

    def _seek(self, process: Process, name: str) -> None:
        """Whoever listens at this address: its name is known once it has answered."""
        process.tried.add(name)
        if name in self.alive and frozenset((process.name, name)) not in self.cut:
            self.dial(process, name)
        elif name not in process.links:
            again_s = self.random.uniform(0.05, 2.0)
            self.later(process, again_s, partial(self._seek, process, name))

    def _try(self, process: Process, name: str) -> None:
        link, other = process.links.get(name), self.alive.get(name)
        if link is None or link.stands:
            return
        if other is None or frozenset((process.name, name)) in self.cut:
            again_s = self.random.uniform(0.05, 2.0)
            self.later(process, again_s, partial(self._try, process, name))
            return
        life = other.incarnation
        if link.life not in (None, life):
            link.waiting.clear()
        link.life, link.stands = life, True
        for _ in link.waiting:
            self.carry(process, name, link)
        process.act(process.machine.welcomed(name, life, self.now))

    def forget_links_to(self, name: str) -> None:
        """This life is over: links to it break, and are dialled again."""
        for process in self.alive.values():
            link = process.links.get(name)
            if link is not None and link.stands:
                self._break(process, name, link)

    def _break(self, process: Process, name: str, link: Link) -> None:
        """It is dialled again, and taken up where it broke."""
        link.stands = False
        self.later(process, self.random.uniform(0.0, 0.2), partial(self._try, process, name))

    def carry(self, process: Process, name: str, link: Link) -> None:
        """One more item is under way."""
        delay_s = self.random.expovariate(1 / link.delay_s)
        link.free_at = max(link.free_at, self.now + delay_s)
        other = self.alive.get(name)
        if other is not None:
            arrive = partial(self._arrive, process, other, link)
            self.later(other, link.free_at - self.now, arrive)

    def _arrive(self, process: Process, other: Process, link: Link) -> None:
        is_current = process.links.get(other.name) is link and link.stands
        is_there = link.life == other.incarnation
        if not is_current or not is_there or not link.waiting:
            return
        if frozenset((process.name, other.name)) in self.cut:
            self.later(other, 0.1, partial(self._arrive, process, other, link))
            return
        items = decode_items(array_head(1) + link.waiting[0], self.chosen.stamp_type)
        try:
            outputs = other.machine.receive(process.name, process.incarnation, items, self.now)
        except (TooEarly, MalformedStamp):
            # What members of a former group say is nothing to a new one: the link breaks.
            self._break(process, other.name, link)
            return
        link.waiting.popleft()
        other.act(outputs)
        if self.ambush and type(items[0]) is Introduced:
            self._strike_newcomer(other)

    def _strike_newcomer(self, process: Process) -> None:
        in_s = self.random.uniform(0.0, 0.3)
        if self.ambush == "others die":
            self.ambush = ""
            self.at(in_s, partial(self.strike, self.names.replace(process.name, "")))
        else:
            self.at(in_s, partial(self.stall, process.name))


def run(
    seed: int, make: MakeMachine = MemberMachine, *, talks: bool = False, is_large: bool = False
) -> str:
    """Durable members, in two runs of three."""
    if seed % 3 == 0:
        return World(seed, make=make, talks=talks, is_large=is_large).run()
    with tempfile.TemporaryDirectory() as folder:
        return World(seed, Path(folder), make, talks=talks, is_large=is_large).run()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--talk", action="store_true")
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.count):
        if trouble := run(seed, talks=arguments.talk, is_large=arguments.large):
            failed += 1
            print(f"seed {seed}: {trouble}", flush=True)
    print(f"{arguments.count:,} runs, {failed:,} failed")


if __name__ == "__main__":
    main()
