"""`antecede fuzz`: random scenarios, judged, and shrunk where they fail."""

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.console import Console

from antecede.cli._shared import (
    ANSWER_IS_NO,
    JsonFlag,
    MasterFlag,
    OptionFlags,
    chosen_master,
    parse_option_flags,
    print_json,
    progress_bar,
)
from antecede.errors import Misuse, counted
from antecede.fuzzing.finding import Finding
from antecede.fuzzing.judging import judge
from antecede.fuzzing.ledger import AS_DRAWN, Ledger, reserved
from antecede.pipeline.spread import HERE
from antecede.protocols import find, names, parse_options
from antecede.simulate import load_scenario

DEFAULT_RUNS = 2_000
SHOWN = 10
"""Failures told to a person."""


def fuzz(
    protocol: Annotated[
        list[str] | None,
        typer.Option(help="A protocol; may repeat. By default all of them, taking turns."),
    ] = None,
    option: OptionFlags = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help=f"How many runs in all; {DEFAULT_RUNS:,} by default.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(min=0, help="Stop after this time.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 1,
    master: MasterFlag = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="A folder for the records and the failures; runs recorded there are not repeated."
        ),
    ] = None,
    guided: Annotated[
        bool,
        typer.Option(
            "--guided", help="Keep scenarios that reach something new, and change them a little."
        ),
    ] = False,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Judge this scenario, and nothing else.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Draw scenarios from seeds, run them, and look for one in which a protocol breaks its word.

    A failure is shrunk to a small scenario, which `antecede simulate --scenario` replays. With
    --out, what was done before is not done again. Exit status 1 if a failure was found, now or
    before.

    Example: antecede fuzz --protocol vector --runs 5000 --out fuzzed
    """
    if replay is not None:
        _replay(replay, as_json)
        return
    protocols = [find(name).name for name in protocol] if protocol else list(names())
    options = _options(protocols, parse_option_flags(option))
    if runs is None and minutes is None:
        runs = DEFAULT_RUNS
    with reserved(out):
        ledger = Ledger(out)
        before = ledger.runs
        start = perf_counter()
        try:
            findings = _run(
                protocols, options, ledger, seed, runs, minutes, chosen_master(master), guided
            )
        except KeyboardInterrupt:
            print(f"interrupted after {counted(ledger.runs, 'run')}; {_kept(out)}", file=sys.stderr)
            raise
        took_s = perf_counter() - start
    if as_json:
        print_json(_as_json(ledger, findings, before, took_s))
    else:
        tell(ledger, findings, before, took_s)
    if ledger.found:
        raise typer.Exit(ANSWER_IS_NO)


def _kept(out: Path | None) -> str:
    if out is None:
        return "with --out FOLDER they would be kept"
    return "the same command resumes where it stopped"


def _options(protocols: list[str], options: dict[str, Any]) -> str:
    """Those that are not to be drawn, as JSON."""
    if options and len(protocols) != 1:
        raise Misuse("options belong to one protocol; name it with --protocol")
    if options:
        # Whether a number suits the number of processes is seen when that is drawn.
        parse_options(protocols[0], options, processes=2)
    return json.dumps(options, sort_keys=True)


def _run(
    protocols: list[str],
    options: str,
    ledger: Ledger,
    seed: int,
    runs: int | None,
    minutes: float | None,
    master: str,
    is_guided: bool,
) -> list[Finding]:
    from antecede.pipeline.campaigns.fuzz import fuzz as run_fuzz  # noqa: PLC0415 - only where needed

    spark = None
    if master != HERE:
        from antecede.pipeline.session import build_session  # noqa: PLC0415 - Spark takes long

        with Console(stderr=True).status("starting Spark"):
            spark = build_session(master, short=True)
    try:
        with progress_bar("fuzzing", runs) as tick:
            return run_fuzz(
                spark,
                protocols,
                ledger,
                first_seed=seed,
                runs=runs,
                minutes=minutes,
                options=options,
                is_guided=is_guided,
                tell=lambda done, events: tick(done, runs, _so_far(ledger)),
            )
    finally:
        if spark is not None:
            spark.stop()


def _so_far(ledger: Ledger) -> str:
    """What failed, for who watches: a search takes hours, and a failure may end it."""
    found = ledger.found
    return counted(len(found), "failure") if found else ""


def tell(ledger: Ledger, findings: list[Finding], before: int, took_s: float) -> None:
    """The result for a person."""
    new = ledger.runs - before
    print(
        f"{counted(ledger.runs, 'run')}, {counted(ledger.events, 'event')}, "
        f"{counted(ledger.messages, 'message')}, {counted(ledger.deliveries, 'delivery')}"
    )
    if before:
        print(f"{new:,} of these runs now, the others before")
    if took_s and new:
        print(f"{new / took_s:,.0f} runs/s")
    copies, in_runs = ledger.let_go
    if copies:
        print(
            f"let go after forget_after_s though somebody had the message, told by name: "
            f"{counted(copies, 'copy')} in {counted(in_runs, 'run')}"
        )
    found = ledger.found
    kept = [kept for done in ledger.done for kept in done.kept or ()]
    if kept:
        features = counted(len({feature for one in kept for feature in one.features}), "feature")
        print(f"{counted(len(kept), 'run')} reached something new, {features} in all")
    print(f"failures: {len(found):,}")
    fresh = {finding.found: finding for finding in findings}
    for one in found[:SHOWN]:
        lineage = f" (lineage {'/'.join(map(str, one.lineage))})" if one.lineage else ""
        print(f"  {one.protocol}, seed {one.seed}{lineage}: {one.kind}: {one.sentence}")
        if file := ledger.file_of(one) or ledger.file_of(one, AS_DRAWN):
            print(f"    replay: antecede simulate --scenario {file}")
        elif one in fresh:
            finding = fresh[one]
            size = counted(finding.processes, "process"), counted(finding.messages, "message")
            print(f"    shrunk to {', '.join(size)}:")
            print("".join(f"      {line}\n" for line in finding.scenario.splitlines()), end="")
    if len(found) > SHOWN:
        print(f"  and {len(found) - SHOWN:,} more; --json lists them all")


def _as_json(ledger: Ledger, findings: list[Finding], before: int, took_s: float) -> dict[str, Any]:
    fresh = {finding.found: finding for finding in findings}
    return {
        "runs": ledger.runs,
        "runs_now": ledger.runs - before,
        "events": ledger.events,
        "messages": ledger.messages,
        "deliveries": ledger.deliveries,
        "let_go": dict(zip(("copies", "runs"), ledger.let_go, strict=True)),
        "seconds": round(took_s, 3),
        "failures": len(ledger.found),
        "found": [
            {
                "protocol": one.protocol,
                "seed": one.seed,
                "lineage": list(one.lineage),
                "kind": one.kind,
                "sentence": one.sentence,
                "file": None if (file := ledger.file_of(one)) is None else str(file),
                "as_drawn": None if (raw := ledger.file_of(one, AS_DRAWN)) is None else str(raw),
                "scenario": fresh[one].scenario if one in fresh else None,
            }
            for one in ledger.found
        ],
    }


def _replay(file: Path, as_json: bool) -> None:
    """One scenario, judged as the runs are."""
    if not file.suffix:
        raise Misuse(f"--replay {file}: name a scenario file, such as failure.toml")
    scenario = load_scenario(file)
    outcome = judge(scenario)
    failure = outcome.failure
    if as_json:
        print_json(
            {
                "protocol": scenario.protocol,
                "messages": outcome.messages,
                "deliveries": outcome.deliveries,
                "let_go": outcome.let_go,
                "kind": failure and failure.kind,
                "sentence": failure and failure.sentence,
            }
        )
    elif failure is None:
        print(f"{scenario.protocol}: nothing went wrong")
        if outcome.let_go:
            copies = counted(outcome.let_go, "copy")
            print(f"{copies} let go after forget_after_s, told by name, though somebody has them")
    else:
        print(f"{failure.kind}: {failure.sentence}")
    if failure is not None:
        raise typer.Exit(ANSWER_IS_NO)
