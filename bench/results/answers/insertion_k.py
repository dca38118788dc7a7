"""What k trades: three of the four open questions of "insertion"."""

from collections.abc import Callable

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import Reading, number, table, with_interval

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
"""
BASE = "optimal"


def body(reading: Reading) -> str:
    return traffic() + extra_messages(reading) + total_bytes(reading) + waiting(reading)


def traffic() -> str:
    return (
        "\n*anybody*: every message goes to one other process. *neighbours*: likewise, but only to "
        "one of two neighbours in a ring. *sets*: to a quarter of the processes.\n"
    )


def extra_messages(reading: Reading) -> str:
    found = _grid(
        reading,
        reading.variants("bounded"),
        lambda v, w, n: reading.mean(v, w, n, "control_per_message"),
    )
    low, high = reading.variants("bounded")[0], reading.variants("bounded")[-1]
    middle = "bounded k=2n"
    largest, smallest = reading.sizes[-1], reading.sizes[0]
    lines = []
    for workload in reading.workloads:
        at = {
            name: _mean(reading, name, workload, largest, "control_per_message")
            for name in (low, middle, high)
        }
        if not any(at.values()):
            lines.append(f"- {workload}: with {largest} processes there are none, whatever k is.\n")
            continue
        before = _mean(reading, middle, workload, smallest, "control_per_message")
        lines.append(
            f"- {workload}: with {largest} processes they fall from {number(at[low])} a message at "
            f"{_k(low)} to {number(at[middle])} at {_k(middle)} and {number(at[high])} at "
            f"{_k(high)}. At {_k(middle)} {_grow(before, at[middle])} as n grows from {smallest} "
            f"to {largest}.\n"
        )
    return (
        "\n## Extra messages against k\n\nExtra messages for one application message, mean over a "
        "run.\n" + found + "\n" + "".join(lines)
    )


def total_bytes(reading: Reading) -> str:
    measure = "ordering_bytes_per_message"
    found = _grid(
        reading,
        [*reading.variants("bounded"), "matrix"],
        lambda v, w, n: reading.ratio(v, BASE, w, n, measure),
    )
    size = reading.sizes[-1]
    lines = [
        f"- {workload}, {size} processes: {_bytes_verdict(reading, workload, size)}.\n"
        for workload in reading.workloads
    ]
    return (
        f"\n## Bytes in all against `{BASE}`\n\nAll ordering information of a run, on messages and "
        f"on extra messages, as a multiple of that of `{BASE}` on the same traffic. Headers of "
        f"packets do not count.\n" + found + "\n" + "".join(lines)
    )


def _bytes_verdict(reading: Reading, workload: str, size: int) -> str:
    """Which k needs least, and whether that is less than the optimal algorithm."""
    measure = "ordering_bytes_per_message"
    ratios = {
        name: ratio
        for name in reading.variants("bounded")
        if (ratio := reading.ratio(name, BASE, workload, size, measure))
    }
    best = min(ratios, key=lambda name: ratios[name].mean)
    worst = max(ratios, key=lambda name: ratios[name].mean)
    if ratios[best].mean == ratios[worst].mean:
        told = f"{number(ratios[best].mean)} times the bytes of `{BASE}`, whatever k is"
    else:
        told = (
            f"{_k(best)} needs the fewest bytes, {number(ratios[best].mean)} times those of "
            f"`{BASE}`, and {_k(worst)} the most, {number(ratios[worst].mean)} times"
        )
    if ratios[best].low > 1:
        return f"{told}: `{BASE}` is cheaper whatever k is"
    if ratios[best].high >= 1:
        return f"{told}: the least is no more than chance away from `{BASE}`"
    extra = _mean(reading, best, workload, size, "control_per_message")
    if not extra:
        return f"{told}, without extra messages: what is least in information is not in bytes"
    saved = -_mean_difference(reading, best, workload, size, measure)
    return (
        f"{told}. That saves {number(saved)} bytes a message at the price of {number(extra)} extra "
        f"messages: a header of more than {number(saved / extra)} bytes on each of them makes "
        f"`{BASE}` the cheaper one"
    )


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


def _mean_difference(
    reading: Reading, variant: str, workload: str, size: int, measure: str
) -> float:
    found = reading.difference(variant, BASE, workload, size, measure)
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
