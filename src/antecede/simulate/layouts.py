"""Groups that overlap, laid out in a shape."""

from itertools import pairwise
from typing import Literal

from antecede.errors import Misuse
from antecede.message import ProcessSet, process_set
from antecede.simulate.randomness import generator

Shape = Literal["chain", "ring", "random"]


def lay_out(
    shape: Shape, processes: int, count: int, size: int | None, seed: int
) -> tuple[ProcessSet, ...]:
    """So many groups of this size that together hold all processes.

    In a chain each group overlaps with the next, in a ring the last one overlaps with the first as
    well, and no others do. Without a size, a chain or a ring gets the smallest that overlaps, and
    random groups hold twice as many processes as it takes to hold all.
    """
    if shape == "random":
        return _random(processes, count, size or min(processes, 2 * -(-processes // count)), seed)
    fitting = [size for size in range(1, processes + 1) if _fits(shape, processes, count, size)]
    if not fitting:
        raise Misuse(f"{processes} processes cannot form a {shape} of {count} groups")
    chosen = fitting[0] if size is None else size
    if chosen not in fitting:
        raise Misuse(
            f"{processes} processes cannot form a {shape} of {count} groups of {size}; "
            f"the size can be {fitting[0]} to {fitting[-1]}"
        )
    return tuple(
        process_set((start + offset) % processes for offset in range(chosen))
        for start in _starts(shape, processes, count, chosen)
    )


def _starts(shape: Shape, processes: int, count: int, size: int) -> list[int]:
    """The first member of each group: consecutive processes form a group."""
    if shape == "ring":
        return [index * processes // count for index in range(count)]
    return [index * (processes - size) // max(1, count - 1) for index in range(count)]


def _fits(shape: Shape, processes: int, count: int, size: int) -> bool:
    """Whether neighbours overlap and others do not."""
    if count == 1:
        return size == processes
    starts = _starts(shape, processes, count, size)
    if shape == "ring":
        starts += [start + processes for start in starts[:2]]
    neighbours_overlap = all(0 < after - before < size for before, after in pairwise(starts))
    others_do_not = count == 2 or all(
        after - before >= size for before, after in zip(starts, starts[2:], strict=False)
    )
    return size < processes and neighbours_overlap and others_do_not


def _random(processes: int, count: int, size: int, seed: int) -> tuple[ProcessSet, ...]:
    """Everybody is dealt to one group, and then the groups are filled up at random."""
    if not processes <= size * count or size > processes:
        raise Misuse(
            f"{count} groups of {size} cannot hold {processes} processes; "
            f"the size can be {-(-processes // count)} to {processes}"
        )
    random = generator(seed, "groups")
    dealt = random.permutation(processes).tolist()
    groups = []
    for index in range(count):
        group = dealt[index::count]
        others = sorted(set(range(processes)) - set(group))
        group += random.permutation(others)[: size - len(group)].tolist()
        groups.append(process_set(group))
    return tuple(groups)
