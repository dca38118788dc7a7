"""Rodrigues and Verissimo, chapter 6: priorities. The judges go by the definition: of two messages
addressed to a process, the one that happened before comes first if it is at least as urgent."""

from random import Random
from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import Priorities, PrioritiesOptions, _cited
from antecede.histories.history import History, merge
from antecede.histories.priorities import Sections
from antecede.message import Membership, Message, MessageId
from antecede.order import Effect, Packet, Transmit
from tests.papers.harness import Network, _pasts, early, undelivered
from tests.papers.incomplete_lab import some

LOW, HIGH = 0, 1


def team(size: int, levels: int, order: type[Priorities] = Priorities) -> list[Priorities]:
    options = PrioritiesOptions(levels=levels)
    return [order(process, Membership(size), options) for process in range(size)]


def urgencies(net: Network) -> dict[MessageId, int]:
    return {event.message.id: event.message.group for event in net.history.events}


def out_of_order(net: Network) -> list[str]:
    """What overtakes something that is at least as urgent."""
    urgency = urgencies(net)
    return [
        f"{second} overtakes {first} at {process}"
        for process, first, second in early(net.history)
        if urgency[first] >= urgency[second]
    ]


def needlessly_late(net: Network) -> list[str]:
    """What was delivered later than in the step in which it had arrived and all that it must follow
    had been delivered."""
    urgency, pasts = urgencies(net), _pasts(net.history)
    ready: dict[tuple[int, MessageId], int] = {}
    found = []
    for event in net.history.events:
        place = event.process, event.message.id
        if event.kind == "receive":
            ready[place] = event.step
        elif event.kind == "deliver" and event.process != event.message.id.sender:
            steps = [ready[place]] + [
                ready.get((event.process, first), event.step)
                for first, message in pasts[event.message.id].items()
                if message.destinations >> event.process & 1
                and urgency[first] >= event.message.group
                and first.sender != event.process
            ]
            if event.step > max(steps):
                found.append(f"{event.message.id} at {event.process}")
            ready[place] = event.step
    return found


def play(seed: int, size: int, levels: int, order: type[Priorities] = Priorities) -> Network:
    chance = Random(seed)
    net = Network(team(size, levels, order))
    slow = {(s, q) for s in range(size) for q in range(size) if chance.random() < 0.3}
    for _ in range(90):
        fast = [f for f in net.in_flight if (f.packet.source, f.to) not in slow]
        if fast and chance.random() < 0.65:
            net.arrive(chance.choice(fast), again=chance.random() < 0.05)
            continue
        sender = chance.randrange(size)
        destinations = some(chance, size, sender)
        to = [process for process in range(size) if destinations >> process & 1]
        if chance.random() < 0.7:
            to = [chance.choice(to)]
        net.send(sender, *to, group=chance.randrange(levels))
    while net.in_flight:
        net.arrive(chance.choice(net.in_flight))
    return net


@pytest.mark.parametrize(("size", "levels"), [(3, 2), (4, 2), (4, 3), (5, 2)])
def test_a_message_waits_for_what_is_at_least_as_urgent_and_for_nothing_else(
    size: int, levels: int
) -> None:
    for seed in range(25):
        net = play(seed, size, levels)
        assert out_of_order(net) == [], f"seed {seed}"
        assert undelivered(net.history) == [], f"seed {seed}"
        assert needlessly_late(net) == [], f"seed {seed}"


def test_one_priority_is_causal_order() -> None:
    for seed in range(20):
        net = play(seed, 4, 1)
        assert early(net.history) == []
        assert undelivered(net.history) == []


def test_an_urgent_message_is_not_delayed_by_another() -> None:
    net = Network(team(2, 2))
    low = net.send(0, 1, group=LOW)
    high = net.send(0, 1, group=HIGH)
    net.bring(high, 1)
    assert net.history.deliveries(1) == [str(high)]
    net.bring(low, 1)
    assert net.history.deliveries(1) == [str(high), str(low)]


def test_a_message_still_waits_for_a_more_urgent_one() -> None:
    net = Network(team(2, 2))
    high = net.send(0, 1, group=HIGH)
    low = net.send(0, 1, group=LOW)
    net.bring(low, 1)
    assert net.history.deliveries(1) == []
    net.bring(high, 1)
    assert net.history.deliveries(1) == [str(high), str(low)]


def test_an_urgent_message_carries_word_of_the_others() -> None:
    """0 sends a to 2; 0 sends b to 1, urgently; 1 sends c to 2. c follows a."""
    net = Network(team(3, 2))
    a = net.send(0, 2, group=LOW)
    net.bring(net.send(0, 1, group=HIGH), 1)
    c = net.send(1, 2, group=LOW)
    net.bring(c, 2)
    assert net.history.deliveries(2) == []
    net.bring(a, 2)
    assert net.history.deliveries(2) == [str(a), str(c)]


class Hasty(Priorities):
    """Carbon copies as in complete order: whatever a message cites has been reported, whatever the
    priorities."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = super().send(message, now)
        for priority, history in enumerate(self.state.H):
            if priority != message.group:
                self.state.H[priority] = _told(history, message.destinations)
        return effects


class Shortening(Priorities):
    """R7 on all sections."""

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        H = [history.unreported(message.destinations) for history in self.state.H]
        stamp = Sections(tuple(map(_cited.to_wire, H)))
        return [
            Transmit(Packet(self.process, message, stamp), effect.to)
            if isinstance(effect, Transmit)
            else effect
            for effect in super().send(message, now)
        ]


class Credulous(Priorities):
    """As in complete order, a sender counts as told of whatever it cites."""

    def accept(self, packet: Packet[Any]) -> Any:
        moved = super().accept(packet)
        priority = packet.message.group  # type: ignore[union-attr]
        self.state.H[priority] = merge(_told(self.state.H[priority], 1 << packet.source))
        return moved


def _told(history: History, processes: int) -> History:
    return History(tuple([cited._replace(C=cited.C | processes) for cited in history.entries]))


def test_what_an_urgent_message_cites_has_not_been_reported() -> None:
    """n, an urgent m that cites n and does not wait for it, and k, which needs n all the same."""

    def run(order: type[Priorities]) -> list[str]:
        net = Network(team(2, 2, order))
        net.send(0, 1, group=LOW)
        m = net.send(0, 1, group=HIGH)
        k = net.send(0, 1, group=LOW)
        net.bring(m, 1)
        net.bring(k, 1)
        net.settle()
        return out_of_order(net)

    assert run(Hasty) == ["0:3 overtakes 0:1 at 1"]
    assert run(Priorities) == []


def test_an_urgent_message_must_not_rely_on_what_its_destination_has_been_told() -> None:
    """1 sends x to 0, and r to 2, which cites x; then urgently to 2, where r has not arrived."""

    def run(order: type[Priorities]) -> list[str]:
        net = Network(team(3, 2, order))
        net.send(1, 0, group=LOW)
        net.send(1, 2, group=LOW)
        net.bring(net.send(1, 2, group=HIGH), 2)
        net.bring(net.send(2, 0, group=LOW), 0)
        net.settle()
        return out_of_order(net)

    assert run(Shortening) == ["2:1 overtakes 1:1 at 0"]
    assert run(Priorities) == []


def test_a_sender_may_not_have_delivered_what_it_cites() -> None:
    """0 sends n to 1, and m urgently, which overtakes n; 1 sends r to 2, citing n; 2 answers."""

    def run(order: type[Priorities]) -> list[str]:
        net = Network(team(3, 2, order))
        net.send(0, 1, group=LOW)
        net.bring(net.send(0, 1, group=HIGH), 1)
        net.bring(net.send(1, 2, group=LOW), 2)
        net.bring(net.send(2, 1, group=LOW), 1)
        net.settle()
        return out_of_order(net)

    assert run(Credulous) == ["2:1 overtakes 0:1 at 1"]
    assert run(Priorities) == []


@pytest.mark.parametrize("order", [Hasty, Shortening, Credulous])
def test_the_random_runs_would_find_that(order: type[Priorities]) -> None:
    assert any(out_of_order(play(seed, 4, 2, order)) for seed in range(60))


@pytest.mark.parametrize(
    ("group", "H", "reason"),
    [
        (2, ((), ()), "'group' is 2, which is no priority"),
        (0, ((),), "has 1 sections for 2 priorities"),
        (0, (((1, 1, b"\x01"),), ()), "has not been sent"),
        (0, ((), ((0, 5, b"\x02"),)), "does not precede"),
    ],
)
def test_stamps_that_cannot_be_are_refused(group: int, H: object, reason: str) -> None:
    receiver = team(2, 2)[1]
    before = receiver.snapshot()
    message = Message(MessageId(0, 1), 0b10, group)
    with pytest.raises(MalformedStamp, match=reason):
        receiver.receive(Packet(0, message, Sections(H)))  # type: ignore[arg-type]
    assert receiver.snapshot() == before


def test_priorities_that_do_not_exist_are_refused() -> None:
    with pytest.raises(Misuse, match="there is no priority 2; there are 0 to 1"):
        team(2, 2)[0].send(Message(MessageId(0, 1), 0b10, 2))
    with pytest.raises(Misuse, match="one is the least"):
        Priorities(0, Membership(2), PrioritiesOptions(levels=0))


def test_a_process_resumes_from_its_snapshot() -> None:
    for order in play(2, 4, 3).orders:
        again = Priorities(order.process, order.membership, order.options)
        again.restore(order.snapshot())
        assert again.snapshot() == order.snapshot()
