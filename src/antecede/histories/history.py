"""Causal histories as values: what precedes a message, to be held, merged, stored and handed on.

A history names messages. Of each it knows the destinations A (without the sender, whose own copy
orders nothing) and the carbon copies C: to whom the message has been reported, by a message that
cites it or by one that follows such a message *and is part of the same history*. That makes C a
truth of the value it is in: two histories can be merged, an old one can be used again, and rules R7
and R8 of Rodrigues and Verissimo hold for the result.

`fifo` says that every message follows all earlier ones of its sender. Only then has whoever is
addressed by the later message been told of the earlier one (rule R6.3). Messages sent in different
contexts are not like that.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from antecede.errors import BadInput
from antecede.message import Message, ProcessSet
from antecede.snapshot import freeze, thaw


class Cited(NamedTuple):
    """A message in a history: `A`, its destinations; `C`, the processes it has been reported to."""

    sender: int
    number: int
    A: ProcessSet
    C: ProcessSet


class History(msgspec.Struct, frozen=True, array_like=True):
    """The messages by (sender, number), in increasing order."""

    entries: tuple[Cited, ...] = ()

    def to_bytes(self) -> bytes:
        """Equal histories give equal bytes."""
        return freeze(self)

    @classmethod
    def from_bytes(cls, stored: bytes) -> "History":
        try:
            return thaw(stored, cls)
        except msgspec.MsgspecError as error:
            raise BadInput(f"these bytes are no history: {error}") from None

    def unreported(self, destinations: ProcessSet) -> "History":
        """R7: what a message to these destinations has to cite."""
        return History(tuple([cited for cited in self.entries if destinations & ~cited.C]))

    def after_send(self, message: Message, *, fifo: bool = False) -> "History":
        """R4 and R6.2: what precedes whatever is sent next in the context that this message was
        sent in."""
        sender, number = message.id
        own = Cited(sender, number, message.destinations & ~(1 << sender), 0)
        return _collected([*self._reported(message), own], fifo)

    def after_delivery(self, message: Message, process: int, *, fifo: bool = False) -> "History":
        """R4 and R6.3: this is what a message cites; what is known once a process has delivered it:
        the message and all that precedes it."""
        sender, number = message.id
        told = 1 << sender | 1 << process
        arrived = Cited(sender, number, message.destinations & ~(1 << sender), told)
        return _collected([*self._reported(message), arrived], fifo)

    def _reported(self, message: Message) -> list[Cited]:
        """What a message cites has been reported to its destinations. Its sender knows it, too, but
        may not have delivered what is addressed to it: it need not wait for all that it cites."""
        sender = 1 << message.id.sender
        return [
            cited._replace(C=cited.C | message.destinations & ~sender | sender & ~cited.A)
            for cited in self.entries
        ]


def merge(*histories: History, fifo: bool = False) -> History:
    """What precedes a message that follows all of these: the one operation an application needs."""
    found: dict[tuple[int, int], Cited] = {}
    for history in histories:
        for cited in history.entries:
            known = found.setdefault(cited[:2], cited)
            if known is not cited:
                found[cited[:2]] = cited._replace(C=known.C | cited.C)
    return _collected(found.values(), fifo)


def _collected(entries: Iterable[Cited], fifo: bool) -> History:
    """R8: without what all its destinations have been told of. With `fifo`, R6.3: whoever is
    addressed by a later message of the same sender has been told of an earlier one."""
    kept: list[Cited] = []
    sender, later = -1, 0
    for cited in sorted(entries, reverse=True):
        if cited.sender != sender:
            sender, later = cited.sender, 0
        copies = cited.C | later if fifo else cited.C
        later |= cited.A
        if cited.A & ~copies:
            kept.append(cited._replace(C=copies))
    return History(tuple(reversed(kept)))
