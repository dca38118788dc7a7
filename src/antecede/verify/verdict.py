"""What the judge says, in numbers, for machines and in sentences."""

from dataclasses import dataclass, field
from typing import Any, Final

from antecede.verify.delays import Delays

WITNESS_LIMIT: Final = 100
"""Violations beyond these are counted, but not told one by one."""


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

    def sentence(self) -> str:
        """The same for a person."""
        when = "" if self.time is None else f" at {self.time:.6g} s"
        through = ", ".join(self.path[1:-1])
        how = f"depends on through {through}" if through else "directly depends on"
        return (
            f"{self.process} delivered {self.second}{when} without {self.first}, "
            f"which {self.second} {how}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "process": self.process,
            "first": self.first,
            "second": self.second,
            "path": list(self.path),
            "time": self.time,
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

    @property
    def holds(self) -> bool:
        return self.violations == 0

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
        )

    def to_json(self) -> dict[str, Any]:
        """What `verify --json` prints."""
        return {
            "runs": self.runs,
            "messages": self.messages,
            "deliveries": self.deliveries,
            "violations": self.violations,
            "undelivered": self.undelivered,
            "undelivered_at_crashed": self.undelivered_at_crashed,
            "delays": self.delays.to_json() if self.delays.deliveries else None,
            "witnesses": [witness.to_json() for witness in self.witnesses],
        }
