"""A link to one peer: dialled again whenever it breaks, and taken up where it broke.

Items that are put on it in one turn of the event loop travel as one data frame. Data frames are
numbered and kept until the peer acknowledges them; after a reconnection the peer says which it
has, and the others are sent again. So nothing is lost and nothing is doubled as long as both
processes live. A peer that comes back as another incarnation has forgotten everything: what was
meant for the old one is dropped, and the owner is told.
"""

import asyncio
import random
import socket
import ssl
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from antecede.errors import BadInput, Misuse
from antecede.live.transport.frames import (
    FRAME_LIMIT,
    HELLO_LIMIT,
    BadFrame,
    FrameDecoder,
    Kind,
    encode_data,
    encode_frame,
    split_number,
)
from antecede.live.transport.handshake import Hello, Refusal, Refused, Welcome, decode, encode
from antecede.live.transport.tls import PLAIN_TCP, Certificates, Security, certified_names
from antecede.live.transport.turns import Turn, Turns

Address = tuple[str, int]

_FIRST_PAUSE_S: Final = 0.05
_LONGEST_PAUSE_S: Final = 2.0
_HANDSHAKE_S: Final = 10.0
_WORDLESS: Final = 5
_FRAME_ITEMS: Final = 1 << 15


def array_head(count: int) -> bytes:
    """The head of a MessagePack array."""
    if count < 16:
        return bytes((0x90 | count,))
    if count < 1 << 16:
        return b"\xdc" + count.to_bytes(2, "big")
    return b"\xdd" + count.to_bytes(4, "big")


def describe(error: Exception) -> str:
    """Why an attempt to reach a peer failed, for people."""
    match error:
        case ssl.SSLError():
            return (
                f"TLS: {(error.reason or str(error)).lower().replace('_', ' ')}; does it use TLS?"
            )
        case TimeoutError():
            return "no answer in time"
        case ConnectionRefusedError():
            return "nobody listens there"
        case ConnectionResetError():
            return "it closed the connection without a word; does it use TLS, or not?"
        case socket.gaierror():
            return f"the name cannot be resolved: {error.strerror}"
        case OSError():
            return error.strerror or str(error)
    return str(error)


@dataclass(frozen=True)
class LinkLimits:
    """`buffer_bytes`: what may wait for a peer before senders have to. `silence_s`: how long a
    peer that has data to acknowledge may say nothing before the connection is taken for dead."""

    buffer_bytes: int = 4 * 2**20
    frame_bytes: int = FRAME_LIMIT
    silence_s: float = 10.0

    @property
    def item_bytes(self) -> int:
        """What one item may take: a frame is sent as soon as half of it is full."""
        return self.frame_bytes // 2 - 64


class Outgoing:
    """What this process sends to one peer. `run` has to be running for anything to travel."""

    def __init__(
        self,
        peer: str | None,
        address: Address,
        hello: Callable[[], Hello],
        security: Security,
        limits: LinkLimits,
        welcomed: Callable[["Outgoing", Welcome], None],
        drained: Callable[[], None],
        turns: Turns,
    ) -> None:
        self.peer = peer
        self.address = address
        self.incarnation: int | None = None
        """Of the peer, as it said itself; None before the first welcome."""
        self.connected = False
        self.reconnections = 0
        self.frames_resent = 0
        self.bytes_sent = 0
        self.waiting_bytes = 0
        """Put on the link and not acknowledged yet."""
        self._hello = hello
        self._security = security
        self._limits = limits
        self._welcomed = welcomed
        self._drained = drained
        self._turns = turns
        self._items: list[bytes] = []
        self._items_bytes = 0
        self._flush_due = False
        self._next_number = 1
        self._unacknowledged: deque[tuple[int, bytes]] = deque()
        self._connection: _Dialled | None = None
        self._was_full = False
        self._acknowledged_at = 0.0
        self._wordless = 0
        """Attempts in a row that ended after TLS and before a welcome."""
        self.trouble = ""
        """Why the last attempt failed; empty while it stands, and before the first."""

    @property
    def is_full(self) -> bool:
        return self.waiting_bytes >= self._limits.buffer_bytes

    def put(self, item: bytes) -> None:
        """Send one encoded item as soon as this turn of the event loop is over."""
        if len(item) > self._limits.item_bytes:
            raise Misuse(
                f"an item of {len(item):,} bytes; at most {self._limits.item_bytes:,} fit into a "
                "frame (LinkLimits.frame_bytes)"
            )
        self.put_all((item,), len(item))

    def put_all(self, items: Sequence[bytes], size: int, *, is_last: bool = False) -> None:
        """The same with several, none of which is too large, of this size altogether; at once if
        they are the last of this turn."""
        self._items += items
        self._items_bytes += size
        self.waiting_bytes += size
        is_long = self._items_bytes >= self._limits.frame_bytes // 2
        if is_last or is_long or len(self._items) >= _FRAME_ITEMS:
            self.flush()
        elif not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Send what has been put on it."""
        self._flush_due = False
        items = self._items
        if not items:
            return
        frame = encode_data(self._next_number, array_head(len(items)) + b"".join(items))
        # What waits is counted in bytes of frames once it is framed.
        self.waiting_bytes += len(frame) - self._items_bytes
        self._items, self._items_bytes = [], 0
        if not self._unacknowledged:
            self._acknowledged_at = asyncio.get_running_loop().time()
        self._unacknowledged.append((self._next_number, frame))
        self._next_number += 1
        if self._connection is not None and self.connected:
            self._write(frame)

    def _write(self, frame: bytes) -> None:
        if self._connection is not None:
            self.bytes_sent += len(frame)
            self._connection.write(frame)

    def ask(self) -> None:
        """Ask how far the peer has come: of little it would say so only after a while."""
        if self._unacknowledged and self.connected:
            self._write(encode_data(self._unacknowledged[-1][0], b""))

    async def run(self) -> None:
        """Dial, talk, and dial again until cancelled; raises `Refused` when the peer says no."""
        pause_s = _FIRST_PAUSE_S
        while True:
            started = asyncio.get_running_loop().time()
            try:
                await self._talk()
            except ssl.SSLError as error:
                # Either side's certificate is not believed; trying again would not help.
                if any(word in (error.reason or "") for word in ("CERTIFICATE", "UNKNOWN_CA")):
                    raise Refused(f"TLS: {error.reason.lower().replace('_', ' ')}") from None
                self.trouble = describe(error)
            except (OSError, BadInput, TimeoutError) as error:
                self.trouble = describe(error)
                self._check_wordless()  # Else the next attempt is the answer to what broke this.
            finally:
                self.connected = False
                self._connection = None
            if asyncio.get_running_loop().time() - started > _LONGEST_PAUSE_S:
                pause_s = _FIRST_PAUSE_S
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _check_wordless(self) -> None:
        """Who does not believe a certificate just ends the connection, once it is encrypted."""
        if self._security is PLAIN_TCP or self._connection is None:
            return
        self._wordless = 0 if self.connected else self._wordless + 1
        if self._wordless >= _WORDLESS:
            self._wordless = 0
            raise Refused("refused without a word; is the certificate one that is believed there?")

    async def _talk(self) -> None:
        """One connection, from dialling to its end."""
        connection = _Dialled(self)
        try:
            with await self._turns.wait() as turn:
                async with asyncio.timeout(_HANDSHAKE_S):
                    await self._connect(connection, turn)
                async with asyncio.timeout(_HANDSHAKE_S):
                    await self._greet(connection)
            self._look(connection)
            await connection.lost
        finally:
            connection.end()

    async def _connect(self, connection: "_Dialled", turn: Turn) -> None:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: connection, *self.address)
        turn.is_connected()
        if isinstance(self._security, Certificates):
            connection.transport = await loop.start_tls(
                transport, connection, self._security.client(), server_hostname=self.address[0]
            )

    async def _greet(self, connection: "_Dialled") -> None:
        """Both ends say who they are."""
        self._connection = connection
        connection.write(encode_frame(Kind.HELLO, encode(self._hello())))
        welcome = await connection.welcome
        self._check_identity(welcome, connection)
        self._take_up(welcome)

    def _look(self, connection: "_Dialled") -> None:
        """Now and then: whether the peer still answers, and may still be believed."""
        loop = asyncio.get_running_loop()
        silence_s = loop.time() - self._acknowledged_at
        if self._unacknowledged and silence_s > self._limits.silence_s:
            connection.fail(TimeoutError())
            return
        reason = self._why_not(connection)
        if reason:
            connection.fail(BadFrame(reason))
            return
        later_s = self._limits.silence_s / 4
        connection.watch = loop.call_later(later_s, self._look, connection)

    def _why_not(self, connection: "_Dialled") -> str:
        """Why the peer's certificate is not believed; empty if it is, or none is needed."""
        if isinstance(self._security, Certificates):
            return self._security.why_not(connection.certificate)
        return ""

    def _check_identity(self, welcome: Welcome, connection: "_Dialled") -> None:
        if self.peer not in (None, welcome.receiver):
            raise BadFrame(f"dialled '{self.peer}' and reached '{welcome.receiver}'")
        reason = self._why_not(connection)
        if reason:
            raise BadFrame(reason)
        if isinstance(self._security, Certificates) and (
            welcome.receiver not in certified_names(connection.certificate)
        ):
            raise BadFrame(f"the certificate of '{welcome.receiver}' is for another name")

    def _take_up(self, welcome: Welcome) -> None:
        """Go on where the peer says it stands."""
        if self.incarnation is not None:
            self.reconnections += 1
        if self.incarnation not in (None, welcome.incarnation):
            self._forget()
        self.peer, self.incarnation = welcome.receiver, welcome.incarnation
        self.acknowledge(welcome.received)
        for _, frame in self._unacknowledged:
            self.frames_resent += self.reconnections > 0
            self._write(frame)
        self.connected = True
        self.trouble = ""
        self._welcomed(self, welcome)

    def _forget(self) -> None:
        """The peer is a new incarnation: what was for the old one is for nobody."""
        self._items, self._items_bytes = [], 0
        self._unacknowledged.clear()
        self.waiting_bytes = 0
        self._next_number = 1

    def acknowledge(self, number: int) -> None:
        """The peer has all data frames up to this number."""
        if number >= self._next_number:
            raise BadFrame(f"frame {number} is acknowledged and was never sent")
        was_full = self.is_full
        # The same number again says that more of a long frame has come.
        self._acknowledged_at = asyncio.get_running_loop().time()
        while self._unacknowledged and self._unacknowledged[0][0] <= number:
            self.waiting_bytes -= len(self._unacknowledged.popleft()[1])
        if was_full and not self.is_full:
            self._drained()


class _Dialled(asyncio.Protocol):
    """The dialling end of a connection."""

    def __init__(self, link: Outgoing) -> None:
        loop = asyncio.get_running_loop()
        self.link = link
        self.transport: asyncio.Transport | None = None
        self.watch: asyncio.TimerHandle | None = None
        self.welcome: asyncio.Future[Welcome] = loop.create_future()
        self.lost: asyncio.Future[None] = loop.create_future()
        self._decoder = FrameDecoder(HELLO_LIMIT)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        try:
            for kind, body in self._decoder.feed(data):
                self._take(kind, body)
        except Exception as error:  # noqa: BLE001 - these bytes are the reason, whatever it is
            is_known = isinstance(error, BadFrame | Refused)
            self.fail(error if is_known else BadFrame(f"{type(error).__name__}: {error}"))

    def _take(self, kind: int, body: bytes) -> None:
        if not self.welcome.done():
            if kind == Kind.REFUSAL:
                refusal = decode(body, Refusal)
                raise Refused(refusal.reason, refusal.is_final)
            if kind != Kind.WELCOME:
                raise BadFrame(f"a frame of kind {kind} instead of a welcome")
            self.welcome.set_result(decode(body, Welcome))
        elif kind == Kind.ACKNOWLEDGEMENT:
            self.link.acknowledge(split_number(body)[0])
        else:
            raise BadFrame(f"an unexpected frame of kind {kind}")

    def connection_lost(self, error: Exception | None) -> None:
        self.fail(error or ConnectionResetError("the peer closed the connection"))

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Of the other end."""
        found: dict[str, Any] | None = None
        if self.transport is not None:
            found = self.transport.get_extra_info("peercert")
        return found

    def write(self, data: bytes) -> None:
        """Whatever is written after the end is for nobody."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    def fail(self, error: Exception) -> None:
        """End it, for this reason."""
        for future in (self.welcome, self.lost):
            if not future.done():
                future.set_exception(error)
                future.exception()  # Whoever waits gets it; nobody has to.
        self.end()

    def end(self) -> None:
        if self.watch is not None:
            self.watch.cancel()
        if self.transport is not None:
            self.transport.abort()
