"""A seed inside a member's machine: when it takes part in founding, and when it takes a group that
it was in for dead.

Pure: what is to be done is returned.
"""

from collections.abc import Collection, Sequence

from antecede.live.bootstrap import Bootstrap, is_superseded
from antecede.live.ordering.founding import Founded, Founder, Founders, Founding, Prepare
from antecede.live.ordering.items import encode_item
from antecede.live.outputs import Accompanied, Known, Output, ToPeer


class Seeding:
    """Of a process that was given seeds. It takes part in founding once it is known to be one of
    them (`is_seed`)."""

    def __init__(self, expect: int, company: Sequence[str] = (), *, anew: bool = False) -> None:
        self.expect = expect
        self.is_seed = False
        self.company = tuple(company)
        """The members of the last view, or those that it was about to found a group with."""
        self._anew = anew
        self._bootstrap: Bootstrap | None = None
        self._reached: Collection[str] = ()
        self._founders: Founders = ()
        self._lives: dict[str, int] = {}
        """By name, the latest that was heard of."""

    def why_not(self, there: Collection[str]) -> str:
        """What keeps the seeds from founding a group, in words; empty if nothing does."""
        if self._bootstrap is not None and self._bootstrap.lacking:
            lacking = ", ".join(self._bootstrap.lacking)
            return f"a group may go on with {lacking}; or name found_anew=True"
        if not self.is_seed:
            return "this process is none of the seeds, which have to found the group"
        if len(there) + 1 < self.expect:
            return f"seeds needed to found the group: {self.expect}; here: {len(there) + 1}"
        return ""

    @property
    def founders(self) -> Founders:
        """The first members, this process among them, once they are agreed on."""
        return () if self._bootstrap is None else self._bootstrap.founders

    def tick(
        self, founder: Founder, reached: Collection[str], now: float, *, tried_all: bool
    ) -> list[Output]:
        """Now and then, while this process is in no group."""
        self._reached = reached
        if not self.is_seed:
            return []
        if self._bootstrap is None or self._bootstrap.founder != founder:
            self._bootstrap = Bootstrap(founder, self.expect, self.company, anew=self._anew)
        return self._say(self._bootstrap.tick(reached, now, tried_all=tried_all))

    def receive(self, sender: str, item: Founding, now: float, *, is_in: bool) -> list[Output]:
        """What another seed says; this process is in a group, or is not."""
        if is_in:
            known = [(sender, Founded(self._founders))] if isinstance(item, Prepare) else []
            return self._say(known)
        if self._bootstrap is None:
            return []
        return self._say(self._bootstrap.receive(sender, item, self._reached, now))

    def tell_founders(self, me: str) -> list[Output]:
        """That they are, to those lives that are the first members."""
        others = [founder for founder in self.founders if founder.name != me]
        word = encode_item(Founded(self.founders))
        known = [Known(one.name, one.address, incarnation=one.incarnation) for one in others]
        return [*known, *(ToPeer(one.name, word) for one in others)]

    def enter(self, names: Sequence[str]) -> list[Output]:
        """This process is in a group, in a view of these."""
        self._founders = self.founders or self._founders
        self._bootstrap = None
        self.company = tuple(sorted(names))
        return [Accompanied(self.company)]

    def heard(self, name: str, incarnation: int) -> None:
        """This life of that process is there."""
        self._lives[name] = max(incarnation, self._lives.get(name, 0))

    def is_superseded(self, members: Sequence[tuple[str, int]]) -> bool:
        """Whether most members of a view that stands still have been started anew."""
        return is_superseded(members, self._lives)

    def _say(self, said: Sequence[tuple[str, Founding]]) -> list[Output]:
        outputs: list[Output] = []
        if self._bootstrap is not None and self._bootstrap.company != self.company:
            self.company = self._bootstrap.company
            outputs.append(Accompanied(self.company))
        return outputs + [ToPeer(name, encode_item(item)) for name, item in said]
