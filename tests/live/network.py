"""A network that can be cut: a proxy before every member, which knows who dials whom."""

import asyncio
from contextlib import suppress

from antecede.live.transport.frames import FrameDecoder
from antecede.live.transport.handshake import Hello, decode


class Network:
    """Every member is reached through a port of this process."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._targets: dict[str, int] = {}
        self._cut: set[frozenset[str]] = set()
        self._healed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def port_for(self, name: str) -> int:
        """Where others reach this member."""

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            with suppress(OSError, asyncio.CancelledError):
                await self._connect(name, reader, writer)
            writer.transport.abort()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        self._servers.append(server)
        port: int = server.sockets[0].getsockname()[1]
        return port

    def lead(self, name: str, port: int) -> None:
        """This is where the member really listens."""
        self._targets[name] = port

    def cut(self, *pairs: tuple[str, str]) -> None:
        """Nothing passes between these any more; nobody is told."""
        self._cut |= {frozenset(pair) for pair in pairs}

    def heal(self, *pairs: tuple[str, str]) -> None:
        """These can hear each other again, or all of them."""
        self._cut -= {frozenset(pair) for pair in pairs} if pairs else set(self._cut)
        self._healed.set()

    async def __aenter__(self) -> "Network":
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _connect(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        decoder, opening = FrameDecoder(), b""
        frames: list[tuple[int, bytes]] = []
        while not frames:
            data = await reader.read(65536)
            if not data:
                return
            opening += data
            frames = decoder.feed(data)
        pair = frozenset((name, decode(frames[0][1], Hello).sender))
        await self._passage(pair)
        there, back = await asyncio.open_connection("127.0.0.1", self._targets[name])
        back.write(opening)
        pumps = [
            asyncio.create_task(self._pump(pair, reader, back)),
            asyncio.create_task(self._pump(pair, there, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.wait(pumps)
            back.transport.abort()

    async def _passage(self, pair: frozenset[str]) -> None:
        while pair in self._cut:
            self._healed.clear()
            await self._healed.wait()  # of whatever pair

    async def _pump(
        self, pair: frozenset[str], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                await self._passage(pair)
                writer.write(data)
                await writer.drain()
