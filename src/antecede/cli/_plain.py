"""Commands whose help shows a flag as a flag, not as `<bool>`."""

from typing import Any

from typer.core import TyperCommand, TyperGroup


def _name_flags_alone(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


class Command(TyperCommand):
    """A command."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, as help shows them."""
        return _name_flags_alone(super().get_params(ctx))


class CommandGroup(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, as help shows them."""
        return _name_flags_alone(super().get_params(ctx))
