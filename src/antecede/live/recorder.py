"""What is told whatever a member does. A member that is not recorded does not import what writes
traces (`recording`): it would take five times the memory, and longer to start."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from antecede.groups import MemberId
from antecede.live.ordering.effects import Arrived, Delivery, Sent

Naming = Callable[[MemberId], str]


def life(name: str, member: MemberId) -> str:
    """The name of one life of a process, as it stands in traces."""
    return f"{name}.{member.incarnation}"


class Recorder(Protocol):
    """Whoever is told what a member does."""

    def begin(self, incarnation: int) -> None: ...

    def send(self, sent: Sent, name: Naming, base: int = 0) -> None: ...

    def receive(self, arrived: Arrived, name: Naming, base: int = 0) -> None: ...

    def deliver(self, delivered: Delivery, base: int = 0) -> None: ...

    def view(self, lamport: int, number: int, members: tuple[str, ...]) -> None: ...

    def flush(self) -> None: ...

    def close(self, end: Literal["leave", "crash"]) -> None: ...


def finish(folder: Path) -> list[Path]:
    """Turn the logs of nodes that were killed into traces; gives the traces written. To be called
    when none of the nodes runs any more. Raises `BadFile` for a log that no node has written, and
    `CannotWrite` if a trace cannot be written.

        finish(Path("recordings"))  # then: antecede verify recordings
    """
    from antecede.live.recording import finish_logs  # noqa: PLC0415 - see above

    return finish_logs(folder)
