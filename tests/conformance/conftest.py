"""Every test that asks for a `protocol` runs once for each, unless it says for which; `order` is
its class."""

import pytest

from antecede.order import Order
from antecede.protocols import find, ours


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    chosen = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "protocol" in metafunc.fixturenames and not any("protocol" in each for each in chosen):
        metafunc.parametrize("protocol", ours())


@pytest.fixture
def order(protocol: str) -> type[Order]:
    return find(protocol)
