"""How much processes know in the course of a run, from a look at one of them now and then.

The size of a state is that of its snapshot, which takes time to make. So the processes take turns,
and the next look waits for as many events as the last one was dear: a run does not get slower by
more than some hundredths, and when to look follows from the run alone.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from antecede.order import Order
from antecede.simulate.measures import Distribution

_FEWEST_EVENTS: Final = 256
"""Events between two looks at least,"""
_BYTES_PER_EVENT: Final = 8
"""and one more for so many bytes of the last snapshot."""


class StateSampler:
    """Sizes of states: elements of ordering information, and bytes of snapshots."""

    def __init__(self) -> None:
        self.entries = Distribution()
        self.bytes = Distribution()
        self.due = 1
        """The number of events after which to look again."""
        self._turn = 0

    def look(self, orders: Sequence[Order], events: int) -> None:
        """Look at the process whose turn it is, after so many events."""
        order = orders[self._turn % len(orders)]
        self._turn += 1
        size = len(order.snapshot())
        self.entries.add(np.array([order.entries()], float))
        self.bytes.add(np.array([size], float))
        self.due = events + max(_FEWEST_EVENTS, size // _BYTES_PER_EVENT)
