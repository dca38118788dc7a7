"""What a member does about others that break the protocol or hold everybody up: it tells all, and
hears them no more (`disputes` has the rules)."""

from typing import Protocol

from antecede.groups import MemberId
from antecede.live.disputes import Disputes
from antecede.live.early import Early
from antecede.live.ordering.items import Shun, encode_item
from antecede.live.ordering.session import Session
from antecede.live.outputs import Identity, Output, ToPeer
from antecede.order import Held


class Core(Protocol):
    """What it needs of the machine, as it is at the time."""

    identity: Identity
    session: Session | None
    early: Early
    out: list[Output]

    def members(self) -> tuple[str, ...]:
        """Of the present view; empty before the first."""

    def name_of(self, member: MemberId) -> str:
        """Of a member."""


class Accusations:
    """Those of one process in the present view, and by it. `patience_s`: for how long it waits for
    others to say the same."""

    def __init__(self, core: Core, patience_s: float) -> None:
        self._core = core
        self._patience_s = patience_s
        self.begin()

    def begin(self) -> None:
        """A life begins."""
        self.disputes = Disputes()

    def accuse(self, name: str, now: float) -> None:
        """This member has sent what cannot be right."""
        core = self._core
        core.early.forget(name)
        if name in self._others():
            self.disputes.begin(name, core.identity.name, now)
            self._tell_of(name)
            self._forget_words(name)

    def accuse_liars(self, now: float) -> None:
        """Those that the session has found."""
        session = self._core.session
        if session is not None and session.liars:
            names = [self._core.name_of(one) for one in session.liars]
            session.liars.clear()
            for name in names:
                self.accuse(name, now)

    def shun(self, held: Held, now: float) -> None:
        """Those that a message waits for."""
        epoch = None if self._core.session is None else self._core.session.epoch
        if epoch is not None:
            names = [epoch.names[one.process] for one in held.awaited if one.process != epoch.me]
            for name in dict.fromkeys(names):
                self.accuse(name, now)

    def find_slow(self, name: str) -> None:
        """This member holds up senders for too long."""
        self.disputes.hear(name, self._core.identity.name, self._core.members())
        self._tell_of(name)

    def hear(self, accused: str, accuser: str) -> None:
        """A member says so of another."""
        if accuser in self._core.members() and accused in self._others():
            self.disputes.hear(accused, accuser, self._core.members())

    def is_lost(self, now: float) -> bool:
        """Whether others have not said the same for too long."""
        return self.disputes.is_lost(self._core.members(), now, self._patience_s)

    def _others(self) -> list[str]:
        return [name for name in self._core.members() if name != self._core.identity.name]

    def _tell_of(self, name: str) -> None:
        item = encode_item(Shun(name))
        self._core.out += [ToPeer(other, item) for other in self._others() if other != name]

    def _forget_words(self, name: str) -> None:
        session = self._core.session
        if session is not None and session.epoch is not None:
            for member in session.epoch.members:
                if self._core.name_of(member) == name:
                    session.forget(member)
