"""A campaign on Spark, or without it in this process: plan, run what is missing, make the tables,
keep traces.

Whatever happens to it, a later call resumes where it stopped: every run that is done has a result
in the folder, and everything else is made of these anew. A call with nothing left to do does not
even start Spark.
"""

import csv
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pyarrow.parquet as pq

from antecede.campaigns.file import Campaign
from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import Plan, PlannedRun
from antecede.campaigns.runs import FAILED, OK, Outcome, commit, execute, failure, keep_trace
from antecede.campaigns.tables import RUNS, SETTING, SUMMARY
from antecede.campaigns.tabulate import PLACES, interesting, write_tables
from antecede.errors import CannotWrite, Misuse
from antecede.files import complaining, write_whole
from antecede.pipeline.campaigns import elsewhere
from antecede.pipeline.cluster import preflight
from antecede.pipeline.spread import WorkLost, spread

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOST: Final = "the process that did this run died, twice; it may have run out of memory"


class Progress(msgspec.Struct, frozen=True):
    """How far a campaign is."""

    stage: str
    """`plan`, `runs`, `tables`, `commit` or `traces`."""
    done: int = 0
    total: int = 0
    events: int = 0
    """Events done since the start of this call,"""
    share: float = 0.0
    """and the share of those that it has to do, as far as they can be estimated."""


class Finished(msgspec.Struct, frozen=True):
    """How a campaign went; `campaign.json` has the same."""

    name: str
    question: str
    version: str
    fingerprint: str
    """Of file and plan."""
    runs: int
    failed: int
    skipped: int
    broken: int
    """Runs with violations where the protocol promises causal order."""
    events: int
    simulate_cpu_s: float
    verify_cpu_s: float
    measure_cpu_s: float
    traces: str
    stalled: int = 0
    """Runs that left messages undelivered that they owed."""
    promised: int = 0
    """Runs whose protocol promises causal order,"""
    judged: int = 0
    """and how many deliveries they had."""


Tell = Callable[[Progress], object]


def run_campaign(
    campaign: Campaign,
    plan: Plan,
    text: str,
    out: str | os.PathLike[str],
    session: Callable[[], "SparkSession | None"],
    *,
    retry: bool = False,
    tell: Tell = lambda _: None,
) -> Finished:
    """Do what is left of a campaign in the folder `out`. `text` is its file, of which a copy is
    kept; `session` is called if there is something to do, and what it gives does it; None is this
    process. `retry` does failed runs again."""
    folder = Folder(out)
    fingerprint = _fingerprint(campaign, plan)
    with folder.locked():
        known = folder.read_about()
        if retry:
            _forget_failures(folder)
        elif known is not None and known.get("fingerprint") == fingerprint:
            return msgspec.convert(known, Finished)
        with complaining(folder.path):
            folder.about.unlink(missing_ok=True)
            write_whole(folder.file, text)
        tell(Progress("plan"))
        spark = session()
        if spark is not None:
            preflight.check_folder(spark, folder.work, "name such a folder with --out")
        work = _Work(folder, plan, spark, tell)
        work.do_runs(keep=campaign.traces == "all")
        work.make_tables()
        work.keep_traces(campaign.traces)
        finished = work.finish(campaign, fingerprint)
        with complaining(folder.path):
            write_whole(folder.about, json.dumps(msgspec.to_builtins(finished), indent=2) + "\n")
    return finished


class _Work:
    """What one call does."""

    def __init__(
        self, folder: Folder, plan: Plan, spark: "SparkSession | None", tell: Tell
    ) -> None:
        self._folder = folder
        self._plan = plan
        runs = plan.distinct()
        self._runs = runs if spark is None else elsewhere.prepare(spark, runs)
        self._spark = spark
        self._tell = tell

    def do_runs(self, keep: bool) -> None:
        """All runs that have no result. The long ones come first, or the last task would be one of
        them, alone."""
        finished = self._folder.finished()
        missing = [run for run in self._runs if run.run not in finished]
        missing.sort(key=lambda run: -run.events)
        task = partial(execute, folder=str(self._folder.path), keep_trace=keep)
        meter = _Meter(missing, self._tell)
        while missing:
            left = {run.run: run for run in missing}
            try:
                with closing(spread(self._spark, missing, task)) as outcomes:
                    for outcome in outcomes:
                        _check_written(outcome)
                        self._folder.check_lock()
                        meter.add(left.pop(outcome.run), outcome)
            except WorkLost as lost:
                for run, outcome in self._do_suspects(left, task, lost):
                    meter.add(run, outcome)
            finished = self._folder.finished()
            missing = [run for run in left.values() if run.run not in finished]
        if not {run.run for run in self._plan.runs} <= self._folder.finished():
            raise Misuse(
                f"executors have results that are not in {self._folder.results}: "
                "the folder has to be one that they share with this machine"
            )

    def _do_suspects(
        self, left: dict[str, PlannedRun], task: Callable[[PlannedRun], Outcome], lost: WorkLost
    ) -> Iterator[tuple[PlannedRun, Outcome]]:
        """A worker died, and those who worked with it may have. What was under way is done alone:
        a run that kills its worker again is a failed run."""
        suspects = [run for run in left.values() if self._folder.started(run.run).exists()]
        if not suspects:
            raise lost
        for run in suspects:
            self._folder.started(run.run).unlink(missing_ok=True)
            try:
                (outcome,) = spread(self._spark, [run], task, slices=1)
            except WorkLost:
                with complaining(self._folder.path):
                    commit(self._folder, run, failure(run, LOST))
                outcome = Outcome(run.run, failed=True)
            _check_written(outcome)
            yield run, outcome

    def make_tables(self) -> None:
        """All tables, from the results; under other names until they are complete."""
        self._tell(Progress("tables"))
        folder = self._folder
        with complaining(folder.path):
            write_tables(self._plan, folder)
            shown = [column.name for column in RUNS.columns if column.in_csv]
            wanted = [("measure", "in", shown)]
            rows = pq.read_table(folder.tables_aside / SUMMARY.name, filters=wanted).to_pylist()
            self._tell(Progress("commit"))
            folder.check_lock()
            write_whole(folder.csv, as_csv(rows))
            folder.commit_tables()

    def keep_traces(self, policy: str) -> None:
        """The traces that the file asks for and that are not there yet."""
        if policy == "none":
            return
        runs = pq.read_table(self._folder.path / RUNS.name, columns=[*PLACES]).to_pylist()
        whole = [run for run in runs if run["status"] == OK]
        wanted = interesting(whole) if policy == "interesting" else {run["run"] for run in whole}
        missing = [
            run
            for run in self._runs
            if run.run in wanted and not self._folder.trace(run.run).exists()
        ]
        task = partial(keep_trace, folder=str(self._folder.path))
        for done, outcome in enumerate(spread(self._spark, missing, task), start=1):
            _check_written(outcome)
            self._tell(Progress("traces", done, len(missing)))

    def finish(self, campaign: Campaign, fingerprint: str) -> Finished:
        """The totals, from the tables."""
        costs = ("simulate_cpu_s", "verify_cpu_s", "measure_cpu_s")
        counted = (
            "status",
            "violations",
            "promised",
            "owed",
            "events",
            "deliveries",
            *costs,
        )
        runs = pq.read_table(self._folder.path / RUNS.name, columns=list(counted)).to_pylist()
        broken = [run for run in runs if run["violations"] and run["promised"]]
        return Finished(
            name=campaign.name,
            question=campaign.question,
            version=version("antecede"),
            fingerprint=fingerprint,
            runs=len(self._plan.runs),
            skipped=len(self._plan.skipped),
            traces=campaign.traces,
            failed=sum(run["status"] == FAILED for run in runs),
            broken=len(broken),
            stalled=sum(bool(run["owed"]) for run in runs),
            events=sum(run["events"] or 0 for run in runs),
            promised=sum(bool(run["promised"]) for run in runs),
            judged=sum(run["deliveries"] or 0 for run in runs if run["promised"]),
            **{cost: sum(run[cost] or 0.0 for run in runs) for cost in costs},
        )


class _Meter:
    """Counts what is done, and tells."""

    def __init__(self, runs: list[PlannedRun], tell: Tell) -> None:
        self._tell = tell
        self._total = len(runs)
        self._planned = max(1, sum(run.events for run in runs))
        self._done = self._events = self._done_of_planned = 0
        self._say()

    def add(self, run: PlannedRun, outcome: Outcome) -> None:
        self._done += 1
        self._events += outcome.events
        self._done_of_planned += run.events
        self._say()

    def _say(self) -> None:
        share = self._done_of_planned / self._planned
        self._tell(Progress("runs", self._done, self._total, self._events, share))


def as_csv(summary: list[dict[str, Any]]) -> str:
    """A line a setting: its runs, and of the main measures the mean and half the width of its
    confidence interval."""
    names = [column.name for column in SETTING]
    shown = [column.name for column in RUNS.columns if column.in_csv]
    settings: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in summary:
        line = settings.setdefault(tuple(row[name] for name in names), {"n": 0})
        line["n"] = max(line["n"], row["n"])
        line[row["measure"]] = f"{row['mean']:.6g}"
        if row["high"] is not None:
            line[f"{row['measure']} ±"] = f"{row['high'] - row['mean']:.3g}"
    file = io.StringIO()
    columns = ["n", *(each for name in shown for each in (name, f"{name} ±"))]
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([*names, *columns])
    for setting, line in sorted(settings.items()):
        writer.writerow([*setting, *(line.get(column, "") for column in columns)])
    return file.getvalue()


def _fingerprint(campaign: Campaign, plan: Plan) -> str:
    return sha256((campaign.model_dump_json() + plan.fingerprint).encode()).hexdigest()


def _forget_failures(folder: Folder) -> None:
    with complaining(folder.path):
        for failed in sorted(folder.failed.glob("*.toml")):
            folder.result(failed.stem).unlink(missing_ok=True)
            failed.unlink()


def _check_written(outcome: Outcome) -> None:
    if outcome.cannot_write is not None:
        raise CannotWrite(*outcome.cannot_write)
