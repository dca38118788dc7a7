"""How many bytes numbers take as they travel (MessagePack)."""

from typing import Final

__all__ = ["array", "bits", "count", "counts"]

_LIMITS: Final = ((128, 1), (256, 2), (1 << 16, 3), (1 << 32, 5))
"""A number below this takes so many bytes."""
_WIDEST: Final = 9


def count(number: float) -> int:
    """Bytes of a number."""
    return next((width for limit, width in _LIMITS if number < limit), _WIDEST)


def counts(first: float, last: float) -> float:
    """Bytes of a number that grows evenly from the first to the last, on the mean."""
    if last <= first:
        return count(first)
    total, low = 0.0, first
    for limit, width in (*_LIMITS, (float("inf"), _WIDEST)):
        high = min(last, limit)
        if high > low:
            total += (high - low) * width
            low = high
    return total / (last - first)


def array(length: float) -> int:
    """Bytes before the members of an array."""
    return 1 if length < 16 else 3 if length < 1 << 16 else 5


def bits(processes: float) -> float:
    """Bytes of a set of processes."""
    length = -(-processes // 8)
    return length + (2 if length < 256 else 3 if length < 1 << 16 else 5)
