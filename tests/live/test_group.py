"""The API: several members in one event loop, over real sockets."""

import asyncio
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from antecede.errors import CannotWrite, Misuse
from antecede.groups import GroupConfig
from antecede.live import (
    Delivery,
    Excluded,
    Group,
    LinkLimits,
    Missing,
    Settings,
    ViewChange,
)
from antecede.live.logs import JsonLines
from antecede.live.member_machine import MemberMachine
from antecede.live.metrics import exposition, serve, status
from antecede.live.recording import Recording
from tests.live.gathering import gathered, members_of, payloads, run, until

SMALL = LinkLimits(frame_bytes=100_000)
"""Frames that are soon full."""


def test_to_everybody_to_some_and_past_all_order() -> None:
    async def test() -> None:
        async with gathered("a", "b", "c", protocol="optimal") as (a, b, c):
            await a.send(b"all")
            await a.send(b"some", to=["b", "c"])
            a.send_past(b"past", ["c"])
            assert await payloads(a, 1) == [b"all"]
            assert await payloads(b, 2) == [b"all", b"some"]
            assert sorted(await payloads(c, 3)) == [b"all", b"past", b"some"]
            with pytest.raises(Misuse, match="'x' is unknown here; known are a, b, c"):
                await a.send(b"", to=["x"])
            with pytest.raises(Misuse, match="there is no group 'g'"):
                await a.send(b"", group="g")

    run(test)


def test_what_a_protocol_cannot_address_is_refused_and_leaves_no_gap() -> None:
    async def test() -> None:
        async with gathered("a", "b", protocol="vector") as (a, b):
            with pytest.raises(Misuse, match="whole groups"):
                await a.send(b"some", to=["b"])
            await a.send(b"all")
            assert await payloads(b, 1) == [b"all"]

    run(test)


def test_what_is_too_long_is_refused() -> None:
    async def test() -> None:
        settings = Settings(links=LinkLimits(frame_bytes=100_000))
        async with gathered("a", "b", settings=settings) as (a, b):
            with pytest.raises(Misuse, match="at most 24,968"):
                await a.send(bytes(30_000))
            await a.send(bytes(24_968))
            assert await payloads(b, 1) == [bytes(24_968)]

    run(test)


def test_held_missing_and_why() -> None:
    """a's messages reach c late; c gets b's answer first, says what it waits for, and gets both."""

    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.5})}}
        slow["c"] = {"settings": Settings(missing_after_s=0.2)}
        async with gathered("a", "b", "c", special=slow) as (a, b, c):
            await a.send(b"question")
            assert await payloads(b, 1) == [b"question"]
            await b.send(b"answer")
            seen = await until(c, lambda event: isinstance(event, Delivery))
            missing = [event for event in seen if isinstance(event, Missing)]
            assert [(one.sender, one.number) for one in missing] == [("b", 1)]
            assert missing[0].awaited == ("a: group 1",)
            assert missing[0].waited_s >= 0.2
            assert isinstance(seen[-1], Delivery)
            assert seen[-1].payload == b"question"
            assert await payloads(c, 1) == [b"answer"]
            assert c.held() == []
            assert c.hold.count == 1

    run(test)


def test_without_order_the_answer_comes_first() -> None:
    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.5})}}
        async with gathered("a", "b", "c", protocol="none", special=slow) as (a, b, c):
            await a.send(b"question")
            assert await payloads(b, 1) == [b"question"]
            await b.send(b"answer")
            assert await payloads(c, 2) == [b"answer", b"question"]

    run(test)


def test_missing_for_too_long_excludes_who_is_missing() -> None:
    async def test() -> None:
        slow = {
            "a": {"settings": Settings(lags_s={"c": 30.0, "d": 30.0})},
            "c": {"settings": Settings(missing_after_s=0.2, on_missing="exclude")},
            "d": {"settings": Settings(missing_after_s=0.2, on_missing="exclude")},
        }
        async with gathered("b", "a", "c", "d", special=slow) as (b, a, c, _):
            await a.send(b"question")
            assert await payloads(b, 1) == [b"question"]
            await b.send(b"answer")
            seen = await until(
                c, lambda event: "a" not in members_of(event) and members_of(event) != ()
            )
            texts = [event.payload for event in seen if isinstance(event, Delivery)]
            # Its message is handed on by b, and comes before the answer to it.
            assert texts == [b"question", b"answer"]

    run(test)


def test_who_alone_misses_something_goes_itself() -> None:
    """Nobody can tell whether a sent it: c may not have it excluded by its own word."""

    async def test() -> None:
        slow = {
            "a": {"settings": Settings(lags_s={"c": 30.0})},
            "c": {"settings": Settings(missing_after_s=0.2, on_missing="exclude")},
        }
        config = GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0)
        async with gathered("b", "a", "c", special=slow, config=config) as (b, a, c):
            await a.send(b"question")
            assert await payloads(b, 1) == [b"question"]
            await b.send(b"answer")
            await until(c, lambda event: isinstance(event, Excluded))
            await until(c, lambda event: members_of(event) == ("b", "a", "c"))
            seen = await until(b, lambda event: members_of(event) == ("b", "a", "c"))
            assert not any(isinstance(one, ViewChange) and "a" in one.departed for one in seen)

    run(test)


def test_what_a_former_life_was_given_is_not_counted() -> None:
    """b is excluded while its application has much to take; it joins anew, and stays."""

    async def test() -> None:
        config = GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0)
        async with gathered("a", "b", "c", config=config) as (a, b, c):
            for _ in range(100):
                await a.send(b"")
            while b.waiting < 100:
                await asyncio.sleep(0.01)
            for one, others in ((a, "b"), (b, "ac"), (c, "b")):
                assert isinstance(one.pump.core, MemberMachine)
                one.pump.core.accusations.disputes.shunned |= set(others)
            await until(a, lambda event: members_of(event) == ("a", "c"))
            b.pump.membership().accusations.disputes.shunned.clear()
            await until(a, lambda event: members_of(event) == ("a", "c", "b"))
            while b.members != ("a", "c", "b"):
                await asyncio.sleep(0.01)
            assert len(await payloads(b, 100)) == 100
            session = b.pump.membership().session
            assert session is not None
            assert min(session.traffic.untaken.values()) == 0
            await until(b, lambda event: members_of(event) == ("a", "c", "b"))
            await b.send(b"back")
            assert (await payloads(c, 101))[-1] == b"back"
            assert not a.pump._listener.counters.broken

    run(test)


def test_a_member_that_takes_nothing_slows_senders() -> None:
    async def test() -> None:
        settings = Settings(window=50)
        async with gathered("a", "b", settings=settings) as (a, b):
            reading = asyncio.create_task(payloads(a, 200))
            sent = 0
            while sent < 50 and a.send_now(b"%d" % sent):
                sent += 1
                await asyncio.sleep(0)
            assert sent == 50
            await asyncio.sleep(0.3)
            assert not a.send_now(b"too much")
            assert b.waiting <= 51
            sending = asyncio.create_task(_send_all(a, [b"%d" % n for n in range(50, 200)]))
            assert await payloads(b, 200) == [b"%d" % n for n in range(200)]
            await sending
            await reading

    run(test)


async def _send_all(member: Group, texts: list[bytes]) -> None:
    for text in texts:
        await member.send(text)


def test_long_messages_fill_the_window_sooner() -> None:
    async def test() -> None:
        async with gathered("a", "b", settings=Settings(window=64)) as (a, b):
            sent = 0
            while a.send_now(bytes(40_000)):
                sent += 1
            assert sent == 2  # Some forty units each.
            await payloads(a, 2)
            await payloads(b, 2)
            await a.send(b"goes on")

    run(test)


def test_what_a_protocol_adds_and_no_frame_holds_ends_the_member() -> None:
    """With `piggyback` a message carries those before it. a fails as soon as one does not fit; the
    others go on without it."""

    async def test() -> None:
        chosen = {
            "protocol": "piggyback",
            "options": {"cleanup": "off"},
            "settings": Settings(links=SMALL),
            "config": GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0),
        }
        async with gathered("b", "a", "c", **chosen) as (b, a, c):
            await a.send(bytes(24_000))
            await a.send(bytes(20_000))
            with pytest.raises(Misuse, match="at most 49,936 fit into a frame"):
                await a.send(bytes(24_000))
            with pytest.raises(Misuse, match="fit into a frame"):
                await a.send(b"more")
            with pytest.raises(Misuse, match="fit into a frame"):
                await until(a, lambda event: False)
            for one in (b, c):
                seen = await until(one, lambda event: members_of(event) == ("b", "c"))
                sizes = [len(event.payload) for event in seen if isinstance(event, Delivery)]
                assert sizes == [24_000, 20_000]
            await b.send(b"goes on")
            assert await payloads(c, 1) == [b"goes on"]

    run(test)


def test_what_survivors_hand_on_fits_into_frames() -> None:
    """What a sent did not reach c: b hands it on, in as many frames as it takes."""

    async def test() -> None:
        slow = {"a": {"settings": Settings(links=SMALL, lags_s={"c": 30.0})}}
        others = {name: {"settings": Settings(links=SMALL)} for name in "bc"}
        config = GroupConfig(suspect_after_s=1.0, flush_timeout_s=1.0)
        async with gathered("b", "a", "c", config=config, special=slow | others) as (b, a, c):
            sizes = [*range(0, 24_000, 2_000), *([10] * 2_000)]
            for size in sizes:
                await a.send(bytes(size))
            assert list(map(len, await payloads(b, len(sizes)))) == sizes
            await a.close()
            seen = await until(c, lambda event: members_of(event) == ("b", "c"))
            assert [len(event.payload) for event in seen if isinstance(event, Delivery)] == sizes
            await b.send(b"goes on")
            assert await payloads(c, 1) == [b"goes on"]

    run(test)


def test_a_recording_that_cannot_go_on_is_told(tmp_path: Path) -> None:
    async def test() -> None:
        async with gathered("a", record=tmp_path) as (a,):
            recording = a.pump.recording
            assert isinstance(recording, Recording)
            assert recording._file is not None
            os.close(recording._file)
            with pytest.raises(CannotWrite):
                await a.send(b"x")
            recording._file = None

    run(test)


def test_a_member_that_is_not_recorded_needs_nothing_heavy() -> None:
    code = (
        "import sys, antecede.live\n"
        "heavy = {'pyarrow', 'numpy', 'numba', 'pandas', 'pydantic', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_status_and_metrics() -> None:
    async def test() -> None:
        async with gathered("a", "b", measures=True) as (a, b):
            await a.send(b"one")
            await payloads(b, 1)
            told = status(a)
            assert told["members"] == ["a", "b"]
            assert (told["sends"], told["state"]) == (1, "member")
            text = exposition([a, b]).decode()
            assert 'antecede_deliveries_total{group="room",name="b"} 1.0' in text
            assert 'antecede_sends_total{group="room",name="a"} 1.0' in text
            assert 'antecede_members{group="room",name="a"} 2.0' in text

    run(test)


def test_the_page_is_held_up_by_nobody() -> None:
    """Few requests at a time, few headers in each."""

    async def test() -> None:
        async with gathered("a") as (a,), serve([a], ("127.0.0.1", 0)) as address:

            async def asked(*headers: bytes) -> bytes:
                reader, writer = await asyncio.open_connection(*address)
                writer.write(b"\r\n".join((b"GET /status HTTP/1.1", *headers, b"", b"")))
                try:
                    return await reader.read()
                except ConnectionResetError:
                    return b""
                finally:
                    writer.close()

            assert (await asked(b"Host: a")).startswith(b"HTTP/1.1 200 OK")
            assert not await asked(*(b"X-%d: x" % number for number in range(64)))
            silent = [await asyncio.open_connection(*address) for _ in range(16)]
            assert not await asked()
            for _, writer in silent:
                writer.close()
            while not await asked():
                await asyncio.sleep(0.01)

    run(test)


def test_logs_and_recordings_are_private(tmp_path: Path) -> None:
    async def test() -> None:
        async with gathered("a", record=tmp_path / "trace", log=tmp_path / "a.log") as (a,):
            await a.send(b"secret")

    before = os.umask(0)
    try:
        run(test)
    finally:
        os.umask(before)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) >= 2
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}


def test_logs_have_facts(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        with caplog.at_level(logging.INFO, "antecede.live"):
            async with gathered("a", "b"):
                pass

    run(test)
    views = [record for record in caplog.records if record.getMessage() == "view"]
    lines = [json.loads(JsonLines().format(record)) for record in views]
    seen = [(line["group"], line["name"], line["members"]) for line in lines]
    assert ("room", "a", ["a", "b"]) in seen
    assert ("room", "b", ["a", "b"]) in seen


def test_lateness_on_purpose_delays_messages_and_nobody_who_joins() -> None:
    """What alice says to carol would take an hour; carol and others come and go without waiting,
    until something is on its way that must not be overtaken."""

    async def check() -> None:
        late = {"alice": {"settings": Settings(lags_s={"carol": 3600.0})}}
        async with gathered("alice", "carol", "bob", special=late) as (alice, carol, bob):
            await carol.send(b"hello")
            assert await payloads(bob, 1) == [b"hello"]
            await alice.send(b"question")
            assert await payloads(bob, 1) == [b"question"]
            await bob.send(b"answer")
            while not carol.held():
                await asyncio.sleep(0.01)
            (held,) = carol.held()
            assert (held.sender, [one.partition(":")[0] for one in held.awaited]) == (
                "bob", ["alice"],
            )  # fmt: skip

    run(check)
