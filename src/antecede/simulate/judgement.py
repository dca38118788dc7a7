"""The judgement on a run: was everything delivered that had to be, once, and in order?

Order is judged by the oracle, which shares nothing with the protocols; what has to be delivered, by
the sends and deliveries that it was told of. `antecede simulate` and `antecede fuzz` both judge by
this.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

import msgspec

from antecede.message import MessageId, members, process_set
from antecede.order import Gives, Held, Order
from antecede.simulate.books import Books
from antecede.simulate.duty import Duty, duty
from antecede.simulate.excuses import Excuses
from antecede.simulate.run import Simulation
from antecede.simulate.scenario import Scenario

EARLY = "early"
UNDELIVERED = "undelivered"
OUTSIDE = "outside"
DISAGREEMENT = "disagreement"
STATE_BOUND = "state-bound"
ENDLESS = "endless"
PREMATURE = "premature"


class Failure(msgspec.Struct, frozen=True):
    """What went wrong: the kind (one of those above, or the name of an error) and a sentence."""

    kind: str
    sentence: str


def failures(
    scenario: Scenario, books: Books, simulation: Simulation, excess: str | None = None
) -> Iterator[Failure]:
    """All that went wrong in a run that is over, the worst first. `excess` tells of a state beyond
    its bound."""
    orders, excuses = simulation.orders, simulation.excuses
    gives = orders[0].traits.gives
    fully = simulation.fully()
    if fully is not None and fully.premature:
        yield Failure(PREMATURE, fully.sentence())
    for sentence in simulation.undone_violations:
        yield Failure(EARLY, sentence)
    asked = scenario.incomplete is not None  # the books judge that
    if (gives is Gives.CAUSAL or asked) and scenario.promises_order:
        yield from early(books, excuses)
    elif gives is Gives.FIFO:
        yield from _out_of_turn(books)
    yield from undelivered(duty(scenario), books, orders, excuses)
    if duty(scenario) is Duty.SURVIVORS:
        others = process_set(simulation.outside) | excuses.stopped
        for process, since_s in simulation.outside.items():
            if excuses.outside(process, others):
                continue
            yield Failure(OUTSIDE, f"{books.names[process]} came at {since_s:g} s and is never in")
    if getattr(scenario.order_options, "total", False):
        yield from _disagreements(books)
    if excess is not None:
        yield Failure(STATE_BOUND, excess)


def early(books: Books, excuses: Excuses) -> Iterator[Failure]:
    """Deliveries that overtook a message. One that is lost cannot be waited for: a protocol that
    says so may go on without it."""
    for violation, overtaken in books.early:
        if not all(excuses.gap(message, violation.process) for message in overtaken):
            yield Failure(EARLY, books.witness(violation).sentence())


def _out_of_turn(books: Books) -> Iterator[Failure]:
    """Messages of one sender that a process delivered in another order."""
    for name, sequence in zip(books.names, books.sequences, strict=True):
        last: dict[int, MessageId] = {}
        for message in sequence:
            before = last.get(message.sender)
            if before is not None and before > message:
                first, second = books.name(before), books.name(message)
                yield Failure(EARLY, f"{name} delivered {first} before {second}")
            last[message.sender] = message


def undelivered(
    owed: Duty, books: Books, orders: Sequence[Order], excuses: Excuses
) -> Iterator[Failure]:
    """Copies that had to be delivered, and were not."""
    if owed is Duty.NOTHING:
        return
    for message, left in books.undelivered():
        missing = left & ~books.crashed
        if not missing or books.died(message):
            continue
        for process in members(missing):
            held = next((one for one in orders[process].held() if one.message == message), None)
            if owed is Duty.ARRIVED and held is None:
                continue
            if excuses.stop(message, books.delivered(message), process):
                continue
            if excuses.cut_off(message, books.delivered(message), process):
                continue
            if excuses.gap(message, process):
                continue
            if excuses.loss(message, process, has_come=held is not None):
                continue
            why = "" if held is None else _reason(held)
            sentence = f"{books.names[process]} never delivered {books.name(message)}{why}"
            yield Failure(UNDELIVERED, sentence)


def _reason(held: Held) -> str:
    awaited = "; ".join(one.sentence() for one in held.awaited) or "nothing"
    return f", which it holds, waiting for {awaited}"


def _disagreements(books: Books) -> Iterator[Failure]:
    """Pairs of processes that delivered what both delivered in different orders."""
    for one, other in combinations(range(len(books.sequences)), 2):
        common = set(books.sequences[one]) & set(books.sequences[other])
        here = [message for message in books.sequences[one] if message in common]
        there = [message for message in books.sequences[other] if message in common]
        for mine, theirs in zip(here, there, strict=True):
            if mine != theirs:
                yield Failure(
                    DISAGREEMENT,
                    f"{books.names[one]} delivered {books.name(mine)} where {books.names[other]} "
                    f"delivered {books.name(theirs)}",
                )
                break
