"""`antecede import`: the logs of other systems as traces."""

import sys
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from antecede.cli._shared import JsonFlag, counts_text, print_json
from antecede.errors import Misuse
from antecede.imports import (
    Imported,
    import_csv,
    import_graph,
    import_json_lines,
    import_shiviz,
    write_imported,
)
from antecede.imports.problems import TOLERABLE, parse_tolerance
from antecede.trace import DELIVER, SEND
from antecede.verify.verdict import assumed_to_json

LOG = "Logs with vector clocks"
TABLE = "Tables"


PatternFlag = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX",
        help="An event, with groups host, clock, event and time.",
        rich_help_panel=LOG,
    ),
]
SendFlag = Annotated[
    str | None,
    typer.Option(
        metavar="REGEX", help="The text of a send, with a group message.", rich_help_panel=LOG
    ),
]
DeliverFlag = Annotated[
    str | None,
    typer.Option(metavar="REGEX", help="That of a delivery, with the same.", rich_help_panel=LOG),
]
CrashFlag = Annotated[
    str | None, typer.Option(metavar="REGEX", help="That of a crash.", rich_help_panel=LOG)
]
BroadcastFlag = Annotated[
    bool,
    typer.Option("--broadcast", help="Every message is for all processes but its sender."),
]
TolerateFlag = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KINDS",
        help=f"Continue despite these problems, separated by commas: {', '.join(TOLERABLE)}, all. "
        "They are counted, and the verdict says what they mean.",
    ),
]


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
_SHARED = {"broadcast", "tolerate"}
_TABULAR = {"columns", "kinds", "separator", *_SHARED}
OPTIONS = {
    Format.SHIVIZ: {"pattern", "send", "deliver", "crash", *_SHARED},
    Format.GRAPH: {"order"},
    Format.CSV: {*_TABULAR, "delimiter"},
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
            help="The word of the file for send, deliver, local ...; may repeat. local=* keeps all "
            "others as local events.",
            rich_help_panel=TABLE,
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Between destinations; a space.", rich_help_panel=TABLE)
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="Between fields of CSV; a comma.", rich_help_panel=TABLE)
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help="Deliver a graph in the order of this column, not of the file."),
    ] = None,
    pattern: PatternFlag = None,
    send: SendFlag = None,
    deliver: DeliverFlag = None,
    crash: CrashFlag = None,
    broadcast: BroadcastFlag = False,
    tolerate: TolerateFlag = None,
    force: Annotated[bool, typer.Option(help="Overwrite an existing trace.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Turn a log of another system into a trace; what had to be assumed is said, and
    stays with the trace.

    Example: antecede import csv events.csv --column process=host --out run.parquet
    """
    given: dict[str, Any] = {
        "columns": pairs_of("--column", column),
        "kinds": pairs_of("--kind", kind),
        "separator": separator,
        "delimiter": delimiter,
        "order": order,
        "pattern": pattern,
        "send": send,
        "deliver": deliver,
        "crash": crash,
        "broadcast": broadcast or None,
        "tolerate": parse_tolerance(tolerate) if tolerate else None,
    }
    given = {name: value for name, value in given.items() if value is not None}
    for name in given:
        if name not in OPTIONS[format_]:
            raise Misuse(f"{FLAGS.get(name, '--' + name)} says nothing about the format {format_}")
    imported = IMPORTERS[format_](file, **given)
    runs = write_imported(imported, out, force=force)
    for one in imported.assumed:
        print(f"antecede: assumed: {one.sentence()}", file=sys.stderr)
    messages = sum(int((run.events.kind == SEND).sum()) for run in runs)
    deliveries = sum(int((run.events.kind == DELIVER).sum()) for run in runs)
    if as_json:
        counts = {"runs": len(runs), "messages": messages, "deliveries": deliveries}
        print_json({**counts, "assumed": [assumed_to_json(one) for one in imported.assumed]})
    else:
        print(f"{counts_text(len(runs), messages, deliveries)} written to {out}")


def pairs_of(flag: str, texts: Iterable[str] | None) -> dict[str, str] | None:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name and equals and (value or flag == "--column")):
            raise Misuse(f"{flag} {text}: write it as NAME=VALUE")
        pairs[name] = value
    return pairs or None
