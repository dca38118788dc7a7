"""The frame decoder: whole frames whatever the cuts, and a clear end for everything else."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from antecede.live.transport.frames import (
    BadFrame,
    FrameDecoder,
    Kind,
    encode_acknowledgement,
    encode_data,
    encode_frame,
    split_number,
)

frames = st.lists(st.tuples(st.sampled_from(list(Kind)), st.binary(max_size=60)), max_size=8)


@settings(suppress_health_check=[HealthCheck.too_slow])  # A busy machine is no fault.
@given(frames, st.data())
def test_cuts_do_not_matter(sent: list[tuple[Kind, bytes]], data: st.DataObject) -> None:
    stream = b"".join(encode_frame(kind, body) for kind, body in sent)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    decoder = FrameDecoder()
    found = []
    for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        found += decoder.feed(stream[start:end])
    assert found == [(int(kind), body) for kind, body in sent]
    assert decoder.pending == 0


@given(st.binary(max_size=200), st.integers(1, 64))
def test_whatever_comes_little_is_kept(stream: bytes, limit: int) -> None:
    decoder = FrameDecoder(limit)
    for at in range(0, len(stream), 7):
        try:
            found = decoder.feed(stream[at : at + 7])
        except BadFrame:
            return
        assert all(len(body) < limit for _, body in found)
        assert decoder.pending < 4 + limit


def test_a_long_frame_is_refused_when_its_length_is_known() -> None:
    decoder = FrameDecoder(limit=100)
    with pytest.raises(BadFrame, match="101 bytes; 1 to 100"):
        decoder.feed((101).to_bytes(4, "big") + b"\x01")


def test_a_frame_that_trickles_in_is_copied_once() -> None:
    """One byte at a time costs time in proportion to the bytes."""
    body = bytes(300_000)
    decoder = FrameDecoder()
    found = []
    for byte in encode_frame(Kind.DATA, body):
        found += decoder.feed(bytes((byte,)))
    assert found == [(Kind.DATA, body)]


def test_unknown_kinds_and_empty_frames_are_refused() -> None:
    for stream in (b"\x00\x00\x00\x01\x09", b"\x00\x00\x00\x00\x01"):
        with pytest.raises(BadFrame):
            FrameDecoder().feed(stream)


def test_numbers() -> None:
    ((kind, body),) = FrameDecoder().feed(encode_data(7, b"items"))
    number, rest = split_number(body)
    assert (kind, number, bytes(rest)) == (Kind.DATA, 7, b"items")
    ((kind, body),) = FrameDecoder().feed(encode_acknowledgement(9))
    number, rest = split_number(body)
    assert (kind, number, bytes(rest)) == (Kind.ACKNOWLEDGEMENT, 9, b"")
    with pytest.raises(BadFrame, match="fewer than 8"):
        split_number(b"1234567")
