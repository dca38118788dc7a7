"""The last messages of a member, for the page that shows it: who sent them, when each arrived here
and when it was delivered. What they say is not kept."""

import time
from typing import Any, Final, Literal

from antecede.live.ordering.effects import Arrived, Delivery, Sent
from antecede.live.recorder import Naming, Recorder

_MESSAGES: Final = 200
_VIEWS: Final = 20


class Recent:
    """A recorder that remembers little, and passes everything on to the one behind it."""

    def __init__(self, me: str, behind: Recorder | None) -> None:
        self._me = me
        self._behind = behind
        self._messages: dict[tuple[str, int], dict[str, Any]] = {}
        self._views: list[dict[str, Any]] = []

    def told(self) -> dict[str, Any]:
        """In plain values, the oldest first; times are seconds of the epoch."""
        messages = [dict(one) for one in self._messages.values()]
        return {"now": time.time(), "messages": messages, "views": list(self._views)}

    def _message(self, sender: str, number: int) -> dict[str, Any]:
        key = (sender, number)
        if key not in self._messages:
            self._messages[key] = {"sender": sender, "number": number}
            if len(self._messages) > _MESSAGES:
                del self._messages[next(iter(self._messages))]
        return self._messages[key]

    # -- a recorder

    def begin(self, incarnation: int) -> None:
        if self._behind is not None:
            self._behind.begin(incarnation)

    def send(self, sent: Sent, name: Naming, base: int = 0) -> None:
        to = sorted({name(member) for member in sent.to} - {self._me})
        self._message(self._me, sent.number).update(sent=time.time(), to=to)
        if self._behind is not None:
            self._behind.send(sent, name, base)

    def receive(self, arrived: Arrived, name: Naming, base: int = 0) -> None:
        self._message(name(arrived.sender), arrived.number).update(arrived=time.time())
        if self._behind is not None:
            self._behind.receive(arrived, name, base)

    def deliver(self, delivered: Delivery, base: int = 0) -> None:
        self._message(delivered.sender, delivered.number).update(delivered=time.time())
        if self._behind is not None:
            self._behind.deliver(delivered, base)

    def view(self, lamport: int, number: int, members: tuple[str, ...]) -> None:
        self._views.append({"number": number, "members": list(members), "at": time.time()})
        del self._views[:-_VIEWS]
        if self._behind is not None:
            self._behind.view(lamport, number, members)

    def flush(self) -> None:
        if self._behind is not None:
            self._behind.flush()

    def close(self, end: Literal["leave", "crash"]) -> None:
        if self._behind is not None:
            self._behind.close(end)
