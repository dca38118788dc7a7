"""Every protocol says what it is."""

import re

from antecede.order import Gives, Order
from antecede.protocols import algorithm


def test_traits_are_complete(order: type[Order]) -> None:
    assert order.traits.title not in (order.name, "")
    assert order.traits.paper or order.traits.gives is not Gives.CAUSAL


def test_the_file_opens_with_the_algorithm_and_its_paper(order: type[Order]) -> None:
    opening = algorithm(order)
    assert opening
    assert len(opening.split()) > 30, "the algorithm in a few sentences"
    for author in re.findall(r"[A-Z][\w-]+", order.traits.paper):
        assert author in opening, f"the paper of {author} is not named"
