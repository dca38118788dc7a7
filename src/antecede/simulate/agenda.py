"""What is due in a run, soonest first: the event queue.

An event is ``(time, sequence, process, packet, flight)``. The sequence counts events in the order
in which they were scheduled, so ties are broken the same way every time. Where `packet` is None,
the event is no arrival and `flight` is what to do instead.
"""

from collections.abc import Callable
from heapq import heappush
from itertools import count
from typing import Any

from antecede.order import Packet
from antecede.simulate.flights import Flight

Action = Callable[[int, float], None]
"""Is told the process and the time."""
Entry = tuple[float, int, int, Packet[Any] | None, Any]


class Agenda:
    def __init__(self) -> None:
        self.heap: list[Entry] = []
        self.sequence = count()

    def schedule(self, time: float, process: int, action: Action) -> None:
        heappush(self.heap, (time, next(self.sequence), process, None, action))

    def arrive(self, time: float, process: int, packet: Packet[Any], flight: Flight | None) -> None:
        heappush(self.heap, (time, next(self.sequence), process, packet, flight))

    def last_arrival(self) -> float | None:
        """When the last packet arrives of those on their way."""
        times = [time for time, _, _, packet, _ in self.heap if packet is not None]
        return max(times, default=None)

    def is_idle(self, wake: Action) -> bool:
        """Whether no packet is on its way, and nobody is to be woken."""
        return not any(
            packet is not None or action == wake for _, _, _, packet, action in self.heap
        )
