"""Order across groups, labels that are ordered apart, contexts that the application holds."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.live import (
    PLAIN_TCP,
    Context,
    Delivery,
    FullyDelivered,
    Group,
    Settings,
    join,
    merged,
)
from antecede.trace import read_trace
from antecede.verify import judge, verify_trace
from antecede.verify.scopes import read_scopes
from tests.live.gathering import (
    CONFIG,
    HERE,
    gathered,
    members_of,
    payloads,
    run,
    until,
)


@pytest.mark.parametrize("protocol", ["vector", "blocks-relative"])
def test_order_across_overlapping_groups(protocol: str) -> None:
    """a tells x, of a, b and d; b hears it and tells y, of b, c and d. d, which a's message reaches
    late, hears both in that order."""

    async def test() -> None:
        groups = {"x": ["a", "b", "d"], "y": ["b", "c", "d"]}
        slow = {"a": {"settings": Settings(lags_s={"d": 1.0})}}
        async with gathered("a", "b", "c", "d", protocol=protocol, groups=groups, special=slow) as (
            a,
            b,
            _,
            d,
        ):
            await a.send(b"cause", group="x")
            assert await payloads(b, 1) == [b"cause"]
            await b.send(b"effect", group="y")
            seen = [
                event
                for event in await until(d, lambda event: getattr(event, "payload", 0) == b"effect")
                if isinstance(event, Delivery)
            ]
            assert [(event.payload, event.group) for event in seen] == [
                (b"cause", "x"),
                (b"effect", "y"),
            ]

    run(test)


@pytest.mark.parametrize("protocol", ["blocks-slow", "blocks-fast", "blocks-relative"])
def test_groups_of_blocks_change_with_the_view(protocol: str, tmp_path: Path) -> None:
    """d comes, and both groups have it from then on; it leaves, and they do not. Before each change
    everything that was sent is delivered: the flush that `regroup` asks for."""
    chosen: dict[str, Any] = {
        "protocol": protocol,
        "groups": {"x": ["a", "b", "d"], "y": ["b", "c", "d"]},
        "record": tmp_path,
        "config": CONFIG,
    }

    async def test() -> None:
        async with gathered("a", "b", "c", **chosen) as (a, b, c):
            await a.send(b"before", group="x")
            peers = [a.address]
            async with join(
                "room", name="d", listen=HERE, security=PLAIN_TCP, peers=peers, **chosen
            ) as d:
                for one in (a, b, c, d):
                    await until(one, lambda event: "d" in members_of(event))
                await a.send(b"cause", group="x")
                await until(b, lambda event: getattr(event, "payload", 0) == b"cause")
                await b.send(b"effect", group="y")
                assert await payloads(d, 2) == [b"cause", b"effect"]
                await d.send(b"of d", group="y")
                await until(c, lambda event: getattr(event, "payload", 0) == b"of d")
                await d.leave(1.0)
            for one in (a, b, c):
                await until(one, lambda event: members_of(event) == ("a", "b", "c"))
            await c.send(b"after", group="y")
            await until(b, lambda event: getattr(event, "payload", 0) == b"after")

    run(test)
    verdict = verify_trace(tmp_path)
    assert verdict.violations == 0
    assert verdict.messages == 5


def test_a_sender_gets_to_know_what_is_delivered_everywhere() -> None:
    """c gets a's messages half a second late: so much later it is known."""

    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 0.5}, fully_delivered=True)}}
        async with gathered("a", "b", "c", special=slow) as (a, b, c):
            await a.send(b"one")
            await a.send(b"two")
            events = await until(
                a, lambda event: isinstance(event, FullyDelivered) and event.number == 2
            )
            assert [one.payload for one in events if isinstance(one, Delivery)] == [b"one", b"two"]
            last = events[-1]
            assert isinstance(last, FullyDelivered)
            assert last.since_s >= 0.5
            assert (await payloads(c, 2), await payloads(b, 2)) == ([b"one", b"two"],) * 2
            assert a.pump.counters.fully.count
            assert not b.pump.counters.fully.count

    run(test)


def test_labels_are_ordered_apart(tmp_path: Path) -> None:
    """a's messages reach c late. Under the label of a's question b's answer waits, under another
    one it does not."""

    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.0})}}
        labels = ["orders", "chat"]
        chosen: dict[str, Any] = {"labels": labels, "special": slow, "record": tmp_path}
        async with gathered("a", "b", "c", protocol="optimal", **chosen) as (a, b, c):
            await a.send(b"question", label="orders")
            assert await payloads(b, 1) == [b"question"]
            await b.send(b"answer", label="orders")
            await b.send(b"remark", label="chat")
            found = [event async for event in _deliveries(c, 3)]
            assert [(one.payload, one.label) for one in found] == [
                (b"remark", "chat"),
                (b"question", "orders"),
                (b"answer", "orders"),
            ]
            with pytest.raises(Misuse, match="there are orders, chat"):
                await a.send(b"x", label="nothing")
            await a.send(b"goes on", label="chat")
            assert (await payloads(b, 3))[-1] == b"goes on"

    run(test)
    assert_only_asked_for(tmp_path)


def test_contexts_are_held_by_the_application(tmp_path: Path) -> None:
    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.0})}}
        chosen: dict[str, Any] = {"special": slow, "record": tmp_path}
        async with gathered("a", "b", "c", protocol="contexts", **chosen) as (a, b, c):
            await a.send_in(Context(), b"question")
            (asked,) = [event async for event in _deliveries(b, 1)]
            assert asked.context is not None
            answered = await b.send_in(asked.context, b"answer")
            remarked = await b.send_in(Context(), b"remark")
            both = merged(answered, remarked)
            await b.send_in(both, b"follows both")
            await b.send_in(None, b"past")
            assert await payloads(c, 5) == [
                b"remark",
                b"past",
                b"question",
                b"answer",
                b"follows both",
            ]
            with pytest.raises(Misuse, match="send_in"):
                await a.send(b"x")

    run(test)
    assert_only_asked_for(tmp_path)
    (scopes,) = read_scopes(tmp_path).values()
    told = sorted((scope.kind, len(scope.after)) for scope in scopes.values())
    assert told == [("after", 0), ("after", 0), ("after", 1), ("after", 2), ("none", 0)]


def assert_only_asked_for(record: Path) -> None:
    """What was recorded is in the order that was asked for, and not in causal order."""
    for engine in ("local", "oracle"):
        verdict = verify_trace(record, engine=engine)
        assert verdict.violations == 0
        assert verdict.deliveries
    (recorded,) = read_trace(record).runs
    assert judge(recorded).violations


def test_a_context_of_a_former_view_is_empty() -> None:
    former, later = Context(1), Context(2)
    assert merged(former, later) == later


async def _deliveries(member: Group, count: int) -> AsyncIterator[Delivery]:
    found = 0
    async for event in member:
        if isinstance(event, Delivery):
            yield event
            found += 1
            if found == count:
                return
