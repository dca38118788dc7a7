"""How a group begins when nobody is there: the seeds agree on its first members, once.

Every seed runs the same command, in any order, at any time. As long as it is in no group it asks
whoever it reaches to be let in (`introduction`); and where nobody can let anybody in, the seeds
agree on who founds the group. This is one instance of Paxos (Lamport, "The part-time parliament",
1998): the value is the list of first members, who all promised in the same round; the quorum is
`expect`, a majority of the seeds unless said otherwise. So of one set of seeds at most one list is
ever chosen, whatever is lost, late, cut off or started again, as long as seeds remember.

What a seed remembers is its *company*: the last view that it was in, or the list that it has
accepted. It takes part in founding only together with more than half of its company: a group that
is alive somewhere else has more than half of that, too, so one of them would know better. A durable
member's company is in its log and outlives the process; for others it is forgotten with the
process. A restarted seed without a log that is cut off from all of its group, together with enough
seeds that have never been in it, can therefore found a second group: give seeds logs where that
matters.

Pure: what is to be said is returned, with whom it is for.
"""

from collections.abc import Collection, Sequence
from typing import Final

from antecede.live.ordering.founding import (
    Accept,
    Accepted,
    Behind,
    Founded,
    Founder,
    Founders,
    Founding,
    Prepare,
    Promise,
)

ANSWER_S: Final = 0.5
"""How long a round waits for those that are reached and do not answer."""
TURN_S: Final = 0.3
"""How much later the next one in the order of names begins a round of its own."""
PATIENCE_S: Final = 1.0
"""How long somebody else's round, or word of a group, is waited for."""
MOST_SLACK: Final = 16
"""How much longer, at most, where rounds have failed before: machines may be slow."""

Ballot = tuple[int, str]
"""A round, and whose."""
Said = list[tuple[str, Founding]]
"""Items and whom they are for."""


class Bootstrap:
    """One seed that is in no group."""

    def __init__(
        self, founder: Founder, expect: int, company: Collection[str] = (), *, anew: bool = False
    ) -> None:
        self.founder = founder
        self.expect = expect
        self.company: tuple[str, ...] = tuple(sorted(company))
        self.founders: Founders = ()
        """The first members, once they are agreed on."""
        self.lacking: tuple[str, ...] = ()
        """Of somebody's company, those without whom nothing is founded, as the last round found."""
        self._anew = anew
        # What it has promised to others,
        self._promised: Ballot = (0, "")
        self._accepted: tuple[Ballot, Founders] = ((0, ""), ())
        # and its own round.
        self._round = 0
        self._promises: dict[str, Promise] = {}
        self._proposal: Founders = ()
        self._agreeing: set[str] = set()
        self._answer_by: float | None = None
        self._begin_at: float | None = None

    @property
    def me(self) -> str:
        return self.founder.name

    # -- inputs

    def tick(self, reached: Collection[str], now: float, *, tried_all: bool = True) -> Said:
        """Now and then; links to these processes stand. No round begins before every seed has been
        tried once: one of them may be in a group."""
        if self.founders or not tried_all:
            return []
        if self._begin_at is None:
            self._wait(reached, now, 0.0)
        if self._promises and not self._proposal:
            return self._propose(reached, now)
        if self._answer_by is not None and now >= self._answer_by:
            self._give_up(reached, now, 0.0)
        if self._answer_by is None and self._begin_at is not None and now >= self._begin_at:
            return self._begin(reached, now)
        return []

    def receive(self, sender: str, item: Founding, reached: Collection[str], now: float) -> Said:
        """What another process says."""
        if self.founders:
            return [(sender, Founded(self.founders))] if isinstance(item, Prepare) else []
        match item:
            case Prepare() | Accept():
                answer = self._answer((item.round, sender), item)
                if not isinstance(answer, Behind):
                    self._give_up(reached, now, PATIENCE_S * _slack(item.round))
                return [(sender, answer)]
            case Promise() if item.round == self._round and self._answer_by is not None:
                if item.founder.name == sender and not self._proposal:
                    self._promises[sender] = item
                    return self._propose(reached, now)
            case Accepted() if item.round == self._round and self._proposal:
                self._agreeing.add(sender)
                return self._conclude(reached, now)
            case Behind():
                self._promised = max(self._promised, (item.round, ""))
                if self._answer_by is not None:
                    self._give_up(reached, now, TURN_S)
            case Founded():
                return self._hear(item, reached, now)
        return []

    # -- inside

    def _hear(self, item: Founded, reached: Collection[str], now: float) -> Said:
        """There is a group. Those of its first members who have not heard so yet may be busy
        answering rounds like the one that this answers: tell them."""
        if self.founder in item.founders:
            self.founders = item.founders
            return []
        was_asking = self._answer_by is not None
        self._give_up(reached, now, PATIENCE_S)
        names = sorted({founder.name for founder in item.founders} & {*reached})
        return [(name, item) for name in names] if was_asking else []

    def _wait(self, reached: Collection[str], now: float, pause_s: float) -> None:
        rank = sorted({*reached, self.me}).index(self.me)
        self._begin_at = now + pause_s + TURN_S * rank

    def _give_up(self, reached: Collection[str], now: float, pause_s: float) -> None:
        """The own round, for now."""
        self._promises, self._proposal, self._agreeing = {}, (), set()
        self._answer_by = None
        self._wait(reached, now, pause_s)

    def _begin(self, reached: Collection[str], now: float) -> Said:
        if len(reached) + 1 < self.expect:
            self._begin_at = None
            return []
        self._round = self._promised[0] + 1
        self._answer_by = now + ANSWER_S * _slack(self._round)
        own = self._answer((self._round, self.me), Prepare(self._round))
        if isinstance(own, Promise):
            self._promises = {self.me: own}
        asked: Said = [(name, Prepare(self._round)) for name in sorted(reached)]
        return asked + self._propose(reached, now)

    def _propose(self, reached: Collection[str], now: float) -> Said:
        """Once enough have promised, and all that are reached, or the time is over."""
        is_late = self._answer_by is not None and now >= self._answer_by
        if not is_late and not self._promises.keys() >= {*reached}:
            return []
        if len(self._promises) < self.expect or (self._lacks_company() and not self._bound()):
            if is_late:
                self._give_up(reached, now, TURN_S)
            return []
        self._proposal = self._bound() or tuple(
            promise.founder
            for promise in sorted(
                self._promises.values(), key=lambda one: (not one.company, one.founder.name)
            )
        )
        self._answer_by = now + ANSWER_S * _slack(self._round)
        accept = Accept(self._round, self._proposal)
        if isinstance(self._answer((self._round, self.me), accept), Accepted):
            self._agreeing = {self.me}
        others = sorted(self._promises.keys() - {self.me})
        return [(name, accept) for name in others] + self._conclude(reached, now)

    def _bound(self) -> Founders:
        """What may have been chosen already: the latest of what the promisers have accepted. Not
        if most of these have been started anew since: they can never be a group any more."""
        promises = self._promises.values()
        latest = max(promises, key=lambda one: (one.accepted_round, one.accepted_by))
        founders = [(founder.name, founder.incarnation) for founder in latest.accepted]
        lives = {promise.founder.name: promise.founder.incarnation for promise in promises}
        return () if not founders or is_superseded(founders, lives) else latest.accepted

    def _lacks_company(self) -> bool:
        """Whether somebody's group may go on without it elsewhere."""
        there = self._promises.keys()
        lacking: set[str] = set()
        for promise in self._promises.values():
            company = set(promise.company)
            if not promise.anew and 2 * len(company & there) <= len(company) and company:
                lacking |= company - there
        self.lacking = tuple(sorted(lacking))
        return bool(lacking)

    def _answer(self, ballot: Ballot, item: Prepare | Accept) -> Promise | Accepted | Behind:
        """As one of those who are asked."""
        if isinstance(item, Accept):
            if ballot != self._promised:  # Or it was promised by a former life.
                return Behind(self._promised[0])
            self._accepted = (ballot, item.founders)
            self.company = tuple(sorted(founder.name for founder in item.founders))
            return Accepted(item.round)
        if ballot < self._promised:
            return Behind(self._promised[0])
        self._promised = ballot
        (accepted_round, accepted_by), accepted = self._accepted
        return Promise(
            item.round,
            self.founder,
            self.company,
            self._anew,
            accepted_round,
            accepted_by,
            accepted,
        )

    def _conclude(self, reached: Collection[str], now: float) -> Said:
        if len(self._agreeing) < self.expect:
            return []
        chosen = self._proposal
        if self.founder in chosen:
            self.founders = chosen
        else:
            self._give_up(reached, now, PATIENCE_S)
        return [(name, Founded(chosen)) for name in sorted(reached)]


def _slack(round_: int) -> int:
    """How much longer than at first this round is waited for: as rounds fail they take longer, or
    none would end where answers take longer than the first."""
    return int(min(2 ** (min(round_, MOST_SLACK) // 2), MOST_SLACK))


def is_superseded(members: Sequence[tuple[str, int]], lives: dict[str, int]) -> bool:
    """Whether so many members of a view have been started anew since that the others can never
    decide anything again: they are not more than half of it, nor half with the most senior."""
    left = [name for name, life in members if lives.get(name, life) <= life]
    half_with_senior = 2 * len(left) == len(members) and members[0][0] in left
    return not (2 * len(left) > len(members) or half_with_senior)
