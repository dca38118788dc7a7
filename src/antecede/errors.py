"""Every error that Antecede raises on purpose, and whose fault each one is.

::

    AntecedeError
    ├── Misuse             the caller asked for what cannot be: an unknown protocol, a bad option
    ├── BadInput           something that came from outside is broken
    │   ├── MalformedStamp   a peer's packet: names the field
    │   ├── BadFile          a scenario, a data file: names the file, the place and the fix
    │   └── BadTrace         a trace that breaks a rule of the format: names rule, run, process, row
    └── BrokenInvariant    Antecede itself is wrong: please report it

The command line prints the first two kinds as one message and exits with status 2.
"""


class AntecedeError(Exception):
    """The base of them all."""


class Misuse(AntecedeError):
    """The caller asked for something that cannot be done; the message says what can."""


class BadInput(AntecedeError):
    """Something from outside (a file, a peer) is broken."""


class MalformedStamp(BadInput):
    """A packet whose ordering information cannot be right. The receiver's state is unchanged."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"malformed stamp: field '{field}' {reason}")
        self.field = field
        self.reason = reason


class BadFile(BadInput):
    """A file that people write, with every mistake found in it."""

    def __init__(self, file: str, mistakes: list[str]) -> None:
        listed = "\n".join(f"  - {mistake}" for mistake in mistakes)
        super().__init__(f"{file}: {len(mistakes)} mistake{'s' * (len(mistakes) != 1)}\n{listed}")
        self.file = file
        self.mistakes = mistakes


class BadTrace(BadInput):
    """A trace that breaks a rule of the trace format."""

    def __init__(self, rule: str, where: str, detail: str) -> None:
        super().__init__(f"{where}: {detail} (rule: {rule})")
        self.rule = rule
        self.where = where


class BrokenInvariant(AntecedeError):
    """A promise that Antecede makes to itself does not hold."""
