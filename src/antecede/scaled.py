"""Numbers that grow with the number of processes, as people write them: in options on the command
line, in scenarios and in campaign files alike.

`40` is 40; `2n` is twice the number of processes, `n/4` a quarter of it (rounded down), `n^2` its
square.
"""

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

_FORM = re.compile(r"(\d+(?:\.\d+)?)?n(\^2)?(?:/(\d*[1-9]\d*))?")


def is_scaled(value: Any) -> bool:
    """Whether this is a text of that form."""
    return isinstance(value, str) and _FORM.fullmatch(value) is not None


def scale(value: Any, processes: int) -> Any:
    """What the value is for so many processes; anything but a text of that form stays as it is."""
    if isinstance(value, str) and (found := _FORM.fullmatch(value)):
        factor, square, divisor = found.groups()
        size = processes**2 if square else processes
        return int(Fraction(factor or 1) * size / int(divisor or 1))
    return value


def scale_options(options: Mapping[str, Any], processes: int) -> dict[str, Any]:
    """Options for so many processes; a list is scaled value by value."""
    return {
        name: [scale(part, processes) for part in value]
        if isinstance(value, list)
        else scale(value, processes)
        for name, value in options.items()
    }
