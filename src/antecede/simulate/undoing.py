"""Deliveries that are taken back: what the trace, the measures and the verdict say of them.

A protocol that rolls back after a failure makes some of what happened void. The trace is the final
history: what was void is not in it, messages are numbered without it, and a delivery that was taken
back and made again stands where it was made last. So every reader judges what the applications are
left with. What the applications saw before is judged, too, each time something is taken back: a
history that is undone later has to be in order while it lasts.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from antecede.errors import counted
from antecede.message import MessageId
from antecede.simulate.records import ARRIVE, RECORD_TYPE, Sent
from antecede.trace import DELIVER, RECEIVE, SEND

Records = np.ndarray[Any, np.dtype[Any]]


class Undone(NamedTuple):
    """What failures have cost, beyond what is undelivered."""

    agreements: int = 0
    """How often the survivors agreed on what counts."""
    taken_back: int = 0
    """Deliveries that were undone, some of them to be made again."""
    void: int = 0
    """Messages that were made never to have been sent."""
    stopped_s: float = 0.0
    """The longest time for which a process sent nothing, for the survivors to agree."""
    lost_s: float = 0.0
    """The longest time that a process was set back."""

    def sentence(self) -> str:
        """For people."""
        return (
            f"{counted(self.agreements, 'failure')} agreed on; "
            f"{counted(self.taken_back, 'delivery')} taken back, by {self.lost_s:.3f} s at most; "
            f"{counted(self.void, 'message')} void; stopped for "
            f"{self.stopped_s:.3f} s at most."
        )


class Undoing:
    """The records of a run of which some may be taken back. They are kept until its end."""

    def __init__(self) -> None:
        self.void: set[MessageId] = set()
        self.taken_back = 0
        self.stopped_s = 0.0
        self.lost_s = 0.0

    def take_back(
        self, buffer: bytearray, process: int, deliveries: Iterable[MessageId], now: float
    ) -> dict[MessageId, float]:
        """These deliveries have not happened; when the messages had arrived."""
        records = np.frombuffer(bytes(buffer), RECORD_TYPE).copy()
        is_taken = records["process"] == process
        is_taken &= np.isin(records["kind"], (ARRIVE, DELIVER))
        is_taken &= np.isin(_keys(records), [_key(message) for message in deliveries])
        taken = records[is_taken]
        self.taken_back += len(taken)
        self.lost_s = max(self.lost_s, now - float(taken["time"].min(initial=now)))
        arrivals = is_taken & (records["kind"] == ARRIVE)
        records["kind"][arrivals] = RECEIVE
        buffer[:] = records[~is_taken | arrivals].tobytes()
        return {
            MessageId(sender, number): arrived
            for sender, number, arrived in taken[["sender", "number", "arrived"]].tolist()
        }

    def what_remains(self, records: Records, sends: Sequence[Sent]) -> tuple[Records, list[Sent]]:
        """Without what is void, and numbered anew."""
        is_void = np.isin(_keys(records), [_key(message) for message in self.void])
        is_send = records["kind"] == SEND
        kept = [sent for sent, void in zip(sends, is_void[is_send], strict=True) if not void]
        records = records[~is_void].copy()
        is_send = records["kind"] == SEND
        for sender in np.unique(records["sender"][is_send]):
            of_sender = records["sender"] == sender
            numbers = np.sort(records["number"][of_sender & is_send])
            found = np.searchsorted(numbers, records["number"][of_sender]) + 1
            records["number"][of_sender] = found
        return records, kept


def _key(message: MessageId) -> int:
    return message.sender << 40 | message.number


def _keys(records: Records) -> Records:
    keys: Records = records["sender"].astype(np.int64) << 40 | records["number"]
    return keys
