"""Slow, Relative and Fast against vectors, on groups that overlap."""

from collections.abc import Callable

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer, Picture
from bench.results.reading import Reading, holds, is_less, number, table, with_interval

PAPER = """
R. Macêdo, "Causal order protocols for group communication", claims in sections 5.1 and 6, without
figures of measurements:

- Slow has the smallest timestamps, one number, and waits the longest;
- Fast delivers as early as possible, and has the largest timestamps of the three;
- Relative stands between the two in both; in a single group it, too, delivers as early as possible;
- Fast carries less than the vectors of all groups (CBCAST, here `vector`) as soon as groups overlap
  (section 5.4).
"""
ONE = "one"
TINY = 1e-9
COLUMNS: dict[str, Callable[[dict[str, float]], float]] = {
    "elements": lambda row: row["stamp_entries_mean"],
    "bytes": lambda row: row["stamp_bytes_mean"],
    "null messages a message": lambda row: row["control_per_message"],
    "all ordering bytes a message": lambda row: row["ordering_bytes_per_message"],
    "held": lambda row: row["hold_s_mean"] / row["network_s_mean"],
    "of it needlessly": lambda row: (
        (row["unnecessary_s_mean"] + row["inherited_s_mean"]) / row["network_s_mean"]
    ),
    "delay": lambda row: row["delay_s_mean"] / row["network_s_mean"],
}
SPACE, HELD, NEEDLESS, DELAY = "elements", "held", "of it needlessly", "delay"


def body(reading: Reading) -> str:
    size = reading.sizes[-1]
    text = (
        f"\n## Space and delay, {size} processes\n\n*Silence* is how long a process may owe a null "
        f"message before it sends it. *Held* (from arrival to delivery), its part that causality "
        f"did not ask for, and *delay* (from send to delivery) are in mean network delays. Links "
        f"are FIFO for all, so a part of the waiting is the link's.\n"
    )
    titles = {
        ONE: "One group of all processes",
        "ring": "A ring of groups of three, each of which overlaps with two others",
        "dense": "Random groups of half of the processes, half as many as there are processes",
    }
    for workload in reading.workloads:
        rows = [
            [
                _silence(name),
                *(
                    with_interval(reading.derived(name, workload, size, value))
                    for value in COLUMNS.values()
                ),
            ]
            for name in _names(reading)
        ]
        text += f"\n{titles.get(workload, workload)}:\n" + table(["", *COLUMNS], rows)
    return text + _claims(reading, size) + _growth(reading)


def _names(reading: Reading) -> list[str]:
    protocols = ("blocks-slow", "blocks-relative", "blocks-fast", "vector")
    return [name for protocol in protocols for name in reading.variants(protocol)]


def _silence(variant: str) -> str:
    protocol, _, option = variant.partition(" silence_s=")
    return f"`{protocol}`" + (f", silence {option} s" if option else "")


def _claims(reading: Reading, size: int) -> str:
    """Each claim against the figures, with the shortest silence."""
    slow, relative, fast, vector = (
        reading.variants(protocol)[0]
        for protocol in ("blocks-slow", "blocks-relative", "blocks-fast", "vector")
    )

    def value(name: str, workload: str, column: str) -> Estimate | None:
        return reading.derived(name, workload, size, COLUMNS[column])

    def mean(name: str, workload: str, column: str) -> str:
        found = value(name, workload, column)
        return number(found.mean) if found else "–"

    def three(column: str, workload: str) -> str:
        return ", ".join(mean(name, workload, column) for name in (slow, relative, fast))

    lines = []
    for workload in reading.workloads:
        if workload == ONE:
            continue
        grow = all(
            is_less(value(one, workload, SPACE), value(other, workload, SPACE))
            for one, other in ((slow, relative), (relative, fast))
        )
        shrink = all(
            is_less(value(other, workload, DELAY), value(one, workload, DELAY))
            for one, other in ((slow, relative), (relative, fast))
        )
        early = _is_zero(value(fast, workload, NEEDLESS))
        smaller = is_less(value(fast, workload, SPACE), value(vector, workload, SPACE))
        lines.append(
            f"- {workload}: that timestamps grow from Slow over Relative to Fast {holds(grow)} "
            f"({three(SPACE, workload)} elements); that delays shrink likewise {holds(shrink)} "
            f"({three(DELAY, workload)} network delays).\n"
        )
        lines.append(
            f"- {workload}: that Fast delivers as early as possible {holds(early)}: it holds a "
            f"message {mean(fast, workload, NEEDLESS)} delays longer than needed; `vector` "
            f"{mean(vector, workload, NEEDLESS)}. That it carries less than the vectors of all "
            f"groups {holds(smaller)} ({mean(fast, workload, SPACE)} elements against "
            f"{mean(vector, workload, SPACE)}).\n"
        )
    if ONE in reading.workloads:
        early = all(_is_zero(value(name, ONE, NEEDLESS)) for name in (relative, fast))
        lines.append(
            f"- one group: that Relative and Fast deliver as early as possible {holds(early)} "
            f"(needlessly held: {mean(relative, ONE, NEEDLESS)} and {mean(fast, ONE, NEEDLESS)}; "
            f"Slow {mean(slow, ONE, NEEDLESS)}).\n"
        )
    return (
        "\n## The claims\n\nTwo figures differ where their intervals do not meet; with the "
        "shorter silence.\n\n" + "".join(lines) + REPAIR
    )


REPAIR = """
Where Fast waits needlessly on overlapping groups, it is the repaired protocol that does: as printed
it is not live there (see the [errata](../errata.md)), and what makes it live costs time and null
messages. The paper counts neither null messages nor their bytes; the tables do.
"""


def _is_zero(found: Estimate | None) -> bool:
    return found is not None and abs(found.mean) < TINY


def _growth(reading: Reading) -> str:
    text = "\n## Growth\n\nElements of a timestamp, and the delay in mean network delays.\n"
    for workload in reading.workloads:
        rows = [
            [
                _silence(name),
                *(
                    with_interval(reading.derived(name, workload, size, COLUMNS[column]))
                    for column in (SPACE, DELAY)
                    for size in reading.sizes
                ),
            ]
            for name in _names(reading)
        ]
        heads = [f"{column}, n = {size}" for column in (SPACE, DELAY) for size in reading.sizes]
        text += f"\n{workload}:\n" + table(["", *heads], rows)
    return text


ANSWER = Answer(
    "Blocks: space against delay on overlapping groups",
    PAPER,
    body,
    (
        Picture("ring", r"space-delay-\d+", "ring", "Space against delay, a ring of groups"),
        Picture("dense", r"space-delay-\d+", "dense", "Space against delay, random groups"),
    ),
)
