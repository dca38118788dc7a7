"""Verifying a whole trace: every run by itself."""

import os

from antecede.errors import Misuse
from antecede.trace.reader import read_trace
from antecede.trace.schema import LAYERS
from antecede.verify.oracle import judge
from antecede.verify.verdict import Verdict


def verify_trace(path: str | os.PathLike[str], layer: str = "app") -> Verdict:
    """The verdict on all runs of a trace, in one layer."""
    if layer not in LAYERS:
        raise Misuse(f"there is no layer '{layer}'; the layers are {' and '.join(LAYERS)}")
    code = LAYERS.index(layer)
    return sum((judge(run, code) for run in read_trace(path).runs), Verdict())
