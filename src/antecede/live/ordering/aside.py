"""What members say before its time: of views that this one has not come to yet, and last words of
an epoch that it has not left. It is kept, for links bring everything only once, and not without
end."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from antecede.errors import MalformedStamp
from antecede.groups import MemberId
from antecede.live.ordering.epoch import TooEarly
from antecede.live.ordering.items import (
    UNIT_BYTES,
    Carried,
    Report,
    Run,
    Settle,
    memory_bytes,
)

Ordered = Carried[Any] | Run[Any] | Settle | Report
_VIEWS_AHEAD: Final = 64
"""How many views others may be ahead of this member."""


class Aside:
    """Of one member, whose senders keep to this window."""

    def __init__(self, window: int) -> None:
        self._most_bytes = 2 * window * UNIT_BYTES
        self._by_view: dict[int, list[tuple[MemberId, Ordered]]] = {}
        self._bytes: dict[MemberId, int] = {}

    def check_room(self, sender: MemberId, items: Sequence[Ordered], view: int) -> None:
        """Refuse a batch whole if too much of it is before its time: nothing of it has been done,
        and it comes again."""
        early = [item for item in items if item.view > view or type(item) is Settle]
        if self._bytes.get(sender, 0) + sum(map(memory_bytes, early)) > self._most_bytes:
            raise TooEarly(f"too much came from {sender} before its time")

    def put(self, sender: MemberId, item: Ordered, view: int | None) -> None:
        """For a later view than this member's."""
        if view is not None and item.view > view + _VIEWS_AHEAD:
            raise MalformedStamp("view", f"is {item.view}, this is {view}")
        self.count(sender, item)
        self._by_view.setdefault(item.view, []).append((sender, item))

    def count(self, sender: MemberId, item: Ordered) -> None:
        """What is kept elsewhere, until it is taken."""
        aside = self._bytes.get(sender, 0) + memory_bytes(item)
        if aside > self._most_bytes:
            raise MalformedStamp("view", f"{item.view} has not begun, and too much came for it")
        self._bytes[sender] = aside

    def count_taken(self, sender: MemberId, items: Iterable[Ordered]) -> None:
        self._bytes[sender] = self._bytes.get(sender, 0) - sum(map(memory_bytes, items))

    def take(self, view: int) -> Sequence[tuple[MemberId, Ordered]]:
        """This member has come to a view: what was for it; what was for earlier ones is gone."""
        mine = self._by_view.pop(view, ())
        self._by_view = {later: found for later, found in self._by_view.items() if later > view}
        self._bytes.clear()
        for found in self._by_view.values():
            for sender, item in found:
                self._bytes[sender] = self._bytes.get(sender, 0) + memory_bytes(item)
        return mine

    def forget(self, sender: MemberId) -> None:
        """It is not believed any more: nothing of it counts."""
        self._bytes.pop(sender, None)
        for view, found in self._by_view.items():
            self._by_view[view] = [one for one in found if one[0] != sender]
