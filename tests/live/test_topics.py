"""Topics: given to those who are in them, in causal order across them, while members change."""

from collections.abc import Callable, Collection
from typing import Any

import msgspec
import pytest

from antecede.errors import Misuse
from antecede.live import (
    PLAIN_TCP,
    Delivery,
    Event,
    Group,
    Message,
    TopicChange,
    Undecodable,
    ViewChange,
    join,
)
from antecede.live.conversation import Conversation
from antecede.live.envelopes import Subscribed, wrapped
from antecede.live.topics import TopicTable
from tests.live.gathering import CONFIG, HERE, gathered, run, until
from tests.live.topic_world import NAMES, conversation, explore

# Come, or leave, while somebody sends; and what somebody else sends after it.
PROGRAMS = [("Sx", "y", ""), ("SU", "x", ""), ("xS", "x", ""), ("S", "x", "y")]


def test_every_interleaving_of_small_programs() -> None:
    assert [explore(program) > 1 for program in PROGRAMS] == [True] * len(PROGRAMS)


class _Greedy(TopicTable):
    """Is given everything."""

    def is_given(self, topic: str) -> bool:
        return True


class _Confused(TopicTable):
    """Takes what others say for its own."""

    def take(self, sender: str, life: int, topics: Collection[str]) -> TopicChange | None:
        super().take(sender, life, topics)
        return super().take(self._me, life, topics)


class _Staying(TopicTable):
    """Does not leave."""

    def take(self, sender: str, life: int, topics: Collection[str]) -> TopicChange | None:
        return super().take(sender, life, {*topics, *self._of.get(sender, ())})


def with_table(kind: type[TopicTable]) -> Callable[[int], Conversation]:
    def make(process: int) -> Conversation:
        made = conversation(process)
        made.topics = kind(NAMES[process], 1, ["y"])
        return made

    return make


class _Hasty(Conversation):
    """Names the topic that it comes to, and not those that it is in."""

    def subscription(self, came: str | None = None, left: str | None = None) -> bytes:
        return wrapped(Subscribed(self.topics.life, (came,) if came else ()))


def hasty(process: int) -> Conversation:
    made = conversation(process)
    made.__class__ = _Hasty
    return made


@pytest.mark.parametrize(
    ("protocol", "make"),
    [
        ("none", conversation),
        ("vector", with_table(_Greedy)),
        ("vector", with_table(_Confused)),
        ("vector", with_table(_Staying)),
        ("vector", hasty),
    ],
)
def test_wrong_ones_are_caught(protocol: str, make: Callable[[int], Conversation]) -> None:
    with pytest.raises(AssertionError):
        sum(explore(program, protocol, make) for program in PROGRAMS)


def test_the_table() -> None:
    table = TopicTable("me", 7, ["x"])
    assert table.enter(["me", "bob"], ["me", "bob"])  # They have to be told.
    assert table.take("bob", 1, ["x", "z"]) == TopicChange("bob", ("x",), ())
    assert table.take("bob", 1, ["x", "z"]) is None  # Said again, for a newcomer.
    assert table.take("me", 6, []) is None  # A former life of this process, out of a log.
    assert table.members("x") == ("bob", "me")
    assert table.take("me", 7, ["z"]) == TopicChange("me", ("z",), ("x",))
    assert table.members("z") == ("bob", "me")
    assert table.enter(["me", "bob"], ["bob"])  # Started anew: it has to say so again.
    assert table.members("z") == ("me",)
    assert not table.enter(["me"], [])
    table.take("me", 7, [])
    assert not table.enter(["me", "bob"], ["bob"])


class Order(msgspec.Struct):
    what: str


def test_members_come_to_topics_and_leave_them() -> None:
    async def check() -> None:
        async with gathered("alice", "bob", "carol", special={"alice": {"topics": ["orders"]}}) as (
            alice,
            bob,
            carol,
        ):
            orders = bob.topic("orders", Order)
            alice.topic("orders", Order)
            await orders.send(Order("before"))
            await orders.subscribe()
            assert await change(bob, "bob", ("orders",)) == []  # What came before is not for it.
            while orders.members != ("alice", "bob"):  # alice has told it before, or does so now.
                await until(bob, lambda event: isinstance(event, TopicChange))
            before = await change(alice, "bob", ("orders",))
            assert [payload(event) for event in before] == [Order("before")]
            # Who has seen it come reaches it; who is in another topic gets that in order.
            await carol.topic("parcels").subscribe()
            await alice.topic("orders").send(Order("tea"))
            await until(bob, lambda event: payload(event) == Order("tea"))
            await bob.topic("parcels").send(b"tea, in a box")
            await until(carol, lambda event: payload(event) == b"tea, in a box")
            # carol does not know how orders are written; that is her mistake alone.
            await carol.topic("orders").send(b"nonsense")
            seen = await until(bob, lambda event: isinstance(event, Undecodable))
            assert isinstance(seen[-1], Undecodable)
            assert (seen[-1].sender, seen[-1].topic) == ("carol", "orders")
            await orders.unsubscribe()
            await change(bob, "bob", (), ("orders",))
            await alice.topic("orders").send(Order("milk"))
            await alice.send(b"and after that")
            after = await until(bob, lambda event: isinstance(event, Delivery))
            assert [payload(event) for event in after if isinstance(event, Message)] == []
            await newcomer(alice, carol)

    async def newcomer(alice: Group, carol: Group) -> None:
        """It learns who is in which topic, and is in its own from the start."""
        async with join(
            "room", name="dave", listen=HERE, security=PLAIN_TCP, peers=[alice.address],
            topics=["orders", "parcels"], config=CONFIG,
        ) as dave:  # fmt: skip
            for member in (alice, carol):
                await until(member, lambda e: isinstance(e, ViewChange) and "dave" in e.joined)
            mates = [await until(dave, lambda e: isinstance(e, TopicChange)) for _ in range(2)]
            told = {(one[-1].member, one[-1].came) for one in mates}  # type: ignore[union-attr]
            assert told == {("alice", ("orders",)), ("carol", ("parcels",))}
            await until(alice, lambda event: isinstance(event, TopicChange))
            assert alice.topic("orders").members == ("alice", "dave")

    async def change(
        member: Group, who: str, came: tuple[str, ...], left: tuple[str, ...] = ()
    ) -> list[Event]:
        """Until it is told of it; the messages before."""
        seen = await until(member, lambda event: event == TopicChange(who, came, left))
        return [event for event in seen if isinstance(event, Message)]

    run(check)


def payload(event: Event) -> Any:
    return event.payload if isinstance(event, Message) else None


@pytest.mark.parametrize("topics", ["orders", [""], [7]])
def test_names_of_topics(topics: Any) -> None:
    async def check() -> None:
        async with join("r", name="a", listen=HERE, security=PLAIN_TCP, topics=topics):
            pass

    with pytest.raises(Misuse, match="topics="):
        run(check)
