"""`antecede chat --demo`: alice, bob and carol in one terminal, with order and without."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console

from antecede.cli._chat import HELD_AFTER_S, line_of

if TYPE_CHECKING:
    from antecede.live import Event, Group

NAMES: Final = ("alice", "bob", "carol")
LAG_S: Final = 1.5
"""How much later carol gets what alice says."""
_ENOUGH_S: Final = 60.0
"""For what takes seconds; nothing waits for it to pass."""


class Screens:
    """Three screens beside each other: a column each, a line for everything that is shown."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._width = max(console.width // len(NAMES), 24)

    def title(self) -> None:
        self._console.print(
            "".join(f"{f'{name} sees':<{self._width}}" for name in NAMES).rstrip(), style="bold"
        )

    def show(self, name: str, markup: str) -> None:
        self._console.print(" " * (self._width * NAMES.index(name)) + markup, soft_wrap=True)


async def play() -> None:
    """With order, then without."""
    console = Console(highlight=False)
    console.print(
        f"What alice says reaches carol {LAG_S:g} s late. alice asks, bob answers at once.\n"
    )
    for protocol in ("vector", "none"):
        how = "In causal order" if protocol == "vector" else "Without order"
        console.print(f"[bold underline]{how}[/]")
        screens = Screens(console)
        screens.title()
        await _scene(protocol, screens)
        console.print()
    console.print(
        "With order carol's screen holds the answer until the question is there. "
        "'antecede chat --help' tells how to do it yourself in three terminals."
    )


async def _scene(protocol: str, screens: Screens) -> None:
    from antecede.live import Delivery  # noqa: PLC0415 - only where needed

    async with _gathered(protocol) as rooms:
        alice, bob, _ = rooms
        heard: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

        async def watch(room: "Group") -> None:
            async for event in room:
                if (markup := line_of(event, room.me)) and not _is_about_members(event):
                    screens.show(room.me, markup)
                if isinstance(event, Delivery):
                    heard.put_nowait((room.me, event.sender))

        watching = [asyncio.create_task(watch(room)) for room in rooms]
        try:
            async with asyncio.timeout(_ENOUGH_S):
                await alice.send(b"Who wants tea?")
                seen: set[tuple[str, str]] = set()
                while len(seen) < 2 * len(NAMES):
                    seen.add(one := await heard.get())
                    if one == ("bob", "alice"):
                        await bob.send(b"Me!")
        finally:
            for task in watching:
                task.cancel()


def _is_about_members(event: "Event") -> bool:
    from antecede.live import ViewChange, Waiting  # noqa: PLC0415 - only where needed

    return isinstance(event, ViewChange | Waiting)


@asynccontextmanager
async def _gathered(protocol: str) -> AsyncIterator[list["Group"]]:
    """The three of them, in one group on this machine."""
    from antecede.live import PLAIN_TCP, Settings, ViewChange, join  # noqa: PLC0415

    async with AsyncExitStack() as stack:
        rooms: list[Group] = []
        for name in NAMES:
            settings = Settings(
                lags_s={"carol": LAG_S} if name == "alice" else {}, missing_after_s=HELD_AFTER_S
            )
            room = await stack.enter_async_context(
                join(
                    "demo",
                    name=name,
                    listen=("127.0.0.1", 0),
                    security=PLAIN_TCP,
                    peers=[room.address for room in rooms[:1]],
                    protocol=protocol,
                    settings=settings,
                )
            )
            rooms.append(room)
        for room in rooms:
            async for event in room:
                if isinstance(event, ViewChange) and len(event.members) == len(NAMES):
                    break
        yield rooms
        await asyncio.gather(*(room.leave(1.0) for room in rooms))
