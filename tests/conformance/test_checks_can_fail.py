"""The suite's checks fail when they should: each on a bug planted for it."""

import pytest

from antecede.errors import Misuse
from antecede.protocols import find
from antecede.testing import CHECKS, Failure, Mutant, check_mutants, check_protocol, mutated

Expected = tuple[type[BaseException], str]
"""What a check raises, and words of its message."""

PLANTED: list[tuple[str, Mutant, str, Expected]] = [
    (
        "fifo",
        Mutant(
            name="every-other-number",
            old="self.state.sent[destination] += 1",
            new="self.state.sent[destination] += 2",
        ),
        "delivers_once_and_in_order",
        (Failure, "at rest, but undelivered"),
    ),
    (
        "vector",
        Mutant(
            name="duplicates-unnoticed",
            old="return own <= self.state.vectors[group][rank]",
            new="return False",
        ),
        "drops_duplicates",
        (Failure, "a duplicate of .* has the effects"),
    ),
    (
        "none",
        Mutant(name="duplicates-delivered", old="else []", new="else [Deliver(message)]"),
        "drops_duplicates",
        (Failure, "a duplicate of .* has the effects"),
    ),
    (
        "none",
        Mutant(
            name="one-of-a-run-noted",
            old="add_run(message.id, count)",
            new="add_run(message.id, 1)",
        ),
        "takes_runs_as_their_messages",
        (Failure, "leads to another state"),
    ),
    (
        "vector",
        Mutant(
            name="runs-not-held",
            old="return super().receive_run(packet, count) if self._is_plain else None",
            new="stamp = packet.stamp.successor(packet.source, count - 1)\n"
            "        return [*self.accept(Packet(packet.source, packet.message, stamp))][:0]",
        ),
        "takes_runs_as_their_messages",
        (Failure, "has the effects"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-delivered",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], self.state.vectors[group][rank], "
            "Scope.GROUP, group)",
        ),
        "explains_what_it_holds",
        (Failure, "which is untrue"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-the-wrong-message",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank - 1], value, Scope.GROUP, group)",
        ),
        "what_is_awaited_is_enough",
        (Failure, "all that it waits for has been there"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-one-too-many",
            old="yield Awaited(self._members[group][rank], value, Scope.GROUP, group)",
            new="yield Awaited(self._members[group][rank], value + 1, Scope.GROUP, group)",
        ),
        "what_is_awaited_is_enough",
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
        "explains_what_it_holds",
        (Failure, "of which it said nothing before"),
    ),
    (
        "none",
        Mutant(
            name="lost-on-arrival",
            old="return [Deliver(message)] if",
            new="return [] if",
        ),
        "explains_what_it_holds",
        (Failure, "neither delivers nor holds"),
    ),
    (
        "vector",
        Mutant(
            name="waits-for-foreign-groups",
            old="for index in self._own_groups:\n            theirs",
            new="for index in range(len(self._members)):\n            theirs",
        ),
        "holds_nothing_without_need",
        (Failure, "for nothing"),
    ),
    (
        "vector",
        Mutant(
            name="negatives-accepted",
            old="vectors: tuple[tuple[Count, ...], ...]",
            new="vectors: tuple[tuple[int, ...], ...]",
        ),
        "refuses_what_is_broken",
        (Failure, "is accepted"),
    ),
    (
        "vector",
        Mutant(
            name="refused-but-counted",
            old="        if group not in self._own_groups:\n",
            new="        if group not in self._own_groups:\n"
            "            self.state.vectors[0][0] += 1\n",
        ),
        "refuses_what_is_broken",
        (Failure, "refused, but the state has changed"),
    ),
    (
        "vector",
        Mutant(
            name="group-unchecked",
            old="        if group not in self._own_groups:\n",
            new="        if group is None:\n",
        ),
        "bears_flipped_bytes",
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
        "resumes_identically",
        (Failure, "differs"),
    ),
    (
        "vector",
        Mutant(
            name="held-counted-as-state",
            old="return sum(map(len, self.state.vectors))",
            new="return sum(map(len, self.state.vectors)) + len(self.state.held)",
        ),
        "keeps_to_its_bound",
        (Failure, "its bound is"),
    ),
    (
        "none",
        Mutant(
            name="bound-claimed",
            old="survives_loss=True",
            new='survives_loss=True, state_bound="nothing"',
        ),
        "does_not_grow",
        (Failure, "the state grows"),
    ),
    (
        "none",
        Mutant(
            name="bound-not-computed",
            old="survives_loss=True",
            new='state_bound="nothing"',
        ),
        "computes_its_bound",
        (Failure, r"entries_bound\(\) is None"),
    ),
    (
        "vector",
        Mutant(
            name="live-list-as-stamp",
            old="stamp[index] = tuple(vectors[index])",
            new="stamp[index] = vectors[index]",
        ),
        "stamps_are_values",
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
        "drops_duplicates",
        (Failure, "changes the state"),
    ),
    (
        "vector",
        Mutant(
            name="addressing-unchecked",
            old="self.check_addressing(message)",
            new="pass",
        ),
        "refuses_bad_addressing",
        (Failure, "which is to be refused"),
    ),
]


@pytest.mark.parametrize(
    ("name", "mutant", "check", "expected"),
    [pytest.param(*planted, id=f"{planted[0]}-{planted[1].name}") for planted in PLANTED],
)
def test_a_check_fails(name: str, mutant: Mutant, check: str, expected: Expected) -> None:
    order = mutated(name, mutant)
    error, words = expected
    with pytest.raises(error, match=words) as raised:
        CHECKS[check](order)
    assert raised.type is error


def test_a_mutant_that_is_none_is_told() -> None:
    """One whose change does not matter is caught by nothing, and that is a failure."""
    harmless = Mutant(name="harmless", old='"""Vector clocks', new='""" Vector clocks')
    with pytest.raises(Failure, match="'harmless' of Vector is caught by nothing"):
        check_mutants(find("vector"), [harmless])


def test_what_is_no_protocol_is_refused_in_words() -> None:
    with pytest.raises(Misuse, match="is no subclass of antecede"):
        check_protocol(int)  # type: ignore[arg-type]
