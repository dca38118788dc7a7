"""HTML and SVG that cannot be broken by what is put into it.

`tag` escapes every child that is not `Markup` and every attribute, so names and errors of a
campaign always appear as they were written, whatever they contain.
"""

import re
from typing import Final

SELF_CLOSING: Final = frozenset(
    ("meta", "link", "br", "hr", "circle", "line", "path", "polygon", "polyline", "rect")
)
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


class Markup(str):
    """Text that is HTML or SVG already. Made by `tag` and `join`; nothing else should need to."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """Text as markup that shows it. Characters that no document may contain become visible."""
    return Markup(_CONTROLS.sub("\ufffd", text).translate(_ESCAPES))


def tag(name: str, /, *children: str | None, **attributes: str | float | None) -> Markup:
    """One element. An underscore in an attribute's name stands for a hyphen, one at its end is
    dropped (`class_`); None leaves out the attribute or the child."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = join(*children)
    if not inside and name in SELF_CLOSING:
        return Markup(f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{inside}</{name}>")


def join(*parts: str | None) -> Markup:
    """One after the other, escaped where they are not markup yet."""
    present = (part for part in parts if part is not None)
    return Markup("".join(p if isinstance(p, Markup) else escape(p) for p in present))


def _attribute(value: str | float) -> str:
    if isinstance(value, str):
        return escape(value)
    return str(value) if isinstance(value, int) else f"{value:.2f}".rstrip("0").rstrip(".")
