"""Schiper, Eggli, Sandoz, section 4.3 on all schedules of small programs.

Site 0 sends to the others, which send to each other; every subset of its messages is lost, and the
rest arrives in every order. Then site 0 has failed. (A failure before the last send is the failure
of a shorter program; a copy that is merely slow is flushed.)
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import NamedTuple

import pytest

from antecede.message import MessageId
from tests.papers.harness import Flight
from tests.papers.recovery_lab import Lab


class Program(NamedTuple):
    """The destinations of each site's messages in turn, and the numbers of those of site 0 that
    are lost."""

    destinations: tuple[tuple[int, ...], ...]
    lost: frozenset[int]


class Move(NamedTuple):
    """A site sends its next message or, with `arrival`, gets that one."""

    site: int
    arrival: MessageId | None = None


def _programs(from_0: int, from_1: int, from_2: int) -> Iterator[Program]:
    for destinations in product((1, 2), repeat=from_0):
        for losses in range(from_0 + 1):
            for lost in combinations(range(1, from_0 + 1), losses):
                yield Program((destinations, (2,) * from_1, (1,) * from_2), frozenset(lost))


def _identity(flight: Flight) -> MessageId:
    if flight.packet.message is None:
        raise LookupError("pairs transmits nothing but messages")
    return flight.packet.message.id


def _play(program: Program, moves: tuple[Move, ...]) -> Lab:
    lab = Lab(3)
    for site, arrival in moves:
        if arrival is None:
            number = len(lab.notebooks[site].entries("send"))
            message = lab.send(site, program.destinations[site][number])
            if site == 0 and message.id.number in program.lost:
                lab.lose(message, program.destinations[site][number])
        else:
            [flight] = [f for f in lab.in_flight if (f.to, _identity(f)) == (site, arrival)]
            lab.in_flight.remove(flight)
            lab.arrive(flight)
    return lab


def _ends(program: Program, seen: set[object] | None = None) -> Iterator[tuple[Move, ...]]:
    """A schedule to every state in which everything has been sent and has arrived or is lost. The
    states go into `seen`."""
    seen = set() if seen is None else seen
    stack: list[tuple[Move, ...]] = [()]
    while stack:
        moves = stack.pop()
        lab = _play(program, moves)
        states = tuple(site.order.snapshot() for site in lab.sites)
        logs = tuple(notebook.checkpoint() for notebook in lab.notebooks)
        arrivals = tuple(sorted((flight.to, _identity(flight)) for flight in lab.in_flight))
        if (states, logs, arrivals) in seen:
            continue
        seen.add((states, logs, arrivals))
        possible = [
            Move(site)
            for site, destinations in enumerate(program.destinations)
            if len(lab.notebooks[site].entries("send")) < len(destinations)
        ]
        possible += [Move(to, message) for to, message in arrivals]
        stack += [(*moves, move) for move in possible]
        if not possible:
            yield moves


def _is_stuck(lab: Lab, printed: bool) -> bool:
    """Whether after the recovery something is held, or will be once the survivors have spoken."""
    lab.crash(0)
    lab.recover(0, printed)
    held = bool(lab.held())
    assert lab.flaws() == []
    for site in lab.alive:
        lab.send(site, *lab.alive)
    lab.flush()
    assert lab.flaws() == []
    return held or bool(lab.held())


@pytest.mark.parametrize(
    ("sends", "ends", "stuck_as_printed"), [((2, 1, 1), 970, 84), ((3, 0, 1), 510, 93)]
)
def test_nobody_is_stuck_after_any_loss(
    sends: tuple[int, int, int], ends: int, stuck_as_printed: int
) -> None:
    found = stuck = 0
    for program in _programs(*sends):
        for moves in _ends(program):
            found += 1
            assert not _is_stuck(_play(program, moves), printed=False)
            stuck += _is_stuck(_play(program, moves), printed=True)
    assert (found, stuck) == (ends, stuck_as_printed)
