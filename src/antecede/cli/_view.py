"""`antecede view`: the space-time diagram of a trace, as one page."""

import sys
import webbrowser
from pathlib import Path
from tempfile import mkdtemp
from typing import Annotated

import typer

from antecede.cli._shared import JsonFlag, print_json
from antecede.errors import Misuse


def view(
    trace: Annotated[Path, typer.Argument(help="A Parquet file, or a directory of them.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.html",
            help="Write the page here; without it, to a temporary file that the browser shows.",
        ),
    ] = None,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    compare: Annotated[
        Path | None, typer.Option(help="A trace of the same traffic, to be shown beside it.")
    ] = None,
    layer: Annotated[
        str | None,
        typer.Option(help="Only app, the application's messages, or hop, those of routers."),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Which run, if there are several.")] = None,
    compare_run: Annotated[
        str | None, typer.Option(help="Which run of the other trace, or of this one.")
    ] = None,
    around: Annotated[
        str | None,
        typer.Option(metavar="SENDER:NUMBER", help="Open the page at this message."),
    ] = None,
    shiviz: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a log for ShiViz, too.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace files that exist.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a trace: who sent what, when it arrived, when it was delivered, and why not earlier.

    The page is one file that needs no server and no network.

    Example: antecede view run.parquet
    """
    from antecede.files import refuse_existing  # noqa: PLC0415
    from antecede.view import write_shiviz, write_view  # noqa: PLC0415 - only where needed

    if out is None and shiviz is None:
        out, open_ = Path(mkdtemp(prefix="antecede-view-")) / f"{trace.stem}.html", True
    if out is None and (open_ or compare or compare_run or around):
        raise Misuse("--open, --compare, --compare-run and --around are for the page: add --out")
    if out is not None and shiviz is not None:
        if out.resolve() == shiviz.resolve():
            raise Misuse("page and log need a file each: --out and --shiviz name the same")
        refuse_existing(shiviz, force, trace)
    if compare_run and not compare:
        compare = trace
    told: dict[str, str | int] = {}
    if out is not None:
        write_view(
            trace,
            out,
            compare=compare,
            layer=layer,
            run=run,
            compare_run=compare_run,
            around=around,
            force=force,
        )
        told |= {"page": str(out), "bytes": out.stat().st_size}
    if shiviz is not None:
        write_shiviz(trace, shiviz, run=run, layer=layer, force=force)
        told["log"] = str(shiviz)
    if as_json:
        print_json(told)
    else:
        if out is not None:
            print(f"written to {out} ({out.stat().st_size / 1e6:.2f} MB); any browser shows it")
        if shiviz is not None:
            print(f"log for ShiViz written to {shiviz}")
    if open_ and out is not None and not webbrowser.open(out.resolve().as_uri()):
        print(f"antecede: warning: found no browser to show {out} in", file=sys.stderr)
