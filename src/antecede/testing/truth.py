"""What really happened in a run, kept from the definition of happened-before alone.

A message has an index, its place in the order of sending; a set of messages is a bit set of these.
"""

import msgspec

from antecede.message import Message, MessageId, members
from antecede.order import Gives


class Fact(msgspec.Struct):
    """One message that was sent."""

    index: int
    message: Message
    past: int
    """The messages whose sends happened before this one's."""
    earlier: int
    """The messages that its sender sent before it."""


class Truth:
    """The sends of a run with their causal pasts, and the deliveries at each process."""

    def __init__(self, size: int, gives: Gives) -> None:
        self._gives = gives
        self._known = [0] * size
        self._own = [0] * size
        self.addressed = [0] * size
        self.delivered = [0] * size
        self.facts: list[Fact] = []
        self.by_id: dict[MessageId, Fact] = {}
        self.in_group: dict[tuple[int, int], list[Fact]] = {}
        """By (group, sender): the sender's messages in the group."""

    def send(self, message: Message) -> None:
        """Its sender has sent this message."""
        sender = message.id.sender
        fact = Fact(len(self.facts), message, self._known[sender], self._own[sender])
        self.facts.append(fact)
        self.by_id[message.id] = fact
        self.in_group.setdefault((message.group, sender), []).append(fact)
        self._known[sender] |= 1 << fact.index
        self._own[sender] |= 1 << fact.index
        for process in range(len(self.addressed)):
            if message.destinations >> process & 1:
                self.addressed[process] |= 1 << fact.index

    def deliver(self, process: int, message: Message) -> str | None:
        """A process delivers a message: what is wrong with that, or None."""
        fact = self.by_id.get(message.id)
        if fact is None or fact.message != message:
            return f"process {process} delivers {message}, which nobody sent"
        bit = 1 << fact.index
        if not self.addressed[process] & bit:
            return f"process {process} delivers {message.id}, which is not addressed to it"
        if self.delivered[process] & bit:
            return f"process {process} delivers {message.id} twice"
        overtaken = self.missing(process, fact)
        self.delivered[process] |= bit
        self._known[process] |= fact.past | bit
        if overtaken:
            names = ", ".join(map(str, overtaken))
            return f"process {process} delivers {message.id} without {names}, which it depends on"
        return None

    def missing(self, process: int, fact: Fact) -> list[MessageId]:
        """What must reach the process before this message, by what the protocol promises, and has
        not been delivered there."""
        before = {Gives.CAUSAL: fact.past, Gives.FIFO: fact.earlier, Gives.NOTHING: 0}
        return self._identities(before[self._gives] & self.undelivered(process))

    def undelivered(self, process: int) -> int:
        """The messages addressed to a process that it has not delivered."""
        return self.addressed[process] & ~self.delivered[process]

    def lacks(self, process: int, fact: Fact) -> bool:
        """Whether a message is addressed to a process and has not been delivered there."""
        return self.undelivered(process) >> fact.index & 1 == 1

    def lost(self) -> list[str]:
        """Every message that some destination has not delivered, for people."""
        return [
            f"{identity} at {process}"
            for process in range(len(self.addressed))
            for identity in self._identities(self.undelivered(process))
        ]

    def _identities(self, indices: int) -> list[MessageId]:
        return [self.facts[index].message.id for index in members(indices)]
