"""Errors cross process boundaries whole."""

import pickle

import pytest

from antecede.errors import (
    AntecedeError,
    BadFile,
    BadTrace,
    CannotWrite,
    MalformedStamp,
    Misuse,
    counted,
)


@pytest.mark.parametrize(
    "error",
    [
        Misuse("there is no protocol 'x'"),
        CannotWrite("run.parquet", "no space left"),
        MalformedStamp("vectors", "has 2 entries"),
        BadFile("run.toml", ["line 1: seed: is missing", "line 2: rate: is negative"]),
        BadTrace("seq has no gaps", "run r, process p", "seq 3 follows seq 1"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_survives_pickling(error: AntecedeError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert vars(copy) == vars(error)


def test_every_mistake_of_a_file_is_listed() -> None:
    error = BadFile("run.toml", ["seed: is missing", "rate: is negative"])
    assert str(error) == "run.toml: 2 mistakes\n  - seed: is missing\n  - rate: is negative"


def test_counts_agree_with_their_nouns() -> None:
    counts = (1, "message"), (2000, "message"), (3, "delivery"), (0, "process"), (2, "day")
    assert [counted(*count) for count in counts] == [
        "1 message", "2,000 messages", "3 deliveries", "0 processes", "2 days",
    ]  # fmt: skip
