"""Schiper, Eggli, Sandoz, section 4.3: what a failure does, and how the survivors roll back."""

import random

import pytest

from antecede.errors import Misuse
from antecede.orders._rollback import Report, time_of_failure
from tests.papers.harness import Network, team
from tests.papers.recovery_lab import Lab


def test_figure_6_the_plain_protocol_blocks_for_ever() -> None:
    """M1 is lost with S1. M3 waits for it at S2, everything else from S3 piles up behind M3, and
    whoever has heard from S3 is cut off from S2, too."""
    network = Network(team("pairs", 4))
    m1, m2 = network.send(0, 1), network.send(0, 2)
    network.lose(m1, 1)
    network.bring(m2, 2)
    m3, later = network.send(2, 1), network.send(2, 1)
    network.bring(network.send(2, 3), 3)
    from_s4 = network.send(3, 1)
    network.settle()
    assert network.history.deliveries(1) == []
    held = network.orders[1].held()
    assert [entry.message for entry in held] == [m3, later, from_s4]
    assert held[0].awaited[0].sentence() == "a message that knows of time 1 of process 0"


def test_figure_6_does_not_stop_piggyback() -> None:
    """M1 reaches S2 along the other path, with M3."""
    network = Network(team("piggyback", 3))
    m1, m2 = network.send(0, 1), network.send(0, 2)
    network.lose(m1, 1)
    network.bring(m2, 2)
    m3 = network.send(2, 1)
    network.bring(m3, 1)
    assert network.history.deliveries(1) == [str(m1), str(m3)]


def test_figure_6_the_survivors_roll_back() -> None:
    lab = Lab(3)
    m1, m2 = lab.send(0, 1), lab.send(0, 2)
    lab.lose(m1, 1)
    lab.bring(m2, 2)
    m3 = lab.send(2, 1)
    lab.crash(0)
    lab.flush()
    assert lab.held() == [m3.id]
    assert lab.recover(failed=0) == 1
    assert lab.held() == []
    assert lab.notebooks[1].rollbacks == 0  # it had not heard of S1 at all
    assert lab.notebooks[2].log == []  # a state that precedes the delivery of M2
    assert lab.notebooks[2].discarded == [m2, m3]
    again = lab.send(2, 1)
    lab.flush()
    assert lab.delivered(1) == [again]
    assert lab.flaws() == []


def test_a_message_from_n_on_that_is_not_discarded_waits_for_ever() -> None:
    """As printed only the sites past N − 1 do something. In figure 6 that is S3; M3 stays at S2."""
    lab = Lab(3)
    m1, m2 = lab.send(0, 1), lab.send(0, 2)
    lab.lose(m1, 1)
    lab.bring(m2, 2)
    m3 = lab.send(2, 1)
    lab.crash(0)
    lab.flush()
    lab.sites[2].recover(0, lab.time_of_failure(0, printed=True))
    assert lab.held() == [m3.id]


def _newer_pair_hides_older_loss(printed: bool) -> tuple[Lab, int]:
    lab = Lab(3)
    first, second, third, fourth = (lab.send(0, to) for to in (1, 2, 1, 2))
    lab.lose(first, 1)
    lab.lose(third, 1)
    lab.bring(second, 2)
    lab.bring(fourth, 2)
    lab.send(2, 1)
    lab.crash(0)
    lab.flush()
    first_void = lab.recover(0, printed)
    lab.send(2, 1)
    lab.flush()
    return lab, first_void


def test_one_evaluation_as_printed_misses_an_older_loss() -> None:
    """Events 1 and 3 of the failed site are lost, but the pair for event 3 has replaced that for
    event 1: N comes out as 3, and the next message waits for event 1."""
    lab, first_void = _newer_pair_hides_older_loss(printed=True)
    assert first_void == 3
    assert len(lab.held()) == 1
    # the same agreement once more
    assert lab.recover(0, printed=True) == 1
    lab.send(2, 1)
    lab.flush()
    assert lab.held() == []


def test_the_least_time_of_the_sites_that_lack_something_is_early_enough() -> None:
    lab, first_void = _newer_pair_hides_older_loss(printed=False)
    assert first_void == 1
    assert lab.held() == []
    assert len(lab.delivered(1)) == 1


@pytest.mark.parametrize("printed", [True, False])
def test_without_a_waiting_message_only_the_buffers_know_of_the_loss(printed: bool) -> None:
    lab = Lab(3)
    lost, arrived = lab.send(0, 1), lab.send(0, 2)
    lab.lose(lost, 1)
    lab.bring(arrived, 2)
    lab.crash(0)
    assert lab.recover(0, printed) == (3 if printed else 1)
    lab.send(2, 1)
    lab.flush()
    assert len(lab.held()) == (1 if printed else 0)


@pytest.mark.parametrize("printed", [True, False])
def test_without_a_flush_what_is_late_looks_lost(printed: bool) -> None:
    lab = Lab(3)
    slow, quick = lab.send(0, 1), lab.send(0, 2)
    lab.bring(quick, 2)
    answer = lab.send(2, 1)
    lab.bring(answer, 1)
    lab.crash(0)
    assert lab.time_of_failure(0, printed) == 1
    lab.flush()
    assert lab.time_of_failure(0, printed) == 3  # nothing is lost
    lab.recover(0, printed)
    assert lab.delivered(1) == [slow, answer]
    assert lab.notebooks[2].rollbacks == 0


def test_what_is_not_void_is_delivered_again_and_in_order() -> None:
    """Site 2 gets a void message, then one of site 3 that stands, then sends: the first is
    discarded, its own is taken back, the one in between is delivered again."""
    lab = Lab(4)
    lab.lose(lab.send(0, 1), 1)
    void = lab.send(0, 2)
    lab.bring(void, 2)
    stands = lab.send(3, 2)
    lab.bring(stands, 2)
    own = lab.send(2, 2, 3)
    lab.crash(0)
    lab.flush()
    lab.recover(0)
    assert lab.delivered(2) == [stands]
    assert lab.notebooks[2].entries("send") == []
    assert lab.notebooks[2].discarded == [void, own]
    assert lab.delivered(3) == []  # it had delivered the message that site 2 took back
    assert lab.notebooks[3].discarded == [own]
    assert lab.notebooks[3].entries("send") == [stands]


def test_what_was_held_before_and_freed_after_the_cut_is_delivered_again() -> None:
    lab = Lab(4)
    first, second = lab.send(3, 2), lab.send(3, 2)
    lab.bring(second, 2)
    lab.lose(lab.send(0, 1), 1)
    lab.bring(lab.send(0, 2), 2)
    lab.bring(first, 2)
    assert len(lab.delivered(2)) == 3
    lab.crash(0)
    lab.recover(0)
    assert lab.delivered(2) == [first, second]


def test_a_void_message_is_dropped_however_late_it_comes() -> None:
    lab = Lab(3)
    lab.lose(lab.send(0, 1), 1)
    lab.bring(lab.send(0, 2), 2)
    void = lab.send(2, 1)
    late = next(flight for flight in lab.in_flight if flight.packet.message == void)
    lab.crash(0)
    lab.recover(0)
    lab.arrive(late)
    assert lab.held() == []
    assert lab.delivered(1) == []


def test_nobody_recovers_from_its_own_failure() -> None:
    with pytest.raises(Misuse, match="cannot survive its own failure"):
        Lab(2).sites[0].recover(0, 1)


def test_the_time_of_failure_from_reports() -> None:
    reports = [
        Report(site=1, reached=2, waiting=(5,), buffered=((3, 4),)),
        Report(site=2, reached=7, waiting=(6,), buffered=((1, 2), (0, 9))),
        Report(site=3, reached=1, waiting=(), buffered=()),
    ]
    assert time_of_failure(reports) == 2  # site 3 has reached 1 and lacks event 4
    assert time_of_failure(reports, printed=True) == 5
    assert time_of_failure(reports[1:2]) == 8  # nothing is known to be lost


def _traffic(lab: Lab, chance: random.Random, steps: int) -> None:
    for _ in range(steps):
        if lab.in_flight and chance.random() < 0.55:
            lab.arrive(lab.in_flight.pop(chance.randrange(len(lab.in_flight))))
        else:
            sender = chance.choice(lab.alive)
            count = chance.choice([1, 1, 1, 2, len(lab.alive)])
            lab.send(sender, *chance.sample(lab.alive, min(count, len(lab.alive))))


def _fail(lab: Lab, chance: random.Random) -> int:
    """A site fails and takes some of its messages with it; the others are flushed."""
    failed = chance.choice(lab.alive)
    share = chance.choice([0.3, 0.7, 1.0])
    lab.in_flight = [
        flight
        for flight in lab.in_flight
        if flight.packet.source != failed or chance.random() >= share
    ]
    lab.crash(failed)
    chance.shuffle(lab.in_flight)
    lab.flush()
    return failed


@pytest.mark.parametrize("tick_on_delivery", [False, True])
def test_after_random_crashes_nobody_is_stuck_and_order_holds(tick_on_delivery: bool) -> None:
    """Up to two sites fail one after the other. Afterwards nothing is held, nothing void remains,
    what remains is in causal order, and the survivors go on talking."""
    stuck_without = rolled_back = 0
    for seed in range(150):
        chance = random.Random(seed)
        lab = Lab(3 + seed % 3, tick_on_delivery=tick_on_delivery)
        _traffic(lab, chance, 30)
        for _ in range(len(lab.alive) - 2):
            failed = _fail(lab, chance)
            stuck_without += bool(lab.held())
            lab.recover(failed)
            assert lab.held() == []
            assert lab.flaws() == []
            _traffic(lab, chance, 15)
        lab.flush()
        assert lab.held() == []
        assert lab.flaws() == []
        rolled_back += any(notebook.rollbacks for notebook in lab.notebooks)
    assert stuck_without > 20
    assert rolled_back > 50


@pytest.mark.parametrize("losses", [1, 2, 3, 6])
def test_the_printed_agreement_takes_as_many_rounds_as_messages_were_lost(losses: int) -> None:
    """Site 0 sends to sites 1 and 2 in turn, and all that goes to site 1 is lost. Each evaluation
    finds the newest loss only; the next one shows when site 2 speaks to site 1 again."""
    lab = Lab(3)
    for _ in range(losses):
        lab.lose(lab.send(0, 1), 1)
        lab.bring(lab.send(0, 2), 2)
    lab.crash(0)
    found = []
    for _ in range(losses):
        lab.send(2, 1)
        lab.flush()
        assert len(lab.held()) == 1
        found.append(lab.recover(0, printed=True))
    assert found == list(range(2 * losses - 1, 0, -2))
    last = lab.send(2, 1)
    lab.flush()
    assert lab.delivered(1) == [last]


def test_the_journal_is_cut_at_what_everybody_knows() -> None:
    """Most of it goes, and what is left is enough to recover."""
    cut = kept = 0
    for seed in range(30):
        chance = random.Random(seed)
        lab = Lab(4)
        for _ in range(4):
            _traffic(lab, chance, 20)
            times = [site.order.state.time for site in lab.sites]
            for site in lab.sites:
                length = len(site.journal)
                site.forget([min(entries) for entries in zip(*times, strict=True)])
                cut += length - len(site.journal)
        kept += sum(len(site.journal) for site in lab.sites)
        failed = _fail(lab, chance)
        lab.recover(failed)
        assert lab.held() == []
    assert cut > kept


def test_a_journal_that_was_cut_too_far_says_so() -> None:
    lab = Lab(3)
    lab.lose(lab.send(0, 1), 1)
    lab.bring(lab.send(0, 2), 2)
    lab.sites[2].forget([2, 0, 0])
    assert lab.sites[2].journal == []
    with pytest.raises(Misuse, match="does not reach back"):
        lab.sites[2].recover(0, 1)
