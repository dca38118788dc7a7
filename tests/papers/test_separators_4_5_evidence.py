"""Rodrigues and Verissimo, section 4.5: what incoming timestamps say to be delivered."""

from random import Random
from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import Confirming, ConfirmingOptions
from antecede.message import Membership, Message, MessageId
from antecede.order import Packet
from antecede.orders.histories import Entry
from antecede.wire import decode_packet, encode_packet
from tests.papers.harness import Network, early, run, traffic, undelivered

EVIDENCE = ["timestamps", "exempt", "acknowledge"]


def team(size: int, evidence: str, order: type[Confirming] = Confirming, **more: Any) -> list[Any]:
    options = ConfirmingOptions(evidence=evidence, **more)  # type: ignore[arg-type]
    return [order(process, Membership(size), options) for process in range(size)]


class Talkative(Confirming):
    """Without R7 and R8: everything is cited for ever."""

    def _unreported(self, destinations: int) -> list[tuple[int, int, Entry]]:
        return super()._unreported(-1)  # more than anybody is ever told

    def _remove_reported(self, senders: Any) -> None:
        pass


def detected(evidence: str, order: type[Confirming] = Confirming, fanout: int | None = 2) -> float:
    """The share of messages that their senders know to be fully delivered, at the end of runs in
    which all of them are."""
    known = total = 0
    for seed in range(4):
        orders = team(5, evidence, order)
        history = run(orders, traffic(5, 100, seed, fanout), seed)
        assert undelivered(history) == []
        total += 100
        known += 100 - sum(len(one.unconfirmed()) for one in orders)
    return known / total


def test_a_message_cited_by_all_its_destinations_is_forgotten() -> None:
    """2 has no way to know that 1 has cited it to 0, so it cites 0:1, too."""
    net = Network(team(4, "timestamps"))
    first = net.send(0, 1, 2)
    net.bring(first, 1, 2)
    net.bring(net.send(1, 0, 3), 0)
    assert net.orders[0].unconfirmed() == [first]  # type: ignore[attr-defined]
    net.bring(net.send(2, 0, 3), 0)
    assert net.orders[0].unconfirmed() == []  # type: ignore[attr-defined]
    assert first.number not in net.orders[0].state.H.get(0, {})


def answered(evidence: str) -> Network:
    """0 sends to 1, which answers."""
    net = Network(team(2, evidence))
    net.bring(net.send(0, 1), 1)
    net.bring(net.send(1, 0), 0)
    return net


def test_as_printed_an_answer_is_no_evidence() -> None:
    """R8 has forgotten the message at its only destination, and R7 would not cite it."""
    net = answered("timestamps")
    assert net.orders[0].unconfirmed() == [MessageId(0, 1)]  # type: ignore[attr-defined]
    assert net.orders[0].entries() == 1


@pytest.mark.parametrize("evidence", ["exempt", "acknowledge"])
def test_repaired_an_answer_is_evidence(evidence: str) -> None:
    net = answered(evidence)
    assert net.orders[0].unconfirmed() == []  # type: ignore[attr-defined]
    assert net.orders[0].entries() == 0


@pytest.mark.parametrize("fanout", [1, 2, None])
def test_as_printed_senders_hardly_ever_know(fanout: int | None) -> None:
    assert detected("timestamps", fanout=fanout) < 0.15


@pytest.mark.parametrize("evidence", ["exempt", "acknowledge"])
@pytest.mark.parametrize("fanout", [1, 2])
def test_repaired_senders_know_most_of_the_time(evidence: str, fanout: int) -> None:
    """All but the last messages of a run, after which nobody says anything any more."""
    assert detected(evidence, fanout=fanout) > 0.6


def test_it_is_r7_and_r8_that_keep_senders_ignorant() -> None:
    assert detected("timestamps", Talkative) > 4 * detected("timestamps")


@pytest.mark.parametrize("evidence", EVIDENCE)
@pytest.mark.parametrize("carbon_copies", [False, True])
def test_causal_order_is_kept(evidence: str, carbon_copies: bool) -> None:
    for size, fanout in ((3, None), (4, 1), (5, 2)):
        for seed in range(12):
            orders = team(size, evidence, carbon_copies=carbon_copies)
            history = run(orders, traffic(size, 60, seed, fanout), seed, duplicate=0.1)
            assert early(history) == []
            assert undelivered(history) == []


@pytest.mark.parametrize("evidence", EVIDENCE)
def test_what_is_confirmed_has_been_delivered_everywhere(evidence: str) -> None:
    confirmed = 0
    for seed in range(12):
        chance = Random(seed)
        net = Network(team(4, evidence))
        for _ in range(160):
            if net.in_flight and chance.random() < 0.65:
                net.arrive(chance.choice(net.in_flight))
            else:
                sender = chance.randrange(4)
                others = [process for process in range(4) if process != sender]
                net.send(sender, *chance.sample(others, chance.randint(1, 3)))
            missing = {message for _, message in undelivered(net.history)}
            for order in net.orders:
                unknown = set(order.unconfirmed())  # type: ignore[attr-defined]
                own = {message for message in missing if message.sender == order.process}
                assert own <= unknown
        sent = len([event for event in net.history.events if event.kind == "send"])
        for order in net.orders:
            sent -= len(order.unconfirmed())  # type: ignore[attr-defined]
        confirmed += sent
    assert confirmed


def test_stamps_travel_and_states_resume() -> None:
    orders = team(4, "acknowledge", carbon_copies=True)
    history = run(orders, traffic(4, 80, 1), 1)
    for flight in history.flights:
        assert decode_packet(encode_packet(flight.packet), Confirming.stamp_type) == flight.packet
    for order in orders:
        again = Confirming(order.process, order.membership, order.options)
        again.restore(order.snapshot())
        assert again.snapshot() == order.snapshot()


@pytest.mark.parametrize(
    ("acks", "reason"),
    [
        (((0, 1),), "cannot speak of process 0"),
        (((9, 1),), "cannot speak of process 9"),
        (((2, 1), (1, 0)), "cannot speak of process 1"),
        (((1, 1),), "1:1 has not been sent"),
    ],
)
def test_acknowledgements_that_cannot_be_are_refused(acks: Any, reason: str) -> None:
    sender, receiver, _ = team(3, "acknowledge")
    message = Message(MessageId(0, 1), 0b010)
    stamp = Confirming.stamp_type((), (), acks)  # type: ignore[call-arg]
    sender.send(message)
    before = receiver.snapshot()
    with pytest.raises(MalformedStamp, match=reason):
        receiver.receive(Packet(0, message, stamp))
    assert receiver.snapshot() == before


def test_it_needs_r6_to_r8() -> None:
    with pytest.raises(Misuse, match="R1-R8"):
        Confirming(0, Membership(2), ConfirmingOptions(rules="R1-R5"))
