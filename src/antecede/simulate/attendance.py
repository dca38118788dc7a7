"""Who takes part in a run at a time: who has crashed, who is back, who has yet to come."""

from collections.abc import Callable
from typing import Any

import msgspec

from antecede.message import ProcessSet, process_set
from antecede.order import Effect, Packet
from antecede.simulate.scenario import Latecomer, Scenario
from antecede.simulate.workload import Send

Receiver = Callable[[Packet[Any], float], list[Effect]]


class Attendance:
    def __init__(self, scenario: Scenario, receivers: list[Receiver]) -> None:
        self.receivers: list[Receiver | None] = [*receivers]
        """What takes the packets for a process; None at one that has crashed, or has not come."""
        self.dead: ProcessSet = 0
        self.outside: dict[int, float] = {}
        """Who has asked to be let in, since when, while there was something left to happen."""
        self._successors: dict[int, int] = {}
        """By process that crashed, the one as which it has come back, once that is a member."""
        self._awaited: dict[int, int] = {}
        """By process that asks to be let in, the one that it was before."""
        self._absent = process_set(newcomer.process for newcomer in scenario.newcomers)
        """Who has not been let in yet, and comes for the first time."""
        self._joining = {one.process: receivers[one.process] for one in scenario.latecomers}
        self._before = {one.process: one.before for one in scenario.latecomers}
        self.memories: dict[int, bytes] = {}
        """By process that crashed, its stable memory."""
        for process in self._joining:
            self.receivers[process] = None

    def survivors(self) -> list[int]:
        return [process for process, receive in enumerate(self.receivers) if receive is not None]

    def at(self, process: int) -> list[int]:
        """Who is there now in the place of a process: itself, or who has come back."""
        places = [process, *(one for one, before in self._before.items() if before == process)]
        return [one for one in dict.fromkeys(places) if self.receivers[one] is not None]

    def before(self, process: int) -> int:
        """Who a process was before it crashed."""
        return self._before.get(process, process)

    def crash(self, process: int, memory: bytes = b"") -> None:
        """What it had in stable memory outlives it."""
        self.memories[process] = memory
        self.receivers[process] = None
        self.outside.pop(process, None)
        self.dead |= 1 << process

    def ask(self, latecomer: Latecomer, now: float, is_late: bool) -> None:
        """A process asks to be let in; after all has happened nobody minds if it is not."""
        process = latecomer.process
        self.receivers[process] = self._joining[process]
        self._awaited[process] = latecomer.before
        if not is_late:
            self.outside[process] = now

    def let_in(self, process: int) -> bool:
        """A process has seen a view; whether it has been waiting for that."""
        if process not in self._awaited:
            return False
        before = self._awaited.pop(process)
        self.outside.pop(process, None)
        if before == process:
            self._absent &= ~(1 << process)
        else:
            self._successors[before] = process
        return True

    def current(self, send: Send) -> Send:
        """The same send with those who have come back in the place of those they were, and for and
        from nobody who has yet to come."""
        if not self._successors and not self._absent:
            return send
        is_there = not self._absent >> send.process & 1
        destinations = send.destinations & ~self._absent if is_there else 0
        for before, after in self._successors.items():
            if destinations >> before & 1:
                destinations ^= 1 << before | 1 << after
        process = self._successors.get(send.process, send.process)
        return msgspec.structs.replace(send, process=process, destinations=destinations)
