"""Runs that are done elsewhere: executors of a cluster have working directories of their own, so
the files that a scenario names, a topology or a graph, get their whole names."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from antecede.campaigns.plan import PlannedRun
from antecede.pipeline.cluster import reach
from antecede.topology.load import LARGEST

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prepare(spark: "SparkSession", runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """The runs as executors can do them. Raises an error if they do not see a file."""
    if not reach.is_remote(spark):
        return list(runs)
    prepared: list[PlannedRun] = []
    files: dict[str, None] = {}
    for run in runs:
        scenario = json.loads(run.scenario)
        named = (_name_fully(scenario, "topology"), _name_fully(scenario["workload"], "graph"))
        files |= dict.fromkeys(name for name in named if name)
        prepared.append(msgspec.structs.replace(run, scenario=json.dumps(scenario, sort_keys=True)))
    if files:
        reach.check_files(spark, list(files), "move the file there")
    return prepared


def _name_fully(fields: dict[str, Any], field: str) -> str | None:
    """The file in this field, if it names one, whose whole name stands there from now on."""
    name = fields.get(field) or ""
    bare = name.removeprefix(LARGEST)
    if not ("." in bare or "/" in bare) or not Path(bare).is_file():
        return None
    whole = str(Path(bare).absolute())
    fields[field] = name.removesuffix(bare) + whole
    return whole
