"""What campaign files may say instead of a number: `2n` and the like, for a warm-up a share, for a
rate `16/n`."""

import re
from math import inf
from typing import Annotated, Any

from pydantic import PlainValidator

from antecede.scaled import is_scaled

_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")
_IN_ALL = re.compile(r"\d+(?:\.\d+)?/n")


def percentage(value: Any) -> float | None:
    """The share that a text such as `50%` says; None for anything else."""
    found = _SHARE.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) / 100 if found else None


def _check_warm_up(value: Any) -> int | str:
    share = percentage(value)
    is_share = share is not None and share < 1
    if value == "auto" or is_share or is_scaled(value) or (type(value) is int and value >= 0):
        return value  # type: ignore[no-any-return]
    raise ValueError(
        f"'{value}' is neither a number of messages (100, or 2n, n/4, n^2), nor a share of the run "
        "below 100% (50%), nor 'auto'"
    )


def _check(value: Any) -> int | str:
    """One message for everything that it is not."""
    if is_scaled(value) or (type(value) is int and value >= 1):
        return value  # type: ignore[no-any-return]
    raise ValueError(f"'{value}' is neither a number from 1 on nor of the form 2n, n/4 or n^2")


def _check_rate(value: Any) -> float | str:
    if isinstance(value, str) and _IN_ALL.fullmatch(value) and float(value[:-2]) > 0:
        return value
    if type(value) in (int, float) and 0 < value < inf:
        return float(value)
    raise ValueError(f"'{value}' is neither a number above 0 nor of the form 16/n (16 in all)")


def in_all(rate: float | str | None, processes: int) -> float | None:
    """The messages a second of one process, where `16/n` are 16 of all of them."""
    if isinstance(rate, str):
        return float(rate.removesuffix("/n")) / processes
    return rate


Rate = Annotated[float | str, PlainValidator(_check_rate)]
WarmUp = Annotated[int | str, PlainValidator(_check_warm_up)]
Scaled = Annotated[int | str, PlainValidator(_check)]
