"""Whether two runs are of the same traffic, so that their events have counterparts.

What the scenarios in the footers say decides: one seed and one workload give one traffic, although
whoever answers what is delivered may send more under one protocol than under another. Without
them the messages decide: each process sends as many, and each is for the same processes.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from antecede.trace import APP, SEND, read_metadata
from antecede.trace.events import Run

TRAFFIC: Final = ("seed", "messages", "workload", "rate", "groups", "payload_bytes")
"""The fields of a scenario that make the traffic."""


def other_traffic(ours: Run, theirs: Run, is_whole: bool) -> str | None:
    """What the traffic of two runs of the same processes differs in; where only parts of them were
    read, as far as these show it."""
    scenarios = _scenario(ours), _scenario(theirs)
    if all(scenarios):
        one, other = ([found.get(name) for name in TRAFFIC] for found in scenarios)
        for name, here, there in zip(TRAFFIC, one, other, strict=True):
            if here != there:
                return f"{name} is {json.dumps(here)} in one and {json.dumps(there)} in the other"
        return None
    sent, others = _sent(ours), _sent(theirs)
    for message in sorted(sent.keys() & others.keys()):
        if sent[message] != others[message]:
            return f"{message[0]}:{message[1]} is not for the same processes"
    if is_whole and (single := sorted(sent.keys() ^ others.keys())):
        return f"{single[0][0]}:{single[0][1]} is sent in one of them only"
    return None


def _scenario(run: Run) -> Mapping[str, Any]:
    """The scenario that the file of a run has in its footer; empty if it has none."""
    if not len(run.events):
        return {}
    file = run.sources.file(int(run.events.row[0]))
    try:
        noted = json.loads(read_metadata(file).get("scenario", "{}"))
    except ValueError:
        return {}
    return noted if isinstance(noted, dict) else {}


def _sent(run: Run) -> dict[tuple[str, int], frozenset[str]]:
    """For whom each message of the application is."""
    events = run.layer(APP)
    start, names = events.destination_start, run.processes
    return {
        (run.name_of(int(events.sender[event])), int(events.number[event])): frozenset(
            names[one] for one in events.destination[start[event] : start[event + 1]]
        )
        for event in np.flatnonzero(events.kind == SEND)
    }
