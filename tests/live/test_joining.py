"""Who gets into a group, who does not, and what it learns."""

import asyncio
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.live import (
    PLAIN_TCP,
    Refused,
    join,
    open_node,
)
from antecede.live.transport import links
from tests.live.gathering import CONFIG, HERE, gathered, members_of, payloads, run, until


def test_several_groups_on_one_node() -> None:
    async def test() -> None:
        async with (
            open_node("a", HERE, PLAIN_TCP) as one,
            open_node("b", HERE, PLAIN_TCP) as two,
            one.join("red", config=CONFIG) as red,
            two.join("blue", config=CONFIG) as blue,
            two.join("red", peers=[one.address], config=CONFIG) as red_two,
            one.join("blue", peers=[two.address], config=CONFIG) as blue_two,
        ):
            await until(red, lambda event: len(members_of(event)) == 2)
            await until(blue, lambda event: len(members_of(event)) == 2)
            await red.send(b"red")
            await blue.send(b"blue")
            assert await payloads(red_two, 1) == [b"red"]
            assert await payloads(blue_two, 1) == [b"blue"]
            with pytest.raises(Misuse, match="'a' is in group 'red' already"):
                async with one.join("red"):
                    pass

    run(test)


async def refused(**changes: Any) -> str:
    """Why a member cannot join."""
    chosen = {"name": "b", "config": CONFIG, **changes}
    async with gathered("a") as (a,):
        with pytest.raises(Refused) as error:
            async with join(
                chosen.pop("group", "room"),
                listen=HERE,
                security=PLAIN_TCP,
                peers=[a.address],
                **chosen,
            ) as b:
                await anext(b)
        return str(error.value)


def test_who_cannot_join_learns_why() -> None:
    async def test() -> None:
        assert "runs vector" in await refused(protocol="optimal")
        assert "runs vector" in await refused(groups={"x": ["a", "b"]})
        assert "the name 'a' is taken" in await refused(name="a")

    run(test)


def test_another_process_of_the_same_name_does_not_get_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        monkeypatch.setattr(links, "_PATIENCE_S", 1.0)
        async with gathered("a", "b") as (a, b):
            with pytest.raises(Refused, match="the name 'b' is taken"):
                async with join(
                    "room", name="b", listen=HERE, security=PLAIN_TCP, peers=[a.address]
                ) as impostor:
                    await anext(impostor)
            await a.send(b"still here")
            assert await payloads(b, 1) == [b"still here"]

    run(test)


def test_a_former_member_that_is_dead_is_not_dialled_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def test() -> None:
        monkeypatch.setattr(links, "_REDIAL_S", 0.1)
        async with gathered("a", "b") as (a, b):
            address = b.address
            await b.leave(1.0)
            await until(a, lambda event: members_of(event) == ("a",))
            a.pump._dialled.hang_up("b")
            await b.close()
            a.pump._dialled.redial("b")  # As if it had said something just before.
            assert a.links["b"].address == address
            while "b" in a.links:
                await asyncio.sleep(0.02)

    run(test)


def test_addresses_that_nobody_can_dial_are_refused() -> None:
    async def test() -> None:
        for host in ("0.0.0.0", "::"):
            with pytest.raises(Misuse, match="advertise"):
                async with join("room", name="a", listen=(host, 0), security=PLAIN_TCP):
                    pass
        async with join(
            "room",
            name="a",
            listen=("0.0.0.0", 0),
            advertise=("127.0.0.1", 0),
            security=PLAIN_TCP,
        ) as a:
            assert a.address[0] == "127.0.0.1"
            assert a.address[1] != 0

    run(test)


def test_overlays_are_not_for_groups() -> None:
    async def test() -> None:
        with pytest.raises(Misuse, match="daisy is an overlay"):
            async with join("g", name="a", listen=HERE, security=PLAIN_TCP, protocol="daisy"):
                pass

    run(test)
