"""A daisy against flat vectors and matrices."""

from collections.abc import Callable, Sequence
from typing import Any

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import (
    UNSETTLED,
    Reading,
    holds,
    is_less,
    is_steady,
    number,
    table,
    with_interval,
)

PAPER = """
R. Baldoni, R. Friedman and R. van Renesse, "The hierarchical daisy architecture for causal
delivery": section 1 counts control information of the order of n for broadcasts (a vector) and of
n² for messages to any set (a matrix), and calls that prohibitive for large n. Section 3.3: in a
daisy a message always carries one vector, as long as the group has members that it is just sent in.
The price is that a message is broadcast in every group that it passes, and that it passes several.
There are no figures of measurements.
"""
EVERYBODY, FOUR = "everybody", "four"
Value = Callable[[dict[str, Any]], float | None]


def _per_packet(row: dict[str, Any]) -> float | None:
    return row["copies_stamp_bytes"] / row["copies"] if row["copies"] else None


def _packets(row: dict[str, Any]) -> float | None:
    return float(row["copies"] / row["measured_messages"])


def _with_messages(row: dict[str, Any]) -> float | None:
    """Of the packets that carry messages; what a daisy says besides depends on the clock."""
    return float(row["copies_stamp_bytes"] / row["measured_messages"])


def _everything(row: dict[str, Any]) -> float | None:
    """Of all packets: acknowledgements, stability, views, too."""
    return float((row["copies_stamp_bytes"] + row["control_bytes"]) / row["measured_messages"])


def _control(row: dict[str, Any]) -> float | None:
    """Packets of its own that a process sends in a second."""
    return float(row["control_packets"] / row["processes"] / row["measured_s"])


MEASURES: dict[str, Value] = {
    "Elements of a stamp": lambda row: row["stamp_entries_mean"],
    "Bytes of ordering information on a packet that carries a message": _per_packet,
    "Packets that carry a message, for one message": _packets,
    "Bytes of ordering information on all of them, for one message": _with_messages,
    "Bytes of ordering information on all packets, for one message": _everything,
    "Packets of the protocol's own, for one process and second": _control,
}


def body(reading: Reading) -> str:
    text = (
        "\n*everybody*: broadcasts; *four*: messages to four others at random. Whatever travels "
        "with a message counts: the list of destinations, the numbers by which packets are known "
        "and sent again. *All packets* are also those without a message: a daisy's "
        "acknowledgements, word of what is stable, heartbeats. What is sent from the end of the "
        "warm-up to the last message counts, whichever message it belongs to. Flat protocols get "
        f"a network that loses nothing, and do nothing for reliability.\n\nRun lengths: "
        f"{reading.lengths()}.\n"
    )
    for title, value in MEASURES.items():
        text += f"\n## {title}\n" + _grid(reading, value)
    return text + _delays(reading) + _answer(reading)


def _names(reading: Reading) -> list[str]:
    return [
        name
        for protocol in ("daisy", "vector", "matrix", "optimal")
        for name in reading.variants(protocol)
    ]


def _title(variant: str) -> str:
    protocol, _, option = variant.partition(" sizes=")
    if not option:
        return f"`{protocol}`"
    return f"`{protocol}`, groups of {option.strip('[]').split(',')[0]}"


def _grid(reading: Reading, value: Value) -> str:
    columns = [(workload, size) for workload in reading.workloads for size in reading.sizes]
    rows = [
        [
            _title(name),
            *(with_interval(reading.derived(name, work, size, value)) for work, size in columns),
        ]
        for name in _names(reading)
    ]
    return table(["", *(f"{workload}, n = {size}" for workload, size in columns)], rows)


def _delays(reading: Reading) -> str:
    return "\n## From send to delivery, in seconds\n" + _grid(
        reading, lambda row: row["delay_s_mean"]
    )


def _answer(reading: Reading) -> str:
    size, first = reading.sizes[-1], reading.sizes[0]
    daisies = reading.variants("daisy")
    lines = []
    for name in daisies:
        found = [
            _mean(reading, name, FOUR, n, lambda row: row["stamp_entries_mean"])
            for n in reading.sizes
        ]
        steady = max(found) <= 2 * min(found)
        sizes = [reading.mean(name, FOUR, n, "stamp_entries_mean") for n in reading.sizes]
        if not is_steady(*sizes):
            lines.append(f"- {_title(name)}: {UNSETTLED}.\n")
            continue
        lines.append(
            f"- {_title(name)}: the vector has {number(found[0])} elements with {first} processes "
            f"and {number(found[-1])} with {size}; that it depends on the group and not on the "
            f"system {holds(steady)}.\n"
        )
    best = min(daisies, key=lambda name: _mean(reading, name, EVERYBODY, size, _with_messages))
    lines.append(_destinations(reading, best))
    lines.append(_against(reading, best, "vector", EVERYBODY, reading.sizes))
    with_matrix = [n for n in reading.sizes if reading.derived("matrix", FOUR, n, _packets)]
    best = min(daisies, key=lambda name: _mean(reading, name, FOUR, size, _with_messages))
    lines.append(_against(reading, best, "matrix", FOUR, with_matrix))
    told = _against(reading, best, "optimal", FOUR, reading.sizes).rstrip()
    lines.append(f"{told} {_little(reading, size)}")
    lines.append(_price(reading, best, size))
    return "\n## The answer\n\n" + "".join(lines)


def _destinations(reading: Reading, name: str) -> str:
    """The vector is not all that a packet carries."""
    first, size = reading.sizes[0], reading.sizes[-1]
    both = [reading.derived(name, EVERYBODY, n, _per_packet) for n in (first, size)]
    if not is_steady(*both):
        return f"- what a packet of a daisy carries: {UNSETTLED}.\n"
    few, many = (_mean(reading, name, EVERYBODY, n, _per_packet) for n in (first, size))
    word = "grows" if many > few else "does not grow"
    return (
        f"- what a packet of a daisy carries {word} all the same, from {number(few)} bytes to "
        f"{number(many)}: a message to everybody names its destinations, a bit for each process, "
        f"which makes {first // 8} bytes and {size // 8}. The paper does not count them.\n"
    )


def _little(reading: Reading, size: int) -> str:
    """Why the optimal algorithm carries next to nothing here."""
    share = _mean(reading, "optimal", FOUR, size, lambda row: row["messages"] / row["processes"])
    return (
        f"`optimal` carries only what is not known to be delivered, and a process sends "
        f"{number(share)} messages in these runs with {size}: that is a system in which hardly "
        f"anybody knows of anybody. With more traffic its stamps grow (see [pairs](pairs.md)), "
        f"those of a daisy do not. Nor does `optimal` survive the loss of a packet, or of a "
        f"process.\n"
    )


def _against(reading: Reading, name: str, other: str, workload: str, sizes: Sequence[int]) -> str:
    told = []
    for size in sizes:
        data = _times(reading, name, other, workload, size, _with_messages)
        every = _times(reading, name, other, workload, size, _everything)
        if data and every:
            told.append(f"with {size} processes {data} and {every}")
    return (
        f"- {workload}: ordering bytes on the packets that carry a message, and on all packets, "
        f"{_title(name)} against {_title(other)}: " + "; ".join(told) + ".\n"
    )


def _times(
    reading: Reading, name: str, other: str, workload: str, size: int, value: Value
) -> str | None:
    mine = reading.derived(name, workload, size, value)
    theirs = reading.derived(other, workload, size, value)
    if mine is None or theirs is None or not theirs.mean:
        return None
    if not is_steady(mine, theirs):
        return "not steady"
    word = "fewer" if is_less(mine, theirs) else "more" if is_less(theirs, mine) else "as many"
    return f"{number(mine.mean / theirs.mean)} times ({word})"


def _price(reading: Reading, name: str, size: int) -> str:
    values: tuple[Value, ...] = (_packets, _control, lambda row: row["delay_s_mean"])
    needed = [reading.derived(name, FOUR, size, value) for value in values]
    if not is_steady(*needed, reading.mean("optimal", FOUR, size, "delay_s_mean")):
        return f"- the price, with {size} processes and messages to four: {UNSETTLED}.\n"
    delay = _mean(reading, name, FOUR, size, lambda row: row["delay_s_mean"])
    flat = _mean(reading, "optimal", FOUR, size, lambda row: row["delay_s_mean"])
    packets = _mean(reading, name, FOUR, size, _packets)
    control = _mean(reading, name, FOUR, size, _control)
    times = f"{number(delay / flat)} times later" if flat else "later"
    return (
        f"- the price, with {size} processes and messages to four: {number(packets)} packets for a "
        f"message, delivery {times} than straight, and {number(control)} packets a second of each "
        f"process for views and stability.\n"
    )


def _mean(reading: Reading, name: str, workload: str, size: int, value: Value) -> float:
    found: Estimate | None = reading.derived(name, workload, size, value)
    return found.mean if found else 0.0


ANSWER = Answer(
    "Daisy against flat vectors and matrices",
    PAPER,
    body,
    (
        Picture("everybody", r"stamp-bytes-mean-\d+", "everybody", "Bytes of a stamp, broadcasts"),
        Picture("four", r"stamp-bytes-mean-\d+", "four", "Bytes of a stamp, messages to four"),
    ),
)
