"""Any protocol among members that come and go: random schedules of links, views and crashes.

The driver plays the links (reliable and FIFO between two that live; of a crashed member a prefix
arrives) and the substrate (the same views for all, each learning of them at its own time). The
checker knows nothing of the session: it compares what was sent and what was delivered.
"""

import random
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

import pytest

from antecede.errors import MalformedStamp
from antecede.groups import MemberId, View
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.effects import Delivery, SessionEffect, ToPeers, ViewChange
from antecede.live.ordering.items import (
    LARGEST,
    Carried,
    Report,
    Run,
    Settle,
    decode_items,
    encode_item,
    encode_run,
    encoded,
    pack_prefix,
)
from antecede.live.ordering.seals import Seals
from antecede.live.ordering.session import Session
from antecede.live.transmission import Batch
from antecede.live.transport.outgoing import array_head
from antecede.order import Stamp
from antecede.orders.fifo import Serial
from antecede.orders.vector import Vectors
from antecede.protocols import create, find

PROTOCOLS = ("vector", "matrix", "optimal", "pairs", "piggyback", "bounded", "histories", "none")
Sent = tuple[MemberId, int]


class World:
    """Members, links and views, driven by one seed."""

    def __init__(self, protocol: str, seed: int, size: int) -> None:
        self.random = random.Random(seed)
        self.protocol = protocol
        self.stamp_type = find(protocol).stamp_type
        members = tuple(MemberId(process, 0) for process in range(size))
        self.views = [View(1, members)]
        self.sessions: dict[MemberId, Session] = {}
        self.installed: dict[MemberId, int] = {}
        self.links: dict[tuple[MemberId, MemberId], deque[ToPeers]] = defaultdict(deque)
        self.crashed: set[MemberId] = set()
        self.log: dict[MemberId, list[Sent | int]] = defaultdict(list)
        """What each application saw: messages, and the numbers of views."""
        self.sent: dict[Sent, tuple[frozenset[int], frozenset[Sent], int]] = {}
        """To whom, what the sender had sent and delivered, and in which view."""
        self.confirmed: dict[MemberId, int] = defaultdict(int)
        """By member, up to which number its messages are delivered everywhere, as it knows."""
        self.premature: list[str] = []
        self.burst = 5 if self.stamp_type.successor is not Stamp.successor else 3
        self.runs = self.waited = 0
        """Runs that came, and those that were seen to wait."""
        for member in members:
            self.start(member, 0)

    def start(self, member: MemberId, view: int) -> None:
        self.sessions[member] = Session(
            member,
            lambda process, membership: create(self.protocol, process, membership),
            confirms=True,
        )
        self.installed[member] = view
        self.apply(member, self.sessions[member].install(self.views[view], 0.0))

    def apply(self, member: MemberId, effects: Sequence[object]) -> None:
        for effect in effects:
            if isinstance(effect, ToPeers):
                for other in effect.to:
                    self.links[member, other].append(effect)
            elif isinstance(effect, Delivery):
                assert effect.member is not None
                self.log[member].append((effect.member, effect.number))
                if self.random.random() < 0.5:
                    self.sessions[member].take((effect,))
            elif isinstance(effect, ViewChange):
                self.log[member].append(effect.view.number)
            elif isinstance(effect, FullyDelivered):
                self.confirm(member, effect.number)

    def confirm(self, member: MemberId, upto: int) -> None:
        """A member believes that its messages up to this number are delivered everywhere."""
        views = {view.number: view for view in self.views}
        present = self.views[self.installed[member]].members
        for number in range(self.confirmed[member] + 1, upto + 1):
            to, _, view = self.sent[member, number]
            self.premature += [
                f"{member} believes that {other} has delivered {number}"
                for other in views[view].members
                if other.process in to and other != member and other in present
                if (member, number) not in self.log[other]
            ]
        self.confirmed[member] = upto

    def alive(self) -> list[MemberId]:
        return [member for member in self.views[-1].members if member not in self.crashed]

    def send(self, member: MemberId) -> None:
        session = self.sessions[member]
        if member in self.crashed or not session.is_open:
            return
        epoch = session.epoch
        assert epoch is not None
        past = frozenset(item for item in self.log[member] if isinstance(item, tuple))
        past |= {sent for sent in self.sent if sent[0] == member}
        everybody = [one.process for one in epoch.view.members]
        to = None
        if find(self.protocol).traits.addressing.name == "SETS" and self.random.random() < 0.7:
            to = self.random.sample(everybody, self.random.randint(1, len(everybody)))
        number = sum(sent[0] == member for sent in self.sent) + 1
        destinations = frozenset(everybody if to is None else to)
        self.sent[member, number] = (destinations, past, epoch.number)
        self.apply(member, session.send(b"x", to, 0.0))

    def carry_one(self) -> bool:
        ready = [
            (source, to)
            for (source, to), items in sorted(self.links.items())
            if items and to not in self.crashed
        ]
        if not ready:
            return False
        source, to = self.random.choice(ready)
        count = self.random.randint(1, min(self.burst, len(self.links[source, to])))
        batch = Batch(2**16)
        for _ in range(count):
            put = self.links[source, to].popleft()
            batch.add(put.item, follows=put.follows, size=1)
        items = batch.take()
        for item in decode_items(array_head(len(items)) + b"".join(items), self.stamp_type):
            assert isinstance(item, Carried | Run | Settle | Report)
            self.runs += isinstance(item, Run)
            self.apply(to, self.sessions[to].receive(source, [item], 0.0))
            epoch = self.sessions[to].epoch
            self.waited += epoch is not None and len(epoch.behind)
        return True

    def change_view(self) -> None:
        """Somebody crashes, is excluded by mistake, or joins."""
        current = self.views[-1]
        leaving: list[MemberId] = []
        joining: list[MemberId] = []
        alive = self.alive()
        if len(alive) > 2 and self.random.random() < 0.7:
            victim = self.random.choice(alive)
            self.crashed.add(victim)
            leaving.append(victim)
            for (source, _), items in self.links.items():
                if source == victim:
                    for _ in range(self.random.randint(0, len(items))):
                        items.pop()
        else:
            present = {m.process for m in current.members}
            gone = [m.process for m in self.sessions if m.process not in present]
            process = gone[0] if gone else len(present)
            lives = max((m.incarnation for m in self.sessions if m.process == process), default=-1)
            joining.append(MemberId(process, lives + 1))
        members = tuple(m for m in current.members if m not in leaving) + tuple(joining)
        self.views.append(View(current.number + 1, members))
        for member in joining:
            self.start(member, len(self.views) - 1)

    def install_one(self) -> bool:
        behind = [member for member in self.alive() if self.installed[member] < len(self.views) - 1]
        if not behind:
            return False
        member = self.random.choice(behind)
        self.installed[member] += 1
        view = self.views[self.installed[member]]
        self.apply(member, self.sessions[member].install(view, 0.0))
        return True

    def run(self, steps: int, changes: int) -> None:
        moments = {self.random.randrange(steps) for _ in range(changes)}
        for step in range(steps):
            if step in moments:
                self.change_view()
            draw = self.random.random()
            if draw < 0.25:
                member = self.random.choice(self.alive())
                for _ in range(self.random.randint(1, self.burst) if self.burst > 3 else 1):
                    self.send(member)
            elif draw < 0.3:
                member = self.random.choice(self.alive())
                self.apply(member, self.sessions[member].report())
            elif draw < 0.4:
                self.install_one()
            else:
                self.carry_one()
        while self.install_one() or self.carry_one():
            pass


def problems(world: World) -> list[str]:
    """What is wrong with what the survivors saw."""
    found = list(world.premature)
    survivors = world.alive()
    seen = {member: [x for x in world.log[member] if isinstance(x, tuple)] for member in survivors}
    delivered_somewhere = {sent for log in seen.values() for sent in log}
    views = {view.number: view for view in world.views}
    for member in survivors:
        if len(set(seen[member])) != len(seen[member]):
            found.append(f"{member} delivered a message twice")
        numbers = [x for x in world.log[member] if isinstance(x, int)]
        if numbers != list(range(numbers[0], world.views[-1].number + 1)):
            found.append(f"{member} saw the views {numbers}")
        place = {sent: at for at, sent in enumerate(seen[member])}
        for sent, (to, past, view) in world.sent.items():
            is_here = member.process in to and member in views[view].members
            owed = sent[0] in survivors or sent in delivered_somewhere
            if is_here and owed and sent not in place:
                found.append(f"{member} lacks {sent}")
            if sent in place:
                if not is_here:
                    found.append(f"{member} got {sent}, which is not for it")
                found += [
                    f"{member} delivered {sent} before {earlier}"
                    for earlier in past
                    if place.get(earlier, -1) > place[sent]
                ]
    return found


@pytest.mark.parametrize("protocol", [name for name in PROTOCOLS if name != "none"])
def test_survivors_agree(protocol: str) -> None:
    confirmed = runs = waited = 0
    for seed in range(60):
        world = World(protocol, seed, size=3 + seed % 3)
        world.run(steps=150, changes=seed % 5)
        assert not problems(world), f"seed {seed}: {problems(world)[:3]}"
        assert len(world.sent) > 5
        confirmed += sum(world.confirmed.values())
        runs, waited = runs + world.runs, waited + world.waited
    assert confirmed > 100
    if protocol == "vector":
        assert min(runs, waited) > 100


@pytest.mark.parametrize("seed", [1115, 1969, 3099])
def test_messages_inside_other_packets(seed: int) -> None:
    """Schedules in which a departed member's message came first inside another packet."""
    world = World("piggyback", seed, size=3 + seed % 4)
    world.run(steps=120 + seed % 3 * 80, changes=seed % 7)
    assert not problems(world)


def test_without_order_the_checker_complains() -> None:
    worlds = [World("none", seed, size=4) for seed in range(30)]
    for world in worlds:
        world.run(steps=150, changes=0)
    assert any("before" in problem for world in worlds for problem in problems(world))


@pytest.mark.parametrize("what", ["Epoch.copies_for", "Peer.list_runs"])
def test_without_copies_of_the_departed_survivors_disagree(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"antecede.live.ordering.epoch.{what}", lambda *_: ())
    found = []
    for seed in range(60):
        world = World("vector", seed, size=4)
        world.run(steps=150, changes=3)
        found += problems(world)
    assert any("lacks" in problem for problem in found)


def test_what_is_received_is_not_delivered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report that takes what is held for delivered is found out."""
    monkeypatch.setattr("antecede.live.ordering.epoch.Epoch.held_back", lambda *_: 0)
    worlds = [World("vector", seed, size=4) for seed in range(60)]
    for world in worlds:
        world.run(steps=150, changes=3)
    assert any(world.premature for world in worlds)


def test_who_is_alone_knows_at_once() -> None:
    me = MemberId(0, 0)
    session = Session(me, lambda p, among: create("vector", p, among), confirms=True)
    session.install(View(1, (me,)), 0.0)
    assert FullyDelivered(1, 0.0) in session.send(b"", None, 5.0)


def test_a_number_that_is_skipped_says_nothing_of_those_before() -> None:
    me, other = members = (MemberId(0, 0), MemberId(1, 0))
    session = Session(me, lambda process, membership: create("optimal", process, membership))
    session.install(View(1, members), 0.0)
    session.skip_number()
    assert session.reached() == 1
    session.send(b"", None, 0.0)
    session.skip_number()
    session.send(b"", None, 0.0)
    assert (session.sent, session.reached()) == (4, 1)
    session.receive(other, [Report(1, 1, 0, 0)], 0.0)
    assert session.reached() == 3
    session.receive(other, [Report(1, 2, 0, 0)], 0.0)
    assert session.reached() == 4


def test_numbers_of_a_long_life() -> None:
    me = MemberId(0, 0)
    session = Session(
        me, lambda process, membership: create("vector", process, membership), sent=2**32
    )
    session.install(View(1, (me,)), 0.0)
    (delivery,) = session.send(b"", None, 0.0)
    assert isinstance(delivery, Delivery)
    assert delivery.number == 2**32 + 1


def test_a_bad_item_takes_nothing_with_it() -> None:
    """What it frees of others before the bad item is delivered."""
    first, second, third = members = tuple(MemberId(process, 0) for process in range(3))
    sessions = {
        me: Session(me, lambda process, membership: create("vector", process, membership))
        for me in members
    }
    for session in sessions.values():
        session.install(View(1, members), 0.0)

    def sent(by: MemberId, payload: bytes) -> list[Carried[Any]]:
        (put,) = [one for one in sessions[by].send(payload, None, 0.0) if isinstance(one, ToPeers)]
        assert isinstance(put.item, Carried)
        return [put.item]

    question = sent(first, b"question")
    sessions[second].receive(first, question, 0.0)
    answers = sent(second, b"answer") + sent(second, b"and more") + sent(second, b"and more")
    run = decode_items(array_head(1) + encode_run(answers), Vectors)
    assert isinstance(run[0], Run)
    assert sessions[third].receive(second, run, 0.0) == []  # type: ignore[arg-type]
    held, epoch = sessions[third].held(), sessions[third].epoch
    assert epoch is not None
    assert [epoch.own_number(one.message) for one in held] == [1, 2, 3]
    assert {(one.process, one.count) for each in held for one in each.awaited} == {(0, 1)}
    effects: list[SessionEffect] = []
    with pytest.raises(MalformedStamp, match="999"):
        sessions[third].receive(first, [*question, Report(1, 999, 0, 0)], 0.0, effects)
    texts = [effect.payload for effect in effects if isinstance(effect, Delivery)]
    assert texts == [b"question", b"answer", b"and more", b"and more"]
    assert not sessions[third].held()


@pytest.mark.parametrize("prefix", [(2**64 - 1, 1), (2**62, 1), (1, 2**63)])
def test_numbers_beyond_belief_are_refused(prefix: tuple[int, int]) -> None:
    """As lies, or what follows them, would not fit into the wire or into a log."""
    me, liar = members = (MemberId(0, 0), MemberId(1, 0))
    session = Session(me, lambda process, membership: create("fifo", process, membership))
    session.install(View(1, members), 0.0)
    stamp = Serial(1)
    item = Carried(1, 1, b"\x03", -1, pack_prefix(*prefix), stamp)
    with pytest.raises(MalformedStamp, match="beyond"):
        session.receive(liar, [item], 0.0)


def test_what_a_run_says_is_believed_only_as_far_as_it_can_be() -> None:
    """One whose numbers would end beyond belief; one of a protocol that has none; and one that says
    of messages what was said of others: those wait for the end of the view."""
    me, liar = members = (MemberId(0, 0), MemberId(1, 0))
    sessions = {
        name: Session(me, lambda process, membership, name=name: create(name, process, membership))  # type: ignore[misc]
        for name in ("vector", "fifo")
    }
    for session in sessions.values():
        session.install(View(1, members), 0.0)
    texts, stamp = (b"a", b"b"), Vectors(((0, 1),))
    for beyond in ((LARGEST - 1, 1), (1, LARGEST - 1)):
        item = encode_item(Run(1, 1, b"\x03", 0, beyond[0], 1, beyond[1], texts, stamp))
        with pytest.raises(MalformedStamp, match="<="):
            decode_items(array_head(1) + item, Vectors)
    with pytest.raises(MalformedStamp, match="does not tell"):
        sessions["fifo"].receive(liar, [Run(1, 1, b"\x03", -1, 1, 1, 1, texts, Serial(1))], 0.0)
    session = sessions["vector"]
    session.receive(liar, [Run(1, 1, b"\x03", 0, 1, 1, 1, texts, stamp)], 0.0)
    assert session.receive(liar, [Run(1, 3, b"\x03", 0, 3, 1, 3, texts, stamp)], 0.0) == []
    late = Run(1, 5, b"\x03", 0, 5, 1, 5, texts, Vectors(((0, 4),)))
    assert session.receive(liar, [late], 0.0) == []
    single = Carried(1, 7, b"\x03", 0, pack_prefix(7, 7), Vectors(((0, 5),)))
    assert session.receive(liar, [single], 0.0) == []
    first = Carried(1, 8, b"\x03", 0, pack_prefix(8, 8), Vectors(((0, 3),)))
    came = session.receive(liar, [first], 0.0)
    assert [one.number for one in came if isinstance(one, Delivery)] == [8, 5, 7]
    ended = session.install(View(2, (me,)), 0.0)
    assert [one.number for one in ended if isinstance(one, Delivery)] == [3, 4, 6]


def test_the_largest_number_keeps_nobody_from_sending() -> None:
    me, liar = members = (MemberId(0, 0), MemberId(1, 0))
    session = Session(me, lambda process, membership: create("fifo", process, membership))
    session.install(View(1, members), 0.0)
    stamp = Serial(1)
    session.receive(liar, [Carried(1, 1, b"\x03", -1, pack_prefix(LARGEST, 1), stamp)], 0.0)
    for _ in range(2):
        session.send(b"", None, 0.0)
    assert session.traffic.lamport >= LARGEST


def test_what_came_in_a_run_is_handed_on_with_its_seals() -> None:
    members = tuple(MemberId(process, 0) for process in range(3))
    seals = {str(member): Seals(bytes([member.process]) * 32) for member in members}
    for name, mine in seals.items():
        for other, others in seals.items():
            mine.learn(other, 0, others.key_for(name, 0))
    first, second, third = (
        Session(me, lambda process, among: create("vector", process, among), seals=seals[str(me)])
        for me in members
    )
    for session in (first, second, third):
        session.install(View(1, members), 0.0)
    effects = [one for text in (b"a", b"b", b"c") for one in first.send(text, None, 0.0)]
    sent = [one.item for one in effects if isinstance(one, ToPeers)]
    run = decode_items(array_head(1) + encode_run(sent), Vectors)  # type: ignore[arg-type]
    second.receive(members[0], run, 0.0)  # type: ignore[arg-type]
    told = {
        session: [
            item
            for one in session.install(View(2, members[1:]), 0.0)
            if isinstance(one, ToPeers)
            for item in decode_items(array_head(1) + encoded(one.item), Vectors)
        ]
        for session in (second, third)
    }
    came = third.receive(members[1], told[second], 0.0)  # type: ignore[arg-type]
    assert [one.payload for one in came if isinstance(one, Delivery)] == [b"a", b"b", b"c"]
    assert third.settling.forged == 0
