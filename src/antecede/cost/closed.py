"""Closed forms: what follows from the rules of a protocol, without a run.

A function for each protocol fills in what it can of a `Form`; what it leaves out has no honest
closed form on arbitrary traffic, and is fitted (`fitted`) where it is known at all.
"""

from collections.abc import Callable, Mapping
from math import comb, exp, isqrt, log, prod
from typing import Any, Final

import msgspec

from antecede.cost import wire
from antecede.cost.delays import causal, fifo, mean_wait
from antecede.cost.traffic import Kind, Traffic, Tree

__all__ = ["ARGUMENTS", "Form", "closed", "counted"]

Options = Mapping[str, Any]


class Form(msgspec.Struct):
    """What is known of a protocol on some traffic; None is not known. Waits are in mean delays of a
    packet."""

    entries: float | None = None
    """Elements of a stamp."""
    bytes: float | None = None
    """Of a stamp."""
    state: float | None = None
    """Elements that a process keeps."""
    kept: float | None = None
    """Bytes of that in a snapshot, without held messages."""
    copies: float | None = None
    """Packets that carry a message."""
    control: float | None = None
    """Packets of its own, for one message."""
    control_bytes: float | None = 0.0
    """Of ordering information on one of them."""
    wait: float | None = None
    """From send to delivery."""
    travel: float = 1.0
    """The part of it that the network takes."""
    bases: dict[str, float] = {}
    """What a fitted law is a multiple of, by measure, where that is not 1."""
    places: dict[str, float] = {}
    """The number of processes that a fitted law is taken at, where that is not all of them."""
    doubted: set[str] = set()
    """What is told and not claimed."""


def closed(protocol: str, options: Options, traffic: Traffic) -> Form:
    """All that can be said of a protocol without a run; nothing of one that is not known."""
    make = _FORMS.get(protocol)
    return make(options, traffic) if make else Form(control_bytes=None)


def _sent(traffic: Traffic, share: float = 1.0) -> float:
    """Bytes of a number that counts so many of a process' messages."""
    first, last = traffic.sent
    return wire.counts(share * first, share * last)


def _none(_: Options, traffic: Traffic) -> Form:
    return Form(0.0, 1.0, 0.0, None, traffic.copies, 0.0, wait=1.0)


def _fifo(_: Options, traffic: Traffic) -> Form:
    n = traffic.processes
    width = _sent(traffic, traffic.copies / (n - 1))
    wait = fifo(traffic)
    kept = 2 + 2 * wire.array(n) + 2 * n * width
    return Form(1.0, 1 + width, 2.0 * n, kept, traffic.copies, 0.0, wait=wait)


def _vector(options: Options, traffic: Traffic) -> Form:
    groups, listed = traffic.groups, traffic.listed
    if options.get("carry") == "own":
        return Form(copies=traffic.copies, control=0.0, wait=causal(traffic).wait)
    width = _sent(traffic, traffic.processes / listed)
    vectors = wire.array(groups) + groups * wire.array(listed / groups) + listed * width
    wait = causal(traffic).wait
    return Form(listed, 1 + vectors, listed, 2 + vectors, traffic.copies, 0.0, wait=wait)


def _matrix(_: Options, traffic: Traffic) -> Form:
    n = traffic.processes
    row = wire.array(n) + n * _sent(traffic, traffic.copies / (n - 1))
    size = 1 + wire.array(n) + n * row
    wait = causal(traffic).wait
    return Form(n * n, size, n * n + n, size + 1 + row, traffic.copies, 0.0, wait=wait)


_UNKNOWN_PAIRS: Final = 0.7
"""Messages to one process: the pair of whoever was heard of last is obsolete, and most of the time
not yet replaced."""


def _pairs(options: Options, traffic: Traffic) -> Form:
    if options.get("recovery") == "rollback":
        return Form(copies=traffic.copies, control_bytes=None, wait=causal(traffic).wait)
    n, m = traffic.processes, traffic.copies
    pairs = n - 1 - (_UNKNOWN_PAIRS if traffic.kind is Kind.UNICAST else 0.0)
    whole = max(1.0, pairs - (m - 1))
    """Pairs whose time differs from that of the message: the rest are from one multicast."""
    number = wire.count(n)
    size = 1 + wire.array(n) + n * _sent(traffic) + wire.array(pairs)
    size += pairs * (1 + number + 1) + whole * n
    wait = causal(traffic).wait
    entries = n + pairs * (1 + n)
    return Form(entries, size, entries, None, m, 0.0, wait=wait)


def _optimal(_: Options, traffic: Traffic) -> Form:
    n = traffic.processes
    field = causal(traffic)
    form = Form(copies=traffic.copies, control=0.0, wait=field.wait)
    if traffic.kind is Kind.UNICAST:
        named = n * field.unsettled
        listed = n - 1 + named
        form.entries = 2 * listed + named
        each = 1 + wire.count(n) + _sent(traffic) + 1
        form.bytes = 1 + wire.array(listed) + listed * each + named * wire.count(n)
    return form


def _histories(options: Options, traffic: Traffic) -> Form:
    if options.get("rules", "R1-R8") != "R1-R8":
        return Form(copies=traffic.copies, control=0.0)
    return Form(copies=traffic.copies, control=0.0, wait=causal(traffic).wait)


def _bounded(options: Options, traffic: Traffic) -> Form:
    n = traffic.processes
    k = limit(options, n)
    form = Form(copies=traffic.copies, control_bytes=None)
    if k >= n * n:
        form.wait = causal(traffic).wait
    elif k == n and traffic.kind is Kind.UNICAST:
        form.entries = form.state = k - 1.0
    elif n < k <= 4 * n:
        form.entries = k - 1 - max(2.0, traffic.copies)
        form.state = k - 3.0
    if form.entries is not None:
        width = _sent(traffic, traffic.copies / (n - 1))
        form.bytes = 1 + wire.array(form.entries) + form.entries * (1 + 2 * wire.count(n) + width)
    return form


def limit(options: Options, n: int) -> int:
    """The k of `bounded`."""
    k = options.get("k") or "2n"
    known = {"n": n, "2n": 2 * n, "4n": 4 * n, "n^2": n * n}
    return known.get(str(k), int(k) if str(k).isdigit() else 2 * n)


def _blocks_fast(options: Options, traffic: Traffic) -> Form:
    n = traffic.processes
    form = Form(1.0 + n, None, 2.0 + n + traffic.neighbours, None, traffic.copies)
    form.wait, form.travel = causal(traffic).wait, fifo(traffic)
    shared = traffic.listed / n - 1
    """Processes in two groups: such a one owes the others of the second group a null message after
    a send to the first, unless it sends again at once."""
    owed = traffic.group_size - (2 if traffic.groups == 2 else 1)
    silence_s = options.get("silence_s", _SILENCE_S)
    form.control = shared * owed * exp(-traffic.rate * silence_s)
    return form


_SILENCE_S: Final = 0.01


def _blocks_relative(_: Options, traffic: Traffic) -> Form:
    groups = traffic.groups
    form = Form(copies=traffic.copies)
    form.entries = 1 + traffic.group_size + groups - 1
    own_groups = traffic.listed / traffic.processes
    form.state = groups + own_groups + 2 * traffic.own
    if groups == 1:
        form.control = 0.0
        form.wait, form.travel = causal(traffic).wait, fifo(traffic)
    return form


def _blocks_slow(_: Options, traffic: Traffic) -> Form:
    return Form(1.0, None, 1.0 + traffic.own, None, traffic.copies, control_bytes=None)


def _piggyback(_: Options, traffic: Traffic) -> Form:
    return Form(copies=traffic.copies, control_bytes=None)


# The daisy.


def sizes_of(options: Options, n: int) -> tuple[float, ...]:
    """Members of the groups, from the local ones to the servers at the top."""
    given = tuple(options.get("sizes") or (max(3, isqrt(n)),))
    sizes: list[float] = []
    groups = float(n)
    for size in given:
        if groups < 2 * size:
            break
        above = groups // size
        sizes.append(groups / above)
        groups = above
    return (*sizes, groups)


class Counted(msgspec.Struct, frozen=True):
    """A multicast in a daisy, counted from the groups that it passes."""

    packets: float
    integers: float
    """Of the vectors on them."""
    passed: float
    """Groups on the way to one destination."""


def counted(sizes: tuple[float, ...], traffic: Traffic) -> Counted:
    """A message is broadcast in the group of its sender, in groups of servers on the way up, as
    long as a destination lies outside, and in all groups that have destinations in or below."""
    packets = integers = 0.0
    n, m = traffic.processes, round(traffic.copies)
    passed = 1.0
    for level, size in enumerate(sizes):
        below, span = prod(sizes[:level]), prod(sizes[: level + 1])
        up = _rises(sizes, level, traffic)
        if level:
            passed += 2 * (_rises(sizes, level, traffic) if m == 1 else 1 - (below - 1) / (n - 1))
        if m == 1:
            down = _rises(sizes, level + 1, traffic) if level + 1 < len(sizes) else 0.0
        else:
            down = (n / span - 1) * _some(n, round(span), m)
        broadcasts = up + down
        packets += broadcasts * (size - 1)
        integers += broadcasts * (size - 1) * size
    return Counted(packets, integers, passed)


def _rises(sizes: tuple[float, ...], level: int, traffic: Traffic) -> float:
    """The probability that a message leaves the groups below this level."""
    n, below = traffic.processes, prod(sizes[:level])
    if not level:
        return 1.0
    if traffic.tree:
        return traffic.tree.leaves_part(below)
    return _some(n, round(n - below), round(traffic.copies))


def _some(n: int, part: int, destinations: int) -> float:
    """The probability that some destinations are among these many of the n - 1 others."""
    if destinations == 1:
        return min(1.0, part / (n - 1))
    return 1 - comb(max(0, n - 1 - part), destinations) / comb(n - 1, destinations)


def _daisy(options: Options, traffic: Traffic) -> Form:
    if traffic.kind is Kind.GROUPS or (options.keys() - {"sizes"}):
        return Form(control_bytes=None)
    sizes = sizes_of(options, traffic.processes)
    found = counted(sizes, traffic)
    form = Form(control_bytes=_DAISY_CONTROL)
    form.entries = 1 + sizes[0]
    n = traffic.processes
    named = min(wire.bits(n), 1 + traffic.copies * wire.count(n))
    vector = wire.array(sizes[0]) + sizes[0] * _sent(traffic, 1.0)
    form.bytes = _DAISY_FRAME + named + vector
    size = prod(sizes) ** (1 / len(sizes))
    slow = (found.passed - _OWN_GROUP) * (1 + log(size))
    """Beyond its own group a message goes on when all members have it: the last of so many."""
    form.bases = {"copies": found.packets, "control": found.passed, "wait": slow}
    form.places = dict.fromkeys(("state", "memory", "control"), size**2)  # as with two levels
    form.places |= {"copies": _ANY, "wait": _ANY}
    return form


_OWN_GROUP: Final = 0.58
"""How much less time the sender's own group takes, where a message need not be stable."""


_DAISY_FRAME, _DAISY_CONTROL = 27, 36
"""Bytes of a packet besides vector and destinations, and of one that carries no message."""


_ANY: Final = 10.0
"""What is counted by groups needs no law for the number of processes."""


# Separators on a tree.


def _separators(options: Options, traffic: Traffic) -> Form:
    routes = options.get("routes", "direct")
    tree = traffic.tree
    if tree is None:
        return _histories({}, traffic) if routes == "direct" else Form()
    if traffic.kind is not Kind.UNICAST:
        return Form()
    departments, organisations = tree.leaves
    hops = 4 + 2 * departments + 2 * organisations
    nodes = 2 * tree.processes + tree.organisations * (1 + tree.departments) + 1
    form = Form(copies=hops, control=0.0)
    if routes == "flood":
        form.control, form.control_bytes = nodes - 1.0, None
    elif routes in ("direct", "tree"):
        form.entries = 1.0
        form.wait = form.travel = _along(tree, traffic.load)
        form.bytes = _hop_bytes(tree, traffic, nodes)
    return form


_BITMAP: Final = 24
"""A set of one process below this travels as a bitmap, and takes some bytes more than a list."""


def _hop_bytes(tree: Tree, traffic: Traffic, nodes: int) -> float:
    """The number of the hop, and one entry: its sender, its number and the next node. Numbers count
    the hops of a node, so those of routers are larger."""
    departments, organisations = tree.leaves
    inside, near = tree.nodes, tree.nodes * tree.departments
    senders = (
        (1.0, 1.0),
        (2.0, 2.0),
        (1 + departments, inside * (1 + departments)),
        (departments + organisations, near * (departments + organisations)),
        (organisations, tree.processes * organisations),
    )
    """How many hops of a message nodes of each level send, and how many hops such a node sends
    while a process sends one message."""
    hops = sum(share for share, _ in senders)
    number = sum(share * _sent(traffic, pace) for share, pace in senders) / hops
    index = wire.count(nodes / 2)
    return 4 + 2 * index + 2 * number + 3 * min(1.0, _BITMAP / nodes)


def _along(tree: Tree, load: float) -> float:
    """One entry on a hop keeps the order of each link: the way takes as long as its FIFO links,
    each with its own load."""
    departments, organisations = tree.leaves
    node = mean_wait(load)
    department = mean_wait(load * tree.nodes * departments)
    top = mean_wait(load * tree.nodes * tree.departments * organisations)
    return 4 * node + 2 * departments * department + 2 * organisations * top


_FORMS: Final[dict[str, Callable[[Options, Traffic], Form]]] = {
    "none": _none,
    "fifo": _fifo,
    "vector": _vector,
    "matrix": _matrix,
    "pairs": _pairs,
    "optimal": _optimal,
    "histories": _histories,
    "bounded": _bounded,
    "blocks-fast": _blocks_fast,
    "blocks-relative": _blocks_relative,
    "blocks-slow": _blocks_slow,
    "piggyback": _piggyback,
    "daisy": _daisy,
    "separators": _separators,
}

ARGUMENTS: Final[dict[str, str]] = {
    "none": "nothing is carried, nothing waits",
    "fifo": "one number for each link; a link is a FIFO queue with its own load",
    "vector": "a number for each member of each group; waits by the mean field of causal order",
    "matrix": "a number for each pair of processes; one row of deliveries besides, in the state",
    "pairs": "a pair, as long as a vector, for all but the process itself; what one multicast left "
    "shares its time and takes 3 bytes",
    "optimal": "to one: two integers for the latest of each sender, three for what is not settled, "
    "by the mean field; to all: 2n and what histories cite; else fitted",
    "histories": "no closed form on arbitrary traffic: at most (n−1)² identifiers; fitted",
    "bounded": "it stops at k, and a send clears the columns of its destinations; extra messages "
    "are fitted",
    "blocks-fast": "a number for each process that is known, in the end all; a process in two "
    "groups owes the other one a null message",
    "blocks-relative": "the vector of one group and a number for each other one; with several "
    "groups, waits and nulls are fitted",
    "blocks-slow": "one number; a mark for each member of the own groups; waits and nulls are "
    "fitted",
    "piggyback": "what was sent since the last clean-up travels with every message; how long that "
    "takes is fitted, with the clean-up's clock",
    "daisy": "broadcasts in all groups on the way are counted, times a factor for repeats; vectors "
    "as long as the group; time for each group passed; control and state are fitted",
    "separators": "on a tree: one entry a hop; hops by the levels that a message leaves; waits of "
    "FIFO links at the load of each link; without a network, as histories",
}
"""For each protocol, why its forms are what they are."""
