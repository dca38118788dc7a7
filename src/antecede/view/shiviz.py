"""A trace as a log that ShiViz draws: every event with a vector clock.

A clock counts the events of each process that an event may depend on: local order, and a message
from its send to its delivery. A reception tells the application nothing yet, so it does not merge
clocks. The page exports the same text by itself.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from antecede.errors import Misuse
from antecede.files import refuse_existing
from antecede.trace import APP, DELIVER, KINDS, SEND, Run, read_trace
from antecede.verify.check import layer_code
from antecede.view.excerpt import choose_run, only_layer
from antecede.view.page import write_aside

PATTERN = r"(?<host>\S+) (?<clock>{.*})\n(?<event>.*)"
"""How ShiViz finds events in the log, if asked."""


def write_shiviz(
    trace: Path, out: Path, *, run: str | None = None, layer: str | None = None, force: bool = False
) -> Path:
    """Write a run of a trace as a log with vector clocks."""
    refuse_existing(out, force, trace)
    code = APP if layer is None else layer_code(layer)
    chosen = choose_run(read_trace(trace, stamps=False).runs, run)
    if chosen is None:
        raise Misuse(f"{trace} is empty: there is nothing to write to a log")
    return write_aside(out, shiviz_lines(only_layer(chosen, code)), force)


def shiviz_lines(run: Run) -> Iterator[str]:
    """The log, two lines an event, in an order that respects happened-before."""
    hosts = host_names(run.processes)
    events = run.events
    clocks: list[dict[int, int]] = [{} for _ in hosts]
    sent: dict[int, dict[int, int]] = {}
    columns = (events.kind, events.process, events.message)
    for event, (kind, process, message) in enumerate(
        zip(*(column.tolist() for column in columns), strict=True)
    ):
        clock = clocks[process]
        if kind == DELIVER:
            for other, count in sent[message].items():
                clock[other] = max(clock.get(other, 0), count)
        clock[process] = clock.get(process, 0) + 1
        if kind == SEND:
            sent[message] = dict(clock)
        told = ", ".join(f'"{hosts[other]}":{clock[other]}' for other in sorted(clock))
        yield f"{hosts[process]} {{{told}}}\n{_text(run, hosts, event, kind)}\n"


def _text(run: Run, hosts: Sequence[str], event: int, kind: int) -> str:
    events = run.events
    if kind > DELIVER:
        return KINDS[kind]
    return f"{KINDS[kind]} {hosts[events.sender[event]]}:{events.number[event]}"


def host_names(processes: Sequence[str]) -> list[str]:
    """Names that a log can carry: without spaces, quotes, backslashes and control characters, and
    still distinct."""
    taken: set[str] = set()
    hosts = []
    for name in processes:
        host = re.sub(r'[\s"\\\x00-\x1f]', "_", name) or "_"
        while host in taken:
            host += "_"
        taken.add(host)
        hosts.append(host)
    return hosts
