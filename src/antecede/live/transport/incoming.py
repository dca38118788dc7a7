"""The listening end: a port, the peers that dial it, and what they are allowed to say.

A connection is nobody's until its hello has been accepted; until then it may send one short frame
and has a few seconds for it. Data frames come in the order of their numbers, each once: one that
was there before is dropped, a gap ends the connection. A peer that gets on too slowly with a frame
is cut off; one that gets on is told so, since it hears of whole frames only.
"""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from antecede.errors import BadFile, BadInput, Misuse
from antecede.live.logs import log, log_warning
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
from antecede.live.transport.visitors import Visitor, Visitors

_HELLO_S: Final = 10.0
"""How long a connection may take to say who it is, and to get on with a frame,"""
_LEAST_BYTES: Final = 4096
"""which means that many bytes of it."""
_ACKNOWLEDGE_S: Final = 0.05
"""How long a peer may wait for word that its frames are here. It keeps them until then, so it hears
of many at once; of"""
_LITTLE_BYTES: Final = 4096
"""bytes later: a group in which nothing happens says a few words in a second."""
_ACKNOWLEDGE_LITTLE_S: Final = 2.5
_UNREAD_BYTES: Final = 1 << 18
"""A peer that reads so little of what it is told is cut off."""
_BACKLOG: Final = 512
_ACCEPT_S: Final = 0.05
_CERTIFICATES_S: Final = 5.0
"""How often the certificates of those who are connected are looked at."""
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

    def key_for(self, name: str, incarnation: int) -> bytes:
        """What this life of a process is given to prove its words with."""


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
        self._sockets: list[socket.socket] = []
        self._context: ssl.SSLContext | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._visitors = Visitors()

    async def open(self, address: Address) -> Address:
        """Listen; port 0 takes a free one. Gives the address that is listened on."""
        self._context = self.security.server() if isinstance(self.security, Certificates) else None
        loop = asyncio.get_running_loop()
        try:
            # It only makes the sockets: connections are accepted here, to be counted from there on.
            server = await loop.create_server(asyncio.Protocol, *address, start_serving=False)
            self._sockets = [socket.socket(fileno=os.dup(one.fileno())) for one in server.sockets]
            for one in self._sockets:
                one.setblocking(False)
                one.listen(_BACKLOG)
                loop.add_reader(one, self._accept, one)
            server.close()
        except OSError as error:
            where = f"{address[0]}:{address[1]}"
            raise Misuse(f"cannot listen on {where}: {error.strerror or error}") from None
        if isinstance(self.security, Certificates):
            self._tasks.add(loop.create_task(self._watch_certificates(self.security)))
        host, self.port = self._sockets[0].getsockname()[:2]
        return host, self.port

    def _accept(self, listening: socket.socket) -> None:
        """One connection. As a callback: a task that is cancelled may lose what it has accepted."""
        loop = asyncio.get_running_loop()
        try:
            connected, address = listening.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # It has gone again.
        except OSError as error:  # No descriptors are left, say.
            log("cannot accept", reason=error.strerror or str(error))
            self.counters.refused += 1
            self._visitors.drop_oldest()
            loop.remove_reader(listening)
            loop.call_later(_ACCEPT_S, self._go_on, listening)
            return
        connected.setblocking(False)
        visitor = Visitor(connected, str(address[0]))
        self._visitors.add(visitor)
        visitor.task = loop.create_task(self._receive(visitor))
        visitor.task.add_done_callback(lambda _: self._received(visitor))

    def _go_on(self, listening: socket.socket) -> None:
        if listening in self._sockets:
            asyncio.get_running_loop().add_reader(listening, self._accept, listening)

    async def _receive(self, visitor: Visitor) -> None:
        """From accept to hello: all of it within one time."""
        loop = asyncio.get_running_loop()
        limit_s = None if self._context is None else _HELLO_S
        try:
            async with asyncio.timeout(_HELLO_S):
                await loop.connect_accepted_socket(
                    lambda: _Accepted(self, visitor),
                    visitor.socket,
                    ssl=self._context,
                    ssl_handshake_timeout=limit_s,
                )
        except (OSError, TimeoutError) as error:
            log("broken", reason=str(error), address=visitor.address)

    def _received(self, visitor: Visitor) -> None:
        """It has shaken hands, or not, perhaps because it was sent away before it could begin."""
        if visitor.connection is None:
            self.counters.refused += 1
            self._visitors.discard(visitor)
            visitor.socket.close()

    async def _watch_certificates(self, security: Certificates) -> None:
        """Cut off whose certificate has expired, or has been revoked since."""
        while True:
            await asyncio.sleep(_CERTIFICATES_S)
            try:
                for connection in list(self.connections.values()):
                    reason = security.why_not(connection.certificate)
                    if reason:
                        log_warning(
                            f"a link of '{connection.peer_name}' is cut off: {reason}",
                            event="cut off", peer=connection.peer_name, reason=reason,
                        )  # fmt: skip
                        connection.abort()
            except BadFile as error:
                log_warning(str(error), event="unreadable", reason=str(error))

    def forget(self, visitor: Visitor) -> None:
        """It has said who it is, or has gone."""
        self._visitors.discard(visitor)

    def drop(self, group: str) -> None:
        """Cut off everybody who talks to this group."""
        for (name, _), connection in list(self.connections.items()):
            if name == group:
                connection.abort()

    async def close(self) -> None:
        loop = asyncio.get_running_loop()
        while self._sockets:
            one = self._sockets.pop()
            loop.remove_reader(one)
            one.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
        for connection in [*self.connections.values(), *self.strangers]:
            connection.abort()
        ending = self._visitors.drop_all()
        if ending:
            await asyncio.wait(ending)
        await asyncio.sleep(0)


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

    def __init__(self, listener: Listener, visitor: Visitor | None = None) -> None:
        self._listener = listener
        self._visitor = visitor
        self._decoder = FrameDecoder(HELLO_LIMIT)
        self._transport: asyncio.Transport | None = None
        self._peer: _Peer | None = None
        self._acknowledgement: asyncio.TimerHandle | None = None
        self._unacknowledged = 0
        """Bytes that came since the last acknowledgement,"""
        self._little_s = _ACKNOWLEDGE_S
        """how long it may take if they are few,"""
        self._much_bytes = _LITTLE_BYTES
        """and how many it hears of at once."""
        self._watch: asyncio.TimerHandle | None = None
        self._got_on_at = 0.0
        """When no frame was unfinished for the last time, or much of one had come,"""
        self._bytes_since = 0
        """and what has come since."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        loop = asyncio.get_running_loop()
        self._got_on_at = loop.time()
        self._listener.strangers.add(self)
        if self._visitor is not None:
            self._visitor.connection = self
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
        except Exception as error:  # noqa: BLE001 - these bytes are the reason, whatever it is
            self._listener.counters.broken += 1
            reason = str(error) if isinstance(error, BadInput) else repr(error)
            log("broken", reason=reason, address=str(self._address()))
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
                self._acknowledge_soon(_LITTLE_BYTES)

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
                # Without content it is the question how far this end has come.
                self._listener.counters.replayed += bool(items)
                self._acknowledge()
                return
            if number == peer.received.number + 1:
                peer.take(peer.name, peer.received.incarnation, items)
                peer.received.number = number
            else:
                raise BadFrame(f"data frame {number} follows {peer.received.number}")
            self._acknowledge_soon(len(body))

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
            if self._only_asks(group, hello, received):
                self._answer(group, hello)
                return
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
        self._forget_visitor()
        self._listener.counters.accepted += 1
        self._peer = _Peer(group, hello.sender, received)
        self._decoder.limit = group.limits.frame_bytes
        self._much_bytes = group.limits.buffer_bytes // 4
        self._little_s = min(_ACKNOWLEDGE_LITTLE_S, group.limits.silence_s / 4)
        self._welcome(group, hello, received.number)

    def _only_asks(self, group: Served, hello: Hello, received: Received) -> bool:
        """Whether it wants to know who listens at an address (it may have several), and has a link
        already: that stays."""
        is_other = hello.incarnation == received.incarnation and hello.link != received.link
        has_link = (group.name, hello.sender) in self._listener.connections
        return hello.receiver is None and is_other and has_link

    def _answer(self, group: Served, hello: Hello) -> None:
        """Say who listens here, and no more."""
        self._welcome(group, hello, 0)
        if self._transport is not None:
            self._transport.close()

    def _welcome(self, group: Served, hello: Hello, number: int) -> None:
        secret = group.key_for(hello.sender, hello.incarnation)
        welcome = Welcome(group.me, group.incarnation, number, secret)
        self._write(encode_frame(Kind.WELCOME, encode(welcome)))

    def _why_not_again(
        self, group: Served, name: str, life: tuple[int, int], received: Received
    ) -> str | None:
        if life[0] < received.incarnation:
            return f"'{name}' has been started anew since"
        if life < (received.incarnation, received.link):
            return f"'{name}' has dialled anew since"
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

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Of the other end."""
        found: dict[str, Any] | None = None
        if self._transport is not None:
            found = self._transport.get_extra_info("peercert")
        return found

    @property
    def peer_name(self) -> str:
        return "" if self._peer is None else self._peer.name

    def _is_genuine(self, hello: Hello) -> bool:
        security = self._listener.security
        if not isinstance(security, Certificates):
            return True
        reason = security.why_not(self.certificate)
        if reason:
            log("refused", reason=reason, address=str(self._address()), peer=hello.sender)
        return not reason and hello.sender in certified_names(self.certificate)

    def _refuse(self, reason: str, *, is_final: bool = True) -> None:
        self._listener.counters.refused += 1
        log("refused", reason=reason, address=str(self._address()))
        self._write(encode_frame(Kind.REFUSAL, encode(Refusal(reason, is_final))))
        if self._transport is not None:
            self._transport.close()

    def _address(self) -> Any:
        return None if self._transport is None else self._transport.get_extra_info("peername")

    def _acknowledge_soon(self, size: int) -> None:
        """Not at once: one word for all frames of some milliseconds, or for a few small ones of a
        second, spares both ends the work."""
        was_little = self._unacknowledged < _LITTLE_BYTES
        self._unacknowledged += size
        is_little = self._unacknowledged < _LITTLE_BYTES
        if self._unacknowledged >= self._much_bytes:
            self._acknowledge()
            return
        if self._acknowledgement is not None:
            if is_little or not was_little:
                return
            self._acknowledgement.cancel()
        delay_s = self._little_s if is_little else _ACKNOWLEDGE_S
        loop = asyncio.get_running_loop()
        self._acknowledgement = loop.call_later(delay_s, self._acknowledge)

    def _acknowledge(self) -> None:
        if self._acknowledgement is not None:
            self._acknowledgement.cancel()
        self._acknowledgement, self._unacknowledged = None, 0
        if self._peer is not None:
            self._write(encode_acknowledgement(self._peer.received.number))

    def _write(self, frame: bytes) -> None:
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(frame)
            if transport.get_write_buffer_size() > _UNREAD_BYTES:
                self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _forget_visitor(self) -> None:
        self._listener.strangers.discard(self)
        if self._visitor is not None:
            self._listener.forget(self._visitor)

    def connection_lost(self, error: Exception | None) -> None:
        self._forget_visitor()
        for timer in (self._watch, self._acknowledgement):
            if timer is not None:
                timer.cancel()
        if self._peer is not None:
            key = (self._peer.group.name, self._peer.name)
            if self._listener.connections.get(key) is self:
                del self._listener.connections[key]
