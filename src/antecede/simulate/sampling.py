"""What a run costs in its course: what the network has carried by each send; and how much processes
know, from a look at one of them now and then.

The size of a state is that of its snapshot, which takes time to make. So the processes take turns,
and the next look waits for as many events as the last one was dear: a run does not get slower by
more than some hundredths, and when to look follows from the run alone.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from antecede.order import Order

_FEWEST_EVENTS: Final = 256
"""Events between two looks at least,"""
_BYTES_PER_EVENT: Final = 8
"""and one more for so many bytes of the last snapshot."""


class Carried(NamedTuple):
    """What the network had been given when a message was sent."""

    time: float
    copies: int
    copies_stamp_bytes: int
    control_packets: int
    control_bytes: int


class Look(NamedTuple):
    """The size of one state: elements of ordering information, and bytes of the snapshot."""

    messages: int
    """How many had been sent."""
    entries: int
    bytes: int


class StateSampler:
    """Sizes of states, and the traffic by each message. `fewest` and `per_event`: how many events,
    and how many bytes of the last snapshot for each more, are between two looks."""

    def __init__(self, fewest: int = _FEWEST_EVENTS, per_event: int = _BYTES_PER_EVENT) -> None:
        self._fewest, self._per_event = fewest, per_event
        self.looks: list[Look] = []
        self.carried: list[Carried] = []
        """Before each message."""
        self.due = 1
        """The number of events after which to look again."""
        self._turn = 0

    def look(self, orders: Sequence[Order], events: int) -> None:
        """Look at the process whose turn it is, after so many events."""
        order = orders[self._turn % len(orders)]
        self._turn += 1
        size = len(order.snapshot())
        self.looks.append(Look(len(self.carried), order.entries(), size))
        self.due = events + max(self._fewest, size // self._per_event)
