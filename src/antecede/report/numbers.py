"""Numbers as people read them, and the units they are measured in."""

import math
from dataclasses import dataclass

_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_SECONDS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Unit:
    """What a value counts. Seconds turn into milliseconds and less as the values ask for it."""

    name: str
    seconds: bool = False
    share: bool = False

    def fitted(self, largest: float) -> "Fitted":
        if self.share:
            return Fitted(100.0, "%")
        if self.seconds:
            size, name = next(
                ((size, name) for size, name in _SECONDS if abs(largest) >= size), _SECONDS[0]
            )
            return Fitted(1 / size, name)
        return Fitted(1.0, self.name)


@dataclass(frozen=True)
class Fitted:
    """A unit at the size that suits the values of one axis or column."""

    factor: float
    name: str

    def tick(self, value: float) -> str:
        return brief(value * self.factor)

    def number(self, value: float) -> str:
        return exact(value * self.factor)

    def quantity(self, value: float) -> str:
        return f"{self.number(value)} {self.name}".rstrip()


ELEMENTS = Unit("elements")
BYTES = Unit("bytes")
SECONDS = Unit("s", seconds=True)
MESSAGES = Unit("messages")
PROCESSES = Unit("processes")
SHARE = Unit("%", share=True)
PLAIN = Unit("")


def brief(value: float) -> str:
    """At most three digits and a letter, for ticks and headings."""
    if not math.isfinite(value):
        return "–"
    size = abs(value)
    for limit, letter in _LARGE:
        if size >= limit * 0.9995 and size >= 1000:
            return f"{_digits(value / limit, 3)}{letter}"
    return _digits(value, 3)


def exact(value: float) -> str:
    """Four digits, with the thousands apart: for tables."""
    if not math.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return grouped(int(value))
    return grouped(round(value)) if abs(value) >= 1000 else _digits(value, 4)


def uncertain(value: float, half: float) -> tuple[str, str]:
    """A value and half the width of its interval, both to the second digit of the latter."""
    power = math.floor(math.log10(half)) - 1
    if power >= 0 or half >= 10:
        return grouped(round(value, -power)), grouped(round(half, -power))
    if power < -9:
        return exact(value), exact(half)
    return grouped(value, -power), grouped(half, -power)


def grouped(value: float, decimals: int = 0) -> str:
    """Thin spaces between thousands, which no line may break."""
    return f"{value:,.{decimals}f}".replace(",", "\u202f").replace("-", "−")


def percent(share: float) -> str:
    """Two digits are enough for a remark."""
    return f"{exact(float(f'{share * 100:.2g}'))}\u00a0%"


def count(number: int, noun: str, plural: str | None = None) -> str:
    return f"{grouped(number)} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """In the two largest units that say something."""
    if seconds < 60:
        return SECONDS.fitted(seconds).quantity(float(f"{seconds:.2g}")) if seconds else "0 s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{grouped(hours)} h {minutes} min" if minutes else f"{grouped(hours)} h"


def _digits(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    if decimals > digits + 3:
        mantissa, power = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}".replace("-", "−")
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")
