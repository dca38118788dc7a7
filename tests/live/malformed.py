"""Malformed input for the listening end, and what must hold whatever comes."""

import asyncio
import random
from collections.abc import Iterator
from typing import Any

from antecede.groups import GroupConfig
from antecede.live.events import Settings
from antecede.live.group import Group
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.items import Direct, Introduce, Membership, Report, Run, encode_item
from antecede.live.ordering.offers import Floor, Given, Mark, Stored, Subject, Wanted
from antecede.live.outputs import Identity
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.pump import Pump
from antecede.live.roster import Habits
from antecede.live.transport.frames import FRAME_LIMIT, HELLO_LIMIT, Kind, encode_data, encode_frame
from antecede.live.transport.handshake import encode
from antecede.live.transport.incoming import Listener, _Accepted
from antecede.live.transport.outgoing import array_head
from antecede.live.transport.tls import PLAIN_TCP
from antecede.orders.vector import Vectors
from tests.live.served import hello


class Wire(asyncio.Transport):
    """A connection without a network."""

    def __init__(self) -> None:
        super().__init__()
        self.closed = False
        self.written = 0

    def write(self, data: Any) -> None:
        self.written += len(data)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def abort(self) -> None:
        self.closed = True

    def close(self) -> None:
        self.closed = True

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return self.closed


def machine() -> MemberMachine:
    identity = Identity("server", ("127.0.0.1", 1), 1)
    return MemberMachine(
        identity, ProtocolChoice("vector", {}), GroupConfig(transfers_state=True), founds=True
    )


PROTOCOL = machine().protocol_text


def member() -> Group:
    """A real group of one, whose links lead nowhere."""
    core = machine()
    return Group(Pump("room", core, Listener(PLAIN_TCP), (), Settings(), lambda name: True, None))


_ITEMS = (
    encode_item(Report(1, 0, 0, 0)),
    encode_item(Direct(b"text")),
    encode_item(Membership(b"\x95\x00\x01\x02\x03\x04")),
    encode_item(Introduce("127.0.0.1", 9)),
    encode_item(Introduce("127.0.0.1", 9, Habits(7, 1, True))),
    encode_item(Wanted(1, 1, Subject.PAST, 0, (Mark("b", 7, 1),))),
    encode_item(Given(1, 1, Subject.HAD, True, 0, False, b"\x91")),
    encode_item(Floor(7, 2)),
    encode_item(Stored(7, 2)),
    encode_item(Run(1, 1, b"\x03", 0, 1, 2, 1, (b"hi", b"ho"), Vectors(((0, 1),)))),
    b"\x97\x00\x01\x01\xc4\x01\x01\x00\xc4\x02hi\x91\x92\x01\x01",
)


def _sound(chance: random.Random) -> list[bytes]:
    """The frames of a connection, as a peer might send them."""
    greeting = hello(f"peer{chance.randrange(4)}", protocol=PROTOCOL)
    frames = [encode_frame(Kind.HELLO, encode(greeting))]
    for number in range(1, chance.randint(1, 4)):
        items = [chance.choice(_ITEMS) for _ in range(chance.randint(0, 4))]
        frames.append(encode_data(number, array_head(len(items)) + b"".join(items)))
    return frames


def malformed(chance: random.Random) -> bytes:
    """A stream that is wrong somewhere, or right by accident."""
    frames = _sound(chance)
    match chance.randrange(7):
        case 0:
            return chance.randbytes(chance.randint(1, 80))
        case 1:
            chance.shuffle(frames)
        case 2:
            frames.insert(chance.randrange(len(frames)), chance.choice(frames))
        case 3:
            size = chance.choice([0, HELLO_LIMIT + 1, FRAME_LIMIT + 1, 2**32 - 1])
            frames.append(size.to_bytes(4, "big") + bytes((chance.randrange(8),)))
        case 4:
            body = chance.randbytes(chance.randint(0, 60))
            frames.append(encode_frame(chance.choice(list(Kind)), body))
        case _:
            pass
    stream = bytearray(b"".join(frames))
    for _ in range(chance.randint(0, 4)):
        stream[chance.randrange(len(stream))] = chance.randrange(256)
    if chance.random() < 0.3:
        del stream[chance.randrange(len(stream)) :]
    return bytes(stream)


def attempts(listener: Listener, chance: random.Random, count: int) -> Iterator[tuple[Any, Wire]]:
    """So many connections with malformed input, in pieces; what became of each."""
    for _ in range(count):
        stream = malformed(chance)
        wire = Wire()
        connection = _Accepted(listener)
        connection.connection_made(wire)
        cut = chance.randrange(len(stream) + 1)
        for piece in (stream[:cut], stream[cut:]):
            if piece and not wire.closed:
                connection.data_received(piece)
        yield connection, wire
        connection.connection_lost(None)


async def fuzz(seed: int, count: int) -> dict[str, int]:
    """Try so many, and check after each that nothing stays behind. Raises where something does."""
    chance = random.Random(seed)
    group = member()
    pump = group.pump
    listener = pump._listener
    listener.groups[group.name] = pump
    tally = {"closed": 0, "open": 0}
    pump.carry_out(pump.core.start(0.0))
    for at, (connection, wire) in enumerate(attempts(listener, chance, count)):
        tally["closed" if wire.closed else "open"] += 1
        if connection._decoder.pending > 4 + HELLO_LIMIT and connection._peer is None:
            raise AssertionError("a stranger left more behind than a hello may have")
        if wire.written > 600:
            raise AssertionError("much was said to somebody who said nothing")
        if at % 1000 == 999:
            await _settle(group)
    await _settle(group)
    if listener.connections or listener.strangers:
        raise AssertionError("connections that have ended are remembered")
    if pump.failure is not None:
        raise pump.failure
    if len(pump.received) > 2000:
        raise AssertionError("names are remembered for ever")
    return tally


async def _settle(group: Group) -> None:
    """What a running group does now and then."""
    group.take_ready()
    for name in list(group.links):
        group.pump._dialled.hang_up(name)
    await asyncio.sleep(0)
    group.pump._alarm.cancel()
