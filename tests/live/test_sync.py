"""A group among threads, without an event loop in sight."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.live import (
    PLAIN_TCP,
    CannotJoin,
    Delivery,
    Event,
    Message,
    Request,
    Settings,
    TopicChange,
    ViewChange,
)
from antecede.live.sync import SyncGroup, join
from tests.live.gathering import CONFIG, HERE

COMMON: dict[str, Any] = {"listen": HERE, "security": PLAIN_TCP, "config": CONFIG}


def until(room: SyncGroup, kind: type[Event]) -> Any:
    return next(event for event in room if isinstance(event, kind))


def answer(room: SyncGroup) -> None:
    for event in room:
        if isinstance(event, Request):
            assert room.reply(event, event.payload.upper())
        elif isinstance(event, ViewChange) and event.departed:
            return


def test_threads_talk_to_each_other() -> None:
    with join("room", name="alice", **COMMON) as alice:
        with join("room", name="bob", peers=[alice.address], **COMMON) as bob:
            while len(alice.members) < 2:
                until(alice, ViewChange)
            bob.send(b"hello")
            assert until(alice, Delivery).payload == b"hello"
            answering = threading.Thread(target=answer, args=(alice,))
            answering.start()
            assert bob.request(b"loud", to="alice").payload == b"LOUD"
            assert [one.payload for one in bob.request_all(b"all")] == [b"ALL"]
            orders = bob.topic("orders")
            orders.subscribe()
            assert until(bob, TopicChange) == TopicChange("bob", ("orders",), ())
            orders.send(b"tea")
            assert until(bob, Message).payload == b"tea"
            assert orders.members == ("bob",)
            orders.unsubscribe()
            until(bob, TopicChange)
            assert (bob.next(timeout_s=0), bob.take_ready(), bob.held()) == (None, [], [])
            bob.leave()
            assert bob.next() is None
            assert list(bob) == []
        answering.join()
        with pytest.raises(Misuse, match="'bob' has ended its part in 'room'"):
            bob.send(b"too late")


def test_errors_come_where_the_call_was_made(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="a name is a text"), join("room", name="", **COMMON):
        pass
    settings = Settings(join_timeout_s=0.05)
    with join("room", name="a", peers=["127.0.0.1:1"], settings=settings, **COMMON) as room:
        with pytest.raises(CannotJoin, match=r"127\.0\.0\.1:1"):
            room.next()
        with pytest.raises(Misuse, match="not str"):
            room.send("text")

    def from_the_loop(room: SyncGroup) -> None:
        async def wait_for_itself() -> None:
            room.send(b"never")

        with pytest.raises(Misuse, match="wait for itself"):
            asyncio.run_coroutine_threadsafe(wait_for_itself(), room._loop).result()

    with join("room", name="a", **COMMON) as room:
        from_the_loop(room)


def test_an_error_in_the_body_leaves_at_once(tmp_path: Path) -> None:
    """And what is durable can be opened again."""
    log = tmp_path / "a.log"

    def fail() -> None:
        with join("room", name="a", log=log, **COMMON) as room:
            room.send(b"kept")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with join("room", name="a", log=log, **COMMON) as room:
        assert until(room, Delivery).payload == b"kept"
        room.mark_taken()
