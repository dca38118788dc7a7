"""How views end: what survivors tell each other of the departed, and when all has been told."""

from collections import deque
from collections.abc import Iterator

from antecede.groups import MemberId, View
from antecede.live.ordering.aside import Aside
from antecede.live.ordering.effects import SessionEffect, ToPeers
from antecede.live.ordering.epoch import Epoch
from antecede.live.ordering.items import Settle, encode_item, in_parts
from antecede.live.ordering.seals import Seals


class Settling:
    """Of one member: the views that the group has come to and this member has not, and those that
    it has left and others may not have."""

    def __init__(self, aside: Aside, seals: Seals | None, *, part_bytes: int, window: int) -> None:
        self._aside = aside
        self._seals = seals
        self._part_bytes = part_bytes
        """How much of what departed members sent is handed on at once."""
        self._window = window
        self.forged = 0
        """Copies that were not what their senders had sealed."""
        self.later: deque[View] = deque()
        """Views that the group has come to since the epoch's; while there are any, it settles."""
        self.former: list[Epoch] = []
        """Epochs that not everybody is known to have settled."""

    def others(self, epoch: Epoch, present: Epoch | None) -> list[int]:
        """The ranks of an epoch that are still there, without this member's own."""
        latest = self.later[-1] if self.later else present.view if present else epoch.view
        return [rank for rank in epoch.survivors(latest) if rank != epoch.me]

    def say(self, epoch: Epoch, view: View, effects: list[SessionEffect]) -> None:
        """The last word in an epoch to everybody who is still there in this view."""
        survivors = epoch.survivors(view)
        departed = [rank for rank in range(len(epoch.view.members)) if rank not in survivors]
        for rank in survivors:
            if rank == epoch.me:
                continue
            to, names = epoch.recipients(1 << rank)
            *parts, last = in_parts(epoch.copies_for(rank, departed), self._part_bytes)
            items = [Settle(epoch.number, view.number, part, more=True) for part in parts]
            items.append(Settle(epoch.number, view.number, last))
            effects += [ToPeers(names, encode_item(item), to) for item in items]

    def hear(self, epoch: Epoch, rank: int, item: Settle) -> None:
        """A member's last word in an epoch, or a part of it."""
        self._aside.count(epoch.members[rank], item)
        epoch.peers[rank].settles.append(item)
        self._take(epoch, rank)

    def take_due(self, epoch: Epoch) -> Iterator[MemberId]:
        """The group has come to a later view: what others said of it before counts now. Gives who
        said what cannot be right."""
        for rank in range(len(epoch.peers)):
            if epoch.peers[rank].settles:
                try:
                    self._take(epoch, rank)
                except Exception:  # noqa: BLE001 - whatever it is, these bytes are the reason
                    yield epoch.members[rank]

    def _take(self, epoch: Epoch, rank: int) -> None:
        """Take a member's last words in an epoch, if the view that it means has come here: only
        then is it known who has departed."""
        peer, latest = epoch.peers[rank], self.later[-1] if self.later else None
        if latest is None:
            return
        due = [item for item in peer.settles if item.attempt <= latest.number]
        peer.settles = [item for item in peer.settles if item.attempt > latest.number]
        departed = {*range(len(epoch.peers))}.difference(epoch.survivors(latest))
        self._aside.count_taken(epoch.members[rank], due)
        for item in due:
            limit = 2 * self._window
            self.forged += epoch.add_copies(item.copies, departed, self._seals, limit)
            if not item.more:
                epoch.settled_with[rank] = max(item.attempt, epoch.settled_with.get(rank, 0))

    def is_complete(self, epoch: Epoch) -> bool:
        """Whether all survivors of the present epoch have said their last word in it."""
        if not self.later:
            return False
        attempt, others = self.later[-1].number, self.others(epoch, epoch)
        return all(epoch.settled_with.get(rank, 0) >= attempt for rank in others)

    def is_over(self, epoch: Epoch, present: Epoch | None) -> bool:
        """Whether everybody who is still there is known to have left a former epoch."""
        return epoch.gone_on.issuperset(self.others(epoch, present))

    def confirm(self, present: Epoch | None, now: float, effects: list[SessionEffect]) -> None:
        """Tell which own messages are delivered everywhere by now, in their order."""
        for epoch in [*self.former, *([present] if present else [])]:
            is_over = epoch is not present and self.is_over(epoch, present)
            _tell_confirmed(epoch, now, effects, is_over=is_over)
            if epoch is not present and not is_over:
                return

    def note_gone_on(
        self,
        sender: MemberId,
        view: int,
        present: Epoch | None,
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        """A member is known to have settled everything before this view."""
        for epoch in list(self.former):
            if sender in epoch.ranks and epoch.number < view:
                epoch.gone_on.add(epoch.ranks[sender])
                if self.is_over(epoch, present):
                    self.former.remove(epoch)
                    _tell_confirmed(epoch, now, effects, is_over=True)


def _tell_confirmed(
    epoch: Epoch, now: float, effects: list[SessionEffect], *, is_over: bool
) -> None:
    if epoch.confirmed is not None:
        found = epoch.confirmed.take(now, is_over=is_over)
        if found is not None:
            effects.append(found)
