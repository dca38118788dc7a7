"""Every test that asks for a `protocol` runs once for each; `order` is its class."""

import pytest

from antecede.order import Order
from antecede.protocols import find, names


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "protocol" in metafunc.fixturenames:
        metafunc.parametrize("protocol", names())


@pytest.fixture
def order(protocol: str) -> type[Order]:
    return find(protocol)
