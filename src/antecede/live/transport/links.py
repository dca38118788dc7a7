"""The links of a process in a group to the others: dialled, kept up, and ended.

A link leads to a name, or to an address whose owner has not said its name yet. A member that comes
back as another incarnation gets a new one, for what was put on the old is not for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from antecede.errors import AntecedeError
from antecede.live.logs import log
from antecede.live.transport.handshake import Hello, Refused, Welcome
from antecede.live.transport.outgoing import Address, LinkLimits, Outgoing
from antecede.live.transport.tls import Security
from antecede.live.transport.turns import Turns

_REFUSED_S: Final = 0.5
_PARTING_S: Final = 1.0
_REDIAL_S: Final = 10.0
"""How long a link leads to who is no member any more and has to be told so."""
_PATIENCE_S: Final = 10.0
"""How long a process that asks to be let in waits for the others to be ready."""


@dataclass(frozen=True)
class LinkOwner:
    """Whom the links serve. `hello` makes a greeting for a receiver and the number of a link."""

    group: str
    name: str
    hello: Callable[[str | None, int], Hello]
    welcomed: Callable[[str, int, bytes], None]
    """By this life of a process, with the key that it gave."""
    drained: Callable[[], None]
    failed: Callable[[AntecedeError], None]
    is_member: Callable[[str], bool]
    """Whether a process of this name belongs to the view."""
    is_in: Callable[[], bool]
    """Whether this process has ever been let in."""
    lets_back_in: bool = True
    """Whether members may come again as another incarnation; if not, who is refused by one of them
    has no place here."""


class Links:
    """All links of one process in one group."""

    def __init__(
        self,
        owner: LinkOwner,
        seeds: Sequence[Address],
        security: Security,
        limits: LinkLimits,
        *,
        keeps_asking: bool = False,
    ) -> None:
        """With `keeps_asking`, a refusal is never the end."""
        self.by_name: dict[str, Outgoing] = {}
        self.addresses: dict[str, Address] = {}
        self._owner = owner
        self._seeds = seeds
        self._keeps_asking = keeps_asking
        self._security = security
        self._limits = limits
        self._unnamed: list[Outgoing] = []
        """Links to addresses whose owners have not said their names yet."""
        self._tasks: dict[Outgoing, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._dialled = 0
        self._lives: dict[str, int] = {}
        """The incarnations that were met first."""
        self._refusals: dict[str, str] = {}
        """By address, why one that was told to be asked said no for good."""
        self._names: dict[Address, str] = {}
        """Who answered at an address that was dialled without a name."""
        self._started = 0.0
        self._turns = Turns()

    def start(self) -> None:
        self._started = asyncio.get_running_loop().time()
        for address in self._seeds:
            self._dial(None, address)

    def seek(self, address: Address) -> None:
        """Somebody may listen here: make sure that there is a link to it."""
        links = [*self._unnamed, *self.by_name.values()]
        is_known = self._names.get(address) in self.by_name
        if not is_known and all(link.address != address for link in links):
            self._dial(None, address)

    @property
    def tried_all(self) -> bool:
        """Whether every address has been dialled, with whatever result."""
        return all(link.connected or link.trouble for link in self._unnamed)

    def troubles(self) -> dict[str, str]:
        """By name or address, why there is no link."""
        links = [*self._unnamed, *self.by_name.values()]
        found = {
            link.peer or f"{link.address[0]}:{link.address[1]}": link.trouble
            for link in links
            if link.trouble
        }
        return found | self._refusals

    def know(self, name: str, address: Address, *, dials: bool = True) -> None:
        """This is where a process listens: make sure that there is a link to it, or that one that
        there is leads there."""
        is_linked = name in self.by_name
        if self.addresses.get(name) == address and is_linked:
            return
        if not dials and not is_linked:
            self.addresses[name] = address
            return
        self.hang_up(name)
        self._open(name, address)

    def meet(self, name: str, incarnation: int, address: Address) -> None:
        """A process has come in: a link that has led to a former life of it will not do, for what
        is put on it would be dropped with what was for that."""
        link = self.by_name.get(name)
        if link is not None and link.incarnation in (None, incarnation):
            return
        self.hang_up(name)
        self._open(name, address)

    def redial(self, name: str) -> None:
        """Somebody who is no member any more talks to us, and has to be told so."""
        if name in self.addresses:
            self._open(name, self.addresses[name])
            self._hang_up_later(name, _REDIAL_S)  # It may be dead by now.

    def part(self, name: str) -> None:
        """A process is no member any more. What it has to hear of that is on its way."""
        link = self.by_name.get(name)
        if link is None or link.is_full or not link.connected:
            self.hang_up(name)
        else:
            self._hang_up_later(name, _PARTING_S)

    def ask(self) -> None:
        """Ask everybody how far it has come."""
        for link in self.by_name.values():
            link.ask()

    def drop(self) -> None:
        """End them all."""
        for link in [*self.by_name.values(), *self._unnamed]:
            self._end(link)
        self.by_name.clear()
        self._unnamed.clear()

    async def ended(self) -> None:
        if self._ending:
            await asyncio.wait(self._ending)

    # -- inside

    def _hang_up_later(self, name: str, delay_s: float) -> None:
        """Unless it is a member by then, or there is another link to it."""
        link = self.by_name[name]

        def hang_up() -> None:
            if self.by_name.get(name) is link and not self._owner.is_member(name):
                self.hang_up(name)

        asyncio.get_running_loop().call_later(delay_s, hang_up)

    def _open(self, name: str, address: Address) -> None:
        """In place of one that was dialled before it was known who listens there: that would be
        refused, as the earlier of two."""
        for link in [one for one in self._unnamed if one.address == address]:
            self._end(link)
            self._unnamed.remove(link)
        self.addresses[name] = address
        self.by_name[name] = self._dial(name, address)

    def _dial(self, name: str | None, address: Address) -> Outgoing:
        self._dialled += 1
        number = self._dialled
        link = Outgoing(
            name,
            address,
            # Once it has been welcomed, it leads to who welcomed it.
            lambda: self._owner.hello(link.peer, number),
            self._security,
            self._limits,
            self._welcomed,
            self._owner.drained,
            self._turns,
        )
        if name is None:
            self._unnamed.append(link)
        self._tasks[link] = asyncio.get_running_loop().create_task(self._keep(link))
        return link

    async def _keep(self, link: Outgoing) -> None:
        """Run a link. Being refused by all that this process was told to ask is the end; a member
        that refuses (it has just been started, and not joined yet) is asked again."""
        while True:
            try:
                await link.run()
            except Refused as error:
                late = asyncio.get_running_loop().time() > self._started + _PATIENCE_S
                link.trouble = str(error)
                if link in self._unnamed and (error.is_final or late) and not self._keeps_asking:
                    self._unnamed.remove(link)
                    self._refused(link, error)
                    return
                if error.is_final and not self._owner.lets_back_in:
                    self._owner.failed(
                        Refused(f"'{link.peer}' refuses '{self._owner.name}': {error}")
                    )
                    return
                await asyncio.sleep(_REFUSED_S)
            except AntecedeError as error:
                self._owner.failed(error)
                return

    def _refused(self, link: Outgoing, error: Refused) -> None:
        self._refusals[f"{link.address[0]}:{link.address[1]}"] = str(error)
        if len(self._refusals) >= len(self._seeds) and not self._owner.is_in():
            me, group = self._owner.name, self._owner.group
            reasons = "; ".join(f"{where}: {why}" for where, why in self._refusals.items())
            self._owner.failed(Refused(f"'{me}' may not join '{group}': {reasons}"))

    def _welcomed(self, link: Outgoing, welcome: Welcome) -> None:
        name = welcome.receiver
        facts = {"peer": name, "reconnections": link.reconnections}
        log("connected", group=self._owner.group, name=self._owner.name, **facts)
        first = self._lives.setdefault(name, welcome.incarnation)
        if welcome.incarnation != first and not self._owner.lets_back_in:
            self.hang_up(name)
            return
        if link in self._unnamed:
            self._unnamed.remove(link)
            self._names[link.address] = name
            if name in self.by_name:
                self._end(link)
                return
            self.by_name[name] = link
            self.addresses[name] = link.address
        self._owner.welcomed(name, welcome.incarnation, welcome.key)

    def hang_up(self, name: str) -> None:
        link = self.by_name.pop(name, None)
        if link is not None:
            self._end(link)

    def _end(self, link: Outgoing) -> None:
        task = self._tasks.pop(link, None)
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()
