"""What was sent and seen in a world of whole members, and what is wrong with it.

What is promised (docs/live.md): nobody sees a message twice; a durable member sees everything that
was sent to everybody since it has begun, over all its lives; members that go from one view to the
next together have seen the same in it; and what a member sees is in causal order, over all its
lives if it is durable. With one exception: a message that had reached only members that died or
were excluded at once comes later than what was sent upon it, from a later life of its sender or out
of a log.
"""

from dataclasses import dataclass
from itertools import pairwise

Lives = dict[str, int]
"""The members of a view, and which lives of them."""


@dataclass
class _Sight:
    """A message as one member saw it."""

    message: bytes
    sender: str
    life: int
    view: Lives
    """The last that the member had been told of,"""
    next: Lives | None = None
    """and the one after it, if there was one."""
    is_past: bool = False
    """Whether it came out of somebody's log."""
    at: int = 0
    """How many views the member had been told of."""


class Reader:
    """A durable member over all its lives, or one life of another."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: dict[bytes, _Sight] = {}
        """In their order."""
        self.sent: list[bytes] = []
        self.view: Lives = {}
        self.views: list[Lives] = []
        self.met: set[str] = set()
        """Who has ever been in a view with it."""
        self.wrong: list[str] = []

    def enter(self, view: Lives) -> None:
        """The last view ends; where a life ends, it is the next one itself."""
        for sight in reversed(self.seen.values()):
            if sight.next is not None:
                break
            sight.next = view
        self.view = view
        self.views.append(view)
        self.met |= view.keys()

    def see(self, message: bytes, sender: str, life: int, *, is_past: bool) -> None:
        if message in self.seen:
            self.wrong.append(f"{self.name} saw {message!r} twice")
        self.seen[message] = _Sight(
            message, sender, life, self.view, is_past=is_past, at=len(self.views)
        )


class Ledger:
    """Of one world."""

    def __init__(self) -> None:
        self.readers: list[Reader] = []
        self.pasts: dict[bytes, frozenset[bytes]] = {}
        """By message, what its sender had sent and seen,"""
        self.lives: dict[bytes, int] = {}
        """and which life of it that was."""
        self.owed: dict[bytes, set[str]] = {}
        """By message, the durable members that have to see it."""
        self.begun: set[str] = set()
        """The durable members that are in the group for good."""

    def add(self, name: str) -> Reader:
        reader = Reader(name)
        self.readers.append(reader)
        return reader

    def send(self, reader: Reader, message: bytes, life: int) -> None:
        self.pasts[message] = frozenset((*reader.seen, *reader.sent))
        self.lives[message] = life
        reader.sent.append(message)

    def write(self, reader: Reader, message: bytes) -> None:
        """It is in the log of its sender: so everybody gets it whom that has ever met."""
        self.owed.setdefault(message, self.begun & reader.met)

    def problems(self) -> list[str]:
        found = [wrong for reader in self.readers for wrong in reader.wrong]
        for reader in self.readers:
            found += [
                f"{reader.name} never saw {message!r}"
                for message, names in self.owed.items()
                if reader.name in names and message not in reader.seen
            ]
            found += self._out_of_order(reader)
            found += self._lacking(reader)
        return found

    def _lacking(self, reader: Reader) -> list[str]:
        """What others saw in a view that this member went on from with them, and it did not."""
        views = [tuple(sorted(view.items())) for view in reader.views]
        steps = {step: at for at, step in enumerate(pairwise(views), start=1)}
        found = []
        for other in self.readers:
            for sight in other.seen.values():
                own = reader.seen.get(sight.message)
                step = tuple(sorted(sight.view.items())), tuple(sorted((sight.next or {}).items()))
                at = steps.get(step, 0) if step[0] != step[1] and not sight.is_past else 0
                if self._is_older(reader, sight):
                    continue
                if at and (own is None or own.at > at):
                    found.append(f"{reader.name} went on without {sight.message!r}")
        return found

    def _is_older(self, reader: Reader, sight: _Sight) -> bool:
        """Whether it was sent again, and for the first time before this member had begun."""
        is_again = sight.life != self.lives[sight.message]
        return is_again and reader.name not in self.owed.get(sight.message, ())

    def _out_of_order(self, reader: Reader) -> list[str]:
        """Messages that came after what was sent upon them, but for the exception."""
        found, before = [], list[_Sight]()
        for late in reader.seen.values():
            found += [
                f"{reader.name} saw {early.message!r} before {late.message!r}"
                for early in before
                if late.message in self.pasts.get(early.message, ())
                and not self._may_be(reader, early, late)
            ]
            before.append(late)
        return found

    def _may_be(self, reader: Reader, early: _Sight, late: _Sight) -> bool:
        """Whether the later one had reached nobody that stayed with this member: then it is not of
        a life of its sender that stayed."""
        if early.is_past:
            return any(
                early.message in one.seen
                and not one.seen[early.message].is_past
                and late.message not in self._until(one, early.message)
                for one in self.readers
                if one is not reader
            )
        if late.life != self.lives[late.message]:
            return True
        after = early.view if early.next is None else early.next
        return not late.life == early.view.get(late.sender) == after.get(late.sender)

    def _until(self, reader: Reader, message: bytes) -> set[bytes]:
        """What it had seen before this."""
        seen = [*reader.seen]
        return {*seen[: seen.index(message)]}
