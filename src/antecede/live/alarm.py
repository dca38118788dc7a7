"""Waking up at several times, with one timer of the event loop."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush


class Alarm:
    """Calls with the time, once for all that are due."""

    def __init__(self, ring: Callable[[float], None]) -> None:
        self._ring = ring
        self._times: list[float] = []
        """A heap."""
        self._handle: asyncio.TimerHandle | None = None

    def set(self, at: float) -> None:
        """Ring at this time, too."""
        if at not in self._times:
            heappush(self._times, at)
            if self._times[0] == at:
                self._schedule()

    def cancel(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _schedule(self) -> None:
        self.cancel()
        self._handle = asyncio.get_running_loop().call_at(self._times[0], self._go_off)

    def _go_off(self) -> None:
        # The loop may be early by the resolution of its clock.
        now = max(asyncio.get_running_loop().time(), self._times[0])
        while self._times and self._times[0] <= now:
            heappop(self._times)
        self._ring(now)
        if self._times:
            self._schedule()
