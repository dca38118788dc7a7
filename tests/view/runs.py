"""Runs to look at, and what is true of them, found in the plainest way."""

from pathlib import Path

import pyarrow.parquet as pq

from antecede.simulate import make_scenario, simulate
from antecede.trace import DELIVER, KINDS, RECEIVE, SEND, Run, read_trace
from antecede.view import write_view
from tests.trace.builders import Row, deliver, event, positioned, receive, send, table

PLANTED = positioned(
    send("p", 1, "qr", time=0.0, stamp_entries=2, stamp_bytes=20),
    receive("r", "p:1", time=1.0),
    deliver("r", "p:1", time=1.0),
    send("r", 1, "q", time=2.0, stamp_entries=3, stamp_bytes=30),
    event("view", "q", time=2.5),
    receive("q", "r:1", time=3.0),
    deliver("q", "r:1", time=3.0),
    receive("q", "p:1", time=4.0),
    deliver("q", "p:1", time=4.0),
    event("crash", "r", time=5.0),
)
"""q delivers r:1 before p:1, on which it depends."""

HELD = positioned(
    send("p", 1, "q", time=0.0),
    send("p", 2, "q", time=1.0),
    send("p", 3, "q", time=1.5),
    receive("q", "p:3", time=1.8),
    receive("q", "p:2", time=2.0),
    receive("q", "p:1", time=3.0),
    deliver("q", "p:1", time=3.5),
    deliver("q", "p:2", time=5.0),
    deliver("q", "p:3", time=5.0),
)
"""p:2 and p:3 wait at q: the network, then q itself, is late."""

_FAR = [row for n in range(1, 61) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))]
OVERTAKEN = positioned(
    *[send("a", 1, "bc"), deliver("b", "a:1"), *_FAR[:60], send("b", 1, "c")],
    *[deliver("c", "b:1"), *_FAR[60:], deliver("c", "a:1")],
)
"""b:1 overtakes a:1 at c, far away from the send of a:1 and from its delivery."""


def write_rows(path: Path, *rows: Row) -> Path:
    pq.write_table(table(*rows), path)
    return path


def simulated(path: Path, protocol: str, **fields: object) -> Path:
    """A small run with much reordering, in which protocols have to wait."""
    network = {"delay": {"kind": "lognormal", "median_s": 0.05, "sigma": 1.2}}
    scenario = {"processes": 6, "messages": 60, "seed": 3, "network": network, **fields}
    simulate(make_scenario({"protocol": protocol, **scenario}), path, force=True)
    return path


def page_of(trace: Path, **options: object) -> Path:
    """The page of a trace, beside it."""
    return write_view(trace, trace.with_suffix(".html"), force=True, **options)  # type: ignore[arg-type]


def only_run(trace: Path) -> Run:
    (run,) = read_trace(trace).runs
    return run


def past_of(run: Run, wanted: int) -> set[int]:
    """What an event depends on, by walking back along every arrow: the event before it at its
    process, and from a delivery to the send. Only for the event itself also from a reception."""
    events = run.events
    sends = {int(events.message[i]): i for i in range(len(events)) if events.kind[i] == SEND}
    before: dict[int, int] = {}
    latest: dict[int, int] = {}
    for i in range(len(events)):
        process = int(events.process[i])
        before[i] = latest.get(process, -1)
        latest[process] = i
    found: set[int] = set()
    waiting = [wanted]
    while waiting:
        i = waiting.pop()
        causes = [before[i]]
        kind = events.kind[i]
        if kind == DELIVER or (kind == RECEIVE and i == wanted):
            causes.append(sends[int(events.message[i])])
        fresh = [cause for cause in causes if cause >= 0 and cause not in found]
        found.update(fresh)
        waiting += fresh
    return found


def described(run: Run, event_: int) -> str:
    """An event in words, as the page says it."""
    events = run.events
    process, kind = run.name_of(int(events.process[event_])), KINDS[events.kind[event_]]
    if events.message[event_] < 0:
        return f"{process}: {'new view' if kind == 'view' else kind}"
    return f"{process} {kind}s {run.message_of(event_)}"
