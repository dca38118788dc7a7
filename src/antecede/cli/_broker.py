"""`antecede broker audit`: how often a broker breaks causal order."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from antecede.cli._plain import Command, CommandGroup
from antecede.cli._shared import (
    CANNOT_TELL,
    JsonFlag,
    end_by_signal,
    exit_with,
    print_json,
    progress_bar,
)
from antecede.cli._verify import tell as tell_verdict
from antecede.errors import Misuse, counted

if TYPE_CHECKING:
    from antecede.brokers.audit import Audit

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    help="Look at the broker you run.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
Url = Annotated[
    str, typer.Argument(help="nats://host:port, redis://host:port or kafka://host:port.")
]


def split(topics: list[str]) -> list[str]:
    """Topics that are given one by one, or with commas."""
    return [name for flag in topics for name in flag.split(",") if name]


@app.callback()
def broker() -> None:
    """Look at the broker you run."""


@app.command("audit", cls=Command)
def audit(
    url: Url,
    topics: Annotated[
        list[str],
        typer.Option(
            "--topics",
            "--subjects",
            "--streams",
            "--channels",
            help="What to read; separated by commas, or repeated.",
        ),
    ],
    for_: Annotated[
        float | None,
        typer.Option("--for", metavar="SECONDS", help="How long; without it until control-C."),
    ] = None,
    messages: Annotated[int, typer.Option(help="At most this many messages.")] = 1_000_000,
    readers: Annotated[int, typer.Option(help="How many readers, each with a connection.")] = 1,
    start: Annotated[
        str, typer.Option(help="new: what comes from now on; first: all that is kept, too.")
    ] = "new",
    live: Annotated[
        bool,
        typer.Option("--live", help="Listen to NATS core or Redis pub/sub, which keep nothing."),
    ] = False,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="A folder for the trace and the page.")
    ] = Path("broker-audit"),
    force: Annotated[bool, typer.Option(help="Replace what is there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Record what readers really see, and say how often it breaks causal order.

    Nothing is held back and nothing changes. Messages must carry stamps: their publishers use
    antecede.brokers, with hold=False to begin with. Says what holding back would have cost.

    Exit status: 0 if order was kept, 1 if not, 3 if that cannot be told: nothing was seen, or
    messages had no stamp.

    Example: antecede broker audit nats://127.0.0.1:4222 --subjects questions,answers --for 60
    """
    from antecede.brokers.audit import audit_broker  # noqa: PLC0415 - only where needed
    from antecede.view import write_view  # noqa: PLC0415

    if start not in ("new", "first"):
        raise Misuse(f"--start {start}: it can be new or first")
    if readers < 1:
        raise Misuse("--readers: there must be one at least")
    if (for_ is not None and not for_ > 0) or messages < 1:
        raise Misuse("--for, --messages: there must be some time, and one message at least")
    trace, page = out / "trace.parquet", out / "page.html"
    for file in (trace, page):
        if file.exists() and not force:
            raise Misuse(f"{file} exists; --force replaces it")
    out.mkdir(parents=True, exist_ok=True)
    end_by_signal()
    with progress_bar("messages seen (control-C ends the audit)") as tick:
        found = audit_broker(
            url,
            split(topics),
            trace,
            readers=readers,
            seconds=for_,
            messages=messages,
            start="first" if start == "first" else "new",
            live=live,
            force=force,
            tell=tick,
        )
    if found.messages:
        write_view(trace, page, force=force)
    if as_json:
        print_json(
            {
                **found.verdict.to_json(),
                "readers": found.readers,
                "unstamped": found.unstamped,
                "dropped": found.dropped,
                "contradictions": found.contradictions,
                "seconds": round(found.seconds, 3),
                "cost": asdict(found.cost),
                "trace": str(trace),
                "page": str(page) if found.messages else None,
            }
        )
    else:
        tell_audit(found, page)
    if not found.can_tell:
        raise typer.Exit(CANNOT_TELL)
    exit_with(found.verdict.answer)


def tell_audit(found: "Audit", page: Path) -> None:
    """The result for a person."""
    print(f"{counted(found.messages, 'message')} seen by {counted(found.readers, 'reader')}")
    if not found.messages:
        print(
            "nothing was published there meanwhile: order cannot be judged. Are the names right? "
            "--start first reads what is kept, too"
        )
        return
    if not found.can_tell:
        print("no message had a stamp: order cannot be judged. Publish through antecede.brokers")
        return
    tell_verdict(found.verdict)
    cost = found.cost
    if cost.held:
        print(
            f"holding back would have held {cost.held:,} of {counted(cost.messages, 'delivery')}: "
            f"{1e3 * cost.mean_s:.1f} ms on average, p50 {1e3 * cost.p50_s:.1f} ms, "
            f"p99 {1e3 * cost.p99_s:.1f} ms; at most {cost.most_waiting:,} at once"
        )
    else:
        print("holding back would have held nothing")
    if cost.still_waiting:
        print(f"{cost.still_waiting:,} would still wait at the end of the audit")
    print(f"the trace is {found.trace}, the page {page}")
