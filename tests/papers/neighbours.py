"""Small networks with their separators, and all programs in which processes address neighbours."""

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise, product

import msgspec

from antecede.explore import Exploration, Explorer, OrderFactory, Program, Send
from antecede.message import Membership, process_set
from antecede.order import Order
from antecede.orders._surroundings import Sides
from antecede.orders.histories import Histories, HistoriesOptions

Choices = dict[int, list[tuple[int, ...]]]
"""By process, the destinations that its messages may have."""


class Net(msgspec.Struct, frozen=True):
    """A network and the separators that its members use."""

    size: int
    links: tuple[tuple[int, int], ...]
    separators: tuple[Sides, ...]
    together: tuple[tuple[int, ...], ...] = ()
    """Sets that are addressed as a whole besides single neighbours."""

    def options(self, *, own_implied: bool = True, gateways: bool = True) -> HistoriesOptions:
        return HistoriesOptions(
            rules="R1-R9",
            links=self.links,
            separators=self.separators,
            own_implied=own_implied,
            gateways=gateways,
        )

    def neighbours(self, process: int) -> list[int]:
        pairs = [link for link in self.links if process in link]
        return sorted(sum(pair) - process for pair in pairs)

    def choices(self) -> Choices:
        """Single neighbours, and the sets of `together` that consist of neighbours."""
        found: Choices = {}
        for process in range(self.size):
            near = self.neighbours(process)
            found[process] = [(one,) for one in near]
            found[process] += [whole for whole in self.together if set(whole) <= set(near)]
        return found

    def programs(self, messages: int, choices: Choices | None = None) -> Iterator[Program]:
        """All programs of so many messages."""
        allowed = choices or self.choices()
        sends = [[Send(process_set(to)) for to in allowed.get(p, ())] for p in range(self.size)]
        for shares in _shares(messages, self.size):
            columns = [product(sends[p], repeat=share) for p, share in enumerate(shares)]
            for program in product(*columns):
                yield Program(Membership(self.size), program)


def both_ways(members: Iterable[int], left: Iterable[int], right: Iterable[int]) -> list[Sides]:
    """A separator, seen from either side."""
    S, F, B = tuple(members), tuple(left), tuple(right)
    return [Sides(S, F, B), Sides(S, B, F)]


PATH = Net(
    4,
    ((0, 1), (1, 2), (2, 3)),
    (*both_ways([1], [0], [2, 3]), *both_ways([2], [0, 1], [3])),
    ((0, 2), (1, 3)),
)
TAIL = Net(
    4,
    ((0, 1), (0, 2), (1, 2), (2, 3)),
    tuple(both_ways([2], [0, 1], [3])),
    ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3)),
)
"""A triangle with a tail."""
SQUARE = Net(4, ((0, 1), (0, 2), (1, 3), (2, 3)), tuple(both_ways([1, 2], [0], [3])), ((1, 2),))
FIVE = Net(
    5,
    ((0, 2), (0, 3), (1, 2), (1, 3), (2, 4), (3, 4)),
    tuple(both_ways([2, 3], [4], [0, 1])),
    ((0, 1), (2, 3)),
)
"""Two processes (0, 1), two gateways (2, 3), one process beyond them."""
NESTED = Net(
    6,
    ((0, 1), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5)),
    (
        *both_ways([1], [0], [2, 3, 4, 5]),
        *both_ways([2], [0, 1], [3, 4, 5]),
        *both_ways([3, 4], [0, 1, 2], [5]),
    ),
    ((3, 4),),
)
"""Separators inside separators: 0 – 1 – 2 – {3, 4} – 5."""

NEWCOMER = Net(4, ((0, 1), (1, 2), (1, 3), (2, 3)), (Sides((1,), (2,), (0,)),))
"""Process 3 came later; 1 does not know on which side it is."""


def factory(net: Net, order: type[Histories] = Histories, **repairs: bool) -> OrderFactory:
    options = net.options(**repairs)

    def make(process: int, membership: Membership) -> Order:
        return order(process, membership, options)

    return make


def explore_all(make: OrderFactory, size: int, programs: Iterable[Program]) -> Exploration:
    """All schedules of these programs, up to the first that fails."""
    explorer = Explorer(make, Membership(size))
    total = Exploration()
    for program in programs:
        total = total.plus(explorer.explore(program))
        if total.failure is not None:
            break
    return total


def _shares(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    for bars in combinations(range(total + parts - 1), parts - 1):
        places = (-1, *bars, total + parts - 1)
        yield tuple(after - before - 1 for before, after in pairwise(places))
