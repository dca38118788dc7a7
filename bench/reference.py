"""The reference pages of the documentation, from the code: every flag of the command line, every
field of scenario and campaign files. `make docs` writes them."""

import inspect
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, get_args

import typer
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from antecede.campaigns.file import Campaign
from antecede.cli import COMMANDS, load
from antecede.simulate import Scenario

ROOT = Path(__file__).resolve().parent.parent
COMMAND_LINE = ROOT / "docs" / "reference" / "command-line.md"
FILES = ROOT / "docs" / "reference" / "files.md"
MARKER = "<!-- table: make docs -->\n"


def write_reference() -> None:
    """Both pages."""
    COMMAND_LINE.parent.mkdir(exist_ok=True)
    COMMAND_LINE.write_text(command_line(), "utf-8")
    FILES.write_text(files(), "utf-8")


def command_line() -> str:
    """Every command with its arguments and flags."""
    page = (
        "# The command line\n\nWritten by `make docs`; do not edit. `antecede COMMAND --help` "
        "says the same.\n\nExit status: 0 for success, 1 where the answer is no (order was broken, "
        "a run failed), 2 for misuse and bad input, 3 where it cannot be told, 130 after "
        "control-C, 141 where nobody reads the output.\n"
    )
    for name in sorted(COMMANDS):
        command = load(name)
        inside = getattr(command, "commands", None)
        if not inside:
            page += _command(command, name)
            continue
        page += f"\n## antecede {name}\n\n{_paragraphs(command.help)}\n"
        for each in sorted(inside):
            page += _command(inside[each], f"{name} {each}", "###")
    return page


def _command(command: Any, name: str, heading: str = "##") -> str:
    rows = []
    with typer.Context(command, info_name=name) as context:
        for parameter in command.get_params(context):
            record = parameter.get_help_record(context)
            if record and "--help" not in record[0]:
                rows.append(record)
    told = f"\n{heading} antecede {name}\n\n{_paragraphs(command.help)}\n"
    if not rows:
        return told
    lines = [f"| {_code(flag)} | {_cell(meaning)} |" for flag, meaning in rows]
    return f"{told}\n{MARKER}| argument or flag | meaning |\n|---|---|\n" + "\n".join(lines) + "\n"


def _code(text: str) -> str:
    """A cell of code. A bar in it is written so that neither GitHub nor the site cuts the cell
    there or shows a backslash."""
    if "|" not in text:
        return f"`{_cell(text)}`"
    return f"<code>{escape(text).replace('|', '&#124;')}</code>"


def _paragraphs(text: str | None) -> str:
    """Help text as Markdown: an example stands apart."""
    plain = inspect.cleandoc(text or "").replace("\f", "")
    return re.sub(r"Example: (.+)$", r"```sh\n\1\n```", plain, flags=re.MULTILINE)


def files() -> str:
    """Every field of the files that people write."""
    page = (
        "# Scenario and campaign files\n\nWritten by `make docs`; do not edit. Both are TOML. "
        "[Campaigns](../campaigns.md) tells how the fields of a campaign work together.\n"
    )
    seen: set[type[BaseModel]] = set()
    for title, model in (("A scenario", Scenario), ("A campaign", Campaign)):
        page += f"\n## {title}\n\n{_about(model)}\n\n{_fields(model)}"
        waiting = list(_parts(model))
        while waiting:
            part = waiting.pop(0)
            if part not in seen:
                seen.add(part)
                page += f"\n### {_name(part)}\n\n{_about(part)}\n\n{_fields(part)}"
                waiting += _parts(part)
    return page


def _name(model: type[BaseModel]) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", model.__name__)


def _about(model: type[BaseModel]) -> str:
    own = inspect.getdoc(model) if "__doc__" in vars(model) and vars(model)["__doc__"] else ""
    return " ".join((own or "").split()).replace("``", "`") or f"Fields of `{_name(model)}`."


def _fields(model: type[BaseModel]) -> str:
    lines = []
    for name, field in model.model_fields.items():
        description = " ".join((field.description or "").split())
        default = "required" if field.is_required() else f"`{_default(field)}`"
        written = field.alias or name
        lines.append(
            f"| `{written}` | {_cell(_type(field.annotation))} | {default} | {description} |"
        )
    head = f"{MARKER}| field | type | default | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(lines) + "\n"


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return (
            " ".join(f"{k}={v}" for k, v in value.model_dump(exclude_defaults=True).items()) or "{}"
        )
    return "none" if value is None else _cell(str(value)) or '""'


def _type(annotation: Any) -> str:
    """In words; a part of its own by the heading that describes it."""
    if annotation is type(None):
        return ""
    if annotation is Any:
        return "anything"
    if inspect.isclass(annotation) and not get_args(annotation):
        if issubclass(annotation, BaseModel):
            return f"[{_name(annotation)}](#{_name(annotation).lower().replace(' ', '-')})"
        words = {str: "text", int: "whole number", float: "number", bool: "true or false"}
        return words.get(annotation, annotation.__name__)
    origin, inside = getattr(annotation, "__origin__", None), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        return _type(inside[0])
    if origin in (list, dict):
        return f"{'list' if origin is list else 'table'} of {_type(inside[-1])}"
    if not inside:
        return str(annotation)
    if all(isinstance(each, str) for each in inside):
        return " or ".join(f"`{each}`" for each in inside)
    return " or ".join(dict.fromkeys(filter(None, map(_type, inside))))


def _parts(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """The parts that the fields of a model consist of."""

    def inside(annotation: Any) -> Iterator[type[BaseModel]]:
        if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
            yield annotation
        for each in get_args(annotation):
            yield from inside(each)

    for field in model.model_fields.values():
        yield from inside(field.annotation)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
