"""All small cases: of those that differ by the names of processes or lanes, one."""

from collections.abc import Iterator
from itertools import permutations, product

from tests.brokers import lane_world, number_world
from tests.brokers.lane_world import Sent


def shapes(
    processes: int, lanes: int, messages: int
) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    """What each process reads and where it publishes, with somebody who reads two lanes or more."""
    seen = set()
    for owners in product(range(processes), repeat=messages):
        if list(owners) != sorted(owners):
            continue
        for where in product(range(lanes), repeat=messages):
            programs = tuple(
                tuple(w for o, w in zip(owners, where, strict=True) if o == p)
                for p in range(processes)
            )
            for reads in product(range(1 << lanes), repeat=processes):
                if all(bits.bit_count() < 2 for bits in reads):
                    continue
                shape = (reads, programs)
                if shape not in seen:
                    seen |= set(_alike(reads, programs, lanes))
                    yield shape


def _alike(
    reads: tuple[int, ...], programs: tuple[tuple[int, ...], ...], lanes: int
) -> Iterator[tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]]:
    """The same shape under all other names."""
    for names in permutations(range(lanes)):
        renamed = [
            (
                sum(1 << names[lane] for lane in range(lanes) if bits >> lane & 1),
                tuple(names[lane] for lane in program),
            )
            for bits, program in zip(reads, programs, strict=True)
        ]
        for order in permutations(renamed):
            yield tuple(bits for bits, _ in order), tuple(program for _, program in order)


def lane_cases(processes: int, lanes: int, messages: int) -> Iterator[lane_world.Case]:
    for reads, programs in shapes(processes, lanes, messages):
        sent = tuple(tuple(Sent(lane) for lane in program) for program in programs)
        yield lane_world.Case(reads, sent)


def number_cases(processes: int, topics: int, messages: int) -> Iterator[number_world.Case]:
    for reads, programs in shapes(processes, topics, messages):
        yield number_world.Case(reads, programs)
