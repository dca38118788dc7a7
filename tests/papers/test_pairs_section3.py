"""Schiper, Eggli, Sandoz, section 3: causal ordering in ISIS, whole messages carried along, and the
clean-up of the buffers. Figure 6 of section 4.3 is here, too: it does not stop this protocol."""

from typing import Any

import pytest

from antecede.message import Membership, Message, MessageId
from antecede.order import Channels, Deliver, Effect, Packet, Transmit
from antecede.orders.piggyback import Piggyback, PiggybackOptions
from antecede.simulate import make_scenario, simulate
from tests.papers.harness import (
    Early,
    Flight,
    Network,
    early,
    run,
    team,
    traffic,
    undelivered,
)

S1, S2, S3 = range(3)


def at(network: Network, site: int) -> Piggyback:
    order = network.orders[site]
    assert isinstance(order, Piggyback)
    return order


def buffered(network: Network, site: int) -> list[str]:
    """BUFF of a site."""
    return [str(message.id) for message in at(network, site).state.buffer]


def carried(network: Network, message: MessageId, to: int) -> list[str]:
    """What a packet in flight carries before its own message."""
    stamp = network.find(to, message.sender, message).packet.stamp
    return [f"{each.sender}:{each.number}" for each in stamp.carried]


def test_figure_1_the_packet_brings_what_precedes() -> None:
    """M1 goes from S1 to S3 over two paths, and S3 has it before M2 in any case."""
    network = Network(team("piggyback", 3))
    m1 = network.send(S1, S3)
    mx = network.send(S1, S2)
    assert carried(network, mx, S2) == ["0:1"]
    network.bring(mx, S2)
    m2 = network.send(S2, S3)
    assert carried(network, m2, S3) == ["0:1", "0:2"]
    network.bring(m2, S3)
    assert network.history.deliveries(S3) == ["0:1", "1:1"]
    network.bring(m1, S3)
    assert network.history.deliveries(S3) == ["0:1", "1:1"]


def test_the_buffer_keeps_the_order_of_emission() -> None:
    network = Network(team("piggyback", 3, cleanup="off"))
    network.send(S1, S3)
    network.bring(network.send(S1, S2), S2)
    network.send(S2, S1)
    assert buffered(network, S2) == ["0:1", "0:2", "1:1"]


def test_a_message_to_several_sites_is_carried_to_those_that_lack_it() -> None:
    network = Network(team("piggyback", 3))
    question = network.send(S1, S2, S3)
    network.bring(question, S2)
    network.bring(network.send(S2, S3), S3)
    assert network.history.deliveries(S3) == ["0:1", "1:1"]


def test_a_packet_that_arrives_late_is_empty_of_news() -> None:
    """All that it carries has come with what carried its message here."""
    network = Network(team("piggyback", 3))
    network.send(S1, S2)
    second = network.send(S1, S3)
    network.bring(second, S3)
    before = network.orders[S3].snapshot()
    assert network.orders[S3].receive(network.history.flights[1].packet) == []
    assert network.orders[S3].snapshot() == before


def test_figure_6_a_failed_site_blocks_nobody() -> None:
    """M1 to S2 is lost with its sender; M3, which depends on it, brings it along."""
    network = Network(team("piggyback", 3))
    m1 = network.send(S1, S2)
    m2 = network.send(S1, S3)
    network.lose(m1, S2)
    network.bring(m2, S3)
    network.bring(network.send(S3, S2), S2)
    assert network.history.deliveries(S2) == ["0:1", "2:1"]


def test_without_clean_up_the_buffer_only_grows() -> None:
    network = Network(team("piggyback", 3, cleanup="off"))
    for _ in range(10):
        network.send(S1, S2, S3)
        network.settle()
    assert [len(buffered(network, site)) for site in (S1, S2, S3)] == [10, 10, 10]
    assert network.wakes == []


def test_the_clean_up_step_by_step() -> None:
    """A request to all, a note and an acknowledgement from each, and only the requester deletes."""
    network = Network(team("piggyback", 3))
    message = network.send(S1, S2)
    network.bring(message, S2)
    network.wake(S1)
    request = network.find(S2, S1).packet
    assert request.message is None
    assert [(each.sender, each.number) for each in request.stamp.mentions] == [(0, 1)]
    network.arrive(network.find(S2, S1))
    network.arrive(network.find(S3, S1))
    assert at(network, S2).state.notes == {message: 1 << S1}
    network.arrive(network.find(S1, S2))
    assert buffered(network, S1) == ["0:1"]
    network.arrive(network.find(S1, S3))
    assert buffered(network, S1) == []
    assert buffered(network, S2) == ["0:1"]


def test_what_is_noted_is_not_sent_any_more() -> None:
    network = Network(team("piggyback", 3))
    network.bring(network.send(S1, S2), S2)
    network.wake(S1)
    network.arrive(network.find(S2, S1))
    answer = network.send(S2, S1, S3)
    assert carried(network, answer, S1) == []
    assert carried(network, answer, S3) == ["0:1"]


def controls(network: Network, to: int) -> list[Flight]:
    """The requests and acknowledgements in flight to a site."""
    return [f for f in network.in_flight if f.to == to and f.packet.message is None]


def bring_controls(network: Network, to: int) -> None:
    """They arrive."""
    for flight in controls(network, to):
        network.arrive(flight)


def test_an_acknowledgement_waits_for_the_arrival() -> None:
    """The repair of the clean-up: S3 has not got 0:1 and keeps silent until it has."""
    network = Network(team("piggyback", 3))
    message = network.send(S1, S3)
    network.wake(S1)
    bring_controls(network, S2)
    bring_controls(network, S1)
    bring_controls(network, S3)
    assert controls(network, S1) == []
    assert buffered(network, S1) == ["0:1"]
    network.bring(message, S3)
    bring_controls(network, S1)
    assert buffered(network, S1) == []


def overtake_after_clean_up(cleanup: str) -> Network:
    """p2 tells p0 (slowly), then p1, who cleans up its buffer with the consent of all that can be
    had before the slow message arrives, and tells p0. Every channel is FIFO."""
    network = Network(team("piggyback", 3, cleanup=cleanup))
    slow = network.send(2, 0)
    network.bring(network.send(2, 1), 1)
    network.wake(1)
    for site in (0, 2):
        bring_controls(network, site)
        bring_controls(network, 1)
    network.bring(network.send(1, 0), 0)
    network.bring(slow, 0)
    return network


def test_the_printed_clean_up_deletes_too_early() -> None:
    network = overtake_after_clean_up("printed")
    assert network.history.deliveries(0) == ["1:1", "2:1"]
    assert early(network.history) == [Early(0, MessageId(2, 1), MessageId(1, 1))]


def test_the_repaired_clean_up_does_not() -> None:
    network = overtake_after_clean_up("repaired")
    assert network.history.deliveries(0) == ["2:1", "1:1"]
    assert early(network.history) == []


def test_the_shortest_counterexample_has_two_messages() -> None:
    """With a message to two sites, as the explorer found it."""
    outcomes = {}
    for cleanup in ("printed", "repaired"):
        network = Network(team("piggyback", 3, cleanup=cleanup))
        question = network.send(1, 0, 2)
        network.bring(question, 0)
        network.wake(0)
        bring_controls(network, 1)
        bring_controls(network, 2)
        bring_controls(network, 0)
        network.bring(network.send(0, 2), 2)
        outcomes[cleanup] = network.history.deliveries(2)
    assert outcomes == {"printed": ["0:1"], "repaired": ["1:1", "0:1"]}


def test_printed_notes_are_never_dropped() -> None:
    """Repaired, notes live as long as their message is in the buffer."""
    remaining = {}
    for cleanup in ("printed", "repaired"):
        network = Network(team("piggyback", 3, cleanup=cleanup))
        for _ in range(10):
            network.send(S1, S2, S3)
            network.settle()
        remaining[cleanup] = [len(at(network, site).state.notes) for site in (S1, S2, S3)]
    assert remaining == {"printed": [10, 10, 10], "repaired": [0, 0, 0]}


@pytest.mark.parametrize("fifo", [True, False])
@pytest.mark.parametrize("fanout", [1, None])
def test_safe_live_and_clean_in_the_end(fifo: bool, fanout: int | None) -> None:
    """All is quiet at the end of a run, and then every buffer is empty."""
    for seed in range(40):
        orders = team("piggyback", 4)
        history = run(orders, traffic(4, 15, seed, fanout), seed, fifo, duplicate=0.1)
        assert early(history) == []
        assert undelivered(history) == []
        for order in orders:
            assert isinstance(order, Piggyback)
            assert order.state.buffer == []
            assert order.state.notes == {}
            assert order.state.unanswered == {}


def test_any_channels_will_do() -> None:
    """A message that passes through S2, is cleaned up there and comes once more from a slow packet
    is recognised: all its destinations are known to have it."""
    assert Piggyback.traits.channels is Channels.ANY
    network = Network(team("piggyback", 3))
    network.bring(network.send(S1, S3), S3)
    network.bring(network.send(S3, S2), S2)
    slow = network.send(S1, S2)
    assert carried(network, slow, S2) == ["0:1"]
    assert buffered(network, S2) == ["0:1", "2:1"]
    network.wake(S2)
    for site in (S1, S3):
        bring_controls(network, site)
        bring_controls(network, S2)
    assert buffered(network, S2) == []
    network.bring(slow, S2)
    assert buffered(network, S2) == ["0:2"]


def test_losses_never_break_the_order() -> None:
    for seed in range(40):
        history = run(team("piggyback", 4), traffic(4, 15, seed), seed, loss=0.2)
        assert early(history) == []


def test_a_lost_copy_arrives_with_what_depends_on_it() -> None:
    """Over many runs: most of what was lost on its own channel is delivered all the same."""
    lost = missing = 0
    for seed in range(30):
        history = run(team("piggyback", 4, cleanup="off"), traffic(4, 30, seed), seed, loss=0.2)
        arrived = {(e.process, e.message.id) for e in history.events if e.kind == "receive"}
        lost += sum(
            (flight.to, flight.packet.message.id) not in arrived  # type: ignore[union-attr]
            for flight in history.flights
        )
        missing += len(undelivered(history))
    assert 0 < missing < lost / 2


def test_lost_requests_are_made_anew() -> None:
    """Repaired: loss does not end the cleaning. Without repetition, BUFF grows with the run."""

    def carried(messages: int, **options: object) -> float:
        scenario = {
            "protocol": "piggyback",
            "options": options,
            "processes": 4,
            "messages": messages,
            "network": {"loss": 0.02},
        }
        return simulate(make_scenario(scenario)).stamp_entries.mean

    assert carried(900) < 1.5 * carried(300)
    assert carried(900, repeat_s=1e9) > 2 * carried(300, repeat_s=1e9)


@pytest.mark.parametrize("messages", [300, 900])
def test_cleanup_goes_on_after_a_crash(messages: int) -> None:
    """Stamps do not grow with the run; without leaving anybody out they do."""

    def largest(leave_out_s: float) -> float:
        plain = {
            "protocol": "piggyback",
            "options": {"leave_out_s": leave_out_s},
            "processes": 5,
            "messages": messages,
            "rate": 5.0,
            "workload": {"kind": "multicast", "size": 2},
            "network": {"delay": "exponential:0.05"},
            "crashes": [{"process": 1, "time_s": 2.0}],
        }
        summary = simulate(make_scenario(plain))
        assert summary.violations == 0
        assert summary.undelivered == summary.leftover.for_crashed
        return summary.stamp_bytes.maximum

    assert largest(3.0) < 1_500
    assert largest(0.0) > 5 * messages


def test_whoever_is_left_out_though_alive_sees_no_disorder() -> None:
    """0 sends m1 to 1, which is slow, and forgets it without 1; its next message goes through 2 to
    1: 2 has heard that 1 is left out, and sends it nothing."""
    zero, one, two = (Piggyback(site, Membership(3), _leaving_out()) for site in range(3))
    [slow] = _packets(zero.send(_message(0, 1, 1), 0.0), 1)
    [request] = _packets(zero.wake(0.25), 2)
    [answer] = _packets(two.receive(request, 0.3), 0)
    zero.receive(answer, 0.4)
    told = _packets(zero.send(_message(0, 2, 2), 9.0), 2)
    assert zero.state.left_out == 0b010
    assert [mention.sender for mention in told[0].stamp.mentions] == [1]
    for packet in told:
        two.receive(packet, 9.1)
    assert _packets(two.send(_message(2, 1, 1), 9.2), 1) == []
    assert [e.message.id for e in one.receive(slow, 99.0) if isinstance(e, Deliver)] == [(0, 1)]


def _leaving_out() -> PiggybackOptions:
    return PiggybackOptions(leave_out_s=1.0)


def _message(sender: int, number: int, to: int) -> Message:
    return Message(MessageId(sender, number), 1 << to)


def _packets(effects: list[Effect], to: int) -> list[Packet[Any]]:
    return [e.packet for e in effects if isinstance(e, Transmit) and e.to >> to & 1]
