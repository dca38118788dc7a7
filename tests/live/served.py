"""What transport tests share: a group that only writes down what comes, and raw connections."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import trustme

from antecede.errors import MalformedStamp
from antecede.live.transport.frames import FrameDecoder, Kind, encode_frame
from antecede.live.transport.handshake import VERSION, Hello, Refusal, Welcome, decode, encode
from antecede.live.transport.incoming import Listener, Received
from antecede.live.transport.outgoing import Address, LinkLimits, Outgoing
from antecede.live.transport.tls import PLAIN_TCP, Certificates, Security
from antecede.live.transport.turns import Turns

ENOUGH_S = 60.0
"""For anything that must not hang; nothing waits for it to pass."""


class Notebook:
    """A group at the listening end."""

    name = "room"
    protocol_text = "vector"

    def __init__(self, me: str = "server", limits: LinkLimits | None = None) -> None:
        self.me = me
        self.incarnation = 1
        self.limits = limits or LinkLimits()
        self.received: dict[str, Received] = {}
        self.lets_back_in = True
        self.items: list[bytes] = []
        self.members: tuple[str, ...] = ()
        self.may_join: Callable[[str], bool] = lambda name: True

    def key_for(self, name: str, incarnation: int) -> bytes:
        return b""

    def take(self, sender: str, incarnation: int, items: memoryview) -> None:
        try:
            self.items += msgspec.msgpack.decode(items, type=list[bytes])
        except msgspec.DecodeError as error:
            raise MalformedStamp("items", str(error)) from None


def hello(sender: str = "client", **changes: object) -> Hello:
    usual = Hello(VERSION, "room", "vector", sender, 1, "server", 1)
    return msgspec.structs.replace(usual, **changes)


@asynccontextmanager
async def listening(
    *groups: Notebook, security: Security = PLAIN_TCP
) -> AsyncIterator[tuple[Listener, Address]]:
    listener = Listener(security)
    for group in groups:
        listener.groups[group.name] = group
    address = await listener.open(("127.0.0.1", 0))
    try:
        yield listener, address
    finally:
        await listener.close()


class Raw:
    """A connection that says what it is told to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._decoder = FrameDecoder()
        self._frames: list[tuple[int, bytes]] = []

    def write(self, stream: bytes) -> None:
        self.writer.write(stream)

    async def frame(self) -> tuple[int, bytes] | None:
        """The next frame; None at the end."""
        while not self._frames:
            try:
                data = await asyncio.wait_for(self.reader.read(65536), ENOUGH_S)
            except ConnectionError:
                return None
            if not data:
                return None
            self._frames += self._decoder.feed(data)
        return self._frames.pop(0)

    async def greet(self, greeting: Hello) -> Welcome | Refusal | None:
        self.write(encode_frame(Kind.HELLO, encode(greeting)))
        answer = await self.frame()
        if answer is None:
            return None
        kind, body = answer
        return decode(body, Welcome) if kind == Kind.WELCOME else decode(body, Refusal)

    async def is_closed(self) -> bool:
        """Wait until the other end has closed; what it still says does not matter."""
        while await self.frame() is not None:
            pass
        return True


@asynccontextmanager
async def connected(address: Address, security: Security = PLAIN_TCP) -> AsyncIterator[Raw]:
    context = security.client() if isinstance(security, Certificates) else None
    reader, writer = await asyncio.open_connection(*address, ssl=context)
    try:
        yield Raw(reader, writer)
    finally:
        writer.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def linked(
    address: Address,
    limits: LinkLimits | None = None,
    *,
    greeting: Callable[[], Hello] = hello,
    security: Security = PLAIN_TCP,
    peer: str | None = "server",
) -> AsyncIterator[tuple[Outgoing, asyncio.Task[None]]]:
    link = Outgoing(
        peer,
        address,
        greeting,
        security,
        limits or LinkLimits(),
        lambda link, welcome: None,
        lambda: None,
        Turns(),
    )
    task = asyncio.get_running_loop().create_task(link.run())
    try:
        yield link, task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(ENOUGH_S):
        while not condition():
            await asyncio.sleep(0.002)


def certificates(folder: Path, authority: trustme.CA, name: str) -> Certificates:
    """Files that prove that somebody is called so."""
    folder.mkdir(parents=True, exist_ok=True)
    issued = authority.issue_cert(name)
    authority.cert_pem.write_to_path(folder / "authority.pem")
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
    certificate = folder / f"{name}.pem"
    certificate.write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    return Certificates(folder / "authority.pem", certificate, folder / f"{name}.key")
