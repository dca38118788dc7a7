"""Runs that are done elsewhere: executors of a cluster have working directories of their own, so
the files that a scenario names, a topology or a graph, get their whole names."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from antecede.campaigns.plan import PlannedRun
from antecede.files import path_of
from antecede.pipeline.cluster import preflight
from antecede.topology.load import LARGEST

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def prepare(spark: "SparkSession", runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """The runs as executors can do them. Raises an error if they do not see a file."""
    if not preflight.is_remote(spark):
        return list(runs)
    prepared, files = name_fully(runs)
    if files:
        preflight.check_files(spark, files, "move the file there")
    return prepared


def name_fully(runs: Sequence[PlannedRun]) -> tuple[list[PlannedRun], list[str]]:
    """The runs with the whole names of the files that they need, and these."""
    prepared: list[PlannedRun] = []
    files: dict[str, None] = {}
    for run in runs:
        scenario = json.loads(run.scenario)
        named = (_name_fully(scenario, "topology"), _name_fully(scenario["workload"], "graph"))
        files |= dict.fromkeys(name for name in named if name)
        prepared.append(msgspec.structs.replace(run, scenario=json.dumps(scenario, sort_keys=True)))
    return prepared, list(files)


def _name_fully(fields: dict[str, Any], field: str) -> str | None:
    """The file in this field, if it names one, whose whole name stands there from now on."""
    name = fields.get(field) or ""
    bare = name.removeprefix(LARGEST)
    if not ("." in bare or "/" in bare) or not path_of(bare).is_file():
        return None
    whole = str(path_of(bare).absolute())
    fields[field] = name.removesuffix(bare) + whole
    return whole
