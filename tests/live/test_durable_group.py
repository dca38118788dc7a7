"""State for newcomers and durable members through the API: members in one event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import BadFile, CannotWrite, Misuse
from antecede.groups import GroupConfig
from antecede.live import (
    PLAIN_TCP,
    Delivery,
    Durability,
    Event,
    Gap,
    Group,
    Interrupted,
    LinkLimits,
    Settings,
    State,
    StateWanted,
    ViewChange,
    join,
    node,
)
from tests.live.cluster import judge
from tests.live.gathering import HERE, payloads, run, until

CONFIG = GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0)


@asynccontextmanager
async def member(name: str, *peers: Group, **settings: Any) -> AsyncIterator[Group]:
    chosen = {"config": CONFIG, **settings}
    addresses = [peer.address for peer in peers]
    async with join(
        "room", name=name, listen=HERE, security=PLAIN_TCP, peers=addresses, **chosen
    ) as group:
        yield group


@asynccontextmanager
async def killed(name: str, *peers: Group, **settings: Any) -> AsyncIterator[Group]:
    """A member that ends without a word to the others."""
    async with member(name, *peers, **settings) as group:
        try:
            yield group
        finally:
            await group.close()


def is_view(*names: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, ViewChange) and set(event.members) == set(names)


def texts(events: list[Event]) -> list[bytes]:
    return [event.payload for event in events if isinstance(event, Delivery)]


def test_a_newcomer_begins_with_the_state_and_goes_on_from_there() -> None:
    async def test() -> None:
        settings = Settings(links=LinkLimits(frame_bytes=50_000))
        async with member("a", settings=settings, wants_state=True) as a:
            assert await anext(a) == State(None)
            await a.send(b"before")
            async with member("b", a, settings=settings, wants_state=True) as b:
                seen = await until(a, lambda event: isinstance(event, StateWanted))
                assert texts(seen) == [b"before"]
                assert isinstance(seen[-2], ViewChange)
                wanted = seen[-1]
                assert isinstance(wanted, StateWanted)
                assert wanted.by == ("b",)
                await a.send(b"after")
                assert not b.send_now(b"too early")
                state = bytes(range(256)) * 700  # several parts
                a.give_state(wanted, state)
                assert await anext(b) == State(state)
                assert is_view("a", "b")(await anext(b))
                assert await payloads(b, 1) == [b"after"]
                await b.send(b"now")
                assert await payloads(a, 2) == [b"after", b"now"]

    run(test)


def test_a_durable_member_resumes_where_it_was(tmp_path: Path) -> None:
    async def test() -> None:
        log = {"log": tmp_path / "b.log"}
        async with member("a", log=tmp_path / "a.log") as a, member("c", a) as c:
            async with killed("b", a, **log) as b:
                for one in (a, b, c):
                    await until(one, is_view("a", "b", "c"))
                await a.send(b"one")
                await b.send(b"two")
                await until(b, lambda event: isinstance(event, Delivery))
                await payloads(a, 2)
                b.mark_taken()
            await until(a, is_view("a", "c"))
            await a.send(b"three")
            await c.send(b"four")
            assert await payloads(a, 2) == [b"three", b"four"]
            async with member("b", a, **log) as b:
                seen = await until(b, is_view("a", "b", "c"))
                assert len(texts(seen)) == 3  # one of the first two was dealt with
                assert texts(seen)[1:] == [b"three", b"four"]
                await b.send(b"five")
                five = await until(a, lambda event: isinstance(event, Delivery))
                assert isinstance(five[-1], Delivery)
                assert (five[-1].payload, five[-1].number) == (b"five", 2)
                assert texts([await anext(b)]) == [b"five"]

    run(test)


@pytest.mark.parametrize("durable", [False, True])
def test_an_older_copy_of_a_log_is_refused(tmp_path: Path, durable: bool) -> None:
    """Else what it sends would be dropped as had before, without a word."""

    async def test() -> None:
        log = tmp_path / "b.log"
        settings: dict[str, Any] = {"log": tmp_path / "a.log"} if durable else {}
        async with member("a", **settings) as a:
            async with killed("b", a, log=log) as b:
                await until(b, is_view("a", "b"))
                await b.send(b"1")
                await until(a, lambda event: texts([event]) == [b"1"])
            copy = log.read_bytes()
            async with killed("b", a, log=log) as b:
                await until(b, is_view("a", "b"))
                for number in range(2, 30):
                    await b.send(b"%d" % number)
                await until(a, lambda event: texts([event]) == [b"29"])
            log.write_bytes(copy)
            with pytest.raises(BadFile, match=r"an older copy.*'a' has had 29.*remove it"):
                async with killed("b", a, log=log) as b:
                    await until(b, is_view("a", "b"))
            log.unlink()
            async with killed("b", a, log=log) as b:
                await until(b, is_view("a", "b"))

    run(test)


def test_what_is_sent_to_some_reaches_those_who_are_there(tmp_path: Path) -> None:
    async def test() -> None:
        log = {"log": tmp_path / "b.log", "protocol": "optimal"}
        async with member("a", protocol="optimal") as a, member("c", a, protocol="optimal") as c:
            async with killed("b", a, **log) as b:
                for one in (a, b, c):
                    await until(one, is_view("a", "b", "c"))
                b.pump._dialled.drop()  # Nothing leaves any more.
                b.send_now(b"to a", ["a"])
                b.send_now(b"to c", ["c"])
                b.send_now(b"to both", ["a", "c"])
                assert b.pump.write_ahead is not None
                await b.pump.write_ahead.committed()
            await until(a, is_view("a", "c"))
            await c.leave(1.0)
            async with member("b", a, **log) as b:
                assert await payloads(a, 2) == [b"to a", b"to both"]
                await until(b, is_view("a", "b"))
                await b.send(b"more")
                (more,) = [await anext(a)]
                assert isinstance(more, Delivery)
                assert (more.payload, more.number) == (b"more", 4)

    run(test)


def test_what_still_waits_is_not_taken_for_had(tmp_path: Path) -> None:
    """a's answer reaches c, and a knows it; the question that c has to have first comes later."""

    async def test() -> None:
        slow = Settings(lags_s={"c": 1.0})
        async with (
            member("a", log=tmp_path / "a.log") as a,
            member("b", a, settings=slow) as b,
            member("c", a) as c,
        ):
            for one in (a, b, c):
                await until(one, is_view("a", "b", "c"))
            await b.send(b"question")
            assert await payloads(a, 1) == [b"question"]
            await a.send(b"answer")
            assert await payloads(c, 2) == [b"question", b"answer"]

    run(test)


def test_what_comes_before_a_state_is_not_taken_for_had(tmp_path: Path) -> None:
    async def test() -> None:
        async with (
            member("a", log=tmp_path / "a.log") as a,
            member("b", a, wants_state=True) as b,
        ):
            wanted = (await until(a, lambda event: isinstance(event, StateWanted)))[-1]
            assert isinstance(wanted, StateWanted)
            await a.send(b"after")
            assert a.pump.write_ahead is not None
            remembered = a.pump.write_ahead.journal.remembered
            while not remembered.reached:
                await asyncio.sleep(0.01)
            a.give_state(wanted, b"state")
            assert await anext(b) == State(b"state")
            assert await payloads(b, 1) == [b"after"]

    run(test)


def test_who_asks_for_more_has_dealt_with_what_it_was_given(tmp_path: Path) -> None:
    async def test() -> None:
        log = {"log": tmp_path / "b.log"}
        async with member("a") as a:
            async with killed("b", a, **log) as b:
                await until(b, is_view("a", "b"))
                await a.send(b"one")
                assert await payloads(b, 1) == [b"one"]
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(b), 0.1)
            await until(a, is_view("a"))
            async with member("b", a, **log) as b:
                assert not texts(await until(b, is_view("a", "b")))

    run(test)


def test_what_nobody_keeps_is_not_hidden(tmp_path: Path) -> None:
    async def test() -> None:
        short = {"log": tmp_path / "a.log", "durability": Durability(kept_messages=10)}
        log = {"log": tmp_path / "b.log"}
        async with member("a", **short) as a:
            async with killed("b", a, **log) as b:
                await until(a, is_view("a", "b"))
                await until(b, is_view("a", "b"))
            await until(a, is_view("a"))
            for _ in range(2000):
                a.send_now(b"x")
                await anext(a)
            async with killed("b", a, **log) as b:
                seen = await until(b, is_view("a", "b"))
                assert seen[0] == Gap(("a",))
                numbers = [event.number for event in seen if isinstance(event, Delivery)]
                assert numbers == list(range(numbers[0], 2001))
                assert 10 <= len(numbers) < 2000
            await until(a, is_view("a"))
        async with member("c") as c, killed("b", c, **log) as b:
            seen = await until(b, is_view("b", "c"))
            assert Gap(("a", "c"), is_certain=False) in seen  # nobody there has a log

    run(test)


def test_recorded_lives_of_durable_members(tmp_path: Path) -> None:
    async def test() -> None:
        async with member("a", log=tmp_path / "a.log", record=tmp_path / "traces") as a:
            chosen = {"log": tmp_path / "b.log", "record": tmp_path / "traces"}
            for _ in range(2):
                async with killed("b", a, **chosen) as b:
                    await until(a, is_view("a", "b"))
                    await until(b, is_view("a", "b"))
                    for _ in range(5):
                        await b.send(b"x")
                        await a.send(b"y")
                    await payloads(a, 10)
                await until(a, is_view("a"))

    run(test)
    tally = judge(tmp_path / "traces")
    assert tally["crashed"] == 2


def test_the_rest_of_a_group_founds_it_anew(tmp_path: Path) -> None:
    """Most members have died for good: leave, and join without peers."""

    async def test() -> None:
        log = {"log": tmp_path / "a.log"}
        async with member("z") as z:
            async with member("a", z, **log) as a:
                await until(a, is_view("a", "z"))
                await a.send(b"one")
                await z.close()
                await until(a, lambda event: isinstance(event, Interrupted))
                assert not a.send_now(b"waits")
                await a.leave(0.2)
            async with member("a", **log, found_anew=True) as a:
                seen = await until(a, is_view("a"))
                assert not [event for event in seen if isinstance(event, Gap)]
                async with member("b", a) as b:
                    await until(b, is_view("a", "b"))
                    await a.send(b"two")
                    (two,) = [await anext(b)]
                    assert isinstance(two, Delivery)
                    assert (two.payload, two.number) == (b"two", 2)

    run(test)


async def send_many(group: Group, count: int) -> None:
    for _ in range(count):
        await group.send(bytes(10_000))


def test_a_full_disk_ends_the_member_and_nothing_leaves(tmp_path: Path) -> None:
    async def test() -> None:
        async with member("a") as a:
            async with member("b", a, log=tmp_path / "b.log") as b:
                await until(a, is_view("a", "b"))
                await until(b, is_view("a", "b"))
                assert b.pump.write_ahead is not None
                b.pump.write_ahead.journal._database.execute("PRAGMA max_page_count = 1")
                with pytest.raises(CannotWrite, match="full"):
                    await send_many(b, 100)
                with pytest.raises(CannotWrite, match="full"):
                    b.mark_taken()
                with pytest.raises(CannotWrite, match="full"):
                    await until(b, lambda event: False)
            assert not texts(await until(a, is_view("a")))

    run(test)


@pytest.mark.parametrize(
    ("chosen", "what"),
    [({"labels": ["x", "y"]}, "labels"), ({"protocol": "contexts"}, "protocol 'contexts'")],
)
def test_a_log_is_refused_where_messages_overtake_each_other(
    chosen: dict[str, Any], what: str, tmp_path: Path
) -> None:
    async def test() -> None:
        with pytest.raises(Misuse, match=f"a log does not go with {what}: .* would be lost"):
            async with member("a", log=tmp_path / "a.log", **chosen):
                pass
        assert not (tmp_path / "a.log").exists()

    run(test)


def test_who_cannot_join_leaves_its_log_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        with monkeypatch.context() as broken:

            def refuse(*_: object, **__: object) -> None:
                raise Misuse("not today")

            broken.setattr(node, "MemberMachine", refuse)
            with pytest.raises(Misuse, match="not today"):
                async with member("a", log=tmp_path / "a.log"):
                    pass
        async with member("a", log=tmp_path / "a.log") as a:
            await until(a, is_view("a"))

    run(test)


def test_a_clock_that_was_set_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """b is let in again, as a later life than the one before."""

    async def test() -> None:
        log = {"log": tmp_path / "b.log"}
        async with member("a") as a:
            async with killed("b", a, **log) as b:
                await until(b, is_view("a", "b"))
                first = b.pump.incarnation
            await until(a, is_view("a"))
            monkeypatch.setattr("antecede.live.node.time.time_ns", lambda: 10**15)
            async with member("b", a, **log) as b:
                await until(b, is_view("a", "b"))
                assert b.pump.incarnation == first + 1

    run(test)


def test_misuse(tmp_path: Path) -> None:
    async def test() -> None:
        async with member("a", log=tmp_path / "a.log") as a:
            with pytest.raises(Misuse, match="in use"):
                async with member("a", log=tmp_path / "a.log"):
                    pass
            await until(a, is_view("a"))
            leaving = asyncio.create_task(a.leave(0.5))
            await asyncio.sleep(0)
            wanted = StateWanted(("b",), 1)
            a.give_state(wanted, b"")  # It may have been asked just before,
            await leaving
            a.give_state(wanted, b"")  # and be late with the answer.
        with pytest.raises(Misuse, match="closed"):
            a.mark_taken()

    run(test)
