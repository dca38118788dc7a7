"""Nothing is silent: who does not get in says why, and who waits for others says for whom."""

import math
import time
from collections.abc import Callable

from antecede.errors import AntecedeError, Misuse
from antecede.live.events import Settings, SlowMember, Waiting
from antecede.live.inbox import Inbox
from antecede.live.logs import log_warning
from antecede.live.machine import Machine
from antecede.live.seeds import SeedFinder
from antecede.live.slowness import Slowness
from antecede.live.transport.links import Links


class CannotJoin(Misuse):
    """The time to get into the group is over; it names whoever could not be reached or said no."""

    def __init__(self, name: str, group: str, waited_s: float, waits: dict[str, str]) -> None:
        super().__init__(name, group, waited_s, waits)
        self.waits = waits

    def __str__(self) -> str:
        name, group, waited_s, waits = self.args
        reasons = "; ".join(f"{peer}: {why}" if peer else why for peer, why in waits.items())
        return f"'{name}' did not get into '{group}' in {waited_s:.1f} s: {reasons or 'no peers'}"


class Lookout:
    """Of one process in one group."""

    def __init__(
        self,
        group: str,
        core: Machine,
        links: Links,
        finder: SeedFinder | None,
        settings: Settings,
        inbox: Inbox,
        fail: Callable[[AntecedeError], None],
    ) -> None:
        self.slowness = Slowness()
        self.standstill = inbox.standstill
        self._group = group
        self._me = core.identity.name
        self._core = core
        self._links = links
        self._finder = finder
        self._settings = settings
        self._put = inbox.put
        self._fail = fail
        self._told: dict[str, str] = {}
        """What this process waits for, as it was told last."""

    def is_in(self) -> None:
        """It waits no more."""
        self._told.clear()

    def waits_for(self) -> dict[str, str]:
        """While this process is not in the group: by peer, why not. Under the empty name, what is
        missing besides."""
        waits = {} if self._finder is None else dict(self._finder.troubles)
        waits |= self._links.troubles()
        there = sorted(name for name, link in self._links.by_name.items() if link.connected)
        return self._core.waits_for(there) | waits

    def tell_waiting(self, waited_s: float) -> None:
        """Nothing is silent: who does not get in says why."""
        settings = self._settings
        if waited_s < min(settings.waiting_after_s, settings.join_timeout_s or math.inf):
            return
        waits = self.waits_for()
        if settings.join_timeout_s is not None and waited_s >= settings.join_timeout_s:
            self._fail(CannotJoin(self._me, self._group, waited_s, waits))
            return
        for peer, reason in waits.items():
            if self._told.get(peer) != reason:
                self._told[peer] = reason
                facts = {"event": "waiting", "group": self._group, "name": self._me}
                what = f"{peer}: {reason}" if peer else reason
                log_warning(
                    f"'{self._me}' waits to get into '{self._group}': {what}",
                    **facts,
                    peer=peer,
                    reason=reason,
                )
                self._put(Waiting(peer, reason))

    def look_for_slow(self, waiting: int, now: float) -> list[str]:
        """Nobody stops the rest in silence. The application has so many events to take; gives whom
        the group is not to wait for any longer."""
        settings = self._settings
        slow = set(self._core.slow_members(settings.window))
        most = settings.links.buffer_bytes
        slow |= {
            name
            for name, link in self._links.by_name.items()
            if link.waiting_bytes >= most and link.connected
        }
        facts = {"group": self._group, "name": self._me}
        for name, since in self.slowness.look(slow, settings.slow_after_s, now, time.time()):
            what = f"'{self._me}' waits in '{self._group}' for '{name}', which takes no messages"
            log_warning(what, event="slow", **facts, peer=name, since=since)
            self._put(SlowMember(name, since))
        if self.standstill.look(waiting, settings.slow_after_s, now):
            log_warning(
                f"'{self._me}' waits in send() in '{self._group}' and takes none of the "
                f"{waiting} events that wait for it: others may wait for it in turn, for "
                "ever. Who answers inside of its loop uses send_now, or sends from another task",
                event="standstill", **facts,
            )  # fmt: skip
        limit_s = settings.exclude_slow_after_s
        held_up = self.slowness.held_up_s(now) if limit_s is not None else {}
        return [name for name, s in held_up.items() if s >= (limit_s or 0.0) and name != self._me]
