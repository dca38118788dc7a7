"""Verifying a whole trace: every run by itself."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from antecede.errors import Misuse
from antecede.trace.batch import Unusual
from antecede.trace.events import Run
from antecede.trace.reader import read_trace
from antecede.trace.schema import APP, LAYERS
from antecede.verify.audit import Judgement, Subject, judge_copies, subject_of, verdict_on
from antecede.verify.findings import findings_of, write_findings
from antecede.verify.incomplete import audit_scoped, find_scoped, judge_scoped
from antecede.verify.oracle import judge
from antecede.verify.output import output_folder
from antecede.verify.scopes import Scopes, has_scopes, read_scopes
from antecede.verify.streaming import stream_runs
from antecede.verify.told import tell_verdict
from antecede.verify.verdict import WITNESS_LIMIT, Verdict

ENGINES: Final = ("local", "oracle")

Path_ = str | os.PathLike[str]


def verify_trace(path: Path_, layer: str = "app", engine: str = "local") -> Verdict:
    """The verdict on all runs of a trace, in one layer: by the kernel (`local`), or by the
    definition (`oracle`), which is slow."""
    if engine not in ENGINES:
        raise Misuse(f"there is no engine '{engine}'; the engines are {' and '.join(ENGINES)}")
    return tell_verdict(path, _judge(path, layer_code(layer), engine), layer)


def _judge(path: Path_, layer: int, engine: str) -> Verdict:
    if layer == APP and has_scopes(path):
        return _verify_scoped(path, audit_scoped if engine == "local" else judge_scoped)
    if engine == "local":
        return verify_runs(path, layer, lambda *_: None)
    return sum((judge(run, layer) for run in read_trace(path, stamps=False).runs), Verdict())


def _verify_scoped(path: Path_, by: Callable[[Run, Scopes], Verdict]) -> Verdict:
    """The verdict on a trace whose messages say what they are ordered with respect to."""
    return sum((by(run, scopes) for run, scopes in _scoped_runs(path)), Verdict())


def _scoped_runs(path: Path_) -> Iterator[tuple[Run, Scopes]]:
    scopes = read_scopes(path)
    for run in read_trace(path, stamps=False).runs:
        yield run, scopes.get(run.name, {})


def verify_into(path: Path_, out: Path_, layer: str = "app", *, force: bool = False) -> Verdict:
    """The same verdict, with all findings in the folder `out`."""
    code = layer_code(layer)
    with output_folder(out, force=force) as output:
        folder = output.findings or Path()

        def keep(index: int, subject: Subject, judged: Judgement) -> None:
            if len(judged.early):
                write_findings(folder / f"{index}.parquet", findings_of(subject, judged.early))

        if code == APP and has_scopes(path):
            verdict = _scoped_into(path, folder)
        else:
            verdict = verify_runs(path, code, keep)
        verdict = tell_verdict(path, verdict, layer)
        output.write(verdict)
    return verdict


def _scoped_into(path: Path_, folder: Path) -> Verdict:
    verdict = Verdict()
    for index, (run, scopes) in enumerate(_scoped_runs(path)):
        found = find_scoped(run, scopes)
        verdict += found.verdict
        if len(found.early):
            write_findings(folder / f"{index}.parquet", found.early)
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
