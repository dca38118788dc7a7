"""Requests: one answer, the first, all of them; who goes away, who is silent, who meddles."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from antecede.errors import Misuse
from antecede.live import Answer, Delivery, Event, Group, NoAnswer, Request, ViewChange
from antecede.live.envelopes import Reply, wrapped
from tests.live.gathering import gathered, run, until


@asynccontextmanager
async def answering(*members: Group) -> AsyncIterator[None]:
    """They answer everything with their names."""

    async def serve(member: Group) -> None:
        async for event in member:
            if isinstance(event, Request):
                await event.reply(event.payload + b" " + member.me.encode())

    tasks = [asyncio.create_task(serve(member)) for member in members]
    yield
    for task in tasks:
        task.cancel()


@pytest.mark.parametrize("protocol", ["vector", "optimal"])
def test_one_the_first_and_all(protocol: str) -> None:
    async def check() -> None:
        async with (
            gathered("alice", "bob", "carol", protocol=protocol) as (alice, bob, carol),
            answering(bob, carol),
        ):
            assert await alice.request(b"q", to="bob") == Answer("bob", b"q bob")
            assert (await alice.request(b"q")).sender in ("bob", "carol")
            together = await asyncio.gather(*(alice.request(b"%d" % n, "bob") for n in range(9)))
            assert [one.payload for one in together] == [b"%d bob" % n for n in range(9)]
            everybody = await alice.request_all(b"q")
            assert sorted(one.payload for one in everybody) == [b"q bob", b"q carol"]
            assert [one.sender for one in await alice.request_all(b"q", ["carol"])] == ["carol"]
            # What was asked and answered is no event of who asked.
            assert not [event for event in alice.take_ready() if not isinstance(event, ViewChange)]

    run(check)


def test_what_the_answer_follows_is_there() -> None:
    """Bob speaks, then answers. In turn, alice has been given what he said; else it waits for
    her iteration, delivered."""

    async def check() -> None:
        async with gathered("alice", "bob") as (alice, bob):
            taken: list[Event] = []

            async def speak_and_answer() -> None:
                async for event in bob:
                    if isinstance(event, Request):
                        await bob.send(b"first " + event.payload)
                        await event.reply(b"then")

            async def iterate() -> None:
                async for event in alice:
                    taken.append(event)  # noqa: PERF401 - seen from outside while it goes on

            speaking = asyncio.create_task(speak_and_answer())
            assert await alice.request(b"1", to="bob") == Answer("bob", b"then")
            (waiting,) = alice.take_ready()
            assert isinstance(waiting, Delivery)
            assert waiting.payload == b"first 1"
            with pytest.raises(NoAnswer, match=r"no answer in 0\.05 s: bob"):
                await alice.request(b"2", to="bob", in_turn=True, timeout_s=0.05)
            iterating = asyncio.create_task(iterate())
            await alice.request(b"3", to="bob", in_turn=True)
            said = [event.payload for event in taken if isinstance(event, Delivery)]
            assert said[-1] == b"first 3"
            speaking.cancel()
            iterating.cancel()

    run(check)


def test_nobody_answers() -> None:
    async def check() -> None:
        async with gathered("alice", "bob", "carol") as (alice, bob, carol):
            with pytest.raises(Misuse, match="asks itself"):
                await alice.request(b"q", to="alice")
            with pytest.raises(Misuse, match="list of names"):
                await alice.request_all(b"q", "bob")
            with pytest.raises(NoAnswer, match="not here: dave; here: alice, bob, carol"):
                await alice.request(b"q", to="dave")
            with pytest.raises(NoAnswer, match="no answer in 0 s: bob, carol") as silent:
                await alice.request_all(b"q", timeout_s=0)
            assert silent.value.answers == []
            # One that was not asked, and one of another life.
            asking = asyncio.create_task(alice.request(b"q", to="bob"))
            (*_, asked) = await until(bob, lambda event: isinstance(event, Request) and
                                      event.payload == b"q" and event.id[1] > 2)  # fmt: skip
            assert isinstance(asked, Request)
            life, number = asked.id
            meddling = wrapped(Reply(life, number, "alice", b"from carol"))
            await carol.send_when_open(lambda: carol.send_encoded(meddling))
            former = wrapped(Reply(life + 1, number, "alice", b"of another life"))
            await bob.send_when_open(lambda: bob.send_encoded(former))
            await carol.send(b"after that")
            await until(alice, lambda event: isinstance(event, Delivery))
            assert not asking.done()
            await bob.leave(0.5)
            with pytest.raises(NoAnswer, match="gone before an answer: bob"):
                await asking
            assert not await carol.reply(
                Request("bob", b"", (1, 1), carol.reply), b"to one that is gone"
            )
            await until(carol, lambda event: isinstance(event, ViewChange))
            async with answering(carol):
                assert [one.sender for one in await alice.request_all(b"q")] == ["carol"]

    run(check)


def test_alone_there_is_nobody_to_ask() -> None:
    async def check() -> None:
        async with gathered("alice") as (alice,):
            with pytest.raises(NoAnswer, match="nobody else"):
                await alice.request(b"q")

    run(check)
