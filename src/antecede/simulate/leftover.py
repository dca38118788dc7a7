"""Why copies of messages were not delivered by the end of a run.

Each copy counts once, for the first reason that applies: the reasons add up to all of them.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from antecede.message import ProcessSet, members
from antecede.simulate.excuses import Excuses, Left
from antecede.simulate.notices import some_of


class Leftover(NamedTuple):
    """Copies for others that were never delivered, by reason."""

    for_crashed: int = 0
    """The destination crashed before it could deliver them."""
    from_crashed: int = 0
    """The sender crashed, and nobody that lives has delivered the message."""
    stopped: int = 0
    """For or from a process that has stopped in a group which has lost its majority."""
    behind_stopped: int = 0
    """Others that would have to go through such a group."""
    cut_off: int = 0
    """Cuts that last for ever part the destination from its sender and all who delivered it."""
    gap: int = 0
    """It was told that something is lost, and that is so (`antecede.simulate.excuses`)."""
    let_go: int = 0
    """Somebody has the message, but faults outlasted `forget_after_s`, and it was told that it is
    not kept any more."""
    lost: int = 0
    """Sent by one that crashed, and so did a router that may have had the only copy; or arrived,
    and waiting for such."""
    disagreed: int = 0
    """The sender crashed, but somebody that lives has delivered the message."""
    waiting: int = 0
    """They have arrived, and wait for others."""
    missing: int = 0
    """They have not arrived."""

    @property
    def unexcused(self) -> int:
        """What a protocol that survives every fault would owe."""
        return self.disagreed + self.waiting + self.missing

    def sentence(self, stopped: Sequence[str]) -> str:
        """All of them for people; `stopped` are the names of those who have stopped."""
        who = f"{some_of(stopped)}, which {'has' if len(stopped) == 1 else 'have'} stopped"
        through = ("it" if len(stopped) == 1 else "them") if self.stopped else who
        words = {
            "for_crashed": "for crashed processes",
            "from_crashed": "from crashed senders, delivered by no survivor",
            "stopped": f"for or from {who}",
            "behind_stopped": f"that would have to go through {through}",
            "cut_off": "cut off for good from the sender and all who delivered it",
            "gap": "that are lost, as was told (a gap)",
            "let_go": "let go after forget_after_s though somebody has the message, told by name",
            "lost": "lost with their sender and a router, or waiting for such",
            "disagreed": "from crashed senders, though a survivor has delivered the message",
            "waiting": "arrived and waiting for others",
            "missing": "not arrived",
        }
        counts = self._asdict()
        return "; ".join([f"{counts[why]:,} {words[why]}" for why in words if counts[why]])


def explain(
    messages: Iterable[Left], for_crashed: int, dead: ProcessSet, excuses: Excuses
) -> Leftover:
    """Why copies of these messages are undelivered, besides those `for_crashed`."""
    counts = dict.fromkeys(Leftover._fields, 0)
    counts["for_crashed"] = for_crashed
    for one in messages:
        sender = 1 << one.message.sender
        left = (one.unreceived | one.held) & ~sender
        if sender & dead and not one.delivered & ~dead:
            counts["from_crashed"] += left.bit_count()
            continue
        for process in members(left):
            counts[_reason(one, process, bool(sender & dead), excuses)] += 1
    return Leftover(**counts)


def _reason(one: Left, process: int, is_sender_dead: bool, excuses: Excuses) -> str:
    """Why this process has not delivered the message, though somebody alive has sent or delivered
    it."""
    if excuses.stop(one.message, one.delivered, process):
        concerned = excuses.stopped & (1 << process | 1 << one.message.sender)
        return "stopped" if concerned else "behind_stopped"
    if excuses.cut_off(one.message, one.delivered, process):
        return "cut_off"
    if excuses.gap(one.message, process):
        return "let_go" if excuses.let_go(one.message, process) else "gap"
    if excuses.loss(one.message, process, has_come=bool(one.held >> process & 1)):
        return "lost"
    if is_sender_dead:
        return "disagreed"
    return "waiting" if one.held >> process & 1 else "missing"
