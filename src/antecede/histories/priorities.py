"""Priorities: a message waits for what precedes it and is at least as urgent, and for nothing else
(Rodrigues, Verissimo, chapter 6).

The priority of a message is its `group`, from 0 up; a larger one is more urgent. Happened-before is
that of all messages: an urgent message carries word of the others without waiting for them, so that
what comes after it still can.

There is a history for each priority, and a stamp has a section of each. Whoever cites a message has
reported it only if it has the same priority. A more urgent message does not wait for it; and a less
urgent one does, but what is as urgent as the cited message does not wait for that one. So R6 to R8
are kept within a priority, and D (R5) has a number for each sender and priority. R7 shortens only
the sections that the message waits for: it is delivered without the less urgent ones, and so before
its destinations know what these would have told them.
"""

from collections.abc import Iterable, Iterator

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.histories import _cited
from antecede.histories._cited import Citations
from antecede.histories.history import History, merge
from antecede.message import Membership, Message, MessageId
from antecede.order import (
    Addressing,
    Awaited,
    Effect,
    Gives,
    Options,
    Packet,
    Stamp,
    Traits,
)
from antecede.orders._counting import Condition, Counting


class PrioritiesOptions(Options, frozen=True):
    """`levels`: how many priorities there are."""

    levels: int = 2


class Sections(Stamp, frozen=True):
    """`H[j]`: the cited messages of priority j."""

    H: tuple[Citations, ...]

    def entries(self) -> int:
        """The identifiers."""
        return sum(map(len, self.H))


class State(msgspec.Struct, array_like=True):
    """`H[j]`: the history of the messages of priority j. `D[j][s]`: the number of the last message
    of s with priority j that was delivered here."""

    H: list[History]
    D: list[list[int]]
    held: dict[MessageId, Packet[Sections]]


class Priorities(Counting):
    traits = Traits(
        title="priorities",
        paper="Rodrigues, Verissimo 1994",
        addressing=Addressing.SETS,
        gives=Gives.NOTHING,
    )
    options_type = PrioritiesOptions
    stamp_type = Sections
    state_type = State
    state: State
    options: PrioritiesOptions
    name = "priorities"

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        super().__init__(process, membership, options)
        if self.options.levels < 1:
            raise Misuse(f"there are {self.options.levels} priorities; one is the least")

    def initial_state(self) -> State:
        levels: int = self.options.levels
        return State([History()] * levels, [[0] * self.membership.size for _ in range(levels)], {})

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        self.check_addressing(message)
        priority = message.group
        if not 0 <= priority < self.options.levels:
            raise Misuse(f"there is no priority {priority}; there are 0 to {len(self.state.H) - 1}")
        H = self.state.H
        sections = [
            history.unreported(message.destinations) if level >= priority else history
            for level, history in enumerate(H)
        ]
        stamp = Sections(tuple(map(_cited.to_wire, sections)))
        H[priority] = H[priority].after_send(message, fifo=True)
        self.state.D[priority][self.process] = message.id.number
        return self.multicast(message, stamp)

    def check(self, packet: Packet[Sections], message: Message) -> None:
        levels = self.options.levels
        if not 0 <= message.group < levels:
            raise MalformedStamp("group", f"is {message.group}, which is no priority")
        if len(packet.stamp.H) != levels:
            raise MalformedStamp("H", f"has {len(packet.stamp.H)} sections for {levels} priorities")
        for priority, section in enumerate(packet.stamp.H):
            _cited.check(f"H[{priority}]", section, self.membership, message.id)
            sent = self.state.D[priority][self.process]
            if any(sender == self.process and number > sent for sender, number, _ in section):
                raise MalformedStamp(f"H[{priority}]", "names a message that has not been sent")

    def is_delivered(self, packet: Packet[Sections]) -> bool:
        message: Message = packet.message  # type: ignore[assignment]
        return message.id.number <= self.state.D[message.group][message.id.sender]

    def _missing(self, packet: Packet[Sections]) -> Iterator[tuple[int, MessageId]]:
        """What is cited, as urgent, addressed here and not delivered yet."""
        lowest = packet.message.group  # type: ignore[union-attr]
        for priority in range(lowest, self.options.levels):
            for cited in _cited.addressed(packet.stamp.H[priority], self.process):
                if cited.number > self.state.D[priority][cited.sender]:
                    yield priority, cited

    def unmet(self, packet: Packet[Sections]) -> Condition | None:
        for priority, (sender, number) in self._missing(packet):
            return (priority, sender), number
        return None

    def awaited(self, packet: Packet[Sections]) -> Iterable[Awaited]:
        for _, (sender, number) in self._missing(packet):
            yield Awaited(sender, number)

    def accept(self, packet: Packet[Sections]) -> Iterable[Condition]:
        message: Message = packet.message  # type: ignore[assignment]
        sender, number = message.id
        for priority, section in enumerate(packet.stamp.H):
            cited = _cited.from_wire(section)
            if priority == message.group:
                cited = cited.after_delivery(message, self.process, fifo=True)
            self.state.H[priority] = merge(self.state.H[priority], cited, fifo=True)
        self.state.D[message.group][sender] = number
        return [((message.group, sender), number)]

    def entries(self) -> int:
        return sum(len(history.entries) for history in self.state.H)
