"""What the explorer does not go into: patience, back-pressure, repetitions, stamps as bytes."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from antecede.brokers.holdback import Held, Missing, Patience, Pause, Probe, Resume
from antecede.brokers.lanes import Lanes
from antecede.brokers.numbers import Numbers
from antecede.brokers.stamps import (
    NAMED_AT_MOST,
    Keys,
    LaneStamp,
    TopicStamp,
    as_text,
    decode_lanes,
    decode_topics,
    encode_lanes,
    encode_topics,
    from_text,
    key_of,
)
from antecede.errors import MalformedStamp, Misuse
from tests.brokers.planted import Planted, plant

A, B = key_of("a"), key_of("b")


def reader(**patience: float | None) -> Lanes:
    lanes = Lanes(7, Patience(**patience))  # type: ignore[arg-type]
    lanes.open("a", 0)
    lanes.open("b", 0)
    return lanes


def needing(place: int, lane: int = A) -> LaneStamp:
    return LaneStamp(1, 1, ((lane, place),))


def taken(lanes: Lanes | Numbers, now: float = 0.0) -> list[Any]:
    found = []
    while (delivered := lanes.take(now)[0]) is not None:
        found.append(delivered.content)
    return found


def test_an_answer_waits_for_its_question_and_says_for_what() -> None:
    lanes = reader()
    lanes.arrive("b", 1, needing(3), "answer")
    lanes.arrive("b", 2, None, "next")
    assert taken(lanes) == []
    assert lanes.held() == [
        Held("b", 1, (("a", 3),)),
        Held("b", 2, (("b", 1),)),
    ]
    lanes.arrive("a", 2, None, "before")
    lanes.arrive("a", 3, None, "question")
    assert taken(lanes) == ["before", "question", "answer", "next"]
    assert lanes.held() == []


def test_a_compacted_place_is_passed_by_a_later_one() -> None:
    lanes = reader()
    lanes.arrive("b", 1, needing(3), "answer")
    lanes.arrive("a", 5, LaneStamp(2, 1, ((B, 1),)), "later")
    assert taken(lanes) == ["answer", "later"]


def test_the_broker_is_asked_before_anything_is_given_up() -> None:
    lanes = reader(probe_s=1.0, patience_s=5.0)
    lanes.arrive("b", 1, needing(3), "answer", 10.0)
    assert lanes.due() == 11.0
    assert lanes.wake(10.5) == []
    assert lanes.wake(11.0) == [Probe("a", 0, 3)]
    lanes.probed("a", 2, 3, 11.5)  # on its way: patience begins anew
    assert [type(effect) for effect in lanes.wake(15.5)] == [Probe]
    lanes.probed("a", None, 2, 15.6)  # nothing is there
    assert [type(effect) for effect in lanes.wake(20.5)] == [Probe]
    assert lanes.wake(20.6) == [Missing("a", 3, 20.6 - 10.0)]
    delivered, _ = lanes.take(20.6)
    assert delivered is not None
    assert delivered.without == ((A, 3),)
    assert A not in lanes.frontier().past  # nothing of it is passed on
    lanes.arrive("a", 3, None, "question", 21.0)  # it comes after all
    delivered, _ = lanes.take(21.0)
    assert delivered is not None
    assert delivered.late


def test_a_place_given_up_excuses_no_other() -> None:
    lanes = reader(probe_s=None, patience_s=1.0)
    lanes.arrive("b", 1, needing(1 << 40), "nonsense", 0.0)
    assert lanes.wake(1.0) == [Missing("a", 1 << 40, 1.0)]
    lanes.arrive("b", 2, needing(1), "answer", 1.0)
    assert taken(lanes, 1.0) == ["nonsense"]
    lanes.arrive("a", 1, None, "question", 1.0)
    assert taken(lanes, 1.0) == ["question", "answer"]


def test_nothing_is_doubted_while_a_lane_waits_itself() -> None:
    lanes = Lanes(7, Patience(probe_s=1.0, patience_s=5.0))
    for name in "abc":
        lanes.open(name, 0)
    lanes.arrive("a", 1, needing(1, key_of("c")), "a1")
    lanes.arrive("b", 1, needing(1), "b1")
    assert lanes.wake(2.0) == [Probe("c", 0, 1)]


def test_a_full_lane_is_paused_until_half_of_it_is_gone() -> None:
    lanes = reader(limit=4)
    told = [lanes.arrive("b", place, needing(1), str(place)) for place in range(1, 6)]
    assert told == [[], [], [], [Pause("b")], []]
    lanes.arrive("a", 1, None, "question")
    effects = [lanes.take()[1] for _ in range(6)]
    assert effects == [[], [], [], [Resume("b")], [], []]


def test_what_comes_again_is_dropped_and_a_lane_taken_away_is_not_waited_for() -> None:
    lanes = reader()
    lanes.arrive("a", 1, None, "one")
    lanes.arrive("a", 1, None, "one")
    assert taken(lanes) == ["one"]
    lanes.arrive("b", 1, needing(9), "answer")
    lanes.close("a")
    assert taken(lanes) == ["answer"]
    with pytest.raises(Misuse, match="not read here"):
        lanes.arrive("a", 2, None, "two")


def test_who_changes_lanes_waits_for_the_place() -> None:
    lanes = reader()
    lanes.publish("a")
    lanes.publish("a")  # in the same lane the broker keeps the order
    assert lanes.blockers("b") == ["a"]
    with pytest.raises(Misuse, match="has no place yet"):
        lanes.publish("b")
    lanes.confirm("a", 4)
    lanes.doubt("a")
    assert lanes.blockers("b") == ["a"]
    assert lanes.is_doubtful("a")
    lanes.settle("a", 9)
    assert lanes.publish("b").past == ((A, 9),)


def test_stamps_that_wait_for_each_other_cannot_be_true() -> None:
    """Lanes made anew under their old names, and forged stamps, once stopped a reader for ever."""
    lanes = reader(probe_s=1.0)
    lanes.arrive("a", 1, needing(7), "a1")  # of its own lane, which is in order by itself
    assert taken(lanes) == ["a1"]
    lanes.arrive("a", 2, needing(1, B), "a2", 5.0)
    lanes.arrive("b", 1, needing(2), "b1", 6.0)
    assert taken(lanes, 6.0) == []
    assert lanes.due() == 7.0
    assert lanes.wake(6.9) == []
    assert lanes.wake(7.0) == [Missing("b", 1, 2.0)]
    delivered, _ = lanes.take(7.0)
    assert delivered is not None
    assert (delivered.content, delivered.without) == ("a2", ((B, 1),))
    assert taken(lanes, 7.0) == ["b1"]


FORGED = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.dictionaries(st.sampled_from("abcd"), st.integers(0, 5), max_size=4),
    ),
    max_size=9,
)


def delivers_all(arrivals: list[tuple[str, dict[str, int]]], lanes: Any) -> bool:
    """Whether all is delivered, each lane in its order, whatever the stamps name."""
    for name in "abcd":
        lanes.keys.add(name)
    for name in "abc":
        lanes.open(name, 0)
    ends = dict.fromkeys("abc", 0)
    for lane, named in arrivals:
        ends[lane] += 1
        stamp = LaneStamp(1, 1, tuple([(key_of(name), place) for name, place in named.items()]))
        lanes.arrive(lane, ends[lane], stamp, (lane, ends[lane]))
    found: dict[str, list[int]] = {name: [] for name in "abc"}
    for _ in range(200):
        for lane, place in taken(lanes):
            found[lane].append(place)
        due = lanes.due()
        if due is None:
            break
        for effect in lanes.wake(due):
            if type(effect).__name__ == "Probe":
                lanes.probed(effect.lane, None, ends[effect.lane], due)
    expected = {lane: list(range(1, end + 1)) for lane, end in ends.items()}
    return found == expected and lanes.held() == []


@given(FORGED, st.booleans())
def test_whatever_stamps_say_patience_delivers_all(
    arrivals: list[tuple[str, dict[str, int]]], asks: bool
) -> None:
    patience = Patience(patience_s=2.0, probe_s=1.0 if asks else None)
    assert delivers_all(arrivals, Lanes(7, patience))


def test_a_circle_that_nobody_breaks_is_noticed() -> None:
    circle: list[tuple[str, dict[str, int]]] = [("a", {"b": 1}), ("b", {"a": 1})]
    bug = Planted("circles-last", "forged", "holdback", "= self._break_circles(now)", "= []")
    planted = plant(bug, "lanes").Lanes(7, Patience(patience_s=2.0))
    assert not delivers_all(circle, planted)
    assert delivers_all(circle, Lanes(7, Patience(patience_s=2.0)))


def test_a_stamp_names_so_many_lanes_and_no_more() -> None:
    past = tuple([(lane, 1) for lane in range(NAMED_AT_MOST + 1)])
    whole = encode_lanes(LaneStamp(1, 1, past[:-1]))
    assert len(decode_lanes(whole).past) == NAMED_AT_MOST
    with pytest.raises(MalformedStamp, match="4,097 lanes"):
        decode_lanes(whole + bytes([255] * 8))
    with pytest.raises(Misuse, match="knows of 4,097 lanes"):
        encode_lanes(LaneStamp(1, 1, past))
    front = tuple([(topic, 1, 1) for topic in range(NAMED_AT_MOST + 1)])
    with pytest.raises(Misuse, match="4,097"):
        encode_topics(TopicStamp(1, 1, front))
    with pytest.raises(MalformedStamp, match="is 9, which is not known"):
        decode_lanes(bytes([9]) + whole[1:])


DAY = 86_400_000


@pytest.mark.parametrize(("apart", "bytes_"), [(0, 64), (DAY, 64), (10 * DAY, 64), (99 * DAY, 80)])
def test_a_stamp_of_four_redis_streams_has_64_bytes(apart: int, bytes_: int) -> None:
    now = 1_800_000_000_000
    past = tuple([(lane, now - lane * apart // 4 << 22 | lane) for lane in range(4)])
    stamp = LaneStamp(1 << 47, 10**9, past)
    text = as_text(encode_lanes(stamp))
    assert len(text) == bytes_
    assert dict(decode_lanes(from_text(text)).past) == dict(past)


def test_lost_numbers_are_told_and_late_ones_marked() -> None:
    numbers = Numbers(7)
    numbers.subscribe("a")
    numbers.arrive("a", TopicStamp(1, 1, ()), "one")
    [missing] = numbers.arrive("a", TopicStamp(1, 3, ()), "three")
    assert missing == Missing("a from 000000000001", 2, 0.0)
    assert taken(numbers) == ["one", "three"]
    numbers.arrive("a", TopicStamp(1, 3, ()), "three")
    numbers.arrive("a", TopicStamp(1, 2, ()), "two")
    delivered, _ = numbers.take()
    assert delivered is not None
    assert (delivered.content, delivered.late) == ("two", True)
    assert taken(numbers) == []


def test_numbers_say_what_they_wait_for() -> None:
    numbers = Numbers(7)
    numbers.subscribe("a")
    numbers.subscribe("b")
    numbers.arrive("b", TopicStamp(1, 1, ((A, 2, 5),)), "answer")
    name = "b from 000000000001"
    assert numbers.held() == [Held(name, 1, (("a from 000000000002", 5),))]
    assert numbers.wake(0.5) == []
    assert numbers.wake(1.0) == [Missing("a from 000000000002", 5, 1.0)]
    assert taken(numbers) == ["answer"]


def test_without_an_echo_nobody_waits_for_what_he_said_himself() -> None:
    numbers = Numbers(7, echo=False)
    numbers.subscribe("a")
    numbers.subscribe("b")
    numbers.publish("a")
    numbers.arrive("b", TopicStamp(1, 1, ((A, 7, 1),)), "answer")
    assert taken(numbers) == ["answer"]


PLACES = st.integers(0, 2**64 - 1)
IDS = st.integers(1, 2**40 - 1)


@given(IDS, IDS, st.dictionaries(st.integers(0, 2**32 - 1), PLACES, max_size=6))
def test_stamps_survive_the_wire(publisher: int, number: int, past: dict[int, int]) -> None:
    stamp = LaneStamp(publisher, number, tuple(sorted(past.items())))
    decoded = decode_lanes(from_text(as_text(encode_lanes(stamp))))
    assert (decoded.publisher, decoded.number) == (publisher, number)
    assert dict(decoded.past) == past
    front = tuple((lane, publisher, place % 2**48 or 1) for lane, place in sorted(past.items()))
    topics = TopicStamp(publisher, number, front)
    assert decode_topics(encode_topics(topics)) == topics


@given(st.binary(max_size=60))
def test_broken_stamps_are_refused_by_name(wire: bytes) -> None:
    for decode in (decode_lanes, decode_topics):
        with suppress(MalformedStamp):
            decode(wire)  # any other error fails


def test_text_that_is_no_stamp_and_names_that_collide() -> None:
    with pytest.raises(MalformedStamp, match="is not base64"):
        from_text("not a stamp!")
    keys = Keys()
    keys.add("plumless")
    with pytest.raises(Misuse, match="rename one"):
        keys.add("buckeroo")  # a known collision of CRC-32
