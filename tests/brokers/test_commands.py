"""`antecede broker audit` and `antecede bridge`, against real servers."""

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from antecede.brokers import causal
from antecede.brokers.bridge import COMMIT_EVERY, ORIGIN, run_bridge
from antecede.brokers.connect import client_of as connect
from antecede.brokers.jetstream import JetStream
from antecede.brokers.lanes import Frontier, Lanes
from antecede.brokers.nats_subjects import NatsSubjects
from antecede.brokers.numbers import Numbers
from antecede.brokers.record import Record
from antecede.brokers.redis_channels import RedisChannels
from antecede.brokers.redis_streams import RedisStreams
from antecede.brokers.stamps import as_text, encode_topics
from antecede.cli import app
from antecede.errors import Misuse
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


def test_an_audit_that_a_container_ends_gives_its_verdict(
    broker: tuple[str, str], tmp_path: Path
) -> None:
    out = tmp_path / "audit"
    options = ("--topics", TOPICS, "--start", "first", "--out", str(out))
    command = [sys.executable, "-m", "antecede", "broker", "audit", broker[1], *options]
    # As a shell starts it in the background: control-C is ignored there.
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as audit:
        while not out.exists():  # it is about to begin
            assert audit.poll() is None
            time.sleep(0.05)
        time.sleep(2.0)
        audit.terminate()
        told, _ = audit.communicate(timeout=60)
    assert audit.returncode in (0, 1, 3)
    assert b"messages seen by 1 reader" in told
    assert (out / "trace.parquet").exists()


def test_an_audit_that_sees_nothing_cannot_tell(broker: tuple[str, str], tmp_path: Path) -> None:
    """Nothing comes, or the name is wrong: that is not the fault of stamps."""
    where = ("--topics", ANSWERS, "--for", "0.2", "--out", str(tmp_path / "audit"))
    status, told = run("broker", "audit", broker[1], *where)
    assert status == 3
    assert "0 messages seen by 1 reader\nnothing was published there meanwhile" in told


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
    kind, url = broker
    topics = [ANSWERS, QUESTIONS]
    log: Any = RedisStreams if kind == "streams" else JetStream
    commit = log.commit

    async def forget(self: Any, frontier: Frontier) -> None:
        if not any(frontier.places.values()):  # It opens its group before it reads.
            await commit(self, frontier)

    async def others_write() -> None:
        """Beside the bridge, and more than it would look at if it looked at the last ones."""
        async with connect(url) as client:
            for _ in range(2 * COMMIT_EVERY + 1):
                await client.xadd("again", {"payload": "x", "by": "others"})

    with monkeypatch.context() as dying:
        dying.setattr(log, "commit", forget)
        assert run_bridge(url, topics, "again", "mortal", messages=COUNT) == COUNT
    if kind == "streams":
        asyncio.run(others_write())
    run_bridge(url, topics, "again", "mortal", idle_s=0.7)
    judge(asyncio.run(read_bridged(url, "again")), COUNT)


def test_a_bridge_that_leads_nowhere_is_refused(broker: tuple[str, str]) -> None:
    kind, url = broker

    async def set_plain() -> None:
        async with connect(url) as client:
            if kind == "streams":
                await client.set("nowhere", "a text")

    asyncio.run(set_plain())
    words = "is not a stream" if kind == "streams" else "no stream keeps subject 'nowhere'"
    with pytest.raises(Misuse, match=words):
        run("bridge", url, "--from", TOPICS, "--to", "nowhere", "--idle", "1")
    if kind == "streams":
        with pytest.raises(Misuse, match="'nowhere' is not a stream"):
            run("bridge", url, "--from", "nowhere", "--to", "somewhere", "--idle", "1")
        with pytest.raises(Misuse, match="unexpected keyword argument 'colour'"):
            run("bridge", f"{url}?colour=1", "--from", TOPICS, "--to", "a")


def test_a_bridge_passes_no_orders_on_and_keeps_bytes(broker: tuple[str, str]) -> None:
    """`Nats-Expected-Stream` is what the client's own `publish(stream=…)` sends; a bridge that
    passed it on was refused by the server for ever. A pattern may match the target itself."""
    kind, url = broker

    async def publish() -> None:
        async with connect(url) as client:
            if kind == "streams":
                await client.xadd("odd", {"payload": b"1", b"\xff": b"\xfe"})
            else:
                await client.add_stream(name="odd", subjects=["odd.*"])
                await client.publish("odd.one", b"1", stream="odd")

    async def read() -> Any:
        async with connect(url) as client, causal(client, [target], start="first") as bus:
            return await anext(bus)

    source, target = ("odd", "even") if kind == "streams" else ("odd.*", "odd.bridged")
    asyncio.run(publish())
    assert run_bridge(url, [source], target, "odd", idle_s=0.5) == 1
    message = asyncio.run(read())
    if kind == "streams":
        place = message.headers[ORIGIN]
        assert message.headers == {"\udcff": "\udcfe", ORIGIN: place}
    else:
        told = {"Nats-Msg-Id": "odd:1", ORIGIN: "odd:1", "antecede-topic": "odd.one"}
        assert message.headers == told


@pytest.fixture(params=["core", "pubsub"])
def live_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    make, scheme = (servers.nats, "nats") if request.param == "core" else (servers.redis, "redis")
    server = make(tmp_path)
    server.start()
    yield request.param, f"{scheme}://127.0.0.1:{server.port}"
    server.kill()


def test_an_audit_listens_where_nothing_is_kept(
    live_broker: tuple[str, str], tmp_path: Path
) -> None:
    """A publisher whose answers overtake its questions, now and then with nothing to say of it."""
    kind, url = live_broker
    over = threading.Event()

    async def publish() -> None:
        async with connect(url, live=True) as client:
            channels: Any = NatsSubjects(client) if kind == "core" else RedisChannels(client)
            machine = Numbers(5)
            while not over.is_set():
                stamps = {topic: machine.publish(topic) for topic in (QUESTIONS, ANSWERS)}
                if stamps[QUESTIONS].number % 4 == 0:  # lost: no reader ever sees it
                    machine.publish(QUESTIONS)
                for topic in (ANSWERS, QUESTIONS):
                    await channels.publish(topic, b"1", None, as_text(encode_topics(stamps[topic])))
                await asyncio.sleep(0.005)

    publisher = threading.Thread(target=asyncio.run, args=(publish(),))
    publisher.start()
    try:
        out = tmp_path / "audit"
        options = ("--topics", TOPICS, "--messages", "40", "--readers", "2", "--out", str(out))
        status, told = run("broker", "audit", url, "--live", *options, "--json")
    finally:
        over.set()
        publisher.join()
    found = json.loads(told)
    assert status == 1
    assert (found["unstamped"], found["readers"], found["contradictions"]) == (0, 2, 0)
    assert found["dropped"] >= 3
    # Both readers saw every pair the wrong way round, but for those at the ends.
    assert found["messages"] - 6 <= found["violations"] <= found["messages"]
    assert found["cost"]["held"] >= found["violations"] - 2
    trace = out / "trace.parquet"
    assert verify_trace(trace, engine="oracle").violations == found["violations"]
    with pytest.raises(Misuse, match="nothing is kept to start from"):
        run("broker", "audit", url, "--live", "--topics", "a", "--force", "--start", "first")


async def read_bridged(url: str, topic: str) -> list[tuple[str, int]]:
    """Where each message of a bridge's target came from, and what it says; no more than all."""
    found: list[tuple[str, int]] = []
    async with connect(url) as client, causal(client, [topic], start="first") as bus:
        while len(found) < 2 * COUNT:
            message = await anext(bus)
            if "by" in message.headers:
                continue
            lane, _, _ = message.headers[ORIGIN].partition(":")
            found.append((lane, int(message.payload)))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(bus), 0.3)
    return found


def test_what_cannot_be_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.brokers.connect._CONNECT_S", 0.3)
    out = ("--out", str(tmp_path / "audit"))
    for url, words in {
        "http://here": "write nats://",
        "me:secret@127.0.0.1:6379": "^127.0.0.1:6379: write nats://",
        "redis://me:secret@127.0.0.1:6379x": "redis://127.0.0.1:6379x: Port could not be",
        "redis://me:secret@127.0.0.1:1": "redis://127.0.0.1:1: ",
        "nats://me:secret@127.0.0.1:1": "nats://127.0.0.1:1: ",
        "nats://127.0.0.1:1?ca=/nowhere": "ca, cert or key: ",
        "nats://127.0.0.1:1?tls=yes": "'tls' is not known; write ca, cert, key or creds",
    }.items():
        with pytest.raises(Misuse, match=words) as refused:
            run("broker", "audit", url, "--topics", "a", "--for", "1", *out)
        assert "secret" not in str(refused.value)
    for bad in (("--for", "-1"), ("--for", "nan"), ("--messages", "0")):
        with pytest.raises(Misuse, match="there must be some time, and one message at least"):
            run("broker", "audit", "redis://127.0.0.1:1", "--topics", "a", *bad, *out)
    with pytest.raises(Misuse, match="audit it without --live"):
        run("broker", "audit", "kafka://127.0.0.1:1", "--live", "--topics", "a", *out)
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
        if order == "acb":  # in the broker's own words: a lane, and a place
            assert "reader delivered c 1 at 1 s without b 1" in verdict.witnesses[0].sentence()
    record = Record()
    record.reader("reader", {"a": 0, "b": 0})
    for lane, named in ("ab", "ba"):
        liar = Lanes(ord(lane))
        liar.observe({liar.keys.add(named): 1})
        record.see("reader", Seen(lane, 1, liar.publish(lane)), 0.0)  # type: ignore[arg-type]
    record.write(tmp_path / "liars.parquet", "run")
    assert record.contradictions == 1
    assert verify_trace(tmp_path / "liars.parquet", engine="oracle").messages == 2
