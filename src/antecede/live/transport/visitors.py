"""Connections from accept to hello: nobody's yet, so there are few of them, and the newest count.

Who has come and not said who it is within a few seconds is sent away. Where too many are waiting,
the oldest goes for the newest, of the same address if that has too many: one who means to talk
needs some milliseconds, so it gets through whatever is held open beside it. Whoever is a member is
not counted here, so that the descriptors of a process are kept for members.
"""

import asyncio
import socket
import sys
from dataclasses import dataclass
from typing import Final, Protocol

_MOST: Final = 128
_MOST_OF_AN_ADDRESS: Final = 64


class Abortable(Protocol):
    def abort(self) -> None:
        """End it at once."""


@dataclass(eq=False)
class Visitor:
    """A connection that has been accepted."""

    socket: socket.socket
    address: str
    task: asyncio.Task[None] | None = None
    """It shakes hands."""
    connection: Abortable | None = None
    """It has, and is about to say who it is."""

    def send_away(self) -> None:
        if self.connection is not None:
            self.connection.abort()
        elif self.task is not None:
            self.task.cancel()


class Visitors:
    """All of one listening port, the oldest first."""

    def __init__(self) -> None:
        self._all: dict[Visitor, None] = {}
        self._by_address: dict[str, dict[Visitor, None]] = {}
        self._most = _limit()

    def add(self, visitor: Visitor) -> None:
        of_address = self._by_address.setdefault(visitor.address, {})
        if len(of_address) >= min(_MOST_OF_AN_ADDRESS, self._most):
            self._drop(next(iter(of_address)))
        elif len(self._all) >= self._most:
            self.drop_oldest()
        self._all[visitor] = None
        self._by_address.setdefault(visitor.address, {})[visitor] = None

    def discard(self, visitor: Visitor) -> None:
        """It is no stranger any more, or has gone."""
        self._all.pop(visitor, None)
        of_address = self._by_address.get(visitor.address, {})
        of_address.pop(visitor, None)
        if not of_address:
            self._by_address.pop(visitor.address, None)

    def drop_oldest(self) -> None:
        if self._all:
            self._drop(next(iter(self._all)))

    def drop_all(self) -> list[asyncio.Task[None]]:
        """Gives those that have yet to end."""
        visitors = list(self._all)
        for visitor in visitors:
            self._drop(visitor)
        return [one.task for one in visitors if one.task is not None and not one.task.done()]

    def _drop(self, visitor: Visitor) -> None:
        self.discard(visitor)
        visitor.send_away()


def _limit() -> int:
    """At most a quarter of the descriptors that this process may have."""
    if sys.platform == "win32":
        return _MOST
    import resource  # noqa: PLC0415 - not on every system

    return max(4, min(_MOST, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4))
