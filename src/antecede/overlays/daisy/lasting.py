"""The state of a process, apart from when it last heard of whom.

A packet that arrives again may change nothing but that: it is a sign of life. A process may note
that it came, answer it, and note what it answered and when to look next.
"""

import msgspec

from antecede.groups.state import State as GroupState
from antecede.overlays.daisy.records import Sleep, State
from antecede.snapshot import freeze, thaw

ANSWERED = ("announced", "alert_until")
"""Besides the times of the past and of the next look: what a member has said in an answer."""


def without_signs_of_life(snapshot: bytes) -> bytes:
    """The same state, as if nobody had been heard since the start."""
    state = thaw(snapshot, State)
    for layer in state.layers:
        layer.sleep = Sleep(
            busy_until=layer.sleep.busy_until, patient_until=layer.sleep.patient_until
        )
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
