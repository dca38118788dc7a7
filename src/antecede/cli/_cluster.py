"""`antecede cluster`: a Spark cluster on this machine, for as long as the command runs."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antecede.cli._shared import ANSWER_IS_NO, end_by_signal

if TYPE_CHECKING:
    from antecede.pipeline.cluster.standalone import Cluster

LOOK_S = 0.5


def cluster(
    workers: Annotated[int, typer.Option(min=1, help="How many worker processes.")] = 2,
    cores: Annotated[int, typer.Option(min=1, help="Tasks that each runs at a time.")] = 1,
    memory: Annotated[str, typer.Option(help="Memory that each offers: 1g, 1500m ...")] = "1g",
    directory: Annotated[
        Path | None,
        typer.Option("--dir", help="Where to keep logs and scratch files while it runs."),
    ] = None,
) -> None:
    """Start a Spark cluster on this machine; control-C, or SIGTERM, ends it.

    The first line on standard output is its address, for --master of other commands. Whatever
    happens to this command, no process and no file of the cluster is left.

    Example: antecede cluster --workers 2
    """
    from antecede.pipeline.cluster.standalone import Cluster  # noqa: PLC0415 - only where needed

    end_by_signal()
    try:
        with Cluster(workers, cores=cores, memory=memory, directory=directory) as running:
            print(running.master, flush=True)
            _tell(f"{running.page} shows {workers} workers; their logs are in {running.folder}")
            _tell(f"use it with --master {running.master}; control-C ends it")
            _watch(running)
    except KeyboardInterrupt:
        return
    raise typer.Exit(ANSWER_IS_NO)


def _watch(running: "Cluster") -> None:
    """Until it is of no use any more."""
    known: set[str] = set()
    while True:
        for name in running.ended():
            if name not in known:
                known.add(name)
                _tell(f"the {name} has ended")
        if "master" in known or known.issuperset(running.workers):
            _tell("so this cluster is of no use any more")
            return
        time.sleep(LOOK_S)


def _tell(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
