"""Kafka, by the mock cluster of its client: it speaks the protocol on loopback."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from antecede.brokers.audit import audit_broker
from antecede.brokers.bridge import ORIGIN, run_bridge
from antecede.errors import Misuse
from tests.brokers.questions import ANSWERS, QUESTIONS, early_answers, judge, plain

kafka = pytest.importorskip("antecede.brokers.kafka", reason="confluent-kafka is not installed")
COUNT = 40


@pytest.fixture(scope="module")
def settings() -> Iterator[dict[str, Any]]:
    from confluent_kafka import Producer  # noqa: PLC0415

    quiet = {"log_level": 0}
    host = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 3, **quiet})
    brokers = host.list_topics(timeout=20).brokers.values()
    addresses = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    with kafka.causal({"bootstrap.servers": addresses, **quiet}) as asker:
        for number in range(COUNT):
            asker.publish(QUESTIONS, str(number).encode(), partition=0)
    with kafka.causal(
        {"bootstrap.servers": addresses, **quiet}, [QUESTIONS], start="first"
    ) as answerer:
        for _ in range(COUNT):
            message = take(answerer)
            answerer.publish(ANSWERS, message.payload, {"user": "bob"}, partition=1)
    yield {
        "bootstrap.servers": addresses,
        "session.timeout.ms": 5_000,
        "heartbeat.interval.ms": 500,
        **quiet,
    }
    host.flush(0)


def take(bus: Any) -> Any:
    """The next message, however long the group takes to form."""
    for _ in range(60):
        message = bus.poll(1.0)
        if message is not None:
            return message
    raise TimeoutError("no message in a minute")


def test_answers_and_questions_in_order_over_the_lives_of_a_group(settings: dict[str, Any]) -> None:
    reads = [ANSWERS, QUESTIONS]
    found: list[Any] = []
    with (
        suppress(InterruptedError),
        kafka.causal(settings, reads, group="carol", start="first", commit_every=10) as bus,
    ):
        while len(set(plain(found))) < 30:  # A group that forms in two steps may repeat some.
            found.append(take(bus))
        bus.commit()
        found.append(take(bus))
        raise InterruptedError  # it dies with 30 committed and 1 taken
    committed, first = set(plain(found[:-1])), len(found)
    with kafka.causal(settings, reads, group="carol") as bus:
        while len(set(plain(found))) < 2 * COUNT:
            found.append(take(bus))
    # A group that has to form again (a busy machine is enough) hands out again what is uncommitted.
    assert not committed & set(plain(found[first:]))
    judge(plain(found), COUNT, twice=COUNT)
    assert next(m for m in found if m.topic == ANSWERS).headers == {"user": "bob"}


def test_two_members_of_a_group_share_partitions(settings: dict[str, Any]) -> None:
    """A second member comes while the first reads: partitions are revoked and assigned anew."""
    options = {"group": "team", "start": "first", "commit_every": 5}
    found: list[list[Any]] = [[], []]
    with kafka.causal(settings, [ANSWERS, QUESTIONS], **options) as one:
        found[0].append(take(one))
        with kafka.causal(settings, [ANSWERS, QUESTIONS], **options) as two:
            everything: set[tuple[str, int]] = set()
            lanes: list[set[str]] = []
            for _ in range(600):  # both at once: a group forms only while its members poll
                for bus, mine in ((one, found[0]), (two, found[1])):
                    message = bus.poll(0.05)
                    if message is not None:
                        mine.append(message)
                everything = set(plain(found[0] + found[1]))
                lanes = [set(one.places()), set(two.places())]
                if len(everything) == 2 * COUNT and min(map(len, lanes)):
                    break
            assert len(everything) == 2 * COUNT
            assert not lanes[0] & lanes[1]
            assert len(lanes[0] | lanes[1]) == 8
    for mine in found:
        asked = [number for topic, number in plain(mine) if topic == QUESTIONS]
        assert list(dict.fromkeys(asked)) == sorted(set(asked))


def test_without_holding_back_the_client_decides(settings: dict[str, Any]) -> None:
    with kafka.causal(settings, [ANSWERS, QUESTIONS], start="first", hold=False) as bus:
        loose = [take(bus) for _ in range(2 * COUNT)]
    with kafka.causal(settings, [ANSWERS, QUESTIONS], start="first") as bus:
        held = [take(bus) for _ in range(2 * COUNT)]
    assert early_answers(plain(held)) == 0 <= early_answers(plain(loose))
    assert {m.payload for m in held} == {m.payload for m in loose}


def test_an_end_of_partition_ends_a_wait(settings: dict[str, Any]) -> None:
    """An answer names an offset below the end that holds no message for anybody."""
    with kafka.causal(settings, ["other"]) as bus:
        machine = bus._machine
        machine.observe({machine.keys.add(kafka.lane_name(QUESTIONS, 0)): COUNT})
        bus.publish("hints", b"1", key=b"k")
    with kafka.causal(settings, ["hints", QUESTIONS], start="first") as bus:
        found = [take(bus) for _ in range(COUNT + 1)]
    assert found[-1].topic == "hints"


def test_audit_and_bridge(settings: dict[str, Any], tmp_path: Path) -> None:
    url = f"kafka://{settings['bootstrap.servers']}"
    topics = [ANSWERS, QUESTIONS]
    trace = tmp_path / "trace.parquet"
    found = audit_broker(url, topics, trace, messages=2 * COUNT, start="first")
    assert (found.messages, found.unstamped) == (2 * COUNT, 0)
    assert found.verdict.violations == found.cost.held
    assert run_bridge(url, topics, "ordered", "bridge", messages=2 * COUNT) == 2 * COUNT
    with kafka.causal(settings, ["ordered"], start="first") as bus:
        bridged = [take(bus) for _ in range(2 * COUNT)]
    origins = [message.headers[ORIGIN].partition("/")[0] for message in bridged]
    judge([(o, int(m.payload)) for o, m in zip(origins, bridged, strict=True)], COUNT)


def test_what_cannot_be_is_refused(settings: dict[str, Any]) -> None:
    with kafka.causal({**settings, "partitioner": "murmur2"}) as bus:
        with pytest.raises(Misuse, match="say which partition"):
            bus.publish(QUESTIONS, b"1", key=b"k")
        with pytest.raises(Misuse, match="reads no topics"):
            bus.poll()
        with pytest.raises(Misuse, match="give a group"):
            bus.commit()
