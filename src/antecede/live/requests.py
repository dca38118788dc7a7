"""Requests that wait for answers."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from antecede.errors import Misuse
from antecede.live.messages import Answer, NoAnswer

if TYPE_CHECKING:
    from antecede.live.conversation import Conversation
    from antecede.live.group import Group


class Pending:
    """One request: who was asked, who has answered."""

    def __init__(self, *, wants_all: bool, in_turn: bool) -> None:
        self.awaited: set[str] = set()
        self.in_turn = in_turn
        """Whether the answer waits for its place in the iteration."""
        self.answers: list[Answer] = []
        self.failure = ""
        self._wants_all = wants_all

    @property
    def is_over(self) -> bool:
        return bool(self.failure) or bool(self.answers and not (self._wants_all and self.awaited))

    def see_answer(self, sender: str, decode: Callable[[], Any]) -> None:
        """An answer; of those who were not asked, and second ones, nothing is believed."""
        if sender not in self.awaited or self.is_over:
            return
        self.awaited.discard(sender)
        try:
            self.answers.append(Answer(sender, decode()))
        except Exception as error:  # noqa: BLE001 - whatever it is, these bytes are the reason
            self.failure = f"'{sender}' has answered what cannot be decoded: {error}"

    def see_departure(self, names: Iterable[str]) -> None:
        """These are gone, and what they had said has come."""
        gone = self.awaited.intersection(names)
        self.awaited -= gone
        if gone and not self.awaited and not self.answers:
            self.failure = f"gone before an answer: {', '.join(sorted(gone))}"


async def ask(
    group: "Group",
    conversation: "Conversation",
    payload: Any,
    to: Sequence[str],
    timeout_s: float,
    pending: Pending,
) -> list[Answer]:
    """Ask these members, or everybody else, and wait for what `pending` waits for."""
    if group.me in to:
        raise Misuse(f"'{group.me}' asks itself; ask another member")
    number, encoded = conversation.ask(payload, to)

    def send() -> bool:
        asked = {*(to or group.members)} - {group.me}
        if group.members and not asked:
            raise NoAnswer("there is nobody else to ask", [])
        if group.members and (absent := asked - {*group.members}):
            here = ", ".join(group.members)
            raise NoAnswer(f"not here: {', '.join(sorted(absent))}; here: {here}", [])
        # Who departed before, and has come again, can answer.
        group.look_ahead()
        pending.awaited = asked
        conversation.expect(number, pending)
        return group.send_encoded(encoded, to)

    try:
        async with asyncio.timeout(timeout_s):
            await group.send_when_open(send)
            while not pending.is_over:
                await group.arrival()
                group.look_ahead()
    except TimeoutError:
        silent = ", ".join(sorted(pending.awaited)) or f"'{group.me}' is not in the group yet"
        raise NoAnswer(f"no answer in {timeout_s:g} s: {silent}", pending.answers) from None
    finally:
        conversation.forget(number)
    if pending.failure:
        raise NoAnswer(pending.failure, pending.answers)
    return pending.answers
