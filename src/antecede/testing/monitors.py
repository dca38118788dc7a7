"""What is checked after every event of a run, besides the order of deliveries."""

from collections.abc import Sequence
from typing import TypeVar

from antecede.message import MessageId
from antecede.order import Awaited, Effect, Held, Order, Packet, Scope, Transmit
from antecede.testing.network import Flight, Monitor, Network
from antecede.testing.truth import Fact
from antecede.wire import decode_stamp, encode_stamp


class Explained(Monitor):
    """What has arrived is delivered or held; what is held waits for something, for all that it
    needs, and for nothing that is there already.

    All that it needs: what it waits for never grows, and it is delivered when nothing is left.
    """

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._awaited: dict[tuple[int, MessageId], set[Awaited]] = {}
        self._arrived: list[set[MessageId]] = [set() for _ in network.orders]
        self._steps = 0

    def after(self, process: int, effects: list[Effect]) -> None:
        truth = self.network.truth
        for event, place, about in self.network.steps[self._steps :]:
            if event == "arrive" and isinstance(about, Packet) and about.message:
                self._arrived[place].add(about.message.id)
        self._steps = len(self.network.steps)
        held = self.network.orders[process].held()
        identities = [entry.message for entry in held]
        if identities != sorted(set(identities)):
            self.network.fail(f"process {process} holds {identities}: out of order")
        waiting = {
            identity
            for identity in self._arrived[process]
            if truth.lacks(process, truth.by_id[identity])
        }
        if not waiting <= set(identities):
            self.network.fail(
                f"process {process} neither delivers nor holds {sorted(waiting - set(identities))}"
            )
        for entry in held:
            self._check(process, entry)

    def _check(self, process: int, entry: Held) -> None:
        truth = self.network.truth
        where = f"process {process} holds {entry.message}"
        fact = truth.by_id.get(entry.message)
        if fact is None or not truth.lacks(process, fact):
            self.network.fail(f"{where}, which is delivered there or not addressed to it")
        if not entry.awaited:
            self.network.fail(f"{where} for no reason")
        if list(entry.awaited) != sorted(set(entry.awaited)):
            self.network.fail(f"{where} for reasons out of order: {entry.awaited}")
        for awaited in entry.awaited:
            if not is_unsatisfied(self.network, process, fact, awaited):
                self.network.fail(f"{where} for {awaited.sentence()}, which is untrue")
        known = self._awaited.get((process, entry.message))
        awaited_now = set(entry.awaited)
        if known is not None and not awaited_now <= known:
            new = [awaited.sentence() for awaited in sorted(awaited_now - known)]
            self.network.fail(f"{where} for {new}, of which it said nothing before")
        self._awaited[process, entry.message] = awaited_now


def is_unsatisfied(network: Network, process: int, held: Fact, awaited: Awaited) -> bool:
    """Whether what a held message is said to wait for is really missing at the process.

    A packet without message may itself wait after it has arrived, which only the protocol knows: of
    such a packet it is checked that there is one. A clock counts what only the protocol knows:
    there must be a predecessor of the held message that is missing. Where all up to a number is
    awaited, the last of it must be missing: a smaller number would say the same.
    """
    truth = network.truth
    match awaited.scope:
        case Scope.TIME:
            return held.past & truth.undelivered(process) != 0
        case Scope.BLOCK:
            return _is_block_missing(network, process, awaited)
        case _:
            found = locate(network, process, awaited)
            if not found:
                return False
            last = found[-1]
            if isinstance(last, Flight):
                message = last.packet.message
                return message is None or truth.lacks(process, truth.by_id[message.id])
            return truth.lacks(process, last)


def _is_block_missing(network: Network, process: int, awaited: Awaited) -> bool:
    """Whether some message of the other process in the group, up to this `number`, is undelivered,
    or no packet of that number or more has brought word that there are no more. Where stamps have
    no `group`, their numbers count across all groups."""
    truth = network.truth
    membership = network.layout.membership
    shared = set(membership.groups_of(process)) & set(membership.groups_of(awaited.process))
    is_per_group = "group" in network.orders[process].stamp_type.__struct_fields__
    if not shared or (is_per_group and awaited.group not in shared):
        return False
    is_word_missing = True
    for flight in network.channels.get((awaited.process, process), []):
        message, stamp = flight.packet.message, flight.packet.stamp
        if is_per_group and awaited.group != (message.group if message else stamp.group):
            continue
        if stamp.number >= awaited.count and flight.has_arrived:
            is_word_missing = False
        is_covered = stamp.number <= awaited.count
        if message and is_covered and truth.lacks(process, truth.by_id[message.id]):
            return True
    return is_word_missing


def locate(network: Network, process: int, awaited: Awaited) -> Sequence[Fact | Flight]:
    """The messages or packets that are meant, the last one last; none if that does not exist."""
    truth = network.truth
    flights = network.channels.get((awaited.process, process), [])
    match awaited.scope:
        case Scope.MESSAGE:
            fact = truth.by_id.get(MessageId(awaited.process, awaited.count))
            return [] if fact is None else [fact]
        case Scope.GROUP:
            return _up_to(awaited.count, truth.in_group.get((awaited.group, awaited.process), []))
        case Scope.HERE:
            return _up_to(awaited.count, flights)
        case Scope.HOP:
            return [f for f in flights if f.packet.stamp.number == awaited.count]
        case Scope.TIME | Scope.BLOCK | Scope.REPORT:
            return []


Sent = TypeVar("Sent", Fact, Flight)


def _up_to(count: int, sent: list[Sent]) -> list[Sent]:
    return sent[:count] if 1 <= count <= len(sent) else []


class Prompt(Monitor):
    """No message is held whose predecessors are all delivered: for orders that call themselves
    prompt."""

    def after(self, process: int, effects: list[Effect]) -> None:
        truth = self.network.truth
        for entry in self.network.orders[process].held():
            if not truth.missing(process, truth.by_id[entry.message]):
                self.network.fail(f"process {process} holds {entry.message} for nothing")


class Bounded(Monitor):
    """The state keeps to the bound that its paper sets."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self._bounds = [order.entries_bound() for order in network.orders]

    def after(self, process: int, effects: list[Effect]) -> None:
        order = self.network.orders[process]
        entries, bound = order.entries(), order.entries_bound()
        if bound != self._bounds[process]:
            self.network.fail(f"the bound moves from {self._bounds[process]} to {bound}")
        if entries < 0 or (bound is not None and entries > bound):
            self.network.fail(f"process {process} keeps {entries} entries, its bound is {bound}")


class Recorder(Monitor):
    """Writes down all that can be seen of a run: effects and states."""

    def __init__(self, network: Network) -> None:
        super().__init__(network)
        self.log: list[tuple[int, list[Effect], bytes]] = []

    def after(self, process: int, effects: list[Effect]) -> None:
        self.log.append((process, effects, self.network.orders[process].snapshot()))


def log_of(network: Network, messages: int) -> list[tuple[int, list[Effect], bytes]]:
    """All that can be seen of a whole run."""
    recorder = Recorder(network)
    network.monitors.append(recorder)
    network.play(messages)
    network.drain()
    return recorder.log


class Stamps(Monitor):
    """Stamps are values: hashable throughout, countable, and the same after a journey."""

    def after(self, process: int, effects: list[Effect]) -> None:
        for effect in effects:
            if not isinstance(effect, Transmit):
                continue
            stamp = effect.packet.stamp
            if type(stamp) is not self.network.orders[process].stamp_type:
                self.network.fail(f"{stamp} is not of the declared type")
            try:
                hash(stamp)
            except TypeError as error:
                self.network.fail(f"{stamp} can be changed: {error}")
            if stamp.entries() < 0:
                self.network.fail(f"{stamp} counts {stamp.entries()} entries")
            if decode_stamp(encode_stamp(stamp), type(stamp)) != stamp:
                self.network.fail(f"{stamp} is another one after a journey")


def all_monitors(order: type[Order]) -> list[type[Monitor]]:
    """All that can be watched of an order of these traits."""
    return [Explained, Bounded, Stamps, *[Prompt] * order.traits.prompt]
