"""Kafka, by the mock cluster of its client: it speaks the protocol on loopback."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from antecede.brokers.audit import audit_broker
from antecede.brokers.bridge import ORIGIN, run_bridge
from antecede.brokers.log import MadeAnew
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


class Compacted:
    """A consumer that does not hand over some messages, as if the broker had compacted them."""

    def __init__(self, consumer: Any, hidden: set[bytes]) -> None:
        self._consumer, self._hidden = consumer, hidden

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def _is_there(self, message: Any) -> bool:
        return message.error() is not None or message.value() not in self._hidden

    def consume(self, count: int, timeout: float) -> list[Any]:
        return [m for m in self._consumer.consume(count, timeout) if self._is_there(m)]

    def poll(self, timeout: float) -> Any:
        message = self._consumer.poll(timeout)
        return None if message is not None and not self._is_there(message) else message


def test_what_was_compacted_is_not_waited_for(settings: dict[str, Any]) -> None:
    """The last question in the middle and the last of all are gone: a later one, and the end of
    the partition, say so."""
    with kafka.causal(settings) as asker:
        for number in range(9):
            asker.publish("notes", str(number).encode(), partition=0)
    with kafka.causal(settings, ["notes"], start="first") as writer:
        for _ in range(9):
            writer.publish("replies", take(writer).payload, partition=0)
    with kafka.causal(settings, ["replies", "notes"], start="first") as bus:
        bus._consumer = Compacted(bus._consumer, set())
        assert [take(bus) for _ in range(18)]
    with kafka.causal(settings, ["replies", "notes"], start="first") as bus:
        consumer = bus._consumer
        bus._consumer = Compacted(consumer, {b"0", b"4", b"8"})
        found = plain([take(bus) for _ in range(12)])
    assert sorted(n for topic, n in found if topic == "notes") == [1, 2, 3, 5, 6, 7]
    for number in (1, 2, 3, 5, 6, 7):
        assert found.index(("notes", number)) < found.index(("replies", number))


def test_headers_that_are_no_stamps_and_no_text(settings: dict[str, Any]) -> None:
    from confluent_kafka import Producer  # noqa: PLC0415

    producer = Producer(settings)
    strange: list[Any] = [
        [("causal", None)],
        [("causal", b"")],
        [("causal", b"x" * 50_000)],
        [("causal", b"1"), ("causal", b"2")],
        [("photo", b"\xff\xd8"), ("empty", None)],
        None,
    ]
    for headers in strange:
        producer.produce("strange", b"1", headers=headers, partition=0)
    producer.produce("strange", None, partition=0)
    producer.flush()
    with kafka.causal(settings, ["strange"], start="first") as bus:
        found = [take(bus) for _ in range(7)]
    assert [message.stamp for message in found] == [None] * 7
    assert (found[4].headers, found[6].payload) == ({"photo": "\udcff\udcd8"}, b"")
    url = f"kafka://{settings['bootstrap.servers']}?log_level=0"
    assert run_bridge(url, ["strange"], "tame", "odd", messages=7) == 7
    with kafka.causal(settings, ["tame"], start="first") as bus:
        found = [take(bus) for _ in range(7)]
    origin = {ORIGIN: "strange/0:5", "antecede-topic": "strange"}
    assert found[4].headers == {"photo": "\udcff\udcd8", **origin}


def test_a_topic_that_was_made_anew_is_told(settings: dict[str, Any]) -> None:
    """The group has committed an offset that the topic does not have."""
    from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415

    with kafka.causal(settings) as bus:
        bus.publish("young", b"1", partition=0)
    former = Consumer({**settings, "group.id": "old"})
    former.commit(offsets=[TopicPartition("young", 0, 1_000)], asynchronous=False)
    former.close()
    with (
        pytest.raises(MadeAnew, match="young/0 ends at 1, but has been read up to 1,000"),
        kafka.causal(settings, ["young"], group="old", start="first") as bus,
    ):
        take(bus)


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


def test_a_cluster_that_is_not_there_is_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Not with a traceback, whose exit status would mean that order was broken."""
    monkeypatch.setattr("antecede.brokers.kafka._ANSWER_S", 0.3)
    url = "kafka://127.0.0.1:1"
    with pytest.raises(Misuse, match=f"^{url}: Failed to get metadata"):
        audit_broker(url, ["a"], tmp_path / "trace.parquet")
    with pytest.raises(Misuse, match=f"^{url}: Failed to get metadata"):
        run_bridge(url, ["a"], "b", "bridge")
    with pytest.raises(Misuse, match=f"^{url}: No such configuration property"):
        audit_broker(f"{url}?nonsense=1", ["a"], tmp_path / "trace.parquet")
    assert "FAIL" not in capfd.readouterr().err  # the client would write twenty lines a second


def test_what_cannot_be_is_refused(settings: dict[str, Any]) -> None:
    with kafka.causal({**settings, "partitioner": "murmur2"}) as bus:
        with pytest.raises(Misuse, match="say which partition"):
            bus.publish(QUESTIONS, b"1", key=b"k")
        with pytest.raises(Misuse, match="reads no topics"):
            bus.poll()
        with pytest.raises(Misuse, match="give a group"):
            bus.commit()
