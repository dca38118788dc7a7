"""Rodrigues and Verissimo, chapter 6: histories held by the application. The judge holds, beside
each history, the plain set of messages that it stands for."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.errors import BadInput, MalformedStamp, Misuse
from antecede.histories import Contexts, DeliverIn, _cited
from antecede.histories.contexts import ContextStamp
from antecede.histories.history import Cited, History, merge
from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.order import Effect, Packet, Transmit
from tests.papers.incomplete_lab import Wires, some


class Truth:
    """What each message follows, by the contexts that the application used."""

    def __init__(self) -> None:
        self.follows: dict[MessageId, frozenset[MessageId]] = {}
        self.destinations: dict[MessageId, int] = {}

    def overtaken(self, net: Wires) -> list[str]:
        delivered: dict[int, set[MessageId]] = {}
        found = []
        for event in net.history.events:
            if event.kind != "deliver" or event.process == event.message.id.sender:
                continue
            here = delivered.setdefault(event.process, set())
            second = event.message.id
            if second in here:
                found.append(f"{second} is delivered twice at {event.process}")
            found += [
                f"{second} overtakes {first} at {event.process}"
                for first in sorted(self.follows[second] - here)
                if self.destinations[first] >> event.process & 1 and first.sender != event.process
            ]
            here.add(second)
        return found


class Worker:
    """An application that keeps a few contexts, each with the set it stands for."""

    def __init__(self, shelves: int) -> None:
        self.contexts: list[tuple[History, frozenset[MessageId]]] = [
            (History(), frozenset())
        ] * shelves


def play(seed: int, own_sends: bool, kind: type[Contexts] = Contexts) -> tuple[Wires, Truth]:
    chance = Random(seed)
    size = 4
    net = Wires([kind(process, Membership(size), own_sends=own_sends) for process in range(size)])
    truth = Truth()
    workers = [Worker(2) for _ in range(size)]
    own: list[frozenset[MessageId]] = [frozenset()] * size
    slow = {(s, q) for s in range(size) for q in range(size) if chance.random() < 0.3}

    def keep(process: int, effects: list[Effect]) -> None:
        """Merge what is delivered into one of the contexts, or replace it, or drop it."""
        for effect in effects:
            if not isinstance(effect, DeliverIn):
                continue
            worker = workers[process]
            shelf = chance.randrange(2)
            history, meant = worker.contexts[shelf]
            follows = truth.follows[effect.message.id] | {effect.message.id}
            what = chance.random()
            if what < 0.5:
                worker.contexts[shelf] = merge(history, effect.history), meant | follows
            elif what < 0.8:
                worker.contexts[shelf] = effect.history, follows

    for _ in range(110):
        fast = [f for f in net.in_flight if (f.packet.source, f.to) not in slow]
        if fast and chance.random() < 0.6:
            flight = chance.choice(fast)
            keep(flight.to, net.arrive(flight, again=chance.random() < 0.05))
            continue
        sender = chance.randrange(size)
        worker = workers[sender]
        shelf = chance.randrange(2)
        history, meant = worker.contexts[shelf]
        after, effects = net.processes[sender].send(history, some(chance, size, sender))
        message = net.sent(sender, effects)
        follows = meant | own[sender] if own_sends else meant
        truth.follows[message.id] = follows
        truth.destinations[message.id] = message.destinations
        if own_sends:
            own[sender] = follows | {message.id}
        if chance.random() < 0.7:  # else it goes on as if it had not sent it
            worker.contexts[shelf] = after, follows | {message.id}
    while net.in_flight:
        flight = chance.choice(net.in_flight)
        keep(flight.to, net.arrive(flight))
    return net, truth


@pytest.mark.parametrize("own_sends", [False, True])
def test_a_message_follows_what_is_in_its_context(own_sends: bool) -> None:
    for seed in range(60):
        net, truth = play(seed, own_sends)
        assert truth.overtaken(net) == [], f"seed {seed}"
        assert not any(process.held() for process in net.processes)
        places = sum(len(list(members(to))) for to in truth.destinations.values())
        assert sum(len(net.delivered(process)) for process in range(4)) == places


class Shortened(Contexts):
    """With rule R7 on the stamps."""

    def send(self, context, destinations, payload=b"", now=0.0, group=-1):  # type: ignore[no-untyped-def]
        after, effects = super().send(context, destinations, payload, now, group)
        shortened: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Transmit):
                stamp = ContextStamp(_cited.to_wire(context.unreported(destinations)))
                packet = Packet(self.process, effect.packet.message, stamp)
                shortened.append(Transmit(packet, effect.to))
            else:
                shortened.append(effect)
        return after, shortened


def forgetful(kind: type[Contexts]) -> list[str]:
    """0 sends n to 2, then r and m to 1. The application of 1 keeps the history of m only, and
    sends k to 2 in it."""
    net = Wires([kind(process, Membership(3)) for process in range(3)])
    truth = Truth()

    def send(
        sender: int, context: History, follows: set[MessageId], to: int
    ) -> tuple[History, Message]:
        after, effects = net.processes[sender].send(context, 1 << to)
        message = net.sent(sender, effects)
        truth.follows[message.id] = frozenset(follows)
        truth.destinations[message.id] = message.destinations
        return after, message

    context, n = send(0, History(), set(), 2)
    context, r = send(0, context, {n.id}, 1)
    _, m = send(0, context, {n.id, r.id}, 1)
    net.bring(r, 1)
    (delivery,) = net.bring(m, 1)
    assert isinstance(delivery, DeliverIn)
    _, k = send(1, delivery.history, {n.id, r.id, m.id}, 2)
    net.bring(k, 2)
    net.bring(n, 2)
    return truth.overtaken(net)


def test_with_r7_an_application_that_drops_a_history_loses_what_it_was_told() -> None:
    assert forgetful(Shortened) == ["1:1 overtakes 0:1 at 2"]
    assert forgetful(Contexts) == []


def test_the_random_runs_would_find_that() -> None:
    found = []
    for seed in range(30):
        net, truth = play(seed, False, Shortened)
        found += truth.overtaken(net)
    assert found


def test_messages_of_one_sender_in_different_contexts_are_not_ordered() -> None:
    def run(own_sends: bool) -> list[MessageId]:
        net = Wires([Contexts(process, Membership(2), own_sends=own_sends) for process in range(2)])
        first = net.sent(0, net.processes[0].send(History(), 0b10)[1])
        second = net.sent(0, net.processes[0].send(History(), 0b10)[1])
        net.bring(second, 1)
        net.bring(first, 1)
        return [identity for _, identity in net.delivered(1)]

    assert run(own_sends=False) == [MessageId(0, 2), MessageId(0, 1)]
    assert run(own_sends=True) == [MessageId(0, 1), MessageId(0, 2)]


def test_one_number_a_sender_needs_own_sends_in_every_context() -> None:
    """s sends m1 to q and r in one context and m2 to q in another; r answers to q."""
    q, r, s = range(3)

    def run(own_sends: bool, forget: bool) -> list[MessageId]:
        net = Wires([Contexts(process, Membership(3), own_sends=own_sends) for process in range(3)])
        m1 = net.sent(s, net.processes[s].send(History(), process_set([q, r]))[1])
        if forget:  # as if own messages were not part of the context
            net.processes[s]._order.state.own = History()
        m2 = net.sent(s, net.processes[s].send(History(), process_set([q]))[1])
        (delivery,) = net.bring(m1, r)
        assert isinstance(delivery, DeliverIn)
        k = net.sent(r, net.processes[r].send(delivery.history, process_set([q]))[1])
        for message in (m2, k, m1):
            net.bring(message, q)
        return [identity for _, identity in net.delivered(q)]

    m1, m2, k = MessageId(s, 1), MessageId(s, 2), MessageId(r, 1)
    assert run(own_sends=True, forget=True) == [m2, k]  # k overtakes m1, which is lost
    assert run(own_sends=True, forget=False) == [m1, k, m2]
    assert run(own_sends=False, forget=False) == [m2, m1, k]


@pytest.mark.parametrize("own_sends", [False, True])
def test_a_message_without_a_context_bypasses_all_order(own_sends: bool) -> None:
    net = Wires([Contexts(process, Membership(2), own_sends=own_sends) for process in range(2)])
    after, effects = net.processes[0].send(History(), 0b10)
    ordered = net.sent(0, effects)
    nothing, effects = net.processes[0].send(None, 0b11)
    past = net.sent(0, effects)
    assert nothing == History()
    flight = net.in_flight[-1]
    (delivery,) = net.arrive(flight, again=True)
    assert isinstance(delivery, DeliverIn)
    assert (delivery.message, delivery.history) == (past, History())
    assert net.arrive(flight) == []  # a duplicate
    later = net.sent(0, net.processes[0].send(after, 0b10)[1])
    net.bring(later, 1)
    net.bring(ordered, 1)
    assert [identity for _, identity in net.delivered(1)] == [past.id, ordered.id, later.id]


def test_stamps_that_cannot_be_are_refused() -> None:
    receiver = Contexts(1, Membership(2))
    message = Message(MessageId(0, 1), 0b10)
    before = receiver.snapshot()
    for H, reason in [
        (((5, 1, b"\x02"),), "no process can send"),
        (((0, 1, b"\x02"),), "does not precede"),
        (((1, 1, b"\x01"),), "has not been sent"),
        (((1, 1, b"\x02"),), "impossible destinations"),
        (((1, 0, b"\x01"),), "no process can send"),
    ]:
        with pytest.raises(MalformedStamp, match=reason):
            receiver.receive(Packet(0, message, ContextStamp(H)))
    assert receiver.snapshot() == before
    with pytest.raises(Misuse):
        receiver.send(History(), 0b100)
    assert receiver.snapshot() == before


def test_a_process_resumes_from_its_snapshot() -> None:
    net, _ = play(1, own_sends=True)
    for process, order in enumerate(net.processes):
        again = Contexts(process, Membership(4), own_sends=True)
        again.restore(order.snapshot())
        assert again.snapshot() == order.snapshot()
        assert again.send(History(), 0b1111) == order.send(History(), 0b1111)


# The value itself.

entries = st.tuples(
    st.integers(0, 3), st.integers(1, 6), st.integers(1, 15), st.integers(0, 15)
).map(lambda drawn: Cited(*drawn))
histories = st.lists(entries, max_size=8, unique_by=lambda cited: cited[:2]).map(
    lambda drawn: merge(History(tuple(sorted(drawn))))
)


@given(histories, histories, st.booleans())
def test_merge_does_not_care_for_order_or_repetition(a: History, b: History, fifo: bool) -> None:
    shared = {cited[:2]: cited.A for cited in a.entries}
    b = History(tuple(c._replace(A=shared.get(c[:2], c.A)) for c in b.entries))  # one message
    merged = merge(a, b, fifo=fifo)
    assert merged == merge(b, a, fifo=fifo) == merge(a, b, a, fifo=fifo)
    assert merged == merge(merged, fifo=fifo)
    assert merge(a, History()) == a


@given(histories)
def test_a_history_travels_as_bytes(history: History) -> None:
    assert History.from_bytes(history.to_bytes()) == history


@pytest.mark.parametrize("stored", [b"", b"\xc1", b"\x91\x01", b"\x91\x91\x93\x01\x02\x03"])
def test_bytes_that_are_no_history_are_refused(stored: bytes) -> None:
    with pytest.raises(BadInput, match="no history"):
        History.from_bytes(stored)
