"""The judge of the long run (`bench/live_soak`) finds what it is there to find."""

from bench.soak_member import Seen, Text

VIEW = {"a": 10, "b": 10}


def judge(seen: Seen, sender: str, number: int, life: int, **after: int) -> list[str]:
    wrong, _ = seen.judge(sender, number, life, Text(10, after), VIEW)
    return wrong


def test_what_comes_in_order_is_right_and_nothing_is_owed() -> None:
    seen = Seen()
    assert not judge(seen, "a", 1, 10)
    assert not judge(seen, "b", 1, 10, a=1)
    assert seen.whole == {"a": 1, "b": 1}
    assert not seen.owed


def test_a_number_that_is_left_out_is_wrong_unless_a_gap_names_its_sender() -> None:
    seen = Seen()
    assert judge(seen, "a", 2, 10) == ["a:2 came after 0"]
    seen = Seen(named={"a"})
    assert not judge(seen, "a", 3, 10)
    assert (seen.owed, seen.whole) == ({"a": [1, 2]}, {"a": 0})
    assert not judge(seen, "a", 1, 11)
    assert not judge(seen, "a", 2, 11)
    assert (seen.owed, seen.whole) == ({}, {"a": 3})


def late(view: dict[str, int], life: int, *views: dict[str, int]) -> tuple[list[str], bool | None]:
    """a:2 comes, of this life of a, after something that was sent upon it in a view; these came in
    between."""
    seen = Seen()
    seen.judge("a", 1, 10, Text(10, {}), view)
    assert seen.judge("b", 1, 10, Text(10, {"a": 2}), view) == ([], None)
    assert seen.owed == {"a": [2]}
    for one in views:
        seen.enter(one)
    found = seen.judge("a", 2, life, Text(10, {}), view)
    assert not seen.owed
    return found


def test_what_comes_after_what_was_sent_upon_it_is_of_a_life_that_was_gone() -> None:
    wrong = (["a:2 came after what was sent upon it"], False)
    assert late(VIEW, 10) == wrong
    assert late(VIEW, 11) == ([], True)
    assert late({"b": 10}, 10) == ([], True)
    assert late(VIEW, 10, {"b": 10}) == ([], True)
    assert late(VIEW, 10, VIEW, {"b": 10}) == wrong
    assert late({}, 10) == ([], False)
    assert late({"a": 11, "b": 11}, 11) == ([], True)  # It is sent again.
