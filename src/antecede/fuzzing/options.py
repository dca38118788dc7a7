"""Options for a scenario that is drawn: the protocol's own draws, half of the time."""

from antecede.drawn import Chance, Drawn, Fields
from antecede.order import Options
from antecede.protocols import find


def draw_options(protocol: str, fields: Fields, chance: Chance) -> Drawn:
    """Options for the rest of the scenario, besides those that it has; half of the time none but
    those that it needs."""
    options = options_of(protocol)
    has_draws = options.drawn.__func__ is not Options.drawn.__func__  # type: ignore[attr-defined]
    is_drawn = has_draws and not chance.happens(0.5)
    drawn = options.drawn(fields, chance) if is_drawn else {}
    drawn |= fields.get("options", {})
    return {**drawn, **options.needed({**fields, "options": drawn})}


def fitting_options(protocol: str, fields: Fields) -> Drawn:
    """The options of a scenario whose faults have changed, with those that it needs now."""
    options = options_of(protocol)
    fitting = options.fitting(fields)
    return {**fitting, **options.needed({**fields, "options": fitting})}


def options_of(protocol: str) -> type[Options]:
    return find(protocol).options_type
