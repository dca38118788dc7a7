"""What the fuzzer hands to a protocol's options, for them to draw their values.

`fields` is a scenario as plain data, as a file would say it; besides the options all is drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")
Fields = Mapping[str, Any]
Drawn = dict[str, Any]

FOR_EVER_S: Final = 1_000.0
"""When a cut ends that does not heal."""
BACK_S: Final = 30.0
"""Enough to find out who is there, and to come back."""


class Chance(Protocol):
    """Draws from one seed."""

    def happens(self, probability: float) -> bool: ...
    def whole(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""

    def small(self, low: int, high: int) -> int:
        """The same, with small numbers more likely."""

    def between(self, low: float, high: float) -> float:
        """Any order of magnitude is as likely as another."""

    def within(self, low: float, high: float) -> float:
        """Any number is as likely as another."""

    def pick(self, items: Sequence[T]) -> T: ...


def cut_off_s(cuts: Sequence[Fields]) -> float:
    """For how long a process may be cut off, at most: the next cut may come at once. One that does
    not heal is of a link."""
    healing = [cut for cut in cuts if cut["end_s"] < FOR_EVER_S]
    first_s = min((cut["start_s"] for cut in healing), default=0.0)
    return float(max((cut["end_s"] for cut in healing), default=0.0) - first_s)
