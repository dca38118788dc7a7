"""`antecede advise`: which protocol for this traffic, with the measured reasons."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from antecede.advise import Advice, Candidate, Matters
from antecede.advise import advise as find_advice
from antecede.cli._shared import JsonFlag, given, print_json, print_table, progress_bar
from antecede.errors import Misuse
from antecede.shipped import find as find_shipped
from antecede.simulate import load_scenario

UNSTEADY = "†"


def advise(
    processes: Annotated[int | None, typer.Option(help="How many processes.")] = None,
    matters: Annotated[
        Matters,
        typer.Option(help="What to minimise; or survival, of crashes and loss."),
    ] = Matters.BYTES,
    workload: Annotated[
        str | None,
        typer.Option(help="unicast, multicast, broadcast, groups or requests."),
    ] = None,
    multicast_size: Annotated[int | None, typer.Option(help="Destinations of a multicast.")] = None,
    local: Annotated[
        float | None,
        typer.Option(help="The probability that a message stays in its part of the topology."),
    ] = None,
    groups: Annotated[int | None, typer.Option(help="How many overlapping groups.")] = None,
    group_size: Annotated[int | None, typer.Option(help="Members of a group.")] = None,
    servers: Annotated[int | None, typer.Option(help="Processes that answer requests.")] = None,
    rate: Annotated[float | None, typer.Option(help="Messages per second of each process.")] = None,
    payload_bytes: Annotated[int | None, typer.Option(help="Size of a message.")] = None,
    topology: Annotated[
        str | None, typer.Option(help="The network, as for `antecede simulate`.")
    ] = None,
    delay: Annotated[
        str | None, typer.Option(metavar="SPEC", help="As for `antecede simulate`.")
    ] = None,
    loss: Annotated[float | None, typer.Option(help="The probability that a copy is lost.")] = None,
    crashes: Annotated[bool, typer.Option("--crashes", help="Processes may crash.")] = False,
    scenario: Annotated[
        Path | None,
        typer.Option(help="A scenario file, or one that ships by name; flags override it."),
    ] = None,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="A trace to measure the traffic from: processes, rate, and who talks to whom. "
            "Flags override it."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Recommend a protocol for some traffic, with the measured reasons.

    Rules out what cannot do it and, among many processes, what the cost model puts far behind; runs
    the others on this traffic, past their warm-up, and those near the best longer, until what
    matters is steady, or for 200,000 copies. Bytes are of ordering information, for one message;
    state is in bytes at a process, control in packets of the protocol's own for one message. The
    estimates of what matters stand beside what was measured. A trace says who talks to whom and how
    often; bursts, and answers that follow at once, are not drawn.

    Example: antecede advise --processes 16 --workload unicast --matters bytes
    """
    base: dict[str, Any] = {}
    if scenario is not None and trace is not None:
        raise Misuse("--scenario and --trace both say what the traffic is: give one")
    if scenario is not None:
        loaded = load_scenario(find_shipped("scenarios", scenario))
        base = loaded.model_dump(by_alias=True, exclude_none=True, exclude={"protocol", "options"})
    if trace is not None:
        base = _measured(trace)
    flags = {"processes": processes, "topology": topology, "rate": rate}
    fields = {**base, **given({**flags, "payload_bytes": payload_bytes})}
    fields["network"] = {**base.get("network", {}), **given({"delay": delay, "loss": loss})}
    if groups is not None:
        fields["groups"] = {"layout": "ring", "count": groups, **given({"size": group_size})}
    elif group_size is not None:
        raise Misuse("--group-size goes with --groups")
    if workload is not None or "workload" not in fields:
        kind = workload or ("groups" if groups is not None else "broadcast")
        fields["workload"] = {"kind": kind}
    kind = fields["workload"]["kind"]
    for flag, needed, field, value in (
        ("--multicast-size", "multicast", "size", multicast_size),
        ("--servers", "requests", "servers", servers),
        ("--groups", "groups", None, groups),
        ("--local", "unicast or multicast", "local", local),
    ):
        if value is not None and kind not in needed.split(" or "):
            raise Misuse(f"{flag} goes with --workload {needed}; this is {kind}")
        if value is not None and field:
            fields["workload"][field] = value
    with progress_bar("advise") as tick:
        found = find_advice(
            fields, matters, crashes=crashes, tell=lambda now, done, total: tick(done, total, now)
        )
    if as_json:
        print_json(msgspec.to_builtins(found))
    else:
        _tell(found)


def _measured(trace: Path) -> dict[str, Any]:
    """A scenario with the traffic of a trace, as far as a few numbers say it; and these told."""
    from antecede.trace.traffic import measure_traffic  # noqa: PLC0415 - only where needed

    found = measure_traffic(trace)
    workload: dict[str, Any] = {"kind": "broadcast"}
    to, drawn = "to all others", ""
    if found.fewest < found.processes - 1:
        talks = [
            {"sender": sender, "to": list(others), "share": count}
            for (sender, others), count in found.talks.items()
        ]
        workload = {"kind": "talks", "talks": talks}
        to = "to one other" if found.most == 1 else f"to {found.mean:.1f} others on average"
        drawn = " Who sends to whom is drawn as often as it was recorded."
        if found.told < 1:
            drawn += f" (The {len(talks):,} most frequent cases, {found.told:.0%} of all.)"
    print(
        _filled(
            f"Measured from {trace}: {found.processes} processes, {found.rate:.3g} messages a "
            f"second of each on average, {to}.{drawn}"
        ),
        file=sys.stderr,
    )
    return {"processes": found.processes, "rate": found.rate, "workload": workload}


def _filled(text: str) -> str:
    """A paragraph as wide as the terminal."""
    width = min(100, shutil.get_terminal_size().columns)
    return textwrap.fill(text, width, break_on_hyphens=False, break_long_words=False)


def _tell(found: Advice) -> None:
    best, *rest = (*found.finalists, *found.others)
    is_known = not any(found.matters in one.unsteady for one in found.finalists)
    advice = f"Take {best.name}" if is_known else f"Probably {best.name} (not all are steady)"
    print(_filled(f"{advice}: {_reason(best, rest, found.matters)}"))
    if best.takes_back:
        undo = "After a crash it takes deliveries back, which the application must be able to undo."
        print(_filled(undo))
    print()
    _table(found.finalists, found.matters)
    print()
    print(f"After {best.messages:,} messages.", end="")
    unsteady = any(one.unsteady for one in found.finalists)
    print(f" {UNSTEADY} not known to be steady." if unsteady else "")
    for messages in dict.fromkeys(one.messages for one in found.others):
        names = ", ".join(one.name for one in found.others if one.messages == messages)
        print(_filled(f"Behind these after {messages:,} messages: {names}."))
    if found.unlikely:
        told = [f"{one.name} ({_shown(one.estimate, found.matters)})" for one in found.unlikely]
        print(_filled(f"Not run, being far behind by the cost model: {', '.join(told)}."))
    for reason in dict.fromkeys(out.reason for out in found.ruled_out):
        names = ", ".join(out.protocol for out in found.ruled_out if out.reason == reason)
        print(_filled(f"Ruled out ({reason}): {names}."))


def _reason(best: Candidate, rest: Sequence[Candidate], matters: Matters) -> str:
    words = {
        Matters.BYTES: f"{best.bytes:,.1f} bytes of ordering information for one message",
        Matters.DELAY: f"{1e3 * best.delay_s:,.1f} ms from send to delivery",
        Matters.MEMORY: f"{best.memory_bytes:,.0f} bytes of state at a process",
    }
    if not rest:
        return f"{words[matters]}; nothing else can do it."
    next_best = rest[0]
    least = best.value(matters)
    factor = f"{next_best.value(matters) / least:.2f} times" if least else "more than"
    return f"{words[matters]}; {next_best.name}, the next, needs {factor} that."


def _shown(value: float, matters: Matters) -> str:
    """An estimate, in the unit of its column."""
    if matters is Matters.DELAY:
        return f"{1e3 * value:,.1f} ms"
    return f"{value:,.0f} bytes"


def _table(candidates: Sequence[Candidate], matters: Matters) -> None:
    def shown(one: Candidate, matters: Matters, text: str) -> str:
        return f"{text} {UNSTEADY}" if matters in one.unsteady else text

    rows = [
        (
            one.name,
            shown(one, Matters.BYTES, f"{one.bytes:,.1f}"),
            shown(one, Matters.DELAY, f"{1e3 * one.delay_s:,.1f}"),
            shown(one, Matters.MEMORY, f"{one.memory_bytes:,.0f}"),
            f"{one.control:,.2f}",
            _shown(one.estimates[matters], matters) if matters in one.estimates else "–",
        )
        for one in candidates
    ]
    columns = ("protocol", "bytes", "delay ms", "state", "control", "estimate")
    print_table(columns, rows)
