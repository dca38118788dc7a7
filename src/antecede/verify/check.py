"""Verifying a whole trace: every run by itself."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from antecede.errors import Misuse
from antecede.trace.batch import Unusual
from antecede.trace.events import Run
from antecede.trace.reader import read_trace
from antecede.trace.schema import APP, LAYERS, ORDERED
from antecede.verify.audit import Judgement, Subject, judge_copies, subject_of, verdict_on
from antecede.verify.findings import findings_of, write_findings
from antecede.verify.lesser import audit_lesser, judge_lesser
from antecede.verify.oracle import judge
from antecede.verify.output import output_folder
from antecede.verify.scopes import Scopes, has_scopes, read_scopes
from antecede.verify.streaming import stream_runs
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

ENGINES: Final = ("local", "oracle")

Path_ = str | os.PathLike[str]


def verify_trace(path: Path_, layer: str = "app", engine: str = "local") -> Verdict:
    """The verdict on all runs of a trace, in one layer: by the kernel (`local`), or by the
    definition (`oracle`), which is slow."""
    if engine not in ENGINES:
        raise Misuse(f"there is no engine '{engine}'; the engines are {' and '.join(ENGINES)}")
    code = layer_code(layer)
    if code == APP and has_scopes(path):
        return _verify_scoped(path, audit_lesser if engine == "local" else judge_lesser)
    if engine == "local":
        return verify_runs(path, code, lambda *_: None)
    return sum((judge(run, code) for run in read_trace(path, stamps=False).runs), Verdict())


def _verify_scoped(path: Path_, by: Callable[[Run, Scopes], Verdict]) -> Verdict:
    """The verdict on a trace whose messages say what they are ordered with respect to."""
    scopes = read_scopes(path)
    runs = read_trace(path, stamps=False).runs
    return sum((by(run, scopes.get(run.name, {})) for run in runs), Verdict())


def verify_into(path: Path_, out: Path_, layer: str = "app", *, force: bool = False) -> Verdict:
    """The same verdict, with all findings in the folder `out`."""
    code = layer_code(layer)
    if code == APP and has_scopes(path):
        raise Misuse(f"{path} has the column '{ORDERED}': --out is for causal order; leave it out")
    with output_folder(out, force=force) as output:
        folder = output.findings or Path()

        def keep(index: int, subject: Subject, judged: Judgement) -> None:
            if len(judged.early):
                write_findings(folder / f"{index}.parquet", findings_of(subject, judged.early))

        verdict = verify_runs(path, code, keep)
        output.write(verdict)
    return verdict


def verify_runs(
    path: Path_, layer: int, keep: Callable[[int, Subject, Judgement], None]
) -> Verdict:
    """The verdict, run by run; `keep` sees each of them, with what was found. A trace that cannot
    be taken as it is read (rows out of order, no positions, a run in several pieces) goes into
    memory, and so does a broken one, which gets its error there; `keep` may see a run twice."""
    try:
        return _add_up(stream_runs(path, layer), keep)
    except Unusual:
        return _add_up(_runs_in_memory(path, layer), keep)


def _runs_in_memory(path: Path_, layer: int) -> Iterator[Subject]:
    for run in read_trace(path, stamps=False).runs:
        yield subject_of(run, layer)


def _add_up(
    subjects: Iterator[Subject], keep: Callable[[int, Subject, Judgement], None]
) -> Verdict:
    verdict = Verdict()
    for index, subject in enumerate(subjects):
        judged = judge_copies(subject.joined)
        verdict += verdict_on(subject, judged, WITNESS_LIMIT - len(verdict.witnesses))
        keep(index, subject, judged)
    return verdict


def layer_code(layer: str) -> int:
    """A layer by its name."""
    if layer not in LAYERS:
        raise Misuse(f"there is no layer '{layer}'; the layers are {' and '.join(LAYERS)}")
    return LAYERS.index(layer)
