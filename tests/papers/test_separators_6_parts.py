"""Rodrigues and Verissimo, chapter 6: closed groups, labels and bypass."""

from random import Random
from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import BYPASS, ClosedGroups, Labels
from antecede.histories.labels import LabelStamp
from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.order import Effect, Packet, Transmit
from antecede.orders.histories import Entry, Histories
from tests.papers.harness import Network, early, undelivered
from tests.papers.incomplete_lab import Wires, some

GROUPS = (process_set([0, 1, 2]), process_set([1, 2, 3]), process_set([0, 3]))
MEMBERSHIP = Membership(4, GROUPS)


def labels_run(seed: int, protocol: str) -> Wires:
    """Four processes, three labels, and messages that bypass them."""
    chance = Random(seed)
    net = Wires([Labels(process, Membership(4), 3, protocol) for process in range(4)])
    for _ in range(120):
        if net.in_flight and chance.random() < 0.6:
            net.arrive(chance.choice(net.in_flight), again=chance.random() < 0.1)
            continue
        sender = chance.randrange(4)
        label = chance.choice([0, 1, 2, BYPASS])
        net.sent(sender, net.processes[sender].send_under(label, some(chance, 4, sender)))
    net.settle(chance)
    return net


@pytest.mark.parametrize("protocol", ["histories", "optimal", "pairs", "matrix"])
def test_messages_of_one_label_are_in_causal_order(protocol: str) -> None:
    for seed in range(15):
        net = labels_run(seed, protocol)
        for label in (0, 1, 2):
            assert early(net.part(label)) == []
        for label in (0, 1, 2, BYPASS):
            assert undelivered(net.part(label)) == []
        assert not any(process.held() for process in net.processes)


def test_messages_that_bypass_the_labels_are_in_no_order() -> None:
    assert any(early(labels_run(seed, "histories").part(BYPASS)) for seed in range(15))


def test_labels_no_longer_order_what_precedes_under_another_label() -> None:
    net = Wires([Labels(process, Membership(2), 2) for process in range(2)])
    first = net.sent(0, net.processes[0].send_under(0, 0b10))
    second = net.sent(0, net.processes[0].send_under(1, 0b10))
    net.bring(second, 1)
    net.bring(first, 1)
    assert net.delivered(1) == [(1, MessageId(0, 2)), (0, MessageId(0, 1))]


def test_a_chain_through_another_label_orders_nothing() -> None:
    """0 sends a to 2 and b to 1 under another label; 1 sends c to 2 under the label of a."""
    net = Wires([Labels(process, Membership(3), 2) for process in range(3)])
    net.sent(0, net.processes[0].send_under(0, 0b100))
    b = net.sent(0, net.processes[0].send_under(1, 0b010))
    net.bring(b, 1)
    c = net.sent(1, net.processes[1].send_under(0, 0b100))
    net.bring(c, 2)
    assert net.delivered(2) == [(0, MessageId(1, 1))]


def test_a_message_never_waits_for_another_label() -> None:
    """Promptness, judged within the label: the late messages of label 0 hold up nobody in 1."""
    net = Wires([Labels(process, Membership(3), 2) for process in range(3)])
    chance = Random(1)
    for _ in range(60):
        sender = chance.randrange(3)
        effects = net.processes[sender].send_under(chance.randrange(2), some(chance, 3, sender))
        net.sent(sender, effects)
        ones = [flight for flight in net.in_flight if flight.packet.stamp.label == 1]
        if ones and chance.random() < 0.7:
            net.arrive(chance.choice(ones))
    while ones := [flight for flight in net.in_flight if flight.packet.stamp.label == 1]:
        net.arrive(chance.choice(ones))
    assert undelivered(net.part(1)) == []
    assert early(net.part(1)) == []


class OneRecord(Histories):
    """Labels as they are easily built: a causal history for each, but one numbering and one D."""

    def resume(self) -> None:
        super().resume()
        self._contexts: dict[int, dict[int, dict[int, Entry]]] = {}

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.state.H = self._contexts.setdefault(message.group, {})
        return super().send(message, now)

    def accept(self, packet: Packet[Any]) -> Any:
        self.state.H = self._contexts.setdefault(packet.message.group, {})  # type: ignore[union-attr]
        return super().accept(packet)


def test_one_record_for_all_labels_takes_a_message_for_delivered() -> None:
    """s sends m1 to q and r under X, and m2 to q under Y; r answers to q under X."""
    q, r, s, X, Y = 0, 1, 2, 0, 1
    net = Network([OneRecord(process, Membership(3)) for process in range(3)])
    m1 = net.send(s, q, r, group=X)
    m2 = net.send(s, q, group=Y)
    net.bring(m1, r)
    k = net.send(r, q, group=X)
    net.bring(m2, q)
    net.bring(k, q)
    assert net.history.deliveries(q) == [str(m2), str(k)]  # k overtakes m1,
    net.bring(m1, q)
    assert net.history.deliveries(q) == [str(m2), str(k)]  # which is then dropped as a duplicate


def test_a_record_for_each_label_keeps_the_answer_waiting() -> None:
    q, r, s, X, Y = 0, 1, 2, 0, 1
    net = Wires([Labels(process, Membership(3), 2) for process in range(3)])
    m1 = net.sent(s, net.processes[s].send_under(X, process_set([q, r])))
    m2 = net.sent(s, net.processes[s].send_under(Y, process_set([q])))
    net.bring(m1, r)
    k = net.sent(r, net.processes[r].send_under(X, process_set([q])))
    net.bring(m2, q)
    net.bring(k, q)
    assert [held.message for held in net.processes[q].held()] == [k.id]
    net.bring(m1, q)
    assert net.delivered(q) == [(Y, m2.id), (X, m1.id), (X, k.id)]


@pytest.mark.parametrize("protocol", ["vector", "histories", "fifo"])
def test_messages_of_one_closed_group_are_in_order(protocol: str) -> None:
    for seed in range(15):
        chance = Random(seed)
        net = Wires([ClosedGroups(process, MEMBERSHIP, protocol) for process in range(4)])
        for _ in range(100):
            if net.in_flight and chance.random() < 0.6:
                net.arrive(chance.choice(net.in_flight))
                continue
            sender = chance.randrange(4)
            group = chance.choice(MEMBERSHIP.groups_of(sender))
            net.sent(sender, net.processes[sender].send(group))
        net.settle(chance)
        for group in range(3):
            assert undelivered(net.part(group)) == []
            if protocol != "fifo":
                assert early(net.part(group)) == []


def test_closed_groups_run_protocols_that_speak_to_themselves() -> None:
    """`bounded` sends packets without a message; they find their group all the same."""
    for seed in range(10):
        chance = Random(seed)
        net = Wires([ClosedGroups(process, MEMBERSHIP, "bounded", k=4) for process in range(4)])
        for _ in range(80):
            if net.in_flight and chance.random() < 0.6:
                net.arrive(chance.choice(net.in_flight))
                continue
            sender = chance.randrange(4)
            group = chance.choice(MEMBERSHIP.groups_of(sender))
            near = [member for member in members(GROUPS[group]) if member != sender]
            effects = net.processes[sender].send(group, b"", 1 << chance.choice(near))
            carrying = [e for e in effects if not isinstance(e, Transmit) or e.packet.message]
            net.sent(sender, carrying)
            net.perform(sender, [effect for effect in effects if effect not in carrying])
        net.settle(chance)
        for group in range(3):
            assert early(net.part(group)) == []
            assert undelivered(net.part(group)) == []


def test_closed_groups_no_longer_order_what_goes_through_another_group() -> None:
    net = Wires([ClosedGroups(process, MEMBERSHIP) for process in range(4)])
    net.sent(0, net.processes[0].send(0))
    through = net.sent(0, net.processes[0].send(2))
    net.bring(through, 3)
    answer = net.sent(3, net.processes[3].send(1))
    net.bring(answer, 1)
    assert net.delivered(1) == [(1, MessageId(3, 1))]  # before 0's message in group 0


def test_a_group_is_closed() -> None:
    order = ClosedGroups(0, MEMBERSHIP, "histories")
    with pytest.raises(Misuse, match=r"group 0 is closed: \[3\] are not members"):
        order.send(0, b"", process_set([1, 3]))
    with pytest.raises(Misuse, match="not a member of group 1"):
        order.send(1)
    with pytest.raises(Misuse, match="whom it is addressed to"):
        order.send(BYPASS)
    other = ClosedGroups(1, MEMBERSHIP, "histories")
    (transmit,) = order.send(0, b"", process_set([1]))
    message = Message(MessageId(0, 1), process_set([1, 3]), 0)
    with pytest.raises(MalformedStamp, match="not all members of group 0"):
        other.receive(Packet(0, message, transmit.packet.stamp))  # type: ignore[union-attr]


def test_unknown_labels_are_refused() -> None:
    sender, receiver = Labels(0, Membership(2), 2), Labels(1, Membership(2), 2)
    with pytest.raises(Misuse, match="there is no label 2; there are 0 to 1"):
        sender.send_under(2, 0b10)
    with pytest.raises(Misuse, match="one is the least"):
        Labels(0, Membership(2), 0)
    (transmit,) = sender.send_under(1, 0b10)
    packet = transmit.packet  # type: ignore[union-attr]
    before = receiver.snapshot()
    with pytest.raises(MalformedStamp, match="'label' is 7; there are 2"):
        receiver.receive(Packet(0, packet.message, LabelStamp(7, 1, packet.stamp.inner)))
    with pytest.raises(MalformedStamp, match="'group' is 1 under label 0"):
        receiver.receive(Packet(0, packet.message, LabelStamp(0, 1, packet.stamp.inner)))
    with pytest.raises(MalformedStamp, match="Timestamp"):
        receiver.receive(Packet(0, packet.message, LabelStamp(1, 1, b"\xc1")))
    assert receiver.snapshot() == before


def test_a_message_that_is_refused_takes_no_number() -> None:
    order = Labels(0, Membership(2), 1)
    with pytest.raises(Misuse):
        order.send_under(0, 0b100)
    (transmit,) = order.send_under(0, 0b10)
    assert transmit.packet.message.id == MessageId(0, 1)  # type: ignore[union-attr]


def test_labels_resume_from_a_snapshot() -> None:
    net = labels_run(4, "histories")
    for process, order in enumerate(net.processes):
        again = Labels(process, Membership(4), 3)
        again.restore(order.snapshot())
        assert again.snapshot() == order.snapshot()
        assert again.send_under(0, 0b1111) == order.send_under(0, 0b1111)
