"""Rodrigues and Verissimo, section 4.2: the rules R1 to R8, one by one."""

from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.message import MessageId, members, set_from_bytes
from antecede.order import Awaited, Order, Packet
from antecede.orders.histories import Histories, Timestamp
from tests.papers.harness import Network, team


def network(size: int, **options: Any) -> Network:
    return Network(team("histories", size, **options))


def causal(order: Order) -> dict[str, list[int]]:
    """H, each message with its destinations."""
    return _named(order, "A")


def copies(order: Order) -> dict[str, list[int]]:
    """C, each message with the processes it has been reported to."""
    return _named(order, "C")


def _named(order: Order, field: str) -> dict[str, list[int]]:
    return {
        f"{sender}:{number}": list(members(getattr(entry, field)))
        for sender, entries in sorted(order.state.H.items())
        for number, entry in sorted(entries.items())
    }


def cited(net: Network, to: int, message: MessageId) -> list[str]:
    """What the copy of a message on its way to a process cites."""
    stamp = net.find(to, message.sender, message).packet.stamp
    return [f"{sender}:{number}" for sender, number, _ in stamp.H]


def test_r1_everything_is_empty_at_first() -> None:
    order = team("histories", 3)[0]
    assert causal(order) == {}
    assert order.state.D == [0, 0, 0]


@pytest.mark.parametrize("rules", ["R1-R4", "R1-R5"])
def test_r2_a_message_carries_the_causal_history(rules: str) -> None:
    net = network(3, rules=rules)
    first = net.send(0, 1)
    second = net.send(0, 2)
    third = net.send(0, 1)
    assert cited(net, 1, first) == []
    assert cited(net, 2, second) == ["0:1"]
    assert cited(net, 1, third) == ["0:1", "0:2"]


@pytest.mark.parametrize("rules", ["R1-R4", "R1-R5", "R1-R8"])
def test_r3_it_waits_for_what_is_cited_and_addressed_here(rules: str) -> None:
    net = network(3, rules=rules)
    elsewhere, first, second = net.send(0, 2), net.send(0, 1), net.send(0, 1)
    net.bring(second, 1)
    (held,) = net.orders[1].held()
    assert held.message == second
    assert held.awaited == (Awaited(*first),)
    assert elsewhere.number == 1
    net.bring(first, 1)
    assert net.history.deliveries(1) == ["0:2", "0:3"]


def test_r4_a_send_is_in_both_histories_of_the_sender_at_once() -> None:
    net = network(3, rules="R1-R4")
    net.send(0, 0, 1)
    assert causal(net.orders[0]) == {"0:1": [1]}  # the own copy is delivered: it orders nothing
    assert list(members(net.orders[0].state.D[0])) == [1]
    assert net.history.deliveries(0) == ["0:1"]


def test_r4_a_delivery_adds_the_message_and_what_it_cites() -> None:
    net = network(3, rules="R1-R4")
    net.send(0, 2)
    answer = net.send(0, 1)
    net.bring(answer, 1)
    assert causal(net.orders[1]) == {"0:1": [2], "0:2": [1]}
    assert list(members(net.orders[1].state.D[0])) == [2]


def test_r4_a_message_to_oneself_alone_is_delivered_and_forgotten() -> None:
    net = network(2)
    net.send(0, 0)
    assert net.history.deliveries(0) == ["0:1"]
    assert causal(net.orders[0]) == {}


def test_r5_one_number_a_sender_stands_for_all_before_it() -> None:
    everything, compressed = network(2, rules="R1-R4"), network(2, rules="R1-R5")
    for net in (everything, compressed):
        for _ in range(3):
            net.bring(net.send(0, 1), 1)
    assert list(members(everything.orders[1].state.D[0])) == [1, 2, 3]
    assert compressed.orders[1].state.D == [3, 0]


def test_r6_1_the_carbon_copies_travel_if_asked_for() -> None:
    told, untold = network(5, carbon_copies=True), network(5)
    for net in (told, untold):
        net.send(4, 3)
        net.bring(net.send(4, 0), 0)
        net.send(0, 2)  # reports 4:1 to process 2
        last = net.send(0, 1)
        assert cited(net, 1, last) == ["0:1", "4:1"]
        net.bring(last, 1)
    stamp = told.history.flights[-1].packet.stamp
    assert [list(members(set_from_bytes(wire))) for wire in stamp.C] == [[], [0, 2, 4]]
    assert untold.history.flights[-1].packet.stamp.C == ()
    assert copies(told.orders[1])["4:1"] == [0, 1, 2, 4]
    assert copies(untold.orders[1])["4:1"] == [0, 1]


def test_r6_2_a_send_reports_the_history_to_its_destinations_and_its_sender() -> None:
    net = network(4)
    net.send(0, 3)
    assert copies(net.orders[0]) == {"0:1": []}
    net.send(0, 1, 2)
    assert copies(net.orders[0]) == {"0:1": [0, 1, 2], "0:2": []}


def test_r6_3_a_delivery_starts_with_the_sender_and_oneself() -> None:
    net = network(3)
    net.bring(net.send(0, 1, 2), 1)
    assert copies(net.orders[1]) == {"0:1": [0, 1]}


def test_r6_3_what_is_cited_has_been_reported_to_the_destinations_and_the_sender() -> None:
    net = network(5)
    net.send(0, 4)
    net.bring(net.send(0, 1), 1)
    net.bring(net.send(1, 2, 3), 2)
    assert causal(net.orders[2])["0:1"] == [4]
    assert copies(net.orders[2])["0:1"] == [1, 2, 3]


def test_r6_3_earlier_messages_of_the_sender_have_been_reported_to_its_destinations() -> None:
    net = network(4)
    net.send(0, 1, 2)
    second = net.send(0, 1)
    net.send(0, 3)
    fourth = net.send(0, 1, 3)
    assert cited(net, 1, fourth) == ["0:2", "0:3"]
    net.bring(MessageId(0, 1), 1)
    net.bring(second, 1)
    assert copies(net.orders[1])["0:1"] == [0, 1]
    net.bring(fourth, 1)
    assert copies(net.orders[1])["0:1"] == [0, 1, 3]


@pytest.mark.parametrize("union", ["all", "arrived"])
def test_r6_3_later_messages_of_a_sender_cover_an_earlier_one_that_arrives(union: str) -> None:
    net = network(4, union=union)
    net.send(0, 3)
    to_one = net.send(0, 1)
    net.send(0, 3)
    to_two = net.send(0, 2)
    net.bring(to_one, 1)
    net.bring(to_two, 2)
    assert causal(net.orders[2])["0:3"] == [3]
    late = net.send(1, 2)
    assert cited(net, 2, late) == ["0:1"]
    net.bring(late, 2)
    assert "0:1" not in causal(net.orders[2])  # 0:3 goes to process 3, too


def test_r7_what_all_destinations_have_been_told_is_left_out() -> None:
    net = network(4)
    net.send(0, 3)
    net.send(0, 1)
    assert "0:1" not in cited(net, 1, net.send(0, 1))
    assert "0:1" in cited(net, 2, net.send(0, 1, 2))
    assert "0:1" not in cited(net, 2, net.send(0, 1, 2))


def test_r8_what_all_its_destinations_have_been_told_is_forgotten() -> None:
    net = network(3)
    net.send(0, 1)
    net.send(0, 2)
    assert causal(net.orders[0]) == {"0:1": [1], "0:2": [2]}
    net.send(0, 1)
    assert causal(net.orders[0]) == {"0:2": [2], "0:3": [1]}


def test_without_r8_histories_only_grow() -> None:
    net = network(2, rules="R1-R5")
    for number in range(1, 20):
        net.bring(net.send(0, 1), 1)
        assert net.orders[0].entries() == net.orders[1].entries() == number
    assert net.orders[0].entries_bound() is None


@pytest.mark.parametrize("options", [{"carbon_copies": True}, {"union": "arrived"}])
def test_options_of_r6_need_r6(options: dict[str, Any]) -> None:
    with pytest.raises(Misuse, match="R6"):
        team("histories", 2, rules="R1-R5", **options)


@pytest.mark.parametrize(
    ("H", "C", "field"),
    [
        (((3, 1, b"\x02"),), (), r"H\[0\]"),  # no such process
        (((0, 0, b"\x02"),), (), r"H\[0\]"),  # no such number
        (((0, 1, b""),), (), r"H\[0\]"),  # to nobody
        (((0, 1, b"\x08"),), (), r"H\[0\]"),  # to somebody unknown
        (((0, 1, b"\x01"),), (), r"H\[0\]"),  # to its sender
        (((0, 5, b"\x02"),), (), r"H\[0\]"),  # the message itself
        (((1, 1, b"\x01"),), (), r"H\[0\]"),  # of this process, which sent nothing
        (((2, 1, b"\x02"), (0, 1, b"\x02")), (), r"H\[1\]"),  # out of order
        (((2, 1, b"\x02"), (2, 1, b"\x02")), (), r"H\[1\]"),  # twice
        (((0, 1, b"\x02"),), (b"", b""), "C"),
        (((0, 1, b"\x02"),), (b"\x08",), "C"),
    ],
)
def test_a_malformed_stamp_is_refused_and_changes_nothing(
    H: tuple[tuple[int, int, bytes], ...], C: tuple[bytes, ...], field: str
) -> None:
    net = network(3)
    last = [net.send(0, 1) for _ in range(5)][-1]
    message = net.find(1, 0, last).packet.message
    order = net.orders[1]
    before = order.snapshot()
    with pytest.raises(MalformedStamp, match=field):
        order.receive(Packet(0, message, Timestamp(H, C)))
    assert order.snapshot() == before
    assert isinstance(order, Histories)
