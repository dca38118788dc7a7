"""Numbers as people read them."""

import pytest

from antecede.report.numbers import BYTES, SECONDS, SHARE, brief, duration, exact, uncertain


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((0, "0"), (999, "999"), (1000, "1k"), (1234, "1.23k"), (999_960, "1M"), (1e13, "10T")),
        *((7_080_000, "7.08M"), (-2.5, "−2.5"), (1e-9, "1e−9"), (float("nan"), "–")),
        (0.00123, "0.00123"),
    ],
)
def test_brief(value: float, text: str) -> None:
    assert brief(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.14159, "3.142"),
        (12345.6, "12\u202f346"),
        (5.0, "5"),
        (0.5, "0.5"),
        (-1500.0, "−1\u202f500"),
    ],
)
def test_exact(value: float, text: str) -> None:
    assert exact(value) == text


def test_a_mean_is_told_as_exactly_as_it_is_known() -> None:
    assert uncertain(8.7213, 0.1712) == ("8.72", "0.17")
    assert uncertain(1041.3, 22.4) == ("1\u202f041", "22")
    assert uncertain(73312.0, 1490.0) == ("73\u202f300", "1\u202f500")
    assert uncertain(3091.612, 0.443) == ("3\u202f091.61", "0.44")
    assert uncertain(101.02, 3.04) == ("101.0", "3.0")
    assert uncertain(5.0, 1e-14) == ("5", "1e−14")


def test_seconds_take_the_unit_that_suits_them() -> None:
    assert SECONDS.fitted(0.05).quantity(0.05) == "50 ms"
    assert SECONDS.fitted(3.2e-6).quantity(1e-6) == "1 µs"
    assert SECONDS.fitted(0.0).quantity(0.0) == "0 s"
    assert BYTES.fitted(10**6).quantity(10**6) == "1\u202f000\u202f000 bytes"
    assert SHARE.fitted(1).quantity(0.25) == "25 %"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        *((0, "0 s"), (12.34, "12 s"), (0.05, "50 ms"), (61, "1 min 1 s"), (120, "2 min")),
        *((14460, "4 h 1 min"), (7200, "2 h")),
    ],
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text
