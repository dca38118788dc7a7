"""The session of the pipeline's tests, in the same worker."""

from pathlib import Path

import pytest

from tests.pipeline.conftest import spark

__all__ = ["spark"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.xdist_group("spark"))
