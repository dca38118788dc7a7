"""Fuzzing that learns: scenarios that reached something new are kept, and changed a little.

Runs are numbered by seeds and come in rounds. A run follows from its seed and the corpus, and the
corpus of a round from the runs of the rounds before, in the order of their seeds: so the same runs
come out however many machines share the work, and wherever it was interrupted. The *lineage* of a
scenario explains it without any corpus: the seed that its first ancestor was drawn from, and those
of the mutations since.
"""

from collections.abc import Iterable, Sequence

import msgspec

from antecede.fuzzing.chance import Chance
from antecede.fuzzing.drawing import NO_OPTIONS, draw
from antecede.fuzzing.features import Reached
from antecede.fuzzing.judging import Outcome, judge
from antecede.fuzzing.mutation import mutate, plain_fields
from antecede.fuzzing.slices import Done, Found, Kept, Slice, done_with
from antecede.order import Order
from antecede.simulate import Scenario

ROUND = 128
"""Runs between two looks at what is new."""
AFRESH = 0.35
"""The share of scenarios that are drawn, not mutated."""

Lineage = tuple[int, ...]


class Corpus:
    """What was kept, and for each feature the run that reached it with the fewest events."""

    def __init__(self, kept: Iterable[Kept] = ()) -> None:
        self.entries: list[Kept] = []
        self._best: dict[int, int] = {}
        for one in kept:
            self.add(one)

    def add(self, one: Kept) -> None:
        """Keep a run if it has reached something new, or something with fewer events."""
        place = len(self.entries)
        better = [feature for feature in one.features if self._is_better(one, feature)]
        if better:
            self.entries.append(one)
            self._best.update(dict.fromkeys(better, place))

    def _is_better(self, one: Kept, feature: int) -> bool:
        place = self._best.get(feature)
        return place is None or 2 * one.events < self.entries[place].events

    @property
    def features(self) -> frozenset[int]:
        return frozenset(self._best)

    def pick(self, chance: Chance) -> Kept:
        """Any feature is as likely as another; then the shortest run that reaches it: who is the
        only one to reach something is picked as often as all who reach what everybody does. Of two
        such runs the shorter one, for long runs reach much, and take as long again."""
        features = sorted(self._best)
        two = [self.entries[self._best[chance.pick(features)]] for _ in range(2)]
        return min(two, key=lambda one: one.events)


def propose(
    protocol: str, seed: int, corpus: Corpus, options: str = NO_OPTIONS
) -> tuple[Lineage, Scenario]:
    """The scenario of this seed with this corpus, and how it came about. The `options`, as JSON,
    are given."""
    chance = Chance(seed, protocol, "guided")
    if not corpus.entries or chance.happens(AFRESH):
        return (seed,), draw(protocol, seed, options)
    parent = corpus.pick(chance)
    fields = msgspec.json.decode(parent.fields)
    return (*parent.lineage, seed), mutate(fields, parent.moments, seed, options)


def explain(
    protocol: str,
    lineage: Sequence[int],
    order_type: type[Order] | None = None,
    options: str = NO_OPTIONS,
) -> Scenario:
    """The scenario of a lineage, by running its ancestors again."""
    scenario = draw(protocol, lineage[0], options)
    for seed in lineage[1:]:
        reached = judge(scenario, order_type, is_watched=True).reached or NOTHING
        scenario = mutate(plain_fields(scenario), reached.moments, seed, options)
    return scenario


NOTHING = Reached(frozenset(), ())


def run_guided(slice_: Slice, corpus: Corpus, order_type: type[Order] | None = None) -> Done:
    """Run the seeds of a slice with a corpus; what is new to it comes back."""
    outcomes: list[Outcome] = []
    found: list[Found] = []
    kept: list[Kept] = []
    known = corpus.features
    for seed in range(slice_.first, slice_.first + slice_.count):
        lineage, scenario = propose(slice_.protocol, seed, corpus, slice_.options)
        outcome = judge(scenario, order_type, is_watched=True)
        outcomes.append(outcome)
        if (failure := outcome.failure) is not None:
            where = (slice_.protocol, seed, failure.kind, failure.sentence, slice_.options)
            found.append(Found(*where, lineage, scenario.to_json()))
        elif (reached := outcome.reached) and not reached.features <= known:
            fields = msgspec.json.encode(plain_fields(scenario))
            features = tuple(sorted(reached.features))
            kept.append(Kept(lineage, fields, features, reached.moments, outcome.events))
            known |= reached.features
    return done_with(slice_, outcomes, found, tuple(kept))


def corpus_before(protocol: str, seed: int, done: Iterable[Done]) -> Corpus:
    """What the runs before this seed have left."""
    earlier = [one for one in done if one.slice.protocol == protocol and one.slice.first < seed]
    earlier.sort(key=lambda one: one.slice.first)
    return Corpus(kept for one in earlier for kept in one.kept or ())
