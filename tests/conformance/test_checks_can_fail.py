"""The suite's checks fail when they should: each on a bug planted for it."""

from collections.abc import Callable

import pytest

from antecede.order import Order
from tests.conformance import (
    test_delivery,
    test_duplicates,
    test_held,
    test_malformed,
    test_purity,
    test_resume,
    test_state,
)
from tests.mutants import Mutant, mutated

Check = Callable[[type[Order]], None]

PLANTED: list[tuple[str, Mutant, Check]] = [
    (
        "fifo",
        Mutant(
            name="every-other-number",
            old="self.state.sent[destination] += 1",
            new="self.state.sent[destination] += 2",
        ),
        lambda order: test_delivery.test_every_message_is_delivered_once_and_in_order(order, 3),
    ),
    (
        "vector",
        Mutant(
            name="duplicates-unnoticed",
            old="return own <= self.state.vectors[group][rank]",
            new="return False",
        ),
        lambda order: test_duplicates.test_a_duplicate_is_dropped(order, 0.6),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-delivered",
            old="range(self.state.vectors[group][rank] + 1, value + 1)",
            new="range(self.state.vectors[group][rank], value + 1)",
        ),
        lambda order: test_held.test_what_is_held_waits_for_what_is_missing(order, 3),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-wrong-message",
            old="yield Awaited(self._members[group][rank], count, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], count + 1, Scope.GROUP, group)",
        ),
        test_held.test_what_is_awaited_is_enough,
    ),
    (
        "vector",
        Mutant(
            name="waits-for-foreign-groups",
            old="for index in self._own_groups:\n            theirs",
            new="for index in range(len(self._members)):\n            theirs",
        ),
        lambda order: test_held.test_a_prompt_order_holds_nothing_without_need(order, 3),
    ),
    (
        "vector",
        Mutant(
            name="negatives-accepted",
            old="vectors: tuple[tuple[Count, ...], ...]",
            new="vectors: tuple[tuple[int, ...], ...]",
        ),
        lambda order: test_malformed.test_a_packet_broken_in_one_place_is_refused(order, 0),
    ),
    (
        "vector",
        Mutant(
            name="refused-but-counted",
            old="        if group not in self._own_groups:\n",
            new="        if group not in self._own_groups:\n"
            "            self.state.vectors[0][0] += 1\n",
        ),
        lambda order: test_malformed.test_a_packet_broken_in_one_place_is_refused(order, 0),
    ),
    (
        "vector",
        Mutant(
            name="group-unchecked",
            old="        if group not in self._own_groups:\n",
            new="        if group is None:\n",
        ),
        test_malformed.test_a_flipped_byte_raises_nothing_else,
    ),
    (
        "vector",
        Mutant(
            name="state-kept-aside",
            old="vectors[group][self._rank[group][self.process]] += 1",
            new="vectors[group][self._rank[group][self.process]] = self._sent = "
            'getattr(self, "_sent", 0) + 1',
        ),
        test_resume.test_a_resumed_order_continues_identically,
    ),
    (
        "vector",
        Mutant(
            name="held-counted-as-state",
            old="return sum(map(len, self.state.vectors))",
            new="return sum(map(len, self.state.vectors)) + len(self.state.held)",
        ),
        lambda order: test_state.test_entries_keep_to_the_bound(order, 5),
    ),
    (
        "none",
        Mutant(
            name="bound-claimed",
            old="survives_loss=True",
            new='survives_loss=True, state_bound="nothing"',
        ),
        test_state.test_a_bounded_state_does_not_grow_with_the_run,
    ),
    (
        "none",
        Mutant(
            name="bound-not-computed",
            old="survives_loss=True",
            new='state_bound="nothing"',
        ),
        test_state.test_a_promised_bound_is_computed,
    ),
    (
        "vector",
        Mutant(
            name="live-list-as-stamp",
            old="stamp[index] = tuple(vectors[index])",
            new="stamp[index] = vectors[index]",
        ),
        test_purity.test_stamps_are_values,
    ),
    (
        "vector",
        Mutant(
            name="addressing-unchecked",
            old="self.check_addressing(message)",
            new="pass",
        ),
        lambda order: test_purity.test_bad_addressing_is_refused(order, "a part of the group"),
    ),
]


@pytest.mark.parametrize(
    ("name", "mutant", "check"),
    [pytest.param(*planted, id=f"{planted[0]}-{planted[1].name}") for planted in PLANTED],
)
def test_a_check_fails(name: str, mutant: Mutant, check: Check) -> None:
    with pytest.raises((AssertionError, LookupError, pytest.fail.Exception)):
        check(mutated(name, mutant))
