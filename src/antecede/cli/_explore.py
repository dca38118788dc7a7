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
from antecede.errors import Misuse, counted
from antecede.explore import DEFAULT_MAX_WAKES, Exploration, Kind, Settings
from antecede.explore import explore as explore_all
from antecede.message import ProcessSet, process_set
from antecede.order import Gives
from antecede.protocols import find


def explore(
    protocol: Annotated[str, typer.Option(help="The protocol; see `antecede protocols`.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="How many processes; by default 3, or the topology's.")
    ] = None,
    messages: Annotated[int, typer.Option(min=1, help="Programs of up to this many messages.")] = 4,
    addressing: Annotated[
        Kind | None, typer.Option(help="Whom messages go to; by default what suits the protocol.")
    ] = None,
    topology: Annotated[
        str | None,
        typer.Option(
            help="A small network, as for `antecede simulate`: for separators, and for histories "
            "with --option rules=R1-R9.",
        ),
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
        int | None, typer.Option(min=1, help="Give up on a program after this many states.")
    ] = None,
    max_wakes: Annotated[
        int, typer.Option(min=0, help="Wake-ups of each process; later ones are not explored.")
    ] = DEFAULT_MAX_WAKES,
    symmetry: Annotated[
        bool | None,
        typer.Option(
            "--symmetry/--no-symmetry",
            help="Of programs that differ only in the names of processes that nothing tells apart, "
            "explore one. By default where that is proved to be enough; --symmetry presumes that "
            "ties decided by the smaller number (as in bounded) could be decided otherwise.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Run every interleaving of every small program, and judge every delivery.

    Exit status: 0 if nothing broke, 1 if something did (with a schedule that shows it, the shortest
    if they can all be tried) or if there is no verdict.

    Example: antecede explore --protocol matrix --processes 3 --messages 4
    """
    expected = _expectation(expect)
    settings = Settings(expect=expected, max_states=max_states, max_wakes=max_wakes)
    with progress_bar(f"exploring {protocol}") as tick:
        result = explore_all(
            protocol,
            3 if processes is None and topology is None else processes,
            messages,
            topology=topology,
            addressing=addressing,
            groups=[_group(text) for text in group or ()],
            options=parse_option_flags(option),
            settings=settings,
            symmetry=symmetry,
            jobs=jobs,
            progress=lambda done, total, states: tick(done, total),
        )
    if as_json:
        print_json(_as_json(result, max_wakes))
    else:
        tell(result, find(protocol).traits.gives if expected is None else expected, max_wakes)
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


_IN_ORDER = {
    Gives.NOTHING: "as promised (no order)",
    Gives.FIFO: "in order (FIFO)",
    Gives.CAUSAL: "in order (causal)",
}


def tell(result: Exploration, expected: Gives, max_wakes: int) -> None:
    """The result for a person."""
    print(
        f"{counted(result.programs, 'program')}, {counted(result.states, 'state')}, "
        f"{counted(result.schedules, 'schedule')}, "
        f"{counted(result.deliveries_checked, 'distinct delivery')} judged"
    )
    if result.renamings > 1:
        print(f"each program stands for all that {result.renamings:,} renamings make of it")
    if result.failure is not None:
        print(result.failure)
    elif result.incomplete:
        print(f"incomplete: {result.incomplete}")
    else:
        print(f"every delivery was {_IN_ORDER[expected]}, and everything was delivered")
    if result.wakes_cut:
        print(f"wake-ups beyond {max_wakes} of a process were not explored (--max-wakes)")


def _as_json(result: Exploration, max_wakes: int) -> dict[str, object]:
    failure = result.failure
    return {
        "programs": result.programs,
        "states": result.states,
        "schedules": result.schedules,
        "deliveries_checked": result.deliveries_checked,
        "renamings": result.renamings,
        "passed": result.passed,
        "incomplete": result.incomplete or None,
        "max_wakes": max_wakes,
        "wakes_cut": result.wakes_cut,
        "failure": None
        if failure is None
        else {
            "kind": failure.kind,
            "sentence": failure.sentence,
            "steps": list(failure.lines),
            "is_shortest": failure.is_shortest,
            "replay": failure.to_text(),
        },
    }
