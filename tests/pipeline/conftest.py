"""One Spark session for all tests of the pipeline."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from antecede.pipeline.session import build_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All of them in one worker: a second session would cost more than it gains."""
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = build_session("local[2]", short=True, partitions=2)
    yield session
    session.stop()
