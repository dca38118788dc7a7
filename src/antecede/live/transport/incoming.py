"""The listening end: a port, the peers that dial it, and what they are allowed to say.

A connection is nobody's until its hello has been accepted; until then it may send one short frame
and has a few seconds for it. Data frames come in the order of their numbers, each once: one that
was there before is dropped, a gap ends the connection. A peer that gets on too slowly with a frame
is cut off; one that gets on is told so, since it hears of whole frames only.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from antecede.errors import BadInput, Misuse
from antecede.live.logs import log
from antecede.live.transport.frames import (
    HELLO_LIMIT,
    BadFrame,
    FrameDecoder,
    Kind,
    encode_acknowledgement,
    encode_frame,
    split_number,
)
from antecede.live.transport.handshake import (
    NO_REASON,
    Hello,
    Refusal,
    Welcome,
    decode,
    encode,
    why_not,
)
from antecede.live.transport.outgoing import Address, LinkLimits
from antecede.live.transport.tls import Certificates, Security, certified_names

_HELLO_S: Final = 5.0
"""How long a connection may take to say who it is, and to get on with a frame,"""
_LEAST_BYTES: Final = 4096
"""which means that many bytes of it."""
_ACKNOWLEDGE_S: Final = 0.01
"""How long a peer may wait for word that its frames are here. It keeps them until then."""
_STRANGERS: Final = 256
"""Connections that have not said hello yet. More are closed at once."""
_NAMES: Final = 10_000
"""Processes of which it is remembered up to where they have been heard."""


class Received(msgspec.Struct):
    """What has come on one link of one incarnation of a peer."""

    incarnation: int
    link: int
    number: int = 0


class Served(Protocol):
    """A group, as the listening end sees it."""

    name: str
    protocol_text: str
    me: str
    incarnation: int
    limits: LinkLimits
    received: dict[str, Received]
    lets_back_in: bool
    """Whether a process that was started anew may come again under its name."""

    @property
    def members(self) -> tuple[str, ...]:
        """Of the current view."""

    def may_join(self, name: str) -> bool:
        """Whether a process of this name may talk to this group at all."""

    def take(self, sender: str, incarnation: int, items: memoryview) -> None:
        """A batch of items. Raises `BadInput` where it cannot be right."""


@dataclass
class Counters:
    """What the listening end has seen, for the metrics."""

    accepted: int = 0
    refused: int = 0
    broken: int = 0
    replayed: int = 0
    bytes_received: int = 0


class Listener:
    """A listening port, shared by the groups of a process."""

    def __init__(self, security: Security) -> None:
        self.security = security
        self.groups: dict[str, Served] = {}
        self.counters = Counters()
        self.connections: dict[tuple[str, str], _Accepted] = {}
        """By group and sender: one each."""
        self.strangers: set[_Accepted] = set()
        self.port = 0
        self._server: asyncio.Server | None = None

    async def open(self, address: Address) -> Address:
        """Listen; port 0 takes a free one. Gives the address that is listened on."""
        context = self.security.server() if isinstance(self.security, Certificates) else None
        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_server(lambda: _Accepted(self), *address, ssl=context)
        except OSError as error:
            where = f"{address[0]}:{address[1]}"
            raise Misuse(f"cannot listen on {where}: {error.strerror or error}") from None
        host, self.port = self._server.sockets[0].getsockname()[:2]
        return host, self.port

    def drop(self, group: str) -> None:
        """Cut off everybody who talks to this group."""
        for (name, _), connection in list(self.connections.items()):
            if name == group:
                connection.abort()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for connection in [*self.connections.values(), *self.strangers]:
            connection.abort()
        if self._server is not None:
            await self._server.wait_closed()


@dataclass
class _Peer:
    """Who is at the other end of a connection, once it is known."""

    group: Served
    name: str
    received: Received
    take: Callable[[str, int, memoryview], None] = field(init=False)

    def __post_init__(self) -> None:
        self.take = self.group.take


class _Accepted(asyncio.Protocol):
    """The listening end of a connection."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._decoder = FrameDecoder(HELLO_LIMIT)
        self._transport: asyncio.Transport | None = None
        self._peer: _Peer | None = None
        self._acknowledgement_due = False
        self._watch: asyncio.TimerHandle | None = None
        self._got_on_at = 0.0
        """When no frame was unfinished for the last time, or much of one had come,"""
        self._bytes_since = 0
        """and what has come since."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        loop = asyncio.get_running_loop()
        self._got_on_at = loop.time()
        if len(self._listener.strangers) >= _STRANGERS:
            self.abort()
            return
        self._listener.strangers.add(self)
        self._watch = loop.call_later(_HELLO_S, self._look)

    def _look(self) -> None:
        """Cut off who takes too long over a frame."""
        loop = asyncio.get_running_loop()
        stuck = self._peer is None or self._decoder.pending
        if stuck and loop.time() - self._got_on_at >= _HELLO_S:
            self.abort()
        else:
            self._watch = loop.call_later(_HELLO_S, self._look)

    def data_received(self, data: bytes) -> None:
        self._listener.counters.bytes_received += len(data)
        try:
            frames = self._decoder.feed(data)
            for kind, body in frames:
                self._take(kind, body)
        except BadInput as error:
            self._listener.counters.broken += 1
            log("broken", reason=str(error), address=str(self._address()))
            self.abort()
            return
        if self._peer is not None:
            self._note_progress(len(data), is_whole=bool(frames) or not self._decoder.pending)

    def _note_progress(self, size: int, *, is_whole: bool) -> None:
        self._bytes_since += size
        if is_whole or self._bytes_since >= _LEAST_BYTES:
            self._bytes_since = 0
            self._got_on_at = asyncio.get_running_loop().time()
            if not is_whole:
                self._acknowledge_soon()

    def _take(self, kind: int, body: bytes) -> None:
        peer = self._peer
        if peer is None:
            if kind != Kind.HELLO:
                raise BadFrame(f"a frame of kind {kind} instead of a hello")
            self._greet(decode(body, Hello))
        elif kind != Kind.DATA:
            raise BadFrame(f"an unexpected frame of kind {kind}")
        else:
            number, items = split_number(body)
            if number <= peer.received.number:
                self._listener.counters.replayed += 1
            elif number == peer.received.number + 1:
                peer.take(peer.name, peer.received.incarnation, items)
                peer.received.number = number
            else:
                raise BadFrame(f"data frame {number} follows {peer.received.number}")
            self._acknowledge_soon()

    def _greet(self, hello: Hello) -> None:
        """Let the peer in, or refuse it."""
        group = self._listener.groups.get(hello.group)
        if not self._is_genuine(hello):
            self._refuse(NO_REASON)
            return
        if group is None:
            # It may be about to join: a process listens before it is in any group.
            self._refuse(f"there is no group '{hello.group}' here", is_final=False)
            return
        if not group.may_join(hello.sender):
            self._refuse(NO_REASON)
            return
        reason = why_not(hello, group.name, group.protocol_text, group.me)
        received = group.received.get(hello.sender)
        life = (hello.incarnation, hello.link)
        if reason is None and received is not None:
            reason = self._why_not_again(group, hello.sender, life, received)
        if reason is not None:
            self._refuse(reason)
            return
        if received is not None and self._is_taken(group, hello, received):
            # By a former life that will be found dead, or by somebody else who lives on.
            self._refuse(f"the name '{hello.sender}' is taken", is_final=False)
            return
        if received is None or life > (received.incarnation, received.link):
            self._make_room(group)
            received = group.received[hello.sender] = Received(*life)
        key = (group.name, hello.sender)
        former = self._listener.connections.get(key)
        if former is not None:
            former.abort()
        self._listener.connections[key] = self
        self._listener.strangers.discard(self)
        self._listener.counters.accepted += 1
        self._peer = _Peer(group, hello.sender, received)
        self._decoder.limit = group.limits.frame_bytes
        welcome = Welcome(group.me, group.incarnation, received.number)
        self._write(encode_frame(Kind.WELCOME, encode(welcome)))

    def _why_not_again(
        self, group: Served, name: str, life: tuple[int, int], received: Received
    ) -> str | None:
        if life < (received.incarnation, received.link):
            return f"'{name}' has been started anew since"
        if life[0] != received.incarnation and not group.lets_back_in:
            return (
                f"'{name}' has been here before, and has forgotten what it knew: it cannot return"
            )
        return None

    def _is_taken(self, group: Served, hello: Hello, received: Received) -> bool:
        """Whether a member of this name is connected, as another incarnation."""
        return (
            hello.incarnation != received.incarnation
            and hello.sender in group.members
            and (group.name, hello.sender) in self._listener.connections
        )

    def _make_room(self, group: Served) -> None:
        """Forget somebody who is not connected, if very many names have been here."""
        if len(group.received) >= _NAMES:
            for name in group.received:
                if (group.name, name) not in self._listener.connections:
                    del group.received[name]
                    return

    def _is_genuine(self, hello: Hello) -> bool:
        if not isinstance(self._listener.security, Certificates) or self._transport is None:
            return True
        certificate: dict[str, Any] | None = self._transport.get_extra_info("peercert")
        return hello.sender in certified_names(certificate)

    def _refuse(self, reason: str, *, is_final: bool = True) -> None:
        self._listener.counters.refused += 1
        log("refused", reason=reason, address=str(self._address()))
        self._write(encode_frame(Kind.REFUSAL, encode(Refusal(reason, is_final))))
        if self._transport is not None:
            self._transport.close()

    def _address(self) -> Any:
        return None if self._transport is None else self._transport.get_extra_info("peername")

    def _acknowledge_soon(self) -> None:
        """Not at once: one word for all frames of some milliseconds spares both ends the work."""
        if not self._acknowledgement_due:
            self._acknowledgement_due = True
            asyncio.get_running_loop().call_later(_ACKNOWLEDGE_S, self._acknowledge)

    def _acknowledge(self) -> None:
        self._acknowledgement_due = False
        if self._peer is not None:
            self._write(encode_acknowledgement(self._peer.received.number))

    def _write(self, frame: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(frame)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._listener.strangers.discard(self)
        if self._watch is not None:
            self._watch.cancel()
        if self._peer is not None:
            key = (self._peer.group.name, self._peer.name)
            if self._listener.connections.get(key) is self:
                del self._listener.connections[key]
