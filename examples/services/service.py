"""`python -m examples.services.service NAME FOLDER SEED...`: one service of the shop.

The desk reads from its input how many customers have come.

The desk takes orders, the stock reserves, the till charges. Each has its own topic. The till looks
up the price of what was reserved in the orders that it has seen, as anybody would write it: it
relies on the order having come before the reservation, though they are of two senders.

The same command serves for every start and restart: the seeds say where the others are, the log
what this service had sent and been given.
"""

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from antecede.live import Certificates, Event, Group, Message, Request, ViewChange, join


class Ordered(msgspec.Struct, tag=True):
    id: int
    price: int


class Reserved(msgspec.Struct, tag=True):
    id: int


class Charged(msgspec.Struct, tag=True):
    id: int


class Closed(msgspec.Struct, tag=True):
    """No more orders come."""


class HowMuch(msgspec.Struct, tag=True):
    """What the desk asks the till in the end."""


class Earned(msgspec.Struct, tag=True):
    amount: int
    complaints: int


Anything = Ordered | Reserved | Charged | Closed | HowMuch | Earned
TOPICS = {"desk": ["payments"], "stock": ["orders"], "till": ["orders", "stock"]}


def say(what: str, **details: Any) -> None:
    """For whoever started it."""
    print(json.dumps({"event": what, **details}), flush=True)


async def events(room: Group) -> AsyncIterator[Event]:
    """What happens; views are told."""
    async for event in room:
        if isinstance(event, ViewChange):
            say("view", members=event.members)
        yield event


async def desk(room: Group) -> None:
    open_orders: dict[int, int] = {}
    charged: set[int] = set()
    is_open = True
    taking = asyncio.create_task(take_orders(room, open_orders))
    async for event in events(room):
        match event:
            case Message(payload=Charged(id=number)):
                if number in charged:
                    say("complaint", text=f"order {number} is charged twice")
                charged.add(number)
                say("charged", count=len(charged))
            case Message(payload=Closed()):
                is_open = False
                await taking
        if not is_open and charged == {*open_orders}:
            answer = await room.request(HowMuch(), to="till")
            expected, earned = sum(open_orders.values()), answer.payload
            say("done", expected=expected, earned=earned.amount, complaints=earned.complaints)
            return


async def take_orders(room: Group, open_orders: dict[int, int]) -> None:
    lines = asyncio.StreamReader()
    reading = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: reading, sys.stdin)
    while line := await lines.readline():
        for _ in range(int(line)):
            number = len(open_orders) + 1
            open_orders[number] = 10 + number
            await room.topic("orders").send(Ordered(number, price=10 + number))
    await room.topic("payments").send(Closed())


async def stock(room: Group) -> None:
    async for event in events(room):
        match event:
            case Message(payload=Ordered(id=number)):
                # After a kill the last order may come again: then it is reserved again, too.
                await room.topic("stock").send(Reserved(number))


async def till(room: Group) -> None:
    prices: dict[int, int] = {}
    charged: set[int] = set()
    complaints = 0
    async for event in events(room):
        match event:
            case Message(payload=Ordered(id=number, price=price)):
                prices[number] = price
            case Message(payload=Reserved(id=number)) if number not in charged:
                if number not in prices:
                    complaints += 1
                    say("complaint", text=f"{number} is reserved, and nobody has ordered it")
                    continue
                charged.add(number)
                await room.topic("payments").send(Charged(number))
            case Request(payload=HowMuch()):
                await event.reply(Earned(sum(prices[number] for number in charged), complaints))


async def serve(name: str, folder: Path, seeds: list[str]) -> None:
    certs = folder / "certs"
    async with join(
        "shop",
        name=name,
        listen=seeds[sorted(TOPICS).index(name)],
        security=Certificates(
            certs / "authority.pem", certs / f"{name}.pem", certs / f"{name}.key"
        ),
        seeds=seeds,
        expect=len(seeds),  # A service that comes later would not be given what was sent before.
        log=folder / f"{name}.log",
        record=folder / "traces",
        codec=Anything,
        topics=TOPICS[name],
    ) as room:
        leaving: list[asyncio.Task[None]] = []
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(
            signal.SIGTERM, lambda: leaving.append(loop.create_task(room.leave()))
        )
        await {"desk": desk, "stock": stock, "till": till}[name](room)


if __name__ == "__main__":
    name, folder, *seeds = sys.argv[1:]
    asyncio.run(serve(name, Path(folder), seeds))
