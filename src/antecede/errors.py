"""Every error that Antecede raises on purpose, and whose fault each one is.

::

    AntecedeError
    ├── Misuse             the caller asked for what cannot be: an unknown protocol, a bad option
    │   └── CannotWrite      an output that the file system refuses: names the file and the reason
    ├── BadInput           something that came from outside is broken
    │   ├── MalformedStamp   a peer's packet: names the field
    │   ├── BadFile          a scenario, a data file: names the file, the place and the fix
    │   └── BadTrace         a trace that breaks a rule of the format: names rule, run, process, row
    └── BrokenInvariant    Antecede itself is wrong: please report it

The command line prints the first two kinds as one message and exits with status 2.
"""


def counted(count: int, noun: str) -> str:
    """`1 message`, `2,000 messages`, `3 deliveries`, `4 processes`."""
    if count == 1:
        return f"1 {noun}"
    if noun.endswith("y") and noun[-2] not in "aeiou":
        return f"{count:,} {noun[:-1]}ies"
    return f"{count:,} {noun}{'es' if noun.endswith(('s', 'ch')) else 's'}"


class AntecedeError(Exception):
    """The base of them all. Errors survive pickling, for they cross process boundaries: `args` is
    what the error was made of, `str` the text for people."""


class Misuse(AntecedeError):
    """The caller asked for something that cannot be done; the message says what can."""


class CannotWrite(Misuse):
    """The file system refuses an output (no space, no permission, no such folder). Nothing of it is
    left behind."""

    def __init__(self, file: str, reason: str) -> None:
        super().__init__(file, reason)
        self.file = file
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot write {self.file}: {self.reason}; nothing of it was kept"


class BadInput(AntecedeError):
    """Something from outside (a file, a peer) is broken."""


class MalformedStamp(BadInput):
    """A packet whose ordering information cannot be right. The receiver's state is unchanged."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(field, reason)
        self.field = field
        self.reason = reason

    def __str__(self) -> str:
        return f"malformed stamp: field '{self.field}' {self.reason}"


class BadFile(BadInput):
    """A file that people write, with every mistake found in it."""

    def __init__(self, file: str, mistakes: list[str]) -> None:
        super().__init__(file, mistakes)
        self.file = file
        self.mistakes = mistakes

    def __str__(self) -> str:
        listed = "".join(f"\n  - {mistake}" for mistake in self.mistakes)
        return f"{self.file}: {counted(len(self.mistakes), 'mistake')}{listed}"


class BadTrace(BadInput):
    """A trace that breaks a rule of the trace format; `row` counts over all of its files."""

    def __init__(self, rule: str, where: str, detail: str, row: int = -1) -> None:
        super().__init__(rule, where, detail, row)
        self.rule = rule
        self.where = where
        self.detail = detail
        self.row = row

    def __str__(self) -> str:
        return f"{self.where}: {self.detail} (rule: {self.rule})"


class BrokenInvariant(AntecedeError):
    """A promise that Antecede makes to itself does not hold."""
