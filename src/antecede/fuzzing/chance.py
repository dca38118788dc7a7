"""Draws from one seed, in words."""

from collections.abc import Sequence
from math import exp, log
from typing import TypeVar

from antecede.simulate.randomness import uniforms

T = TypeVar("T")


class Chance:
    """What is drawn depends on the seed and the name, and on what was drawn before."""

    def __init__(self, seed: int, *name: str | int) -> None:
        self._draws = uniforms(seed, "fuzz", *name)

    def happens(self, probability: float) -> bool:
        return self._draws.one() < probability

    def whole(self, low: int, high: int) -> int:
        """From `low` to `high`, both included."""
        return low + int(self._draws.one() * (high - low + 1))

    def small(self, low: int, high: int) -> int:
        """The same, with small numbers more likely: as many below the root as above."""
        return min(high, int(exp(log(low) + self._draws.one() * log((high + 1) / low))))

    def between(self, low: float, high: float) -> float:
        """Any order of magnitude is as likely as another; three digits are enough to read."""
        return float(f"{exp(log(low) + self._draws.one() * log(high / low)):.3g}")

    def within(self, low: float, high: float) -> float:
        """Any number is as likely as another; a thousandth is exact enough."""
        return round(low + self._draws.one() * (high - low), 3)

    def pick(self, items: Sequence[T]) -> T:
        return items[int(self._draws.one() * len(items))]

    def some(self, items: Sequence[T], count: int) -> list[T]:
        """So many of them, none twice, in their order."""
        left = list(range(len(items)))
        chosen = [left.pop(self.whole(0, len(left) - 1)) for _ in range(min(count, len(items)))]
        return [items[index] for index in sorted(chosen)]
