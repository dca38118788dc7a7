"""One thing that a log tells, before it is a row of a trace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from antecede.imports.reading import name_of
from antecede.imports.times import Scale
from antecede.trace import Assumed

LOCAL: Final = -1
"""The kind of an event that concerns no message and nobody's membership."""
OTHERWISE: Final = "it may have been the other way round"


@dataclass(slots=True)
class LogEvent:
    """`message` is any text that names the message; `to` its addresses, None where none are
    given."""

    file: int
    line: int
    run: str
    process: str
    kind: int
    message: str | None = None
    to: list[str] | None = None
    seq: int | None = None
    time: float | None = None
    layer: str | None = None
    text: str | None = None
    scale: Scale | None = None
    """What `time` counts, where a table says it."""


@dataclass(frozen=True)
class Places:
    """The files of a log, to say where something stands."""

    files: Sequence[Path]

    def of(self, event: LogEvent) -> str:
        return self.line(event.file, event.line)

    def line(self, file: int, line: int) -> str:
        named = f"{self.files[file].name} " if len(self.files) > 1 else ""
        return f"{named}line {line}"

    def assumed(self, found: Mapping[Assumed, Sequence[LogEvent]]) -> list[Assumed]:
        """Each assumption that concerns some events, with how many, the first, and whose."""
        return [
            replace(
                what,
                count=len(events),
                first=self.of(events[0]),
                processes=tuple(dict.fromkeys(event.process for event in events)),
            )
            for what, events in found.items()
            if events
        ]

    @property
    def source(self) -> str:
        """All of them, as errors name them."""
        if len(self.files) == 1:
            return name_of(self.files[0])
        return f"{name_of(self.files[0])} and {len(self.files) - 1} more"
