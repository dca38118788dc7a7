"""Verifying a whole trace: every run by itself."""

import os
from typing import Final

from antecede.compiled import MUCH
from antecede.errors import Misuse
from antecede.trace.reader import count_rows, read_trace
from antecede.trace.schema import LAYERS
from antecede.verify.audit import audit
from antecede.verify.oracle import judge
from antecede.verify.swift import verify_swiftly
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

ENGINES: Final = ("local", "oracle")


def verify_trace(
    path: str | os.PathLike[str], layer: str = "app", engine: str = "local"
) -> Verdict:
    """The verdict on all runs of a trace, in one layer: by the kernel (`local`), or by the
    definition (`oracle`), which is slow."""
    if engine not in ENGINES:
        raise Misuse(f"there is no engine '{engine}'; the engines are {' and '.join(ENGINES)}")
    code = layer_code(layer)
    if engine == "local" and count_rows(path) >= MUCH and (swift := verify_swiftly(path, code)):
        return swift
    verdict = Verdict()
    for run in read_trace(path, stamps=False).runs:
        if engine == "oracle":
            verdict += judge(run, code)
        else:
            verdict += audit(run, code, WITNESS_LIMIT - len(verdict.witnesses))
    return verdict


def layer_code(layer: str) -> int:
    """A layer by its name."""
    if layer not in LAYERS:
        raise Misuse(f"there is no layer '{layer}'; the layers are {' and '.join(LAYERS)}")
    return LAYERS.index(layer)
