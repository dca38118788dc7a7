"""A set of message identities at one bit each, for orders that know duplicates by nothing else."""

import msgspec

from antecede.message import MessageId

_BITS = 64


class Seen(msgspec.Struct, array_like=True):
    """Identities by sender and, within a sender, in words of 64 numbers."""

    words: dict[tuple[int, int], int] = {}

    def __contains__(self, message: MessageId) -> bool:
        sender, number = message
        return self.words.get((sender, number // _BITS), 0) >> number % _BITS & 1 == 1

    def add(self, message: MessageId) -> bool:
        """Whether it is new."""
        sender, number = message
        word = (sender, number // _BITS)
        before = self.words.get(word, 0)
        after = self.words[word] = before | 1 << number % _BITS
        return after != before

    def add_run(self, first: MessageId, count: int) -> bool:
        """Add so many numbers of one sender if all of them are new; whether they are."""
        sender, number = first
        pieces: dict[tuple[int, int], int] = {}
        while count:
            place = number % _BITS
            fits = min(count, _BITS - place)
            pieces[sender, number // _BITS] = ((1 << fits) - 1) << place
            number, count = number + fits, count - fits
        if any(self.words.get(word, 0) & bits for word, bits in pieces.items()):
            return False
        for word, bits in pieces.items():
            self.words[word] = self.words.get(word, 0) | bits
        return True
