"""What the clocks of the processes show. A protocol is told the time of its own process alone; on
machines that were started at different times such clocks have nothing in common but their rate."""

from antecede.simulate.scenario import Scenario


class Clocks:
    def __init__(self, scenario: Scenario) -> None:
        size = scenario.membership.size
        ahead = [*scenario.clocks[:size], *[0.0] * (size - len(scenario.clocks))]
        for one in scenario.returning:  # on the machine on which it was before
            ahead[one.process] = ahead[one.before]
        self._ahead = ahead
        self._shown = list(ahead)
        """What each has shown last: none goes back, whatever the rounding."""

    def shown(self, process: int, now: float, least: float = 0.0) -> float:
        """The time at a process: at least the one for which it has been woken."""
        time = self._shown[process] = max(self._shown[process], least, now + self._ahead[process])
        return time

    def due(self, process: int, time: float) -> float:
        """When its clock shows a time."""
        return time - self._ahead[process]
