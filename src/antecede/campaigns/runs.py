"""One run of a campaign, from its scenario to its result on the disk. Executors do this.

Simulate, with the trace written aside; verify that; measure; give the result its name. A run that
is done already is not done again, so it does not matter how often a task is tried. Whatever goes
wrong inside a run is its result. Only what the disk refuses is not: the run is then not done, and
the campaign stops.
"""

import json
import os
import traceback
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import msgspec
import tomli_w

from antecede import compiled
from antecede.campaigns.folder import Folder
from antecede.campaigns.measures import after_warm_up, distributions, histograms, measure
from antecede.campaigns.plan import PlannedRun
from antecede.errors import AntecedeError, CannotWrite
from antecede.files import give_name, is_stored, write_whole
from antecede.simulate import Scenario, StateSampler, make_scenario, simulate
from antecede.simulate.duty import owed_of
from antecede.trace import read_trace
from antecede.verify.copies import examine

OK = "ok"
FAILED = "failed"
LONGEST_ERROR = 2000


class Outcome(msgspec.Struct, frozen=True):
    """What comes back to the driver."""

    run: str
    failed: bool = False
    events: int = 0
    cannot_write: tuple[str, str] | None = None
    """File and reason, where the disk refused something."""


def execute(planned: PlannedRun, *, folder: str, keep_trace: bool) -> Outcome:
    """Do a run and leave its result in the folder of the campaign."""
    places = Folder(folder)
    found = read_result(places, planned.run)
    if found is not None:
        return _outcome(found)
    compiled.expect_many_traces()
    mark = places.started(planned.run)
    try:
        mark.touch()
        near = None if is_stored(places.work) else places.work
        with TemporaryDirectory(prefix=f"{planned.run}-", dir=near) as work:
            aside = Path(work) / "trace.parquet"
            result = _result_of(planned, aside)
            if keep_trace and result["status"] == OK:
                give_name(aside, places.trace(planned.run))
        commit(places, planned, result)
    except CannotWrite as error:
        return Outcome(planned.run, cannot_write=(error.file, error.reason))
    except OSError as error:
        reason = (str(error.filename or places.path), error.strerror or str(error))
        return Outcome(planned.run, cannot_write=reason)
    finally:
        with suppress(OSError):
            mark.unlink(missing_ok=True)
    return _outcome(result)


def do_run(planned: PlannedRun) -> dict[str, Any]:
    """The result of a run, of which nothing is kept on the disk."""
    compiled.expect_many_traces()
    with TemporaryDirectory(prefix=f"{planned.run}-") as work:
        return _result_of(planned, Path(work) / "trace.parquet")


def commit(folder: Folder, planned: PlannedRun, result: dict[str, Any]) -> None:
    """Give a result its name; a failure leaves its scenario, too."""
    if result["status"] == FAILED:
        write_whole(folder.failure(planned.run), tomli_w.dumps(json.loads(planned.scenario)))
    write_whole(folder.result(planned.run), json.dumps(result))


def failure(planned: PlannedRun, error: str) -> dict[str, Any]:
    """The result of a run that failed."""
    return {"run": planned.run, "status": FAILED, "error": error[:LONGEST_ERROR]}


def read_result(folder: Folder, run: str) -> dict[str, Any] | None:
    """The result of a run; None if there is none, or a power failure has cut it off."""
    try:
        found = msgspec.json.decode(folder.result(run).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        return None
    return found if isinstance(found, dict) and found.get("run") == run else None


def keep_trace(planned: PlannedRun, *, folder: str) -> Outcome:
    """Run again what was found to be worth keeping: the same scenario gives the same trace."""
    places = Folder(folder)
    try:
        if not places.trace(planned.run).exists():
            scenario = make_scenario(json.loads(planned.scenario))
            simulate(scenario, places.trace(planned.run), force=True, judged=False)
    except CannotWrite as error:
        return Outcome(planned.run, cannot_write=(error.file, error.reason))
    return Outcome(planned.run)


def _outcome(result: dict[str, Any]) -> Outcome:
    return Outcome(result["run"], result["status"] == FAILED, result.get("events", 0))


def _result_of(planned: PlannedRun, aside: Path) -> dict[str, Any]:
    try:
        found = measured(_scenario(planned.scenario), planned.warm_up, aside)
        return {"run": planned.run, **found}
    except (CannotWrite, OSError):
        raise
    except AntecedeError as error:
        return failure(planned, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - a broken protocol may raise anything at all
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{os.path.basename(last.filename)}:{last.lineno}"
        return failure(planned, f"{type(error).__name__}: {error} ({place})")


def _scenario(text: str) -> Scenario:
    return make_scenario(json.loads(text))


def measured(
    scenario: Scenario, warm_up: int | str, aside: Path, states: StateSampler | None = None
) -> dict[str, Any]:
    """All that is measured of one run, whose trace is left `aside`. `states`: who looks at them, if
    not as often as usual."""
    wall, start = perf_counter(), process_time()
    states = states or StateSampler()
    summary = simulate(scenario, aside, judged=False, states=states)
    simulated = process_time()
    (run,) = read_trace(aside).runs
    copies = examine(run)
    verified = process_time()
    part = after_warm_up(distributions(run, copies), states, warm_up)
    return {
        "status": OK,
        "promised": scenario.promises_order,
        "violations": copies.violations,
        "undelivered": copies.undelivered,
        "owed": owed_of(scenario, summary.leftover),
        **measure(summary, states, part),
        "histograms": histograms(part.values),
        "simulate_cpu_s": simulated - start,
        "verify_cpu_s": verified - simulated,
        "measure_cpu_s": process_time() - verified,
        "wall_s": perf_counter() - wall,
    }
