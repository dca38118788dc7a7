"""Sanchez, Alvarez."""

from statistics import fmean

from antecede.message import Membership
from antecede.order import Effect
from antecede.orders.bounded import Bounded, BoundedOptions
from antecede.protocols import create
from antecede.wire import encode_stamp
from tests.papers.harness import History, late, run, team, traffic

SIZE = 16
MESSAGES = 1200


def thresholds() -> list[str]:
    """The threshold: "at least k" or "more than k", and how small k may be"""
    names = {16: "n = 16", 17: "n + 1 = 17", 32: "2n = 32", 64: "4n = 64", 256: "n² = 256"}
    rows = []
    for k, name in names.items():
        history = _unicast([k] * SIZE)
        rows.append(
            f"| {name} | {_entries(history):.1f} | {_bytes(history):.0f} | {_extra(history):.1f} "
            f"| {_all_bytes(history):.0f} | {_waits(history):.1%} |".replace("%", " %")
        )
    mixed = _unicast([17, 64] * (SIZE // 2))
    return [
        *rows,
        f"{_extra(mixed):.1f} extra messages for each, {_all_bytes(mixed):.0f} bytes, "
        f"{_waits(mixed):.1%}".replace("%", " %"),
    ]


def _unicast(bounds: list[int]) -> History:
    everybody = Membership(SIZE)
    orders = [create("bounded", process, everybody, k=k) for process, k in enumerate(bounds)]
    return run(orders, traffic(SIZE, MESSAGES, 1, 1), 1)


def _entries(history: History) -> float:
    """On a copy of a message."""
    sizes = [f.packet.stamp.entries() for f in history.flights if f.packet.message]
    return fmean(sizes)


def _bytes(history: History) -> float:
    sizes = [len(encode_stamp(f.packet.stamp)) for f in history.flights if f.packet.message]
    return fmean(sizes)


def _sends(history: History) -> int:
    return sum(event.kind == "send" for event in history.events)


def _extra(history: History) -> float:
    return sum(f.packet.message is None for f in history.flights) / _sends(history)


def _all_bytes(history: History) -> float:
    """With the extra messages, for each message."""
    return sum(len(encode_stamp(f.packet.stamp)) for f in history.flights) / _sends(history)


def _waits(history: History) -> float:
    return len(late(history)) / sum(event.kind == "deliver" for event in history.events)


class _Counting(Bounded):
    most = 0

    def _insert_extra_messages(self) -> list[Effect]:
        effects = super()._insert_extra_messages()
        self.most = max(self.most, len(effects))
        return effects


def extra_messages() -> list[str]:
    """When to check, and what the bound bounds"""
    most = dict.fromkeys((3, 4, 5, 6), 0)
    runs = 0
    for size in most:
        for k in (size, size + 1, 2 * size):
            for seed in range(40):
                options = BoundedOptions(k=k)
                orders = [_Counting(p, Membership(size), options) for p in range(size)]
                run(orders, traffic(size, 60, seed, 1), seed)
                most[size] = max(most[size], *(order.most for order in orders))
                runs += 1
    return [
        (
            f"{runs} random runs at k = n, n + 1 and 2n have shown {most[3]} with 3 processes, "
            f"{most[4]} with 4, {most[5]} with 5 and {most[6]} with 6"
        )
    ]


def triples() -> list[str]:
    """Merging brings back what sending had cleared"""
    entries = _entries(_unicast([SIZE**2] * SIZE))
    return [f"a message carries {entries:.0f} triples, {3 * entries:.0f} numbers"]


def multicast() -> list[str]:
    """Multicast"""
    found = []
    for k in (8, 16, 64):
        history = run(team("bounded", 8, k=k), traffic(8, 800, 1, 3), 1)
        found.append((_entries(history), _extra(history)))
    (n, more), (twice, fewer), (square, none) = found
    assert none == 0
    return [
        (
            f"{n:.1f} entries on a copy and {more:.1f} extra messages for each message at k = n, "
            f"{twice:.1f} and {fewer:.1f} at 2n, {square:.1f} and none at n²"
        )
    ]
