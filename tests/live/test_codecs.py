"""Payloads with types: what is sent is what comes, and nonsense is named and kills nobody."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from antecede.errors import Misuse
from antecede.live import Delivery, Event, Message, NoAnswer, Request, Undecodable
from antecede.live.codecs import Codec, NotEncoded, encode, to_codec
from antecede.live.conversation import Conversation
from antecede.live.envelopes import (
    Ask,
    InTopic,
    Reply,
    Subscribed,
    is_wrapped,
    plain,
    wrapped,
)
from tests.live.gathering import gathered, run, until


class Order(msgspec.Struct, tag=True):
    what: str
    count: int


class Paid(msgspec.Struct, tag=True):
    what: str


class Visit(pydantic.BaseModel):
    who: str
    minutes: int


class Left(pydantic.BaseModel):
    why: str


@dataclass
class Point:
    x: int
    y: int


class Rot13:
    """Somebody's own."""

    def encode(self, value: str, /) -> bytes:
        return bytes((one + 13) % 256 for one in value.encode())

    def decode(self, payload: bytes, /) -> str:
        return bytes((one - 13) % 256 for one in payload).decode()


@pytest.mark.parametrize(
    ("given", "value", "wrong"),
    [
        ("json", {"a": [1, "two", None]}, object()),
        (Order, Order("tea", 2), Paid("tea")),
        (Order | Paid, Paid("tea"), Point(1, 2)),
        (list[Order], [Order("tea", 2)], [Paid("tea")]),
        (Point, Point(1, 2), "a point"),
        (Visit, Visit(who="bob", minutes=3), "bob"),
        (Visit | Left, Left(why="late"), 7),
        (list[Visit], [Visit(who="bob", minutes=3)], Visit(who="bob", minutes=3)),
        (Rot13(), "hello", 7),
    ],
)
def test_there_and_back(given: Any, value: Any, wrong: Any) -> None:
    codec = to_codec(given)
    assert codec is not None
    assert codec.decode(encode(codec, value)) == value
    with pytest.raises(NotEncoded, match=type(wrong).__name__):
        encode(codec, wrong)


@pytest.mark.parametrize("given", ["yaml", b"json", bytes, 7, object()])
def test_what_is_no_codec_is_refused_in_words(given: Any) -> None:
    with pytest.raises(Misuse, match=r"name 'json'|Type|types"):
        to_codec(given)
    assert to_codec(None) is None
    assert isinstance(Rot13(), Codec)


def test_typed_messages_and_who_sends_nonsense() -> None:
    """carol has no codec: her bytes are her mistake, told to the others by her name."""

    async def check() -> None:
        special = {"carol": {"codec": None}}
        async with gathered(
            "alice", "bob", "carol", codec=Order | Paid, special=special
        ) as members:
            alice, bob, carol = members
            with pytest.raises(NotEncoded, match="does not take this dict"):
                await alice.send({"what": "tea"})
            await carol.send(b"nonsense")
            await until(alice, lambda event: isinstance(event, Undecodable))
            await alice.send(Order("tea", 2))
            seen = await until(bob, lambda event: isinstance(event, Message))
            bad = next(event for event in seen if isinstance(event, Undecodable))
            assert (bad.sender, bad.delivery.payload) == ("carol", b"nonsense")
            good = seen[-1]
            assert isinstance(good, Message)
            assert (good.sender, good.payload, good.topic) == ("alice", Order("tea", 2), None)
            # What is no envelope, and what nobody can read in one.
            await carol.send_when_open(lambda: carol.send_encoded(b"\xc1\xac\x00"))
            torn = wrapped(Ask(1, 1, (), b"torn"))
            await carol.send_when_open(lambda: carol.send_encoded(torn))
            assert [await undecodable(bob) for _ in range(2)] == ["carol", "carol"]

            async def answer(payload: Any) -> None:
                (*_, asked) = await until(carol, lambda event: isinstance(event, Request))
                assert isinstance(asked, Request)
                assert await asked.reply(payload)

            answering = asyncio.create_task(answer(b"gibberish"))
            with pytest.raises(NoAnswer, match="'carol' has answered what cannot be decoded"):
                await bob.request(Order("milk", 1), to="carol")
            await answering

    async def undecodable(member: Any) -> str:
        (*_, event) = await until(member, lambda event: isinstance(event, Undecodable))
        assert isinstance(event, Undecodable)
        return event.sender

    run(check)


def test_bytes_that_look_like_an_envelope_come_as_they_were() -> None:
    odd = b"\xc1\xac\x92\x01"
    assert is_wrapped(odd)
    assert plain(b"text") == b"text"

    async def check() -> None:
        async with gathered("alice", "bob") as (alice, bob):
            await alice.send(odd)
            alice.send_past(odd, ["bob"])
            got: list[Event] = []
            while len(got) < 2:
                got += await until(bob, lambda event: isinstance(event, Delivery))
            assert {event.payload for event in got if isinstance(event, Delivery)} == {odd}

    run(check)


def test_no_envelope_breaks_who_opens_it() -> None:
    """Cut short, changed and made up: it is an event that names its sender, or nothing."""
    draw = random.Random(7)
    good = [
        wrapped(Ask(1, 2, ("me",), b"payload")),
        wrapped(InTopic("x", b"payload")),
        wrapped(Subscribed(1, ("x", "y"))),
        wrapped(Reply(1, 2, "me", b"payload")),
    ]
    opened = Conversation("me", 1, "json", ["x"], nobody)
    kinds: set[type] = set()
    for _ in range(3000):
        payload = bytearray(draw.choice(good))
        for _ in range(draw.randrange(1, 4)):
            payload[draw.randrange(2, len(payload))] = draw.randrange(256)
        payload = payload[: draw.randrange(2, len(payload) + 1)]
        event = opened.understand(Delivery("mallory", bytes(payload)))
        kinds.add(type(event))
        if isinstance(event, Undecodable):
            assert event.sender == "mallory"
    assert Undecodable in kinds


async def nobody(request: Request, payload: Any) -> bool:
    raise AssertionError
