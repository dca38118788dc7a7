"""Scenarios from files and from flags, and what is wrong with them, all at once and in words."""

import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from antecede.errors import BadFile, Misuse
from antecede.files import path_of, within
from antecede.simulate.scenario import Scenario
from antecede.topology.load import LARGEST

_HEADER = re.compile(r"\s*\[(\[?)\s*([^\[\]]+?)\s*\]")
_ASSIGNMENT = re.compile(r"\s*([A-Za-z0-9_\-.\"' ]+?)\s*=")


def load_scenario(path: str | os.PathLike[str]) -> Scenario:
    """The scenario in a TOML file. A graph or a topology that it names by a path is looked for
    beside it."""
    text, data = read_toml(path)
    workload = data.get("workload")
    if isinstance(workload, dict):
        beside(path, workload, "graph")
    beside(path, data, "topology")
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise BadFile(str(path), mistakes_in(text, data, error)) from None


def read_toml(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file and what it says."""
    try:
        text = path_of(path).read_text("utf-8")
        return text, tomllib.loads(text)
    except FileNotFoundError:
        raise BadFile(str(path), ["there is no such file"]) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile(str(path), [f"cannot be read as TOML: {error}"]) from None


def beside(path: str | os.PathLike[str], data: dict[str, Any], field: str) -> None:
    """Where a field names a file, look for it in the folder of the file that says so."""
    value = data.get(field)
    if not isinstance(value, str):
        return
    name = value.removeprefix(LARGEST)
    if "." in name or "/" in name:
        data[field] = value.removesuffix(name) + str(within(path, name))


def mistakes_in(text: str, data: Mapping[str, Any], error: ValidationError) -> list[str]:
    """What is wrong with a file, with the lines where it stands."""
    lines = _lines(text)
    found = [(_line(place, lines), place, words) for place, words in _mistakes(error, data)]
    return [
        f"line {line}: {place}: {words}" if line else f"{place}: {words}"
        for line, place, words in sorted(found)
    ]


def make_scenario(data: Mapping[str, Any]) -> Scenario:
    """The scenario that a dict describes, as flags give it."""
    try:
        return Scenario.model_validate(dict(data))
    except ValidationError as error:
        mistakes = [f"{place}: {words}" for place, words in _mistakes(error, data)]
        if len(mistakes) == 1:
            raise Misuse(mistakes[0]) from None
        listed = "".join(f"\n  - {mistake}" for mistake in mistakes)
        raise Misuse(f"the scenario has {len(mistakes)} mistakes{listed}") from None


def _mistakes(error: ValidationError, data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each mistake as (place, words)."""
    found = []
    for detail in error.errors():
        if detail["type"] == "default_factory_not_called":
            continue  # for want of the fields whose mistakes are listed
        place = detail.get("ctx", {}).get("place") or _place(detail["loc"], data)
        words = detail["msg"].removeprefix("Value error, ")
        if detail["type"] == "extra_forbidden":
            words = "there is no such field"
        elif detail["type"] == "missing":
            words = "is missing"
        elif detail["type"] == "union_tag_not_found":
            words = "'kind' is missing"
        elif isinstance(detail["input"], str | int | float) and "'" not in words:
            words += f" (it is {detail['input']!r})"
        if detail["type"] != "value_error":  # ours begin as they should: maybe with a name
            words = words[:1].lower() + words[1:]
        found.append((place, words))
    return found


def _place(location: Sequence[str | int], data: Any) -> str:
    """A location as a person would write it. What stands in the location but not in the data names
    the variant of a union, unless it comes last: then it is missing."""
    place = ""
    for index, step in enumerate(location):
        is_known = (
            step in data
            if isinstance(data, Mapping)
            else isinstance(data, list) and isinstance(step, int) and step < len(data)
        )
        if is_known:
            data = data[step]
        elif index < len(location) - 1 or not isinstance(data, Mapping):
            continue
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place or "the scenario"


def _line(place: str, lines: Mapping[str, int]) -> int:
    """The line of a place, or of the closest thing around it; 0 if there is none."""
    while place and place not in lines:
        place = re.sub(r"(^|\.)[^.\[\]]+$|\[\d+\]$", "", place)
    return lines.get(place, 0)


def _lines(text: str) -> dict[str, int]:
    """Where things stand in a TOML file, by place: tables, items of arrays of tables, values."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _bare(header[2])
            for name in sorted(counts, key=len, reverse=True):
                if table.startswith(name + "."):
                    table = f"{name}[{counts[name]}]" + table[len(name) :]
                    break
            if header[1]:
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}[{counts[table]}]"
            lines.setdefault(table, number)
        elif assignment := _ASSIGNMENT.match(line):
            key = _bare(assignment[1])
            lines.setdefault(f"{table}.{key}" if table else key, number)
    return lines


def _bare(key: str) -> str:
    """A dotted key without quotes and spaces."""
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
