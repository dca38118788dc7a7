"""What is known of the past, and where the rest of it is kept: contexts, and logs of them.

A *context* stands for a consistent cut of the past. `waits` maps a message to the destinations that
still have to wait for it: one leaves when it has delivered the message, or when a later message to
it in the same context covers it. `tokens` stand for what was left out: token (F, s) with epoch e is
all that member s of the border of region F has deposited for F up to e.

A *log* is what one member has deposited for a region, epoch by epoch. What is known to be delivered
everywhere, or dead, can be struck out of contexts and logs at any place and time: `Facts`.
"""

from collections.abc import Iterable

import msgspec

from antecede.message import MessageId, ProcessSet

Token = tuple[int, int]
"""A region, and a member of its border."""


class Context(msgspec.Struct, array_like=True):
    """See the module."""

    waits: dict[MessageId, ProcessSet]
    tokens: dict[Token, int]

    def merge(self, other: "Context") -> None:
        """Both pasts. Whoever need not wait in one of them need not in the other: what covers the
        message there is in both."""
        waits = self.waits
        if waits.keys().isdisjoint(other.waits):
            waits.update(other.waits)
        else:
            for message, mask in other.waits.items():
                waits[message] = waits.get(message, mask) & mask
        for token, epoch in other.tokens.items():
            if epoch > self.tokens.get(token, 0):
                self.tokens[token] = epoch

    def copy(self) -> "Context":
        return Context(dict(self.waits), dict(self.tokens))

    def __bool__(self) -> bool:
        return bool(self.waits or self.tokens)

    def __len__(self) -> int:
        return len(self.waits) + len(self.tokens)


class Log(msgspec.Struct, array_like=True):
    """What one member has deposited for a region. `epoch`: all up to this one is here.
    `deposits`: by epoch; those that are dead are left out."""

    epoch: int
    deposits: dict[int, Context]

    def add(self, epoch: int, deposit: Context, after: int) -> bool:
        """Whether it is new. Between `after` and this epoch there is nothing any more."""
        before = self.epoch, len(self.deposits)
        if epoch > self.epoch:
            for dead in range(max(after, self.epoch) + 1, epoch):  # even if this one is here
                self.deposits.setdefault(dead, Context({}, {}))
            self.deposits.setdefault(epoch, deposit)
        while self.epoch + 1 in self.deposits:
            self.epoch += 1
        return before != (self.epoch, len(self.deposits))

    def up_to(self, epoch: int) -> Context:
        """All that was deposited up to this epoch, and not a thing more: a message may have to wait
        for it, and what came later may wait for that message."""
        waits: dict[MessageId, ProcessSet] = {}
        for one in sorted(self.deposits):
            if one > epoch:
                break
            new = self.deposits[one].waits
            if waits.keys().isdisjoint(new):
                waits.update(new)
            else:
                for message, mask in new.items():
                    waits[message] = waits.get(message, mask) & mask
        return Context(waits, self.tokens_up_to(epoch))

    def tokens_up_to(self, epoch: int) -> dict[Token, int]:
        """The tokens of that."""
        found: dict[Token, int] = {}
        for one, deposit in self.deposits.items():
            if deposit.tokens and one <= epoch:
                for token, reached in deposit.tokens.items():
                    if reached > found.get(token, 0):
                        found[token] = reached
        return found


class Facts(msgspec.Struct, array_like=True):
    """What is true for ever. `done`: by destination and sender, the number up to which all is
    delivered there. `dead`: by token, the epoch up to which a log holds nothing that anybody has to
    wait for. `gone`: who has crashed, and waits for nothing."""

    done: dict[tuple[int, int], int]
    dead: dict[Token, int]
    gone: ProcessSet = 0

    def learn(
        self, done: Iterable[tuple[int, int, int]], dead: Iterable[tuple[Token, int]]
    ) -> None:
        for destination, sender, number in done:
            if number > self.done.get((destination, sender), 0):
                self.done[destination, sender] = number
        for token, epoch in dead:
            if epoch > self.dead.get(token, 0):
                self.dead[token] = epoch

    def strike(self, context: Context) -> None:
        """Take out of a context what nobody has to wait for."""
        done_up_to, left = self.done.get, ~self.gone
        for message, mask in list(context.waits.items()):
            sender, number = message
            todo = waiting = mask & left
            while todo:  # contexts are long: `members` would take twice as long
                lowest = todo & -todo
                todo ^= lowest
                if number <= done_up_to((lowest.bit_length() - 1, sender), 0):
                    waiting ^= lowest
            if not waiting:
                del context.waits[message]
            elif waiting != mask:
                context.waits[message] = waiting
        for token in [one for one, e in context.tokens.items() if e <= self.dead.get(one, 0)]:
            del context.tokens[token]

    def tidy(self, log: Log) -> None:
        """The same for a log: what is dead is left out. The last epoch says how far it goes."""
        for epoch, deposit in list(log.deposits.items()):
            self.strike(deposit)
            if not deposit and epoch <= log.epoch:
                del log.deposits[epoch]


class Received(msgspec.Struct, array_like=True):
    """Numbers that have come, in any order: all up to `all_to`, and the bits beyond."""

    all_to: int = 0
    beyond: int = 0

    def add(self, number: int) -> bool:
        """Whether it is new."""
        place = number - self.all_to - 1
        if place < 0 or self.beyond >> place & 1:
            return False
        self.beyond |= 1 << place
        while self.beyond & 1:
            self.beyond >>= 1
            self.all_to += 1
        return True
