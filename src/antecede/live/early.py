"""What came before its time, until it can be taken."""

from collections.abc import Sequence
from typing import Any, Final

from antecede.live.ordering.items import memory_bytes

_EARLY_BYTES: Final = 8 * 2**20
"""Of one sender."""
Batch = tuple[str, int, Sequence[Any]]
"""What a link has brought at one time for the session: the sender, its incarnation, and items."""


class Early:
    """Batches that came before this process is in a view, or while most members are out of reach.
    Links bring everything only once."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []
        self._sizes: dict[str, int] = {}

    def __bool__(self) -> bool:
        return bool(self._batches)

    def has_room(self, sender: str, items: Sequence[Any]) -> bool:
        return self._sizes.get(sender, 0) + _size(items) <= _EARLY_BYTES

    def keep(self, batch: Batch) -> None:
        sender, _, items = batch
        self._batches.append(batch)
        self._sizes[sender] = self._sizes.get(sender, 0) + _size(items)

    def take(self) -> list[Batch]:
        """All of it, to be looked at again."""
        batches, self._batches, self._sizes = self._batches, [], {}
        return batches

    def forget(self, sender: str) -> None:
        self._batches = [batch for batch in self._batches if batch[0] != sender]
        self._sizes.pop(sender, None)


def _size(items: Sequence[Any]) -> int:
    """What items take that are put aside."""
    return sum(map(memory_bytes, items))
