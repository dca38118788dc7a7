"""Groups that change while a run goes on (Macedo, section 5.2): `regroup`, at a flush.

The flush is the laboratory's own, as a membership service under the protocol would make it: from
the time on, sends wait; when everything is delivered and no packet is on its way, all processes
change to the new groups at once, and what waited is sent, to the groups that there are now. So it
costs time, which is measured, and no packets.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from antecede.errors import BrokenInvariant
from antecede.message import Membership
from antecede.order import Effect, Event, Notice, Order
from antecede.simulate.scenario import Scenario
from antecede.simulate.workload import Send, Traffic

POLL_S = 0.01
"""How long to wait for the protocol's own timers."""


class Loop(Protocol):
    """What the loop of the simulator does for it."""

    def schedule(self, time: float, process: int, action: Callable[[int, float], None]) -> None: ...

    def last_arrival(self) -> float | None:
        """When the last packet arrives of those on their way."""

    def is_delivered(self) -> bool:
        """Whether everything is."""

    def shown(self, process: int, now: float) -> float:
        """What the clock of a process shows."""

    def apply(self, process: int, effects: list[Effect], now: float) -> None: ...

    def send(self, send: Send, now: float) -> None: ...


class Flushed(NamedTuple):
    """A change of groups: when it was due, and when it was made."""

    due_s: float
    done_s: float


class Regroupings:
    """The changes that a scenario asks for."""

    def __init__(
        self, scenario: Scenario, orders: Sequence[Order], traffic: Traffic, loop: Loop
    ) -> None:
        size = scenario.applications.size
        self._wanted = [
            (one.time_s, Membership(size, tuple(map(scenario.members, one.groups))))
            for one in scenario.regroupings
        ]
        self._groups = scenario.applications.groups
        self._patience_s = scenario.patience_s
        self._orders, self._traffic, self._loop = orders, traffic, loop
        self._due: list[tuple[float, Membership]] = []
        self._waiting: list[Send] = []
        self._quiet_since_s = 0.0
        """When the last packet arrived that a flush has waited for."""
        self.done: list[Flushed] = []

    @property
    def is_flushing(self) -> bool:
        """Whether sends wait."""
        return bool(self._due)

    def begin(self) -> None:
        for time_s, _ in self._wanted:
            self._loop.schedule(time_s, 0, self._fall_due)

    def admit(self, send: Send) -> Send | None:
        """A send as the groups are now; None if it has to wait, or its sender is in no group."""
        if self._due:
            self._waiting.append(send)
            return None
        return self._traffic.readdressed(send) if self.done else send

    def _fall_due(self, process: int, now: float) -> None:
        self._due.append(self._wanted[len(self.done) + len(self._due)])
        if len(self._due) == 1:
            self._flush(process, now)

    def _flush(self, process: int, now: float) -> None:
        arrival = self._loop.last_arrival()
        if arrival is not None:
            self._quiet_since_s = arrival
            self._loop.schedule(arrival, process, self._flush)
        elif not self._loop.is_delivered():
            if now > max(self._quiet_since_s, self._due[0][0]) + self._patience_s:
                raise BrokenInvariant("nothing is on its way, and not everything is delivered")
            self._loop.schedule(now + POLL_S, process, self._flush)
        else:
            self._change(now)

    def _change(self, now: float) -> None:
        due_s, membership = self._due.pop(0)
        self.done.append(Flushed(due_s, now))
        changed = [
            group
            for group, of in enumerate(membership.groups)
            if group >= len(self._groups) or of != self._groups[group]
        ]
        self._groups = membership.groups
        orders: Sequence[Any] = self._orders  # all of them can: the scenario has checked it
        shown = [self._loop.shown(process, now) for process in range(len(orders))]
        effects = [order.regroup(membership, shown[at]) for at, order in enumerate(orders)]
        for process, wanted in enumerate(effects):
            views: list[Effect] = [
                Notice(Event.VIEW, f"group {group}", len(self.done), membership.groups[group])
                for group in changed
                if membership.groups[group] >> process & 1
            ]
            self._loop.apply(process, views + wanted, now)
        self._traffic.regroup(membership)
        if self._due:
            self._loop.schedule(now, 0, self._flush)
            return
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            self._loop.send(send, now)
