"""Nobody stops the rest in silence: slow members, two that wait for each other, leaving that is
cancelled."""

import asyncio
import logging
from contextlib import suppress

import pytest

from antecede.groups import GroupConfig
from antecede.live import Delivery, Group, Settings, SlowMember
from antecede.live.metrics import status
from tests.live.gathering import gathered, members_of, payloads, run, until

QUICK = GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0)


async def fill(member: Group) -> None:
    """Send until somebody has to be waited for."""
    while member.send_now(b"much"):
        member.take_ready()
        await asyncio.sleep(0)


def test_who_takes_nothing_is_named() -> None:
    async def test() -> None:
        settings = Settings(window=20, slow_after_s=0.2)
        async with gathered("a", "b", settings=settings) as (a, b):
            await fill(a)
            seen = await until(a, lambda event: isinstance(event, SlowMember))
            assert isinstance(seen[-1], SlowMember)
            assert seen[-1].name == "b"
            assert list(status(a)["slow_members"]) == ["b"]
            await payloads(b, 20)
            await a.send(b"goes on")
            while status(a)["slow_members"]:
                await asyncio.sleep(0.01)

    run(test)


def test_who_holds_up_most_is_excluded_where_that_is_the_policy() -> None:
    """One sender alone has nobody excluded."""

    async def test() -> None:
        settings = Settings(window=20, slow_after_s=0.2, exclude_slow_after_s=0.4)
        async with gathered("a", "b", "c", settings=settings, config=QUICK) as (a, b, c):
            reading = [asyncio.create_task(listen(one)) for one in (a, c)]
            await fill(a)
            while "b" not in a.pump.lookout.slowness.since:
                await asyncio.sleep(0.01)
            await asyncio.sleep(1.0)
            assert "b" in a.members
            await fill(c)
            while "b" in a.members:
                await asyncio.sleep(0.01)
            await a.send(b"goes on")
            for one in reading:
                one.cancel()
            await until(b, lambda event: members_of(event) == ("a", "c", "b"))

    run(test)


async def listen(member: Group) -> None:
    async for _ in member:
        pass


async def answer(member: Group) -> None:
    """Inside of its own loop, three for each: what one should not do."""
    async for event in member:
        if isinstance(event, Delivery):
            for _ in range(3):
                await member.send(b"answer")


def test_two_that_answer_inside_their_loops(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        settings = Settings(window=20, slow_after_s=0.2)
        async with gathered("a", "b", settings=settings) as (a, b):
            answering = [asyncio.create_task(answer(one)) for one in (a, b)]
            await a.send(b"question")
            while not status(a)["stands_still"] or not status(b)["stands_still"]:
                await asyncio.sleep(0.01)
            for one in answering:
                one.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.gather(*answering)

    with caplog.at_level(logging.WARNING, "antecede.live"):
        run(test)
    found = [record.getMessage() for record in caplog.records]
    assert any("waits in send()" in one and "send_now" in one for one in found)


def test_leaving_that_is_cancelled() -> None:
    """Before the others are told, nothing has happened; after that, leaving can be gone on with."""

    async def test() -> None:
        settings = Settings(window=20)
        async with gathered("a", "b", settings=settings) as (a, _):
            a.pump.membership().session.epoch.sent += 1  # type: ignore[union-attr] # Nobody ever gets it.
            leaving = asyncio.create_task(a.leave(60.0))
            await asyncio.sleep(0.1)
            leaving.cancel()
            with suppress(asyncio.CancelledError):
                await leaving
            assert a.members == ("a", "b")
            a._check_open()  # It may send as before.

    run(test)
