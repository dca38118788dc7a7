"""Every protocol keeps every rule of the contract."""

import pytest

from antecede.order import Order
from antecede.testing import CHECKS, Check


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS)
def test_a_protocol_keeps_it(order: type[Order], check: Check) -> None:
    check(order)
