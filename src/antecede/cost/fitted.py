"""Laws fitted to the simulator, where no closed form is honest: a · n^b · load^c · shape^d.

`shape` is the number of destinations of a multicast, or the size of a group. `laws.json` has them,
written by `python -m bench.scale --fit`, with the range of the runs and the largest error at runs
that were not used for the fit. A law is claimed where that error is at most `TOLERANCE`, and inside
its range.
"""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import exp, log
from typing import Any, Final

import msgspec
import numpy as np

from antecede.cost.traffic import Kind, Traffic

__all__ = ["TOLERANCE", "Law", "features", "fit", "key", "laws"]

TOLERANCE: Final = 0.15


class Law(msgspec.Struct, frozen=True):
    """A power law, and where it was tried."""

    powers: tuple[float, ...]
    """Of e, the processes, the load and, if it has one, the shape."""
    low: tuple[float, float]
    """The fewest processes and the least load of the runs."""
    high: tuple[float, float]
    delay_s: float | None = None
    """The mean delay of the runs, where the protocol has clocks of its own: then it matters."""
    worst: float | None = None
    """The largest error, as a share, at all runs; None where none that it has not seen was
    steady."""

    def at(self, traffic: Traffic) -> float:
        """Its value; it is carried on beyond its range."""
        terms = zip(self.powers, features(traffic), strict=True)
        return exp(sum(power * feature for power, feature in terms))

    def claims(self, traffic: Traffic) -> bool:
        """Whether its value here is claimed to be within the tolerance."""
        place = (traffic.processes, traffic.load)
        inside = all(
            low * 0.99 <= value <= high * 1.01
            for low, value, high in zip(self.low, place, self.high, strict=True)
        )
        is_timed = self.delay_s is None or abs(traffic.delay_s / self.delay_s - 1) < 0.01
        return inside and is_timed and self.worst is not None and self.worst <= TOLERANCE


def features(traffic: Traffic) -> tuple[float, ...]:
    """What a law is a product of powers of, as logarithms."""
    found = (1.0, log(traffic.processes), log(traffic.load))
    return (*found, log(traffic.shape)) if traffic.kind in (Kind.SETS, Kind.GROUPS) else found


def key(variant: str, kind: Kind, measure: str) -> str:
    """The name of a law: `bounded k=4n, unicast: control`."""
    return f"{variant}, {kind}: {measure}"


def fit(points: Sequence[tuple[Traffic, float]]) -> Law | None:
    """The law through these values, by least squares of their logarithms; None for too few."""
    known = [(traffic, value) for traffic, value in points if value > 0]
    if not known:
        return None
    rows = [features(traffic) for traffic, _ in known]
    if len(known) < len(rows[0]):
        return None
    values = [log(value) for _, value in known]
    powers: list[float] = np.linalg.lstsq(np.array(rows), np.array(values), rcond=None)[0].tolist()
    sizes = [traffic.processes for traffic, _ in known]
    loads = [traffic.load for traffic, _ in known]
    return Law(
        tuple(round(power, 4) for power in powers),
        (min(sizes), min(loads)),
        (max(sizes), max(loads)),
    )


@cache
def laws() -> dict[str, Law]:
    """All that are shipped."""
    text = files("antecede.cost").joinpath("laws.json").read_bytes()
    found: dict[str, Any] = msgspec.json.decode(text)
    return msgspec.convert(found, dict[str, Law])
