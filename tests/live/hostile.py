"""A hostile process with valid certificates, which speaks the protocol and breaks it on command: it
joins under as many names as it has, and each attack is a function of a group it has joined. Lines
of JSON in and out; `python -m tests.live.hostile FOLDER PORT`."""

import asyncio
import json
import random
import socket
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec

from antecede import groups
from antecede.groups import GroupConfig, MemberId, View
from antecede.groups.packets import (
    Accept,
    Ballot,
    Body,
    Decide,
    Decision,
    Join,
    Prepare,
    Promise,
)
from antecede.groups.packets import (
    Report as Heartbeat,
)
from antecede.live import Certificates, Group, join
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.items import (
    Carried,
    Copy,
    Direct,
    Membership,
    Report,
    Settle,
    Shun,
    carried,
    encode_item,
    pack_prefix,
)
from antecede.live.transport.frames import FrameDecoder, Kind, encode_data, encode_frame
from antecede.live.transport.handshake import VERSION, Hello, encode
from antecede.live.transport.outgoing import array_head
from antecede.message import Message, MessageId
from antecede.order import Transmit
from antecede.orders.vector import Vectors

CONFIG = GroupConfig(suspect_after_s=1.5, flush_timeout_s=1.0, detours=False)
HUGE = (1 << 64) - 1
MANY = 1 << 62


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


# What attacks are made of.


def core_of(group: Group) -> MemberMachine:
    assert isinstance(group.pump.core, MemberMachine)
    return group.pump.core


def others(group: Group) -> list[str]:
    return [name for name in group.members if name != group.me]


def put(group: Group, names: list[str], *items: Any) -> None:
    for name in names:
        for item in items:
            group.links[name].put(item if isinstance(item, bytes) else encode_item(item))


def rank_of(group: Group, name: str) -> int:
    return group.members.index(name)


def message(group: Group, payload: bytes, ahead: int = 0) -> list[bytes]:
    """The next message of this member, with any payload, as it travels; for a later view."""
    session = core_of(group).session
    assert session is not None
    assert session.epoch is not None
    epoch = session.epoch
    epoch.sent += 1
    everybody = (1 << len(epoch.members)) - 1
    made = Message(MessageId(epoch.me, epoch.sent), everybody, 0, payload)
    effects = epoch.order.send(made, 0.0)
    packets = [one.packet for one in effects if isinstance(one, Transmit)]
    return [encode_item(carried(epoch.number + ahead, packet)) for packet in packets]


def membership(group: Group, body: Body, view: int = 0, source: str = "") -> Membership:
    """A packet of the substrate, of this member or in the name of another."""
    member = core_of(group).member
    assert member is not None
    assert member.view is not None
    me = member.me
    if source:
        me = member.view.members[rank_of(group, source)]
    number = view or member.view.number
    return Membership(groups.encode(groups.Packet(member.config.group, me, number, body)))


def without(group: Group, name: str) -> Decision:
    """A next view that lacks somebody, and a cut that everybody has."""
    member = core_of(group).member
    assert member is not None
    assert member.view is not None
    rank, view = rank_of(group, name), member.view
    left = tuple(one for place, one in enumerate(view.members) if place != rank)
    return Decision(View(view.number + 1, left), tuple(member.state.received))


# Attacks of a member.


async def lamport(group: Group) -> None:
    put(group, others(group), *message(group, pack_prefix(HUGE, 1) + b"late"))


async def number(group: Group) -> None:
    put(group, others(group), *message(group, pack_prefix(1, HUGE) + b"many"))


async def short(group: Group) -> None:
    put(group, others(group), *message(group, b"no prefix"))


async def garbage(group: Group) -> None:
    put(group, others(group), b"\x93\x7f\xc1")


async def copies(group: Group, of: str, text: str = "forged") -> None:
    """From now on this member hands on words that others never said, as a view ends and now."""
    session = core_of(group).session
    assert session is not None
    assert session.epoch is not None
    epoch, rank = session.epoch, rank_of(group, of)
    everybody = (1 << len(epoch.members)) - 1
    to = everybody.to_bytes((everybody.bit_length() + 7) // 8, "little")
    payload = pack_prefix(1, 1) + text.encode()
    forged = Copy(rank, epoch.peers[rank].last + 1, to, 0, payload)
    put(group, others(group), Settle(epoch.number, 0, (forged,)))

    honest = epoch.copies_for

    def copies_for(to_rank: int, departed: Any) -> tuple[Copy, ...]:
        return (*honest(to_rank, departed), forged)

    epoch.copies_for = copies_for  # type: ignore[method-assign, assignment]


async def leaving(group: Group, of: str) -> None:
    member = core_of(group).member
    assert member is not None
    report = Heartbeat(tuple(member.state.received), leaving=True)
    put(group, others(group), membership(group, report, source=of))


async def shun(group: Group, of: str) -> None:
    put(group, others(group), Shun(of))


async def decide(group: Group, of: str) -> None:
    put(group, others(group), membership(group, Decide(without(group, of))))


async def decide_later(group: Group, of: str) -> None:
    """The group has long gone on without you."""
    member = core_of(group).member
    assert member is not None
    assert member.view is not None
    number_ = member.view.number + 5
    later = Decision(View(number_ + 1, (member.me,)), (0,))
    put(group, [of], membership(group, Decide(later), view=number_))


async def lead(group: Group, of: str) -> None:
    """Lead a change of views without somebody whom everybody hears."""
    ballot = Ballot(1000, core_of(group).member.me.process)  # type: ignore[union-attr]
    member = core_of(group).member
    assert member is not None
    prepare = Prepare(ballot, tuple(member.state.received))
    honest = [name for name in others(group) if name != of]
    for _ in range(20):
        put(group, others(group), membership(group, prepare))
        put(group, honest, membership(group, Accept(ballot, without(group, of))))
        await asyncio.sleep(0.05)


async def reborn(group: Group, of: str) -> None:
    """Somebody is back in another life, as this member says."""
    member = core_of(group).member
    assert member is not None
    assert member.view is not None
    victim = member.view.members[rank_of(group, of)]
    item = membership(group, Join(MemberId(victim.process, victim.incarnation + 1)))
    for _ in range(20):
        put(group, others(group), item)
        await asyncio.sleep(0.05)


async def promise(group: Group) -> None:
    """From now on this member promises messages that do not exist."""
    member = core_of(group).member
    assert member is not None
    honest = member.core.transmit_to

    def send(rank: int, body: Any) -> None:
        if isinstance(body, Promise):
            body = msgspec.structs.replace(body, received=tuple(MANY for _ in body.received))
        honest(rank, body)

    member.core.transmit_to = send  # type: ignore[method-assign]


async def untaken(group: Group) -> None:
    session = core_of(group).session
    assert session is not None
    assert session.epoch is not None
    put(group, others(group), Report(session.epoch.number, 0, MANY, 0))


async def flood(group: Group, how: str, to: str, megabytes: int, seconds: float) -> None:
    """So many megabytes to one member: for the next view, for views far ahead, beyond the window,
    or in many small items. Goes on whatever the other side does."""
    session = core_of(group).session
    assert session is not None
    epoch = session.epoch
    assert epoch is not None
    size = 65536 if how != "small" else 10
    body = pack_prefix(1, 1) + random.randbytes(size)
    made: Callable[[int], bytes] = {
        "next": lambda k: b"".join(message(group, body, 1)),
        "ahead": lambda k: b"".join(message(group, body, k * 999)),
        "window": lambda k: b"".join(message(group, body)),
        "small": lambda k: encode_item(Report(epoch.number + 1, 0, 0, 0)) * 200,
        "settle": lambda k: encode_item(
            Settle(epoch.number, 0, (Copy(rank_of(group, to), k, b"\x0f", 0, body),))
        ),
    }[how]
    sent = count = 0
    until = asyncio.get_running_loop().time() + seconds
    while sent < megabytes << 20 and asyncio.get_running_loop().time() < until:
        link = group.links.get(to)
        if link is None or not link.connected or to not in group.members:
            await asyncio.sleep(0.05)  # It was cut off, and comes again.
            continue
        count += 1
        item = made(count)
        sent += len(item)
        if how == "small":  # Many items, put as one.
            link._items += [item[:6]] * 199
        link.put(item if how != "small" else item[:6])
        if count % 16 == 0:
            await asyncio.sleep(0)
        if link.waiting_bytes > 8 << 20:  # It is not taken, or no link is there any more.
            await asyncio.sleep(0.02)
    say(event="flooded", megabytes=sent >> 20)


async def mutate(group: Group, seed: int, count: int) -> None:
    """Real traffic, with bytes changed at random, on its way to everybody."""
    chance = random.Random(seed)
    for name in others(group):
        link = group.links[name]
        honest = link.put

        def spoil(item: bytes, honest: Callable[[bytes], None] = honest) -> None:
            if chance.random() < 0.2:
                changed = bytearray(item)
                for _ in range(chance.randint(1, 3)):
                    changed[chance.randrange(len(changed))] = chance.randrange(256)
                item = bytes(changed)
            honest(item)

        link.put = spoil  # type: ignore[method-assign]
    for at in range(count):
        group.send_now(b"mutated %d" % at)
        await asyncio.sleep(0.005)


# Attacks of one who has a certificate, and is no member.


async def stranger(security: Certificates, name: str, port: int, item: Any) -> None:
    """Say one thing on a link of its own."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=security.client())
    hello = Hello(VERSION, "room", "vector", name, 1, None, 1)
    writer.write(encode_frame(Kind.HELLO, encode(hello)))
    decoder = FrameDecoder()
    while not decoder.feed(await reader.read(65536)):
        pass
    encoded = item if isinstance(item, bytes) else encode_item(item)
    writer.write(encode_data(1, array_head(1) + encoded))
    await writer.drain()
    await asyncio.sleep(0.2)
    writer.transport.abort()


def strange_item(what: str, view: int, lives: list[list[int]]) -> Any:
    """What a stranger says of a group with these members."""
    members = tuple(MemberId(process, life) for process, life in lives)
    match what:
        case "direct":
            return Direct(b"forged")
        case "decide":
            decision = Decision(View(view + 1, members[:1]), (0,) * len(members))
            packet = groups.Packet(0, members[1], view, Decide(decision))
            return Membership(groups.encode(packet))
        case "leaving":
            heartbeat = Heartbeat((0,) * len(members), leaving=True)
            return Membership(groups.encode(groups.Packet(0, members[1], view, heartbeat)))
        case "carried":
            body = pack_prefix(1, 1) + b"forged"
            return Carried(view, 1, b"\x07", 0, body, Vectors(((1, *[0] * (len(members) - 1)),)))
        case _:
            return Shun("b")


def half_open(port: int, count: int) -> list[socket.socket]:
    """Connections that begin a TLS handshake and never go on with it."""
    found = []
    for _ in range(count):
        try:
            one = socket.create_connection(("127.0.0.1", port), timeout=5.0)
            one.send(b"\x16")
        except OSError:
            continue
        found.append(one)
    return found


ATTACKS: dict[str, Callable[..., Awaitable[None]]] = {
    attack.__name__: attack
    for attack in (
        lamport, number, short, garbage, copies, leaving, shun, decide, decide_later, lead, reborn,
        promise, untaken, flood, mutate,
    )
}  # fmt: skip


class Hostile:
    """All identities of the process."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        self._groups: dict[str, Group] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._sockets: list[socket.socket] = []

    def security(self, name: str) -> Certificates:
        folder = self._folder
        return Certificates(
            folder / "authority.pem", folder / f"{name}.pem", folder / f"{name}.key"
        )

    async def live(self, name: str, reads: bool) -> None:
        """Be a member until told to go, which is without a word."""
        stop = self._stops[name] = asyncio.Event()
        peers = [("127.0.0.1", self._port)]
        here = ("127.0.0.1", 0)
        context = join(
            "room", name=name, listen=here, security=self.security(name), peers=peers, config=CONFIG
        )
        group = await context.__aenter__()
        self._groups[name] = group
        listening = asyncio.create_task(self._listen(group)) if reads else None
        while not (group.members and group.pump.core.is_open):
            await asyncio.sleep(0.01)
        say(event="in", name=name)
        await stop.wait()
        group.pump.has_left = True
        if listening is not None:
            listening.cancel()
        await context.__aexit__(None, None, None)
        del self._groups[name]

    async def _listen(self, group: Group) -> None:
        try:
            async for _ in group:
                pass
        except Exception as error:  # noqa: BLE001 - the test may want to know
            say(event="failed", reason=str(error))

    async def obey(self, order: dict[str, Any]) -> None:
        what = order.pop("do")
        name = order.pop("name", "")
        if what == "join":
            await self.live(name, order.get("reads", True))
        elif what == "go":
            self._stops[name].set()
        elif what == "send":
            await self._groups[name].send(order["text"].encode())
        elif what == "say":
            item = strange_item(order["item"], order["view"], order["members"])
            await stranger(self.security(name), name, order["port"], item)
        elif what == "half_open":
            self._sockets = half_open(order["port"], order["count"])
        elif what == "close":
            for one in self._sockets:
                one.close()
        else:
            group = self._groups[name]
            while core_of(group).member is None or not group.members:
                await asyncio.sleep(0.01)  # On a busy machine it may have to come again.
            await ATTACKS[what](group, **order)
        say(event="done", what=what, name=name)

    async def run(self) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        say(event="ready")
        async with asyncio.TaskGroup() as tasks:
            while line := await reader.readline():
                tasks.create_task(self.obey(json.loads(line)))
            for stop in self._stops.values():
                stop.set()


if __name__ == "__main__":
    asyncio.run(Hostile(Path(sys.argv[1]), int(sys.argv[2])).run())
