"""Different k at different processes: the other open question of "insertion"."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from antecede.report.charts.canvas import Estimate
from bench.results.answers.contract import Answer
from bench.results.reading import (
    UNSETTLED,
    Reading,
    is_less,
    is_steady,
    number,
    table,
    with_interval,
)

PAPER = """
C. Sanchez and A. Alvarez, "A lightweight asynchronous algorithm for causal delivery using extra
message insertion", section 5, name as future work, without figures, the influence of different
values of k at different processes. The other questions are on [insertion-k](insertion-k.md).
"""
ALL_LARGE = "bounded k=n^2"
BYTES = "ordering_bytes_per_message"
MEASURES = {
    "extra messages a message": "control_per_message",
    "ordering bytes a message": BYTES,
    "delay, s": "delay_s_mean",
}


def body(reading: Reading) -> str:
    (size,) = reading.sizes
    (workload,) = reading.workloads
    budgets: dict[int, list[str]] = {}
    for name in reading.variants("bounded"):
        budgets.setdefault(sum(thresholds(reading, name, size)), []).append(name)
    shared = [names for names in budgets.values() if len(names) > 1]
    rows = [
        [
            shown(thresholds(reading, name, size)),
            number(sum(thresholds(reading, name, size)) / size),
            *(with_interval(reading.mean(name, workload, size, m)) for m in MEASURES.values()),
        ]
        for names in budgets.values()
        for name in names
    ]
    return (
        f"\n## The same and different\n\n{size} processes; every message goes to one other "
        f"process ({reading.lengths()}). The lists with the same mean of k have the same room in "
        "all.\n"
        + table(("k", "mean of k", *MEASURES), rows)
        + "".join(_same_budget(reading, names, workload, size) for names in shared)
        + _who_pays(reading, workload, size)
    )


def thresholds(reading: Reading, variant: str, size: int) -> list[int]:
    """The k of every process."""
    given = reading.results.options[variant]["k"]
    if isinstance(given, list):
        return given
    return [
        size**2 if given == "n^2" else int(reading.results.option(variant, "k", size) or 0)
    ] * size


def shown(each: Sequence[int]) -> str:
    """How many processes have which k."""
    counted = sorted(Counter(each).items())
    if len(counted) == 1:
        return f"all {counted[0][0]}"
    return ", ".join(f"{count} × {k}" for k, count in counted)


def _same_budget(reading: Reading, names: Sequence[str], workload: str, size: int) -> str:
    """Whether all the same is best among those with one budget."""
    same = [name for name in names if len({*thresholds(reading, name, size)}) == 1]
    lines = []
    for title, measure in MEASURES.items():
        found = {
            name: value
            for name in names
            if (value := reading.mean(name, workload, size, measure)) and is_steady(value)
        }
        if len(found) < len(names):
            lines.append(f"- {title}: not all runs were steady, so that nothing is concluded.\n")
            continue
        best = min(found, key=lambda name: found[name].mean)
        worst = max(found, key=lambda name: found[name].mean)
        told = (
            f"- {title}: least with {shown(thresholds(reading, best, size))} "
            f"({number(found[best].mean)}), most with {shown(thresholds(reading, worst, size))} "
            f"({number(found[worst].mean)})"
        )
        for name in same:
            beaten = [other for other in found if is_less(found[other], found[name])]
            told += (
                f"; {len(beaten)} of {len(found) - 1} mixtures beat the same k for all by more "
                f"than chance"
            )
        lines.append(f"{told}.\n")
    mean = number(sum(thresholds(reading, names[0], size)) / size)
    return f"\nWith a mean of {mean}:\n\n" + "".join(lines)


def _who_pays(reading: Reading, workload: str, size: int) -> str:
    """Where the others have n², nobody but those with a small k sends extra messages."""
    few: dict[int, tuple[str, Estimate]] = {}
    for name in reading.variants("bounded"):
        each = thresholds(reading, name, size)
        low = [k for k in each if k != size**2]
        extra = reading.mean(name, workload, size, "control_per_message")
        if extra and low and {*low} == {size}:
            few[len(low)] = (name, _scaled(extra, size / len(low)))
    rows = [[str(count), with_interval(extra)] for count, (_, extra) in sorted(few.items())]
    return (
        f"\n## Who pays\n\nSome processes have k = n = {size}, all others n². Extra messages that "
        "one of the first kind sends for each application message of its own, if the others send "
        "none.\n"
        + table(("processes with k = n", "extra messages"), rows)
        + _verdict(reading, workload, size, few)
    )


def _verdict(
    reading: Reading, workload: str, size: int, few: Mapping[int, tuple[str, Estimate]]
) -> str:
    least, most = few[min(few)][1], few[max(few)][1]
    told = _bytes_told(reading, workload, size, few)
    if not is_steady(least, most):
        return f"\nWho pays: {UNSETTLED}.\n{told}"
    differ = is_less(least, most) or is_less(most, least)
    depends = "depends on" if differ else "does not, beyond chance, depend on"
    return (
        f"\nWhat a process with k = n sends {depends} how many others have it: "
        f"{number(least.mean)} extra messages for one of its own where {min(few)} of {size} has "
        f"it, {number(most.mean)} where {max(few)} have.\n{told}"
    )


def _bytes_told(
    reading: Reading, workload: str, size: int, few: Mapping[int, tuple[str, Estimate]]
) -> str:
    """Whether a small k at some makes fewer ordering bytes than n² at everybody: by the differences
    between runs on the same traffic."""
    lines = []
    for count, (name, _) in sorted(few.items()):
        difference = reading.difference(name, ALL_LARGE, workload, size, BYTES)
        mixed, free = (reading.mean(one, workload, size, BYTES) for one in (name, ALL_LARGE))
        if count == size or difference is None or mixed is None or free is None:
            continue
        if not is_steady(difference):
            verdict = UNSETTLED
        elif difference.high < 0:
            verdict = "fewer"
        elif difference.low > 0:
            verdict = "more"
        else:
            verdict = "within the interval: these runs do not tell them apart"
        lines.append(
            f"- {count} × {size} beside {size - count} × {size**2}: {number(mixed.mean)} bytes a "
            f"message against {number(free.mean)}, a difference of {with_interval(difference)}: "
            f"{verdict}.\n"
        )
    return (
        "\nOrdering bytes in all, with a small k at some, against n² at everybody:\n\n"
        + "".join(lines)
    )


def _scaled(found: Estimate, factor: float) -> Estimate:
    return replace(
        found, mean=found.mean * factor, low=found.low * factor, high=found.high * factor
    )


ANSWER = Answer("Insertion: different k at different processes", PAPER, body)
