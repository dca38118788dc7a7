"""Judges what the applications of a group saw. It knows nothing of the protocol: only sends,
deliveries, views and ends, life by life.

Every finding is a sentence; a right history has none.
"""

from collections.abc import Iterator
from itertools import pairwise

from tests.groups.lab import History, Life


class Checker:
    def __init__(self, history: History, quorum: str = "majority") -> None:
        self.history = history
        self.quorum = quorum
        self.views: dict[int, tuple[Life, ...]] = {}
        self.installed: dict[Life, list[int]] = {}
        self.delivered: dict[Life, dict[int, int]] = {}
        """Life, message: the view it was delivered in."""
        for life, events in history.lives.items():
            self.installed[life] = [event.view for event in events if event.kind == "view"]
            self.delivered[life] = {
                event.message: event.view for event in events if event.kind == "deliver"
            }
        self.sent_in: dict[int, int] = {
            message: view for views in self.delivered.values() for message, view in views.items()
        }

    def findings(self) -> list[str]:
        """Everything that is wrong."""
        found: list[str] = []
        for check in (
            self.view_agreement,
            self.exactly_once,
            self.virtual_synchrony,
            self.causal_order,
            self.states,
            self.retention,
            self.channels,
            self.stability,
            self.endings,
            self.liveness,
        ):
            found.extend(check())
        return found

    def view_agreement(self) -> Iterator[str]:
        """One view a number; consecutive numbers; one is in one's own views; a life comes once."""
        present: dict[Life, list[int]] = {}
        for life, events in self.history.lives.items():
            for event in events:
                if event.kind != "view":
                    continue
                known = self.views.setdefault(event.view, event.members)
                if known != event.members:
                    yield f"{life} installs view {event.view} as {event.members}, not {known}"
                if len({process for process, _ in event.members}) < len(event.members):
                    yield f"view {event.view} has two lives of one process: {event.members}"
                if life not in event.members:
                    yield f"{life} installs view {event.view}, which is without it"
            numbers = self.installed[life]
            if any(after != before + 1 for before, after in pairwise(numbers)):
                yield f"{life} installs views {numbers}"
        for number in sorted(self.views):
            for life in self.views[number]:
                present.setdefault(life, []).append(number)
        for life, numbers in sorted(present.items()):
            if numbers[-1] - numbers[0] >= len(numbers):
                yield f"{life} is in views {numbers}: it left and came back in the same life"

    def exactly_once(self) -> Iterator[str]:
        """Nothing is delivered twice, unsent, elsewhere than addressed or in a view not its own."""
        for life, events in self.history.lives.items():
            seen: set[int] = set()
            sent: set[int] = set()
            view = 0
            for event in events:
                if event.kind == "view":
                    view = event.view
                elif event.kind == "send":
                    sent.add(event.message)
                elif event.kind == "deliver":
                    message = event.message
                    origin = self.history.sent[message]
                    if message in seen:
                        yield f"{life} delivers message {message} twice"
                    if event.view != view or self.sent_in[message] != view:
                        yield f"{life} delivers message {message} of another view in view {view}"
                    if origin.to and not origin.to >> life[0] & 1:
                        yield f"{life} delivers message {message}, which is not addressed to it"
                    if origin.sender == life and message not in sent:
                        yield f"{life} delivers its message {message} before it sends it"
                    seen.add(message)

    def virtual_synchrony(self) -> Iterator[str]:
        """Who goes from one view to the next together has delivered the same."""
        final = max(self.views, default=0) if self._goes_on() else 0
        for number in sorted(self.views):
            together = [
                life
                for life, numbers in sorted(self.installed.items())
                if number in numbers
                and (number + 1 in numbers or (number == final and life in self.history.alive))
            ]
            for one, other in pairwise(together):
                first, second = self._in_view(one, number), self._in_view(other, number)
                for message in sorted(first ^ second):
                    if self._concerns(message, one) and self._concerns(message, other):
                        has, lacks = (one, other) if message in first else (other, one)
                        yield (
                            f"{has} and {lacks} both leave view {number}, "
                            f"but only {has} delivered message {message} in it"
                        )

    def causal_order(self) -> Iterator[str]:
        """Before a message, all that precedes it and that was for this life."""
        past = self._pasts()
        for life, events in self.history.lives.items():
            seen = 0
            mine = set(self.installed[life])
            for event in events:
                if event.kind != "deliver":
                    continue
                missing = past.get(event.message, 0) & ~seen
                while missing:
                    lowest = missing & -missing
                    missing ^= lowest
                    before = lowest.bit_length() - 1
                    if self.sent_in.get(before) in mine and self._concerns(before, life):
                        yield (
                            f"{life} delivers message {event.message} without {before}, "
                            "which precedes it"
                        )
                seen |= 1 << event.message

    def _pasts(self) -> dict[int, int]:
        """By message, all messages that happened before it (applications only): a bit set."""
        past: dict[int, int] = {}
        everything = [
            (event.order, life, event)
            for life, events in self.history.lives.items()
            for event in events
        ]
        knows: dict[Life, int] = dict.fromkeys(self.history.lives, 0)
        for _, life, event in sorted(everything, key=lambda entry: entry[0]):
            if event.kind == "send":
                past[event.message] = knows[life]
                knows[life] |= 1 << event.message
            elif event.kind == "deliver":
                knows[life] |= past.get(event.message, 0) | 1 << event.message
            elif event.kind == "view":  # the state that a newcomer was given
                for message in event.messages:
                    knows[life] |= past.get(message, 0) | 1 << message
        return past

    def states(self) -> Iterator[str]:
        """A newcomer's state, completed by its deliveries, is everybody's."""
        by_view: dict[int, tuple[Life, tuple[int, ...]]] = {}
        for life, events in self.history.lives.items():
            for event in events:
                if event.kind == "view":
                    other, known = by_view.setdefault(event.view, (life, event.messages))
                    if known != event.messages:
                        yield f"{life} and {other} begin view {event.view} with different states"

    def retention(self) -> Iterator[str]:
        """All members of a new view retain the same."""
        by_view: dict[int, tuple[Life, tuple[int, ...]]] = {}
        for life, events in self.history.lives.items():
            for event in events:
                if event.kind == "unreleased":
                    retained = tuple(sorted(event.messages))
                    other, known = by_view.setdefault(event.view, (life, retained))
                    if known != retained:
                        yield f"{life} and {other} retain different messages in view {event.view}"

    def channels(self) -> Iterator[str]:
        """What one told another arrives in order, without gaps and once; all of it, if both run."""
        for sender, events in self.history.lives.items():
            said: dict[Life, list[int]] = {}
            for event in events:
                if event.kind == "tell":
                    said.setdefault(event.members[0], []).append(event.message)
            for receiver, messages in said.items():
                heard = [
                    event.message
                    for event in self.history.lives[receiver]
                    if event.kind == "told" and event.members[0] == sender
                ]
                if heard != messages[: len(heard)]:
                    yield f"{sender} told {receiver} {messages}, and it heard {heard}"
                both = {sender, receiver} <= set(self.history.alive)
                if both and self._goes_on() and len(heard) < len(messages):
                    yield f"{sender} told {receiver} {messages}, and it heard only {heard}"

    def stability(self) -> Iterator[str]:
        """What is called stable has been received by all of the view."""
        for life, events in self.history.lives.items():
            for event in events:
                if event.kind == "unstable":
                    yield f"at {life} {event.detail}"

    def endings(self) -> Iterator[str]:
        """Who was excluded or left is told exactly which of its messages nobody delivers."""
        for life, events in self.history.lives.items():
            if not events or events[-1].kind != "stopped" or events[-1].detail == "doubt":
                continue
            lost = set(events[-1].messages)
            if lost and events[-1].detail == "left" and self.installed[life]:
                yield f"{life} leaves and {sorted(lost)} of it are lost"
            last = self.installed[life][-1] if self.installed[life] else 0
            sent = [event.message for event in events if event.kind == "send"]
            others = [
                other
                for other, numbers in self.installed.items()
                if other != life and last + 1 in numbers and last in numbers
            ]
            for message in sent:
                for other in others:
                    if not self._concerns(message, other):
                        continue
                    if message in self.delivered[other] and message in lost:
                        yield f"{life} is told that message {message} is lost; {other} delivered it"
                    in_view = self.sent_in.get(message, last)
                    if (
                        message not in self.delivered[other]
                        and message not in lost
                        and in_view in self.installed[other]
                    ):
                        yield f"message {message} of {life} is lost without notice at {other}"

    def liveness(self) -> Iterator[str]:
        """At the end all that run are in one view and nothing waits; or there is no quorum, and who
        is left says so."""
        alive = self.history.alive
        if not self.views:
            return
        final = max(self.views)
        if not self._goes_on():
            for life in alive:
                if self.installed[life] and not self.history.suspended[life]:
                    yield f"{life} has lost the quorum and does not say so"
            return
        if set(self.views[final]) != set(alive):
            yield f"at the end {alive} run, and the view is {self.views[final]}"
        for life in alive:
            if self.installed[life][-1:] != [final]:
                yield f"{life} stays in views {self.installed[life]} of {final}"
            if self.history.suspended[life]:
                yield f"{life} is suspended for no reason"
            if self.history.buffered[life]:
                yield f"{life} still buffers {self.history.buffered[life]} messages"
        for message, origin in sorted(self.history.sent.items()):
            if origin.sender not in alive:
                continue
            if message not in self.sent_in:
                yield f"message {message} of {origin.sender} was never delivered"
                continue
            for life in alive:
                there = self.sent_in[message] in self.installed[life]
                if there and self._concerns(message, life) and message not in self.delivered[life]:
                    yield f"{life} never delivers message {message} of {origin.sender}"

    def _goes_on(self) -> bool:
        """Whether enough of the last view that anybody knows run at the end."""
        known = [view for life in self.history.alive for view in self.installed[life]]
        if not known:
            return False
        view = self.views[max(known)]
        left = [life for life in view if life in self.history.alive]
        if self.quorum == "survivors":
            return bool(left)
        return 2 * len(left) > len(view) or (2 * len(left) == len(view) and view[0] in left)

    def _in_view(self, life: Life, number: int) -> set[int]:
        return {message for message, view in self.delivered[life].items() if view == number}

    def _concerns(self, message: int, life: Life) -> bool:
        to = self.history.sent[message].to
        return not to or bool(to >> life[0] & 1)
