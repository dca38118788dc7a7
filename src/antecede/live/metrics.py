"""What a node shows of itself: metrics for Prometheus, a status for people and machines.

One small HTTP server, on loopback unless told otherwise: a page for people, `/metrics` and
`/status`. Numbers are read from the group when they are asked for; counting costs the hot path
nothing.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from functools import cache
from importlib.resources import files
from typing import Any, Final

from antecede.live.group import Group
from antecede.live.transport.outgoing import Address

_REQUEST_S: Final = 5.0
_REQUESTS: Final = 16
"""At one time; more are closed at once."""
_HEADERS: Final = 64
_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
"""The page talks to its node and to nobody else."""


def status(group: Group) -> dict[str, Any]:
    """What a group is doing, in plain values."""
    counters = group.pump.counters
    return {
        "group": group.name,
        "name": group.me,
        "protocol": group.pump.protocol_text,
        "view": group.pump.view_number,
        "members": list(group.members),
        "state": group.pump.condition,
        "deliveries": counters.deliveries,
        "sends": counters.sends,
        "views": counters.views,
        "waits_for": group.pump.waits_for(),
        "slow_members": dict(group.pump.lookout.slowness.since),
        "stands_still": group.pump.lookout.standstill.is_stuck,
        "waiting_for_the_application": group.waiting,
        "held": [
            {
                "message": f"{held.sender}:{held.number}",
                "waited_s": round(held.waited_s, 3),
                "awaited": list(held.awaited),
            }
            for held in group.held()
        ],
        "hold_s": {"sum": group.hold.sum_s, "count": group.hold.count},
        "fully_delivered_s": {"sum": counters.fully.sum_s, "count": counters.fully.count},
        "stamp_bytes": counters.stamp_bytes,
        "links": [
            {
                "peer": name,
                "connected": link.connected,
                "waiting_bytes": link.waiting_bytes,
                "reconnections": link.reconnections,
                "frames_resent": link.frames_resent,
                "bytes_sent": link.bytes_sent,
            }
            for name, link in sorted(group.links.items())
        ],
        "recent": group.recent(),
    }


def exposition(groups: Iterable[Group]) -> bytes:
    """The metrics of these groups as Prometheus reads them."""
    from prometheus_client import CollectorRegistry, generate_latest  # noqa: PLC0415 - an extra
    from prometheus_client.core import (  # noqa: PLC0415
        CounterMetricFamily,
        GaugeMetricFamily,
        Metric,
        SummaryMetricFamily,
    )

    class Collector:
        def collect(self) -> Iterable[Metric]:
            labels = ("group", "name")
            counters = {
                "deliveries": "Messages handed to the application's queue.",
                "sends": "Messages sent.",
                "views": "Views installed.",
                "stalls": "How often this process did not run for a tenth of a second.",
                "retransmissions": "Frames sent again after a reconnection.",
                "stamp_bytes": "Bytes of ordering information sent.",
                "bytes_sent": "Bytes written to links.",
            }
            gauges = {
                "held": "Messages that have arrived and wait for others.",
                "queue": "Messages that wait for the application.",
                "members": "Members of the view.",
                "slow_members": "Members that senders have waited for, for too long.",
                "waiting_bytes": "Bytes on links that are not acknowledged.",
            }
            families: dict[str, Any] = {
                **{
                    key: CounterMetricFamily(f"antecede_{key}", text, labels=labels)
                    for key, text in counters.items()
                },
                **{
                    key: GaugeMetricFamily(f"antecede_{key}", text, labels=labels)
                    for key, text in gauges.items()
                },
            }
            hold = SummaryMetricFamily(
                "antecede_hold_seconds", "From arrival to delivery.", labels=labels
            )
            fully = SummaryMetricFamily(
                "antecede_fully_delivered_seconds",
                "From a send until it is known that all members have delivered it.",
                labels=labels,
            )
            for group in groups:
                place = (group.name, group.me)
                for key, value in _numbers(group).items():
                    families[key].add_metric(place, value)
                hold.add_metric(place, count_value=group.hold.count, sum_value=group.hold.sum_s)
                told = group.pump.counters.fully
                fully.add_metric(place, count_value=told.count, sum_value=told.sum_s)
            yield from families.values()
            yield hold
            yield fully

    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry)


def _numbers(group: Group) -> dict[str, float]:
    counters, links = group.pump.counters, group.links.values()
    return {
        "deliveries": counters.deliveries,
        "sends": counters.sends,
        "views": counters.views,
        "stalls": counters.stalls,
        "stamp_bytes": counters.stamp_bytes,
        "retransmissions": sum(link.frames_resent for link in links),
        "bytes_sent": sum(link.bytes_sent for link in links),
        "held": len(group.held()),
        "queue": group.waiting,
        "members": len(group.members),
        "slow_members": len(group.pump.lookout.slowness.since),
        "waiting_bytes": sum(link.waiting_bytes for link in links),
    }


@asynccontextmanager
async def serve(groups: list[Group], address: Address) -> AsyncIterator[Address]:
    """Answer `/`, `/metrics` and `/status` for these groups."""

    answering: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(answering) >= _REQUESTS:
            writer.transport.abort()
            return
        answering.add(writer)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
                async with asyncio.timeout(_REQUEST_S):
                    request = await reader.readline()
                    for _ in range(_HEADERS):
                        if not (await reader.readline()).strip():
                            writer.write(_response(groups, request))
                            await writer.drain()
                            break
        finally:
            answering.discard(writer)
            writer.close()

    server = await asyncio.start_server(answer, *address, limit=8192)
    try:
        host, port = server.sockets[0].getsockname()[:2]
        yield host, port
    finally:
        server.close()
        await server.wait_closed()


@cache
def _page() -> bytes:
    return (files("antecede.live") / "page.html").read_bytes()


def _response(groups: list[Group], request: bytes) -> bytes:
    words = request.split()
    path = words[1] if len(words) == 3 and words[0] == b"GET" else b""
    code, kind, body = "200 OK", "application/json", b""
    if path == b"/":
        kind, body = "text/html; charset=utf-8", _page()
    elif path == b"/metrics":
        kind, body = "text/plain; version=0.0.4; charset=utf-8", exposition(groups)
    elif path == b"/status":
        body = json.dumps([status(group) for group in groups], indent=2).encode()
    else:
        code, body = "404 Not Found", b'"there are /, /metrics and /status"'
    head = (
        f"HTTP/1.1 {code}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        f"Content-Security-Policy: {_POLICY}\r\nX-Content-Type-Options: nosniff\r\n"
        "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
