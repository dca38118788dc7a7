"""What several commands share: options from flags, tables, progress."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from antecede.errors import Misuse

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
OptionFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the protocol; may repeat. A number may grow with the processes: k=2n.",
    ),
]

ANSWER_IS_NO = 1
"""The exit status where a violation was found."""
WHOLE_WIDTH = 10_000
"""Wider than any table: rich cuts cells to fit narrower ones."""


def parse_option_flags(flags: Iterable[str] | None, **short: str | None) -> dict[str, Any]:
    """`name=value` pairs, and flags of their own (`--k`). A value is read as JSON where it is JSON,
    else as text; `2n` and the like are numbers (`antecede.scaled`). An option is given once."""
    given: dict[str, tuple[str, str]] = {}
    named = [(name, text, f"--{name} {text}") for name, text in short.items() if text is not None]
    for flag in flags or ():
        name, equals, text = flag.partition("=")
        if not equals or not name:
            raise Misuse(f"--option {flag}: write it as NAME=VALUE")
        named.append((name.replace("-", "_"), text, f"--option {flag}"))
    for name, text, flag in named:
        if name in given:
            raise Misuse(f"{given[name][1]} and {flag}: give {name} once")
        given[name] = (text, flag)
    return {name: _value(text) for name, (text, _) in given.items()}


def _value(text: str) -> Any:
    try:
        return msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text


def print_json(value: Any) -> None:
    print(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> None:
    """A table; the first `text` columns are words, the others numbers. Never cut off: a pipe or
    a narrow terminal gets the whole width."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index < text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    _Output(highlight=False, width=WHOLE_WIDTH).print(table)


class _Output(Console):
    """A console that leaves it to the command line what happens when nobody reads any more."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Spoken:
    """Progress where there is no terminal: a line now and then, so that a log shows life. What is
    over soon says nothing."""

    def __init__(self, every_s: float = 10.0) -> None:
        self._every_s = every_s
        self._last_s = monotonic()

    def __call__(self, words: str) -> None:
        """Say where the work stands, unless something was said a moment ago."""
        now_s = monotonic()
        if now_s - self._last_s >= self._every_s:
            self._last_s = now_s
            print(words, file=sys.stderr, flush=True)


@contextmanager
def progress_bar(title: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """Progress as a function of what is completed, and of what: a bar on a terminal, otherwise a
    line now and then."""
    if not sys.stderr.isatty():
        say = Spoken()

        def speak(completed: int, of: int | None = total) -> None:
            say(f"{title}: {completed:,}" + (f" of {of:,}" if of else ""))

        yield speak
        return
    columns = (TextColumn(title), BarColumn(), TextColumn("{task.completed:,.0f}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=total)

        def move(completed: int, of: int | None = None) -> None:
            progress.update(task, completed=completed, total=of)

        yield move
