"""`antecede verify`: was causal order kept?"""

from pathlib import Path
from typing import Annotated

import typer

from antecede.cli._shared import ANSWER_IS_NO, JsonFlag, print_json
from antecede.verify import Verdict, verify_trace

SHOWN = 10
"""Witnesses told to a person; --json lists more."""


def verify(
    trace: Annotated[Path, typer.Argument(help="A Parquet file, or a directory of them.")],
    layer: Annotated[
        str, typer.Option(help="app: the application's messages; hop: those of routers.")
    ] = "app",
    engine: Annotated[
        str, typer.Option(help="local: the kernel; oracle: the definition itself, slow.")
    ] = "local",
    as_json: JsonFlag = False,
) -> None:
    """Say whether a trace kept causal order, with a witness for every violation.

    Exit status: 0 if it did, 1 if it did not, 2 if the trace itself is broken.

    Example: antecede verify run.parquet
    """
    verdict = verify_trace(trace, layer, engine)
    if as_json:
        print_json(verdict.to_json())
    else:
        tell(verdict)
    if not verdict.holds:
        raise typer.Exit(ANSWER_IS_NO)


def tell(verdict: Verdict) -> None:
    """The verdict for a person."""
    print(
        f"{verdict.runs:,} run{'s' * (verdict.runs != 1)}, {verdict.messages:,} messages, "
        f"{verdict.deliveries:,} deliveries"
    )
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
    if verdict.holds:
        print("causal order was kept")
        return
    print(f"causal order was BROKEN: {verdict.violations:,} early deliveries")
    for witness in verdict.witnesses[:SHOWN]:
        where = f"{witness.run}: " if verdict.runs > 1 else ""
        print(f"  {where}{witness.sentence()}")
    more = verdict.violations - len(verdict.witnesses[:SHOWN])
    if more > 0:
        print(f"  and {more:,} more; --json lists up to {len(verdict.witnesses)}")
