"""What a run comes to, in a few numbers."""

from typing import Any

import msgspec

from antecede.simulate.fully import Fully
from antecede.simulate.judgement import Failure
from antecede.simulate.leftover import Leftover
from antecede.simulate.measures import Spread
from antecede.simulate.undoing import Undone

VIOLATIONS_LIMIT = 50_000
"""Runs of more messages are not judged while they go on: the oracle needs memory that grows with
the square of their number. `antecede verify` judges the trace."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """A spread is (mean, 99th percentile, maximum): of the stamps as they stand on the send rows of
    the trace, of the time from send to delivery, and of the time from arrival to delivery. Copies
    that processes send to themselves count as deliveries and nowhere else."""

    run: str
    protocol: str
    seed: int
    processes: int
    messages: int
    deliveries: int
    undelivered: int
    """Copies for others that were never delivered, crashed processes included."""
    leftover: Leftover
    """The same, by reason."""
    undone: Undone | None = None
    """What was taken back, where the protocol may."""
    fully: Fully | None = None
    """What senders know of messages that are delivered everywhere, where they get to know."""
    flushed_s: tuple[float, ...] = ()
    """For how long each change of groups made everybody wait."""
    stopped: tuple[str, ...]
    """Who has stopped in a group that has lost its majority."""
    violations: int | None
    """Deliveries that came too early; None above `VIOLATIONS_LIMIT` messages."""
    failure: Failure | None
    """What the protocol has broken of its word, the worst; None if nothing, or if that was not
    judged. An early delivery is excused where it was told that what it overtook is lost."""
    stamp_entries: Spread
    stamp_bytes: Spread
    delay_s: Spread
    hold_s: Spread
    peak_queue: int
    """The most messages that one process ever held."""
    copies: int
    copies_stamp_bytes: int
    control_packets: int
    control_bytes: int
    hops: int
    """Hop messages, where the protocol is an overlay."""
    hop_stamp_entries: Spread
    hop_stamp_bytes: Spread
    fifo_links: bool
    fifo_added: bool
    """Whether the links are FIFO only because the protocol needs it."""
    notices: tuple[str, ...]
    """Faults, and what the protocol told of views, servers and gaps, in the order of time."""
    virtual_s: float
    events: int
    """How many events the simulator's queue went through."""
    rows: int
    """How many rows the trace has, or would have."""
    wall_s: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON: a spread becomes a dict, and so does what is left over."""
        plain = {field: getattr(self, field) for field in self.__struct_fields__}
        return {field: _plain(value) for field, value in plain.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Failure):
        return msgspec.to_builtins(value)
    if isinstance(value, Spread | Leftover | Undone | Fully):
        return {name: _plain(part) for name, part in value._asdict().items()}
    return value
