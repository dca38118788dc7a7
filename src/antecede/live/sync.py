"""A group for programs with threads instead of an event loop.

::

    with join("room", name="alice", listen="127.0.0.1:7001", security=PLAIN_TCP) as room:
        room.send(b"hello")
        for event in room:
            ...

The loop runs in a thread of its own. Every method may be called from any thread; where several
iterate, each event goes to one of them.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar, Unpack

from antecede.errors import Misuse
from antecede.live.arguments import SomeAddress
from antecede.live.events import Event, Missing, StateWanted
from antecede.live.group import ANSWER_S, DRAIN_S, Group
from antecede.live.messages import Answer, Request
from antecede.live.node import JoinSettings
from antecede.live.node import join as join_on_loop
from antecede.live.topics import Topic
from antecede.live.transport.outgoing import Address
from antecede.live.transport.tls import Security

T = TypeVar("T")


class SyncGroup:
    """One process in one group; made by `join`. As `antecede.live.Group`, but its methods wait."""

    def __init__(self, group: Group, loop: asyncio.AbstractEventLoop) -> None:
        self._group = group
        self._loop = loop
        self._thread = threading.get_ident()

    @property
    def name(self) -> str:
        """Of the group."""
        return self._group.name

    @property
    def me(self) -> str:
        """The name of this process."""
        return self._group.me

    @property
    def address(self) -> Address:
        """Where this process listens."""
        return self._group.address

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view; empty before the first."""
        return self._group.members

    def send(
        self,
        payload: Any,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
    ) -> None:
        """Send to these members, to a named group or to everybody."""
        self._wait(self._group.send(payload, to, group, label))

    def request(
        self,
        payload: Any,
        to: str | None = None,
        *,
        timeout_s: float = ANSWER_S,
        in_turn: bool = False,
    ) -> Answer:
        """Ask this member, or everybody else for the first answer. With `in_turn` another thread
        has to iterate."""
        asking = self._group.request(payload, to, timeout_s=timeout_s, in_turn=in_turn)
        return self._wait(asking)

    def request_all(
        self,
        payload: Any,
        to: Sequence[str] = (),
        *,
        timeout_s: float = ANSWER_S,
        in_turn: bool = False,
    ) -> list[Answer]:
        """Ask these members, or everybody else, and wait for all of them."""
        asking = self._group.request_all(payload, to, timeout_s=timeout_s, in_turn=in_turn)
        return self._wait(asking)

    def reply(self, request: Request, payload: Any) -> bool:
        """Answer a request; false if who asked is not there any more."""
        return self._wait(self._group.reply(request, payload))

    def topic(self, name: str, codec: Any = None) -> "SyncTopic":
        """A topic by its name, perhaps with a codec of its own."""
        return SyncTopic(self._group.topic(name, codec), self._wait)

    def __iter__(self) -> Iterator[Event]:
        while (event := self.next()) is not None:
            yield event

    def next(self, timeout_s: float | None = None) -> Event | None:
        """The next event; None if there is none in that time, or ever again."""
        return self._wait(self._next(timeout_s))

    async def _next(self, timeout_s: float | None) -> Event | None:
        # In the loop: whoever gives up outside of it might lose the event that comes just then.
        try:
            async with asyncio.timeout(timeout_s):
                return await anext(self._group)
        except (TimeoutError, StopAsyncIteration):
            return None

    def take_ready(self) -> list[Event]:
        """All events that have happened so far, without waiting."""
        return self._call(self._group.take_ready)

    def held(self) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        return self._call(self._group.held)

    def give_state(self, wanted: StateWanted, payload: bytes) -> None:
        """Hand the application's state to those who want it."""
        self._call(lambda: self._group.give_state(wanted, payload))

    def mark_taken(self) -> None:
        """A durable member's application has dealt with all that it was given."""
        self._call(self._group.mark_taken)

    def leave(self, drain_s: float = DRAIN_S) -> None:
        """Leave, after what was sent has reached everybody or the time is over."""
        self._wait(self._group.leave(drain_s))

    def _call(self, work: Callable[[], T]) -> T:
        async def call() -> T:
            return work()

        return self._wait(call())

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._thread:
            work.close()
            raise Misuse("this is the thread of the group's own loop: it would wait for itself")
        try:
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        except RuntimeError:
            work.close()
            raise Misuse(f"'{self.me}' has ended its part in '{self.name}'") from None
        try:
            return future.result()
        except BaseException:
            future.cancel()  # Control-C, say: nobody waits for it any more.
            raise


class SyncTopic:
    """A topic; see `antecede.live.Topic`."""

    def __init__(self, topic: Topic, wait: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._topic = topic
        self._wait = wait

    @property
    def name(self) -> str:
        return self._topic.name

    @property
    def members(self) -> tuple[str, ...]:
        """Those who are in it, as far as the iteration has come."""
        return self._topic.members

    def subscribe(self) -> None:
        """Come to the topic."""
        self._wait(self._topic.subscribe())

    def unsubscribe(self) -> None:
        """Leave the topic."""
        self._wait(self._topic.unsubscribe())

    def send(self, payload: Any) -> None:
        """Send to those who are in it."""
        self._wait(self._topic.send(payload))


@contextmanager
def join(
    group: str,
    *,
    name: str,
    listen: SomeAddress,
    security: Security,
    advertise: SomeAddress | None = None,
    **settings: Unpack[JoinSettings],
) -> Iterator[SyncGroup]:
    """As `antecede.live.join`, without an event loop of one's own."""
    started: Future[tuple[SyncGroup, Callable[[bool], None]]] = Future()

    async def live() -> None:
        loop = asyncio.get_running_loop()
        over: asyncio.Future[bool] = loop.create_future()

        def end(is_well: bool) -> None:
            loop.call_soon_threadsafe(over.set_result, is_well)

        async with join_on_loop(
            group, name=name, listen=listen, security=security, advertise=advertise, **settings
        ) as member:
            started.set_result((SyncGroup(member, loop), end))
            if not await over:
                raise _Abandoned

    def run() -> None:
        try:
            asyncio.run(live())
        except _Abandoned:
            pass
        except BaseException as error:
            if started.done():
                raise
            started.set_exception(error)

    thread = threading.Thread(target=run, name=f"antecede {group} {name}", daemon=True)
    thread.start()
    member, end = started.result()
    is_well = False
    try:
        yield member
        is_well = True
    finally:
        end(is_well)
        thread.join()


class _Abandoned(Exception):
    """The body has raised: as with `async with`, the group is left at once, without a word."""
