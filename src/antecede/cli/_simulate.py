"""`antecede simulate`: one protocol, or all of them, on a simulated network."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from antecede.cli._shared import (
    ANSWER_IS_NO,
    JsonFlag,
    OptionFlags,
    given,
    parse_option_flags,
    print_json,
    print_table,
    progress_bar,
)
from antecede.errors import BrokenInvariant, Misuse
from antecede.files import complaining, refuse_existing
from antecede.protocols import names, ours
from antecede.shipped import find as find_shipped
from antecede.simulate import Scenario, Spread, Summary, load_scenario, make_scenario
from antecede.simulate import simulate as run_scenario
from antecede.simulate.duty import owed_of
from antecede.simulate.notices import some_of

EVERY = "all"
NETWORK = "Network"
TRAFFIC = "Traffic"


def simulate(
    protocol: Annotated[
        str | None, typer.Option(help="A protocol, or 'all'; see `antecede protocols`.")
    ] = None,
    processes: Annotated[int | None, typer.Option(help="How many processes.")] = None,
    messages: Annotated[int | None, typer.Option(help="How many messages they send.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same run.")] = None,
    option: OptionFlags = None,
    k: Annotated[str | None, typer.Option(help="The same as --option k=K (bounded).")] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help="A network: a GraphML file, one of the Topology Zoo, or a generator such as "
            "tree:2,3,4; one process at each node that hosts, or --processes spread over them.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="unicast, multicast, broadcast, groups, requests, token or replay.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(help="Messages per second of each process.", rich_help_panel=TRAFFIC),
    ] = None,
    cascade: Annotated[
        float | None,
        typer.Option(
            help="The probability that a delivery causes a send.", rich_help_panel=TRAFFIC
        ),
    ] = None,
    local: Annotated[
        float | None,
        typer.Option(
            help="The probability that a message stays in its part of the topology.",
            rich_help_panel=TRAFFIC,
        ),
    ] = None,
    multicast_size: Annotated[
        int | None, typer.Option(help="Destinations of a multicast.", rich_help_panel=TRAFFIC)
    ] = None,
    servers: Annotated[
        int | None,
        typer.Option(
            help="Processes that answer requests; the others ask.", rich_help_panel=TRAFFIC
        ),
    ] = None,
    groups: Annotated[
        int | None, typer.Option(help="How many overlapping groups.", rich_help_panel=TRAFFIC)
    ] = None,
    layout: Annotated[
        str, typer.Option(help="Of the groups: chain, ring or random.", rich_help_panel=TRAFFIC)
    ] = "ring",
    group_size: Annotated[
        int | None, typer.Option(help="Members of a group.", rich_help_panel=TRAFFIC)
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(help="A causal graph to replay: a name or a file.", rich_help_panel=TRAFFIC),
    ] = None,
    payload_bytes: Annotated[
        int | None, typer.Option(help="Size of a message.", rich_help_panel=TRAFFIC)
    ] = None,
    delay: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC",
            help="constant:S, uniform:LOW,HIGH, exponential:MEAN or lognormal:MEDIAN,SIGMA, "
            "in seconds.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    loss: Annotated[
        float | None,
        typer.Option(help="The probability that a copy is lost.", rich_help_panel=NETWORK),
    ] = None,
    duplication: Annotated[
        float | None,
        typer.Option(help="The probability that a copy comes twice.", rich_help_panel=NETWORK),
    ] = None,
    fifo: Annotated[
        bool | None,
        typer.Option("--fifo/--reordering", help="Order of packets.", rich_help_panel=NETWORK),
    ] = None,
    crash: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P@T[..U]",
            help="Process P crashes at T s, and is back at U s; may repeat.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    join: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P@T[:Q,..]",
            help="Process P is not there at the start: it comes at T s, and will talk with Q, ...; "
            "may repeat.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    link: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P,Q@T",
            help="The link between P and Q is there from T s on; may repeat.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P,Q,..@T..U",
            help="Packets between these processes and the others are lost from T to U s; may "
            "repeat.",
            rich_help_panel=NETWORK,
        ),
    ] = None,
    scenario: Annotated[
        Path | None,
        typer.Option(help="A scenario file (TOML), or one that ships by name; flags override it."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the trace here; with 'all', a directory of traces."),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing trace.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Run traffic through a protocol on a simulated network, and print what it cost.

    The same seed gives the same traffic and the same network to every protocol. Exit status 1 if a
    protocol breaks the order that it promises, or leaves a message undelivered that it owes, as
    `antecede fuzz` judges it. Nothing is owed by a protocol that does not survive the faults of the
    run; by others all but what is for crashed processes, from crashed ones and delivered by no
    survivor, cut off by groups that have lost their majority, or lost (nobody has it) and told as
    a gap.

    Example: antecede simulate --protocol all --processes 8 --messages 2000 --seed 1
    """
    fields = {
        "topology": topology,
        "processes": processes,
        "messages": messages,
        "seed": seed,
        "rate": rate,
        "payload_bytes": payload_bytes,
        "options": parse_option_flags(option, k=k) or None,
        "groups": _groups(groups, layout, group_size),
        "joins": [_join(text) for text in join] if join else None,
        "new_links": [_link(text) for text in link] if link else None,
        "crashes": [_crash(text) for text in crash] if crash else None,
    }
    network = {
        "delay": delay,
        "loss": loss,
        "duplication": duplication,
        "fifo": fifo,
        "partitions": [_partition(text) for text in partition] if partition else None,
    }
    traffic = {
        "kind": workload,
        "cascade": cascade,
        "local": local,
        "size": multicast_size,
        "servers": servers,
        "graph": graph,
    }
    base = {} if scenario is None else _plain(load_scenario(find_shipped("scenarios", scenario)))
    if scenario is None and protocol is None:
        raise Misuse("name a protocol (--protocol), 'all', or a scenario file (--scenario)")
    data = {**base, **given(fields)}
    data["network"] = {**base.get("network", {}), **given(network)}
    data["workload"] = _workload(base.get("workload"), given(traffic), "groups" in data)
    if protocol is not None:
        data["protocol"] = protocol

    is_every = data["protocol"] == EVERY
    chosen = list(_scenarios(data))
    left_out = [reason for one, reason in chosen if one is None]
    targets = [
        (one, out / f"{one.protocol}.parquet" if out and is_every else out)
        for one, _ in chosen
        if one is not None
    ]
    _make_room([target for _, target in targets if target], force)
    summaries = [_run(one, target, force) for one, target in targets]
    owed = [
        owed_of(one, summary.leftover) for summary, (one, _) in zip(summaries, targets, strict=True)
    ]
    if as_json:
        plain = [summary.as_dict() for summary in summaries]
        print_json(plain if is_every else plain[0])
    else:
        tell(summaries, left_out, owed)
    if any(owed) or any(summary.failure for summary in summaries):
        raise typer.Exit(ANSWER_IS_NO)


def _plain(scenario: Scenario) -> dict[str, Any]:
    """A scenario as its file would say it."""
    return scenario.model_dump(by_alias=True, exclude_none=True)


def _groups(count: int | None, layout: str, size: int | None) -> dict[str, Any] | None:
    if count is None:
        return None
    return {"layout": layout, "count": count, **given({"size": size})}


def _workload(base: dict[str, Any] | None, given: dict[str, Any], grouped: bool) -> dict[str, Any]:
    """Flags over what the file says; another kind of workload starts afresh."""
    if base is None or given.get("kind", base["kind"]) != base["kind"]:
        base = {"kind": "groups" if grouped else "replay" if "graph" in given else "broadcast"}
    return {**base, **given}


def _crash(text: str) -> dict[str, Any]:
    process, at, times = text.rpartition("@")
    time, until, back = times.partition("..")
    try:
        if not at or not process:
            raise ValueError
        returns = {"back_s": float(back)} if until else {}
        return {"process": _process(process), "time_s": float(time), **returns}
    except ValueError:
        raise Misuse(
            f"--crash {text}: write it as PROCESS@SECONDS, such as 2@1.5, or 2@1.5..4 for one that "
            f"comes back"
        ) from None


def _join(text: str) -> dict[str, Any]:
    process, at, rest = text.rpartition("@")
    time, _, others = rest.partition(":")
    try:
        if not at or not process:
            raise ValueError
        known = [_process(other.strip()) for other in others.split(",")] if others else []
        return {"process": _process(process), "time_s": float(time), "talks_with": known}
    except ValueError:
        raise Misuse(
            f"--join {text}: write it as PROCESS@SECONDS, such as 5@1.5, or 5@1.5:0,2 for one that "
            f"will talk with 0 and 2"
        ) from None


def _link(text: str) -> dict[str, Any]:
    ends, _, time = text.rpartition("@")
    try:
        first, second = ends.split(",")
        return {"between": [_process(first), _process(second)], "time_s": float(time)}
    except ValueError:
        raise Misuse(f"--link {text}: write it as P,Q@SECONDS, such as 2,5@1.5") from None


def _partition(text: str) -> dict[str, Any]:
    processes, at, times = text.rpartition("@")
    start, _, end = times.partition("..")
    side = [_process(process.strip()) for process in processes.split(",")]
    try:
        if not at or not all(str(process) for process in side):
            raise ValueError
        interval = {"start_s": float(start), "end_s": float(end)}
        return {"sides": [side], "packets": "lost", **interval}
    except ValueError:
        raise Misuse(
            f"--partition {text}: write it as PROCESS,PROCESS@SECONDS..SECONDS, such as 0,1@1.5..4"
        ) from None


def _process(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def _scenarios(data: dict[str, Any]) -> Iterator[tuple[Scenario | None, str]]:
    """One scenario; or, for 'all', one a protocol, or None and why it cannot carry the traffic."""
    if data["protocol"] != EVERY:
        yield make_scenario(data), ""
        return
    if data.get("options"):
        raise Misuse("options belong to one protocol; with --protocol all there are none")
    make_scenario({**data, "protocol": "none"})  # a mistake in anything else is reported once
    for name in names():
        try:
            yield make_scenario({**data, "protocol": name}), ""
        except Misuse as error:
            yield None, f"{name}: {error}"


def _make_room(targets: list[Path], force: bool) -> None:
    """Refuse what exists and make the folders, before the first run takes its time."""
    for target in targets:
        refuse_existing(target, force)
        with complaining(target):
            target.parent.mkdir(parents=True, exist_ok=True)


def _run(scenario: Scenario, out: Path | None, force: bool) -> Summary:
    total = scenario.message_limit
    with progress_bar(f"{scenario.run_name}", total) as tick:
        try:
            return run_scenario(scenario, out, force=force, progress=lambda sent: tick(sent, total))
        except BrokenInvariant as error:
            if scenario.protocol in ours():
                raise
            raise Misuse(
                f"{error}: the protocol breaks its contract; antecede.testing.check_protocol looks "
                f"for more"
            ) from error


ANSWERS = (
    "protocol",
    "messages",
    "deliveries",
    "undelivered",
    "violations",
    "control",
    "queue",
)
COSTS = ("", "elements", "p99", "bytes", "p99", "delay ms", "p99", "held ms", "p99")


def tell(summaries: list[Summary], left_out: list[str], owed: list[int]) -> None:
    """The summaries for a person, side by side; `owed` copies of each had to be delivered."""
    print_table(ANSWERS, map(_answers, summaries))
    print()
    print_table(COSTS, map(_costs, summaries))
    print(
        "\nelements, bytes: ordering information on a message; held: from arrival to\ndelivery; "
        "control: packets of the protocol's own; queue: at its longest."
    )
    for summary in summaries:
        if summary.hops:
            print(
                f"{summary.protocol}: {summary.hops:,} hop messages, on average "
                f"{summary.hop_stamp_entries.mean:.2f} elements and "
                f"{summary.hop_stamp_bytes.mean:.1f} bytes each."
            )
    _tell_notices(summaries)
    for summary in summaries:
        if summary.undone is not None:
            print(f"{summary.protocol}: {summary.undone.sentence()}")
        if summary.fully is not None:
            print(f"{summary.protocol}: {summary.fully.sentence()}")
    _tell_undelivered(summaries, owed)
    _tell_together(
        len(summaries),
        (
            (summary.protocol, f"{summary.failure.kind}: {summary.failure.sentence}")
            for summary in summaries
            if summary.failure
        ),
    )
    fifo = [summary.protocol for summary in summaries if summary.fifo_added]
    if fifo:
        print(f"On FIFO links, which they need: {', '.join(fifo)}.")
    if any(summary.violations is None for summary in summaries):
        print("Violations of so long a run are not counted; `antecede verify` judges its trace.")
    for reason in left_out:
        print(f"Left out: {reason}.")


_NOTICES = 60
"""How many of a protocol's notices are printed; `--json` has all."""


def _tell_notices(summaries: list[Summary]) -> None:
    """Faults, views, failovers and gaps."""
    _tell_together(
        len(summaries),
        (
            (summary.protocol, sentence)
            for summary in summaries
            for sentence in summary.notices[:_NOTICES]
        ),
    )
    for summary in summaries:
        more = len(summary.notices) - _NOTICES
        if more > 0:
            print(f"{summary.protocol}: {more:,} more notices; --json has them all.")


def _tell_undelivered(summaries: list[Summary], owed: list[int]) -> None:
    """Why copies are undelivered, and how many should not be."""
    _tell_together(
        len(summaries),
        (
            (
                summary.protocol,
                f"undelivered: {_told_of_leftover(summary, count)}.",
            )
            for summary, count in zip(summaries, owed, strict=True)
            if summary.undelivered
        ),
    )


def _told_of_leftover(summary: Summary, owed: int) -> str:
    """What it is, and whether it is the protocol's fault, or not promised under such faults."""
    told = summary.leftover.sentence(summary.stopped)
    if owed:
        return f"{told} (owed: {owed:,})"
    excuse = " (not owed: not promised under these faults)"
    return told + excuse if summary.leftover.unexcused else told


def _tell_together(count: int, told: Iterable[tuple[str, str]]) -> None:
    """What several of so many protocols tell is printed once."""
    protocols: dict[str, list[str]] = {}
    for protocol, sentence in told:
        protocols.setdefault(sentence, []).append(protocol)
    for sentence, tellers in protocols.items():
        who = EVERY if 1 < count == len(tellers) else some_of(tellers)
        print(f"{who}: {sentence}")


def _answers(summary: Summary) -> tuple[str, ...]:
    return (
        summary.protocol,
        f"{summary.messages:,}",
        f"{summary.deliveries:,}",
        f"{summary.undelivered:,}",
        "?" if summary.violations is None else f"{summary.violations:,}",
        f"{summary.control_packets:,}",
        f"{summary.peak_queue:,}",
    )


def _costs(summary: Summary) -> tuple[str, ...]:
    def plain(spread: Spread) -> tuple[str, str]:
        return f"{spread.mean:.1f}", f"{spread.p99:.0f}"

    def milliseconds(spread: Spread) -> tuple[str, str]:
        return f"{spread.mean * 1e3:.1f}", f"{spread.p99 * 1e3:.1f}"

    return (
        summary.protocol,
        *plain(summary.stamp_entries),
        *plain(summary.stamp_bytes),
        *milliseconds(summary.delay_s),
        *milliseconds(summary.hold_s),
    )
