"""`antecede explore`: all interleavings of all small programs."""

from typing import Annotated

import typer

from antecede.cli._shared import (
    ANSWER_IS_NO,
    JsonFlag,
    OptionFlags,
    parse_option_flags,
    print_json,
    progress_bar,
)
from antecede.errors import Misuse
from antecede.explore import Exploration, Kind, Settings
from antecede.explore import explore as explore_all
from antecede.message import ProcessSet, process_set
from antecede.order import Gives


def explore(
    protocol: Annotated[str, typer.Option(help="The protocol; see `antecede protocols`.")],
    processes: Annotated[int, typer.Option(min=1, help="How many processes.")] = 3,
    messages: Annotated[int, typer.Option(min=1, help="Programs of up to so many messages.")] = 4,
    addressing: Annotated[
        Kind | None, typer.Option(help="Whom messages go to; by default what suits the protocol.")
    ] = None,
    group: Annotated[
        list[str] | None,
        typer.Option(metavar="P,P,...", help="The members of a group, such as 0,1,2; may repeat."),
    ] = None,
    expect: Annotated[
        str | None,
        typer.Option(help="Judge by this order (nothing, fifo, causal), not by what it promises."),
    ] = None,
    option: OptionFlags = None,
    jobs: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    max_states: Annotated[
        int | None, typer.Option(min=1, help="Give up on a program after so many states.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run every interleaving of every small program, and judge every delivery.

    Exit status: 0 if nothing broke, 1 if something did (with the shortest schedule that shows it)
    or if not everything could be explored.

    Example: antecede explore --protocol matrix --processes 3 --messages 4
    """
    settings = Settings(expect=_expectation(expect), max_states=max_states)
    with progress_bar(f"exploring {protocol}") as tick:
        result = explore_all(
            protocol,
            processes,
            messages,
            addressing=addressing,
            groups=[_group(text) for text in group or ()],
            options=parse_option_flags(option),
            settings=settings,
            jobs=jobs,
            progress=lambda done, total, states: tick(done, total),
        )
    if as_json:
        print_json(_as_json(result))
    else:
        tell(result)
    if not result.passed:
        raise typer.Exit(ANSWER_IS_NO)


def _group(text: str) -> ProcessSet:
    try:
        return process_set(int(member) for member in text.split(","))
    except ValueError:
        raise Misuse(f"--group {text}: write its members as numbers, such as 0,1,2") from None


def _expectation(text: str | None) -> Gives | None:
    if text is None:
        return None
    try:
        return Gives[text.upper()]
    except KeyError:
        raise Misuse(f"--expect {text}: it is one of nothing, fifo, causal") from None


def tell(result: Exploration) -> None:
    """The result for a person."""
    print(
        f"{result.programs:,} programs, {result.states:,} states, {result.schedules:,} schedules, "
        f"{result.deliveries_checked:,} distinct deliveries judged"
    )
    if result.failure is not None:
        print(result.failure)
    elif result.incomplete:
        print(f"incomplete: {result.incomplete}")
    else:
        print("every delivery was in order, and everything was delivered")


def _as_json(result: Exploration) -> dict[str, object]:
    failure = result.failure
    return {
        "programs": result.programs,
        "states": result.states,
        "schedules": result.schedules,
        "deliveries_checked": result.deliveries_checked,
        "passed": result.passed,
        "incomplete": result.incomplete or None,
        "failure": None
        if failure is None
        else {
            "kind": failure.kind,
            "sentence": failure.sentence,
            "steps": list(failure.lines),
            "replay": failure.to_text(),
        },
    }
