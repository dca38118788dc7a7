"""Numbers that grow with the number of processes, as campaign files write them.

`40` is 40; `2n` is twice the number of processes, `n/4` a quarter of it (rounded down), `n^2` its
square.
"""

import re
from fractions import Fraction
from typing import Annotated, Any

from pydantic import PlainValidator

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


def _check(value: Any) -> int | str:
    """One message for everything that it is not."""
    if is_scaled(value) or (type(value) is int and value >= 1):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"'{value}' is neither a number from 1 on nor of the form 2n, n/4 or n^2")


Scaled = Annotated[int | str, PlainValidator(_check)]
