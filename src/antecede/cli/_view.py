"""`antecede view`: the space-time diagram of a trace, as one page."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from antecede.errors import Misuse


def view(
    trace: Annotated[Path, typer.Argument(help="A Parquet file, or a directory of them.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Write the page here.")
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
) -> None:
    """Show a trace: who sent what, when it arrived, when it was delivered, and why not earlier.

    The page is one file that needs no server and no network.

    Example: antecede view run.parquet --out run.html --open
    """
    from antecede.view import write_shiviz, write_view  # noqa: PLC0415 - only where needed

    if out is None and shiviz is None:
        raise Misuse("say what to write: --out FILE.html for the page, --shiviz FILE for a log")
    if out is None and (open_ or compare or compare_run or around):
        raise Misuse("--open, --compare, --compare-run and --around go with --out FILE.html")
    if compare_run and not compare:
        compare = trace
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
        print(f"written to {out} ({out.stat().st_size / 1e6:.2f} MB); any browser shows it")
    if shiviz is not None:
        write_shiviz(trace, shiviz, run=run, layer=layer, force=force)
        print(f"log for ShiViz written to {shiviz}")
    if open_ and out is not None:
        webbrowser.open(out.resolve().as_uri())
