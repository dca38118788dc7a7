"""A write-ahead log, which is how a durable member acts: what its machine wants done waits until
the end of the turn of the event loop, goes into the log in one transaction, and is done then. So
nothing leaves and nothing is given to the application that is not in the log.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from antecede.errors import AntecedeError, BadFile, CannotWrite, Misuse
from antecede.live.durable.journal import Journal
from antecede.live.durable.remembered import Outgone
from antecede.live.events import Event, Excluded, State
from antecede.live.ordering.effects import Delivery
from antecede.live.ordering.items import encode_item
from antecede.live.ordering.offers import Given, Subject, encode_content
from antecede.live.outputs import (
    Accompanied,
    Begun,
    Durable,
    Kept,
    Learnt,
    OlderLog,
    Output,
    Raised,
    Reached,
    ReadPast,
    ToPeer,
)

_LOGGED = (Kept, Outgone, Reached, Raised, Learnt, Begun, Excluded, Accompanied)


class WriteAhead:
    """Between the machine of a group and its pump."""

    def __init__(
        self,
        journal: Journal,
        carry_out: Callable[[Sequence[Output]], None],
        fail: Callable[[AntecedeError], None],
    ) -> None:
        self.journal = journal
        self._carry_out = carry_out
        self._fail = fail
        self._staged: list[Output] = []
        self._is_due = False
        self._commit: asyncio.Future[None] | None = None
        """Of those who wait for the transaction of this turn."""
        self._places: deque[tuple[int, bool]] = deque()
        """Of the deliveries that the application has yet to take: position, and whether the session
        counts it."""
        self._handed = 0
        """The position of the last delivery that the application was given."""
        self._taken: int | None = None
        """Up to here it has taken them, and the log does not say so yet."""
        self._state_handed = False
        self._begun = False
        self._is_closed = False

    def recalled(self) -> list[Delivery]:
        """What a former life was given and its application had not taken."""
        found = self.journal.untaken()
        self._places += [(position, False) for position, _ in found]
        return [delivery for _, delivery in found]

    # -- the machine

    def stage(self, outputs: Sequence[Output]) -> None:
        """To be done when it is in the log."""
        self._staged += outputs
        self._schedule()

    async def committed(self) -> None:
        """Wait until everything so far is in the log."""
        if self._is_due:
            if self._commit is None:
                self._commit = asyncio.get_running_loop().create_future()
            await asyncio.shield(self._commit)

    def commit(self) -> None:
        """Write now, then do what was staged."""
        if self._is_closed:
            raise Misuse(f"the log {self.journal.path} is closed: this member has ended")
        self._is_due = False
        commit, self._commit = self._commit, None
        try:
            while self._staged or self._taken is not None or self._begun:
                self._write()
        except Exception as found:  # noqa: BLE001 - nothing that was staged may vanish in silence
            reason = f"{type(found).__name__}: {found}"
            failed = CannotWrite(str(self.journal.path), reason)
            error = found if isinstance(found, AntecedeError) else failed
            self._staged.clear()
            self._taken, self._begun = None, False
            self._fail(error)
            if commit is not None:
                commit.set_exception(error)
                commit.exception()  # Whoever waits gets it; nobody need wait.
            return
        if commit is not None:
            commit.set_result(None)

    def _write(self) -> None:
        staged, self._staged = self._staged, []
        taken, self._taken = self._taken, None
        logged: list[Durable] = [one for one in staged if type(one) in _LOGGED]  # type: ignore[misc]
        if self._begun:
            logged.append(Begun())
            self._begun = False
        self.journal.write(logged, taken)
        self._carry_out(staged)

    def _schedule(self) -> None:
        if not self._is_due and not self._is_closed:
            self._is_due = True
            asyncio.get_running_loop().call_soon(self._commit_if_due)

    def _commit_if_due(self) -> None:
        if self._is_due:
            self.commit()

    def read_past(self, wanted: ReadPast) -> ToPeer:
        """A part of the log, for a member that has returned."""
        rows, after, more = self.journal.past(
            wanted.marks, wanted.after, wanted.upto, wanted.part_bytes
        )
        content = encode_content(msgspec.structs.replace(wanted.past, rows=rows))
        given = Given(wanted.life, wanted.view, Subject.PAST, True, after, more, content)
        return ToPeer(wanted.name, encode_item(given))

    def refused(self, older: OlderLog, me: str) -> BadFile:
        """What is wrong with the log of this process: what was sent since the copy was made would
        be numbered, and dropped, as sent before."""
        reason = (
            f"is an older copy: it ends with message {older.sent} of '{me}', of which "
            f"'{older.peer}' has had {older.number}; restore the newest copy, or remove it "
            "(with its -wal file): the member then joins as one that has never been there"
        )
        return BadFile(str(self.journal.path), [reason])

    # -- the application

    def waits(self, kept: Kept) -> None:
        """A delivery waits for the application."""
        self._places.append((kept.position, kept.is_counted))

    def hand(self, event: Event) -> bool:
        """The application takes an event, so it has dealt with the one before. Gives whether the
        session counts it."""
        self.take_handed()
        if type(event) is State:
            self._state_handed = event.payload is not None
        if type(event) is Delivery and event.ordered:
            self._handed, is_counted = self._places.popleft()
            return is_counted
        return False

    def take_handed(self) -> None:
        """The application has dealt with what it was given."""
        if self._handed:
            self._taken, self._handed = self._handed, 0
            self._schedule()
        if self._state_handed:
            self._state_handed, self._begun = False, True
            self._schedule()

    def close(self) -> None:
        if self._is_due:
            self.commit()
        self._is_closed = True
        self.journal.close()
