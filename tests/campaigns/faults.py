"""Tasks that do not go well; executors import them from here."""

import os
from pathlib import Path

from antecede.campaigns.folder import Folder
from antecede.campaigns.plan import PlannedRun
from antecede.campaigns.runs import Outcome, execute


def die_at_none(planned: PlannedRun, *, folder: str, keep_trace: bool) -> Outcome:
    """As a worker does that runs out of memory in the second run of `none`."""
    if (planned.setting.variant, planned.seed) == ("none", 2):
        Folder(folder).started(planned.run).touch()
        os._exit(9)
    return execute(planned, folder=folder, keep_trace=keep_trace)


def find_no_space(planned: PlannedRun, *, folder: str, keep_trace: bool) -> Outcome:
    """The disk is full when it comes to the second seed."""
    if planned.seed == 2:
        full = str(Path(folder) / "results")
        return Outcome(planned.run, cannot_write=(full, "No space left on device"))
    return execute(planned, folder=folder, keep_trace=keep_trace)
