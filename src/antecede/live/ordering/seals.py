"""Seals: how a member knows that words which another hands on are those of their sender.

A message goes from its sender to each destination on a link of their own, so nobody has to prove
anything. Only when the sender has departed do survivors hand its messages to each other, and then
the word of one of them must not be enough. That several of them have it cannot be asked for: the
sender may have died when its message had reached one survivor only, who has delivered it. So every
message carries a tag for each destination, made with a key that only that destination and the
sender have: a message authentication code, as in Castro and Liskov, "Practical Byzantine fault
tolerance" (OSDI 1999), section 5, 8 bytes each. A signature would be the same for everybody, and
costs a hundred times as much.

A destination makes the key of a sender from a secret of its own, and tells it when the sender's
link is welcomed, inside of TLS. Tags are checked only where a message is handed on.

Pure but for the secret, which is the owner's to draw.
"""

from collections.abc import Sequence
from hashlib import blake2b
from hmac import compare_digest
from struct import Struct
from typing import Final

from antecede.groups import MemberId
from antecede.message import Message, members, set_to_bytes

TAG_BYTES: Final = 8
_KEY_BYTES: Final = 16
_HEAD: Final = Struct(">QQqI")


class Seals:
    """The keys of one process: those that it gives, and those that it was given."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._given: dict[str, tuple[int, bytes]] = {}
        """By name, the life that gave a key, and the key."""

    def key_for(self, name: str, incarnation: int) -> bytes:
        """What this life of a process seals its messages for this one with."""
        whose = incarnation.to_bytes(8, "big") + name.encode()
        return blake2b(whose, key=self._secret, digest_size=_KEY_BYTES).digest()

    def learn(self, name: str, incarnation: int, key: bytes) -> None:
        """A destination has given its key."""
        self._given[name] = (incarnation, key)

    def forget(self, present: Sequence[str]) -> None:
        """Only these are there any more."""
        self._given = {name: key for name, key in self._given.items() if name in present}

    def has_all(self, lives: Sequence[MemberId], names: Sequence[str], me: int) -> bool:
        """Whether every other member of a view has given its key."""
        return all(
            rank == me or self._given.get(names[rank], (-1,))[0] == life.incarnation
            for rank, life in enumerate(lives)
        )

    def seal(self, view: int, names: Sequence[str], message: Message) -> bytes:
        """The tags of an own message, for its destinations in the order of their ranks."""
        digest = _digest(view, message)
        given, me = self._given, message.id.sender
        return b"".join(
            blake2b(digest, key=given[names[rank]][1], digest_size=TAG_BYTES).digest()
            for rank in members(message.destinations)
            if rank != me
        )

    def is_genuine(
        self, view: int, sender: tuple[str, int], rank: int, message: Message, tags: bytes
    ) -> bool:
        """Whether the member of this rank, which is this process, is handed what that life of a
        process has sealed for it."""
        others = message.destinations & ~(1 << message.id.sender)
        place = TAG_BYTES * (others & ((1 << rank) - 1)).bit_count()
        key = self.key_for(*sender)
        wanted = blake2b(_digest(view, message), key=key, digest_size=TAG_BYTES).digest()
        return compare_digest(tags[place : place + TAG_BYTES], wanted)


def _digest(view: int, message: Message) -> bytes:
    to = set_to_bytes(message.destinations)
    head = _HEAD.pack(view, message.id.number, message.group, len(to))
    made = blake2b(head + to, digest_size=_KEY_BYTES)
    made.update(message.payload)
    return made.digest()
