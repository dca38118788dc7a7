"""Rodrigues and Verissimo, appendix A: lemmas 1 to 6, theorems 1 and 2, and theorem 3, which the
appendix leaves out."""

import random
from typing import Any

import pytest

from antecede.explore import explore
from antecede.message import MessageId, members
from antecede.orders.histories import Histories
from tests.papers.harness import (
    History,
    Network,
    early,
    late,
    run,
    team,
    traffic,
    undelivered,
)

RULES: list[dict[str, Any]] = [
    {"rules": "R1-R4"},
    {"rules": "R1-R5"},
    {"rules": "R1-R8"},
    {"rules": "R1-R8", "carbon_copies": True},
    {"rules": "R1-R8", "union": "arrived"},
]
NAMES = ["theorem 1", "theorem 2", "theorem 3", "theorem 3 with R6.1", "theorem 3 as printed"]
PLAIN = RULES[:2]


@pytest.mark.parametrize("options", RULES, ids=NAMES)
def test_causal_delivery_in_all_schedules(options: dict[str, Any]) -> None:
    assert explore("histories", 3, 3, addressing="sets", options=options).passed
    assert explore("histories", 3, 4, addressing="unicast", options=options).passed


@pytest.mark.parametrize("fanout", [1, None])
@pytest.mark.parametrize("options", RULES, ids=NAMES)
def test_causal_delivery_and_no_needless_wait_by_chance(
    options: dict[str, Any], fanout: int | None
) -> None:
    for seed in range(8):
        orders = team("histories", 5, **options)
        history = run(orders, traffic(5, 40, seed, fanout), seed, duplicate=0.1)
        assert early(history) == []
        assert undelivered(history) == []
        assert late(history) == []


def direct(history: History) -> dict[MessageId, set[MessageId]]:
    """For each message all that logically precedes it, by definition 2."""
    known: dict[int, set[MessageId]] = {}
    before: dict[MessageId, set[MessageId]] = {}
    for event in history.events:
        here = known.setdefault(event.process, set())
        identity = event.message.id
        if event.kind == "send":
            before[identity] = set(here)
        if event.kind in ("send", "deliver"):
            here |= {identity} | before[identity]
    return before


@pytest.mark.parametrize("options", PLAIN, ids=NAMES[:2])
def test_lemmas_2_and_5_what_is_cited_precedes_and_the_converse(options: dict[str, Any]) -> None:
    """m in H_m' only if m → m'; with the plain rules also if, which the proof of safety uses."""
    for seed in range(6):
        history = run(team("histories", 4, **options), traffic(4, 30, seed), seed)
        before = direct(history)
        for packet, _ in history.flights:
            cited = {MessageId(sender, number) for sender, number, _ in packet.stamp.H}
            assert packet.message is not None
            assert cited == before[packet.message.id]


@pytest.mark.parametrize("options", RULES[1:], ids=NAMES[1:])
def test_with_compression_what_is_cited_still_precedes(options: dict[str, Any]) -> None:
    for seed in range(6):
        history = run(team("histories", 4, **options), traffic(4, 30, seed), seed)
        before = direct(history)
        for packet, _ in history.flights:
            assert packet.message is not None
            for sender, number, _ in packet.stamp.H:
                assert MessageId(sender, number) in before[packet.message.id]


@pytest.mark.parametrize("options", RULES, ids=NAMES)
def test_lemmas_1_3_4_and_6_is_in_d_means_delivered(options: dict[str, Any]) -> None:
    """Of what is addressed to a process (its own sends are in its D, too)."""
    for seed in range(6):
        orders = team("histories", 4, **options)
        program = traffic(4, 20, seed)
        history = run(orders, program, seed, loss=0.1)
        for event in history.events:
            if event.kind != "send":
                continue
            for order in orders:
                if not event.message.destinations >> order.process & 1:
                    continue
                assert isinstance(order, Histories)
                delivered = str(event.message.id) in history.deliveries(order.process)
                assert order._is_in(event.message.id) == delivered


class Past:
    """What precedes the next message of each process, kept step by step from the history."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._events = 0
        self.known: list[set[MessageId]] = [set() for _ in network.orders]
        self.delivered: list[set[MessageId]] = [set() for _ in network.orders]
        self.before: dict[MessageId, set[MessageId]] = {}
        self.destinations: dict[MessageId, int] = {}

    def update(self) -> None:
        for event in self._network.history.events[self._events :]:
            identity = event.message.id
            here = self.known[event.process]
            if event.kind == "send":
                self.before[identity] = set(here)
                self.destinations[identity] = event.message.destinations & ~(1 << identity.sender)
            if event.kind == "deliver":
                self.delivered[event.process].add(identity)
            if event.kind != "receive":
                here |= {identity} | self.before[identity]
        self._events = len(self._network.history.events)

    def is_accounted_for(self, message: MessageId, cited: set[MessageId], process: int) -> bool:
        """Whether a message is cited, or a cited one to this destination comes after it."""
        if message in cited:
            return True
        return any(
            message in self.before[other] and self.destinations[other] >> process & 1
            for other in cited
        )


@pytest.mark.parametrize("options", RULES[2:], ids=NAMES[2:])
def test_theorem_3_what_is_forgotten_is_delivered_or_covered(options: dict[str, Any]) -> None:
    """The invariant behind R7 and R8: of all that precedes the next message of p, what is addressed
    to q is in H_p, or delivered at q, or precedes something addressed to q that is in H_p."""
    for seed in range(8):
        chance = random.Random(seed)
        network = Network(team("histories", 4, **options))
        past = Past(network)
        for _ in range(60):
            if network.in_flight and chance.random() < 0.6:
                network.arrive(chance.choice(network.in_flight))
            else:
                sender, *others = chance.sample(range(4), chance.randint(2, 4))
                network.send(sender, *others)
            past.update()
            for p, order in enumerate(network.orders):
                cited = {MessageId(s, c) for s, numbers in order.state.H.items() for c in numbers}
                for message in past.known[p]:
                    for q in members(past.destinations[message]):
                        assert message in past.delivered[q] or past.is_accounted_for(
                            message, cited, q
                        )
