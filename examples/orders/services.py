"""A shop, its billing and its shipping: three services that send each other lines over TCP.

The shop tells billing and shipping of an order; billing tells shipping that it is paid. Nothing
says which of the two reaches shipping first. A careless shipping ships what is paid as it comes; a
careful one holds what it has no order for.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from antecede.recorder import Recorder

Handler = Callable[[str], Awaitable[None]]


class Service:
    """Listens on loopback, records what it gets and sends, a line a message."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        self.name = recorder.process
        self.port = 0
        self._links: dict[str, asyncio.StreamWriter] = {}

    async def listen(self, stack: AsyncExitStack, handle: Handler) -> None:
        """Hand every line that comes to this function."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while line := await reader.readline():
                await handle(line.decode().strip())
            writer.close()

        server = await stack.enter_async_context(await asyncio.start_server(serve, "127.0.0.1"))
        self.port = server.sockets[0].getsockname()[1]

    async def connect(self, stack: AsyncExitStack, other: "Service") -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", other.port)
        stack.callback(writer.close)
        self._links[other.name] = writer

    async def send(self, message: str, to: list[str], slow: float = 0.0) -> None:
        """To all of these; the last of them gets it later, as on a slow link."""
        self.recorder.send(message, to=to)
        for name in to:
            if name == to[-1]:
                await asyncio.sleep(slow)
            self._links[name].write(f"{message}\n".encode())


@dataclass
class Shipping:
    """What is shipped, in which order."""

    recorder: Recorder
    careful: bool
    orders: set[str] = field(default_factory=set)
    paid: list[str] = field(default_factory=list)
    shipped: list[str] = field(default_factory=list)

    async def handle(self, message: str) -> None:
        what, number = message.split()
        if what == "paid" and self.careful and number not in self.orders:
            self.recorder.receive(message)
            self.paid.append(message)
            return
        self.recorder.deliver(message)
        if what == "order":
            self.orders.add(number)
            if f"paid {number}" in self.paid:
                self.paid.remove(f"paid {number}")
                await self.handle(f"paid {number}")
        else:
            self.shipped.append(number)


async def run(
    shop: Recorder, billing: Recorder, shipping: Recorder, *, careful: bool, orders: int = 5
) -> list[str]:
    """So many orders; gives what was shipped."""
    async with AsyncExitStack() as stack:
        sells, bills, ships = Service(shop), Service(billing), Service(shipping)
        hall = Shipping(shipping, careful)

        async def bill(message: str) -> None:
            billing.deliver(message)
            await bills.send(f"paid {message.split()[1]}", ["shipping"])

        await ships.listen(stack, hall.handle)
        await bills.listen(stack, bill)
        stack.push_async_callback(asyncio.sleep, 0.05)  # once links are closed, readers see the end
        for service, other in ((sells, bills), (sells, ships), (bills, ships)):
            await service.connect(stack, other)
        for number in range(1, orders + 1):
            await sells.send(f"order {number}", ["billing", "shipping"], slow=0.05)
        while len(hall.shipped) < orders or len(hall.orders) < orders:
            await asyncio.sleep(0.01)
        return hall.shipped
