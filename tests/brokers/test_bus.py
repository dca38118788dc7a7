"""The pump, over a log that a test controls."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from antecede.brokers import CausalBus, Frontier, Patience, Unconfirmed
from antecede.brokers.bus import WAKE_EVERY
from antecede.brokers.lanes import Lanes
from antecede.brokers.log import Arrival
from antecede.brokers.stamps import decode_lanes, encode_lanes

LIMIT_S = 60


class Trouble(Exception):
    pass


class Shelf:
    """A log in memory: one lane a topic."""

    troubles: tuple[type[BaseException], ...] = (Trouble,)
    pipelined = True

    def __init__(self, *lanes: str) -> None:
        self.lanes: dict[str, list[Arrival]] = {lane: [] for lane in lanes}
        self.read_up_to = dict.fromkeys(lanes, 0)
        self.committed: list[Frontier] = []
        self.landing: dict[str, asyncio.Future[int]] = {}
        self.stamps: list[tuple[str, bytes]] = []
        self.during_commit: Any = None
        self.failing = 0

    def put(self, lane: str, payload: bytes, stamp: bytes | None = None) -> None:
        entries = self.lanes[lane]
        entries.append(Arrival(lane, len(entries) + 1, stamp, payload, {}))

    async def open(self) -> tuple[Frontier, Sequence[Sequence[str]]]:
        return Frontier(dict.fromkeys(self.lanes, 0), {}), [list(self.lanes)]

    async def read(self, lanes: Sequence[str]) -> Sequence[Arrival]:
        if self.failing:
            self.failing -= 1
            raise Trouble("not now")
        found = []
        for lane in lanes:
            found += self.lanes[lane][self.read_up_to[lane] :]
            self.read_up_to[lane] = len(self.lanes[lane])
        await asyncio.sleep(0 if found else 0.001)
        return found

    async def lane_of(self, topic: str) -> str:
        return topic

    async def send(
        self, topic: str, payload: bytes, headers: Mapping[str, str] | None, stamp: bytes
    ) -> Awaitable[int]:
        self.stamps.append((topic, stamp))
        self.landing[topic] = asyncio.get_running_loop().create_future()
        return self.landing[topic]

    async def end(self, lane: str) -> int:
        return 77

    async def following(self, lane: str, place: int) -> int | None:
        return None

    async def commit(self, frontier: Frontier) -> None:
        self.committed.append(frontier)
        if self.during_commit is not None:
            await self.during_commit()

    async def close(self) -> None:
        pass


def run(test: Any) -> None:
    asyncio.run(asyncio.wait_for(test, LIMIT_S))


def test_what_arrives_during_a_commit_is_not_missed() -> None:
    """A reader once slept for ever: it forgot the arrival that came while it was committing."""

    async def test() -> None:
        shelf = Shelf("a")
        shelf.put("a", b"1")

        async def second() -> None:
            shelf.during_commit = None
            shelf.put("a", b"2")
            while shelf.read_up_to["a"] < 2:
                await asyncio.sleep(0.001)
            await asyncio.sleep(0.01)

        shelf.during_commit = second
        async with CausalBus(shelf, commits=True) as bus:
            assert (await anext(bus)).payload == b"1"
            assert (await anext(bus)).payload == b"2"
            assert shelf.committed[0].places == {"a": 1}
        assert shelf.committed[-1].places == {"a": 2}  # leaving in peace says it is processed

    run(test())


def test_what_is_not_processed_is_not_committed() -> None:
    async def test() -> None:
        shelf = Shelf("a")
        for number in range(5):
            shelf.put("a", str(number).encode())
        with suppress(InterruptedError):
            async with CausalBus(shelf, commits=True, commit_every=2) as bus:
                for _ in range(4):
                    await anext(bus)
                raise InterruptedError
        assert [frontier.places for frontier in shelf.committed] == [{"a": 2}]

    run(test())


def test_who_changes_lanes_waits_and_a_failure_is_settled() -> None:
    async def test() -> None:
        shelf = Shelf()
        async with CausalBus(shelf) as bus:
            first = asyncio.create_task(bus.publish("a", b"1"))
            second = asyncio.create_task(bus.publish("b", b"2"))
            third = asyncio.create_task(bus.publish("a", b"3"))
            await asyncio.sleep(0.02)
            assert [topic for topic, _ in shelf.stamps] == ["a"]  # b waits for a's place
            shelf.landing["a"].set_result(5)
            assert await first == 5
            await asyncio.sleep(0.02)
            assert [topic for topic, _ in shelf.stamps] == ["a", "b"]
            shelf.landing["b"].set_exception(Trouble("no answer"))
            with pytest.raises(Unconfirmed, match="no answer"):
                await second
            await asyncio.sleep(0.02)
            shelf.landing["a"].set_result(6)
            await third
        past = dict(decode_lanes(shelf.stamps[2][1]).past)
        lanes = Lanes(1)
        assert past == {lanes.keys.add("a"): 5, lanes.keys.add("b"): 77}  # b's end

    run(test())


def test_patience_has_its_turn_while_there_is_much_to_deliver() -> None:
    """A busy lane once kept a reader from asking for what another one waited for."""

    async def test() -> None:
        shelf = Shelf("waits", "busy", "empty")
        writer = Lanes(9)
        writer.observe({writer.keys.add("empty"): 1})
        shelf.put("waits", b"answer", encode_lanes(writer.publish("waits")))
        for _ in range(3 * WAKE_EVERY):
            shelf.put("busy", b"noise")
        async with CausalBus(shelf, patience=Patience(probe_s=0.0)) as bus:
            found = [(await anext(bus)).payload for _ in range(2 * WAKE_EVERY)]
        assert b"answer" in found

    run(test())


def test_troubles_and_broken_stamps_are_told_and_survived(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def test() -> None:
        shelf = Shelf("a", "b")
        shelf.failing = 2
        writer = Lanes(9)
        writer.observe({writer.keys.add("a"): 1})
        shelf.put("b", b"answer", encode_lanes(writer.publish("b")))
        shelf.put("b", b"broken", b"nonsense")
        async with CausalBus(shelf) as bus:
            asyncio.get_running_loop().call_later(0.2, shelf.put, "a", b"question")
            found = [(await anext(bus)).payload for _ in range(3)]
        assert found == [b"question", b"answer", b"broken"]

    run(test())
    assert "cannot read a, b: not now; trying again" in caplog.text
    assert "b:2 has a malformed stamp" in caplog.text
