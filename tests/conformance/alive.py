"""What a protocol knows apart from when it last heard of whom.

To one that watches whether others live, a packet that arrives again is a sign of life. It may note
that, answer it and note what it answered, and when to look next; nothing else."""

from collections.abc import Callable

import msgspec

from antecede.groups.state import State as GroupState
from antecede.overlays.daisy.records import State as DaisyState
from antecede.snapshot import freeze, thaw

ANSWERED = ("announced", "alert_until")
"""Besides the times of the past and of the next look: what a member has said in an answer."""


def _daisy(snapshot: bytes) -> bytes:
    state = thaw(snapshot, DaisyState)
    for layer in state.layers:
        layer.sleep.resting, layer.sleep.wake_at, layer.sleep.awake_until = True, 0.0, -1.0
        member = thaw(layer.member, GroupState)
        fresh = GroupState()
        for field in member.__struct_fields__:
            if field.endswith("_at") or field in ANSWERED:
                setattr(member, field, getattr(fresh, field))
        member.peers = [
            msgspec.structs.replace(peer, heard_at=0.0, direct_at=0.0, owed=False)
            for peer in member.peers
        ]
        layer.member = freeze(member)
    return freeze(state)


APART_FROM_SIGNS_OF_LIFE: dict[str, Callable[[bytes], bytes]] = {"daisy": _daisy}
