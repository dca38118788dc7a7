"""What a protocol knows apart from when it last heard of whom.

To one that watches whether others live, a packet that arrives again is a sign of life. It may note
that, answer it and note what it answered, and when to look next; nothing else."""

from collections.abc import Callable

import msgspec

from antecede.groups.state import State as GroupState
from antecede.overlays._daisy_relay import State as DaisyState
from antecede.snapshot import freeze, thaw


def _daisy(snapshot: bytes) -> bytes:
    state = thaw(snapshot, DaisyState)
    for layer in state.layers:
        layer.resting, layer.wake_at, layer.awake_until = True, 0.0, -1.0
        member = thaw(layer.member, GroupState)
        member.flush_heard_at = member.tick_at = 0.0
        member.reported_at = member.announced_at = member.heartbeat_at = member.alert_until = 0.0
        member.announced = 0
        member.peers = [
            msgspec.structs.replace(peer, heard_at=0.0, owed=False) for peer in member.peers
        ]
        layer.member = freeze(member)
    return freeze(state)


APART_FROM_SIGNS_OF_LIFE: dict[str, Callable[[bytes], bytes]] = {"daisy": _daisy}
