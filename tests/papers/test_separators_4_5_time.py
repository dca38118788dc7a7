"""Rodrigues and Verissimo, section 4.5: what Δ says to be delivered, and what breaks it."""

from heapq import heappop, heappush
from itertools import count
from random import Random
from statistics import fmean
from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import Late, Timely, TimelyOptions
from antecede.message import Membership, Message, MessageId, members
from antecede.order import Deliver, Effect, Packet, Transmit, Wake
from antecede.orders.histories import Histories
from antecede.wire import decode_packet, encode_packet
from tests.papers.harness import Event, Flight, History, early


class Timed:
    """Processes with clocks, and a network in which every packet is given its delay."""

    def __init__(
        self, size: int, skews: list[float], order: type[Timely] = Timely, **options: float
    ) -> None:
        chosen = TimelyOptions(**options)  # type: ignore[arg-type]
        self.orders = [order(process, Membership(size), chosen) for process in range(size)]
        self.skews = skews
        self.history = History()
        self.late: list[tuple[int, Late]] = []
        self.agenda: list[tuple[float, int, int, Packet[Any] | None]] = []
        self.time_s = 0.0
        self._serial = count()
        self._numbers = [0] * size

    def send(self, sender: int, destinations: int, *delays_s: float) -> MessageId:
        """One delay for each destination, in increasing order."""
        self._numbers[sender] += 1
        message = Message(MessageId(sender, self._numbers[sender]), destinations)
        self.history.events.append(Event(0, "send", sender, message))
        now_s = self.time_s + self.skews[sender]
        self._perform(sender, self.orders[sender].send(message, now_s), list(delays_s))
        return message.id

    def run_until(self, time_s: float) -> None:
        while self.agenda and self.agenda[0][0] <= time_s:
            self.time_s, _, process, packet = heappop(self.agenda)
            order = self.orders[process]
            now_s = self.time_s + self.skews[process]
            if packet:
                carried = decode_packet(encode_packet(packet), order.stamp_type)
                self._perform(process, order.receive(carried, now_s), [])
            else:
                self._perform(process, order.wake(now_s), [])
        self.time_s = max(self.time_s, time_s)

    def _perform(self, process: int, effects: list[Effect], delays_s: list[float]) -> None:
        for effect in effects:
            if isinstance(effect, Transmit):
                for to, delay_s in zip(members(effect.to), delays_s, strict=True):
                    self.history.flights.append(Flight(effect.packet, to))
                    self._schedule(self.time_s + delay_s, to, effect.packet)
            elif isinstance(effect, Deliver):
                self.history.events.append(Event(0, "deliver", process, effect.message))
            elif isinstance(effect, Wake):
                self._schedule(max(self.time_s, effect.at - self.skews[process]), process, None)
        self.late += [(process, late) for late in self.orders[process].take_late()]

    def _schedule(self, time_s: float, process: int, packet: Packet[Any] | None) -> None:
        heappush(self.agenda, (time_s, next(self._serial), process, packet))

    def silently_misordered(self) -> list[str]:
        """What was overtaken without a report, or delivered in spite of one."""
        reported = {(process, late.id) for process, late in self.late}
        places = {(e.process, e.message.id) for e in self.history.events if e.kind == "deliver"}
        return [
            f"{second} overtakes {first} at {process}"
            for process, first, second in early(self.history)
            if (process, first) not in reported or (process, first) in places
        ]

    def unaccounted(self) -> list[str]:
        """What was neither delivered nor reported with its text."""
        known = {(e.process, e.message.id) for e in self.history.events if e.kind == "deliver"}
        known |= {(process, late.id) for process, late in self.late if late.message}
        return [
            f"{event.message.id} at {process}"
            for event in self.history.events
            if event.kind == "send"
            for process in members(event.message.destinations & ~(1 << event.process))
            if (process, event.message.id) not in known
        ]


def traffic(
    seed: int,
    lateness: float,
    skew_s: float = 0.0,
    delta_s: float = 1.0,
    order: type[Timely] = Timely,
) -> tuple[Timed, set[tuple[int, MessageId]]]:
    """Random traffic of four processes on a network with Δ = 1 s, where this share of the copies is
    late; and those copies."""
    chance = Random(seed)
    skews = [chance.uniform(0, skew_s) for _ in range(4)]
    net = Timed(4, skews, order, delta_s=delta_s, skew_s=skew_s)
    late = set()
    for _ in range(80):
        net.run_until(net.time_s + chance.expovariate(4.0))
        sender = chance.randrange(4)
        others = chance.randrange(1, 16) & ~(1 << sender) or 1 << (sender + 1) % 4
        delays_s = []
        for to in members(others):
            is_late = chance.random() < lateness
            delays_s.append(chance.uniform(1.0, 3.0) if is_late else chance.uniform(0.01, 0.99))
            if is_late:
                late.add((to, MessageId(sender, net._numbers[sender] + 1)))
        net.send(sender, others, *delays_s)
    net.run_until(net.time_s + 20)
    return net, late


@pytest.mark.parametrize("skew_s", [0.0, 0.1, 2.0])
def test_on_a_synchronous_network_everything_is_delivered_in_order(skew_s: float) -> None:
    for seed in range(40):
        net, _ = traffic(seed, 0.0, skew_s)
        assert early(net.history) == []
        assert net.late == []
        assert net.unaccounted() == []


@pytest.mark.parametrize("skew_s", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("lateness", [0.02, 0.2, 0.6])
def test_late_messages_are_reported_and_nothing_is_silently_misordered(
    lateness: float, skew_s: float
) -> None:
    reports = 0
    for seed in range(25):
        net, late = traffic(seed, lateness, skew_s)
        assert net.silently_misordered() == [], f"seed {seed}"
        assert net.unaccounted() == [], f"seed {seed}"
        blamed = {(process, report.id) for process, report in net.late}
        assert blamed <= late, f"seed {seed}: what came in time is called late"
        reports += len(blamed)
    assert reports


class Silent(Timely):
    """As printed: what has not come within Δ is forgotten all the same, and nobody looks."""

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        self._move_to(now)
        return Histories.receive(self, packet, now)


def test_as_printed_a_late_message_is_silently_misordered() -> None:
    nets = [traffic(seed, 0.2, order=Silent)[0] for seed in range(10)]
    assert any(net.silently_misordered() for net in nets)
    assert not any(net.late for net in nets)


def test_a_message_is_forgotten_after_delta() -> None:
    net = Timed(3, [0.0] * 3, delta_s=1.0)
    net.send(0, 0b010, 0.5)
    net.run_until(0.9)
    net.send(0, 0b100, 0.5)
    assert net.orders[0].entries() == 2
    net.run_until(1.0)
    net.send(0, 0b100, 0.5)
    assert sorted(net.orders[0].state.H[0]) == [3]  # 0:2 is reported to its destination (R8)


def test_a_late_message_is_reported_and_not_delivered() -> None:
    net = Timed(3, [0.0] * 3, delta_s=1.0)
    first = net.send(0, 0b010, 1.5)
    net.run_until(1.2)  # 0 has forgotten it by now
    second = net.send(0, 0b010, 0.1)
    net.run_until(3.0)
    assert net.history.deliveries(1) == [str(second)]
    ((process, report),) = net.late
    assert (process, report.id, report.noticed_s) == (1, first, 1.5)
    assert report.message is not None


def test_what_waits_for_a_late_message_is_delivered_after_delta() -> None:
    net = Timed(3, [0.0] * 3, delta_s=1.0)
    first = net.send(0, 0b010, 1.5)
    net.run_until(0.2)
    second = net.send(0, 0b010, 0.1)
    net.run_until(1.1)
    assert net.history.deliveries(1) == []
    net.run_until(1.3)
    assert net.history.deliveries(1) == [str(second)]
    assert net.late == [(1, Late(first, 1.2))]
    net.run_until(2.0)  # now it comes
    assert net.history.deliveries(1) == [str(second)]
    assert [report.id for _, report in net.late] == [first, first]
    assert net.late[1][1].message is not None


def test_a_message_that_never_comes_holds_up_nobody_for_longer_than_delta() -> None:
    net = Timed(3, [0.0] * 3, delta_s=1.0)
    net.send(0, 0b010, float("inf"))
    net.send(0, 0b100, 0.1)
    net.run_until(0.2)
    answer = net.send(2, 0b010, 0.1)
    net.run_until(1.25)
    assert net.history.deliveries(1) == [str(answer)]


def test_what_waits_is_delivered_in_order_though_clocks_differ() -> None:
    """k of 1 is late; n1 of 2, whose clock is ahead, waits for it; r of 3 is late and follows n1;
    n2 of 4 waits for r. n2 is due first, and n1 must not be overtaken."""
    net = Timed(5, [0.0, 0.0, 0.1, 0.0, 0.0], delta_s=1.0, skew_s=0.1)
    net.send(1, 0b00001, 5.0)
    net.send(1, 0b00100, 0.01)
    net.run_until(0.02)
    n1 = net.send(2, 0b00001, 0.01)
    net.send(2, 0b01000, 0.01)
    net.run_until(0.04)
    net.send(3, 0b10001, 5.0, 0.01)
    net.run_until(0.06)
    n2 = net.send(4, 0b00001, 0.01)
    net.run_until(1.2)
    assert net.history.deliveries(0) == []
    net.run_until(10.0)
    assert net.history.deliveries(0) == [str(n1), str(n2)]
    assert net.silently_misordered() == []


def test_delta_shortens_the_histories() -> None:
    """Mean identifiers on a copy, against a Δ that never ends."""

    def mean(delta_s: float) -> float:
        nets = [traffic(seed, 0.0, delta_s=delta_s)[0] for seed in range(10)]
        return fmean(len(flight.packet.stamp.H) for net in nets for flight in net.history.flights)

    assert mean(1.0) < mean(1e9)


@pytest.mark.parametrize("at_s", [float("nan"), float("inf"), 7.0])
def test_a_time_that_cannot_be_is_refused(at_s: float) -> None:
    sender, receiver = (Timely(process, Membership(2)) for process in range(2))
    (transmit,) = sender.send(Message(MessageId(0, 1), 0b10), at_s)
    before = receiver.snapshot()
    with pytest.raises(MalformedStamp, match="at_s"):
        receiver.receive(transmit.packet, 0.0)  # type: ignore[union-attr]
    assert receiver.snapshot() == before


def test_a_process_resumes_from_its_snapshot() -> None:
    net, _ = traffic(3, 0.3)
    for order in net.orders:
        again = Timely(order.process, order.membership, order.options)
        again.restore(order.snapshot())
        assert again.snapshot() == order.snapshot()
        assert list(again.state.seen.values()) == sorted(order.state.seen.values())


@pytest.mark.parametrize("options", [{"delta_s": 0.0}, {"skew_s": -1.0}, {"rules": "R1-R5"}])
def test_options_that_cannot_be_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(Misuse):
        Timely(0, Membership(2), TimelyOptions(**options))
