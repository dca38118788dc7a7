"""What links bring before it can be taken. They bring everything only once."""

from typing import Any, Final

import msgspec

from antecede.errors import MalformedStamp

_KEPT_ITEMS: Final = 1 << 17


class Batch(msgspec.Struct, frozen=True):
    """What a link has brought at one time, for the session."""

    sender: str
    incarnation: int
    items: list[Any]


class Early:
    """From members that the roster does not know yet, or while most members are out of reach."""

    def __init__(self) -> None:
        self._batches: list[Batch] = []

    def __bool__(self) -> bool:
        return bool(self._batches)

    def keep(self, batch: Batch) -> None:
        if sum(len(kept.items) for kept in self._batches) > _KEPT_ITEMS:
            raise MalformedStamp("items", "are too many before their time")
        self._batches.append(batch)

    def take(self) -> list[Batch]:
        """All of it, to be looked at again."""
        batches, self._batches = self._batches, []
        return batches
