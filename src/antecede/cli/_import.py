"""`antecede import`: the logs of other systems as traces."""

import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from antecede.cli._shared import JsonFlag, print_json
from antecede.errors import Misuse
from antecede.imports import (
    Imported,
    import_csv,
    import_graph,
    import_json_lines,
    import_shiviz,
    write_imported,
)
from antecede.trace import DELIVER, SEND

LOG = "Logs with vector clocks"
TABLE = "Tables"


class Format(StrEnum):
    SHIVIZ = "shiviz"
    GRAPH = "graph"
    CSV = "csv"
    JSONL = "jsonl"


IMPORTERS: dict[Format, Callable[..., Imported]] = {
    Format.SHIVIZ: import_shiviz,
    Format.GRAPH: import_graph,
    Format.CSV: import_csv,
    Format.JSONL: import_json_lines,
}
_TABULAR = {"columns", "kinds", "separator"}
OPTIONS = {
    Format.SHIVIZ: {"pattern", "send", "deliver", "crash"},
    Format.GRAPH: {"order"},
    Format.CSV: _TABULAR,
    Format.JSONL: _TABULAR,
}
FLAGS = {"columns": "--column", "kinds": "--kind"}


def import_(
    format_: Annotated[
        Format,
        typer.Argument(
            metavar="FORMAT", help="shiviz (also GoVector), graph (*.dag.csv.gz), csv or jsonl."
        ),
    ],
    file: Annotated[Path, typer.Argument(help="The log.")],
    out: Annotated[
        Path, typer.Option(help="Write the trace here; a folder where there are several runs.")
    ],
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FIELD",
            help="The field of the file for a column of the trace; may repeat.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND=WORD",
            help="The word of the file for send, deliver ...; may repeat.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between destinations; a space.", rich_help_panel=TABLE)
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Deliver a graph in the order of this column, not of the file."),
    ] = None,
    pattern: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX",
            help="An event, with groups host, clock and event.",
            rich_help_panel=LOG,
        ),
    ] = None,
    send: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="The text of a send, with a group message.", rich_help_panel=LOG
        ),
    ] = None,
    deliver: Annotated[
        str | None,
        typer.Option(
            metavar="REGEX", help="That of a delivery, with the same.", rich_help_panel=LOG
        ),
    ] = None,
    crash: Annotated[
        str | None,
        typer.Option(metavar="REGEX", help="That of a crash.", rich_help_panel=LOG),
    ] = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing trace.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Turn a log of another system into a trace; what the log cannot show is said in a warning.

    Example: antecede import csv events.csv --column process=host --out run.parquet
    """
    given: dict[str, Any] = {
        "columns": _pairs("--column", column),
        "kinds": _pairs("--kind", kind),
        "separator": separator,
        "order": order,
        "pattern": pattern,
        "send": send,
        "deliver": deliver,
        "crash": crash,
    }
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in OPTIONS[format_]:
            raise Misuse(f"{FLAGS.get(name, '--' + name)} says nothing about the format {format_}")
    imported = IMPORTERS[format_](file, **given)
    runs = write_imported(imported, out, force=force)
    for warning in imported.warnings:
        print(f"antecede: warning: {warning}", file=sys.stderr)
    messages = sum(int((run.events.kind == SEND).sum()) for run in runs)
    deliveries = sum(int((run.events.kind == DELIVER).sum()) for run in runs)
    if as_json:
        counts = {"runs": len(runs), "messages": messages, "deliveries": deliveries}
        print_json({**counts, "warnings": list(imported.warnings)})
    else:
        in_runs = f"{len(runs):,} run{'s' * (len(runs) != 1)}"
        print(f"{in_runs}, {messages:,} messages, {deliveries:,} deliveries written to {out}")


def _pairs(flag: str, texts: Iterable[str] | None) -> dict[str, str] | None:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise Misuse(f"{flag} {text}: write it as NAME=VALUE")
        pairs[name] = value
    return pairs or None
