"""Who holds up senders, and since when: nobody stops the rest in silence.

A sender waits for its slowest receiver. Whoever has had a full window to take for some time, or
whose link has been full for so long, is told to the application, the log and the page. Likewise a
process that waits in `send` and does not take the events that wait for it: two that answer inside
of their loops wait for each other so, for ever.
"""

from collections.abc import Collection, Iterator


class Slowness:
    """Of the others, as one process sees them."""

    def __init__(self) -> None:
        self.since: dict[str, float] = {}
        """Who holds up senders for long enough to be told, and since when."""
        self._seen: dict[str, tuple[float, float]] = {}
        """All who do, and since when by the clock of the loop and by that of people."""

    def look(
        self, slow: Collection[str], limit_s: float, now: float, clock: float
    ) -> Iterator[tuple[str, float]]:
        """These hold up senders now. Gives who has done so for that long, each once, and since
        when."""
        self._seen = {name: self._seen.get(name, (now, clock)) for name in slow}
        self.since = {name: at for name, at in self.since.items() if name in self._seen}
        for name, (began, clock_then) in self._seen.items():
            if now - began >= limit_s and name not in self.since:
                self.since[name] = clock_then
                yield name, clock_then

    def held_up_s(self, now: float) -> dict[str, float]:
        """For how long each has held up senders."""
        return {name: now - began for name, (began, _) in self._seen.items()}


class Standstill:
    """Of this process: somebody waits in `send` while events wait to be taken."""

    def __init__(self) -> None:
        self.waiting_sends = 0
        self.taken = 0
        """Events taken so far."""
        self.is_stuck = False
        self._since: tuple[int, float] = (-1, 0.0)

    def look(self, waiting_events: int, limit_s: float, now: float) -> bool:
        """Whether this has gone on for that long; said once."""
        if not self.waiting_sends or not waiting_events:
            self._since, self.is_stuck = (-1, now), False
            return False
        if self._since[0] != self.taken:
            self._since, self.is_stuck = (self.taken, now), False
        was_stuck, self.is_stuck = self.is_stuck, now - self._since[1] >= limit_s
        return self.is_stuck and not was_stuck
