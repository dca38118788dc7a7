"""What a message of the daisy takes on the wire."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.errors import MalformedStamp
from antecede.message import Message, MessageId, process_set
from antecede.overlays.daisy.items import carry, decode_items, encode_items, shorter


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
