"""`antecede verify`: was causal order kept?"""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from antecede.cli._shared import (
    ANSWER_IS_NO,
    WITHOUT_SPARK,
    JsonFlag,
    counts_text,
    exit_with,
    has_spark,
    print_json,
)
from antecede.errors import Misuse
from antecede.trace import read_trace
from antecede.trace.reader import count_rows
from antecede.verify import Answer, Verdict, verify_into, verify_trace
from antecede.verify.holes import Hole, find_holes
from antecede.verify.output import refuse_existing
from antecede.verify.scopes import has_scopes
from antecede.verify.verdict import is_sure

SHOWN = 10
"""Witnesses told to a person; --json lists more."""
ENGINES = ("auto", "local", "spark", "oracle")
LOCAL_ROWS = 50_000_000
"""Rows up to which a trace goes into memory: at some fifty bytes each, or five times as many where
there are no positions or rows are out of order."""
SHORT_ROWS = 100_000
"""Rows up to which Spark need not make its code fast."""


def verify(
    trace: Annotated[Path, typer.Argument(help="A Parquet file, or a directory of them.")],
    layer: Annotated[
        str, typer.Option(help="app: the application's messages; hop: those of routers.")
    ] = "app",
    engine: Annotated[
        str,
        typer.Option(
            help="local: the kernel, in memory; spark: in parts, any size; auto: one of the two, "
            "by size; oracle: the definition itself, slow."
        ),
    ] = "auto",
    master: Annotated[
        str, typer.Option(help="Where Spark runs: local[2], spark://host:port ...")
    ] = "local[*]",
    out: Annotated[
        Path | None, typer.Option(help="A folder for the verdict and a table of all findings.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace that folder if it exists.")] = False,
    holes: Annotated[
        bool,
        typer.Option(
            help="Also look for persistent causal holes: messages that were lost for good while "
            "others depend on them. For runs that fit in memory; slow on long ones."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Say whether a trace kept causal order, with a witness for every violation.

    Exit status: 0 if it did, 1 if it did not (or has holes), 2 if the trace itself is broken, 3 if
    it cannot be told: nothing was delivered, or the trace was made from a log that does not show
    enough.

    Example: antecede verify run.parquet
    """
    if engine not in ENGINES:
        raise Misuse(f"there is no engine '{engine}'; the engines are {', '.join(ENGINES)}")
    is_scoped = layer == "app" and has_scopes(trace)
    if engine == "auto":
        engine = "local" if count_rows(trace) <= LOCAL_ROWS else "spark"
        if engine == "spark" and not has_spark():
            print(WITHOUT_SPARK, file=sys.stderr)
            engine = "local"
    if engine == "spark":
        verdict = verify_with_spark(trace, layer, master, out, force)
    elif out is None:
        verdict = verify_trace(trace, layer, engine)
    elif engine == "local":
        verdict = verify_into(trace, out, layer, force=force)
    else:
        raise Misuse("--out goes with the engines local and spark")
    found = [hole for run in read_trace(trace).runs for hole in find_holes(run)] if holes else []
    if as_json:
        extra = {"holes": [msgspec.to_builtins(hole) for hole in found]} if holes else {}
        print_json({**verdict.to_json(), **extra})
    else:
        tell(verdict, "the order that its messages ask for" if is_scoped else "causal order")
        if holes:
            tell_holes(found)
    if found:
        raise typer.Exit(ANSWER_IS_NO)
    exit_with(verdict.answer)


def tell_holes(found: list[Hole]) -> None:
    """The holes for a person."""
    print(f"persistent causal holes: {len(found):,}")
    for hole in found[:SHOWN]:
        print(f"  {hole.sentence()}")
    if len(found) > SHOWN:
        print(f"  and {len(found) - SHOWN:,} more; --json lists them all")


def verify_with_spark(
    trace: Path, layer: str, master: str, out: Path | None, force: bool
) -> Verdict:
    """The verdict by Spark; a terminal sees what is going on."""
    from antecede.pipeline.session import build_session  # noqa: PLC0415 - Spark takes long

    if out is not None:
        refuse_existing(out, force)
    small = count_rows(trace) < SHORT_ROWS
    with Console(stderr=True).status("starting Spark") as status:
        spark = build_session(master, short=small)
        from antecede.pipeline.audit.verify import verify_on_spark  # noqa: PLC0415 - see above

        try:
            return verify_on_spark(spark, trace, layer, out=out, force=force, tell=status.update)
        finally:
            spark.stop()


def tell(verdict: Verdict, what: str = "causal order") -> None:
    """The verdict for a person, on the order that was asked for."""
    print(counts_text(verdict.runs, verdict.messages, verdict.deliveries))
    crashed = verdict.undelivered_at_crashed
    at_crashed = f", {crashed:,} of them at processes that crashed" if crashed else ""
    print(f"undelivered: {verdict.undelivered:,}{at_crashed}")
    delays = verdict.delays
    if delays.deliveries:
        print(
            f"held, on average: {delays.mean(delays.forced_s):.6g} s for messages that had not "
            f"arrived (forced), {delays.mean(delays.inherited_s):.6g} s for messages that were "
            f"held themselves (inherited), {delays.mean(delays.own_s):.6g} s without need (own)"
        )
    if verdict.answer is Answer.KEPT:
        print(f"{what} was kept")
    elif verdict.answer is Answer.CANNOT_TELL:
        found = "some early deliveries were" if verdict.violations else "no early delivery was"
        print(f"{found} found, but whether {what} was kept CANNOT BE TOLD:")
    else:
        tell_witnesses(verdict, f"{what} was BROKEN")
    doubts = verdict.doubts if verdict.answer is not Answer.BROKEN else ()
    for doubt in doubts:
        print(f"  {doubt.sentence()}")
    if verdict.answer is Answer.CANNOT_TELL and verdict.violations:
        tell_witnesses(verdict, f"{what} was perhaps broken")
    if notes := [one for one in verdict.assumed if one not in doubts]:
        print("assumed from the log:")
        for note in notes:
            print(f"  {note.sentence()}")


def tell_witnesses(verdict: Verdict, lead: str) -> None:
    """The first early deliveries for a person."""
    early = "delivery" if verdict.violations == 1 else "deliveries"
    print(f"{lead}: {verdict.violations:,} early {early}")
    sure = [one for one in verdict.witnesses if is_sure(one, verdict.doubts)]
    shown = (sure if verdict.answer is Answer.BROKEN else verdict.witnesses)[:SHOWN]
    for witness in shown:
        where = f"{witness.run}: " if verdict.runs > 1 else ""
        print(f"  {where}{witness.sentence()}")
    more = verdict.violations - len(shown)
    if more > 0:
        perhaps = " perhaps" if any(one.unsure for one in verdict.doubts) else ""
        print(f"  and{perhaps} {more:,} more; --json lists up to {len(verdict.witnesses)}")
