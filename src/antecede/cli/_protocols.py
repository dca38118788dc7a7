"""`antecede protocols`: the table of protocols, or all about one."""

import inspect
from typing import Annotated, Any

import msgspec
import typer

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
        str | None, typer.Argument(metavar="[NAME]", help="Tell all of this one.")
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
        print(portrait(orders[0]))
    else:
        print_table(NARROW, map(narrow_row, orders), text=len(NARROW))
        print("\nantecede protocols NAME tells all about one.")


def portrait(order: type[Order]) -> str:
    """All about a protocol, in words: how it works, what it needs and gives, its options."""
    facts = zip(COLUMNS[2:-1], row(order)[2:-1], strict=True)
    width = max(map(len, COLUMNS))
    lines = [f"{order.name}: {order.traits.title}", "", *algorithm(order).splitlines(), ""]
    lines += [f"{column:<{width}}  {value}" for column, value in facts]
    defaults = order.options_type()
    fields = order.options_type.__struct_fields__
    if fields:
        lines += ["", "Options, each with its default (--option NAME=VALUE):", ""]
        lines += [f"  {field} = {to_text(getattr(defaults, field))}" for field in fields]
        classes = [kind for kind in order.options_type.__mro__ if issubclass(kind, Options)]
        meanings = [inspect.cleandoc(kind.__doc__ or "") for kind in reversed(classes[:-1])]
        lines += ["", *"\n\n".join(filter(None, meanings)).splitlines()]
    return "\n".join(lines)


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
        "state_bound": traits.state_bound or None,
        "options": list(order.options_type.__struct_fields__),
    }


def faults(traits: Traits) -> list[str]:
    """After which faults deliveries go on among the others."""
    return ["loss"] * traits.survives_loss + ["crashes"] * traits.survives_crashes


def survives(traits: Traits) -> str:
    """The same in words; empty for none."""
    repaired = ["loss, repaired" if fault == "loss" else fault for fault in faults(traits)]
    return "; ".join(repaired if traits.repairs_loss else faults(traits))


def narrow_row(order: type[Order]) -> tuple[str, ...]:
    """A protocol as a row of the table of `NARROW`."""
    return (
        order.name,
        order.traits.title,
        GIVES[order.traits.gives],
        ", ".join(faults(order.traits)),
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
