"""Links over real sockets: nothing lost, nothing doubled, whatever breaks, and bounded memory."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from antecede.errors import AntecedeError, Misuse
from antecede.live.transport import incoming, turns, visitors
from antecede.live.transport.frames import (
    FRAME_LIMIT,
    HELLO_LIMIT,
    Kind,
    encode_acknowledgement,
    encode_data,
    encode_frame,
)
from antecede.live.transport.handshake import Welcome, encode
from antecede.live.transport.incoming import Listener
from antecede.live.transport.links import LinkOwner, Links
from antecede.live.transport.outgoing import LinkLimits, array_head
from antecede.live.transport.tls import PLAIN_TCP
from tests.live.served import (
    ENOUGH_S,
    Notebook,
    Raw,
    connected,
    hello,
    linked,
    listening,
    until,
)


def batch(*items: bytes) -> bytes:
    return array_head(len(items)) + b"".join(map(encode, items))


@asynccontextmanager
async def greeted(group: Notebook) -> AsyncIterator[tuple[Listener, Raw]]:
    """A connection that has been let in."""
    async with listening(group) as (listener, address), connected(address) as raw:
        assert isinstance(await raw.greet(hello()), Welcome)
        yield listener, raw


def test_a_replayed_frame_is_taken_once() -> None:
    group = Notebook()

    async def run() -> None:
        async with greeted(group) as (listener, raw):
            for number in (1, 2, 1, 2, 3):
                raw.write(encode_data(number, batch(b"%d" % number)))
            await until(lambda: len(group.items) == 3 and listener.counters.replayed == 2)

    asyncio.run(run())
    assert group.items == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param(encode_data(2, batch(b"x")), id="gap in the numbers"),
        pytest.param((FRAME_LIMIT + 1).to_bytes(4, "big") + b"\x04", id="oversized frame"),
        pytest.param(encode_frame(Kind.DATA, b"short"), id="no number"),
        pytest.param(encode_data(1, b"\xc1 nonsense"), id="no items"),
        pytest.param(encode_frame(Kind.WELCOME, b""), id="wrong kind"),
        pytest.param(encode_frame(Kind.HELLO, encode(hello())), id="second hello"),
        pytest.param(b"\x00\x00\x00\x00\x00", id="empty frame"),
    ],
)
def test_what_cannot_be_right_ends_the_connection(stream: bytes) -> None:
    group = Notebook()

    async def run() -> None:
        async with greeted(group) as (listener, raw):
            raw.write(stream)
            assert await raw.is_closed()
            await until(lambda: not listener.connections)
            assert listener.counters.broken == 1

    asyncio.run(run())
    assert not group.items


def test_before_the_hello_little_is_allowed() -> None:
    async def run() -> None:
        async with listening(Notebook()) as (listener, address):
            for stream in (
                (HELLO_LIMIT + 1).to_bytes(4, "big") + b"\x01",
                encode_data(1, batch(b"x")),
                encode_frame(Kind.HELLO, b"\x93\x01"),
            ):
                async with connected(address) as raw:
                    raw.write(stream)
                    assert await raw.is_closed()
            await until(lambda: not listener.strangers)
            assert listener.counters.broken == 3

    asyncio.run(run())


def test_who_takes_too_long_over_a_frame_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Silent from the start, with half a hello, and with half a data frame after a good hello, one
    byte now and then."""
    monkeypatch.setattr(incoming, "_HELLO_S", 0.2)
    whole = encode_frame(Kind.HELLO, encode(hello()))

    async def trickle(raw: Raw, stream: bytes) -> None:
        for byte in stream:
            raw.write(bytes((byte,)))
            await asyncio.sleep(0.05)

    async def run() -> None:
        async with listening(Notebook()) as (listener, address):
            async with connected(address) as silent:
                assert await silent.is_closed()
            async with connected(address) as slow:
                writing = asyncio.create_task(trickle(slow, whole[:-1]))
                assert await slow.is_closed()
                writing.cancel()
            async with connected(address) as slow:
                assert isinstance(await slow.greet(hello()), Welcome)
                await asyncio.sleep(0.5)  # Who is let in may be silent between frames.
                assert listener.connections
                writing = asyncio.create_task(trickle(slow, encode_data(1, bytes(10_000))))
                assert await slow.is_closed()
                writing.cancel()
            await until(lambda: not listener.strangers and not listener.connections)

    asyncio.run(asyncio.wait_for(run(), ENOUGH_S))


def test_a_long_frame_on_a_slow_line_comes_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes several times as long as a frame may stand still, and its sender hears of it."""
    monkeypatch.setattr(incoming, "_HELLO_S", 0.5)
    monkeypatch.setattr(incoming, "_LEAST_BYTES", 1000)
    group = Notebook()
    long = encode_data(1, batch(bytes(20_000)))

    async def run() -> None:
        async with greeted(group) as (listener, raw):
            for start in range(0, len(long), 600):
                raw.write(long[start : start + 600])
                await asyncio.sleep(0.05)
            said = [await raw.frame() for _ in range(3)]
            assert said[0] == (Kind.ACKNOWLEDGEMENT, bytes(8))
            await until(lambda: bool(group.items))
            assert listener.counters.accepted == 1

    asyncio.run(run())
    assert group.items == [bytes(20_000)]


def test_a_peer_that_gets_on_with_a_frame_is_not_taken_for_dead() -> None:
    connections = 0

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readexactly(5)
        writer.write(encode_frame(Kind.WELCOME, encode(Welcome("server", 1, 0))))
        for _ in range(30):
            await asyncio.sleep(0.05)
            writer.write(encode_acknowledgement(0))
        writer.write(encode_acknowledgement(1))
        await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(slow, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()[:2]
        async with linked(address, LinkLimits(silence_s=0.5)) as (link, _):
            link.put(encode(bytes(1000)))
            await until(lambda: not link.waiting_bytes)
        server.close()
        await server.wait_closed()

    asyncio.run(run())
    assert connections == 1


def test_few_hands_are_shaken_at_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """And who accepts a connection and says nothing does not keep the others waiting for long."""
    monkeypatch.setattr(turns, "HANDSHAKE_S", 0.05)
    under_way = most = 0

    async def shake(free: turns.Turns) -> None:
        nonlocal under_way, most
        with await free.wait() as turn:
            turn.is_connected()
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0)
            under_way -= 1

    async def say_nothing(free: turns.Turns) -> None:
        with await free.wait() as turn:
            turn.is_connected()
            await asyncio.Event().wait()

    async def run() -> None:
        free = turns.Turns(2)
        silent = [asyncio.create_task(say_nothing(free)) for _ in range(4)]
        await asyncio.sleep(0)
        await asyncio.gather(*(shake(free) for _ in range(10)))
        for task in silent:
            task.cancel()
        await asyncio.wait(silent)
        await asyncio.gather(*(shake(free) for _ in range(10)))

    asyncio.run(run())
    assert most == 2


def test_who_is_known_is_dialled_when_there_is_something_to_say() -> None:
    async def run() -> None:
        def fail(error: AntecedeError) -> None:
            raise error

        owner = LinkOwner(
            "g", "a", lambda receiver, number: hello(), lambda name, life, key: None, lambda: None,
            fail, lambda name: False, lambda: True,
        )  # fmt: skip
        links = Links(owner, [], PLAIN_TCP, LinkLimits())
        here, there = ("127.0.0.1", 1), ("127.0.0.1", 2)
        links.know("b", here, dials=False)
        assert not links.by_name
        links.redial("b")
        first = links.by_name["b"]
        links.know("b", here, dials=False)
        assert links.by_name["b"] is first
        links.know("b", there, dials=False)  # It has moved.
        assert links.by_name["b"].address == there
        links.seek(here)
        links.meet("c", 1, here)  # Who listens there is known: nobody else is looked for.
        links.seek(here)
        assert [link.peer for link in links._tasks] == ["b", "c"]
        links.drop()
        await links.ended()

    asyncio.run(run())


def test_who_asks_at_a_second_address_of_a_peer_keeps_its_link() -> None:
    """A seed is found by an address, and members tell another: it is the same process."""
    group = Notebook()

    async def run() -> None:
        async with listening(group) as (_, (host, port)):
            owner = LinkOwner(
                "room", "client", lambda receiver, link: hello(receiver=receiver, link=link),
                lambda name, life, key: None, lambda: None, lambda error: None,
                lambda name: False, lambda: False,
            )  # fmt: skip
            links = Links(owner, [], PLAIN_TCP, LinkLimits(), keeps_asking=True)
            links.know("server", (host, port))
            link = links.by_name["server"]
            await until(lambda: link.connected)
            links.seek(("localhost", port))
            await until(lambda: len(links._tasks) == 1)
            link.put(encode(b"x"))
            await until(lambda: group.items == [b"x"])
            assert not link.reconnections
            links.drop()
            await links.ended()

    asyncio.run(run())


def test_strangers_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest count: who means to talk gets through."""
    monkeypatch.setattr(visitors, "_MOST_OF_AN_ADDRESS", 3)

    async def run() -> None:
        async with listening(Notebook()) as (listener, address):
            raws = [connected(address) for _ in range(4)]
            opened = []
            for raw in raws:
                opened.append(await raw.__aenter__())
                expected = min(len(opened), 3)
                await until(lambda: len(listener.strangers) == expected)  # noqa: B023
            assert await opened[0].is_closed()
            assert isinstance(await opened[-1].greet(hello()), Welcome)
            for raw in raws:
                await raw.__aexit__(None, None, None)

    asyncio.run(run())


def test_broken_connections_lose_and_double_nothing() -> None:
    """The connection is cut again and again, at either end, in mid-stream."""
    group = Notebook()
    chance = random.Random(8)
    sent: list[bytes] = []

    async def run() -> None:
        async with listening(group) as (listener, address), linked(address) as (link, _):
            for turn in range(60):
                for _ in range(chance.randint(0, 40)):
                    sent.append(b"%d" % len(sent) * chance.randint(1, 400))
                    link.put(encode(sent[-1]))
                await asyncio.sleep(chance.choice([0, 0, 0.001]))
                if turn % 6 == 5:
                    for connection in list(listener.connections.values()):
                        connection.abort()
                    await until(lambda: bool(listener.connections))
                elif turn % 6 == 2 and link._connection is not None:
                    transport = link._connection.transport
                    assert transport is not None
                    transport.abort()
            await until(lambda: not link.waiting_bytes)
            assert link.reconnections >= 5
            assert link.frames_resent > 0

    asyncio.run(run())
    assert group.items == sent


def test_a_peer_that_was_started_anew_gets_only_what_is_new() -> None:
    former, anew = Notebook(), Notebook()
    anew.incarnation = 2

    async def run() -> None:
        async with listening(former) as (listener, address), linked(address) as (link, _):
            link.put(encode(b"before"))
            await until(lambda: former.items == [b"before"])
            listener.groups["room"] = anew
            listener.drop("room")
            await until(lambda: link.incarnation == 2 and link.connected)
            link.put(encode(b"after"))
            await until(lambda: bool(anew.items))

    asyncio.run(run())
    assert anew.items == [b"after"]


def test_a_peer_that_acknowledges_nothing_fills_no_memory() -> None:
    """What waits for it is bounded by the limit plus one item, and stays whole."""
    limits = LinkLimits(buffer_bytes=10_000, silence_s=0.2)

    async def deaf(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(5)
        writer.write(encode_frame(Kind.WELCOME, encode(Welcome("server", 1, 0))))
        await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(deaf, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()[:2]
        async with linked(address, limits) as (link, _):
            put = 0
            while not link.is_full:
                link.put(encode(bytes(1000)))
                put += 1
                await asyncio.sleep(0)
            assert put <= 11
            await until(lambda: link.reconnections >= 2)  # Silence is taken for a broken line.
            assert link.waiting_bytes < 12_000
        server.close()
        await server.wait_closed()

    asyncio.run(run())


def test_an_item_that_does_not_fit_is_refused() -> None:
    limits = LinkLimits(frame_bytes=1000)
    group = Notebook(limits=limits)

    async def run() -> None:
        async with listening(group) as (_, address), linked(address, limits) as (link, _):
            with pytest.raises(Misuse, match="at most 436 fit"):
                link.put(bytes(437))
            for _ in range(50):  # Together they are more than a frame.
                link.put(encode(bytes(400)))
            await until(lambda: len(group.items) == 50)

    asyncio.run(run())


def test_welcomes_that_cannot_be_right_are_not_believed() -> None:
    """A peer that has received what was never sent."""
    asked = 0

    async def liar(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        asked += 1
        await reader.readexactly(5)
        writer.write(encode_frame(Kind.WELCOME, encode(Welcome("server", 1, 99))))
        await reader.read()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(liar, "127.0.0.1", 0)
        async with linked(server.sockets[0].getsockname()[:2]) as (link, _):
            await until(lambda: asked >= 2)
            assert not link.connected
        server.close()
        await server.wait_closed()

    asyncio.run(run())
