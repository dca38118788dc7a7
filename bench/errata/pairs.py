"""Schiper, Eggli, Sandoz, and ISIS."""

from random import Random

from antecede.message import Membership
from antecede.orders.pairs import Pairs
from antecede.vectortime import behind
from antecede.wire import encode_stamp
from bench.traffic import Traffic, unicast
from tests.papers import test_pairs_section4_3 as section4_3
from tests.papers.harness import early, run, team, traffic
from tests.papers.recovery_lab import Lab

RUNS = 600


def clean_up() -> list[str]:
    """ISIS: the clean-up deletes too early"""
    figures = []
    wrong = 0
    for fifo, channels in ((True, "FIFO channels"), (False, "others")):
        carried = {}
        for cleanup in ("printed", "repaired"):
            sizes = []
            for seed in range(20):
                orders = team("piggyback", 6, cleanup=cleanup)
                history = run(orders, traffic(6, 100, seed, 1), seed, fifo)
                sizes += [f.packet.stamp.entries() for f in history.flights if f.packet.message]
                wrong += len(early(history))
            carried[cleanup] = sum(sizes) / len(sizes)
        repaired, printed = carried["repaired"], carried["printed"]
        figures.append(f"{repaired:.1f} messages instead of {printed:.1f} on {channels}")
    return [*figures, f"of the 8,000 messages of these runs {wrong or 'none'} came early"]


def notes() -> list[str]:
    """ISIS: notes are never dropped"""
    left = {}
    for cleanup in ("printed", "repaired"):
        orders = team("piggyback", 6, cleanup=cleanup)
        run(orders, traffic(6, 100, 0, 1), 0, fifo=True)
        left[cleanup] = sum(len(order.state.notes) for order in orders)
    return [f"{left['printed']} notes remain as printed and {left['repaired']} repaired"]


def ticks() -> list[str]:
    """The sign "<" includes equality, and deliveries need not tick"""
    sizes = []
    for is_ticking in (False, True):
        everybody = Membership(8)
        options = {"tick_on_delivery": is_ticking}
        measured = Traffic("pairs", everybody, unicast(everybody), options=options).run(2000, 32)
        sizes.append(measured.stamp_bytes / measured.packets)
    everybody = Membership(16)
    long = Traffic("pairs", everybody, unicast(everybody))
    long.advance(10_000, 64)
    stamps: list[Pairs] = [packet.stamp for _, packet in long.in_flight]
    absolute = [
        Pairs(stamp.time, tuple((site, behind(stamp.time, late)) for site, late in stamp.pairs))
        for stamp in stamps
    ]
    lags, times = (sum(len(encode_stamp(one)) for one in many) for many in (stamps, absolute))
    return [
        f"{sizes[0]:.0f} bytes a message against {sizes[1]:.0f} with ticks",
        (
            f"after 10,000 messages: {lags / len(stamps):.0f} bytes instead of "
            f"{times / len(stamps):.0f}"
        ),
    ]


def failures() -> list[str]:
    """Failures: one evaluation of N is not enough"""
    delivered, stuck_without = 0, 0
    stuck, undone = {True: 0, False: 0}, {True: 0, False: 0}
    for seed in range(RUNS):
        lab, _ = _failed(seed)
        before = sum(len(lab.delivered(site)) for site in lab.alive)
        delivered += before
        stuck_without += _is_stuck(lab)
        for printed in (True, False):
            lab, failed = _failed(seed)
            lab.recover(failed, printed)
            undone[printed] += before - sum(len(lab.delivered(site)) for site in lab.alive)
            assert lab.flaws() == []
            stuck[printed] += _is_stuck(lab)
    return [
        (
            f"{undone[False]:,} of {delivered:,} deliveries were undone in the random runs below, "
            f"against {undone[True]:,} with the printed N"
        ),
        (
            f"{RUNS} random runs of 3 to 6 sites, of which one fails and loses some of its "
            f"messages: without recovery {stuck_without} get stuck, with the printed N "
            f"{stuck[True]}, with the repair {stuck[False] or 'none'}"
        ),
    ]


def _failed(seed: int) -> tuple[Lab, int]:
    chance = Random(seed)
    lab = Lab(3 + seed % 4)
    section4_3._traffic(lab, chance, 40)
    return lab, section4_3._fail(lab, chance)


def _is_stuck(lab: Lab) -> bool:
    """Whether something is held, or will be once the survivors have spoken."""
    held = bool(lab.held())
    for site in lab.alive:
        lab.send(site, *lab.alive)
    lab.flush()
    return held or bool(lab.held())


def false_alarms() -> list[str]:
    """Failures: one evaluation of N is not enough"""
    alarms = {True: 0, False: 0}
    for seed in range(RUNS):
        chance = Random(seed)
        lab = Lab(3 + seed % 4)
        section4_3._traffic(lab, chance, 40)
        failed = chance.choice(lab.alive)
        lab.crash(failed)
        reached = max(lab.sites[site].report(failed).reached for site in lab.alive)
        for printed in (True, False):
            alarms[printed] += lab.time_of_failure(failed, printed) <= reached
    return [
        (
            f"In {RUNS} runs in which nothing was lost, but the flush was left out, the printed N "
            f"raised {alarms[True]} false alarms and the repaired one {alarms[False]}"
        )
    ]
