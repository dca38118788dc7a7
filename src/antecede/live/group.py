"""A group as an application sees it: send, and iterate over what happens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from antecede.errors import AntecedeError, Misuse
from antecede.live.arguments import check_payload
from antecede.live.events import Event, Missing, StateWanted
from antecede.live.ordering.effects import Delivery, Hold
from antecede.live.ordering.lesser import Context, ContextOrder
from antecede.live.pump import Pump
from antecede.live.transport.outgoing import Address, Outgoing

_DRAIN_S: Final = 10.0
_TAKEN_BETWEEN_REPORTS: Final = 512


class Group(Pump):
    """One process in one group; made by `Node.join`."""

    @property
    def address(self) -> Address:
        """Where this process listens."""
        return self._core.identity.address

    @property
    def links(self) -> Mapping[str, Outgoing]:
        """The links to other processes, by name."""
        return self._links

    @property
    def hold(self) -> Hold:
        """How many deliveries had to wait, and for how long."""
        return self._core.hold

    @property
    def waiting(self) -> int:
        """Events that the application has yet to take."""
        return len(self._inbox)

    async def send(
        self,
        payload: bytes,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
    ) -> None:
        """Send to these members, to a named group or to everybody. Waits while the view changes
        and while receivers lag too far behind."""
        if self._core.protocol == ContextOrder.name:
            raise Misuse(
                "where the application holds the contexts, a message is sent in one: send_in"
            )
        await self._until(lambda: self.send_now(payload, to, group, label))
        if self._keeping is not None:
            await self._keeping.committed()

    async def send_in(
        self, context: Context | None, payload: bytes, to: Sequence[str] | None = None
    ) -> Context:
        """Send a message that follows what is in the context, and nothing else; None for no order
        at all. Gives the context with the message in it."""
        await self._until(lambda: self.send_now(payload, to, context=context))
        after = self._core.context()
        if self._keeping is not None:
            await self._keeping.committed()
        return after

    def send_now(
        self,
        payload: bytes,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
        context: Context | None = None,
    ) -> bool:
        """Send if nobody has to be waited for; otherwise do nothing and say so."""
        self._check_open()
        check_payload(payload)
        self._check_size(payload)
        core = self._core
        if not core.is_open or core.untaken >= self._settings.window or self._is_full():
            return False
        outputs = core.send(payload, to, group, self._now(), label, context)
        self.counters.sends += 1
        try:
            self._carry_out(outputs)
        except AntecedeError as error:
            # What the protocol added does not fit, and by now the message counts as sent: others
            # would wait for it for ever.
            self._fail(error)
            raise
        return True

    def send_past(self, payload: bytes, to: Sequence[str]) -> None:
        """Send past all ordering."""
        self._check_open()
        check_payload(payload)
        self._check_size(payload)
        self._carry_out(self._core.send_direct(payload, to))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        if self._keeping is not None:
            self._keeping.take_handed()
        while not self._inbox:
            if self._failure is not None:
                raise self._failure
            if self._left:
                raise StopAsyncIteration
            self._arrival.clear()
            await self._arrival.wait()
        return self._take_one()

    def take_ready(self) -> list[Event]:
        """All events that have happened so far, without waiting; for those in a hurry."""
        return [self._take_one() for _ in range(len(self._inbox))]

    def give_state(self, wanted: StateWanted, payload: bytes) -> None:
        """Hand the application's state, as it was when `wanted` came, to those who want it. Who has
        left need not: the next one's application is asked."""
        if self._failure is not None:
            raise self._failure
        if not self._left:
            self._carry_out(self._core.give_state(wanted.view, payload))

    def mark_taken(self) -> None:
        """A durable member's application has dealt with all that it was given: written down at
        once, instead of when it asks for the next event."""
        if self._keeping is not None:
            self._keeping.take_handed()
            self._keeping.commit()
        if self._failure is not None:
            raise self._failure

    def held(self) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        return self._patience.held(self._now())

    async def leave(self, drain_s: float = _DRAIN_S) -> None:
        """Leave, after what was sent has reached everybody or the time is over."""
        if self._left or self._failure is not None:
            return
        self._leaving = True
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                await self._until(lambda: not self._core.unsettled)
                self._carry_out(self._core.leave(self._now()))
                await self._until(lambda: self._left)
                await self._until(self._has_drained)
        self._left = True

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._progress.clear()
            await self._progress.wait()

    def _has_drained(self) -> bool:
        return not any(link.waiting_bytes for link in self._links.values() if link.connected)

    # -- inside

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._left or self._leaving:
            raise Misuse(f"'{self.me}' has left group '{self.name}', or is about to")

    def _check_size(self, payload: bytes) -> None:
        if len(payload) > self._payload_bytes:
            raise Misuse(
                f"a message of {len(payload):,} bytes; at most {self._payload_bytes:,} fit into a "
                "frame (LinkLimits.frame_bytes)"
            )

    def _is_full(self) -> bool:
        for link in self._links.values():
            if link.is_full and (link.connected or not self._core.repairs_loss):
                return True
        return False

    def _take_one(self) -> Event:
        event = self._inbox.popleft()
        is_counted = self._keeping is None or self._keeping.hand(event)
        if self._of_former_life:
            self._of_former_life -= 1  # The session that counted it is gone.
            is_counted = False
        if not is_counted:
            return event
        if type(event) is Delivery and event.member is not None:
            self._core.take(event.member, event.payload)
            self._untold += 1
            if self._untold >= _TAKEN_BETWEEN_REPORTS:
                self._untold = 0
                self._carry_out(self._core.tick((), self._now(), len(self._inbox)))
        return event
