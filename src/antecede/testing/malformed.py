"""A packet that cannot be right is refused by name, and leaves no trace in the state.

Real packets are taken apart, broken in one place and put together again. What breaks the shape, or
a header that any process can check, must be refused; a number that is merely another one may be
believed. Nothing but `MalformedStamp` may come out of either.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec

from antecede.errors import MalformedStamp
from antecede.order import Channels, Order, Stamp
from antecede.testing.network import Failure, Flight, Network
from antecede.testing.traffic import layouts
from antecede.wire import decode_packet, encode_packet

SEEDS = 1
NOISES = 60
HUGE = 1 << 40
SOURCE, HEADER, STAMP = (0,), (1,), (2,)
SENDER, NUMBER, DESTINATIONS, GROUP = ((1, field) for field in range(4))
Path = tuple[int, ...]


class Corruption(msgspec.Struct):
    """One place of a packet, as plain values, and what is put there instead."""

    path: Path
    value: Any
    must_fail: bool


def packets_under_way(order: type[Order], seed: int) -> Iterator[tuple[Order, Flight]]:
    """Packets of a run in its middle, with the order that each is about to reach."""
    for layout in layouts(3, order.traits.addressing):
        network = Network(order, layout, seed)
        network.play(8)
        for process, there in enumerate(network.orders):
            flights = network.in_flight(process)
            if order.traits.channels is Channels.FIFO:
                first = {flight.packet.source: flight for flight in reversed(flights)}
                flights = list(first.values())
            for flight in flights[:3]:
                yield there, flight


def corruptions(plain: list[Any], there: Order) -> Iterator[Corruption]:
    """Everything that can be broken in one place."""
    for path, value in walk(plain):
        yield from _other_types(path, value)
        if isinstance(value, int) and not isinstance(value, bool):
            # -1 may stand for "none"
            yield Corruption(path, -2, must_fail=path != GROUP)
            for other in (0, value + 1, HUGE, (1 << 64) - 1):
                yield Corruption(path, other, must_fail=False)
        elif isinstance(value, bytes):
            for content in (b"", b"\xff" * 40, value + b"\0", value + b"\1"):
                yield Corruption(path, content, must_fail=False)
        elif isinstance(value, list):
            yield from _other_lengths(path, value, there.stamp_type)
    if plain[1] is None:
        return
    yield Corruption(NUMBER, 0, must_fail=True)
    yield Corruption(DESTINATIONS, b"", must_fail=True)
    yield Corruption(DESTINATIONS, b"\xff" * 40, must_fail=True)
    for place, right in ((SOURCE, plain[0]), (SENDER, plain[1][0])):
        for process in (*range(there.membership.size + 1), HUGE):
            if process != right:
                yield Corruption(place, process, must_fail=True)


def _other_types(path: Path, value: Any) -> Iterator[Corruption]:
    others: list[Any] = ["x", None, [], 7, 1.5, {}]
    for other in others:
        if type(other) is not type(value):
            # Only a packet may come without its message, where the protocol has such packets.
            yield Corruption(path, other, must_fail=(path, other) != (HEADER, None))


def _other_lengths(path: Path, value: list[Any], stamp_type: type[Stamp]) -> Iterator[Corruption]:
    """Fields too few and too many; in a list that is no struct this may be accepted."""
    if path == STAMP:
        needed = len(stamp_type.__struct_fields__) - len(stamp_type.__struct_defaults__)
    else:
        needed = len(value) if path in ((), HEADER) else 0
    is_struct = path in ((), HEADER, STAMP)
    yield Corruption(path, [*value, 0], must_fail=is_struct)
    if value:
        yield Corruption(path, [], must_fail=needed > 0)
        yield Corruption(path, value[:-1], must_fail=len(value) - 1 < needed)
        yield Corruption(path, value[1:], must_fail=len(value) - 1 < needed)


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value inside a plain value, itself included."""
    yield path, value
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from walk(item, (*path, place))


def replaced(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy = list(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


def hand_over(there: Order, wire: bytes, what: str, must_fail: bool) -> None:
    """Give these bytes to an order, whose state is then as before."""
    before = there.snapshot()
    field = None
    try:
        there.receive(decode_packet(wire, there.stamp_type))
    except MalformedStamp as error:
        field = error.field
    except Exception as error:
        error.add_note(f"on receipt of a packet with {what}")
        raise
    if field is None:
        if must_fail:
            raise Failure(f"{what} is accepted")
        there.restore(before)
    if field == "":
        raise Failure(f"{what}: refused without the name of a field")
    if there.snapshot() != before:
        raise Failure(f"{what}: refused, but the state has changed")


def refuses_what_is_broken(order: type[Order]) -> None:
    """Packets that are broken in one place, one place after the other."""
    for seed in range(SEEDS):
        for there, flight in packets_under_way(order, seed):
            plain = msgspec.msgpack.decode(encode_packet(flight.packet))
            for corruption in corruptions(plain, there):
                wire = msgspec.msgpack.encode(replaced(plain, corruption.path, corruption.value))
                what = f"{corruption.value!r} at {corruption.path} of {plain}"
                hand_over(there, wire, what, corruption.must_fail)


def refuses_a_missing_message(order: type[Order]) -> None:
    """By every order that has no packets without message of its own."""
    must_fail = not _speaks_alone(order)
    for there, flight in packets_under_way(order, 0):
        bare = msgspec.structs.replace(flight.packet, message=None)
        hand_over(there, encode_packet(bare), "no message", must_fail)


def _speaks_alone(order: type[Order]) -> bool:
    """Whether some run has packets without message."""
    for layout in layouts(4, order.traits.addressing):
        network = Network(order, layout, 0)
        network.play(30)
        network.drain()
        for flights in network.channels.values():
            if any(flight.packet.message is None for flight in flights):
                return True
    return False


def bears_flipped_bytes(order: type[Order]) -> None:
    """A byte that was changed on the way raises `MalformedStamp` or nothing."""
    random = Random(1)
    for there, flight in packets_under_way(order, 1):
        wire = encode_packet(flight.packet)
        for _ in range(25):
            broken = bytearray(wire)
            broken[random.randrange(len(broken))] = random.randrange(256)
            hand_over(there, bytes(broken), f"bytes {bytes(broken)!r}", must_fail=False)


def bears_noise(order: type[Order]) -> None:
    """Bytes that are no packet at all."""
    random = Random(2)
    there = next(packets_under_way(order, 0))[0]
    for length in range(NOISES):
        wire = random.randbytes(length)
        hand_over(there, wire, f"bytes {wire!r}", must_fail=False)


def refuses_a_cut_packet(order: type[Order]) -> None:
    """A packet that ends too early, wherever."""
    for there, flight in packets_under_way(order, 0):
        wire = encode_packet(flight.packet)
        for length in range(len(wire)):
            hand_over(there, wire[:length], f"{length} of {len(wire)} bytes", must_fail=True)
