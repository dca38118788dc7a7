"""What a judge has to know of a run: the oracle's books, and what states have grown to."""

from collections.abc import Iterable

from antecede.message import MessageId, ProcessSet, members
from antecede.order import Gives, Order
from antecede.simulate.recorder import Recorder
from antecede.simulate.scenario import Scenario
from antecede.trace import TraceWriter
from antecede.verify import OnlineOracle, Violation
from antecede.verify.incomplete import ScopedOracle


class Books(OnlineOracle):
    """The oracle, and besides who has sent, delivered and crashed."""

    def __init__(self, scenario: Scenario) -> None:
        names = scenario.process_names
        super().__init__(names, scenario.run_name)
        self.names = names
        self.early: list[tuple[Violation, list[MessageId]]] = []
        """Deliveries that came too early, with all that they overtook."""
        self.sequences: list[list[MessageId]] = [[] for _ in names]
        """By process, what it delivered, in order, where more than causal order is judged by it."""
        is_total = getattr(scenario.order_options, "total", False)
        self._keeps_sequences = is_total or scenario.order.traits.gives is Gives.FIFO

    def deliver(
        self, process: int, sender: int, number: int, time: float | None = None
    ) -> Violation | None:
        message = MessageId(sender, number)
        past = self._past_of.get(self._index.get(message, -1), 0)
        violation = super().deliver(process, sender, number, time)
        if self._keeps_sequences:
            self.sequences[process].append(message)
        if violation is not None:
            overtaken = past & self._awaited[process]
            missing = [self._sent[index].id for index in members(overtaken)]
            self.early.append((violation, missing))
        return violation

    @property
    def crashed(self) -> ProcessSet:
        return self._crashed

    def undelivered(self) -> Iterable[tuple[MessageId, ProcessSet]]:
        """What was not delivered everywhere, and at whom, the dead included."""
        for sent, missing in zip(self._sent, self._missing, strict=True):
            if left := missing & sent.destinations:
                yield sent.id, left

    def delivered(self, message: MessageId) -> ProcessSet:
        """Who has delivered it, the dead included."""
        index = self._index[message]
        return self._sent[index].destinations & ~self._missing[index]

    def died(self, message: MessageId) -> bool:
        """Whether its sender crashed, and nobody has delivered it who did not."""
        is_sender_dead = self._crashed >> message.sender & 1
        return bool(is_sender_dead and not self.delivered(message) & ~self._crashed)

    def name(self, message: MessageId) -> str:
        return self._name(message)


class ScopedBooks(Books, ScopedOracle):
    """The same where less than causal order is asked for."""


def books_of(scenario: Scenario) -> Books:
    """The books of a run of this scenario."""
    return Books(scenario) if scenario.incomplete is None else ScopedBooks(scenario)


class Watched(Recorder):
    """Every round of the simulator, which are some events, ends with a look at the recorder: the
    moment to look at the states of the processes."""

    def __init__(self, writer: TraceWriter | None, books: Books | None) -> None:
        super().__init__(writer, books)
        self._bounded: list[Order] = []
        self.excess: str | None = None
        """The first state that was larger than it may be."""

    def watch(self, orders: Iterable[Order]) -> None:
        """Look at the states of these that have a bound."""
        self._bounded = [order for order in orders if order.entries_bound() is not None]

    def flush_if_full(self) -> bool:
        for order in self._bounded:
            bound = order.entries_bound()  # which changes with the groups
            if bound is not None and order.entries() > bound:
                self.excess = (
                    f"process {order.process} keeps {order.entries()} elements, and {bound} is all "
                    f"it may"
                )
                self._bounded = []
                break
        return super().flush_if_full()
