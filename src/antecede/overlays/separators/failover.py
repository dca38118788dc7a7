"""A tree whose routers take each other's place: another one of a set forwards when one has crashed.

Around `tree` with `forwarding=one`. Neighbours watch each other (`gossip`). A process keeps what it
has passed, in order, until all destinations are known to have it. When it becomes the one that
forwards into a zone, because others of its set have crashed, it first forwards into the zone all
that it keeps: the one before it may have forwarded it or not. Copies are dropped.

Invariant: whoever forwards m' into a zone has forwarded before it every m that precedes m', has
passed here and may not have been delivered everywhere: itself, at the time or when it took over.
"""

import msgspec

from antecede.errors import MalformedStamp
from antecede.message import Membership, Message, MessageId, ProcessSet
from antecede.order import Deliver, Effect, Held, Options, Packet, Traits, Transmit
from antecede.overlays import Overlay
from antecede.overlays.separators.gossip import (
    Alive,
    Gossip,
    GossipState,
    LinksWord,
    Word,
    check_word,
)
from antecede.overlays.separators.options import SeparatorsOptions
from antecede.overlays.separators.tree import Hop, State, Tree


class WatchedHop(Hop, frozen=True, tag=1):
    """A hop message, as on a tree where nobody watches."""


class FailoverState(msgspec.Struct, array_like=True):
    """`tree`: that of the tree. `kept`: what has passed, in order, with the zone that it came from
    (-1 for the own messages) and who may not have it. `untold`: what was delivered here since that
    was told, and `untold_count`: how much. `gossip`: see there."""

    tree: State
    kept: list[tuple[Message, int, ProcessSet]] = []
    untold: dict[int, int] = {}
    untold_count: int = 0
    gossip: GossipState = msgspec.field(default_factory=GossipState)


class Failover(Overlay):
    name = "separators"
    traits = msgspec.structs.replace(Tree.traits, watches=True, survives_crashes=True)
    options_type = SeparatorsOptions
    stamp_type = WatchedHop | Word | LinksWord | Alive
    state_type = FailoverState
    state: FailoverState
    options: SeparatorsOptions

    def __init__(
        self, process: int, membership: Membership, options: Options | None = None
    ) -> None:
        self._tree = Tree(process, membership, options)
        chosen = self._tree.options
        self._near = self._tree.neighbours
        network, span_s = self._tree.network, chosen.suspect_after_s
        self._gossip = Gossip(process, network, span_s, self._tree.count)
        super().__init__(process, membership, chosen)

    def initial_state(self) -> FailoverState:
        return FailoverState(self._tree.initial_state(), gossip=self._gossip.initial())

    def resume(self) -> None:
        self._tree.state = self.state.tree
        self._tree.resume()
        self._tree.gone = self.state.gossip.gone
        self._gossip.resume(self.state.gossip)
        self.hops = []

    @property
    def hosts(self) -> ProcessSet:
        return self._tree.hosts

    def check_addressing(self, message: Message) -> None:
        self._tree.check_addressing(message)

    def send(self, message: Message, now: float = 0.0) -> list[Effect]:
        effects = self._gossip.begin(now) + self._tagged(self._tree.send(message, now))
        self.hops = []
        return effects

    def receive(
        self, packet: Packet[WatchedHop | Word | LinksWord | Alive], now: float = 0.0
    ) -> list[Effect]:
        source, stamp = packet.source, packet.stamp
        if source >= self.membership.size or not self._near >> source & 1:
            raise MalformedStamp("source", f"is {source}, to which there is no link")
        if isinstance(stamp, Word):
            check_word(stamp, self.membership.size)
        self.hops = []
        effects: list[Effect] = []
        if isinstance(stamp, WatchedHop):
            plain = Packet(source, packet.message, Hop(stamp.number, stamp.H))
            effects = self._tagged(self._tree.receive(plain, now))
            self.hops = self._tree.hops
            self._keep()
            effects += self._tell(effects)
        effects += self._gossip.begin(now)
        self._gossip.note(source, now)
        if isinstance(stamp, Word):
            effects += self._hear(stamp, source, now)
        return effects

    def _tagged(self, effects: list[Effect]) -> list[Effect]:
        """What the tree wants, as it travels here."""
        found: list[Effect] = []
        for one in effects:
            if isinstance(one, Transmit):
                hop: Hop = one.packet.stamp
                stamp = WatchedHop(hop.number, hop.H)
                found.append(Transmit(Packet(self.process, one.packet.message, stamp), one.to))
            else:
                found.append(one)
        return found

    # Keeping, and forgetting.

    def _keep(self) -> None:
        """Of what has just passed, what others of the set may have to forward."""
        if self._tree.is_alone:
            return
        for message, entrance in self._tree.passed_on:
            self.state.kept.append((message, entrance, message.destinations))

    def _tell(self, effects: list[Effect]) -> list[Effect]:
        """Tell everybody what has been delivered here, now and then."""
        for effect in effects:
            if isinstance(effect, Deliver):
                sender, number = effect.message.id
                self.state.untold[sender] = number
                self.state.untold_count += 1
        if not self.options.tidy or self.state.untold_count < self.options.tidy:
            return []
        done = tuple(sorted(self.state.untold.items()))
        self.state.untold, self.state.untold_count = {}, 0
        return self._gossip.tell(done)

    def _hear(self, word: Word, source: int, now: float) -> list[Effect]:
        effects = self._gossip.hear(word, source)
        if effects is None:
            return []
        self.hops = [MessageId(source, word.number)]
        done = dict(word.done)
        kept = []
        for message, entrance, to in self.state.kept:
            sender, number = message.id
            left = to & ~(1 << word.origin) if number <= done.get(sender, 0) else to
            if left & ~self.state.gossip.gone:
                kept.append((message, entrance, left))
        self.state.kept = kept
        gone, came, _ = self._gossip.news(word)
        if gone:
            effects += self._take_over(gone, now)
        if came:
            effects += self._gossip.welcome(came, now)
            self._tree.gone = self.state.gossip.gone
        return effects

    def join(self, now: float = 0.0, talks_with: ProcessSet = 0) -> list[Effect]:
        """It is in when everybody knows that it lives: others keep for it what is on its way."""
        self.hops = []
        return self._gossip.join(now)

    def connect(self, other: int, now: float = 0.0) -> list[Effect]:
        self.hops = []
        return self._tree.connect(other, now)

    # Taking over.

    def wake(self, now: float) -> list[Effect]:
        self.hops = []
        effects, silent, _ = self._gossip.wake(now)
        if silent:
            effects += self._gossip.tell(gone=silent)
            effects += self._take_over(silent, now)
        return effects

    def _take_over(self, gone: ProcessSet, now: float) -> list[Effect]:
        """These have crashed: forward in their place."""
        before = self._tree.own_zones()
        self._gossip.lose(gone, now)
        self._tree.gone = self.state.gossip.gone
        new = [place for place in self._tree.own_zones() if place not in before]
        effects: list[Effect] = []
        for message, entrance, _ in self.state.kept:
            for place in new:
                if place != entrance:
                    effects += self._tree.forward(message, place)
        return self._tagged(effects)

    # What it promises and knows.

    @classmethod
    def traits_under(cls, options: Options) -> Traits:
        return cls.traits

    def owes_despite(self, crashed: ProcessSet) -> bool:
        return self._tree.owes_despite(crashed)

    def held(self) -> list[Held]:
        return self._tree.held()

    def entries(self) -> int:
        return self._tree.entries()

    def entries_bound(self) -> int | None:
        return self._tree.entries_bound()
