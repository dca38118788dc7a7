"""`antecede explain`: why was this message held, or how did it break order?"""

from pathlib import Path
from typing import Annotated

import typer

from antecede.cli._shared import JsonFlag, exit_with, print_json
from antecede.verify import explain as explain_message


def explain(
    trace: Annotated[Path, typer.Argument(help="A Parquet file, or a directory of them.")],
    process: Annotated[str, typer.Option(help="Where the message was addressed to.")],
    message: Annotated[
        str,
        typer.Option(
            metavar="SENDER:NUMBER",
            help="Which message, or what the log calls it.",
        ),
    ],
    run: Annotated[str | None, typer.Option(help="Which run, if there are several.")] = None,
    layer: Annotated[
        str, typer.Option(help="app: the application's messages; hop: those of routers.")
    ] = "app",
    as_json: JsonFlag = False,
) -> None:
    """Tell what happened to one message at one process: how long it was held, for which messages,
    which part of the wait causality did not require, or how it broke order.

    Exit status: 0 if it kept causal order, 1 if it broke it, 3 if that cannot be told: it was never
    delivered there, or the trace was made from a log that does not show enough.

    Example: antecede explain run.parquet --process p2 --message p0:17
    """
    explanation = explain_message(trace, process, message, run, layer)
    if as_json:
        print_json(explanation.to_json())
    else:
        for sentence in explanation.sentences():
            print(sentence)
    exit_with(explanation.answer)
