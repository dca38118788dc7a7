"""Work spread over executors: all of it, as it gets ready, and what becomes of errors."""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.pipeline.spread import WorkLost, spread
from tests.pipeline import tasks


@pytest.mark.parametrize(("count", "slices"), [(1, None), (5, 2), (40, 7), (3, 100)])
def test_every_item_is_done_once(spark: SparkSession, count: int, slices: int | None) -> None:
    found = list(spread(spark, range(count), tasks.square, slices=slices))
    assert sorted(found) == [number * number for number in range(count)]


def test_without_a_session_it_happens_here() -> None:
    assert list(spread(None, range(4), tasks.square)) == [0, 1, 4, 9]
    assert list(spread(None, [], tasks.square)) == []


def test_results_come_when_they_are_ready(spark: SparkSession, tmp_path: Path) -> None:
    """The first item waits for a file that is made when the result of the second has come."""
    go = tmp_path / "this.go"
    found = []
    for result in spread(spark, [str(go), "at once"], tasks.wait_for):
        found.append(result)
        go.touch()
    assert found == ["at once", str(go)]


def test_an_error_that_escapes_is_told(spark: SparkSession) -> None:
    with pytest.raises(WorkLost, match="ValueError: seven is no number to square"):
        list(spread(spark, range(9), tasks.square_unless_seven))


def test_a_worker_that_dies_is_told(spark: SparkSession) -> None:
    with pytest.raises(WorkLost, match="exited unexpectedly"):
        list(spread(spark, [3], tasks.die))
    assert list(spread(spark, [3], tasks.square)) == [9]


def test_who_stops_listening_stops_the_work(spark: SparkSession, tmp_path: Path) -> None:
    results = spread(spark, [str(tmp_path)] * 500, tasks.leave_mark, slices=500)
    next(results)
    results.close()
    done = len([*tmp_path.iterdir()])
    assert list(spread(spark, [4], tasks.square)) == [16]
    time.sleep(1)  # a tenth of what the rest would take
    assert len([*tmp_path.iterdir()]) < done + 10  # workers end what they have in hand
