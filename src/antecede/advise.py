"""Which protocol for this traffic: rule out by what each promises, estimate, measure, rank.

Whatever promises less than causal order, cannot address what is addressed, or does not survive the
faults that are named is ruled out, with its reason. Among many processes the cost model
(`antecede.cost`) leaves out what is estimated to be far behind, and a short run what turns out to
be. The others run on the traffic, past their warm-up. Those that come near the best run longer and
longer, until what matters is steady.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import msgspec

from antecede.campaigns.runs import measured
from antecede.campaigns.steady import Verdict, series_of, verdicts
from antecede.cost import Traffic, estimate, traffic_of
from antecede.errors import Misuse
from antecede.order import Gives
from antecede.protocols import find, names, parse_options
from antecede.simulate import Scenario, make_scenario

__all__ = ["Advice", "Candidate", "Matters", "RuledOut", "Unlikely", "advise"]

FIRST, LONGEST = 50, 400
"""Messages a process: at first, and at most."""
MOST_COPIES = 200_000
"""Nothing runs longer than that, whatever is not steady then."""
FINALISTS, NEAR = 4, 2.0
"""How many run longer: so many at most, and besides the best and the next none that needs more than
that times the best."""
MANY, HOPELESS, DOUBTFUL = 32, 4.0, 16.0
"""Among more processes than that, what is estimated to need so many times the best is not run: the
first where the estimate is claimed, else the second. The others are tried,"""
TRIED = 2
"""on so many messages a process, and what needs so many times the best there runs no further."""


class Matters(StrEnum):
    """What is to be small."""

    BYTES = "bytes"
    """All that order costs on the copies of a message and in packets of the protocol's own."""
    DELAY = "delay"
    """From send to delivery."""
    MEMORY = "memory"
    """The state of a process."""
    SURVIVAL = "survival"
    """Crashes and losses are survived; among those that do, bytes."""


COLUMNS = {
    Matters.BYTES: "ordering_bytes_per_message",
    Matters.DELAY: "delay_s_mean",
    Matters.MEMORY: "state_bytes_mean",
}


ESTIMATED = {Matters.BYTES: "ordering", Matters.DELAY: "delay", Matters.MEMORY: "memory"}
"""What the cost model calls it."""


class RuledOut(msgspec.Struct, frozen=True):
    """A protocol that cannot do it, and why."""

    protocol: str
    reason: str


class Unlikely(msgspec.Struct, frozen=True):
    """A protocol that is not run: its estimate of what matters is far behind the best one."""

    name: str
    estimate: float
    claimed: bool
    """Whether that was held to the simulator."""


class Candidate(msgspec.Struct, frozen=True):
    """A protocol that can, as it was measured. What was not known to be steady is in `unsteady`."""

    protocol: str
    options: dict[str, Any]
    messages: int
    bytes: float
    delay_s: float
    memory_bytes: float
    control: float
    """Packets of its own for one message."""
    unsteady: tuple[str, ...]
    takes_back: bool = False
    """Whether applications must be able to undo deliveries."""
    estimates: dict[Matters, float] = {}
    """What the cost model says, where it knows such traffic."""

    @property
    def name(self) -> str:
        """With its options, as they are given."""
        return _name(self.protocol, self.options)

    def value(self, matters: Matters) -> float:
        """What it is ranked by."""
        return {
            Matters.BYTES: self.bytes,
            Matters.DELAY: self.delay_s,
            Matters.MEMORY: self.memory_bytes,
        }[matters]


class Advice(msgspec.Struct, frozen=True):
    """The finalists, the best first; those that were behind, likewise; those ruled out; and those
    that were not run, for the model says that they are far behind."""

    matters: Matters
    finalists: tuple[Candidate, ...]
    others: tuple[Candidate, ...]
    ruled_out: tuple[RuledOut, ...]
    unlikely: tuple[Unlikely, ...] = ()


Tell = Callable[[str, int, int], object]
"""What is measured now, with how long that takes if it is known, and how many of how many it is."""


def advise(
    fields: dict[str, Any],
    matters: Matters = Matters.BYTES,
    *,
    crashes: bool = False,
    tell: Tell = lambda *_: None,
) -> Advice:
    """Advice for a scenario without its protocol, as its file would say it. With `crashes`,
    processes may crash although the scenario says of none. Raises `Misuse` where the scenario is
    wrong, or nothing is left."""
    fields = {name: value for name, value in fields.items() if name not in ("protocol", "options")}
    base = make_scenario({**fields, "protocol": "none"})  # a mistake in it is told once
    ruled_out: list[RuledOut] = []
    must_survive = matters is Matters.SURVIVAL
    if must_survive:
        matters = Matters.BYTES
    crashes = crashes or must_survive or bool(base.crashes)
    loss = must_survive or bool(base.network.loss)
    able = list(_able(fields, base.applications.size, crashes, loss, ruled_out))
    if not able:
        raise Misuse(
            "no protocol is left: " + "; ".join(f"{out.protocol} {out.reason}" for out in ruled_out)
        )
    able, unlikely = _likely(able, base, matters)
    rounds, others = _Rounds(base, matters, tell), list[Candidate]()
    if base.applications.size > MANY:
        tried = rounds.ranked(able, TRIED)
        limit = DOUBTFUL * tried[0].value(matters)
        others = [one for one in tried if one.value(matters) > limit]
        able = [fields for fields in able if not _among(fields, others)]
    ranked = rounds.ranked(able, FIRST)
    finalists = _near(ranked, matters)
    others = [*ranked[len(finalists) :], *others]
    able = [fields for fields in able if _among(fields, finalists)]
    messages = FIRST
    while messages < LONGEST and any(matters in one.unsteady for one in finalists):
        messages *= 2
        if rounds.messages(messages) <= finalists[0].messages:
            break
        finalists = rounds.ranked(able, messages)
    return Advice(matters, tuple(finalists), tuple(others), tuple(ruled_out), tuple(unlikely))


def _among(fields: dict[str, Any], candidates: Sequence[Candidate]) -> bool:
    return any(
        (one.protocol, one.options) == (fields["protocol"], fields["options"]) for one in candidates
    )


def _name(protocol: str, options: dict[str, Any]) -> str:
    return " ".join([protocol, *(f"{name}={value}" for name, value in options.items())])


def _likely(
    able: list[dict[str, Any]], base: Scenario, matters: Matters
) -> tuple[list[dict[str, Any]], list[Unlikely]]:
    """Those to run, and those that are estimated to be far behind, where there are many
    processes."""
    traffic = traffic_of(base) if base.applications.size > MANY else None
    if traffic is None:
        return able, []
    known = {}
    for place, fields in enumerate(able):
        figures = estimate(fields["protocol"], fields["options"], traffic)
        if found := figures.get(ESTIMATED[matters]):
            known[place] = found
    best = min((found.value for found in known.values()), default=0.0)
    far = {
        place: Unlikely(
            _name(able[place]["protocol"], able[place]["options"]), found.value, found.claimed
        )
        for place, found in known.items()
        if found.value > best * (HOPELESS if found.claimed else DOUBTFUL)
    }
    return [one for place, one in enumerate(able) if place not in far], list(far.values())


def _near(ranked: list[Candidate], matters: Matters) -> list[Candidate]:
    limit = NEAR * ranked[0].value(matters)
    near = [one for one in ranked[:FINALISTS] if one.value(matters) <= limit]
    return ranked[: max(2, len(near))]


def _able(
    fields: dict[str, Any], size: int, crashes: bool, loss: bool, ruled_out: list[RuledOut]
) -> Iterator[dict[str, Any]]:
    for name in names():
        reasons = []
        for options in find(name).options_type.compared(size):
            reason = _why_not(name, options, crashes, loss)
            if reason is None:
                try:
                    make_scenario({**fields, "protocol": name, "options": options})
                except Misuse as error:
                    reason = str(error).removeprefix("workload: ").replace(name, "this one")
                else:
                    yield {**fields, "protocol": name, "options": options}
            reasons.append(reason)
        if all(reasons):
            ruled_out.append(RuledOut(name, reasons[0] or ""))


def _why_not(name: str, options: dict[str, Any], crashes: bool, loss: bool) -> str | None:
    parsed = parse_options(name, options, processes=2)
    traits = find(name).variant(parsed).traits_under(parsed)
    if traits.gives < Gives.CAUSAL:
        return "does not promise causal order"
    if crashes and not traits.survives_crashes:
        return "does not survive crashes"
    if not crashes and traits.takes_back:
        return "takes deliveries back after crashes, of which there are none"
    if loss and not (traits.survives_loss or traits.repairs_loss):
        return "waits for ever for what is lost: give it links that lose nothing (TCP)"
    return None


class _Rounds:
    """Runs protocols on the traffic, longer from round to round."""

    def __init__(self, base: Scenario, matters: Matters, tell: Tell) -> None:
        self._size = base.applications.size
        self._copies = _copies(base)
        self._matters = matters
        self._tell = tell
        self._took_s: dict[str, float] = {}
        """What a message took, by protocol and options."""

    def messages(self, each: int) -> int:
        """How many there are, if each process sends so many, but for the limit."""
        return max(TRIED * self._size, min(each * self._size, int(MOST_COPIES / self._copies)))

    def ranked(self, able: Sequence[dict[str, Any]], each: int) -> list[Candidate]:
        """All of them on so many messages a process, the best first."""
        messages, found = self.messages(each), []
        with TemporaryDirectory(prefix="antecede-advise-") as folder:
            for place, fields in enumerate(able):
                name = _name(fields["protocol"], fields["options"])
                left_s = messages * sum(
                    self._took_s.get(_name(one["protocol"], one["options"]), 0.0)
                    for one in able[place:]
                )
                told = f", about {left_s:,.0f} s left" if left_s else ""
                self._tell(f"{messages:,} messages each: {name}{told}", place, len(able))
                began_s = perf_counter()
                is_graph = "graph" in fields.get("workload", {})
                limit = {} if is_graph else {"messages": messages}
                scenario = make_scenario({**fields, **limit})
                aside = Path(folder) / f"{place}.parquet"
                found.append(_candidate(scenario, fields["options"], aside))
                self._took_s[name] = (perf_counter() - began_s) / messages
        return sorted(found, key=lambda one: (one.value(self._matters), one.name))


def _copies(base: Scenario) -> float:
    """How many processes a message goes to, or most of them might."""
    traffic = traffic_of(base)
    return max(1.0, traffic.copies if traffic else base.applications.size - 1.0)


def _candidate(scenario: Scenario, options: dict[str, Any], aside: Path) -> Candidate:
    row = measured(scenario, "auto", aside)
    aside.unlink()
    steady = verdicts([row])
    unsteady = [
        matters.value
        for matters, column in COLUMNS.items()
        if (series := series_of(column))
        and steady.get(series, Verdict.STEADY) is not Verdict.STEADY
    ]
    return Candidate(
        scenario.protocol,
        options,
        scenario.message_limit,
        row["ordering_bytes_per_message"] or 0.0,
        row["delay_s_mean"] or 0.0,
        row["state_bytes_mean"] or 0.0,
        row["control_per_message"] or 0.0,
        tuple(unsteady),
        scenario.traits.takes_back,
        _estimates(scenario, options, traffic_of(scenario)),
    )


def _estimates(
    scenario: Scenario, options: dict[str, Any], traffic: Traffic | None
) -> dict[Matters, float]:
    if traffic is None:
        return {}
    figures = estimate(scenario.protocol, options, traffic)
    return {one: figures[name].value for one, name in ESTIMATED.items() if name in figures}
