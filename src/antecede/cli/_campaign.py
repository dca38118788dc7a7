"""`antecede campaign`: many runs, planned from one file, measured and compared."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar

from antecede.campaigns.file import load_campaign
from antecede.campaigns.plan import EVENTS_LIMIT, Plan, check_size, make_plan
from antecede.cli._plain import Command, CommandGroup
from antecede.cli._shared import (
    ANSWER_IS_NO,
    CANNOT_TELL,
    JsonFlag,
    MasterFlag,
    Spoken,
    chosen_master,
    print_json,
    print_table,
)
from antecede.errors import counted
from antecede.pipeline.spread import HERE
from antecede.shipped import find as find_shipped

if TYPE_CHECKING:
    from antecede.pipeline.campaigns.campaign import Finished, Progress

SHOWN = 5
"""Reasons and failures told to a person; the tables have them all."""

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    help="Run many simulations from one file, measure them and compare them.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
FileArgument = Annotated[
    Path, typer.Argument(help="A campaign file (TOML), or the name of one that ships.")
]


@app.command(cls=Command)
def run(
    file: FileArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the results; a campaign in it is resumed.",
            show_default="the file's name",
        ),
    ] = None,
    master: MasterFlag = None,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Run it even if it makes over {EVENTS_LIMIT:,} events.")
    ] = False,
    retry: Annotated[bool, typer.Option(help="Repeat failed runs.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Simulate, verify and measure every run of a campaign; resume where an earlier call stopped.

    An interrupted call loses only the runs in progress; a changed file runs only what is new.
    Exit status 1 if a run failed, or if a protocol broke the order that it promises or left a
    message undelivered that it owes, as `antecede simulate` judges it; 3 if there was nothing to
    judge.

    Example: antecede campaign run demo --out build/demo
    """
    from antecede.pipeline.campaigns.campaign import run_campaign  # noqa: PLC0415 - only where needed
    from antecede.pipeline.session import build_session  # noqa: PLC0415 - see above

    file = find_shipped("campaigns", file)
    out = out or Path(file.stem)
    campaign = load_campaign(file)
    plan = make_plan(campaign, str(file))
    if not yes:
        check_size(plan)
    sessions = []

    def session() -> Any:
        place = chosen_master(master)
        if place == HERE:
            return None
        # The work is done by Python; what Java does is over before its code would be fast.
        sessions.append(build_session(place, short=True))
        return sessions[0]

    text = file.read_text("utf-8")
    try:
        with _display() as tell:
            finished = run_campaign(campaign, plan, text, out, session, retry=retry, tell=tell)
    except KeyboardInterrupt:
        print("interrupted; the same command resumes where it stopped", file=sys.stderr)
        raise
    finally:
        for spark in sessions:
            spark.stop()
    if as_json:
        print_json(msgspec.to_builtins(finished))
    else:
        _tell(finished, plan, out)
    if finished.failed or finished.broken or finished.stalled:
        raise typer.Exit(ANSWER_IS_NO)
    if finished.promised and not finished.judged:
        raise typer.Exit(CANNOT_TELL)


@app.command(cls=Command)
def plan(file: FileArgument, as_json: JsonFlag = False) -> None:
    """Say what a campaign would run, and what it would leave out and why.

    Example: antecede campaign plan demo
    """
    file = find_shipped("campaigns", file)
    campaign = load_campaign(file)
    made = make_plan(campaign, str(file))
    if as_json:
        print_json(
            {
                "name": campaign.name,
                "runs": len(made.runs),
                "events": made.events,
                "settings": [
                    {**msgspec.structs.asdict(setting), "runs": count}
                    for setting, count in _settings(made).items()
                ],
                "skipped": [
                    {**msgspec.structs.asdict(cell.setting), "reason": cell.reason}
                    for cell in made.skipped
                ],
            }
        )
        return
    rows = [
        (setting.variant, setting.network, setting.workload, str(setting.processes), str(count))
        for setting, count in _settings(made).items()
    ]
    print_table(("variant", "network", "workload", "processes", "runs"), rows, text=3)
    print(f"\n{counted(len(made.runs), 'run')}, about {made.events:,} events")
    _tell_skipped(made)


@app.command(cls=Command)
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign.")],
    out: Annotated[
        Path | None, typer.Option(help="The page to write; by default DIR/report.html.")
    ] = None,
    figures: Annotated[
        Path | None, typer.Option(help="A folder for every figure as an SVG file, too.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace another page of that name.")] = False,
) -> None:
    """Write one self-contained page about a finished campaign.

    Example: antecede campaign report build/demo
    """
    from antecede.report import write_figures, write_report  # noqa: PLC0415 - only where needed

    page = out or folder / "report.html"
    print(write_report(folder, page, force=force or out is None))
    if figures is not None:
        for figure in write_figures(folder, figures):
            print(figure)


@app.command(cls=Command)
def export(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a campaign.")],
    to: Annotated[str, typer.Option(help="csv, delta or duckdb.")],
    out: Annotated[
        Path, typer.Option(help="The database of DuckDB; a folder for the other formats.")
    ],
    force: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
) -> None:
    """Write the tables of a finished campaign in another format.

    The folder has them as Parquet, which most tools read as it is: docs/tables.md.

    Example: antecede campaign export build/demo --to duckdb --out demo.duckdb
    """
    from antecede.campaigns.export import export as write  # noqa: PLC0415 - only where needed

    print(write(folder, to, out, force=force))


def _settings(plan: Plan) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for planned in plan.runs:
        counts[planned.setting] = counts.get(planned.setting, 0) + 1
    return counts


def _tell(finished: "Finished", plan: Plan, out: Path) -> None:
    """The outcome for a person."""
    runs, events = counted(finished.runs, "run"), counted(finished.events, "event")
    print(f"{finished.name}: {runs}, {events}, in {out}")
    cpu_s = finished.simulate_cpu_s + finished.verify_cpu_s
    print(f"{cpu_s:,.1f} s of processor time for simulating and verifying")
    _tell_skipped(plan)
    if finished.failed:
        print(f"FAILED: {counted(finished.failed, 'run')}; their scenarios are in {out / 'failed'}")
    if finished.broken:
        print(f"causal order was BROKEN in {counted(finished.broken, 'run')} that promised it")
    if finished.stalled:
        runs = counted(finished.stalled, "run")
        print(f"messages were left UNDELIVERED that are owed in {runs}")
    if finished.failed or finished.broken or finished.stalled:
        return
    if not finished.promised:
        print("no protocol here promises causal order")
    elif not finished.judged:
        print("nothing was delivered where causal order was promised: there was nothing to judge")
    else:
        print("every protocol kept its promise in every run")
    print(f"next: antecede campaign report {out}")


def _tell_skipped(plan: Plan) -> None:
    if not plan.skipped:
        return
    print(f"left out: {counted(len(plan.skipped), 'setting')} that a protocol cannot run")
    reasons = list(dict.fromkeys(f"{cell.setting.variant}: {cell.reason}" for cell in plan.skipped))
    for reason in reasons[:SHOWN]:
        print(f"  {reason}")
    if len(reasons) > SHOWN:
        more = counted(len(reasons) - SHOWN, "more reason")
        print(f"  and {more}, in the table `skipped`")


@contextmanager
def _display() -> Iterator[Callable[["Progress"], None]]:
    """Progress: a bar on a terminal, otherwise a line now and then."""
    start = perf_counter()

    def words(progress: "Progress") -> str:
        return "" if progress.stage != "runs" else describe(progress, perf_counter() - start)

    if not sys.stderr.isatty():
        say = Spoken()
        yield lambda progress: say(f"{progress.stage}: {words(progress)}".removesuffix(": "))
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"))
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None, words="")

        def tell(progress: "Progress") -> None:
            bar.update(
                task,
                description=progress.stage,
                completed=progress.share,
                total=1.0 if progress.stage == "runs" else None,
                words=words(progress),
            )

        yield tell


def describe(progress: "Progress", elapsed_s: float) -> str:
    """Runs done, events per second, time left."""
    words = f"{progress.done:,} of {progress.total:,} runs"
    if progress.events and elapsed_s > 0:
        left_s = elapsed_s * (1 - progress.share) / max(progress.share, 1e-9)
        minutes, seconds = divmod(round(left_s), 60)
        words += f", {progress.events / elapsed_s:,.0f} events/s, {minutes}:{seconds:02} left"
    return words
