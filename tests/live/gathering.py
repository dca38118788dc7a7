"""Members of a group in one event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from antecede.groups import GroupConfig
from antecede.live import (
    PLAIN_TCP,
    Delivery,
    Event,
    Group,
    ViewChange,
    join,
)

CONFIG = GroupConfig(suspect_after_s=3.0, flush_timeout_s=3.0)
ENOUGH_S = 60.0
HERE = ("127.0.0.1", 0)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), ENOUGH_S))


@asynccontextmanager
async def gathered(*names: str, **settings: Any) -> AsyncIterator[list[Group]]:
    """These members, all of which see each other."""
    async with asyncio.TaskGroup() as tasks:
        stop = asyncio.Event()
        members: list[Group] = []

        async def live(name: str, peers: list[tuple[str, int]], ready: asyncio.Event) -> None:
            chosen = {"config": CONFIG, **settings}
            chosen |= chosen.pop("special", {}).get(name, {})
            async with join(
                "room", name=name, listen=HERE, security=PLAIN_TCP, peers=peers, **chosen
            ) as member:
                members.append(member)
                ready.set()
                await stop.wait()
                await member.leave(0.5)

        for number, name in enumerate(names):
            ready = asyncio.Event()
            tasks.create_task(live(name, [members[0].address] if number else [], ready))
            await ready.wait()
        for member in members:
            await until(member, lambda event: set(members_of(event)) == set(names))
        yield members
        stop.set()


def members_of(event: Event) -> tuple[str, ...]:
    return event.members if isinstance(event, ViewChange) else ()


async def until(member: Group, condition: Callable[[Event], bool]) -> list[Event]:
    """What happens, up to the event that was waited for."""
    seen = []
    async for event in member:
        seen.append(event)
        if condition(event):
            return seen
    raise AssertionError(f"{member.me} left")


async def payloads(member: Group, count: int) -> list[bytes]:
    found: list[bytes] = []
    async for event in member:
        if isinstance(event, Delivery):
            found.append(event.payload)
            if len(found) == count:
                break
    return found
