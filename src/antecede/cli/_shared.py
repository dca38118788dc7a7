"""What several commands share: options from flags, tables, progress."""

import json
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from time import monotonic
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from antecede.errors import Misuse, counted
from antecede.pipeline.session import ADOPTED, is_submitted
from antecede.pipeline.spread import HERE
from antecede.verify.verdict import Answer

JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
OptionFlags = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="An option of the protocol; may repeat. A number may grow with the processes: k=2n.",
    ),
]

MasterFlag = Annotated[
    str | None,
    typer.Option(
        help="Where Spark runs: local[2], spark://host:port ...; or 'here', without Spark.",
        show_default="local[*]; here, where Spark is not installed",
    ),
]

ANSWER_IS_NO = 1
"""The exit status where a violation was found."""
CANNOT_TELL = 3
"""The exit status where order can neither be called kept nor broken."""
WITHOUT_SPARK = (
    "Spark is not installed, so one core of this machine does it all; pip install 'antecede[spark]'"
)
WHOLE_WIDTH = 10_000
"""Wider than any table: rich cuts cells to fit narrower ones."""


def end_by_signal() -> None:
    """Take the signal by which containers end a command for control-C: it ends with its answer.
    Shells have commands in the background ignore control-C, which would be to ignore both."""
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))


def has_spark() -> bool:
    """Whether the package is there; it is not imported, which would take a second."""
    return find_spec("pyspark") is not None


def chosen_master(master: str | None) -> str:
    """Where to run: what was said, or all cores by Spark, or without Spark where there is none."""
    if master is not None:
        return master
    if has_spark():
        return ADOPTED if is_submitted() else "local[*]"
    print(WITHOUT_SPARK, file=sys.stderr)
    return HERE


def given(flags: dict[str, Any]) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None}


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


def exit_with(answer: Answer) -> None:
    """End a command with the status of its answer."""
    if answer is not Answer.KEPT:
        raise typer.Exit(ANSWER_IS_NO if answer is Answer.BROKEN else CANNOT_TELL)


def counts_text(runs: int, messages: int, deliveries: int) -> str:
    """`1 run, 2 messages, 1 delivery`."""
    counts = (runs, "run"), (messages, "message"), (deliveries, "delivery")
    return ", ".join(counted(*count) for count in counts)


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
    """Progress as a function of what is completed, of how much, and of what is done now: a bar on a
    terminal, otherwise a line now and then."""
    if not sys.stderr.isatty():
        say = Spoken()

        def speak(completed: int, of: int | None = total, now: str = "") -> None:
            say(f"{title}: {completed:,}" + (f" of {of:,}" if of else "") + (now and f"; {now}"))

        yield speak
        return
    counted = TextColumn("{task.completed:,.0f}")
    columns = (TextColumn(title), BarColumn(), counted, TextColumn("{task.description}"))
    console = Console(stderr=True)
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=total)

        def move(completed: int, of: int | None = None, now: str = "") -> None:
            progress.update(task, completed=completed, total=of, description=now)

        yield move
