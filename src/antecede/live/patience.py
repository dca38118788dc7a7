"""What waits for longer than it should: when each held message was first seen, and which of them
the application has been told of."""

from collections.abc import Iterable

from antecede.live.events import Missing
from antecede.live.machine import Machine
from antecede.order import Held


class Patience:
    """Of one process."""

    def __init__(self, core: Machine) -> None:
        self._core = core
        self._since: dict[tuple[int, int], float] = {}
        self._reported: set[tuple[int, int]] = set()

    def begin(self) -> None:
        """A view begins: messages have other numbers from here on."""
        self._since.clear()
        self._reported.clear()

    def held(self, now: float) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        return [self._describe(held, now) for held in self._core.held()]

    def _describe(self, held: Held, now: float) -> Missing:
        since = self._since.setdefault(held.message, now)
        sender, number, awaited = self._core.describe(held)
        return Missing(sender, number, awaited, now - since)

    def exhausted(self, limit_s: float, now: float) -> Iterable[tuple[Held, Missing]]:
        """What has waited for longer than that, each once."""
        held = {one.message: one for one in self._core.held()}
        for message in [message for message in self._since if message not in held]:
            del self._since[message]
        for message, one in held.items():
            missing = self._describe(one, now)
            if missing.waited_s >= limit_s and message not in self._reported:
                self._reported.add(message)
                yield one, missing
