"""`antecede node`: a live member of a group, for people, scripts and other languages."""

import asyncio
import json
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from antecede.cli._live import (
    Authority,
    Certificate,
    Key,
    PlainTcpFlag,
    Revoked,
    choose_security,
    described,
    log_to_stderr,
    parse_address,
    print_line,
    read_lines,
)
from antecede.cli._shared import OptionFlags, parse_option_flags
from antecede.errors import BadFile, Misuse

if TYPE_CHECKING:
    from antecede.live import Address, Group
    from antecede.live.tap import Tap

OVERLAY = "Overlays"


def node(
    name: Annotated[str | None, typer.Option(help="The name of this member.")] = None,
    group: Annotated[str, typer.Option(help="The group to join.")] = "group",
    listen: Annotated[str, typer.Option(metavar="HOST:PORT", help="Port 0 takes a free one.")] = (
        "127.0.0.1:0"
    ),
    peer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A member to join by; may repeat. Without any: found the group.",
        ),
    ] = None,
    seed: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST:PORT",
            help="One of those who found the group together, this one among them; may repeat.",
        ),
    ] = None,
    expect: Annotated[
        int | None, typer.Option(help="How many seeds found the group; by default a majority.")
    ] = None,
    found_anew: Annotated[
        bool,
        typer.Option(
            "--found-anew",
            help="Found the group again: those whom the log knows are gone for good.",
        ),
    ] = False,
    join_timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Give up after that, and say why.")
    ] = None,
    protocol: Annotated[str, typer.Option(help="As in 'antecede protocols'.")] = "vector",
    option: OptionFlags = None,
    advertise: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="Where others find this member, if not at --listen."
        ),
    ] = None,
    suspect_after: Annotated[
        float,
        typer.Option(metavar="SECONDS", help="How long a member may be silent. Same everywhere."),
    ] = 2.0,
    missing_after: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Report what waits for longer.")
    ] = None,
    record: Annotated[Path | None, typer.Option(help="A folder for the trace.")] = None,
    tap: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A folder for what this member delivers, for streams of Spark."
        ),
    ] = None,
    durable: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A log from which this member resumes where it was."),
    ] = None,
    synchronous: Annotated[
        str,
        typer.Option(help="What the log survives. normal: a kill; full: also a power cut, slower."),
    ] = "normal",
    kept_messages: Annotated[
        int, typer.Option(help="How many messages the log keeps for members that return.")
    ] = 100_000,
    logs: Annotated[
        bool, typer.Option("--log", help="Tell on standard error what happens, as JSON lines.")
    ] = False,
    serve: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT", help="A page for people here, /metrics (Prometheus) and /status."
        ),
    ] = None,
    authority: Authority = None,
    certificate: Certificate = None,
    key: Key = None,
    revoked: Revoked = None,
    plain_tcp: PlainTcpFlag = False,
    scenario: Annotated[
        Path | None,
        typer.Option(help="Run a process of this scenario's overlay.", rich_help_panel=OVERLAY),
    ] = None,
    addresses: Annotated[
        Path | None,
        typer.Option(
            help="A TOML file: the address of every process of the scenario, by name.",
            rich_help_panel=OVERLAY,
        ),
    ] = None,
    role: Annotated[
        str | None,
        typer.Option(
            help="router: only forward; application: also send. Checked against the scenario.",
            rich_help_panel=OVERLAY,
        ),
    ] = None,
    memory: Annotated[
        Path | None,
        typer.Option(
            help="Its stable memory (recovery=memory); whoever takes its place is given the same.",
            rich_help_panel=OVERLAY,
        ),
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Show what the node that serves there is doing."),
    ] = None,
    finish: Annotated[
        Path | None, typer.Option(help="Complete the traces of killed nodes in this folder.")
    ] = None,
) -> None:
    """Take part in a group: a line of input is a message, a line of output an event (JSON).

    A line "@bob,carol text" goes to those two only. The end of the input leaves the group.

    Example: antecede node --name alice --listen 127.0.0.1:7001 --plain-tcp
    """
    if status is not None:
        _show_status(status)
        return
    if finish is not None:
        from antecede.live import finish as finish_logs  # noqa: PLC0415 - only where needed

        for trace in finish_logs(finish):
            print(trace)
        return
    if name is None:
        raise Misuse("--name is missing; what is this member called?")
    security = choose_security(authority, certificate, key, plain_tcp, revoked)
    if logs:
        log_to_stderr()
    if scenario is not None:
        if tap is not None:
            raise Misuse("--tap goes with a group, not with the overlay of a --scenario")
        asyncio.run(_overlay(name, scenario, addresses, role, security, record, serve, memory))
        return
    if role == "router":
        raise Misuse("--role router belongs to the overlay of a --scenario")
    peers = [parse_address("--peer", text) for text in peer or ()]
    for text in seed or ():
        parse_address("--seed", text)
    asyncio.run(
        _member(
            group,
            serve,
            tap,
            name=name,
            listen=parse_address("--listen", listen),
            advertise=None if advertise is None else parse_address("--advertise", advertise),
            security=security,
            suspect_after=suspect_after,
            peers=peers,
            seeds=seed or (),
            expect=expect,
            found_anew=found_anew,
            protocol=protocol,
            options=parse_option_flags(option),
            record=record,
            log=durable,
            synchronous=synchronous,
            kept_messages=kept_messages,
            missing_after=missing_after,
            join_timeout=join_timeout,
        )
    )


async def _member(
    group: str,
    serve: str | None,
    tap: Path | None,
    *,
    missing_after: float | None,
    join_timeout: float | None,
    suspect_after: float,
    synchronous: str,
    kept_messages: int,
    **settings: Any,
) -> None:
    from antecede.live import Durability, GroupConfig, Settings, Synchronous, join  # noqa: PLC0415

    if synchronous not in list(Synchronous):
        raise Misuse(f"--synchronous {synchronous}: there are {', '.join(Synchronous)}")
    settings["durability"] = Durability(Synchronous(synchronous), kept_messages)
    async with AsyncExitStack() as stack:
        written = None
        if tap is not None:
            name, is_synced = settings["name"], synchronous == Synchronous.FULL
            written = stack.enter_context(_tapping(tap, group, name, is_synced))
        choice = Settings(missing_after_s=missing_after, join_timeout_s=join_timeout)
        config = GroupConfig(suspect_after_s=suspect_after, flush_timeout_s=suspect_after)
        member = await stack.enter_async_context(
            join(group, settings=choice, config=config, measures=serve is not None, **settings)
        )
        await _run(member, serve, stack, written)


@contextmanager
def _tapping(folder: Path, group: str, name: str, is_synced: bool) -> "Iterator[Tap]":
    """A tap that is this process' own as long as it is open."""
    from antecede.files import locked, make_folder, refuse_stored  # noqa: PLC0415 - where needed
    from antecede.live.tap import Tap  # noqa: PLC0415

    refuse_stored(folder, "a tap appends to its files")
    make_folder(folder)
    with locked(folder), closing(Tap(folder, group, name, is_synced=is_synced)) as tap:
        yield tap


async def _overlay(
    name: str,
    file: Path,
    addresses: Path | None,
    role: str | None,
    security: Any,
    record: Path | None,
    serve: str | None,
    memory: Path | None,
) -> None:
    from antecede.live import join_overlay  # noqa: PLC0415 - only where needed
    from antecede.simulate import load_scenario  # noqa: PLC0415

    scenario = load_scenario(file)
    names = scenario.process_names
    if addresses is None:
        raise Misuse("--addresses is missing: a TOML file with the address of every process")
    where = _read_addresses(addresses, names)
    if name not in names:
        raise Misuse(f"--name {name} is none of {', '.join(names)}")
    process = names.index(name)
    applications = scenario.application_names
    actual = "application" if name in applications else "router"
    if role not in (None, actual):
        raise Misuse(f"'{name}' is a process for {actual}s in {file}, not for {role}s")
    order = scenario.order(process, scenario.membership, scenario.order_options)
    async with AsyncExitStack() as stack:
        member = await stack.enter_async_context(
            join_overlay(
                scenario.run_name,
                name=name,
                addresses=where,
                order=order,
                applications=applications,
                security=security,
                late=[names[one.process] for one in scenario.latecomers],
                record=record,
                measures=serve is not None,
                memory=memory,
            )
        )
        await _run(member, serve, stack)


def _read_addresses(file: Path, names: list[str]) -> "dict[str, Address]":
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile(str(file), [f"cannot be read: {error}"]) from None
    mistakes = [f"there is no address for '{name}'" for name in names if name not in found]
    mistakes += [f"'{name}' is no process of the scenario" for name in found if name not in names]
    if mistakes:
        raise BadFile(str(file), mistakes)
    return {name: parse_address(f"{file}: {name} =", str(found[name])) for name in names}


async def _run(
    member: "Group", serve: str | None, stack: AsyncExitStack, tap: "Tap | None" = None
) -> None:
    """Lines in, events out, until the input ends."""
    from antecede.live.metrics import serve as serve_metrics  # noqa: PLC0415 - only where needed

    host, port = member.address
    print_line({"event": "listening", "address": f"{host}:{port}"})
    if serve is not None:
        address = parse_address("--serve", serve)
        host, port = await stack.enter_async_context(serve_metrics([member], address))
        at = f"{host}:{port}"
        print_line({"event": "serving", "address": at, "page": f"http://{at}/"})
    talking = asyncio.create_task(_talk(member))
    printing = asyncio.create_task(_print_events(member, tap))
    done, _ = await asyncio.wait([talking, printing], return_when=asyncio.FIRST_COMPLETED)
    if talking in done:
        await talking
        await member.leave()
        await printing
    talking.cancel()
    for task in done:
        task.result()


async def _talk(member: "Group") -> None:
    reader = await read_lines()
    while line := await reader.readline():
        text = line.decode("utf-8", "backslashreplace").rstrip("\n")
        to = None
        if text.startswith("@") and " " in text:
            names, text = text[1:].split(" ", 1)
            to = names.split(",")
        try:
            await member.send(text.encode(), to)
        except Misuse as error:
            print_line({"event": "error", "text": str(error)})


async def _print_events(member: "Group", tap: "Tap | None") -> None:
    from antecede.live import Delivery, StateWanted  # noqa: PLC0415 - only where needed

    async for event in member:  # asking for the next marks this one as taken
        if tap is not None and isinstance(event, Delivery):
            tap.append(event)
            if tap.is_full:
                member.mark_taken()
                tap.roll()
        if isinstance(event, StateWanted):
            member.give_state(event, b"")  # There is nothing behind these lines.
        print_line(described(event))


def _show_status(text: str) -> None:
    host, port = parse_address("--status", text)
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/status", timeout=5) as answer:
            groups = json.load(answer)
    except (OSError, ValueError, urllib.error.URLError) as error:
        raise Misuse(f"nobody serves a status at {text}: {error}") from None
    for group in groups:
        print(
            f"{group['name']} in group {group['group']} ({group['protocol']}): {group['state']}, "
            f"view {group['view']} of {', '.join(group['members'])}"
        )
        print(
            f"  {group['sends']:,} sent, {group['deliveries']:,} delivered, "
            f"{group['waiting_for_the_application']:,} events wait for the application"
        )
        for held in group["held"]:
            print(
                f"  holds {held['message']} for {held['waited_s']} s, until "
                f"{'; '.join(held['awaited'])}"
            )
        for link in group["links"]:
            state = "connected" if link["connected"] else "not connected"
            print(
                f"  to {link['peer']}: {state}, {link['waiting_bytes']:,} bytes unacknowledged, "
                f"{link['reconnections']} reconnections"
            )
