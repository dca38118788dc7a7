"""One command for every member and for every restart; and who does not get in says why."""

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
import trustme

from antecede.errors import BadFile, Misuse
from antecede.groups import GroupConfig
from antecede.live import (
    PLAIN_TCP,
    CannotJoin,
    Certificates,
    Group,
    Settings,
    ViewChange,
    Waiting,
    join,
    open_node,
)
from tests.live.cluster import ENOUGH_S, Process
from tests.live.test_durable import lives, load

CONFIG = GroupConfig(
    tick_s=0.1, suspect_after_s=1.5, flush_timeout_s=1.5, retry_s=0.4, retry_limit_s=1.5
)


def test_seeds_are_started_killed_and_started_again_with_one_command(tmp_path: Path) -> None:
    """Durable members: one by one, and all at once. Nobody founds a second group. They tell others
    a name (`advertise`), and are found by addresses."""

    async def run() -> None:
        async with lives(tmp_path) as found:
            seeds = found.reserve("a", "b", "c")
            ports = dict(zip("abc", seeds, strict=True))

            async def start(name: str) -> Process:
                return await found.start(name, seeds=seeds, advertise=f"localhost:{ports[name]}")

            for name in ("a", "b", "c"):
                await start(name)
            for member in found.members.values():
                await member.sees("a", "b", "c", group="durable")
            load(found.members.values(), count=20)
            await found.kill("a")
            again = await start("a")
            await again.sees("b", "c", "a", group="durable")
            for member in found.members.values():
                member.signal(signal.SIGKILL)
            found.members.clear()
            for name in ("c", "a", "b"):
                await start(name)
            for member in found.members.values():
                await member.until(lambda said: sorted(said.get("members", ())) == ["a", "b", "c"])
            load(found.members.values(), count=5)
            await found.until_all_seen("a", "b", "c")

    asyncio.run(run())


async def told(group: Group, *wanted: tuple[str, str]) -> None:
    """While it waits it says all of this: of whom, and a part of the reason."""
    missing = {*wanted}
    async with asyncio.timeout(ENOUGH_S):
        async for event in group:
            assert isinstance(event, Waiting)
            missing -= {
                (peer, words)
                for peer, words in missing
                if peer == event.peer and words in event.reason
            }
            if not missing:
                return


def test_nothing_is_silent() -> None:
    """Unresolvable, dead, in no group itself, without this group, another protocol."""

    async def run() -> None:
        async with (
            open_node("idle", "127.0.0.1:0", PLAIN_TCP) as idle,
            open_node("other", "127.0.0.1:0", PLAIN_TCP) as other,
            other.join("room", protocol="optimal", config=CONFIG),
            open_node("lost", "127.0.0.1:0", PLAIN_TCP) as node,
            node.join("room", peers=["127.0.0.1:9"]) as lost,
        ):
            seeds: list[str | tuple[str, int]] = [
                "nosuch.invalid:7001",
                "127.0.0.1:9",
                f"127.0.0.1:{idle.address[1]}",
                other.address,
                lost.address,
            ]
            async with join(
                "room",
                name="me",
                listen="127.0.0.1:0",
                security=PLAIN_TCP,
                seeds=seeds,
                settings=Settings(waiting_after_s=0.1),
            ) as group:
                await told(
                    group,
                    ("nosuch.invalid:7001", "cannot be resolved"),
                    ("127.0.0.1:9", "nobody listens there"),
                    (f"127.0.0.1:{idle.address[1]}", "no group 'room' here"),
                    (f"127.0.0.1:{other.address[1]}", "runs optimal, not vector"),
                    ("lost", "it is there, and has not said that it is in a group"),
                    ("", "none of the seeds"),
                )

    asyncio.run(run())


def test_the_time_to_join_is_over() -> None:
    async def run() -> None:
        async with (
            open_node("me", "127.0.0.1:0", PLAIN_TCP) as node,
            node.join(
                "room",
                seeds=["127.0.0.1:9", "127.0.0.1:7"],
                settings=Settings(waiting_after_s=0.1, join_timeout_s=1.0),
            ) as group,
        ):
            with pytest.raises(
                CannotJoin, match=r"did not get into 'room' in .* none of the"
            ) as got:
                await told(group, ("", "what is never said"))
        for peer, reason in got.value.waits.items():
            assert (f"{peer}: {reason}" if peer else reason) in str(got.value)

    asyncio.run(run())


def test_tls_against_plain_is_told(tmp_path: Path) -> None:
    authority = trustme.CA()
    security = make_certificates(tmp_path, authority, "me")

    async def run() -> None:
        async with (
            join("room", name="plain", listen="127.0.0.1:0", security=PLAIN_TCP) as plain,
            join(
                "room",
                name="me",
                listen="127.0.0.1:0",
                security=security,
                peers=[plain.address],
                settings=Settings(waiting_after_s=0.1),
            ) as group,
        ):
            await told(group, (f"127.0.0.1:{plain.address[1]}", "TLS"))

    asyncio.run(run())


def make_certificates(folder: Path, authority: trustme.CA, name: str) -> Certificates:
    """As texts: paths need not be `Path`s."""
    issued = authority.issue_cert(name)
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
    issued.private_key_pem.write_to_path(folder / f"{name}.key")
    files = ("ca.pem", f"{name}.pem", f"{name}.key")
    return Certificates(*(str(folder / file) for file in files))


def test_a_certificate_for_another_name_is_refused_at_the_start(tmp_path: Path) -> None:
    security = make_certificates(tmp_path, trustme.CA(), "alice")
    security.check("alice")
    with pytest.raises(BadFile, match="is for alice, not for 'bob'"):
        security.check("bob")
    trustme.CA().cert_pem.write_to_path(tmp_path / "ca.pem")
    with pytest.raises(BadFile, match="is not believed by"):
        security.check("alice")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"listen": "7001"}, r"listen='7001': write an address as 'host:port' or"),
        ({"listen": ("h", "x")}, "write an address"),
        ({"security": None}, "security=None: name Certificates"),
        ({"name": ""}, "name='': a name is a text"),
        ({"peers": "127.0.0.1:7001"}, "are lists of addresses"),
        ({"peers": [7001]}, "peers=7001: write an address"),
        ({"log": 3}, "log=3: name a file"),
        ({"record": ""}, "record='': name a file"),
        ({"seeds": ["a:1"]}, "expect: say how many"),
        ({"seeds": lambda: ["a:1"]}, "expect: say how many"),
        ({"seeds": ["a:1", "b:1"], "expect": 3}, "there are only 2 seeds"),
        ({"seeds": ["a:1", "b:1"], "expect": 0}, "it takes 1 seed or more"),
        ({"seeds": ["a:1", "b:1"], "peers": ["a:1"]}, "neither peers nor founds"),
        ({"expect": 2}, "name the seeds"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(changed: dict[str, Any], words: str) -> None:
    async def run() -> None:
        settings = {"name": "me", "listen": "127.0.0.1:0", "security": PLAIN_TCP, **changed}
        async with join("room", **settings):
            pass

    with pytest.raises(Misuse, match=words):
        asyncio.run(run())


def test_a_seed_alone_founds_only_where_it_is_said_and_a_payload_is_bytes() -> None:
    async def run() -> None:
        async with open_node("me", "127.0.0.1:0", PLAIN_TCP) as node:
            seed = f"localhost:{node.address[1]}"
            async with node.join("room", seeds=lambda: [seed], expect=1) as group:
                first = await anext(group)
                assert isinstance(first, ViewChange)
                with pytest.raises(Misuse, match="a payload is bytes, not str; encode it"):
                    await group.send("text")

    asyncio.run(run())


def test_a_founder_does_not_found_a_second_group(tmp_path: Path) -> None:
    durable: dict[str, Any] = {"log": str(tmp_path / "a.log"), "config": CONFIG}

    async def run() -> None:
        async with (
            open_node("a", "127.0.0.1:0", PLAIN_TCP) as one,
            open_node("b", "127.0.0.1:0", PLAIN_TCP) as two,
            two.join("room", peers=[one.address], config=CONFIG) as b,
        ):
            async with one.join("room", **durable) as a:
                async for event in a:
                    if isinstance(event, ViewChange) and len(event.members) == 2:
                        break
                await a.close()
            with pytest.raises(Misuse, match="the log knows b: 'a' does not found the group again"):
                async with one.join("room", **durable):
                    pass
            async with one.join("room", **durable, found_anew=True) as anew:
                assert isinstance(await anext(anew), ViewChange)
            await b.close()

    asyncio.run(run())
