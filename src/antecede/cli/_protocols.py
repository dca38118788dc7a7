"""`antecede protocols`: the table of protocols."""

from typing import Any

from antecede.cli._shared import JsonFlag, print_json, print_table
from antecede.order import Addressing, Gives, Order, Traits
from antecede.protocols import find, names

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


def protocols(as_json: JsonFlag = False) -> None:
    """List the protocols: what each needs and gives.

    Example: antecede protocols
    """
    orders = [find(name) for name in names()]
    if as_json:
        print_json([describe(order) for order in orders])
    else:
        print_table(COLUMNS, map(row, orders), text=len(COLUMNS))


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


def survives(traits: Traits) -> str:
    """After which faults deliveries go on among the others; empty for none."""
    repaired = "loss, repaired" if traits.repairs_loss else "loss"
    faults = {repaired: traits.survives_loss, "crashes": traits.survives_crashes}
    return "; ".join(fault for fault, is_survived in faults.items() if is_survived)


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
