"""`antecede bridge`: topics re-published in causal order."""

from typing import Annotated

import typer

from antecede.cli._broker import Url, split
from antecede.cli._shared import JsonFlag, end_by_signal, print_json, progress_bar
from antecede.errors import Misuse, counted


def bridge(
    url: Url,
    topics: Annotated[
        list[str],
        typer.Option("--from", help="The topics to read; separated by commas, or repeated."),
    ],
    to: Annotated[str, typer.Option(help="The one stream, subject or topic to publish to.")],
    group: Annotated[str, typer.Option(help="The name under which it resumes.")] = "bridge",
    patience: Annotated[
        float | None,
        typer.Option(help="Give up what the broker has lost after this many seconds."),
    ] = None,
    messages: Annotated[int | None, typer.Option(help="End after this many messages.")] = None,
    idle: Annotated[
        float | None, typer.Option(help="End when nothing has come for this many seconds.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Re-publish topics into one stream in causal order, for readers that cannot be changed.

    Runs until control-C, and resumes where it was. One bridge runs at a time; the last to start
    takes over.

    Example: antecede bridge redis://127.0.0.1:6379 --from questions,answers --to ordered
    """
    from antecede.brokers.bridge import run_bridge  # noqa: PLC0415 - only where needed
    from antecede.brokers.log import Superseded  # noqa: PLC0415

    end_by_signal()
    with progress_bar("messages bridged (control-C ends the bridge)") as tick:
        try:
            count = run_bridge(
                url,
                split(topics),
                to,
                group,
                patience_s=patience,
                messages=messages,
                idle_s=idle,
                tell=tick,
            )
        except Superseded:
            raise Misuse(f"another bridge of group '{group}' has taken over") from None
    if as_json:
        print_json({"bridged": count, "to": to})
    else:
        print(f"{counted(count, 'message')} bridged to {to}")
