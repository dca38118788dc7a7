"""`antecede watch`: early deliveries as they happen."""

import json
import math
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import msgspec
import pyarrow as pa
import typer

from antecede.cli._shared import JsonFlag, Spoken, counts_text, end_by_signal, exit_with
from antecede.cli._verify import tell
from antecede.errors import BadFile, Misuse, counted
from antecede.files import path_of
from antecede.live import growing
from antecede.verify import Answer
from antecede.verify.online import LIMIT, Early
from antecede.verify.watch import Watchers

PIPED = "standard input"


def watch(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[FOLDER|URL]", help="Where the recordings are, or will be."),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Take events from standard input, a JSON line each.")
    ] = False,
    for_: Annotated[
        float | None, typer.Option("--for", metavar="SECONDS", help="How long to watch.")
    ] = None,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", help="How often to look at the folder.")
    ] = 1.0,
    layer: Annotated[
        str, typer.Option(help="app: the application's messages; hop: those of routers.")
    ] = "app",
    limit: Annotated[
        int, typer.Option(help="How many messages may be under way, and how many rows may wait.")
    ] = LIMIT,
    as_json: JsonFlag = False,
) -> None:
    """Report deliveries that break causal order while a system runs, in bounded memory.

    Reads what live nodes record ('antecede node --record'), files of antecede.recorder and traces,
    as they grow and as files come; nothing is read twice. Control-C or --for ends it with a
    verdict on all that was read, the same as that of 'antecede verify'. Exit status: 0 if order was
    kept, 1 if not, 2 if the recordings break a rule, 3 if it cannot be told.

    Example: antecede watch recordings --for 60
    """
    if (folder is None) is not stream:
        raise Misuse("name a folder, or --stream for what is piped in")
    if not every > 0 or limit < 1:
        raise Misuse("--every and --limit are larger than 0")
    if stream and for_ is not None:
        raise Misuse("--stream ends with its input; --for goes with a folder")
    end_by_signal()
    watchers = Watchers(layer, limit)
    say = Spoken()
    try:
        for batch in _piped() if folder is None else _read(folder, for_, every):
            try:
                watchers.feed(batch)
            finally:
                for early in watchers.take_found():
                    _tell(early, as_json)
            say(f"{watchers.rows:,} events, {watchers.under_way:,} messages under way")
    except KeyboardInterrupt:
        pass
    verdict = watchers.verdict()
    if as_json:
        print(json.dumps(verdict.to_json()))
    elif verdict.answer is Answer.BROKEN:  # each was told when it was found
        print(counts_text(verdict.runs, verdict.messages, verdict.deliveries))
        print(f"causal order was BROKEN: {counted(verdict.violations, 'early delivery')}")
        for doubt in verdict.doubts:
            print(f"  {doubt.sentence()}")
    else:
        tell(verdict)
    exit_with(verdict.answer)


def _read(folder: str, seconds: float | None, every: float) -> Iterator[pa.RecordBatch]:
    """What is in a folder, and what comes, until the time is over."""
    until = math.inf if seconds is None else time.monotonic() + seconds
    if not path_of(folder).is_dir():
        raise BadFile(folder, ["there is no such folder"])
    places: growing.Places = {}
    while True:
        is_last = time.monotonic() >= until
        now = growing.look(folder, places)
        yield from growing.read_evenly(folder, places, now)
        places = now
        if is_last:
            return
        time.sleep(max(0.0, min(every, until - time.monotonic())))


def _piped() -> Iterator[pa.RecordBatch]:
    counts: dict[str, int] = {}
    for line in sys.stdin.buffer:
        yield from growing.batches_of(growing.lines_of(PIPED, line), counts)


def _tell(early: Early, as_json: bool) -> None:
    told = msgspec.to_builtins(early)
    line = json.dumps({"event": "early", **told}) if as_json else early.sentence()
    print(line, flush=True)
