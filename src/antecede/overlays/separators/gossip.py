"""What neighbours tell each other beside messages: that they live, who does not, what is done.

With `suspect_after_s` every node tells its neighbours four times in that span that it lives, from
the first thing that happens to it. Who is silent for longer is taken for crashed, for ever, and
everybody is told. Word of this and of other facts goes to everybody: each node passes it on once,
over all its other links. Facts stay true, so their order does not matter.

Who comes later is taken for crashed until it comes, and tells everybody. Its neighbours tell it who
has crashed, who else has come, and which links. It is *in* when everybody knows of it.
"""

from collections.abc import Callable

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import ProcessSet, members, process_set
from antecede.order import Count, Effect, Event, Notice, Packet, Transmit, Wake
from antecede.overlays import HopStamp
from antecede.overlays.separators.contexts import Received
from antecede.overlays.separators.ways import Network, Ways
from antecede.overlays.separators.wire import Index, Number
from antecede.overlays.separators.zones import Links

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


class LinksWord(Word, frozen=True, tag=6):
    """And which links have come."""

    links: tuple[tuple[Index, Index], ...] = ()


def check_word(word: Word, size: int) -> None:
    """Refuse word of processes that there are not."""
    ends = [end for link in _links(word) for end in link]
    if max(0, word.origin, *word.gone, *word.came, *ends) >= size:
        raise MalformedStamp("origin", f"is {word.origin}, and {list(word.gone)} are gone")


def _links(word: Word) -> Links:
    return word.links if isinstance(word, LinksWord) else ()


class Alive(HopStamp, frozen=True, tag=4):
    """The source lives."""

    def entries(self) -> int:
        """It orders nothing."""
        return 0


class GossipState(msgspec.Struct, array_like=True):
    """`words`: those that have come, by origin; `told`: how many were told here. `heard_s`: when a
    neighbour was last heard of. `beat_s`: when to say next that this node lives; 0 before anything
    has happened. `gone`: who has crashed, and who has yet to come (`absent`). `up`: the links that
    have come later. `again_s`: when everybody knows of the last change, 0 if that is past.
    `is_joining`: whether this process has come, and not everybody knows of it."""

    words: dict[int, Received] = {}
    told: int = 0
    heard_s: dict[int, float] = {}
    beat_s: float = 0.0
    gone: ProcessSet = 0
    absent: ProcessSet = 0
    up: list[tuple[int, int]] = []
    again_s: float = 0.0
    is_joining: bool = False


class Gossip:
    """Of one process. `count` numbers its hop messages."""

    def __init__(
        self,
        process: int,
        network: Network,
        suspect_after_s: float,
        count: Callable[[], int],
    ) -> None:
        self._process = process
        self._network = network
        self._suspect_after_s = suspect_after_s
        self._count = count
        self.resume(self.initial())

    def initial(self) -> GossipState:
        absent = self._network.late & ~(1 << self._process)
        return GossipState(gone=absent, absent=absent)

    def resume(self, state: GossipState) -> None:
        self.state = state
        self.look_around()

    def look_around(self) -> None:
        """Who is linked to whom, and which ways lead round those who have crashed."""
        self.network = self._network.near(self.state.up)
        self.near = self.network[self._process]
        self.ways = Ways(self._process, self.network, self.state.gone)

    def begin(self, now: float) -> list[Effect]:
        """Something happens here; the first time, the watch begins."""
        if not self._suspect_after_s or self.state.beat_s:
            return []
        self.state.heard_s = dict.fromkeys(members(self.near), now)
        return self._beat(now)

    def note(self, source: int, now: float) -> None:
        """A neighbour was heard of."""
        if self._suspect_after_s:
            self.state.heard_s[source] = max(now, self.state.heard_s.get(source, 0.0))

    def wake(self, now: float) -> tuple[list[Effect], ProcessSet, bool]:
        """Say that this node lives; who has been silent for too long; and whether by now everybody
        knows of those who have crashed or come."""
        if not self.state.beat_s or now < self.state.beat_s:
            return [], 0, False
        silent = process_set(
            one
            for one in members(self.near & ~self.state.gone)
            if now - self.state.heard_s.get(one, 0.0) > self._suspect_after_s
        )
        effects = self._beat(now)
        is_known = bool(self.state.again_s) and now >= self.state.again_s
        if is_known:
            self.state.again_s = 0.0
            if self.state.is_joining:
                self.state.is_joining = False
                effects.append(Notice(Event.VIEW, "the network", 0, self.near))
        return effects, silent, is_known

    def lose(self, gone: ProcessSet, now: float) -> None:
        """These have crashed."""
        self.state.gone |= gone
        self._change(now)

    def _change(self, now: float) -> None:
        self.look_around()
        self.state.again_s = now + _SPREADS * self._suspect_after_s

    def _beat(self, now: float) -> list[Effect]:
        self.state.beat_s = now + self._suspect_after_s / _BEATS
        effects: list[Effect] = [Wake(self.state.beat_s)]
        near = self.near & ~self.state.gone
        if near:
            effects.append(Transmit(Packet(self._process, None, Alive(self._count())), near))
        return effects

    # Who comes later.

    def join(self, now: float) -> list[Effect]:
        """This process comes."""
        self.state.is_joining = True
        self._change(now)
        effects = self.begin(now)
        word = self._word(came=1 << self._process)
        return effects + self._send(word, self.near)  # who is taken for absent may have come before

    def welcome(self, came: ProcessSet, now: float) -> list[Effect]:
        """These have come. Neighbours tell them who has crashed, and who else has come."""
        self.state.gone &= ~came
        self.state.absent &= ~came
        self.state.heard_s.update(dict.fromkeys(members(came & self.near), now))
        self._change(now)  # and once more when everybody knows of them
        return self._brief() if came & self.near else []

    def connect(self, links: Links, now: float) -> tuple[list[Effect], ProcessSet]:
        """These links are there from now on; and to whom the new ones lead from here."""
        before = self.near
        self.state.up += [link for link in links if link not in self.state.up]
        self._change(now)
        new = self.near & ~(before | self.state.absent)
        self.state.heard_s.update(dict.fromkeys(members(new), now))
        return self._brief() if new else [], new

    def _brief(self) -> list[Effect]:
        """Tell those who have come what has changed."""
        late = self._network.late & ~self.state.absent
        gone = self.state.gone & ~self.state.absent
        word = self._word(gone=gone, came=late, links=tuple(self.state.up))
        return self._pass_on(word, self.near)

    def tell(
        self, done: Pairs = (), dead: Pairs = (), gone: ProcessSet = 0, came: ProcessSet = 0
    ) -> list[Effect]:
        """Tell everybody."""
        return self._pass_on(self._word(done, dead, gone, came), self.near)

    def _word(
        self,
        done: Pairs = (),
        dead: Pairs = (),
        gone: ProcessSet = 0,
        came: ProcessSet = 0,
        links: Links = (),
    ) -> Word:
        self.state.told += 1
        those = tuple(members(gone)), tuple(members(came))
        fields = (0, self._process, self.state.told, done, dead, *those)
        return LinksWord(*fields, links) if links else Word(*fields)

    def hear(self, word: Word, source: int) -> list[Effect] | None:
        """What to pass on; None of a word that has been heard before."""
        if word.origin == self._process:
            return None
        if not self.state.words.setdefault(word.origin, Received()).add(word.count):
            return None
        return self._pass_on(word, self.near & ~(1 << source))

    def news(self, word: Word) -> tuple[ProcessSet, ProcessSet, Links]:
        """Who has crashed, who has come and which links have, of what was not known here."""
        state = self.state
        gone = process_set(word.gone) & ~state.gone
        came = process_set(word.came) & state.absent
        return gone, came, tuple([link for link in _links(word) if link not in state.up])

    def _pass_on(self, word: Word, to: ProcessSet) -> list[Effect]:
        return self._send(word, to & ~self.state.gone)

    def _send(self, word: Word, to: ProcessSet) -> list[Effect]:
        if not to:
            return []
        numbered = msgspec.structs.replace(word, number=self._count())
        return [Transmit(Packet(self._process, None, numbered), to)]
