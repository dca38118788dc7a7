"""`antecede protocols`: the table of protocols, or all about one."""

import re
import shutil
import textwrap
from typing import Annotated, Any

import msgspec
import typer

from antecede.cli._plain import flowed
from antecede.cli._shared import JsonFlag, print_json, print_table
from antecede.order import Addressing, Gives, Options, Order, Traits
from antecede.protocols import algorithm, find, names

ADDRESSING = {
    Addressing.ONE_GROUP: "one group",
    Addressing.GROUPS: "overlapping groups",
    Addressing.SETS: "any set",
}
GIVES = {Gives.NOTHING: "nothing", Gives.FIFO: "FIFO", Gives.CAUSAL: "causal order"}
COLUMNS = (
    *("protocol", "what it is", "paper", "gives", "addresses", "channels", "survives"),
    *("state", "options"),
)


NARROW = ("protocol", "what it is", "gives", "survives")
"""The columns of `antecede protocols`: what fits a terminal of 80 characters."""


def protocols(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Tell all about this one.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """List the protocols: what each needs and gives; or tell all about one.

    Example: antecede protocols bounded
    """
    orders = [find(name)] if name else [find(name) for name in names()]
    if as_json:
        print_json([describe(order) for order in orders])
    elif name:
        width = min(100, shutil.get_terminal_size().columns)
        print("\n".join(_wrapped(line, width) for line in portrait(orders[0]).splitlines()))
    else:
        print_table(NARROW, map(narrow_row, orders), text=len(NARROW))
        print("\n* under options; antecede protocols NAME tells all about one.")


def portrait(order: type[Order]) -> str:
    """All about a protocol, in words: how it works, what it needs and gives, its options. A
    paragraph is a line."""
    facts = zip(COLUMNS[2:-1], row(order)[2:-1], strict=True)
    width = max(map(len, COLUMNS))
    told = flowed(_as_lists(_MAP.sub("", algorithm(order))))
    lines = [f"{order.name}: {order.traits.title}", "", *told.splitlines(), ""]
    lines += [f"{column:<{width}}  {value}" for column, value in facts]
    if cost := _cost(order):
        lines += [f"{'costs':<{width}}  {cost}"]
    defaults = order.options_type()
    fields = order.options_type.__struct_fields__
    if fields:
        lines += ["", "Options, each with its default (--option NAME=VALUE):", ""]
        values = {field: getattr(defaults, field) for field in fields}
        unset = order.options_type.unset
        lines += [
            f"  {field} = {unset.get(field, '(not set)') if value is None else to_text(value)}"
            for field, value in values.items()
        ]
        classes = [kind for kind in order.options_type.__mro__ if issubclass(kind, Options)]
        meanings = [flowed(kind.__doc__ or "") for kind in reversed(classes[:-1])]
        lines += ["", *"\n\n".join(filter(None, meanings)).splitlines()]
    return "\n".join(lines)


_MAP = re.compile(r"\n\n[^\n]*:\n\n(=+ +=+)\n.*?\n\1", re.DOTALL)
"""A table of the parts of a package, which is for those who read the code."""
_MORE_OF_A_POINT = re.compile(r"(?m)^([-*] .*)\n {2}(?=\S)")


def _as_lists(text: str) -> str:
    """The same with each point of a list in one line."""
    while (joined := _MORE_OF_A_POINT.sub(r"\1 ", text)) != text:
        text = joined
    return text


def _cost(order: type[Order]) -> str | None:
    """What the cost model says of it, on one traffic; None where that knows nothing of it."""
    from antecede.cost import Kind, Traffic, estimate  # noqa: PLC0415 - only where needed
    from antecede.cost.traffic import broadcast  # noqa: PLC0415

    is_to_one = order.traits.addressing is Addressing.SETS
    one = Traffic(
        kind=Kind.UNICAST, processes=16, copies=1.0, listed=16.0, own=16.0, neighbours=15.0
    )
    found = estimate(order.name, {}, one if is_to_one else broadcast(16))
    words = (
        ("bytes", 1.0, "a stamp of {:,.0f} B"),
        ("packets", 1.0, "{:,.1f} packets"),
        ("delay", 1e3, "{:,.0f} ms to delivery"),
    )
    told = [text.format(scale * found[name].value) for name, scale, text in words if name in found]
    if not told:
        return None
    traffic = "one message to one" if is_to_one else "one message to all"
    where = "of 16 that send 10 a second, packets taking 100 ms"
    return f"{', '.join(told)}: {traffic} {where}, estimated (docs/scale.md)"


def _wrapped(line: str, width: int) -> str:
    """A line as several; those that follow stand under the text of a list or of a table."""
    found = re.match(r"\w[\w ]{0,20}?  +(?=\S)|\s*(?:[-*] |\d+\. )?", line)
    hanging = " " * len(found[0]) if found else ""
    return textwrap.fill(line, width, subsequent_indent=hanging, break_on_hyphens=False)


def to_text(value: Any) -> str:
    """A value of an option as it is written after `--option NAME=`."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def describe(order: type[Order]) -> dict[str, Any]:
    """A protocol as JSON."""
    traits = order.traits
    return {
        "name": order.name,
        "title": traits.title,
        "paper": traits.paper,
        "gives": GIVES[traits.gives],
        "addressing": ADDRESSING[traits.addressing],
        "channels": traits.channels.value,
        "null_messages": traits.null_messages,
        "prompt": traits.prompt,
        "survives_loss": traits.survives_loss,
        "repairs_loss": traits.repairs_loss,
        "survives_crashes": traits.survives_crashes,
        "crashes_under": list(traits.crashes_under),
        "state_bound": traits.state_bound or None,
        "options": list(order.options_type.__struct_fields__),
    }


def faults(traits: Traits) -> list[str]:
    """After which faults deliveries go on among the others."""
    return ["loss"] * traits.survives_loss + ["crashes"] * traits.survives_crashes


def survives(traits: Traits) -> str:
    """The same in words, with the options that it takes; empty for none."""
    repaired = ["loss, repaired" if fault == "loss" else fault for fault in faults(traits)]
    told = repaired if traits.repairs_loss else faults(traits)
    if traits.crashes_under and not traits.survives_crashes:
        told = [*told, f"crashes under {', or '.join(traits.crashes_under)}"]
    return "; ".join(told)


def narrow_row(order: type[Order]) -> tuple[str, ...]:
    """A protocol as a row of the table of `NARROW`."""
    return (
        order.name,
        order.traits.title,
        GIVES[order.traits.gives],
        ", ".join(faults(order.traits)) or "crashes*" * bool(order.traits.crashes_under),
    )


def row(order: type[Order]) -> tuple[str, ...]:
    """A protocol as a row of the table of `COLUMNS`; README.md shows the same rows."""
    traits = order.traits
    needs = traits.channels.value + (", null messages" if traits.null_messages else "")
    return (
        order.name,
        traits.title,
        traits.paper or "–",
        GIVES[traits.gives],
        ADDRESSING[traits.addressing],
        needs,
        survives(traits) or "–",
        traits.state_bound or "–",
        ", ".join(order.options_type.__struct_fields__) or "–",
    )
