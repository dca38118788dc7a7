"""Looking around now and then: often while something happens, rarely while nothing does."""

import asyncio
import math
from collections.abc import Callable
from typing import Final

_TICK_S: Final = 0.05
_CALM_TICK_S: Final = 0.25
"""While nothing happens."""
_STALL_S: Final = 0.1


class Ticker:
    """Of one process. `look` is called at every tick, and says whether the next may be far away, or
    None if there is none; `stalled` is told for how long this process has not run, so that it does
    not take that for others' silence."""

    def __init__(self, look: Callable[[], bool | None], stalled: Callable[[float], None]) -> None:
        self._look = look
        self._stalled = stalled
        self._handle: asyncio.TimerHandle | None = None
        self.is_calm = False
        """Whether the next tick is far away, since nothing happens."""
        self._at = math.inf
        """When the next tick is due."""

    def tick(self) -> None:
        """Look around, and again later."""
        self.note_stall()
        is_calm = self._look()
        if is_calm is not None:
            self.is_calm = is_calm
            self._tick_in(_CALM_TICK_S if is_calm else _TICK_S)

    def hurry(self) -> None:
        """Something has happened: others have to be told soon, or somebody waits."""
        if self.is_calm and self._handle is not None:
            self.is_calm = False
            self._handle.cancel()
            self._tick_in(_TICK_S)

    def note_stall(self) -> None:
        """When this process has not run for a while, nobody could be heard."""
        now = asyncio.get_running_loop().time()
        if now - self._at > _STALL_S:
            self._stalled(now - self._at)
            self._at = now

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()

    def _tick_in(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._at = loop.time() + seconds
        self._handle = loop.call_at(self._at, self.tick)
