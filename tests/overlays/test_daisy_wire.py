"""What a message of the daisy takes on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.errors import MalformedStamp
from antecede.message import Membership, Message, MessageId, process_set
from antecede.order import Packet
from antecede.overlays.daisy.checks import check_changes
from antecede.overlays.daisy.items import (
    Batch,
    Change,
    Group,
    Item,
    Missed,
    Reshape,
    carry,
    decode_items,
    encode_items,
    pack,
    process_key,
    shorter,
)
from antecede.overlays.daisy.protocol import Daisy
from antecede.overlays.daisy.stamp import DaisyStamp, Left, Moved


def sent(destinations: set[int]) -> bytes:
    message = Message(MessageId(1, 1), process_set(destinations), -1, b"x")
    return encode_items((carry(message, 1),))


@given(st.sets(st.integers(0, 4095), min_size=1))
def test_destinations_arrive_as_they_were_sent(destinations: set[int]) -> None:
    (item,) = decode_items(sent(destinations))
    assert item.message.destinations == process_set(destinations)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("destinations", "kind"),
    [({4000}, tuple), (set(range(3000, 4000)), bytes), ({0, 1, 2, 3}, bytes), ({90, 300}, tuple)],
)
def test_few_are_listed_and_many_are_bits(destinations: set[int], kind: type) -> None:
    assert isinstance(shorter(process_set(destinations)), kind)


@given(st.sets(st.integers(0, 4095), min_size=1))
def test_the_shorter_one_is_taken(destinations: set[int]) -> None:
    bits = process_set(destinations)
    ways = (bits.to_bytes((bits.bit_length() + 7) // 8, "little"), tuple(sorted(destinations)))
    assert len(encode_items(shorter(bits))) == min(map(len, map(encode_items, ways)))


def test_an_index_without_bounds_is_refused() -> None:
    """It would become a set of as many bits."""
    broken = encode_items(((0, 1, 1, (1 << 40,), -1, b"x", 1),))
    with pytest.raises(MalformedStamp, match="payload"):
        decode_items(broken)


TOP = Group(3, 2, (0,), b"\xff\x01", (60, 61))
LIES: dict[str, Item] = {
    "groups below each other": Reshape(
        77, TOP, (), (Group(60, 1, (0,), b"\x07", (61,)), Group(61, 1, (0,), b"\x07", (60,)))
    ),
    "nobody lives there": Reshape(77, TOP, (), (Group(60, 0, (0,), b""),)),
    "processes that there are not": Reshape(77, TOP, (), (Group(60, 0, (0,), b"\0\0\0\0\1"),)),
    "founders that there are not": Change(1, 3, (0,), ((9, (99,)),)),
    "no founders": Change(1, 3, (0,), ((9, ()),)),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_a_change_that_cannot_be_is_refused(lie: Item) -> None:
    """Before it is believed: whoever plans by it would fail later, at no fault of its own."""
    daisy = Daisy(0, Membership(9))
    for talk in (Moved(3, (pack(lie),)), Left(3, pack(lie))):
        with pytest.raises(MalformedStamp):
            daisy.receive(Packet(1, None, DaisyStamp(None, talk)), 1.0)
    with pytest.raises(MalformedStamp):
        check_changes([lie], 9)
    assert daisy.state.changes == []


@pytest.mark.parametrize("lie", [Missed(process_key(9), ()), Batch(beside=((process_key(9), ()),))])
def test_processes_that_there_are_not_have_missed_nothing(lie: Item) -> None:
    """They would be remembered for ever, and nobody could tell them."""
    with pytest.raises(MalformedStamp, match="who"):
        Daisy(0, Membership(9))._check(encode_items((lie,)))
    Daisy(0, Membership(9))._check(encode_items((Missed(process_key(8), ()),)))
