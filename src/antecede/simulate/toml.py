"""Plain data as TOML: what `tomllib`, which only reads, leaves to others."""

import json
from collections.abc import Mapping
from typing import Any


def to_toml(data: Mapping[str, Any]) -> str:
    """Values first, then a table for every dict, then an array of tables for every list of dicts;
    whatever lies deeper is written inline."""
    tables = {key: value for key, value in data.items() if isinstance(value, Mapping)}
    arrays = {key: value for key, value in data.items() if _is_list_of_dicts(value)}
    lines = [
        f"{_key(key)} = {_inline(value)}"
        for key, value in data.items()
        if key not in tables and key not in arrays
    ]
    for key, table in tables.items():
        lines += ["", f"[{_key(key)}]", *_fields(table)]
    for key, array in arrays.items():
        for table in array:
            lines += ["", f"[[{_key(key)}]]", *_fields(table)]
    return "\n".join(lines).strip("\n") + "\n"


def _fields(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_inline(value)}" for key, value in table.items()]


def _is_list_of_dicts(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)


def _key(key: str) -> str:
    is_bare = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if is_bare else _text(key)


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return "{ " + ", ".join(_fields(value)) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return repr(value)


def _text(text: str) -> str:
    """JSON's strings are TOML's, but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
