"""When a member of a group works, and when it rests.

A group is quiet while nothing is under way in it: then its member asks for no wake-ups, reports
nothing and suspects nobody. It is *busy* while messages are unstable or kept, while views change,
and for a while when it is poked. Packets of a busy member say so, and keep the others awake: they
report at every tick, and notice who does not.
"""

from antecede.groups import GroupMember
from antecede.groups.packets import Body, Data, Report
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.records import LayerState

_AWAKE_TICKS = 4
_AWAKE_HEARTBEATS = 2.5
"""For how many ticks or heartbeats a member stays awake after it has heard a busy one."""


class Rest:
    """Says whether a member of a group is busy, awake or at rest, and sets it to work."""

    def __init__(self, state: LayerState, options: DaisyOptions, member: GroupMember) -> None:
        self._state = state
        self._options = options
        self._member = member
        heartbeat_s = member.core.config.heartbeat_s
        self._awake_s = max(_AWAKE_TICKS * options.tick_s, _AWAKE_HEARTBEATS * heartbeat_s)

    def is_busy(self, now: float) -> bool:
        """Whether something is under way that needs time to pass."""
        mine = self._state
        memory, out = mine.memory, mine.out
        is_busy = (
            memory.kept
            or memory.missing_batches
            or out.items
            or out.outbox
            or mine.returned
            or now < mine.sleep.busy_until
            or mine.moving.gives_way_by
            or mine.moving.ended_by
            or memory.frozen
            or mine.handover.gathering
            or mine.epochs.epoch.waiting
            or self._member.core.state.leaving
            or not self._member.is_quiet
        )
        return bool(is_busy) and not self._member.has_stopped

    def is_awake(self, now: float) -> bool:
        """Whether it is busy, or another member was a moment ago: it must be heard then, and hear
        whoever fails."""
        return now < self._state.sleep.awake_until or self.is_busy(now)

    def says_busy(self, now: float) -> bool:
        """Whether the others have to be awake. Members report to the server alone, which keeps the
        rest awake for a busy one."""
        return self.is_awake(now) if self._member.core.is_senior else self.is_busy(now)

    def look_around(self, now: float) -> None:
        """Be busy for a while, to see whether all is well."""
        self._state.sleep.busy_until = now + 2 * self._options.suspect_after_s

    def hear_busy(self, now: float) -> None:
        """Note that another member is busy."""
        self._state.sleep.awake_until = now + self._awake_s

    def is_due(self, now: float) -> bool:
        """Whether its time has come. Where nothing is under way any more, it goes to rest."""
        sleep = self._state.sleep
        if sleep.resting or sleep.wake_at > now:
            return False
        sleep.resting = not self.is_awake(now)
        return not sleep.resting

    def be_patient(self, now: float) -> None:
        """Give founders that have not spoken yet more time, in a group that was founded just now:
        they may still be held up in their old group."""
        if now < self._state.sleep.patient_until:
            self._member.core.forgive_absence(now)

    def rouse(self, now: float) -> float | None:
        """Set to work, and return the time of the next tick, if this member was at rest."""
        if not self._state.sleep.resting:
            return None
        self._state.sleep.resting, self._state.sleep.roused_at = False, now
        self._member.core.forgive_silence(now)
        tick_at = self._member.tick_at
        self._state.sleep.wake_at = tick_at if tick_at > now else now + self._options.tick_s
        return self._state.sleep.wake_at


def wants_time(body: Body, at_server: bool) -> bool:
    """Whether a packet of a busy member is a reason to stay awake. Data is one in itself, and an
    acknowledgement wants no answer; but a server stays awake as long as any member is busy: were it
    to nap meanwhile, it would not notice who is silent."""
    is_answer = type(body) is Report and not body.waits
    return type(body) is not Data and (at_server or not is_answer)
