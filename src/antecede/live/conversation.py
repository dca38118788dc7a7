"""What stands between a group's deliveries and its application: codecs, topics, requests.

A delivery becomes the event that the application gets, or nothing where it is for others. All of it
happens in the order of the deliveries, when they are taken; only answers that nobody wants in
their turn are looked for ahead of it.
"""

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from itertools import islice
from typing import Any

from antecede.errors import Misuse
from antecede.live.arguments import check_name, check_payload
from antecede.live.codecs import Codec, encode, to_codec
from antecede.live.envelopes import (
    Ask,
    InTopic,
    Plain,
    Reply,
    Subscribed,
    is_wrapped,
    plain,
    unwrapped,
    wrapped,
)
from antecede.live.events import Event, Excluded
from antecede.live.messages import Message, Request, Undecodable
from antecede.live.ordering.effects import Delivery, ViewChange
from antecede.live.requests import Pending
from antecede.live.topics import TopicTable


class Conversation:
    """Of one process in one group."""

    def __init__(
        self,
        me: str,
        life: int,
        codec: Any,
        topics: Iterable[str],
        answer: Callable[[Request, Any], Awaitable[bool]],
    ) -> None:
        if isinstance(topics, str):
            raise Misuse(f"topics={topics!r}: topics are a list of names: ['orders', ...]")
        self._wanted = set(topics)
        for topic in self._wanted:
            check_name(topic, "topics")
        self._me = me
        self._codec = to_codec(codec)
        self._codecs: dict[str, Codec | None] = {}
        """Of topics that have their own."""
        self.topics = TopicTable(me, life, self._wanted)
        self._answer = answer
        self._pending: dict[int, Pending] = {}
        self._asked = 0
        self._looked = 0
        """How many events, of all that there ever were, have been looked at ahead of their turn."""
        self.is_to_announce = False
        """Whether somebody new has to be told which topics this process is in."""

    # -- what is sent

    def set_codec(self, topic: str, codec: Any) -> None:
        """The codec of a topic, where it is not the group's."""
        check_name(topic, "topic")
        if codec is not None:
            self._codecs[topic] = to_codec(codec)

    def _bytes(self, payload: Any, topic: str | None = None) -> bytes:
        codec = self._codec if topic is None else self._codecs.get(topic, self._codec)
        if codec is not None:
            return encode(codec, payload)
        check_payload(payload)
        return payload  # type: ignore[no-any-return]

    def encoded(self, payload: Any) -> bytes:
        """An ordinary payload as it travels."""
        return plain(self._bytes(payload))

    def in_topic(self, topic: str, payload: Any) -> bytes:
        return wrapped(InTopic(topic, bytes(self._bytes(payload, topic))))

    def subscription(self, came: str | None = None, left: str | None = None) -> bytes:
        """Say which topics this process is in, after it has come to one or left one."""
        if came is not None:
            self._wanted.add(came)
        self._wanted.discard(left or "")
        return wrapped(Subscribed(self.topics.life, tuple(sorted(self._wanted))))

    def ask(self, payload: Any, to: Iterable[str]) -> tuple[int, bytes]:
        """A request of these, or of everybody: its number, and what travels."""
        self._asked += 1
        encoded = bytes(self._bytes(payload))
        return self._asked, wrapped(Ask(self.topics.life, self._asked, tuple(to), encoded))

    def reply(self, request: Request, payload: Any) -> bytes:
        return wrapped(Reply(*request.id, request.sender, bytes(self._bytes(payload))))

    # -- what is taken

    def understand(self, event: Event) -> Event | None:
        """An event as the application gets it; None if it is not for it."""
        if type(event) is Delivery:
            if is_wrapped(event.payload):
                return self._open(event)
            return event if self._codec is None else self._decoded(event, event.payload)
        if type(event) is ViewChange:
            self.is_to_announce |= self.topics.enter(event.members, event.joined)
        if self._pending:
            self._tell_pending(event, in_turn=True)
        return event

    def _open(self, delivery: Delivery) -> Event | None:
        sender = delivery.sender
        try:
            envelope = unwrapped(delivery.payload)
        except ValueError as error:
            return Undecodable(sender, f"no envelope: {error}", None, delivery)
        match envelope:
            case Plain(payload):
                # Without a codec, the application gets the very bytes that were sent.
                if self._codec is None:
                    return _with_payload(delivery, payload)
                return self._decoded(delivery, payload)
            case InTopic(topic, payload):
                is_given = self.topics.is_given(topic)
                return self._decoded(delivery, payload, topic) if is_given else None
            case Subscribed(life, topics):
                return self.topics.take(sender, life, topics)
            case Ask(life, number, to, payload):
                if sender == self._me or (to and self._me not in to):
                    return None
                decoded = self._decoded(delivery, payload)
                if isinstance(decoded, Undecodable):
                    return decoded
                return Request(sender, decoded.payload, (life, number), self._answer)
            case Reply():
                self._see_reply(sender, envelope, in_turn=True)
                return None

    def _decoded(
        self, delivery: Delivery, payload: bytes, topic: str | None = None
    ) -> Message | Undecodable:
        codec = self._codec if topic is None else self._codecs.get(topic, self._codec)
        try:
            value = payload if codec is None else codec.decode(payload)
        except Exception as error:  # noqa: BLE001 - whatever it is, these bytes are the reason
            return Undecodable(delivery.sender, str(error), topic, delivery)
        return Message(delivery.sender, value, topic, delivery)

    # -- answers

    @property
    def is_asking(self) -> bool:
        return bool(self._pending)

    def expect(self, number: int, pending: Pending) -> None:
        self._pending[number] = pending

    def forget(self, number: int) -> None:
        """Nobody waits for the answers to this request any more."""
        self._pending.pop(number, None)

    def look_ahead(self, inbox: deque[Event], taken: int) -> None:
        """Look for answers among events that wait to be taken, after so many that were."""
        self._looked = max(self._looked, taken)
        for event in islice(inbox, self._looked - taken, None):
            if type(event) is not Delivery:
                self._tell_pending(event, in_turn=False)
            elif is_wrapped(event.payload):
                try:
                    envelope = unwrapped(event.payload)
                except ValueError:
                    continue  # It is told in its turn.
                if isinstance(envelope, Reply):
                    self._see_reply(event.sender, envelope, in_turn=False)
        self._looked = taken + len(inbox)

    def _see_reply(self, sender: str, reply: Reply, *, in_turn: bool) -> None:
        pending = self._pending.get(reply.number)
        is_ours = reply.to == self._me and reply.life == self.topics.life
        if pending is not None and is_ours and pending.in_turn == in_turn:
            payload, codec = reply.payload, self._codec
            pending.see_answer(sender, lambda: payload if codec is None else codec.decode(payload))

    def _tell_pending(self, event: Event, *, in_turn: bool) -> None:
        for pending in list(self._pending.values()):
            if pending.in_turn != in_turn:
                continue
            if type(event) is ViewChange:
                pending.see_departure(event.departed)
            elif type(event) is Excluded:
                pending.failure = "the others have gone on without this process, perhaps unasked"


def _with_payload(delivery: Delivery, payload: bytes) -> Delivery:
    return Delivery(
        delivery.sender, payload, delivery.number, delivery.group, delivery.ordered,
        delivery.lamport, delivery.member, delivery.label, delivery.context,
    )  # fmt: skip
