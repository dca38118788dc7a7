"""The logs of one process: what was left out at the borders that it is in, and how to get it back.

A member of the border of a region deposits the whole context of what it hands into the region; what
concerns nobody inside is left out of the message, and a token stands for it. Whoever leaves the
region is at the border, and opens the token by its copy of the log: up to the token's epoch, and
not further.
"""

from collections.abc import Iterable
from typing import NamedTuple

from antecede.overlays.separators.contexts import Context, Facts, Log, Token
from antecede.overlays.separators.regions import Regions


class Deposit(NamedTuple):
    """An entry of a log: what is new in it, since the epoch before it that matters."""

    region: int
    epoch: int
    after: int
    context: Context


class Deposits:
    """Derived from `logs` and `facts`, which are parts of a state."""

    def __init__(
        self, process: int, regions: Regions, logs: dict[Token, Log], facts: Facts
    ) -> None:
        self._process = process
        self._regions = regions
        self._logs = logs
        self._facts = facts
        self.own: dict[int, Context] = {}
        """By region, all that was deposited here and is not dead."""
        for (region, member), log in logs.items():
            if member == process:
                self.own[region] = log.up_to(log.epoch)

    # Leaving out.

    def enter(self, known: Context, next_: int) -> tuple[Context, list[Deposit], list[Token]]:
        """A context that goes on to a next hop: what is left of it, what is new in the logs, and
        the tokens that it has been given, the last of which it has."""
        new: list[Deposit] = []
        given: list[Token] = []
        for region in self._regions.entered(self._process, next_):
            inside = self._regions.inside[region]
            if any(inside & ~self._regions.inside[outer] for outer, _ in known.tokens):
                continue
            epoch, deposit = self._deposit(region, known)
            new += deposit
            kept = {id_: mask for id_, mask in known.waits.items() if mask & inside}
            token = (region, self._process)
            given.append(token)
            known = Context(kept, {} if self._is_dead(token, epoch) else {token: epoch})
        return known, new, given

    def _deposit(self, region: int, known: Context) -> tuple[int, list[Deposit]]:
        """The epoch that has the whole context, and the deposit, if it is a new one."""
        log = self._logs.setdefault((region, self._process), Log(0, {}))
        before = self.own.setdefault(region, Context({}, {}))
        new = Context(
            {id_: mask for id_, mask in known.waits.items() if id_ not in before.waits},
            {one: e for one, e in known.tokens.items() if e > before.tokens.get(one, 0)},
        )
        if not new:
            return log.epoch, []
        log.add(log.epoch + 1, new, log.epoch)
        before.merge(new)
        return log.epoch, [Deposit(region, log.epoch, log.epoch - 1, new)]

    def all_of(self, token: Token) -> list[Deposit]:
        """All that a log still holds."""
        region = token[0]
        log = self._logs.get(token, Log(0, {}))
        found = []
        after = 0
        for epoch in sorted(log.deposits):
            if epoch <= log.epoch:
                found.append(Deposit(region, epoch, after, log.deposits[epoch]))
                after = epoch
        if after < log.epoch:
            found.append(Deposit(region, log.epoch, after, Context({}, {})))
        return found

    def all_own(self) -> list[Deposit]:
        """All that the own logs still hold."""
        tokens = [(region, self._process) for region in self._regions.at(self._process)]
        return [one for token in tokens for one in self.all_of(token)]

    # Getting back.

    def add(self, token: Token, epoch: int, context: Context, after: int) -> bool:
        """What another member has deposited; whether that is new."""
        return self._logs.setdefault(token, Log(0, {})).add(epoch, context, after)

    def reached(self, token: Token) -> int:
        """How far the log here goes."""
        return self._logs[token].epoch if token in self._logs else 0

    def missing(self, tokens: Iterable[tuple[Token, int]]) -> dict[Token, int]:
        """Of the tokens that have to be opened here, and of those in what they hide, the ones that
        cannot be yet."""
        found: dict[Token, int] = {}
        todo = list(tokens)
        seen = set(todo)
        for token, epoch in todo:
            if not self._is_outside(token) or self._is_dead(token, epoch):
                continue
            log = self._logs.get(token)
            if log is None or log.epoch < epoch:
                found[token] = max(epoch, found.get(token, 0))
                continue
            fresh = [one for one in log.tokens_up_to(epoch).items() if one not in seen]
            seen.update(fresh)
            todo += fresh
        return found

    def opened(self, context: Context) -> Context:
        """With what the tokens hide of regions that this process is not in."""
        found = Context(dict(context.waits), {})
        todo = list(context.tokens.items())
        seen = set(todo)
        for token, epoch in todo:
            if not self._is_outside(token):
                found.merge(Context({}, {token: epoch}))
            elif not self._is_dead(token, epoch):
                hidden = self._logs[token].up_to(epoch)
                found.merge(Context(hidden.waits, {}))
                fresh = [one for one in hidden.tokens.items() if one not in seen]
                seen.update(fresh)
                todo += fresh
        self._facts.strike(found)
        return found

    def _is_outside(self, token: Token) -> bool:
        return not self._regions.inside[token[0]] >> self._process & 1

    def _is_dead(self, token: Token, epoch: int) -> bool:
        return epoch <= self._facts.dead.get(token, 0)

    # Forgetting.

    def tidy(self) -> None:
        """Strike out what need not be kept."""
        for log in self._logs.values():
            self._facts.tidy(log)
        for context in self.own.values():
            self._facts.strike(context)

    def dead(self) -> tuple[tuple[int, int], ...]:
        """Of the own logs, up to where nothing is left in them, if that has not been told."""
        found = []
        for region in self._regions.at(self._process):
            token = (region, self._process)
            if token in self._logs:
                log = self._logs[token]
                epoch = min(log.deposits, default=log.epoch + 1) - 1
                if epoch > self._facts.dead.get(token, 0):
                    found.append((region, epoch))
        return tuple(found)
