"""What campaign files may say instead of a number: `2n` and the like, and for a warm-up a share."""

import re
from typing import Annotated, Any

from pydantic import PlainValidator

from antecede.scaled import is_scaled

_SHARE = re.compile(r"(\d+(?:\.\d+)?) ?%")


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


WarmUp = Annotated[int | str, PlainValidator(_check_warm_up)]
Scaled = Annotated[int | str, PlainValidator(_check)]
