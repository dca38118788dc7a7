"""The adapters against real servers: order, durable readers, kills."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis.asyncio
import redis.exceptions

from antecede.brokers import MadeAnew, Superseded, causal
from antecede.brokers.stamps import LaneStamp, as_text, encode_lanes, key_of
from antecede.errors import BadInput, Misuse
from tests.brokers import servers
from tests.brokers.questions import (
    ANSWERS,
    QUESTIONS,
    answer,
    ask,
    client_of,
    early_answers,
    judge,
    plain,
    publish,
    read,
)

KINDS = ("streams", "pubsub", "jetstream", "core")
LOGS = ("streams", "jetstream")
COUNT = 60
LIMIT_S = 120


@pytest.fixture
def port(kind: str, tmp_path: Path) -> Iterator[int]:
    """A fresh server for each test: some kill it, and none sees the other's streams."""
    make = servers.redis if kind in ("streams", "pubsub") else servers.nats
    server = make(tmp_path)
    server.start()
    yield server.port
    server.kill()


async def claim(bus: Any, place: int) -> None:
    """Have a bus name this place of the questions, whether there is one or not."""
    bus.observe(msgspec.msgpack.encode({key_of(await bus._log.lane_of(QUESTIONS)): place}))


def run(test: Any) -> Any:
    return asyncio.run(asyncio.wait_for(test, LIMIT_S))


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_comes_before_its_question(kind: str, port: int) -> None:
    async def test() -> None:
        async with (
            client_of(kind, port) as one,
            client_of(kind, port) as two,
            client_of(kind, port) as three,
        ):
            reading = asyncio.create_task(read(three, COUNT))
            answering = asyncio.create_task(answer(two, COUNT))
            await asyncio.sleep(0.3)  # without a log nothing is kept for who comes later
            await ask(one, COUNT)
            await answering
            judge(plain(await reading), COUNT)

    run(test())


@pytest.mark.parametrize("kind", LOGS)
def test_catching_up_is_where_order_breaks(kind: str, port: int) -> None:
    """Without holding back answers come early; with it none do, and some were held."""

    async def test() -> None:
        async with client_of(kind, port) as one, client_of(kind, port) as two:
            await asyncio.gather(ask(one, COUNT), answer(two, COUNT))
            held = await read(one, COUNT)
            judge(plain(held), COUNT)
            if kind == "streams":  # XREAD gives the answers first, every time
                loose = await read(two, COUNT, hold=False)
                assert early_answers(plain(loose)) == COUNT
                assert any(message.held_s > 0 for message in held)

    run(test())


@pytest.mark.parametrize("kind", LOGS)
def test_a_reader_that_is_killed_resumes(kind: str, port: int, tmp_path: Path) -> None:
    """SIGKILL, twice, in the middle of things: nothing lost, at most one batch of commits twice."""
    path = tmp_path / "processed"
    command = [sys.executable, "-m", "tests.brokers.reader", kind, str(port), str(COUNT), str(path)]

    def lines() -> list[tuple[str, int]]:
        text = path.read_text("utf-8") if path.exists() else ""
        whole = [line.split() for line in text.splitlines(keepends=True) if line.endswith("\n")]
        return [(topic, int(number)) for topic, number in whole]

    async def publish_all() -> None:
        async with client_of(kind, port) as one, client_of(kind, port) as two:
            await asyncio.gather(ask(one, COUNT, pause_s=0.02), answer(two, COUNT))

    async def test() -> None:
        publishing = asyncio.create_task(publish_all())
        for kills_after in (25, 70):
            reader = subprocess.Popen(command)
            while len(lines()) < kills_after:
                await asyncio.sleep(0.01)
            reader.kill()
            reader.wait()
        await publishing
        await (await asyncio.create_subprocess_exec(*command)).wait()
        judge(lines(), COUNT, twice=2 * 20)

    run(test())


@pytest.mark.parametrize("kind", LOGS)
def test_a_server_that_is_killed_and_comes_back(kind: str, tmp_path: Path) -> None:
    server = (servers.redis if kind == "streams" else servers.nats)(tmp_path)
    server.start()

    async def test() -> None:
        async with (
            client_of(kind, server.port) as one,
            client_of(kind, server.port) as two,
            client_of(kind, server.port) as three,
        ):
            reading = asyncio.create_task(read(three, COUNT, group="carol", commit_every=10))
            answering = asyncio.create_task(answer(two, COUNT))
            asking = asyncio.create_task(ask(one, COUNT, pause_s=0.01))
            await asyncio.sleep(0.3)
            server.kill()
            await asyncio.sleep(0.2)
            server.start()
            await asyncio.gather(asking, answering)
            judge(plain(await reading), COUNT, twice=5)  # what was unconfirmed, published again

    try:
        run(test())
    finally:
        server.kill()


def test_one_of_three_servers_is_killed(tmp_path: Path) -> None:
    cluster = servers.nats_cluster(tmp_path)
    for server in cluster:
        server.start()
    ports = [server.port for server in cluster]

    async def test() -> None:
        async with (
            client_of("jetstream", *ports[:2], replicas=3) as one,
            client_of("jetstream", *ports[:2], replicas=3) as two,
            client_of("jetstream", *ports[:2], replicas=3) as three,
        ):
            reading = asyncio.create_task(read(three, COUNT))
            answering = asyncio.create_task(answer(two, COUNT))
            asking = asyncio.create_task(ask(one, COUNT, pause_s=0.01))
            await asyncio.sleep(0.4)
            cluster[0].kill()
            await asyncio.gather(asking, answering)
            judge(plain(await reading), COUNT, twice=10)

    try:
        run(test())
    finally:
        for server in cluster:
            server.kill()


@pytest.mark.parametrize("kind", LOGS)
def test_the_last_reader_of_a_group_is_its_reader(kind: str, port: int) -> None:
    async def test() -> None:
        async with client_of(kind, port) as one, client_of(kind, port) as two:
            await ask(one, 3)
            async with causal(one, [QUESTIONS], group="carol", start="first") as former:
                assert (await anext(former)).payload == b"0"
                async with causal(two, [QUESTIONS], group="carol") as present:
                    assert (await anext(present)).payload == b"0"
                    assert (await anext(present)).payload == b"1"
                with pytest.raises(Superseded):
                    await former.commit()  # type: ignore[union-attr]
            async with causal(two, [QUESTIONS], group="carol") as present:
                assert (await anext(present)).payload == b"2"

    run(test())


@pytest.mark.parametrize("kind", LOGS)
def test_what_was_deleted_or_filtered_is_not_waited_for(kind: str, port: int) -> None:
    async def test() -> None:
        async with client_of(kind, port) as client:
            async with causal(client, [QUESTIONS], start="first") as bus:
                place = await bus.publish(QUESTIONS, b"0")
                await anext(bus)
                await bus.publish(ANSWERS, b"0")
            if kind == "streams":
                from antecede.brokers.redis_streams import id_of  # noqa: PLC0415

                await client.xdel(QUESTIONS, id_of(place))
            else:
                await client.delete_msg(QUESTIONS, place)
            async with causal(client, [QUESTIONS, ANSWERS], start="first") as bus:
                message = await anext(bus)
                assert message.topic == ANSWERS
                assert message.held_s > 0.2  # it asked the broker first
                assert message.without == ()

    run(test())


@pytest.mark.parametrize("kind", LOGS)
def test_a_place_that_does_not_exist_is_given_up_and_told(kind: str, port: int) -> None:
    async def test() -> None:
        async with client_of(kind, port) as client:
            async with causal(client) as bus:
                await claim(bus, 10**15)
                await bus.publish(ANSWERS, b"0")
            reads = [QUESTIONS, ANSWERS]
            async with causal(client, reads, start="first", patience_s=0.5) as bus:
                message = await anext(bus)
                assert message.without == ((QUESTIONS, 10**15),)

    run(test())


@pytest.mark.parametrize("kind", KINDS)
def test_who_knows_nothing_of_it_reads_and_publishes_as_before(kind: str, port: int) -> None:
    async def test() -> None:
        async with (
            client_of(kind, port) as client,
            client_of(kind, port) as other,
            causal(client, [ANSWERS], start="first") as bus,
        ):
            if kind == "streams":
                await bus.publish(QUESTIONS, b"1", {"user": "alice"})
                [(_, fields)] = await other.xrange(QUESTIONS)
                assert fields.keys() == {b"user", b"payload", b"causal"}
                await other.xadd(ANSWERS, {"text": "plain"})
                message = await anext(bus)
                assert message.headers == {"text": "plain"}
            elif kind == "pubsub":
                await other.subscribe(QUESTIONS)
                await other.get_message(timeout=30)
                await bus.publish(QUESTIONS, b"1")
                assert (await other.get_message(timeout=30))["data"] == b"1"
            elif kind == "core":
                plain_reader = await other.subscribe(QUESTIONS)
                await other.flush()
                await bus.publish(QUESTIONS, b"1", {"user": "alice"})
                try:
                    message = await plain_reader.next_msg(10)
                except TimeoutError:  # such a broker may lose one
                    await bus.publish(QUESTIONS, b"1", {"user": "alice"})
                    message = await plain_reader.next_msg(10)
                assert (message.data, message.headers["user"]) == (b"1", "alice")
                await other.publish(ANSWERS, b"plain")
                assert (await anext(bus)).payload == b"plain"
            else:
                await bus.publish(QUESTIONS, b"1", {"user": "alice"})
                plain_reader = await other.pull_subscribe(QUESTIONS, "plain")
                [message] = await plain_reader.fetch(1)
                assert (message.data, message.headers["user"]) == (b"1", "alice")
                await other.publish(ANSWERS, b"plain")
                assert (await anext(bus)).payload == b"plain"

    run(test())


async def forge(kind: str, client: Any, stamp: bytes) -> None:
    """Somebody publishes a question with a header that is no stamp."""
    if kind == "streams":
        await client.xadd(QUESTIONS, {"payload": b"0", "causal": stamp, b"\xff": b"\xfe"})
    elif kind == "pubsub":
        await causal(client)._channels._client.publish("causal:questions", stamp)  # type: ignore[union-attr]
        await causal(client)._channels._client.publish(QUESTIONS, b"0")  # type: ignore[union-attr]
    else:
        headers = {"causal": stamp.decode("latin-1")}
        await client.publish(QUESTIONS, b"0", headers=headers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_header_that_is_no_stamp_stops_nobody(kind: str, port: int) -> None:
    many = as_text(encode_lanes(LaneStamp(1, 1, tuple([(lane, 1) for lane in range(4_096)]))))
    forged = [b"!", b"AAAA", b"x" * 40_000, many.encode() + b"AAAAAAAAAAAAAAAA"]
    if kind in ("streams", "pubsub"):
        forged.append(b"\xff\xfe")

    async def test() -> None:
        async with (
            client_of(kind, port) as client,
            client_of(kind, port) as other,
            causal(client, [QUESTIONS], start="first") as bus,
        ):
            for stamp in forged:
                await forge(kind, other, stamp)
            async with causal(other) as honest:
                await honest.publish(QUESTIONS, b"1")
            found = [await anext(bus) for _ in range(len(forged) + 1)]
            assert [message.payload for message in found] == [b"0"] * len(forged) + [b"1"]
            assert all(message.stamp is None for message in found[:-1])

    run(test())


@pytest.mark.parametrize("kind", ["core", "pubsub"])
def test_a_server_without_a_log_that_comes_back(kind: str, tmp_path: Path) -> None:
    """What was published meanwhile is lost; what comes later is in order again."""
    server = (servers.redis if kind == "pubsub" else servers.nats)(tmp_path)
    server.start()

    async def test() -> None:
        async with (
            client_of(kind, server.port) as one,
            client_of(kind, server.port) as two,
            causal(one) as writer,
            causal(two, [QUESTIONS, ANSWERS]) as reader,
        ):
            await writer.publish(QUESTIONS, b"0")
            assert (await anext(reader)).payload == b"0"
            server.kill()
            server.start()
            found: list[Any] = []
            next_one = asyncio.ensure_future(anext(reader))
            for number in range(1, 400):
                with suppress(OSError, redis.exceptions.ConnectionError):
                    await writer.publish(QUESTIONS, str(number).encode())
                    await writer.publish(ANSWERS, str(number).encode())
                await asyncio.sleep(0.02)
                while next_one.done():
                    found.append(next_one.result())
                    next_one = asyncio.ensure_future(anext(reader))
                    await asyncio.sleep(0)
                if len(found) > 20:
                    break
            next_one.cancel()
            first = int(found[0].payload) + 1  # the first may be an answer whose question is lost
            later = [(t, n) for t, n in plain(found) if n >= first]
            assert len(later) > 10
            assert early_answers(later) == 0

    try:
        run(test())
    finally:
        server.kill()


@pytest.mark.parametrize("kind", ["jetstream"])
def test_a_stream_that_was_made_anew_is_told(kind: str, port: int) -> None:
    """Its places begin again: going on from the old one would skip all of it."""

    async def test() -> None:
        async with client_of(kind, port) as client:
            await ask(client, 5)
            async with causal(client, [QUESTIONS], group="carol", start="first") as bus:
                for _ in range(5):
                    await anext(bus)
                await client.delete_stream(QUESTIONS)
                await client.add_stream(name=QUESTIONS, subjects=[QUESTIONS])
                await ask(client, 3)
                with pytest.raises(
                    MadeAnew, match="questions ends at 3, but has been read up to 5"
                ):
                    await anext(bus)
            with pytest.raises(MadeAnew):
                async with causal(client, [QUESTIONS], group="carol"):
                    pass
            async with causal(client, [QUESTIONS], group="dave", start="first") as bus:
                assert [(await anext(bus)).payload for _ in range(3)] == [b"0", b"1", b"2"]

    run(test())


@pytest.mark.parametrize("kind", ["streams"])
def test_a_stream_that_is_deleted_goes_on_later(kind: str, port: int) -> None:
    """Ids are times: a stream that comes again has later ones. What waits for a deleted place is
    given up, for nobody can say whether it was there."""

    async def test() -> None:
        async with client_of(kind, port) as client:
            await ask(client, 2)
            reads = [QUESTIONS, ANSWERS]
            async with causal(client, reads, start="first", patience_s=0.4) as bus:
                assert (await anext(bus)).payload == b"0"
                await anext(bus)
                async with causal(client, [QUESTIONS], start="first") as desk:
                    await anext(desk)
                    await desk.publish(QUESTIONS, b"2")
                    await client.delete(QUESTIONS)
                    await desk.publish(ANSWERS, b"2")
                found = [await anext(bus)]
                if found[0].topic == QUESTIONS:  # it was read before it was deleted
                    found.append(await anext(bus))
                assert found[-1].topic == ANSWERS
                await ask(client, 1)
                assert (await anext(bus)).topic == QUESTIONS
            await client.xadd("odd", {"payload": b""}, id=f"{10**15}-1")
            async with causal(client, ["odd"], start="first") as bus:
                with pytest.raises(BadInput, match="let the server choose them"):
                    await anext(bus)

    run(test())


@pytest.mark.parametrize("kind", ["streams"])
def test_a_slow_lane_is_paused_and_resumed(kind: str, port: int) -> None:
    """A thousand answers that wait take no more memory than the limit and one batch."""

    async def test() -> None:
        async with client_of(kind, port) as client:
            async with causal(client, [QUESTIONS], start="first") as bus:
                await claim(bus, 1)
                for number in range(700):
                    await bus.publish(ANSWERS, str(number).encode())
            async with causal(client, [ANSWERS, QUESTIONS], start="first", limit=10) as bus:
                while not bus.held():
                    bus.take()
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.3)
                assert 10 <= len(bus.held()) <= 510
                async with causal(client) as late:
                    await late.publish(QUESTIONS, b"now")
                found = [await anext(bus) for _ in range(701)]
                answers = [int(m.payload) for m in found if m.topic == ANSWERS]
                assert answers == list(range(700))

    run(test())


@pytest.mark.parametrize("kind", ["core", "pubsub"])
def test_who_lags_behind_makes_the_client_wait(kind: str, port: int) -> None:
    async def test() -> None:
        async with (
            client_of(kind, port) as one,
            client_of(kind, port) as two,
            causal(two, [QUESTIONS], limit=10) as slow,
            causal(one) as bus,
        ):
            for number in range(200):
                await publish(bus, QUESTIONS, number)
            await asyncio.sleep(0.3)
            assert slow._machine._holdback.waiting <= 11
            found = [int((await anext(slow)).payload) for _ in range(200)]
            assert found == list(range(200))

    run(test())


@pytest.mark.parametrize("kind", ["jetstream"])
def test_what_cannot_be_is_refused_in_words(kind: str, port: int) -> None:
    async def test() -> None:
        async with client_of(kind, port) as client:
            with pytest.raises(Misuse, match="no stream keeps subject 'elsewhere'"):
                async with causal(client, ["elsewhere"]):
                    pass
            async with causal(client, ["questions.*", "questions.x"]) as bus:
                with pytest.raises(Misuse, match="filters cannot overlap"):
                    await anext(bus)
            with pytest.raises(Misuse, match="start is"):
                causal(client, [QUESTIONS], start="last")  # type: ignore[arg-type]
        async with client_of("core", port) as client:
            with pytest.raises(Misuse, match="a group needs a log"):
                causal(client, [QUESTIONS], group="carol")
            with pytest.raises(Misuse, match="name the topics one by one"):
                causal(client, ["questions.*"])
        with pytest.raises(Misuse, match="no client that is known"):
            causal(object())

    run(test())


def test_a_server_without_jetstream_is_told(tmp_path: Path) -> None:
    port = servers.free_port()
    command = [servers.require_program("nats-server"), "--addr", "127.0.0.1", "--port", str(port)]
    server = servers.Server(command, port, tmp_path)
    server.start()

    async def test() -> None:
        async with client_of("core", port) as client:
            with pytest.raises(Misuse, match="has no JetStream; enable it, or use NATS core"):
                async with causal(client.jetstream(), [QUESTIONS]):
                    pass

    try:
        run(test())
    finally:
        server.kill()


@pytest.mark.parametrize("kind", ["streams"])
@pytest.mark.parametrize("protocol", [2, 3])
def test_clients_that_decode_all_fields(kind: str, protocol: Any, port: int) -> None:
    """What makes stamps travel as text."""

    async def test() -> None:
        client = redis.asyncio.Redis(port=port, protocol=protocol, decode_responses=True)
        await asyncio.gather(ask(client, 5), answer(client, 5))
        judge(plain(await read(client, 5, group="carol")), 5)
        await client.aclose()

    run(test())


@pytest.mark.parametrize("kind", ["streams"])
def test_the_past_can_be_told_by_other_means(kind: str, port: int) -> None:
    """A question over the broker, a hint over the telephone, an answer over the broker."""

    async def test() -> None:
        async with client_of(kind, port) as client:
            async with causal(client) as alice, causal(client) as bob:
                await publish(alice, QUESTIONS, 1)
                bob.observe(alice.past())  # type: ignore[union-attr]
                await publish(bob, ANSWERS, 1)
            found = []
            async with causal(client, [ANSWERS, QUESTIONS], start="first") as bus:
                found = [await anext(bus), await anext(bus)]
            assert early_answers(plain(found)) == 0

    run(test())
