"""`antecede chat`: a chat in a few terminals, to see causal order, and its absence."""

import asyncio
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.markup import escape

from antecede.cli._live import parse_address, read_lines
from antecede.errors import Misuse

if TYPE_CHECKING:
    from antecede.live import Event, Group


HELD_AFTER_S: Final = 0.1
"""When a line that waits for another is shown as waiting."""
_LINE_UP: Final = "\x1b[1A\r\x1b[2K"
"""Up one line, and clear it."""


def chat(
    name: Annotated[str | None, typer.Argument(help="What you are called.")] = None,
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Where others find you.")] = (
        "127.0.0.1:0"
    ),
    to: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Somebody in the room; without it, open the room."),
    ] = None,
    slow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=SECONDS", help="Let what you say reach this one late; may repeat."
        ),
    ] = None,
    without_order: Annotated[
        bool,
        typer.Option(
            "--without-order", help="Show messages as they arrive. Everybody must choose the same."
        ),
    ] = False,
    demo: Annotated[
        bool, typer.Option("--demo", help="Let alice, bob and carol show it in this terminal.")
    ] = False,
) -> None:
    """Chat in several terminals of one machine or network; nothing is encrypted.

    To see what order is for: --demo; or three terminals, alice with --slow carol=5. Alice asks, Bob
    answers. Carol sees that Bob's line waits for Alice's, and then the question first; with
    --without-order everywhere, she sees the answer first.

    Example: antecede chat alice --listen 127.0.0.1:7001
    """
    if demo:
        from antecede.cli._chat_demo import play  # noqa: PLC0415 - only where needed

        asyncio.run(play())
        return
    if name is None:
        raise Misuse("what are you called? Write antecede chat NAME, or antecede chat --demo")
    lags = {}
    for text in slow or ():
        peer, _, seconds = text.partition("=")
        try:
            lags[peer] = float(seconds)
        except ValueError:
            raise Misuse(f"--slow {text}: write it as NAME=SECONDS") from None
    peers = [] if to is None else [parse_address("--to", to)]
    protocol = "none" if without_order else "vector"
    address = parse_address("--listen", listen)
    asyncio.run(_chat(name, address, peers, protocol, lags))


async def _chat(
    name: str,
    listen: tuple[str, int],
    peers: list[tuple[str, int]],
    protocol: str,
    lags: dict[str, float],
) -> None:
    from antecede.live import PLAIN_TCP, Settings, join  # noqa: PLC0415 - only where needed

    console = Console(highlight=False)
    settings = Settings(lags_s=lags, missing_after_s=HELD_AFTER_S)
    async with join(
        "chat",
        name=name,
        listen=listen,
        security=PLAIN_TCP,
        peers=peers,
        protocol=protocol,
        settings=settings,
    ) as room:
        host, port = room.address
        how = "as they arrive" if protocol == "none" else "in causal order"
        console.print(f"[dim]messages are shown {how}; others join with --to {host}:{port}[/dim]")
        showing = asyncio.create_task(_show(room, console))
        lines = await read_lines()
        while line := await lines.readline():
            if sys.stdin.isatty() and sys.stdout.isatty():
                print(_LINE_UP, end="", flush=True)  # It is shown once, in its place.
            if text := line.decode("utf-8", "replace").strip():
                await room.send(text.encode())
        await room.leave()
        await showing


async def _show(room: "Group", console: Console) -> None:
    async for event in room:
        console.print(line_of(event, room.me))


def line_of(event: "Event", me: str) -> str:
    """An event for people, with rich's markup."""
    from antecede import live  # noqa: PLC0415 - only where needed

    match event:
        case live.Delivery():
            colour = "green" if event.sender == me else "cyan"
            text = escape(event.payload.decode("utf-8", "replace"))
            return f"[bold {colour}]{escape(event.sender)}[/]: {text}"
        case live.Missing():
            owed = " and ".join(f"{name}'s" for name in _owing(event.awaited))
            return f"[dim]{escape(event.sender)}'s line waits for {escape(owed)}[/dim]"
        case live.ViewChange():
            return f"[dim]here now: {escape(', '.join(event.members))}[/dim]"
        case live.Waiting():
            reason = f"{event.peer}: {event.reason}" if event.peer else event.reason
            return f"[yellow]waiting to get in: {escape(reason)}[/yellow]"
        case live.Interrupted():
            return "[yellow]most of the others are out of reach; what you say waits[/yellow]"
        case live.Restored():
            return "[yellow]the others are within reach again[/yellow]"
        case live.Excluded():
            return "[yellow]the others went on without you; joining again[/yellow]"
        case live.SlowMember():
            return f"[yellow]{escape(event.name)} takes no messages; sending waits[/yellow]"
        case _:
            return f"[dim]{escape(type(event).__name__.lower())}[/dim]"


def _owing(awaited: tuple[str, ...]) -> list[str]:
    """Whose messages are awaited: `describe` writes each as NAME: WHAT."""
    return list(dict.fromkeys(one.rpartition(": ")[0] for one in awaited))
