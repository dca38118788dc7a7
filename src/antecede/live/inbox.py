"""What has happened and waits for the application, and what becomes of it when it is taken."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from antecede.live.durable.write_ahead import WriteAhead
from antecede.live.events import Event
from antecede.live.ordering.effects import Delivery
from antecede.live.slowness import Standstill

_TAKEN_BETWEEN_REPORTS: Final = 512


class Inbox:
    """Of one process. `take` is told which deliveries the application has taken, `report` now and
    then that there is something to tell senders."""

    def __init__(
        self,
        take: Callable[[Sequence[Delivery]], None],
        report: Callable[[], None],
        write_ahead: WriteAhead | None,
    ) -> None:
        self.events: deque[Event] = deque()
        self.arrival: asyncio.Event = asyncio.Event()
        self.standstill = Standstill()
        self.of_former_life = 0
        """How many of the first events are older than this life."""
        self._take = take
        self._report = report
        self._write_ahead = write_ahead
        self._untold = 0

    def put(self, event: Event) -> None:
        self.events.append(event)
        self.arrival.set()

    def begin_anew(self) -> None:
        """The life that all of it belongs to is over."""
        self.of_former_life = len(self.events)

    def count_taken(self, event: Event) -> None:
        """The application has taken the first event."""
        self.standstill.taken += 1
        is_counted = self._write_ahead is None or self._write_ahead.hand(event)
        if self.of_former_life:
            self.of_former_life -= 1  # The session that counted it is gone.
            is_counted = False
        if is_counted and type(event) is Delivery and event.member is not None:
            self._tell_taken((event,))

    def count_all_taken(self, deliveries: Sequence[Any]) -> None:
        """The same of many at once, as most are."""
        self.standstill.taken += len(deliveries)
        self._tell_taken(deliveries)

    def _tell_taken(self, deliveries: Sequence[Delivery]) -> None:
        self._take(deliveries)
        self._untold += len(deliveries)
        if self._untold >= _TAKEN_BETWEEN_REPORTS:
            self._untold = 0
            self._report()
