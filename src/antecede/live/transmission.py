"""From what the machine says to the links: what one turn of the event loop has for the same
processes travels together."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final

from antecede.live.ordering.effects import ToPeers
from antecede.live.ordering.items import (
    RUN,
    Carried,
    encode_run,
    encoded,
    is_membership,
    is_message,
    is_repeated,
    message_bytes,
)
from antecede.live.transport.links import Links

_BATCH_BYTES: Final = 1 << 16


class Batch:
    """What is for the same processes, as encoded items: messages that follow each other become one,
    of so many bytes at most."""

    def __init__(self, run_bytes: int) -> None:
        self.names: tuple[str, ...] = ()
        self.size = 0
        """About, in bytes."""
        self.is_due = False
        self._run_bytes = run_bytes
        self._items: list[bytes] = []
        self._run: list[Carried[Any]] = []
        """The last of it, not encoded yet,"""
        self._run_size = 0
        """and its size."""

    def __bool__(self) -> bool:
        return bool(self._run or self._items)

    def add(self, item: bytes | Carried[Any], *, follows: bool, size: int) -> None:
        self.size += size
        if isinstance(item, bytes):
            self._end_run()
            self._items.append(item)
            return
        run = self._run
        self._run_size += size
        if run and not (
            follows
            and item.number == run[-1].number + 1
            and len(run) < RUN
            and self._run_size <= self._run_bytes
        ):
            self._end_run()
            run, self._run_size = self._run, size
        run.append(item)

    def take(self) -> list[bytes]:
        """All of it; nothing is left."""
        self._end_run()
        items, self._items = self._items, []
        self.names, self.size = (), 0
        return items

    def _end_run(self) -> None:
        if self._run:
            self._items.append(encode_run(self._run))
            self._run, self._run_size = [], 0


class Transmission:
    """What one process in one group says to the others. `repairs_loss`: whether the protocol sends
    again what a link that does not stand drops; `act` does something whose failure is the member's;
    `lags_s`: by process, how much later than it could a message leaves, on purpose."""

    def __init__(
        self,
        links: Links,
        is_member: Callable[[str], bool],
        act: Callable[[Callable[[], tuple[()]]], None],
        *,
        repairs_loss: bool,
        lags_s: Mapping[str, float],
        run_bytes: int = _BATCH_BYTES,
    ) -> None:
        self._links = links
        self._is_member = is_member
        self._act = act
        self._repairs_loss = repairs_loss
        self._lags_s = lags_s
        self._batch = Batch(min(run_bytes, _BATCH_BYTES))
        self._late: dict[str, deque[bytes]] = {}
        """By process, what leaves later on purpose,"""
        self._leaves_at: dict[str, float] = {}
        """and when the last of it does."""

    @property
    def is_full(self) -> bool:
        """Whether more waits for somebody than may."""
        for link in self._links.by_name.values():
            if link.is_full and (link.connected or not self._repairs_loss):
                return True
        return False

    @property
    def has_left(self) -> bool:
        """Whether all is on its links, and everybody who is there has it."""
        links = [link for link in self._links.by_name.values() if link.connected]
        return not self._batch and not any(link.waiting_bytes for link in links)

    def to_all(self, what: ToPeers) -> None:
        """Items that one turn of the event loop has for the same processes are put together, and
        handed to their links at its end."""
        batch, names, item = self._batch, what.names, what.item
        size = len(item) if isinstance(item, bytes) else message_bytes(item)
        if batch.names is not names or size > _BATCH_BYTES:
            self._hand_batch()
            batch.names = names
        if size > _BATCH_BYTES:  # It may be more than a link takes.
            for name in names:
                self._put_or_drop(name, encoded(item))
            return
        batch.add(item, follows=what.follows, size=size)
        if batch.size > _BATCH_BYTES:
            self._hand_batch()
        elif not batch.is_due:
            batch.is_due = True
            asyncio.get_running_loop().call_soon(self._end_turn)

    def _end_turn(self) -> None:
        self._batch.is_due = False
        self._act(lambda: self._hand_batch(is_last=True))

    def _hand_batch(self, *, is_last: bool = False) -> tuple[()]:
        """To the links, which send it by the end of the turn, or now if that is the end."""
        if not self._batch:
            return ()
        names, items = self._batch.names, self._batch.take()
        size = sum(map(len, items))
        for name in names:
            link = self._links.by_name.get(name)
            if link is not None and link.connected and not self._lags_s:
                link.put_all(items, size, is_last=is_last)
            else:
                for item in items:
                    self._put_or_drop(name, item)
        return ()

    def to_one(self, name: str, item: bytes) -> None:
        if self._batch:
            self._hand_batch()  # What came before it goes before it.
        self._put_or_drop(name, item)

    def _put_or_drop(self, name: str, item: bytes) -> None:
        link = self._links.by_name.get(name)
        if link is None:
            if is_membership(item) or self._is_member(name):
                self._links.redial(name)
            link = self._links.by_name.get(name)
            if link is None:
                return
        if not link.connected and (self._repairs_loss or is_repeated(item)):
            return
        if self._lags_s and name in self._lags_s and not is_membership(item):
            self._put_late(name, item)
        else:
            link.put(item)

    def _put_late(self, name: str, item: bytes) -> None:
        """Late on purpose: messages wait, and everything else only for those before it, so that
        nobody comes into the group later for it. The substrate, which must not take the lag for a
        death, does not wait at all."""
        waiting = self._late.setdefault(name, deque())
        lag_s = self._lags_s[name] if is_message(item) else 0.0
        now = asyncio.get_running_loop().time()
        leaves_at = max(now + lag_s, self._leaves_at.get(name, 0.0) if waiting else 0.0)
        if leaves_at <= now:
            self._links.by_name[name].put(item)
            return
        waiting.append(item)
        self._leaves_at[name] = leaves_at
        asyncio.get_running_loop().call_at(leaves_at, self._put_next, name)

    def _put_next(self, name: str) -> None:
        item = self._late[name].popleft()

        def put() -> tuple[()]:
            if name in self._links.by_name:
                self._links.by_name[name].put(item)
            return ()

        self._act(put)
