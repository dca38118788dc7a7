"""What moves behind a group: what the links bring is fed to the pure machine (`viewed`,
`overlaid`), and what that returns is carried out. No task or future is made for a message.
"""

import asyncio
import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final

from antecede.errors import AntecedeError, BadInput, Misuse
from antecede.live.alarm import Alarm
from antecede.live.durable.journal import Journal
from antecede.live.durable.keeping import Keeping
from antecede.live.events import (
    Counted,
    Event,
    Excluded,
    Gap,
    Interrupted,
    Restored,
    Settings,
    State,
    StateWanted,
    ViewChange,
    Waiting,
)
from antecede.live.logs import log, log_warning
from antecede.live.ordering.effects import Arrived, Delivery, Sent, ViewChanged
from antecede.live.ordering.items import decode_items, is_membership, is_repeated
from antecede.live.outputs import (
    Dropped,
    Kept,
    Known,
    Left,
    Moved,
    Output,
    ReadPast,
    Reborn,
    Recall,
    Resumed,
    Suspended,
    Told,
    ToPeer,
    ToPeers,
)
from antecede.live.overlaid import Overlaid
from antecede.live.patience import Patience
from antecede.live.recording import Recording
from antecede.live.seeds import SeedFinder, SomeSeeds
from antecede.live.transport.handshake import VERSION, Hello
from antecede.live.transport.incoming import Listener, Received
from antecede.live.transport.links import LinkOwner, Links
from antecede.live.transport.outgoing import Address
from antecede.live.viewed import Viewed
from antecede.order import Notice, Wake

_TICK_S: Final = 0.05


class CannotJoin(Misuse):
    """The time to get into the group is over; it names whoever could not be reached or said no."""

    def __init__(self, name: str, group: str, waited_s: float, waits: dict[str, str]) -> None:
        super().__init__(name, group, waited_s, waits)
        self.waits = waits

    def __str__(self) -> str:
        name, group, waited_s, waits = self.args
        reasons = "; ".join(f"{peer}: {why}" if peer else why for peer, why in waits.items())
        return f"'{name}' did not get into '{group}' in {waited_s:.1f} s: {reasons or 'no peers'}"


class Pump:
    """One process in one group."""

    def __init__(
        self,
        name: str,
        core: Viewed | Overlaid,
        listener: Listener,
        peers: Sequence[Address],
        settings: Settings,
        may_join: Callable[[str], bool],
        recording: Recording | None,
        journal: Journal | None = None,
        seeds: SomeSeeds = (),
    ) -> None:
        self.name = name
        self.me = core.identity.name
        self.protocol_text = core.protocol_text
        self.incarnation = core.identity.incarnation
        self.limits = settings.links
        self.received: dict[str, Received] = {}
        self.may_join = may_join
        self.lets_back_in = core.lets_back_in
        self._core = core
        self._listener = listener
        self._settings = settings
        self._payload_bytes = settings.links.item_bytes // 2
        """Half of what fits: the rest is for what a protocol adds."""
        self._lags_s = settings.lags_s
        self._recording = recording
        self._keeping: Keeping | None = None
        """Of a durable member."""
        if journal is not None:
            self._keeping = Keeping(
                journal, lambda outputs: self._carry_out(outputs, kept=True), self._fail
            )
        self._stamp_type = core.stamp_type
        self._inbox: deque[Event] = deque()
        self._arrival: asyncio.Event = asyncio.Event()
        self._progress: asyncio.Event = asyncio.Event()
        """Set whenever a sender that waits should look again."""
        self._alarm = Alarm(self._wake)
        self._late: dict[str, deque[bytes]] = {}
        """By process, what leaves later on purpose."""
        self._ticker: asyncio.TimerHandle | None = None
        self._untold = 0
        self._of_former_life = 0
        """How many of the first events in the inbox are older than this life."""
        self.counters = Counted()
        self.view_number = 0
        self.condition = "joining"
        """joining, member, interrupted, excluded or left: for people."""
        self._left = False
        self._leaving = False
        self._failure: AntecedeError | None = None
        self._patience = Patience(core)
        self._dialled = Links(
            LinkOwner(
                name,
                self.me,
                self._hello,
                self._welcomed,
                self._progress.set,
                self._fail,
                lambda other: other in self.members,
                lambda: bool(self.members),
                core.lets_back_in,
            ),
            [address for address in peers if address != core.identity.address],
            listener.security,
            settings.links,
            keeps_asking=bool(seeds),
        )
        self._links = self._dialled.by_name
        self._finder: SeedFinder | None = None
        if seeds:
            self._finder = SeedFinder(
                seeds,
                core.identity.address,
                found=self._dialled.seek,
                is_own=core.be_seed,
                is_in=lambda: bool(self.members),
            )
        self._finding: asyncio.Task[None] | None = None
        self._joining_since = 0.0
        self._told: dict[str, str] = {}
        """What this process waits for, as it was told last."""

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view; empty before the first."""
        return self._core.members()

    # -- life

    def start(self) -> None:
        self._listener.groups[self.name] = self
        if self._keeping is not None:
            self._inbox += self._keeping.recalled()
        self._dialled.start()
        if self._finder is not None:
            self._finding = asyncio.get_running_loop().create_task(self._find())
        self._joining_since = self._now()
        self._carry_out(self._core.start(self._now()))
        self._tick()

    async def _find(self) -> None:
        try:
            if self._finder is not None:
                await self._finder.run()
        except AntecedeError as error:
            self._fail(error)

    async def close(self) -> None:
        """Stop at once, without a word to the others."""
        self._left = True
        self._listener.groups.pop(self.name, None)
        self._alarm.cancel()
        if self._ticker is not None:
            self._ticker.cancel()
        if self._finding is not None:
            self._finding.cancel()
        self._dialled.drop()
        self._listener.drop(self.name)
        await self._dialled.ended()
        if self._keeping is not None:
            self._keeping.close()
        if self._recording is not None:
            self._recording.close("leave" if self.condition == "left" else "crash")
        self._arrival.set()
        self._progress.set()

    # -- for the listener

    def take(self, sender: str, incarnation: int, items: memoryview) -> None:
        """A batch from a peer."""
        if self._failure is not None:
            return
        decoded = decode_items(items, self._stamp_type)
        try:
            self._carry_out(self._core.receive(sender, incarnation, decoded, self._now()))
        except BadInput:
            raise
        except AntecedeError as error:
            self._fail(error)

    # -- inside

    @staticmethod
    def _now() -> float:
        return asyncio.get_running_loop().time()

    def _put(self, event: Event) -> None:
        self._inbox.append(event)
        self._arrival.set()

    def _carry_out(self, outputs: Sequence[Output], *, kept: bool = False) -> None:
        if self._keeping is not None and not kept:
            self._keeping.stage(outputs)
            return
        for output in outputs:
            kind = type(output)
            if kind is ToPeers:
                item = output.item  # type: ignore[union-attr]
                for name in output.names:  # type: ignore[union-attr]
                    link = self._links.get(name)
                    if link is not None and link.connected and not self._lags_s:
                        link.put(item)
                    else:
                        self._transmit(name, item)
            elif kind is ToPeer:
                self._transmit(output.name, output.item)  # type: ignore[union-attr]
            elif kind is Delivery:
                self.counters.deliveries += 1
                self._inbox.append(output)  # type: ignore[arg-type]
                if self._recording is not None:
                    self._record(output)  # type: ignore[arg-type]
            else:
                self._carry_out_rarely(output)
        if self._inbox and not self._arrival.is_set():
            self._arrival.set()

    def _transmit(self, name: str, item: bytes) -> None:
        link = self._links.get(name)
        if link is None:
            if is_membership(item):
                self._dialled.redial(name)
            return
        if not link.connected and (self._core.repairs_loss or is_repeated(item)):
            return
        # Late on purpose, perhaps. The substrate must not take the lag for a death.
        if self._lags_s and name in self._lags_s and not is_membership(item):
            self._late.setdefault(name, deque()).append(item)
            lag_s = self._lags_s[name]
            asyncio.get_running_loop().call_later(lag_s, self._put_late, name)
        else:
            link.put(item)

    def _put_late(self, name: str) -> None:
        item = self._late[name].popleft()
        if name in self._links:
            try:
                self._links[name].put(item)
            except AntecedeError as error:
                self._fail(error)

    def _carry_out_rarely(self, output: Output) -> None:
        match output:
            case Wake():
                self._alarm.set(output.at)
            case Sent():
                self.counters.stamp_bytes += output.stamp_bytes
                if self._recording is not None:
                    self._recording.send(output, self._core.name_of, self._core.own_base)
            case Arrived():
                if self._recording is not None:
                    base = self._core.base_of(output.sender)
                    self._recording.receive(output, self._core.name_of, base)
            case Known():
                if output.name != self.me:
                    self._dialled.know(output.name, output.address)
            case ViewChanged():
                self._tell_view(output)
                self._relink(output)
            case Moved():
                self._relink(output.change)
            case Told():
                self._tell_view(output.change)
            case Kept():
                self._deliver_kept(output)
            case Dropped():
                self._record(output.delivery)
            case ReadPast():
                if self._keeping is not None:
                    answer = self._keeping.read_past(output)
                    self._transmit(answer.name, answer.item)
            case Recall():
                if self._keeping is not None:
                    found = self._keeping.journal.own(output.after, output.upto)
                    self._carry_out(self._core.recalled(found, self._now()))
            case State() | StateWanted() | Gap() | Notice():
                self._log(type(output).__name__.lower())
                self._put(output)
            case Suspended():
                self.condition = "interrupted"
                self._log("interrupted", reached=output.reached)
                self._put(Interrupted(output.reached))
            case Resumed():
                self.condition = "member"
                self._log("restored")
                self._put(Restored())
                self._progress.set()
            case Reborn():
                self._be_reborn(output.incarnation)
            case Left():
                self._left = True
                self.condition = "left"
                self._log("left")
                self._arrival.set()
                self._progress.set()

    def _deliver_kept(self, kept: Kept) -> None:
        """What a durable member delivers is in its log by now."""
        self.counters.deliveries += 1
        if self._keeping is not None:
            self._keeping.waits(kept)
        self._put(kept.delivery)
        if kept.is_counted:
            self._record(kept.delivery)

    def _record(self, delivery: Delivery) -> None:
        if self._recording is not None and delivery.member is not None:
            self._recording.deliver(delivery, self._core.base_of(delivery.member))

    def _tell_view(self, change: ViewChanged) -> None:
        names = self._core.name_of
        event = ViewChange(
            change.view.number,
            tuple(map(names, change.view.members)),
            tuple(map(names, change.joined)),
            tuple(map(names, change.departed)),
        )
        if self._recording is not None:
            self._recording.view(change.lamport)
        self.counters.views += 1
        self._log("view", number=event.number, members=event.members, departed=event.departed)
        self.view_number = change.view.number
        self.condition = "member"
        self._told.clear()
        self._put(event)
        self._patience.begin()
        self._progress.set()

    def _relink(self, change: ViewChanged) -> None:
        names = self._core.name_of
        present = set(map(names, change.view.members))
        for name in map(names, change.departed):
            if name not in present:
                self._dialled.part(name)
        for member in change.joined:
            name = names(member)
            if name != self.me:
                self._dialled.meet(name, member.incarnation, self._core.address_of(name))

    def _be_reborn(self, incarnation: int) -> None:
        """Begin anew: everybody has to greet this process again."""
        self.incarnation = incarnation
        if self._recording is not None:
            self._recording.begin(incarnation)
        addresses = dict(self._dialled.addresses)
        self._dialled.drop()
        self._listener.drop(self.name)
        self.received.clear()
        self._of_former_life = len(self._inbox)
        self.condition = "excluded"
        self._joining_since = self._now()
        self._log("excluded", incarnation=incarnation)
        self._put(Excluded())
        for name, address in addresses.items():
            self._dialled.know(name, address)
        if self._finder is not None:
            self._finder.looked = False

    def _wake(self, now: float) -> None:
        if self._failure is not None:
            return  # Silent from now on, so that the others go on without this process.
        try:
            self._carry_out(self._core.wake(now))
        except AntecedeError as error:
            self._fail(error)

    def _tick(self) -> None:
        if self._failure is not None or self._listener.groups.get(self.name) is not self:
            return
        named = [name for name, link in self._links.items() if link.connected]
        try:
            tried_all = self._finder is None or (self._finder.looked and self._dialled.tried_all)
            self._carry_out(
                self._core.tick(named, self._now(), len(self._inbox), tried_all=tried_all)
            )
            if self.condition in ("joining", "excluded"):
                self._tell_waiting(self._now() - self._joining_since)
            if self._recording is not None:
                self._recording.flush()
            if self._settings.missing_after_s is not None:
                self._look_for_missing(self._settings.missing_after_s)
        except AntecedeError as error:
            self._fail(error)
        self._progress.set()
        self._ticker = asyncio.get_running_loop().call_later(_TICK_S, self._tick)

    def waits_for(self) -> dict[str, str]:
        """While this process is not in the group: by peer, why not. Under the empty name, what is
        missing besides."""
        if self.condition not in ("joining", "excluded"):
            return {}
        waits = {} if self._finder is None else dict(self._finder.troubles)
        waits |= self._dialled.troubles()
        there = sorted(name for name, link in self._links.items() if link.connected)
        missing = self._core.what_is_missing(there)
        for name in there:
            waits.setdefault(name, "it is there, and in no group yet itself")
        return waits | ({"": missing} if missing else {})

    def _tell_waiting(self, waited_s: float) -> None:
        """Nothing is silent: who does not get in says why."""
        settings = self._settings
        if waited_s < min(settings.waiting_after_s, settings.join_timeout_s or math.inf):
            return
        waits = self.waits_for()
        if settings.join_timeout_s is not None and waited_s >= settings.join_timeout_s:
            self._fail(CannotJoin(self.me, self.name, waited_s, waits))
            return
        for peer, reason in waits.items():
            if self._told.get(peer) != reason:
                self._told[peer] = reason
                facts = {"event": "waiting", "group": self.name, "name": self.me}
                what = f"{peer}: {reason}" if peer else reason
                log_warning(
                    f"'{self.me}' waits to get into '{self.name}': {what}",
                    **facts,
                    peer=peer,
                    reason=reason,
                )
                self._put(Waiting(peer, reason))

    def _look_for_missing(self, limit_s: float) -> None:
        for held, missing in self._patience.exhausted(limit_s, self._now()):
            self._log("missing", sender=missing.sender, number=missing.number)
            self._put(missing)
            if self._settings.on_missing == "exclude":
                self._carry_out(self._core.shun(held))

    def _hello(self, receiver: str | None, link: int) -> Hello:
        group, protocol = self.name, self.protocol_text
        return Hello(VERSION, group, protocol, self.me, self.incarnation, receiver, link)

    def _welcomed(self, name: str, incarnation: int) -> None:
        self._carry_out(self._core.welcomed(name, incarnation, self._now()))

    def _log(self, event: str, **facts: Any) -> None:
        log(event, group=self.name, name=self.me, **facts)

    def _fail(self, error: AntecedeError) -> None:
        self._log("failed", reason=str(error))
        self._failure = error
        self._arrival.set()
        self._progress.set()
