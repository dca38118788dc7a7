"""What the commands of the live runtime share: addresses, security, what is printed."""

import asyncio
import json
import logging
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from antecede.errors import Misuse

if TYPE_CHECKING:
    from antecede.live import Address, Event, Security

SECURITY = "Who is who"
_LINE_BYTES: Final = 2**24
"""More than any message can have: a longer line is refused as a message that is too long."""
Authority = Annotated[
    Path | None,
    typer.Option(help="PEM file of the authority that is trusted.", rich_help_panel=SECURITY),
]
Certificate = Annotated[
    Path | None,
    typer.Option(
        help="PEM file of this member's certificate, made out to its name.",
        rich_help_panel=SECURITY,
    ),
]
Key = Annotated[Path | None, typer.Option(help="PEM file of its key.", rich_help_panel=SECURITY)]
Revoked = Annotated[
    Path | None,
    typer.Option(
        help="File with the serial numbers of certificates that are no longer trusted, one a "
        "line, as openssl x509 -serial prints them; read again when it changes.",
        rich_help_panel=SECURITY,
    ),
]
PlainTcpFlag = Annotated[
    bool,
    typer.Option(
        "--plain-tcp",
        help="No TLS: whoever reaches the port may join under any name.",
        rich_help_panel=SECURITY,
    ),
]


def parse_address(flag: str, text: str) -> "Address":
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65_535:
        raise Misuse(f"{flag} {text}: write it as HOST:PORT, for example 127.0.0.1:7001")
    return host.strip("[]"), int(port)


def choose_security(
    authority: Path | None,
    certificate: Path | None,
    key: Path | None,
    plain_tcp: bool,
    revoked: Path | None = None,
) -> "Security":
    from antecede.live import PLAIN_TCP, Certificates  # noqa: PLC0415 - only where needed

    if plain_tcp:
        if authority or certificate or key or revoked:
            raise Misuse("--plain-tcp uses no certificates; give one or the other")
        return PLAIN_TCP
    if authority is None or certificate is None or key is None:
        raise Misuse(
            "members prove who they are: give --authority, --certificate and --key, or "
            "--plain-tcp if everybody who reaches the port may join"
        )
    return Certificates(authority, certificate, key, revoked)


def log_to_stderr() -> None:
    from antecede.live.logs import LOGGER, JsonLines  # noqa: PLC0415 - only where needed

    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)


def described(event: "Event") -> dict[str, Any]:
    """An event as plain values, for machines."""
    from antecede import live  # noqa: PLC0415 - only where needed
    from antecede.order import Notice  # noqa: PLC0415

    match event:
        case live.Delivery():
            text = event.payload.decode("utf-8", "backslashreplace")
            plain: dict[str, Any] = {"sender": event.sender, "number": event.number, "text": text}
            if not event.ordered:
                plain["ordered"] = False
            return {"event": "deliver", **plain}
        case live.ViewChange():
            return {
                "event": "view",
                "number": event.number,
                "members": event.members,
                "joined": event.joined,
                "departed": event.departed,
            }
        case live.Missing():
            return {
                "event": "missing",
                "message": f"{event.sender}:{event.number}",
                "awaited": event.awaited,
                "waited_s": round(event.waited_s, 3),
            }
        case live.Interrupted():
            return {"event": "interrupted", "reached": event.reached}
        case live.Restored():
            return {"event": "restored"}
        case live.Excluded():
            return {"event": "excluded"}
        case live.StateWanted():
            return {"event": "state-wanted", "by": event.by}
        case live.State():
            return {"event": "state", "bytes": len(event.payload or b"")}
        case live.Gap():
            return {"event": "gap", "senders": event.senders, "certain": event.is_certain}
        case live.Waiting():
            return {"event": "waiting", "peer": event.peer, "reason": event.reason}
        case live.FullyDelivered():
            return {"event": "fully-delivered", "number": event.number, "since_s": event.since_s}
        case live.SlowMember():
            return {"event": "slow", "member": event.name, "since": round(event.since, 3)}
        case live.Message() | live.Request():
            kind = "message" if isinstance(event, live.Message) else "request"
            topic = getattr(event, "topic", None)
            return {
                "event": kind,
                "sender": event.sender,
                "topic": topic,
                "payload": str(event.payload),
            }
        case live.Undecodable():
            return {"event": "undecodable", "sender": event.sender, "reason": event.reason}
        case live.TopicChange():
            plain = {"member": event.member, "came": event.came, "left": event.left}
            return {"event": "topics", **plain}
        case Notice():
            return {"event": event.event.value, "text": event.sentence()}


def print_line(value: dict[str, Any]) -> None:
    print(json.dumps(value, ensure_ascii=False), flush=True)


async def read_lines() -> "asyncio.StreamReader":
    """Standard input, line by line, without blocking anybody."""
    reader = asyncio.StreamReader(limit=_LINE_BYTES)
    loop = asyncio.get_running_loop()
    if _can_be_waited_for(sys.stdin.fileno()):
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    else:
        reader.feed_data(sys.stdin.buffer.read())
        reader.feed_eof()
    return reader


def _can_be_waited_for(file: int) -> bool:
    """Pipes, sockets and terminals. Files and /dev/null have all there is at once."""
    mode = os.fstat(file).st_mode
    is_pipe = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
    return is_pipe or (stat.S_ISCHR(mode) and os.isatty(file))
