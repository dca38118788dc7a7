"""What the judge says, in numbers, for machines and in sentences."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from antecede.trace.assumed import OWN, Assumed, merge_assumed
from antecede.trace.called import time_text
from antecede.verify.delays import Delays

WITNESS_LIMIT: Final = 100
"""Violations beyond these are counted, but not told one by one."""


class Answer(StrEnum):
    """What can be said of causal order. An early delivery that was found is one, unless the order
    of events is unsure; order was kept only if something was delivered and nothing leaves a
    doubt."""

    KEPT = "kept"
    BROKEN = "broken"
    CANNOT_TELL = "cannot tell"


NOTHING: Final = Assumed(
    "nothing",
    "there is no delivery to judge",
    "either nothing was delivered or the deliveries were not recorded",
)
"""The doubt that needs no assumption."""


def doubts_of(deliveries: int, own: int, assumed: tuple[Assumed, ...]) -> tuple[Assumed, ...]:
    """Why order cannot be said to have been kept, after so many deliveries, so many of them at the
    senders themselves; empty if it can."""
    nothing = () if deliveries else (NOTHING,)
    if 0 < deliveries == own and OWN not in assumed:
        nothing = (OWN,)
    return (*nothing, *(one for one in assumed if one.doubt))


def answer_of(
    early: object, doubts: tuple[Assumed, ...], witnesses: "tuple[Witness, ...]" = ()
) -> Answer:
    """The answer, given whether something came early, the doubts, and some proofs. Where the order
    of events is unsure, a proof holds that rests on none of the processes where it is: what it uses
    is the order of two deliveries at one process, and at each sender on its path that it had sent
    or delivered one message before it sent the next. Another order of events elsewhere adds and
    removes nothing of that. Nothing similar holds for order that was kept, so any doubt prevents
    that answer."""
    if not early:
        return Answer.CANNOT_TELL if doubts else Answer.KEPT
    if all(not one.unsure for one in doubts) or any(is_sure(one, doubts) for one in witnesses):
        return Answer.BROKEN
    return Answer.CANNOT_TELL


def is_sure(witness: "Witness", doubts: tuple[Assumed, ...]) -> bool:
    """Whether a proof rests on no process at which the order of events is unsure."""
    used = {witness.process, *(message.rpartition(":")[0] for message in witness.path[1:])}
    where = unsure_at(doubts)
    return where is not None and used.isdisjoint(where)


def unsure_at(doubts: tuple[Assumed, ...]) -> list[str] | None:
    """The processes at which the order of events is unsure; None where it may be anywhere."""
    found = [one for one in doubts if one.unsure]
    if not all(one.processes for one in found):
        return None
    return list(dict.fromkeys(name for one in found for name in one.processes))


def assumed_to_json(one: Assumed) -> dict[str, Any]:
    """An assumption for machines, with its sentence for people."""
    return {
        "what": one.what,
        "count": one.count or None,
        "first": one.first or None,
        "doubt": one.doubt,
        **({"unsure at": list(one.processes) or None} if one.unsure else {}),
        "sentence": one.sentence(),
    }


@dataclass(frozen=True)
class Witness:
    """The proof of one early delivery: `process` delivered `second` before `first`, which was
    addressed to it, too, and on which `second` depends. `path` shows how: from `first` to `second`,
    every message was sent by a process after it had sent or delivered the one before."""

    run: str
    process: str
    first: str
    second: str
    path: tuple[str, ...]
    time: float | None = None
    names: tuple[str, ...] = ()
    """What the log that the trace was made from calls the messages of the path,"""
    place: str = ""
    """and where it tells of the delivery."""
    is_absolute: bool = False
    """Whether `time` counts from 1970."""

    def sentence(self) -> str:
        """The same for a person, in the words of the log if there is one."""
        path = self.names or self.path
        when = "" if self.time is None else f" at {self._when(self.time)}"
        where = f" ({self.place})" if self.place else ""
        through = ", ".join(path[1:-1])
        how = f"depends on through {through}" if through else "directly depends on"
        return (
            f"{self.process} delivered {path[-1]}{when}{where} without {path[0]}, "
            f"which {path[-1]} {how}"
        )

    def _when(self, time: float) -> str:
        return time_text(time, absolute=self.is_absolute)

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "process": self.process,
            "first": self.first,
            "second": self.second,
            "path": list(self.path),
            "time": self.time,
            **({"names": list(self.names)} if self.names else {}),
            **({"place": self.place} if self.place else {}),
        }


@dataclass(frozen=True)
class Verdict:
    """Whether causal delivery held in one run, or in several (verdicts add up)."""

    runs: int = 0
    messages: int = 0
    deliveries: int = 0
    violations: int = 0
    """Deliveries that came too early, each counted once."""
    undelivered: int = 0
    """Pairs of a message and a destination that never delivered it."""
    undelivered_at_crashed: int = 0
    """Those of them whose destination crashed."""
    witnesses: tuple[Witness, ...] = ()
    """For the first violations, at most `WITNESS_LIMIT`."""
    delays: Delays = field(default_factory=Delays)
    """What deliveries waited for, where receptions were recorded. The oracle does not ask."""

    assumed: tuple[Assumed, ...] = ()
    """What the maker of the trace had to assume."""
    own_only: int = 0
    """Deliveries in runs in which nobody delivered what another sent."""

    @property
    def doubts(self) -> tuple[Assumed, ...]:
        """Why order cannot be said to have been kept; empty if it can."""
        return doubts_of(self.deliveries, self.own_only, self.assumed)

    @property
    def answer(self) -> Answer:
        return answer_of(self.violations, self.doubts, self.witnesses)

    def __add__(self, other: "Verdict") -> "Verdict":
        return Verdict(
            self.runs + other.runs,
            self.messages + other.messages,
            self.deliveries + other.deliveries,
            self.violations + other.violations,
            self.undelivered + other.undelivered,
            self.undelivered_at_crashed + other.undelivered_at_crashed,
            (*self.witnesses, *other.witnesses)[:WITNESS_LIMIT],
            self.delays + other.delays,
            merge_assumed((*self.assumed, *other.assumed)),
            self.own_only + other.own_only,
        )

    def to_json(self) -> dict[str, Any]:
        """What `verify --json` prints."""
        return {
            "answer": str(self.answer),
            "doubts": [one.what for one in self.doubts],
            "assumed": [assumed_to_json(one) for one in self.assumed],
            "runs": self.runs,
            "messages": self.messages,
            "deliveries": self.deliveries,
            "violations": self.violations,
            "undelivered": self.undelivered,
            "undelivered_at_crashed": self.undelivered_at_crashed,
            "delays": self.delays.to_json() if self.delays.deliveries else None,
            "witnesses": [witness.to_json() for witness in self.witnesses],
        }
