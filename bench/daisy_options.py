"""What the optimisations of the daisy (section 3.4 of its paper) and packing save and cost: the
page docs/results/daisy-options.md. `python -m bench.daisy_options` writes it, in a few minutes."""

from pathlib import Path
from typing import Any

from bench.daisy import DELAY_S, SEED, Result, Setting, measure, together
from bench.docs import ROOT, markdown

PAGE = ROOT / "docs" / "results" / "daisy-options.md"
SIZES = (8, 8)
MESSAGES = 60
SEEDS = (SEED, SEED + 1, SEED + 2)
WAYS: dict[str, dict[str, Any]] = {
    "none": {},
    "1: `forward=delivered`": {"forward": "delivered"},
    "1: `forward=received`": {"forward": "received"},
    "2: `local=recipients`, `copies=0`": {"local": "recipients", "copies": 0},
    "2: `local=recipients`, `copies=1`": {"local": "recipients", "copies": 1},
    "2: `local=recipients`, `copies=2`": {"local": "recipients", "copies": 2},
    "3: `local=server`": {"local": "server"},
}
TRAFFIC: dict[str, tuple[int, float]] = {
    "To one of the sender's group": (1, 0.0),
    "To one of all": (1, 1.0),
    "To eight of all": (8, 1.0),
}
"""The destinations, and the share of messages that go beyond the group of their sender."""
RATES = (20.0, 200.0, 2000.0)
PACK_S = (0.0, 0.05, 0.2)
PACKED_TO = 8
"""Where packing is measured: messages a second of all processes together, and their
destinations."""
INTRODUCTION = f"""# The daisy's optimisations, and their price

Written by `python -m bench.daisy_options`; do not edit. {SIZES[1]} local groups of {SIZES[0]};
{MESSAGES} messages of anybody, {Setting(SIZES, 1, MESSAGES).rate:g} a second; traffic and delays of
{len(SEEDS)} seeds, {DELAY_S * 1e3:g} ms in the mean; nothing lost, nobody crashes. *Data* are
packets that carry the message, repetitions included, and *integers* the vectors, matrices and
Lamport times on them; *control* are acknowledgements, word of what is stable, safe and done, and
heartbeats while a group is at work. *Bytes* are everything but the application's payload. *Load*:
packets sent and received by one process, data and control. All figures are for one multicast. What
the options do, and which crashes each survives: [the daisy](../daisy.md).
"""
COLUMNS = (
    *("optimisation", "data", "integers", "bytes", "control", "bytes", "delay, ms", "99 %"),
    *("load of a server", "of another"),
)


PACKING_COLUMNS = (
    *("messages a second", "`pack_s`", "data", "bytes", "control", "bytes", "delay, ms", "99 %"),
    "load of a server",
)


def write() -> Path:
    found = {
        title: {name: cost(*traffic, options) for name, options in WAYS.items()}
        for title, traffic in TRAFFIC.items()
    }
    text = INTRODUCTION
    for title, ways in found.items():
        text += f"\n## {title}\n\n" + markdown(COLUMNS, map(row, ways, ways.values()))
    text += conclusion(found) + packing()
    aside = PAGE.with_suffix(".part")
    aside.write_text(text, "utf-8")
    aside.replace(PAGE)
    return PAGE


def cost(
    destinations: int, share: float, options: dict[str, Any], rate: float = RATES[0]
) -> Result:
    settings = [Setting(SIZES, destinations, MESSAGES, share, rate, seed) for seed in SEEDS]
    return together([measure(setting, **options) for setting in settings])


def row(name: str, result: Result) -> list[str]:
    if result.violations or result.undelivered:
        name += f" ({result.violations} early, {result.undelivered} undelivered)"
    return [
        name,
        f"{result.data:.1f}",
        f"{result.data_integers:,.0f}",
        f"{result.data_bytes:,.0f}",
        f"{result.control:.0f}",
        f"{result.control_bytes:,.0f}",
        f"{1e3 * result.delay_s:.0f}",
        f"{1e3 * result.delay_p99_s:.0f}",
        f"{result.loads[0]:.2f}",
        f"{result.loads[2]:.2f}",
    ]


def conclusion(found: dict[str, dict[str, Result]]) -> str:
    """Every optimisation against none."""
    rows = [
        [name, *(_ratios(ways[name], ways["none"]) for ways in found.values())]
        for name in WAYS
        if name != "none"
    ]
    return (
        "\n## Against none of them\n\nData packets, bytes in all, and delay: how many times those "
        "without any optimisation.\n\n"
        + markdown(("optimisation", *(title.lower() for title in found)), rows)
    )


def packing() -> str:
    """The longer a message may wait, the more travel with it: where there are more."""
    rows = [
        [f"{rate:,.0f}", f"{pack_s:g}", *packed(cost(PACKED_TO, 1.0, {"pack_s": pack_s}, rate))]
        for rate in RATES
        for pack_s in PACK_S
    ]
    rates = [f"{rate:,.0f}" for rate in RATES]
    return (
        "\n## Packing\n\nA message may wait `pack_s` seconds for others, to travel with them in "
        f"one packet: in the group of its sender, and wherever it is sent on. To {PACKED_TO} of "
        f"all, with {', '.join(rates[:-1])} and {rates[-1]} messages a second of all processes "
        "together; data packets count once, however many messages they carry.\n\n"
        + markdown(PACKING_COLUMNS, rows)
    )


def packed(result: Result) -> list[str]:
    """The cells that packing changes."""
    name, data, _, data_bytes, control, control_bytes, mean, most, load, _ = row("", result)
    return [data + name, data_bytes, control, control_bytes, mean, most, load]


def _ratios(result: Result, none: Result) -> str:
    ratios = (
        result.data / none.data,
        _all_bytes(result) / _all_bytes(none),
        result.delay_s / none.delay_s,
    )
    return ", ".join(f"{ratio:.2f}" for ratio in ratios)


def _all_bytes(result: Result) -> float:
    return result.data_bytes + result.control_bytes


if __name__ == "__main__":
    print(f"written: {write()}")
