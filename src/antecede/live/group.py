"""A group as an application sees it: send, and iterate over what happens."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from itertools import repeat
from typing import Any, Final

from antecede.errors import AntecedeError, Misuse
from antecede.live.conversation import Conversation
from antecede.live.envelopes import SEAL
from antecede.live.events import Event, Missing, StateWanted
from antecede.live.messages import Answer, Request
from antecede.live.ordering.effects import Delivery, Hold
from antecede.live.ordering.incomplete import Context, ContextOrder
from antecede.live.ordering.items import weight
from antecede.live.pump import Pump
from antecede.live.recent import Recent
from antecede.live.requests import Pending, ask
from antecede.live.topics import Topic
from antecede.live.transport.outgoing import Address, Outgoing

DRAIN_S: Final = 10.0
"""How long who leaves waits, unless it is said."""
ANSWER_S: Final = 10.0
"""How long a request waits, unless it is said."""
_DELIVERIES: Final = frozenset((Delivery,))
_LOOK_AGAIN_UNITS: Final = 64
"""How much is sent between two looks at whether somebody has to be waited for."""


class Group:
    """One process in one group; made by `Node.join`."""

    def __init__(
        self,
        pump: Pump,
        *,
        codec: Any = None,
        topics: Sequence[str] = (),
        addresses_sets: bool = False,
    ) -> None:
        self.pump = pump
        """What moves it, with what it has counted."""
        self._core = pump.core
        self._inbox = pump.inbox.events
        self._conversation = Conversation(self.me, pump.incarnation, codec, topics, self.reply)
        self._takes_bytes = codec is None
        self._payload_bytes = pump.limits.item_bytes // 2
        """Half of what fits: the rest is for what a protocol adds."""
        self._addresses_sets = addresses_sets
        """Whether the protocol takes a message to some; else it goes to all, who drop it."""
        self._announcing: asyncio.Task[None] | None = None
        self._room = 0
        """Units that may be sent before it is looked at again whether somebody is too slow."""

    @property
    def name(self) -> str:
        return self.pump.name

    @property
    def me(self) -> str:
        """The name of this process."""
        return self.pump.me

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view; empty before the first."""
        return self._core.members()

    @property
    def address(self) -> Address:
        """Where this process listens."""
        return self._core.identity.address

    @property
    def links(self) -> Mapping[str, Outgoing]:
        """The links to other processes, by name."""
        return self.pump.links

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
        payload: Any,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
    ) -> None:
        """Send to these members, to a named group or to everybody: bytes, or what the codec takes.
        Waits while the view changes and while receivers lag too far behind."""
        encoded = self._conversation.encoded(payload)
        await self.send_when_open(lambda: self._send_now(encoded, to, group, label))

    async def send_in(
        self, context: Context | None, payload: Any, to: Sequence[str] | None = None
    ) -> Context:
        """Send a message that follows what is in the context, and nothing else; None for no order
        at all. Gives the context with the message in it."""
        encoded = self._conversation.encoded(payload)
        await self._until_sent(lambda: self._send_now(encoded, to, context=context))
        after = self.pump.membership().context()
        if self.pump.write_ahead is not None:
            await self.pump.write_ahead.committed()
        return after

    def send_now(
        self,
        payload: Any,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
        context: Context | None = None,
    ) -> bool:
        """Send if nobody has to be waited for; otherwise do nothing and say so."""
        if not (self._takes_bytes and type(payload) is bytes and payload[:2] != SEAL):
            payload = self._conversation.encoded(payload)
        return self._send_now(payload, to, group, label, context)

    def _send_now(
        self,
        payload: bytes,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
        context: Context | None = None,
    ) -> bool:
        self._check_open()
        self._check_size(payload)
        core = self._core
        if not core.is_open:
            return False
        if self._room <= 0:
            self._room = min(_LOOK_AGAIN_UNITS, self.pump.settings.window - core.untaken)
            if self._room <= 0 or self.pump.transmission.is_full:
                self._room = 0
                return False
        self._room -= weight(len(payload))
        outputs = core.send(payload, to, group, self.pump.now(), label, context)
        self.pump.counters.sends += 1
        try:
            self.pump.carry_out(outputs)
        except AntecedeError as error:
            # What the protocol added does not fit, and by now the message counts as sent: others
            # would wait for it for ever.
            self.pump.fail(error)
            raise
        return True

    def send_past(self, payload: Any, to: Sequence[str]) -> None:
        """Send past all ordering."""
        self._check_open()
        encoded = self._conversation.encoded(payload)
        self._check_size(encoded)
        self.pump.carry_out(self._core.send_direct(encoded, to))

    async def request(
        self,
        payload: Any,
        to: str | None = None,
        *,
        timeout_s: float = ANSWER_S,
        in_turn: bool = False,
    ) -> Answer:
        """Ask this member, or everybody else for the first answer. The answer is given once it is
        delivered here, and with it all that it follows; of that, the iteration may have some yet to
        give. With `in_turn` it has given all of it: then another task has to iterate. `NoAnswer` if
        the time is over, or who was asked is gone."""
        asked = () if to is None else (to,)
        pending = Pending(wants_all=False, in_turn=in_turn)
        return (await ask(self, self._conversation, payload, asked, timeout_s, pending))[0]

    async def request_all(
        self,
        payload: Any,
        to: Sequence[str] = (),
        *,
        timeout_s: float = ANSWER_S,
        in_turn: bool = False,
    ) -> list[Answer]:
        """Ask these members, or everybody else, and wait for all of them; those who go away
        meanwhile are not waited for. See `request`; `NoAnswer.answers` are those that have come."""
        if isinstance(to, str):
            raise Misuse(f"to={to!r}: to is a list of names here: ['bob', ...]")
        pending = Pending(wants_all=True, in_turn=in_turn)
        return await ask(self, self._conversation, payload, to, timeout_s, pending)

    async def reply(self, request: Request, payload: Any) -> bool:
        """Answer a request; `request.reply(payload)` is the same. Waits as `send` does; false if
        who asked is not there any more."""
        encoded = self._conversation.reply(request, payload)

        def send() -> bool:
            is_there = request.sender in self.members
            return not is_there or self.send_encoded(encoded, (request.sender,))

        await self.send_when_open(send)
        return request.sender in self.members

    def topic(self, name: str, codec: Any = None) -> Topic:
        """A topic by its name, perhaps with a codec of its own."""
        self._conversation.set_codec(name, codec)
        return Topic(name, self, self._conversation)

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        event = None
        while event is None:  # Some are not for the application.
            if self.pump.write_ahead is not None:
                self.pump.write_ahead.take_handed()
            while not self._inbox:
                if self.pump.failure is not None:
                    raise self.pump.failure
                if self.pump.has_left:
                    raise StopAsyncIteration
                await self.arrival()
            event = self._take_one()
        return event

    def take_ready(self) -> list[Event]:
        """All events that have happened so far, without waiting; for those in a hurry."""
        pump = self.pump
        if pump.write_ahead is None and self._takes_bytes and not pump.inbox.of_former_life:
            events = list(self._inbox)
            if _DELIVERIES.issuperset(map(type, events)) and not _has_wrapped(events):
                self._inbox.clear()
                pump.inbox.count_all_taken(events)
                return events
        taken = [self._take_one() for _ in range(len(self._inbox))]
        return [event for event in taken if event is not None]

    def give_state(self, wanted: StateWanted, payload: bytes) -> None:
        """Hand the application's state, as it was when `wanted` came, to those who want it. Who has
        left need not: the next one's application is asked."""
        if self.pump.failure is not None:
            raise self.pump.failure
        if not self.pump.has_left:
            self.pump.carry_out(self.pump.membership().give_state(wanted.view, payload))

    def mark_taken(self) -> None:
        """A durable member's application has dealt with all that it was given: written down at
        once, instead of when it asks for the next event."""
        if self.pump.write_ahead is not None:
            self.pump.write_ahead.take_handed()
            self.pump.write_ahead.commit()
        if self.pump.failure is not None:
            raise self.pump.failure

    def held(self) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        return self.pump.held()

    def recent(self) -> dict[str, Any]:
        """The last messages and views in plain values, where they are remembered (`measures`)."""
        return self.pump.recording.told() if isinstance(self.pump.recording, Recent) else {}

    def start(self) -> None:
        self.pump.start()

    async def leave(self, drain_s: float = DRAIN_S) -> None:
        """Leave, after what was sent has reached everybody or the time is over. If it is cancelled
        before the others are told, this process is a member as before; after that it is about to
        leave, and `leave` may be called again."""
        await self.pump.leave(drain_s)

    async def close(self) -> None:
        """Stop at once, without a word to the others."""
        if self._announcing is not None:
            self._announcing.cancel()
        await self.pump.close()

    # -- for requests and topics

    async def send_when_open(self, send: Callable[[], bool]) -> None:
        """Try to send until it is done, and in the log."""
        if self._core.protocol == ContextOrder.name:
            raise Misuse(
                "where the application holds the contexts, a message is sent in one: send_in"
            )
        await self._until_sent(send)
        if self.pump.write_ahead is not None:
            await self.pump.write_ahead.committed()

    def send_encoded(self, payload: bytes, to: Sequence[str] = ()) -> bool:
        """Send to these, where the protocol takes some, else to everybody; false if somebody has to
        be waited for."""
        return self._send_now(payload, to if to and self._addresses_sets else None)

    def look_ahead(self) -> None:
        """Look for answers among what waits to be taken."""
        if self.pump.failure is not None:
            raise self.pump.failure
        self._check_open()
        self._conversation.look_ahead(self._inbox, self.pump.lookout.standstill.taken)

    async def arrival(self) -> None:
        """Wait until there is more to take, or it is over."""
        self.pump.inbox.arrival.clear()
        await self.pump.inbox.arrival.wait()

    async def _announce(self) -> None:
        """Tell newcomers which topics this process is in."""
        with suppress(AntecedeError):  # It has left, or failed, and says so itself.
            while self._conversation.is_to_announce:
                self._conversation.is_to_announce = False
                said = self._conversation.subscription()
                await self.send_when_open(lambda said=said: self.send_encoded(said))  # type: ignore[misc]

    async def _until_sent(self, send: Callable[[], bool]) -> None:
        if send():
            return
        self.pump.lookout.standstill.waiting_sends += 1
        try:
            await self.pump.until(send)
        finally:
            self.pump.lookout.standstill.waiting_sends -= 1

    # -- inside

    def _check_open(self) -> None:
        if self.pump.failure is not None:
            raise self.pump.failure
        if self.pump.has_left or self.pump.is_leaving:
            raise Misuse(f"'{self.me}' has left group '{self.name}', or is about to")

    def _check_size(self, payload: bytes) -> None:
        if len(payload) > self._payload_bytes:
            raise Misuse(
                f"a message of {len(payload):,} bytes; at most {self._payload_bytes:,} fit into a "
                "frame (LinkLimits.frame_bytes)"
            )

    def _take_one(self) -> Event | None:
        """The next event; None if it is not for the application."""
        event = self._inbox.popleft()
        self.pump.inbox.count_taken(event)
        if type(event) is Delivery and self._takes_bytes and event.payload[:2] != SEAL:
            return event  # As most do where there is no codec.
        conversation = self._conversation
        understood = conversation.understand(event)
        if conversation.is_asking:
            self.pump.inbox.arrival.set()  # Who waits for an answer in its turn looks again.
        if conversation.is_to_announce and (self._announcing is None or self._announcing.done()):
            self._announcing = asyncio.get_running_loop().create_task(self._announce())
        return understood


def _has_wrapped(deliveries: Sequence[Any]) -> bool:
    payloads = [delivery.payload for delivery in deliveries]
    return any(map(bytes.startswith, payloads, repeat(SEAL)))
