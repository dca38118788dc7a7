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
from tests.conformance.network import Failure
from tests.mutants import Mutant, mutated

Check = Callable[[type[Order]], None]
Expected = tuple[type[BaseException], str]
"""What a check raises, and words of its message."""

NOT_RAISED = pytest.fail.Exception
"""What `pytest.raises` raises when nothing else was."""

PLANTED: list[tuple[str, Mutant, Check, Expected]] = [
    (
        "fifo",
        Mutant(
            name="every-other-number",
            old="self.state.sent[destination] += 1",
            new="self.state.sent[destination] += 2",
        ),
        lambda order: test_delivery.test_every_message_is_delivered_once_and_in_order(order, 3),
        (Failure, "at rest, but undelivered"),
    ),
    (
        "vector",
        Mutant(
            name="duplicates-unnoticed",
            old="return own <= self.state.vectors[group][rank]",
            new="return False",
        ),
        lambda order: test_duplicates.test_a_duplicate_is_dropped(order, 0.6),
        (Failure, "a duplicate of .* has the effects"),
    ),
    (
        "none",
        Mutant(name="duplicates-delivered", old="else []", new="else [Deliver(message)]"),
        lambda order: test_duplicates.test_a_duplicate_is_dropped(order, 0.6),
        (Failure, "a duplicate of .* has the effects"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-delivered",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], self.state.vectors[group][rank], "
            "Scope.GROUP, group)",
        ),
        lambda order: test_held.test_what_is_held_waits_for_what_is_missing(order, 3),
        (Failure, "which is untrue"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-wrong-message",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank - 1], value, Scope.GROUP, group)",
        ),
        test_held.test_what_is_awaited_is_enough,
        (Failure, "all that it waits for has been there"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-one-too-many",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], value + 1, Scope.GROUP, group)",
        ),
        test_held.test_what_is_awaited_is_enough,
        (Failure, "which does not exist"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-one-thing-at-a-time",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)\n"
            "            return",
        ),
        lambda order: test_held.test_what_is_held_waits_for_what_is_missing(order, 3),
        (Failure, "of which it said nothing before"),
    ),
    (
        "none",
        Mutant(
            name="lost-on-arrival",
            old="return [Deliver(message)] if",
            new="return [] if",
        ),
        lambda order: test_held.test_what_is_held_waits_for_what_is_missing(order, 3),
        (Failure, "neither delivers nor holds"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-foreign-groups",
            old="for index in self._own_groups:\n            theirs",
            new="for index in range(len(self._members)):\n            theirs",
        ),
        lambda order: test_held.test_a_prompt_order_holds_nothing_without_need(order, 3),
        (Failure, "for nothing"),
    ),
    (
        "vector",
        Mutant(
            name="negatives-accepted",
            old="vectors: tuple[tuple[Count, ...], ...]",
            new="vectors: tuple[tuple[int, ...], ...]",
        ),
        lambda order: test_malformed.test_a_packet_broken_in_one_place_is_refused(order, 0),
        (AssertionError, "is accepted"),
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
        (AssertionError, "refused, but the state has changed"),
    ),
    (
        "vector",
        Mutant(
            name="group-unchecked",
            old="        if group not in self._own_groups:\n",
            new="        if group is None:\n",
        ),
        test_malformed.test_a_flipped_byte_raises_nothing_else,
        (IndexError, "index out of range"),
    ),
    (
        "vector",
        Mutant(
            name="state-kept-aside",
            old="return self.multicast(message, Vectors(tuple(stamp)))",
            new='self._turn = -getattr(self, "_turn", 1)\n'
            "        return self.multicast(message, Vectors(tuple(stamp)))[:: self._turn]",
        ),
        test_resume.test_a_resumed_order_continues_identically,
        (AssertionError, "differs"),
    ),
    (
        "vector",
        Mutant(
            name="held-counted-as-state",
            old="return sum(map(len, self.state.vectors))",
            new="return sum(map(len, self.state.vectors)) + len(self.state.held)",
        ),
        lambda order: test_state.test_entries_keep_to_the_bound(order, 5),
        (Failure, "its bound is"),
    ),
    (
        "none",
        Mutant(
            name="bound-claimed",
            old="survives_loss=True",
            new='survives_loss=True, state_bound="nothing"',
        ),
        test_state.test_a_bounded_state_does_not_grow_with_the_run,
        (AssertionError, "the state grows"),
    ),
    (
        "none",
        Mutant(
            name="bound-not-computed",
            old="survives_loss=True",
            new='state_bound="nothing"',
        ),
        test_state.test_a_promised_bound_is_computed,
        (AssertionError, "None is not None"),
    ),
    (
        "vector",
        Mutant(
            name="live-list-as-stamp",
            old="stamp[index] = tuple(vectors[index])",
            new="stamp[index] = vectors[index]",
        ),
        test_purity.test_stamps_are_values,
        (Failure, "can be changed"),
    ),
    (
        "daisy",
        Mutant(
            name="counts-what-it-hears",
            old="        stamp = packet.stamp\n        if packet.message is not None:\n",
            new="        self.state.clock += 1\n        stamp = packet.stamp\n"
            "        if packet.message is not None:\n",
        ),
        lambda order: test_duplicates.test_a_duplicate_is_dropped(order, 0.6),
        (Failure, "changes the state"),
    ),
    (
        "vector",
        Mutant(
            name="addressing-unchecked",
            old="self.check_addressing(message)",
            new="pass",
        ),
        lambda order: test_purity.test_bad_addressing_is_refused(order, "a part of the group"),
        (NOT_RAISED, "DID NOT RAISE"),
    ),
]


@pytest.mark.parametrize(
    ("name", "mutant", "check", "expected"),
    [pytest.param(*planted, id=f"{planted[0]}-{planted[1].name}") for planted in PLANTED],
)
def test_a_check_fails(name: str, mutant: Mutant, check: Check, expected: Expected) -> None:
    order = mutated(name, mutant)
    error, words = expected
    with pytest.raises(error, match=words) as raised:
        check(order)
    assert raised.type is error
