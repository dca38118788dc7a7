"""Order across groups, labels that are ordered apart, contexts that the application holds."""

from collections.abc import AsyncIterator

import pytest

from antecede.errors import Misuse
from antecede.live import (
    Context,
    Delivery,
    Group,
    Settings,
    merged,
)
from tests.live.gathering import gathered, payloads, run, until


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


def test_labels_are_ordered_apart() -> None:
    """a's messages reach c late. Under the label of a's question b's answer waits, under another
    one it does not."""

    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.0})}}
        labels = ["orders", "chat"]
        async with gathered("a", "b", "c", protocol="optimal", labels=labels, special=slow) as (
            a,
            b,
            c,
        ):
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


def test_contexts_are_held_by_the_application() -> None:
    async def test() -> None:
        slow = {"a": {"settings": Settings(lags_s={"c": 1.0})}}
        async with gathered("a", "b", "c", protocol="contexts", special=slow) as (a, b, c):
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
