"""Small overlays, and ways to share the work of forwarding that break the order end to end."""

from collections.abc import Iterator
from itertools import product

from antecede.explore import Exploration, Explorer, OrderFactory, Program, Send
from antecede.message import Membership, Message, members
from antecede.order import Order
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.tree import Tree
from antecede.overlays.separators.zones import Zones

TWIN_STAR: Zones = (((0,), (3, 4)), ((1,), (3, 4)), ((2,), (3, 4)))
"""Applications 0, 1 and 2 around one set of two routers."""
TWIN_PATH: Zones = (((0,), (2, 3)), ((2, 3), (4, 5)), ((4, 5), (1,)))
"""0 – {2, 3} – {4, 5} – 1."""
CHAPTER_5: Zones = (
    ((0,), (6,)),
    ((1,), (6,)),
    ((2,), (7,)),
    ((3,), (7,)),
    ((4,), (8,)),
    ((5,), (8,)),
    ((6,), (9, 10)),
    ((9, 10), (11,)),
    ((7,), (11,)),
    ((8,), (11,)),
)
"""Figure 5.2 as far as it can be rebuilt: p1 to p6 (0 to 5) at n1, n2 and n3 (6, 7, 8); n1 – {d1,
d2} – d3 – n3, and n2 at d3 (9, 10, 11)."""


def size_of(zones: Zones) -> int:
    return 1 + max(process for zone in zones for one in zone for process in one)


def factory(order: type[Separators] | type[Tree], options: SeparatorsOptions) -> OrderFactory:
    def make(process: int, membership: Membership) -> Order:
        return order(process, membership, options)

    return make


def programs(
    size: int, applications: int, messages: int, *, sets: bool = False
) -> Iterator[Program]:
    """All programs of so many messages between the first processes: to single ones, or to sets."""
    others = [[p for p in range(applications) if p != own] for own in range(applications)]
    choices = [
        [Send(bits) for bits in range(1, 1 << applications) if not bits >> own & 1]
        if sets
        else [Send(1 << other) for other in others[own]]
        for own in range(applications)
    ]
    for shares in product(range(messages + 1), repeat=applications):
        if sum(shares) == messages:
            columns = [product(choices[p], repeat=share) for p, share in enumerate(shares)]
            for sends in product(*columns):
                silent = ((),) * (size - applications)
                yield Program(Membership(size), (*sends, *silent))


def explore_all(make: OrderFactory, size: int, todo: Iterator[Program]) -> Exploration:
    """All schedules of these programs, up to the first that fails."""
    explorer = Explorer(make, Membership(size))
    total = Exploration()
    for program in todo:
        total = total.plus(explorer.explore(program))
        if total.failure is not None:
            break
    return total


class PerMessage(Tree):
    """The routers of a set take messages in turn."""

    def forwarder(self, message: Message, place: int) -> int:
        routers = list(members(self._place.members))
        return routers[message.id.number % len(routers)]


class PerSource(Tree):
    """Each router of a set serves some senders."""

    def forwarder(self, message: Message, place: int) -> int:
        routers = list(members(self._place.members))
        return routers[message.id.sender % len(routers)]


class PerDestination(Tree):
    """Each router of a set serves some sets of destinations."""

    def forwarder(self, message: Message, place: int) -> int:
        routers = list(members(self._place.members))
        return routers[message.destinations % len(routers)]


SHARED = [PerMessage, PerSource, PerDestination]
