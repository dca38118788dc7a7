"""A process at the door of its group: whom it asks to be let in, and how often; who has said that
there is a group; and how long it waits once it has a number.

Pure: who is to be asked is returned (`introduction` says how).
"""

from collections.abc import Sequence
from math import inf
from typing import Final

_KNOCK_S: Final = 0.2
_KNOCK_ALL_S: Final = 2.0


class Knocking:
    """Of one process, as often as it has to come in. `patience_s`: how long, at first, it waits for
    a view once it has a number."""

    def __init__(self, patience_s: float) -> None:
        self._first_s = self._let_in_s = patience_s
        self.begin()

    def begin(self) -> None:
        """It is outside, and knows nobody."""
        self._senior = ""
        """Who is said to let others in,"""
        self._asked_at: dict[str, float] = {}
        """and who was asked to, and when."""
        self._asked_all_at = -inf
        self.insiders: set[str] = set()
        """Who has said that there is a group."""
        self._let_in_by = inf

    def welcomed(self, name: str, now: float) -> list[str]:
        """Somebody can be talked to."""
        return self._ask((name,), now) if self._senior in ("", name) else []

    def redirected(self, sender: str, senior: str, now: float) -> list[str]:
        """One who is in the group says who lets others in."""
        self._senior = senior
        self.insiders |= {sender, senior}
        return self._ask((senior,), now)

    def again(self, peers: Sequence[str], now: float) -> list[str]:
        """Now and then: at the most senior member's door, if that is known, or at everybody's."""
        if now - self._asked_all_at >= _KNOCK_ALL_S:
            self._asked_all_at = now
        elif self._senior in peers:
            peers = (self._senior,)
        return self._ask(peers, now)

    def _ask(self, names: Sequence[str], now: float) -> list[str]:
        """Not too often."""
        asked = [name for name in names if now - self._asked_at.get(name, -inf) >= _KNOCK_S]
        self._asked_at |= dict.fromkeys(asked, now)
        return asked

    def wait(self, now: float) -> None:
        """It has a number, and waits for a view."""
        self._let_in_by = now + self._let_in_s

    def gives_up(self, now: float) -> bool:
        """Those who gave it the number have gone, it seems: the group may be another one by now.
        The next time it waits for longer."""
        if now < self._let_in_by:
            return False
        self._let_in_s *= 2
        return True

    def is_in(self) -> None:
        """There is a view with it."""
        self._let_in_s = self._first_s

    def words(self, there: Sequence[str], *, has_number: bool) -> dict[str, str]:
        """What it waits for, by process that can be talked to."""
        insiders = there if has_number else self.insiders
        return {
            name: "it is in the group, and has yet to let this process in"
            if name in insiders
            else "it is there, and has not said that it is in a group"
            for name in there
        }
