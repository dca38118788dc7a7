"""What neighbours tell each other beside messages: that they live, who does not, what is done.

With `suspect_after_s` every node tells its neighbours four times in that span that it lives, from
the first thing that happens to it. Who is silent for longer is taken for crashed, for ever, and
everybody is told. Word of this and of other facts goes to everybody: each node passes it on once,
over all its other links. Facts stay true, so their order does not matter.
"""

from collections.abc import Callable

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import ProcessSet, members, process_set
from antecede.order import Count, Effect, Packet, Transmit, Wake
from antecede.overlays import HopStamp
from antecede.overlays.separators.contexts import Received
from antecede.overlays.separators.wire import Index, Number

_BEATS = 4
"""How often a node says that it lives, before its silence counts."""

_SPREADS = 2
"""In this many times the span that tells a crash, word of it comes to everybody."""

Pairs = tuple[tuple[Count, Number], ...]


class Word(HopStamp, frozen=True, tag=3):
    """What has become true at `origin`, told to everybody: of which sender it has delivered all up
    to which number; which of its logs are dead up to which epoch; who has crashed, who has come."""

    origin: Index
    count: Number
    done: Pairs = ()
    dead: Pairs = ()
    gone: tuple[Index, ...] = ()
    came: tuple[Index, ...] = ()

    def entries(self) -> int:
        """It orders nothing."""
        return 0


def check_word(word: Word, size: int) -> None:
    """Refuse word of processes that there are not."""
    if max(word.origin, *word.gone, *word.came, 0) >= size:
        raise MalformedStamp("origin", f"is {word.origin}, and {list(word.gone)} are gone")


class Alive(HopStamp, frozen=True, tag=4):
    """The source lives."""

    def entries(self) -> int:
        """It orders nothing."""
        return 0


class GossipState(msgspec.Struct, array_like=True):
    """`words`: those that have come, by origin; `told`: how many were told here. `heard_s`: when a
    neighbour was last heard of. `beat_s`: when to say next that this node lives; 0 before anything
    has happened. `gone`: who has crashed, and who has yet to come (`absent`). `again_s`: when
    everybody knows of the last change, 0 if that is past."""

    words: dict[int, Received] = {}
    told: int = 0
    heard_s: dict[int, float] = {}
    beat_s: float = 0.0
    gone: ProcessSet = 0
    absent: ProcessSet = 0
    again_s: float = 0.0


class Gossip:
    """Of one process. `count` numbers its hop messages."""

    def __init__(
        self, process: int, near: ProcessSet, suspect_after_s: float, count: Callable[[], int]
    ) -> None:
        self._process = process
        self._near = near
        self._suspect_after_s = suspect_after_s
        self._count = count
        self.state = GossipState()

    def begin(self, now: float) -> list[Effect]:
        """Something happens here; the first time, the watch begins."""
        if not self._suspect_after_s or self.state.beat_s:
            return []
        self.state.heard_s = dict.fromkeys(members(self._near), now)
        return self._beat(now)

    def note(self, source: int, now: float) -> None:
        """A neighbour was heard of."""
        if self._suspect_after_s:
            self.state.heard_s[source] = max(now, self.state.heard_s.get(source, 0.0))

    def wake(self, now: float) -> tuple[list[Effect], ProcessSet, bool]:
        """Say that this node lives; who has been silent for too long; and whether by now everybody
        knows of those who have crashed."""
        if not self.state.beat_s or now < self.state.beat_s:
            return [], 0, False
        silent = process_set(
            one
            for one in members(self._near & ~self.state.gone)
            if now - self.state.heard_s.get(one, 0.0) > self._suspect_after_s
        )
        is_known = bool(self.state.again_s) and now >= self.state.again_s
        if is_known:
            self.state.again_s = 0.0
        return self._beat(now), silent, is_known

    def lose(self, gone: ProcessSet, now: float) -> None:
        """These have crashed."""
        self.state.gone |= gone
        self.state.again_s = now + _SPREADS * self._suspect_after_s

    def _beat(self, now: float) -> list[Effect]:
        self.state.beat_s = now + self._suspect_after_s / _BEATS
        effects: list[Effect] = [Wake(self.state.beat_s)]
        near = self._near & ~self.state.gone
        if near:
            effects.append(Transmit(Packet(self._process, None, Alive(self._count())), near))
        return effects

    def welcome(self, came: ProcessSet, now: float) -> None:
        """These have come."""
        self.state.gone &= ~came
        self.state.absent &= ~came
        self.state.heard_s.update(dict.fromkeys(members(came & self._near), now))

    def tell(
        self, done: Pairs = (), dead: Pairs = (), gone: ProcessSet = 0, came: ProcessSet = 0
    ) -> list[Effect]:
        """Tell everybody."""
        self.state.told += 1
        word = Word(
            0,
            self._process,
            self.state.told,
            done,
            dead,
            tuple(members(gone)),
            tuple(members(came)),
        )
        return self._pass_on(word, self._near)

    def hear(self, word: Word, source: int) -> list[Effect] | None:
        """What to pass on; None of a word that has been heard before."""
        if word.origin == self._process:
            return None
        if not self.state.words.setdefault(word.origin, Received()).add(word.count):
            return None
        return self._pass_on(word, self._near & ~(1 << source))

    def _pass_on(self, word: Word, to: ProcessSet) -> list[Effect]:
        to &= ~self.state.gone
        if not to:
            return []
        numbered = msgspec.structs.replace(word, number=self._count())
        return [Transmit(Packet(self._process, None, numbered), to)]
