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

from antecede import compiled
from antecede.campaigns.folder import Folder, write
from antecede.campaigns.measures import after_warm_up, distributions, histograms, measure
from antecede.campaigns.plan import PlannedRun
from antecede.errors import AntecedeError, CannotWrite
from antecede.simulate import Scenario, StateSampler, make_scenario, simulate
from antecede.simulate.toml import to_toml
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
        with TemporaryDirectory(prefix=f"{planned.run}-", dir=places.work) as work:
            aside = Path(work) / "trace.parquet"
            result = _result_of(planned, aside)
            if keep_trace and result["status"] == OK:
                aside.replace(places.trace(planned.run))
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


def commit(folder: Folder, planned: PlannedRun, result: dict[str, Any]) -> None:
    """Give a result its name; a failure leaves its scenario, too."""
    if result["status"] == FAILED:
        write(folder.failure(planned.run), to_toml(json.loads(planned.scenario)))
    write(folder.result(planned.run), json.dumps(result))


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
        return _measured(planned, _scenario(planned.scenario), aside)
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


def _measured(planned: PlannedRun, scenario: Scenario, aside: Path) -> dict[str, Any]:
    wall, start = perf_counter(), process_time()
    states = StateSampler()
    summary = simulate(scenario, aside, judged=False, states=states)
    simulated = process_time()
    (run,) = read_trace(aside).runs
    copies = examine(run)
    verified = process_time()
    part = after_warm_up(distributions(run, copies), states, planned.warm_up)
    return {
        "run": planned.run,
        "status": OK,
        "promised": scenario.promises_order,
        "violations": copies.violations,
        "undelivered": copies.undelivered,
        **measure(summary, states, part),
        "histograms": histograms(part.values),
        "simulate_cpu_s": simulated - start,
        "verify_cpu_s": verified - simulated,
        "measure_cpu_s": process_time() - verified,
        "wall_s": perf_counter() - wall,
    }
