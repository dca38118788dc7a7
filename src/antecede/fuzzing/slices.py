"""Many seeds in one piece of work: a run takes milliseconds, and handing one out takes more."""

from collections.abc import Iterable, Sequence
from itertools import count as counting

import msgspec

from antecede.fuzzing.drawing import NO_OPTIONS, draw
from antecede.fuzzing.judging import Outcome, judge
from antecede.order import Order

SLICE = 100
"""Runs in a slice: a second or so of work."""


class Slice(msgspec.Struct, frozen=True):
    """The seeds from `first` on, so many, of one protocol. `options` are not drawn, but given, as
    JSON."""

    protocol: str
    first: int
    count: int
    options: str = NO_OPTIONS


class Found(msgspec.Struct, frozen=True):
    """A run that failed."""

    protocol: str
    seed: int
    kind: str
    sentence: str
    options: str = NO_OPTIONS
    lineage: tuple[int, ...] = ()
    """Of a guided run: the seed that its first ancestor was drawn from, and those of the mutations
    since."""
    scenario: str = ""
    """The same as JSON."""


class Kept(msgspec.Struct, frozen=True):
    """A guided run that reached something new."""

    lineage: tuple[int, ...]
    fields: bytes
    """Of the scenario, as JSON."""
    features: tuple[int, ...]
    moments: tuple[float, ...]
    events: int


class Done(msgspec.Struct, frozen=True):
    """What a slice came to."""

    slice: Slice
    events: int
    messages: int
    deliveries: int
    found: tuple[Found, ...]
    kept: tuple[Kept, ...] | None = None
    """Of a guided slice."""
    let_go: int = 0
    """Copies that are excused though somebody has the message (`Outcome.let_go`),"""
    let_go_runs: int = 0
    """and the runs with such."""


def run_slice(slice_: Slice, order_type: type[Order] | None = None) -> Done:
    """Run the seeds of a slice, one after the other."""
    outcomes: list[Outcome] = []
    found = []
    for seed in range(slice_.first, slice_.first + slice_.count):
        outcome = judge(draw(slice_.protocol, seed, slice_.options), order_type)
        outcomes.append(outcome)
        if outcome.failure is not None:
            failure = outcome.failure
            where = (slice_.protocol, seed, failure.kind, failure.sentence, slice_.options)
            found.append(Found(*where))
    return done_with(slice_, outcomes, found)


def done_with(
    slice_: Slice,
    outcomes: Sequence[Outcome],
    found: Iterable[Found],
    kept: tuple[Kept, ...] | None = None,
) -> Done:
    """What these runs came to together."""
    return Done(
        slice_,
        sum(one.events for one in outcomes),
        sum(one.messages for one in outcomes),
        sum(one.deliveries for one in outcomes),
        tuple(found),
        kept,
        sum(one.let_go for one in outcomes),
        sum(one.let_go > 0 for one in outcomes),
    )


def plan(
    protocols: Sequence[str],
    first_seed: int,
    runs: int,
    done: Iterable[Slice],
    size: int = SLICE,
    options: str = NO_OPTIONS,
) -> list[Slice]:
    """Slices for the first `runs` runs that are not done. The protocols take turns; all count their
    seeds from `first_seed`."""
    covered: dict[str, set[int]] = {protocol: set() for protocol in protocols}
    for one in done:
        if one.protocol in covered and one.options == options:
            covered[one.protocol].update(range(one.first, one.first + one.count))
    planned: list[tuple[int, Slice]] = []
    for turn, protocol in enumerate(protocols):
        share = (runs + len(protocols) - 1 - turn) // len(protocols)
        start: int | None = None
        for seed in counting(first_seed):
            is_wanted = seed < first_seed + share and seed not in covered[protocol]
            if start is not None and (not is_wanted or seed - start == size):
                planned.append((start, Slice(protocol, start, seed - start, options)))
                start = None
            if seed >= first_seed + share:
                break
            if is_wanted and start is None:
                start = seed
    return [one for _, one in sorted(planned, key=lambda entry: entry[0])]
