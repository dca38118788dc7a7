"""The judge of the tests against real servers can say no."""

import pytest

from tests.brokers.questions import ANSWERS, QUESTIONS, judge

GOOD = [(QUESTIONS, 0), (ANSWERS, 0), (QUESTIONS, 1), (ANSWERS, 1)]


def test_what_is_right() -> None:
    judge(GOOD, 2)
    judge([*GOOD, (ANSWERS, 0)], 2, twice=1)


@pytest.mark.parametrize(
    "wrong",
    [
        [(ANSWERS, 0), (QUESTIONS, 0), (QUESTIONS, 1), (ANSWERS, 1)],  # early
        GOOD[:-1],  # missing
        [*GOOD, (ANSWERS, 0)],  # twice
        [(QUESTIONS, 1), (QUESTIONS, 0), (ANSWERS, 0), (ANSWERS, 1)],  # out of order
    ],
)
def test_what_is_wrong(wrong: list[tuple[str, int]]) -> None:
    with pytest.raises(AssertionError):
        judge(wrong, 2)
