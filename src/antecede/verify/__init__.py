"""Whether messages were delivered in causal order, judged from a trace or while a run goes on."""

from antecede.verify.audit import audit
from antecede.verify.check import ENGINES, verify_into, verify_trace
from antecede.verify.delays import Delays
from antecede.verify.explanation import Explanation, Predecessor, explain
from antecede.verify.oracle import OnlineOracle, Violation, judge
from antecede.verify.tables import verify_table
from antecede.verify.verdict import WITNESS_LIMIT, Answer, Verdict, Witness

__all__ = [
    "ENGINES",
    "WITNESS_LIMIT",
    "Answer",
    "Delays",
    "Explanation",
    "OnlineOracle",
    "Predecessor",
    "Verdict",
    "Violation",
    "Witness",
    "audit",
    "explain",
    "judge",
    "verify_into",
    "verify_table",
    "verify_trace",
]
