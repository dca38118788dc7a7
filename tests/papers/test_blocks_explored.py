"""The Causal Blocks protocols in every interleaving of small scenarios. (How much further they were
explored stands with the errata.)"""

from typing import Any

import pytest

from antecede.explore import Exploration, Flaw, Settings, explore
from antecede.message import process_set
from tests.papers.blocks import PROTOCOLS, Groups

TRIO = [{0, 1, 2}]
OVERLAP = [{0, 1, 2}, {0, 1}]
CHAIN = [{0, 1}, {1, 2}]
RING = [{0, 1}, {1, 2}, {2, 0}]
TWINS = [{0, 1, 2}, {0, 1, 2}]


def _explore(protocol: str, groups: Groups, messages: int, **options: Any) -> Exploration:
    """Nulls are sent without delay: the time of a wake-up distinguishes no states then."""
    return explore(
        protocol,
        processes=3,
        messages=messages,
        groups=[process_set(group) for group in groups],
        options={"silence_s": 0, **options},
        settings=Settings(max_wakes=8),
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("groups", "messages"), [(TRIO, 3), (OVERLAP, 2), (RING, 3), (TWINS, 2)], ids=str
)
def test_every_interleaving_is_safe_and_live(protocol: str, groups: Any, messages: int) -> None:
    found = _explore(protocol, groups, messages)
    assert found.passed, found.incomplete or str(found.failure)


@pytest.mark.parametrize(("groups", "messages"), [(TRIO, 2), (CHAIN, 3)], ids=str)
def test_every_interleaving_in_total_order_is_safe_and_live(groups: Any, messages: int) -> None:
    found = _explore("blocks-slow", groups, messages, total=True)
    assert found.passed, found.incomplete or str(found.failure)


def test_the_explorer_finds_what_is_wrong_with_fast_as_printed() -> None:
    found = _explore("blocks-fast", OVERLAP, 2, test="printed")
    assert found.failure is not None
    assert found.failure.kind is Flaw.UNDELIVERED
