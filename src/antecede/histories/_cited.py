"""Histories on the wire: (sender, number, destinations) of each message, in increasing order."""

from collections.abc import Iterator

from antecede.errors import MalformedStamp
from antecede.histories.history import Cited, History
from antecede.message import Membership, MessageId, set_from_bytes, set_to_bytes
from antecede.order import Count

Citations = tuple[tuple[Count, Count, bytes], ...]


def to_wire(history: History) -> Citations:
    return tuple([(cited[0], cited[1], set_to_bytes(cited.A)) for cited in history.entries])


def from_wire(citations: Citations) -> History:
    """Without carbon copies: who has been told is for the receiver to conclude."""
    return History(tuple([Cited(s, c, set_from_bytes(A), 0) for s, c, A in citations]))


def addressed(citations: Citations, process: int) -> Iterator[MessageId]:
    """The cited messages that are addressed to a process."""
    byte, bit = divmod(process, 8)
    for sender, number, destinations in citations:
        if len(destinations) > byte and destinations[byte] >> bit & 1:
            yield MessageId(sender, number)


def check(field: str, citations: Citations, membership: Membership, message: MessageId) -> None:
    """Refuse what a message cannot cite."""
    previous = (-1, 0)
    for place, (sender, number, wire) in enumerate(citations):
        where = f"{field}[{place}]"
        if sender >= membership.size or number < 1:
            raise MalformedStamp(where, f"names {sender}:{number}, which no process can send")
        if (sender, number) <= previous:
            raise MalformedStamp(where, f"{sender}:{number} is not in increasing order")
        previous = sender, number
        destinations = set_from_bytes(wire)
        if not destinations or destinations & ~(membership.everybody ^ 1 << sender):
            raise MalformedStamp(where, f"{sender}:{number} has impossible destinations")
        if sender == message.sender and number >= message.number:
            raise MalformedStamp(where, f"{sender}:{number} does not precede {message}")
