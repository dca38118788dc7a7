"""Commands whose help shows a flag as a flag, not as `<bool>`, in paragraphs as wide as the
terminal, and whose paths may be addresses."""

import inspect
import re
from pathlib import Path
from typing import Any, Final

from typer.core import TyperCommand, TyperGroup

from antecede.stores import path_of, refuse_stored

HERE_ONLY: Final = ("node", "chat", "certs", "cluster", "bridge")
"""Commands that need locks, appending or a file's own name."""


def _name_flags_alone(parameters: list[Any]) -> list[Any]:
    for parameter in parameters:
        if getattr(parameter, "is_flag", False) and parameter.metavar is None:
            parameter.metavar = ""
    return parameters


def flowed(text: str) -> str:
    """A docstring with a line a paragraph; lists and what is indented stay as they are."""
    return re.sub(r"(?<=[^\n])\n(?=[^\s*-]|--)", " ", inspect.cleandoc(text))


class Command(TyperCommand):
    """A command."""

    def __init__(self, *given: Any, help: str | None = None, **settings: Any) -> None:  # noqa: A002
        super().__init__(*given, help=flowed(help or ""), **settings)

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, as help shows them."""
        return _name_flags_alone(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Run it, with a path for every address."""
        ctx.params.update({name: _found(value) for name, value in ctx.params.items()})
        if self.name in HERE_ONLY:
            for value in ctx.params.values():
                if isinstance(value, Path):
                    refuse_stored(value, f"`antecede {self.name}` keeps its files on this machine")
        return super().invoke(ctx)


def _found(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(map(_found, value))
    return path_of(value) if isinstance(value, Path) else value


class CommandGroup(TyperGroup):
    """A command with commands of its own."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, as help shows them."""
        return _name_flags_alone(super().get_params(ctx))
