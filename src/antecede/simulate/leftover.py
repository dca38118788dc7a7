"""Why copies of messages were not delivered by the end of a run.

Each copy counts once, for the first reason that applies: the reasons add up to all of them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from antecede.message import ProcessSet
from antecede.simulate.notices import some_of


class Left(NamedTuple):
    """A message that was not delivered everywhere: who of the living has not received it, who holds
    it; and who may have delivered it, the dead included."""

    sender: int
    sent_s: float
    unreceived: ProcessSet
    held: ProcessSet
    delivered: ProcessSet


class Leftover(NamedTuple):
    """Copies for others that were never delivered, by reason."""

    for_crashed: int = 0
    """The destination crashed before it could deliver them."""
    from_crashed: int = 0
    """The sender crashed, and nobody that lives has delivered the message."""
    stopped: int = 0
    """For or from a process that is cut off from most of a group at the end, and has stopped."""
    behind_stopped: int = 0
    """Others while somebody has stopped: they may have to go through it."""
    gap: int = 0
    """Sent before it was told, for the last time, that something is kept by nobody any more."""
    disagreed: int = 0
    """The sender crashed, but somebody that lives has delivered the message."""
    waiting: int = 0
    """They have arrived, and wait for others."""
    missing: int = 0
    """They have not arrived."""

    def sentence(self, stopped: Sequence[str]) -> str:
        """All of them for people; `stopped` are the names of those who have stopped."""
        who = f"{some_of(stopped)}, which {'has' if len(stopped) == 1 else 'have'} stopped"
        through = ("it" if len(stopped) == 1 else "them") if self.stopped else who
        words = {
            "for_crashed": "for crashed processes",
            "from_crashed": "from crashed senders, delivered by no survivor",
            "stopped": f"for or from {who}",
            "behind_stopped": f"that may have to go through {through}",
            "gap": "kept by nobody any more (a gap was told)",
            "disagreed": "from crashed senders, though a survivor has delivered the message",
            "waiting": "arrived and waiting for others",
            "missing": "not arrived",
        }
        counts = self._asdict()
        return "; ".join([f"{counts[why]:,} {words[why]}" for why in words if counts[why]])


def explain(
    messages: Iterable[Left],
    for_crashed: int,
    dead: ProcessSet,
    stopped: ProcessSet,
    last_gap_s: float,
) -> Leftover:
    """Why copies of these messages are undelivered, besides those `for_crashed`."""
    counts = dict.fromkeys(Leftover._fields, 0)
    counts["for_crashed"] = for_crashed
    for one in messages:
        sender = 1 << one.sender
        left = (one.unreceived | one.held) & ~sender
        if sender & dead and not one.delivered & ~dead:
            counts["from_crashed"] += left.bit_count()
            continue
        concerned = left if sender & stopped else left & stopped
        counts["stopped"] += concerned.bit_count()
        left ^= concerned
        if stopped:
            counts["behind_stopped"] += left.bit_count()
        elif one.sent_s <= last_gap_s:
            counts["gap"] += left.bit_count()
        elif sender & dead:
            counts["disagreed"] += left.bit_count()
        else:
            counts["waiting"] += (left & one.held).bit_count()
            counts["missing"] += (left & one.unreceived).bit_count()
    return Leftover(**counts)
