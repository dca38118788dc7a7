"""Judges what the applications of a group saw. It knows nothing of the protocol: only sends,
deliveries, views and ends, life by life.

Every finding is a sentence; a right history has none.
"""

from collections.abc import Iterator
from itertools import pairwise
from math import inf

from antecede.message import members
from tests.groups.lab import REMEMBERED_DECISIONS, History, Life

FORGOTTEN_AFTER_S = 10.0
"""Long enough for a proposal with a newcomer that waits for a quorum."""


class Checker:
    def __init__(self, history: History, quorum: str = "majority") -> None:
        self.history = history
        self.quorum = quorum
        self.views: dict[int, tuple[Life, ...]] = {}
        """By number: its members, as whoever comes first in the history installs it."""
        self.installed: dict[Life, list[int]] = {}
        self.delivered: dict[Life, dict[int, int]] = {}
        """Life, message: the view it was delivered in."""
        for life, events in history.lives.items():
            self.installed[life] = [event.view for event in events if event.kind == "view"]
            for event in events:
                if event.kind == "view":
                    self.views.setdefault(event.view, event.members)
            self.delivered[life] = {
                event.message: event.view for event in events if event.kind == "deliver"
            }
        self.sent_in: dict[int, int] = {
            message: view for views in self.delivered.values() for message, view in views.items()
        }
        self.past = self._pasts()
        self.goes_on = self._goes_on()

    def findings(self) -> list[str]:
        """Everything that is wrong."""
        found: list[str] = []
        for check in (
            self.view_agreement,
            self.exactly_once,
            self.virtual_synchrony,
            self.pooling,
            self.causal_order,
            self.states,
            self.retention,
            self.channels,
            self.stability,
            self.order_of_stability,
            self.suspensions,
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
                known = self.views[event.view]
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
        yield from self._late_newcomers()
        for life, numbers in sorted(present.items()):
            if numbers[-1] - numbers[0] >= len(numbers):
                yield f"{life} is in views {numbers}: it left and came back in the same life"

    def _late_newcomers(self) -> Iterator[str]:
        """Who died while it asked to join is soon forgotten."""
        began: dict[int, float] = {}
        ended: dict[Life, float] = {}
        for life, events in self.history.lives.items():
            for event in events:
                if event.kind == "view":
                    began[event.view] = min(event.at, began.get(event.view, event.at))
                elif event.kind in {"crash", "stopped"}:
                    ended[life] = event.at
        for number in sorted(self.views):
            for life in self.views[number]:
                is_new = life not in self.views.get(number - 1, ())
                if is_new and began[number] - ended.get(life, inf) > FORGOTTEN_AFTER_S:
                    yield f"view {number} takes in {life}, which is long dead"

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
        final = max(self.views, default=0) if self.goes_on else 0
        for number in sorted(self.views):
            together = [
                life
                for life, numbers in sorted(self.installed.items())
                if number in numbers
                and (number + 1 in numbers or (number == final and life in self.history.alive))
            ]
            by_life = {life: self._in_view(life, number) for life in together}
            owner = {message: life for life in together for message in by_life[life]}
            for lacks in together:
                for message in sorted(owner.keys() - by_life[lacks]):
                    if self._concerns(message, lacks):
                        yield (
                            f"{owner[message]} and {lacks} both leave view {number}, "
                            f"but only {owner[message]} delivered message {message} in it"
                        )

    def pooling(self) -> Iterator[str]:
        """What those who go from one view to the next together held between them before the change,
        with all that precedes it, is delivered, though none of them may have been able to."""
        for number in sorted(self.views):
            together = [
                life
                for life, numbers in sorted(self.installed.items())
                if number in numbers and number + 1 in numbers
            ]
            before: dict[int, tuple[int, ...]] = {}
            for life in together:
                for event in self.history.lives[life]:
                    if event.kind == "held" and event.view == number:
                        before[event.message] = event.messages
            here = before.keys() | {one for life in together for one in self._in_view(life, number)}
            whole = {message for message, those in before.items() if here.issuperset(those)}
            for life in together:
                for message in sorted(whole - self._in_view(life, number)):
                    if self._concerns(message, life):
                        yield (
                            f"those who go on with {life} held message {message} in view {number} "
                            "and all that precedes it, and it goes on without"
                        )

    def causal_order(self) -> Iterator[str]:
        """Before a message, all that precedes it and that was for this life."""
        for life, events in self.history.lives.items():
            seen = 0
            mine = set(self.installed[life])
            for event in events:
                if event.kind != "deliver":
                    continue
                for before in members(self.past[event.message] & ~seen):
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
        """All members of a new view retain the same, and nothing that was released."""
        by_view: dict[int, tuple[Life, tuple[int, ...]]] = {}
        for life, events in self.history.lives.items():
            released: set[int] = set()
            for event in events:
                if event.kind == "release":
                    released.add(event.message)
                elif event.kind == "unreleased":
                    for message in sorted(released.intersection(event.messages)):
                        yield f"{life} retains message {message}, which it has released"
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
                if both and self.goes_on and len(heard) < len(messages):
                    yield f"{sender} told {receiver} {messages}, and it heard only {heard}"
        yield from self._overheard()

    def _overheard(self) -> Iterator[str]:
        """What one that is gone told another, and came out of turn, is handed over when it goes."""
        for life, events in self.history.lives.items():
            came = {event.message: event.members[0] for event in events if event.kind == "came"}
            here = {event.message for event in events if event.kind == "told"}
            here |= {one for event in events if event.kind == "overheard" for one in event.messages}
            last = self.views[self.installed[life][-1]] if self.installed[life] else ()
            for message in sorted(came.keys() - here):
                if came[message] not in last:
                    yield f"{came[message]} told {life} {message}, which came and is not overheard"

    def stability(self) -> Iterator[str]:
        """What is called stable has been received by all of the view, and it is said of everything
        in the end."""
        for life, events in self.history.lives.items():
            stable: set[int] = set()
            for event in events:
                if event.kind == "unstable":
                    yield f"at {life} {event.detail}"
                elif event.kind == "stable":
                    stable.update(event.messages)
            if life in self.history.alive and self.goes_on:
                for message in sorted(self.delivered[life].keys() - stable):
                    yield f"{life} never calls message {message} stable"

    def order_of_stability(self) -> Iterator[str]:
        """Each message is called stable once, after its delivery, after all that precedes it."""
        for life, events in self.history.lives.items():
            stable = view = 0
            delivered: set[int] = set()
            mine = set(self.installed[life])
            for event in events:
                if event.kind == "view":
                    view = event.view
                elif event.kind == "deliver":
                    delivered.add(event.message)
                for message in event.messages if event.kind == "stable" else ():
                    call = f"{life} calls message {message} stable"
                    if stable >> message & 1:
                        yield f"{call} twice"
                    if message not in delivered and self._concerns(message, life):
                        yield f"{call} before it delivers it"
                    for before in members(self.past[message] & ~stable):
                        if self.sent_in.get(before) in mine:
                            yield f"{call}, and not {before}, which precedes it"
                    stable |= 1 << message
                    if self.sent_in.get(message) == view:
                        for other in self._never_deliver(message, view):
                            yield f"{call}, and {other} never delivers it"

    def _never_deliver(self, message: int, view: int) -> list[Life]:
        """Who of a view did not deliver a message of it, though it had the time: it did not crash.
        Who is left out of the next view has delivered what was stable in this one."""
        return [
            life
            for life in self.views[view]
            if message not in self.delivered.get(life, {message: view})
            and self._concerns(message, life)
            and all(event.kind != "crash" for event in self.history.lives[life][-1:])
        ]

    def suspensions(self) -> Iterator[str]:
        """Who is suspended delivers nothing."""
        for life, events in self.history.lives.items():
            suspended = False
            for event in events:
                if event.kind in {"suspended", "resumed"}:
                    if suspended == (event.kind == "suspended"):
                        yield f"{life} is {event.kind} twice in a row"
                    suspended = not suspended
                elif event.kind == "deliver" and suspended:
                    yield f"{life} delivers message {event.message} while it is suspended"

    def endings(self) -> Iterator[str]:
        """Who asked to leave ends; who was excluded or left is told exactly which of its messages
        nobody delivers."""
        for life in self.history.alive:
            if any(event.kind == "leave" for event in self.history.lives[life]):
                yield f"{life} asked to leave, and never ends"
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
        if not self.goes_on:
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
            channels, decisions = self.history.remembered[life]
            if channels:
                yield f"{life} keeps channels to {channels} members that are gone"
            if decisions > REMEMBERED_DECISIONS:
                yield f"{life} remembers {decisions} decisions"
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
        """Whether enough run at the end of the last view that those who run know, or those who
        could tell them: who is told that its view is over without it knows the next."""
        known = 0
        for life, events in self.history.lives.items():
            last = max(self.installed[life], default=0)
            informed = self.history.informed.get(life, 0)
            if life in self.history.alive:
                known = max(known, last, informed if informed in self.views else 0)
            elif last + 1 in self.views and events[-1].detail in {"left", "excluded"}:
                known = max(known, last + 1)
        if not known:
            return False
        view = self.views[known]
        left = [life for life in view if life in self.history.alive]
        if self.quorum == "survivors":
            return bool(left)
        return 2 * len(left) > len(view) or (2 * len(left) == len(view) and view[0] in left)

    def _in_view(self, life: Life, number: int) -> set[int]:
        return {message for message, view in self.delivered[life].items() if view == number}

    def _concerns(self, message: int, life: Life) -> bool:
        to = self.history.sent[message].to
        return not to or bool(to >> life[0] & 1)
