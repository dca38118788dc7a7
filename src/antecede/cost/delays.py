"""How long a message waits for those before it: a mean field of the traffic.

Times are in mean delays of a packet, which are exponential. Let F(t) be the probability that a
message is delivered within t. It is delivered when it has arrived, and everything before it that is
for the same process. Let messages of its past that are for the same process have been sent at the
rate g(s), s before it; each is still on its way at t with the probability e^-(t+s). Taken as
independent, none of them is:

    F(t) = (1 - e^-t) exp(-c e^-t)   with   c = ∫ g(s) e^-s ds.

That gives the mean wait in closed form, Ein(c) + (1 - e^-c)/c, which grows like the logarithm of c.
A link that is FIFO is the case where g is the link's own load. Causal order is the case where g
counts all that is in the past of the sender: what the sender got itself, with the probability F(s),
and what others got, as far as word of it has come to the sender (`_spread`). So c is a fixed point;
with broadcasts among n it is about √(n load).
"""

from functools import lru_cache
from math import exp, log
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from antecede.cost.traffic import Kind, Traffic

__all__ = ["Field", "causal", "fifo", "mean_wait"]

Curve = npt.NDArray[np.float64]
_STEPS: Final = 3000
_EULER: Final = 0.5772156649015329
_SMALL: Final = 1e-9


class Field(NamedTuple):
    """What the mean field finds of some traffic; times in mean delays of a packet."""

    wait: float
    """From send to delivery."""
    unsettled: float
    """Of messages for one process, how many others know of and do not know to be delivered or
    covered by a later one."""


def mean_wait(c: float) -> float:
    """The mean of the law with this c: 1 for none before it."""
    if c < _SMALL:
        return 1.0
    return _ein(c) + (1 - exp(-c)) / c


def _ein(c: float) -> float:
    """∫ (1 - e^-x)/x dx from 0 to c."""
    if c > 20:
        return _EULER + log(c)
    total, term = 0.0, 1.0
    for k in range(1, 120):
        term *= -c / k
        total -= term / k
    return total


def fifo(traffic: Traffic) -> float:
    """From send to arrival on links that keep the order of each."""
    return mean_wait(_link_load(traffic))


def _link_load(traffic: Traffic) -> float:
    """Messages on one link while one is on its way."""
    others = traffic.neighbours if traffic.kind is Kind.GROUPS else traffic.processes - 1
    return traffic.load * traffic.copies / others


def causal(traffic: Traffic) -> Field:
    """Of a protocol that delivers as soon as causal order allows."""
    if traffic.kind is Kind.GROUPS:
        size = traffic.group_size
        load = traffic.load * traffic.processes / traffic.listed
        return _field(size, load, size - 1)
    return _field(traffic.processes, traffic.load, traffic.copies)


@lru_cache(maxsize=256)
def _field(n: float, load: float, copies: float) -> Field:
    """Among n processes that send so many messages while one is on its way, each to so many random
    others."""
    growth = ((1 + 4 * load * copies) ** 0.5 - 1) / 2
    horizon = 20 + 3 * (log(n) + 2) / growth
    times = np.linspace(0, horizon, _STEPS)
    fading = np.exp(-times)
    both = (copies - 1) / (n - 2)
    """How likely a message for one process is also for another."""
    c, known = load, fading
    for _ in range(60):
        known = delivered = (1 - fading) * np.exp(-c * fading)
        if both < 1:
            known = _spread(n, load * copies, mean_wait(c), times)
        past = both * delivered + (1 - both) * known
        others = (n - 2) * float(np.trapezoid(past * fading, times))
        found = load * copies / (n - 1) * (1 + others)
        before, c = c, (c * found) ** 0.5
        if abs(c - before) < 1e-4 * c:
            break
    return Field(mean_wait(c), _unsettled(known, fading, times, load * copies))


def _spread(n: float, received: float, wait: float, times: Curve) -> Curve:
    """How likely the state of another process, so long ago, is in the past of one: word spreads
    backwards along what is received, at this rate."""
    step = float(times[1] - times[0])
    fade = exp(-step / wait)
    known, flying = 1 / n, 0.0
    found = np.empty_like(times)
    for place in range(len(times)):
        found[place] = known
        landing = flying * (1 - fade)
        flying += step * received * known - landing
        known += landing * (1 - known)
    return found


def _unsettled(known: Curve, fading: Curve, times: Curve, rate: float) -> float:
    """Messages for one process are sent at this rate. One sent s ago is known with the probability
    A(s); it is delivered after an exponential time, and that is known like anything; another one
    for the same process, sent u ago, covers it where it is known, A(u), and knew of it, A(s-u)."""
    step = float(times[1] - times[0])
    told = np.convolve(known, fading)[: len(times)] * step
    covered = rate * np.convolve(known, known)[: len(times)] * step
    return rate * float(np.trapezoid(known * (1 - np.minimum(told, 1)) * np.exp(-covered), times))
