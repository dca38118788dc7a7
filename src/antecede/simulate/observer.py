"""Who is told what happens in a run, besides deliveries."""

from typing import Any, Protocol

from antecede.order import Notice, Packet


class Observer(Protocol):
    def sent(self, packet: Packet[Any]) -> None:
        """A process hands a packet to the network; the usual broadcast of plain protocols, whose
        copies are all alike, is left out."""

    def noticed(self, notice: Notice, now: float) -> None:
        """A process tells something."""

    def struck(self, process: int, fault: str) -> None:
        """A process crashes, returns or arrives."""
