"""`antecede broker audit` and `antecede bridge`, against real servers."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from antecede.brokers import causal
from antecede.brokers.bridge import ORIGIN, run_bridge
from antecede.brokers.connect import client_of as connect
from antecede.brokers.jetstream import JetStream
from antecede.brokers.lanes import Lanes
from antecede.brokers.record import Record
from antecede.brokers.redis_streams import RedisStreams
from antecede.cli import app
from antecede.errors import BadInput, Misuse
from antecede.verify import verify_trace
from tests.brokers import servers
from tests.brokers.questions import ANSWERS, QUESTIONS, answer, ask, client_of, judge

COUNT = 30
TOPICS = f"{ANSWERS},{QUESTIONS}"


@pytest.fixture(scope="module", params=["streams", "jetstream"])
def broker(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, str]]:
    """A server with questions and answers in it: its kind and its address."""
    kind = request.param
    make, scheme = (servers.redis, "redis") if kind == "streams" else (servers.nats, "nats")
    server = make(tmp_path_factory.mktemp(kind))
    server.start()

    async def fill() -> None:
        async with client_of(kind, server.port) as one, client_of(kind, server.port) as two:
            await asyncio.gather(ask(one, COUNT), answer(two, COUNT))
            if kind == "jetstream":
                for name in ("ordered", "again"):
                    await two.add_stream(name=name, subjects=[name])

    asyncio.run(asyncio.wait_for(fill(), 30))
    yield kind, f"{scheme}://127.0.0.1:{server.port}"
    server.kill()


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_an_audit_counts_what_readers_saw(broker: tuple[str, str], tmp_path: Path) -> None:
    kind, url = broker
    out = str(tmp_path / "audit")
    options = ("--topics", TOPICS, "--start", "first", "--messages", str(2 * COUNT), "--out", out)
    status, told = run("broker", "audit", url, *options, "--json")
    found = json.loads(told)
    assert (found["messages"], found["unstamped"], found["undelivered"]) == (2 * COUNT, 0, 0)
    # The trace says the same to the oracle, which reads the definition.
    assert (
        verify_trace(tmp_path / "audit" / "trace.parquet", engine="oracle").violations
        == (found["violations"])
    )
    if kind == "streams":  # one XREAD gives all answers first
        assert (status, found["violations"], found["cost"]["held"]) == (1, COUNT, COUNT)
        assert found["cost"]["most_waiting"] == COUNT
    assert (tmp_path / "audit" / "page.html").stat().st_size > 10_000
    status, told = run("broker", "audit", url, *options, "--force")
    assert f"{2 * COUNT} messages seen by 1 reader" in told
    with pytest.raises(Misuse, match="--force replaces it"):
        run("broker", "audit", url, *options)


def test_a_bridge_gives_one_stream_in_order_and_resumes(broker: tuple[str, str]) -> None:
    _, url = broker
    topics = [ANSWERS, QUESTIONS]
    assert run_bridge(url, topics, "ordered", "bridge", messages=COUNT) == COUNT
    status, told = run("bridge", url, "--from", TOPICS, "--to", "ordered", "--idle", "0.7")
    assert (status, told.strip()) == (0, f"{COUNT} messages bridged to ordered")

    judge(asyncio.run(read_bridged(url, "ordered")), COUNT)


def test_a_bridge_that_dies_before_it_commits_publishes_nothing_twice(
    broker: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, url = broker
    topics = [ANSWERS, QUESTIONS]

    async def forget(self: object, frontier: object) -> None:
        pass

    with monkeypatch.context() as dying:
        dying.setattr(RedisStreams, "commit", forget)
        dying.setattr(JetStream, "commit", forget)
        assert run_bridge(url, topics, "again", "mortal", messages=COUNT) == COUNT
    run_bridge(url, topics, "again", "mortal", idle_s=0.7)
    judge(asyncio.run(read_bridged(url, "again")), COUNT)


async def read_bridged(url: str, topic: str) -> list[tuple[str, int]]:
    """Where each message of a bridge's target came from, and what it says; no more than all."""
    found = []
    async with connect(url) as client, causal(client, [topic], start="first") as bus:
        for _ in range(2 * COUNT):
            message = await anext(bus)
            lane, _, _ = message.headers[ORIGIN].partition(":")
            found.append((lane, int(message.payload)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(bus), 0.3)
    return found


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    out = ("--out", str(tmp_path / "audit"))
    for url, words in {
        "http://here": "write nats://",
        "redis://127.0.0.1:1": "redis://127.0.0.1:1: ",
        "nats://127.0.0.1:1": "nats://127.0.0.1:1: ",
    }.items():
        with pytest.raises(Misuse, match=words):
            run("broker", "audit", url, "--topics", "a", "--for", "1", *out)
    with pytest.raises(Misuse, match="choose another target"):
        run("bridge", "redis://127.0.0.1:1", "--from", "a,b", "--to", "a")


class Seen:
    """A message as a reader would have seen it."""

    def __init__(self, lane: str, place: int, stamp: Any) -> None:
        self.lane, self.place, self.stamp = lane, place, stamp
        self.held_s, self.published_s = 0.0, None


def test_a_record_is_judged_like_the_run_it_came_from(tmp_path: Path) -> None:
    """Three publishers, one of whom passes on what it read; the reader sees the last lane first."""
    alice, bob, carol = Lanes(1), Lanes(2), Lanes(3)
    first = alice.publish("a")
    alice.confirm("a", 1)
    bob.open("a", 0)
    bob.arrive("a", 1, first, None)
    bob.take()
    second = bob.publish("b")
    bob.confirm("b", 1)
    carol.open("b", 0)
    carol.arrive("b", 1, second, None)
    carol.take()
    third = carol.publish("c")
    unstamped = Seen("a", 2, None)
    for order, early in (("abc", 0), ("acb", 1), ("cba", 2), ("bac", 1)):
        record = Record()
        record.reader("reader", {"a": 0, "b": 0, "c": 0})
        stamps = {"a": first, "b": second, "c": third}
        for at, lane in enumerate(order):
            record.see("reader", Seen(lane, 1, stamps[lane]), float(at))  # type: ignore[arg-type]
        record.see("reader", unstamped, 9.0)  # type: ignore[arg-type]
        path = tmp_path / f"{order}.parquet"
        record.write(path, "run")
        verdict = verify_trace(path, engine="oracle")
        assert (verdict.violations, verdict.messages) == (early, 4), order
    record = Record()
    record.reader("reader", {"a": 0, "b": 0})
    for lane, named in ("ab", "ba"):
        liar = Lanes(ord(lane))
        liar.observe({liar.keys.add(named): 1})
        record.see("reader", Seen(lane, 1, liar.publish(lane)), 0.0)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="depend"):
        record.write(tmp_path / "liars.parquet", "run")
