"""Schiper, Eggli, Sandoz, section 4.1: how the clocks tell that causal order was broken.

The messages of a random run are delivered as they arrive, without any order; beside that run the
clocks of the paper, and the sends that really happened before each send.
"""

import random
from typing import NamedTuple

import pytest

from antecede.vectortime import is_late, may_be_late, precedes, supremum

SITES = 4


class Sent(NamedTuple):
    """A message: Lamport's time, vector time, and the messages that precede it."""

    source: int
    to: int
    lamport: int
    vector: tuple[int, ...]
    past: frozenset[int]


class Arrival(NamedTuple):
    """Whether a message was overtaken, in truth and by each clock."""

    overtaken: bool
    by_lamport: bool
    by_vector: bool


class Unordered:
    """Sites that deliver on arrival, with both clocks and the truth."""

    def __init__(self, tick_on_delivery: bool) -> None:
        self.tick_on_delivery = tick_on_delivery
        self.lamport = [0] * SITES
        self.vector = [(0,) * SITES for _ in range(SITES)]
        self.past: list[frozenset[int]] = [frozenset()] * SITES
        self.sent: list[Sent] = []

    def _tick(self, site: int) -> None:
        time = self.vector[site]
        self.vector[site] = (*time[:site], time[site] + 1, *time[site + 1 :])

    def send(self, site: int, to: int) -> int:
        self.lamport[site] += 1
        self._tick(site)
        message = len(self.sent)
        self.sent.append(Sent(site, to, self.lamport[site], self.vector[site], self.past[site]))
        self.past[site] |= {message}
        return message

    def arrive(self, message: int) -> Arrival:
        _, site, lamport, vector, past = self.sent[message]
        arrival = Arrival(
            overtaken=message in self.past[site],
            by_lamport=may_be_late(lamport, self.lamport[site]),
            by_vector=is_late(vector, self.vector[site]),
        )
        self.lamport[site] = max(self.lamport[site], lamport) + 1
        self.vector[site] = supremum(self.vector[site], vector)
        if self.tick_on_delivery:
            self._tick(site)
        self.past[site] |= past | {message}
        return arrival


def _random_arrivals(seed: int, tick_on_delivery: bool) -> tuple[Unordered, list[Arrival]]:
    chance = random.Random(seed)
    sites = Unordered(tick_on_delivery)
    in_flight: list[int] = []
    arrivals = []
    for _ in range(60):
        if in_flight and chance.random() < 0.5:
            arrivals.append(sites.arrive(in_flight.pop(chance.randrange(len(in_flight)))))
        else:
            in_flight.append(sites.send(*chance.sample(range(SITES), 2)))
    return sites, arrivals


@pytest.mark.parametrize("tick_on_delivery", [True, False])
def test_propositions_1_and_2_on_random_runs(tick_on_delivery: bool) -> None:
    false_alarms = found = 0
    for seed in range(150):
        _, arrivals = _random_arrivals(seed, tick_on_delivery)
        for arrival in arrivals:
            assert arrival.by_vector == arrival.overtaken  # proposition 2: if and only if
            assert arrival.by_lamport or not arrival.overtaken  # proposition 1: only if
            found += arrival.overtaken
            false_alarms += arrival.by_lamport and not arrival.overtaken
    assert found > 100
    assert false_alarms > 100


@pytest.mark.parametrize("tick_on_delivery", [True, False])
def test_lemma_1_and_the_order_of_sends_is_the_order_of_their_times(tick_on_delivery: bool) -> None:
    for seed in range(40):
        sites, _ = _random_arrivals(seed, tick_on_delivery)
        for first, earlier in enumerate(sites.sent):
            for second, later in enumerate(sites.sent):
                if first == second:
                    continue
                happened_before = first in later.past
                assert precedes(earlier.vector, later.vector) == happened_before
                entry = earlier.source
                assert (earlier.vector[entry] <= later.vector[entry]) == happened_before


def test_figure_3_lamports_clocks_raise_a_false_alarm() -> None:
    """A message that is concurrent with all its destination has seen arrives after that has moved
    on: Lamport's clocks call it late, vector times do not."""
    sites = Unordered(tick_on_delivery=True)
    concurrent = sites.send(0, 2)
    for _ in range(2):
        sites.arrive(sites.send(1, 2))
    assert sites.arrive(concurrent) == Arrival(overtaken=False, by_lamport=True, by_vector=False)


def test_figure_1_both_clocks_see_the_violation() -> None:
    sites = Unordered(tick_on_delivery=True)
    overtaken = sites.send(0, 2)
    sites.arrive(sites.send(0, 1))
    sites.arrive(sites.send(1, 2))
    assert sites.arrive(overtaken) == Arrival(overtaken=True, by_lamport=True, by_vector=True)


def test_proposition_2_calls_the_second_copy_of_a_message_late() -> None:
    sites = Unordered(tick_on_delivery=True)
    message = sites.send(0, 1)
    assert not sites.arrive(message).by_vector
    assert sites.arrive(message).by_vector


def test_proposition_2_calls_every_message_to_oneself_late() -> None:
    """Nothing has overtaken the only message there is: its own send made the clock reach it."""
    sites = Unordered(tick_on_delivery=True)
    message = sites.send(0, 0)
    assert is_late(sites.sent[message].vector, sites.vector[0])


def test_copies_to_oneself_through_the_network_are_not_ordered_by_pairs() -> None:
    """The test of 4.2.2 on a site's own messages: the pair (S, VT(M1)) that accompanies M2 is
    fulfilled by the send of M1, so M2 need not wait for M1 to arrive."""
    sites = Unordered(tick_on_delivery=True)
    first = sites.send(0, 0)
    sites.send(0, 0)
    pair_for_itself = sites.sent[first].vector
    assert precedes(pair_for_itself, sites.vector[0])
