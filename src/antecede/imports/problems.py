"""What is wrong with a log: one line a kind, with a count and the first place.

Some kinds may be tolerated (`--tolerate duplicates,unknown-sends`). Then the rows are counted and
taken as the table here says, which also says what that means for a verdict.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from antecede.errors import BadFile, Misuse
from antecede.trace import Assumed


class Tolerance(NamedTuple):
    """How a kind of problem is tolerated."""

    effect: str
    """What the flag does, for who is told of it."""
    happened: str
    meaning: str
    doubt: bool = True
    unsure: bool = False


TOLERABLE: Final = {
    "duplicates": Tolerance(
        "takes the first of each",
        "the same message was delivered at the same process again; the first time counts",
        "the verdict is on first deliveries",
        doubt=False,
    ),
    "resends": Tolerance(
        "takes the first of each, and leaves out what several send",
        "the same message was sent again; the first time counts, and one that several send is left "
        "out",
        "what its sender learned in between may have been overtaken unseen",
    ),
    "unknown-sends": Tolerance(
        "leaves them out",
        "deliveries of messages whose send is not in the log were left out",
        "what these messages depend on, and what overtook them, cannot be seen",
    ),
    "no-addresses": Tolerance(
        "takes those who delivered them as addressed",
        "sends without addresses count as addressed to those who delivered them",
        "a message that somebody never got is invisible, and so is what overtook it",
    ),
    "unaddressed": Tolerance(
        "adds them to the addresses",
        "deliveries at processes that the message was not addressed to; they count as addressed",
        "the addresses in the log are not all there are",
    ),
    "bad-rows": Tolerance(
        "leaves them out",
        "rows that could not be read were left out",
        "what they say is not known",
    ),
    "truncated": Tolerance(
        "leaves it out",
        "the last line is not whole and was left out",
        "what it says is not known",
    ),
    "clocks": Tolerance(
        "takes each host's events in the order of the log and leaves out what nobody did",
        "vector clocks do not fit together",
        "some messages between hosts were missed, and events may have been in another order",
        unsure=True,
    ),
}


def advised(flag: str, name: str, value: str) -> str:
    """A flag as a person can type it."""
    text = f"{name}={value}"
    if re.search(r"[^\w@%+=./-]", text, re.ASCII):
        text = "'" + text.replace("'", "'\"'\"'") + "'"
    return f"{flag} {text}"


def parse_tolerance(flags: Iterable[str]) -> frozenset[str]:
    """The kinds that a flag names, with commas between them, or `all`."""
    names = [name.strip() for flag in flags for name in flag.split(",") if name.strip()]
    for name in names:
        if name not in TOLERABLE and name != "all":
            known = ", ".join(TOLERABLE)
            raise Misuse(f"--tolerate {name}: there is no such kind; there are {known}, all")
    return frozenset(TOLERABLE) if "all" in names else frozenset(names)


class _Kind:
    def __init__(self, name: str, place: str, detail: str, advice: str) -> None:
        self.name = name
        self.count = 0
        self.place = place
        self.detail = detail
        self.advice = advice


class Problems:
    """Collects them. Kinds are told apart by name and, where one has several, by `group`."""

    def __init__(self, tolerated: Iterable[str] = ()) -> None:
        self._tolerated = frozenset(tolerated)
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def add(self, name: str, place: str, detail: str, group: str = "", advice: str = "") -> None:
        """One more, at a place: `detail` and `advice` are told of the first of its group."""
        key = (name, group)
        if key not in self._kinds:
            self._kinds[key] = _Kind(name, place, detail, advice)
        self._kinds[key].count += 1

    def advise(self, group: str, advice: str) -> None:
        """What to do about the problems of a group, once all are known."""
        for (_, found), kind in self._kinds.items():
            if found == group:
                kind.advice = advice

    def has(self, *names: str) -> bool:
        """Whether there is one of such a name."""
        return any(kind.name in names for kind in self._kinds.values())

    def refuse(self, source: str) -> None:
        """Raise an error that lists all that is not tolerated, if there is something."""
        lines = [self._line(kind) for kind in self._kinds.values() if not self._is_fine(kind)]
        if lines:
            raise BadFile(source, lines)

    def assumed(self) -> Iterator[Assumed]:
        """What was tolerated, one assumption a name."""
        counts: dict[str, int] = {}
        first: dict[str, str] = {}
        for kind in self._kinds.values():
            counts[kind.name] = counts.get(kind.name, 0) + kind.count
            first.setdefault(kind.name, kind.place)
        for name, count in counts.items():
            how = TOLERABLE[name]
            told = (how.happened, how.meaning, count, first[name])
            yield Assumed(name, *told, doubt=how.doubt, unsure=how.unsure)

    def _is_fine(self, kind: _Kind) -> bool:
        return kind.name in self._tolerated

    def _line(self, kind: _Kind) -> str:
        more = f", and {kind.count - 1:,} more like it" if kind.count > 1 else ""
        told = f"{kind.place}: {kind.detail}{more}"
        if kind.advice:
            told += f"; {kind.advice}"
        if how := TOLERABLE.get(kind.name):
            told += f"; --tolerate {kind.name} {how.effect}"
        return told
