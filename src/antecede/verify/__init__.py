"""Whether messages were delivered in causal order, judged from a trace or while a run goes on."""

from antecede.verify.check import verify_trace
from antecede.verify.oracle import OnlineOracle, Violation, judge
from antecede.verify.verdict import WITNESS_LIMIT, Verdict, Witness

__all__ = [
    "WITNESS_LIMIT",
    "OnlineOracle",
    "Verdict",
    "Violation",
    "Witness",
    "judge",
    "verify_trace",
]
