"""Turns of handshakes: a process shakes few hands at one time.

A handshake with certificates takes milliseconds of both ends. Where a large group starts, every
process would begin one with every other at once: all of them get on together, none comes to its
end in time, and all begin anew. So few are under way at one time, and the others wait for their
turn before they dial, which is not counted as anybody's silence. Nobody holds up the rest by
silence: a turn ends after a while, and soon where an address does not even accept the connection.
"""

import asyncio
from types import TracebackType
from typing import Final

MOST: Final = 4
"""A handshake takes about three rounds on the network: on a line with 100 ms there and back, that
many at one time are more than 10 in a second."""
CONNECT_S: Final = 0.5
HANDSHAKE_S: Final = 5.0


class Turns:
    """Of one process in one group."""

    def __init__(self, most: int = MOST) -> None:
        self._free = asyncio.Semaphore(most)

    async def wait(self) -> "Turn":
        await self._free.acquire()
        return Turn(self._free)


class Turn:
    """One of them, until the block that it is for is left, or it was held for too long."""

    def __init__(self, free: asyncio.Semaphore) -> None:
        self._free: asyncio.Semaphore | None = free
        self._timer = asyncio.get_running_loop().call_later(CONNECT_S, self._give_back)

    def is_connected(self) -> None:
        """The address accepts connections: there is somebody to shake hands with."""
        self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_S, self._give_back)

    def __enter__(self) -> "Turn":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        self._give_back()

    def _give_back(self) -> None:
        free, self._free = self._free, None
        if free is not None:
            free.release()
