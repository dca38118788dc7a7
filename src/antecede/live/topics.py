"""Topics: which member is in which, as one process knows it from what it was given.

All members of a group get everything, in causal order; a topic says for whom a message is. Who
comes to a topic or leaves it says so in a message to everybody, which names all topics that it is
in from then on. What it is given of a topic begins and ends at the place of that message among its
own deliveries. So:

- whoever sends to a topic after it was given a member's message to be in it reaches that member;
- what one is given of several topics is in causal order, across them, because the whole is.

Newcomers have not seen what was said before: when a view brings somebody, each member says again
what it is in. Nothing is lost meanwhile, since nobody needs to know of a member to reach it.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from antecede.live.messages import TopicChange

if TYPE_CHECKING:
    from antecede.live.conversation import Conversation
    from antecede.live.group import Group


class TopicTable:
    """Of one process. Pure: what is taken, in the order in which it is taken."""

    def __init__(self, me: str, life: int, topics: Iterable[str] = ()) -> None:
        self._me = me
        self.life = life
        self._of: dict[str, frozenset[str]] = {me: frozenset(topics)}

    @property
    def own(self) -> frozenset[str]:
        """The topics that this process is in, here in the order."""
        return self._of[self._me]

    def members(self, topic: str) -> tuple[str, ...]:
        """Those who are known to be in it."""
        return tuple(sorted(name for name, topics in self._of.items() if topic in topics))

    def is_given(self, topic: str) -> bool:
        """Whether a message of this topic that is delivered here is for this process."""
        return topic in self._of[self._me]

    def take(self, sender: str, life: int, topics: Collection[str]) -> TopicChange | None:
        """A member has said which topics it is in; what there is to tell of it."""
        if sender == self._me and life != self.life:
            return None  # Out of a log: a former life of this process said so.
        before, after = self._of.get(sender, frozenset()), frozenset(topics)
        concerned = self.own if sender != self._me else before | after
        self._of[sender] = after
        came = tuple(sorted((after - before) & concerned))
        left = tuple(sorted((before - after) & concerned))
        return TopicChange(sender, came, left) if came or left else None

    def enter(self, members: Collection[str], joined: Collection[str]) -> bool:
        """A view begins; whether the others have to be told what this process is in."""
        known = {name for name in members if name not in joined} | {self._me}
        self._of = {name: topics for name, topics in self._of.items() if name in known}
        return bool(joined) and bool(self.own)


class Topic:
    """A topic of a group. Anybody may send to it; only those who are in it are given what is sent,
    in causal order with everything else that they are given."""

    def __init__(self, name: str, group: "Group", conversation: "Conversation") -> None:
        self.name = name
        self._group = group
        self._conversation = conversation

    @property
    def members(self) -> tuple[str, ...]:
        """Those who are in it, as far as the iteration has come."""
        return self._conversation.topics.members(self.name)

    async def subscribe(self) -> None:
        """Come to the topic. A `TopicChange` says from where on its messages are given."""
        await self._send(self._conversation.subscription(came=self.name))

    async def unsubscribe(self) -> None:
        """Leave the topic. A `TopicChange` says from where on its messages are not given."""
        await self._send(self._conversation.subscription(left=self.name))

    async def send(self, payload: Any) -> None:
        """Send to those who are in it. Waits as `Group.send` does."""
        await self._send(self._conversation.in_topic(self.name, payload))

    async def _send(self, encoded: bytes) -> None:
        await self._group.send_when_open(lambda: self._group.send_encoded(encoded))
