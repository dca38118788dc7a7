"""What k trades: three of the four open questions of "insertion"."""

from collections.abc import Callable, Mapping

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import UNSETTLED, Reading, is_steady, number, table, with_interval

PAPER = """
C. Sanchez and A. Alvarez, "A lightweight asynchronous algorithm for causal delivery using extra
message insertion", section 5, name as future work, without figures:

- the impact of the number of extra messages in practice;
- the total size of all messages in relation to that of the algorithm that they call optimal
  (Kshemkalyani, Singhal);
- the time lost because messages wait for extra messages;
- different values of k at different processes: see [insertion-mixed](insertion-mixed.md).

The protocol is `bounded`: a process that has k entries in its matrix sends extra messages until it
has fewer, n ≤ k ≤ n².

The paper adds that "a schema like the one used in [7]" (A. Mostefaui and O. Theel, "Reduction of
timestamp sizes for causal event ordering", IRISA 1996) can probably do with fewer extra messages.
It says nothing else of that scheme, neither what it sends nor when, so there is none to measure.
"""
BASE = "optimal"
HEADER_BYTES = 28
"""Of IPv4 and UDP, without options: 20 and 8."""
EXTRA, BYTES = "control_per_message", "ordering_bytes_per_message"


def body(reading: Reading) -> str:
    return (
        traffic(reading)
        + extra_messages(reading)
        + total_bytes(reading)
        + with_headers(reading)
        + waiting(reading)
    )


def traffic(reading: Reading) -> str:
    return (
        "\n*anybody*: every message goes to one other process. *neighbours*: likewise, but only to "
        "one of two neighbours in a ring. *clients*: a quarter of the processes are servers and "
        "answer what the others ask. *sets*: to a quarter of the processes.\n\nRun lengths: "
        f"{reading.lengths()}.\n"
    )


def extra_messages(reading: Reading) -> str:
    names = reading.variants("bounded")
    found = _grid(reading, names, lambda v, w, n: reading.mean(v, w, n, EXTRA))
    low, middle, high = names[0], "bounded k=2n", names[-1]
    largest, smallest = reading.sizes[-1], reading.sizes[0]
    lines = []
    for workload in reading.workloads:
        at = [reading.mean(name, workload, largest, EXTRA) for name in (low, middle, high)]
        before = reading.mean(middle, workload, smallest, EXTRA)
        if not is_steady(*at, before):
            lines.append(f"- {workload}: {UNSETTLED}.\n")
            continue
        few, some, many, less = (each.mean if each else 0.0 for each in (*at, before))
        if not any((few, some, many)):
            lines.append(f"- {workload}: with {largest} processes there are none, whatever k is.\n")
            continue
        lines.append(
            f"- {workload}: with {largest} processes they fall from {number(few)} a message at "
            f"{_k(low)} to {number(some)} at {_k(middle)} and {number(many)} at {_k(high)}. At "
            f"{_k(middle)} {_grow(less, some)} as n grows from {smallest} to {largest}.\n"
        )
    return (
        "\n## Extra messages against k\n\nExtra messages for one application message.\n"
        + found
        + "\n"
        + "".join(lines)
    )


def total_bytes(reading: Reading) -> str:
    return (
        f"\n## Bytes in all against `{BASE}`\n\nAll ordering information, on messages and on extra "
        f"messages, as a multiple of that of `{BASE}` on the same traffic. Headers of packets do "
        f"not count.\n" + _bytes_grid(reading, 0) + "\n" + _verdicts(reading, 0)
    )


def with_headers(reading: Reading) -> str:
    return (
        f"\n## The same with packet headers\n\nWith {HEADER_BYTES} bytes (IPv4 and UDP) on every "
        f"packet, extra messages included; messages have no content.\n"
        + _bytes_grid(reading, HEADER_BYTES)
        + "\n"
        + _verdicts(reading, HEADER_BYTES)
    )


def _bytes_grid(reading: Reading, header: int) -> str:
    return _grid(
        reading,
        [*reading.variants("bounded"), "matrix"],
        lambda v, w, n: _bytes_ratio(reading, v, w, n, header),
    )


def _bytes_ratio(
    reading: Reading, variant: str, workload: str, size: int, header: int
) -> Estimate | None:
    """Against the optimal algorithm; with headers, on as many packets as each sends."""

    def value(row: Mapping[str, float]) -> float:
        return row[BYTES] + (header * row["packets_per_message"] if header else 0.0)

    return reading.compared(
        variant, BASE, workload, size, lambda mine, theirs: value(mine) / value(theirs)
    )


def _verdicts(reading: Reading, header: int) -> str:
    size = reading.sizes[-1]
    return "".join(
        f"- {workload}, {size} processes: {_bytes_verdict(reading, workload, size, header)}.\n"
        for workload in reading.workloads
    )


def _bytes_verdict(reading: Reading, workload: str, size: int, header: int) -> str:
    """Which k needs least, and whether that is less than the optimal algorithm: of those that were
    steady."""
    ratios = {
        name: ratio
        for name in reading.variants("bounded")
        if (ratio := _bytes_ratio(reading, name, workload, size, header)) and is_steady(ratio)
    }
    if not ratios:
        return UNSETTLED
    best = min(ratios, key=lambda name: ratios[name].mean)
    worst = max(ratios, key=lambda name: ratios[name].mean)
    if ratios[best].mean == ratios[worst].mean:
        told = f"{number(ratios[best].mean)} times the bytes of `{BASE}`, whatever k is"
    else:
        told = (
            f"{_k(best)} needs the fewest bytes, {number(ratios[best].mean)} times those of "
            f"`{BASE}`, and {_k(worst)} the most, {number(ratios[worst].mean)} times"
        )
    if len(ratios) < len(reading.variants("bounded")):
        told = f"of what is steady, {told}"
    if ratios[best].low > 1:
        return f"{told}: `{BASE}` is cheaper"
    if ratios[best].high >= 1:
        return f"{told}: the least is no more than chance away from `{BASE}`"
    extra = reading.mean(best, workload, size, EXTRA)
    if extra and not extra.mean and not header:
        return f"{told}, without extra messages: what is least in information is not in bytes"
    return told


def waiting(reading: Reading) -> str:
    def lost(variant: str, workload: str, size: int) -> Estimate | None:
        return reading.compared(
            variant,
            BASE,
            workload,
            size,
            lambda mine, theirs: (
                (mine["delay_s_mean"] - theirs["delay_s_mean"]) / theirs["network_s_mean"]
            ),
        )

    found = _grid(reading, reading.variants("bounded"), lost)
    size = reading.sizes[-1]
    names = reading.variants("bounded")
    lines = []
    for workload in reading.workloads:
        low, high = lost(names[0], workload, size), lost(names[-1], workload, size)
        if not is_steady(low, high):
            lines.append(f"- {workload}, {size} processes: {UNSETTLED}.\n")
            continue
        held = _mean(reading, BASE, workload, size, "hold_s_mean")
        factor = _mean(reading, names[0], workload, size, "hold_s_mean") / held if held else None
        times = f", {number(factor)} times what causality asks for" if factor else ""
        lines.append(
            f"- {workload}, {size} processes: a message is {_value(low)} network delays later at "
            f"{_k(names[0])} and {_value(high)} at {_k(names[-1])}. At {_k(names[0])} it is held "
            f"for {number(_in_delays(reading, names[0], workload, size))} delays on "
            f"average{times}.\n"
        )
    return (
        f"\n## Time lost to waiting\n\nHow much later than with `{BASE}`, which holds nothing "
        f"longer than causality asks for, a message is delivered: in mean network delays, on the "
        f"same traffic with the same delays.\n" + found + "\n" + "".join(lines)
    )


def _grid(
    reading: Reading, names: list[str], cell: Callable[[str, str, int], Estimate | None]
) -> str:
    columns = [(workload, size) for workload in reading.workloads for size in reading.sizes]
    heads = [f"{workload}, n = {size}" for workload, size in columns]
    rows = [
        [_k(name), *(with_interval(cell(name, workload, size)) for workload, size in columns)]
        for name in names
    ]
    return table(["", *heads], rows)


def _k(variant: str) -> str:
    """`k = 2n` for `bounded k=2n`."""
    protocol, _, option = variant.partition(" ")
    return option.replace("=", " = ").replace("^2", "²") or f"`{protocol}`"


def _mean(reading: Reading, variant: str, workload: str, size: int, measure: str) -> float:
    found = reading.mean(variant, workload, size, measure)
    return found.mean if found else 0.0


def _in_delays(reading: Reading, variant: str, workload: str, size: int) -> float:
    found = reading.derived(
        variant, workload, size, lambda row: row["hold_s_mean"] / row["network_s_mean"]
    )
    return found.mean if found else 0.0


def _value(found: Estimate | None) -> str:
    return "no" if found is None else number(found.mean)


def _grow(before: float, after: float) -> str:
    if not before and not after:
        return "there are none"
    word = "grow" if after > before else "fall"
    return f"they {word} from {number(before)} to {number(after)}"


ANSWER = Answer(
    "Insertion: what k trades",
    PAPER,
    body,
    (
        Picture(
            "extra",
            r"against-\d+-control-per-message",
            "anybody",
            "Extra messages against k, messages to anybody",
        ),
        Picture(
            "bytes",
            r"against-\d+-ordering-bytes-per-message",
            "anybody",
            "Ordering bytes against k, messages to anybody",
        ),
    ),
)
