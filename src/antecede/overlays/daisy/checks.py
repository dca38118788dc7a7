"""What is malformed in a payload: it is refused before anything changes."""

from collections.abc import Iterable
from functools import lru_cache

from antecede.errors import MalformedStamp
from antecede.overlays.daisy.items import (
    Batch,
    Carry,
    Change,
    Item,
    Missed,
    Reshape,
    Undelivered,
    carries,
    decode_items,
    process_key,
    unfolded,
    unpack,
)


@lru_cache(maxsize=4096)
def check_payload(payload: bytes, size: int) -> None:
    """Refuse a payload that speaks of what there cannot be among so many processes."""
    items = decode_items(payload)
    for item in items:
        if type(item) is Batch:
            check_changes(map(unpack, item.changes), size)
            _check_process_keys((who for who, _ in item.beside), size)
        elif type(item) is Missed:
            _check_process_keys([item.who], size)
        elif type(item) is Change or type(item) is Reshape:
            check_changes([item], size)
        elif type(item) is Undelivered:
            _check_undelivered(item, size)
    _check_addresses(carries(items), size)


def _check_addresses(messages: Iterable[Carry], size: int) -> None:
    """Refuse messages from or to processes that there are not."""
    for item in messages:
        if item.sender >= size:
            raise MalformedStamp("sender", f"is {item.sender}")
        to = item.message.destinations
        if not to or to >> size:
            raise MalformedStamp("destinations", "are none, or unknown processes")


def check_changes(changes: Iterable[Item], size: int) -> None:
    """Refuse changes with processes that there are not, or with groups below themselves."""
    for change in changes:
        if isinstance(change, Change):
            named = {one for _, founders in change.made for one in founders}
            if any(one >= size for one in named) or not all(made for _, made in change.made):
                raise MalformedStamp("made", "has no founders, or unknown processes")
        elif isinstance(change, Reshape):
            above = () if change.above is None else (change.above,)
            groups = (*change.made, *change.below, *above)
            for group in groups:
                if not group.inhabitants or group.inhabitants >> size:
                    raise MalformedStamp("processes", "are none, or unknown")
            levels = {group.index: group.level for group in groups}
            if any(levels.get(one, -1) >= each.level for each in groups for one in each.children):
                raise MalformedStamp("children", "are not below their group")


def _check_process_keys(numbers: Iterable[int], size: int) -> None:
    """Refuse processes that there are not among those that have missed something."""
    if any(process_key(one) >= size for one in numbers if one < 0):
        raise MalformedStamp("who", "is an unknown process")


def _check_undelivered(item: Undelivered, size: int) -> None:
    """Refuse a message from or to processes that there are not."""
    if item.sender >= size:
        raise MalformedStamp("sender", f"is {item.sender}")
    if not item.destinations or (unfolded(item.destinations) | unfolded(item.home)) >> size:
        raise MalformedStamp("destinations", "are none, or unknown processes")
