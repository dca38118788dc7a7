"""A group as an application sees it: send, and iterate over what happens.

This is a thin pump: it feeds what the links bring to the pure machine (`viewed`), carries out what
that returns, and hands deliveries to whoever iterates. No task or future is made for a message.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from heapq import heappop, heappush
from typing import Any, Final

from antecede.errors import AntecedeError, BadInput, Misuse
from antecede.live import viewed
from antecede.live.events import (
    Counted,
    Event,
    Excluded,
    Interrupted,
    Missing,
    Restored,
    Settings,
    ViewChange,
)
from antecede.live.handshake import VERSION, Hello, Refused, Welcome
from antecede.live.incoming import Listener, Received
from antecede.live.items import decode_items, is_membership, is_repeated
from antecede.live.lesser import Context, ContextOrder
from antecede.live.logs import log
from antecede.live.outgoing import Address, Outgoing
from antecede.live.overlaid import Overlaid
from antecede.live.recording import Recording
from antecede.live.session import Arrived, Delivery, Hold, Sent, ViewChanged
from antecede.live.viewed import Viewed
from antecede.order import Notice, Wake

_TICK_S: Final = 0.05
_DRAIN_S: Final = 10.0
_REFUSED_S: Final = 0.5
_PARTING_S: Final = 1.0
_PATIENCE_S: Final = 10.0
"""How long a process that asks to be let in waits for the others to be ready."""
_TAKEN_BETWEEN_REPORTS: Final = 512


class Group:
    """One process in one group; made by `Node.join`."""

    def __init__(
        self,
        name: str,
        core: Viewed | Overlaid,
        listener: Listener,
        peers: Sequence[Address],
        settings: Settings,
        may_join: Callable[[str], bool],
        recording: Recording | None,
    ) -> None:
        self.name = name
        self.me = core.identity.name
        self.protocol_text = core.protocol_text
        self.incarnation = core.identity.incarnation
        self.limits = settings.links
        self.received: dict[str, Received] = {}
        self.may_join = may_join
        self._core = core
        self._listener = listener
        self._seeds = [address for address in peers if address != core.identity.address]
        self._settings = settings
        self._payload_bytes = settings.links.item_bytes // 2
        """Half of what fits: the rest is for what a protocol adds."""
        self._lags_s = settings.lags_s
        self._recording = recording
        self._stamp_type = core.stamp_type
        self._links: dict[str, Outgoing] = {}
        self._unnamed: list[Outgoing] = []
        """Links to addresses whose owners have not said their names yet."""
        self._tasks: dict[Outgoing, asyncio.Task[None]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._dialled = 0
        self._refusals: list[str] = []
        self._started = 0.0
        self._addresses: dict[str, Address] = {}
        self._inbox: deque[Event] = deque()
        self._arrival: asyncio.Event = asyncio.Event()
        self._progress: asyncio.Event = asyncio.Event()
        """Set whenever a sender that waits should look again."""
        self._wakes: list[float] = []
        """When the core wants to be woken, as a heap."""
        self._wake_handle: asyncio.TimerHandle | None = None
        self._late: dict[str, deque[bytes]] = {}
        """By process, what leaves later on purpose."""
        self._ticker: asyncio.TimerHandle | None = None
        self._untold = 0
        self.counters = Counted()
        self.view_number = 0
        self.condition = "joining"
        """joining, member, interrupted, excluded or left: for people."""
        self._left = False
        self._leaving = False
        self._failure: AntecedeError | None = None
        self._waiting_since: dict[tuple[int, int], float] = {}
        self._reported: set[tuple[int, int]] = set()

    # -- for applications

    @property
    def address(self) -> Address:
        """Where this process listens."""
        return self._core.identity.address

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view; empty before the first."""
        return self._core.members()

    @property
    def links(self) -> Mapping[str, Outgoing]:
        """The links to other processes, by name."""
        return self._links

    @property
    def hold(self) -> Hold:
        """How many deliveries had to wait, and for how long."""
        return self._core.hold

    @property
    def waiting(self) -> int:
        """Events that the application has yet to take."""
        return len(self._inbox)

    async def send(
        self,
        payload: bytes,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
    ) -> None:
        """Send to these members, to a named group or to everybody. Waits while the view changes
        and while receivers lag too far behind."""
        if self._core.protocol == ContextOrder.name:
            raise Misuse(
                "where the application holds the contexts, a message is sent in one: send_in"
            )
        while not self.send_now(payload, to, group, label):
            self._progress.clear()
            await self._progress.wait()

    async def send_in(
        self, context: Context | None, payload: bytes, to: Sequence[str] | None = None
    ) -> Context:
        """Send a message that follows what is in the context, and nothing else; None for no order
        at all. Gives the context with the message in it."""
        while not self.send_now(payload, to, context=context):
            self._progress.clear()
            await self._progress.wait()
        return self._core.context()

    def send_now(
        self,
        payload: bytes,
        to: Sequence[str] | None = None,
        group: str | None = None,
        label: str | None = None,
        context: Context | None = None,
    ) -> bool:
        """Send if nobody has to be waited for; otherwise do nothing and say so."""
        self._check_open()
        if len(payload) > self._payload_bytes:
            raise Misuse(
                f"a message of {len(payload):,} bytes; at most {self._payload_bytes:,} fit into a "
                "frame (LinkLimits.frame_bytes)"
            )
        core = self._core
        if not core.is_open or core.untaken >= self._settings.window or self._is_full():
            return False
        outputs = core.send(payload, to, group, self._now(), label, context)
        self.counters.sends += 1
        self._carry_out(outputs)
        return True

    def send_past(self, payload: bytes, to: Sequence[str]) -> None:
        """Send past all ordering."""
        self._check_open()
        self._carry_out(self._core.send_direct(payload, to))

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._inbox:
            if self._failure is not None:
                raise self._failure
            if self._left:
                raise StopAsyncIteration
            self._arrival.clear()
            await self._arrival.wait()
        return self._take_one()

    def take_ready(self) -> list[Event]:
        """All events that have happened so far, without waiting; for those in a hurry."""
        return [self._take_one() for _ in range(len(self._inbox))]

    def held(self) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        now = self._now()
        found = []
        for held in self._core.held():
            since = self._waiting_since.setdefault(held.message, now)
            sender, number, awaited = self._core.describe(held)
            found.append(Missing(sender, number, awaited, now - since))
        return found

    async def leave(self, drain_s: float = _DRAIN_S) -> None:
        """Leave, after what was sent has reached everybody or the time is over."""
        if self._left or self._failure is not None:
            return
        self._leaving = True
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                await self._until(lambda: not self._core.unsettled)
                self._carry_out(self._core.leave(self._now()))
                await self._until(lambda: self._left)
                await self._until(self._has_drained)
        self._left = True

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._progress.clear()
            await self._progress.wait()

    def _has_drained(self) -> bool:
        return not any(link.waiting_bytes for link in self._links.values() if link.connected)

    # -- life

    def start(self) -> None:
        self._started = self._now()
        self._listener.groups[self.name] = self
        for address in self._seeds:
            self._dial(None, address)
        self._carry_out(self._core.start(self._now()))
        self._tick()

    async def close(self) -> None:
        """Stop at once, without a word to the others."""
        self._left = True
        self._listener.groups.pop(self.name, None)
        for handle in (self._ticker, self._wake_handle):
            if handle is not None:
                handle.cancel()
        self._drop_links()
        self._listener.drop(self.name)
        if self._ending:
            await asyncio.wait(self._ending)
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

    def _check_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._left or self._leaving:
            raise Misuse(f"'{self.me}' has left group '{self.name}', or is about to")

    def _is_full(self) -> bool:
        repairs_loss = self._core.repairs_loss
        return any(
            link.is_full and (link.connected or not repairs_loss) for link in self._links.values()
        )

    def _take_one(self) -> Event:
        event = self._inbox.popleft()
        if type(event) is Delivery and event.member is not None:
            self._core.take(event.member, event.payload)
            self._untold += 1
            if self._untold >= _TAKEN_BETWEEN_REPORTS:
                self._untold = 0
                self._carry_out(self._core.tick((), self._now()))
        return event

    def _put(self, event: Event) -> None:
        self._inbox.append(event)
        self._arrival.set()

    def _carry_out(self, outputs: Sequence[viewed.Output]) -> None:
        for output in outputs:
            kind = type(output)
            if kind is viewed.ToPeers:
                item = output.item  # type: ignore[union-attr]
                for name in output.names:  # type: ignore[union-attr]
                    link = self._links.get(name)
                    if link is not None and link.connected and not self._lags_s:
                        link.put(item)
                    else:
                        self._transmit(name, item)
            elif kind is viewed.ToPeer:
                self._transmit(output.name, output.item)  # type: ignore[union-attr]
            elif kind is Delivery:
                self.counters.deliveries += 1
                self._inbox.append(output)  # type: ignore[arg-type]
                if self._recording is not None:
                    self._recording.deliver(output)  # type: ignore[arg-type]
            else:
                self._carry_out_rarely(output)
        if self._inbox and not self._arrival.is_set():
            self._arrival.set()

    def _transmit(self, name: str, item: bytes) -> None:
        link = self._links.get(name)
        if link is None:
            if is_membership(item) and name in self._addresses:
                # Somebody who is no member any more talks to us, and has to be told so.
                self._links[name] = self._dial(name, self._addresses[name])
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
            self._links[name].put(item)

    def _carry_out_rarely(self, output: viewed.Output) -> None:
        match output:
            case Wake():
                self._wake_not_later_than(output.at)
            case Sent():
                self.counters.stamp_bytes += output.stamp_bytes
                if self._recording is not None:
                    self._recording.send(output, self._core.name_of)
            case Arrived():
                if self._recording is not None:
                    self._recording.receive(output, self._core.name_of)
            case viewed.Known():
                self._know(output.name, output.address)
            case ViewChanged():
                self._change_view(output)
            case Notice():
                self._put(output)
            case viewed.Suspended():
                self.condition = "interrupted"
                self._log("interrupted", reached=output.reached)
                self._put(Interrupted(output.reached))
            case viewed.Resumed():
                self.condition = "member"
                self._log("restored")
                self._put(Restored())
                self._progress.set()
            case viewed.Reborn():
                self._be_reborn(output.incarnation)
            case viewed.Left():
                self._left = True
                self.condition = "left"
                self._log("left")
                self._arrival.set()
                self._progress.set()

    def _change_view(self, change: ViewChanged) -> None:
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
        self._put(event)
        for name in event.departed:
            if name not in event.members:
                self._part(name)
        for member in change.joined:
            self._meet(names(member), member.incarnation)
        self._waiting_since.clear()
        self._reported.clear()
        self._progress.set()

    def _be_reborn(self, incarnation: int) -> None:
        """Begin anew: everybody has to greet this process again."""
        self.incarnation = incarnation
        if self._recording is not None:
            self._recording.begin(incarnation)
        addresses = dict(self._addresses)
        self._drop_links()
        self._listener.drop(self.name)
        self.received.clear()
        self.condition = "excluded"
        self._log("excluded", incarnation=incarnation)
        self._put(Excluded())
        for name, address in addresses.items():
            self._know(name, address)

    def _wake_not_later_than(self, at: float) -> None:
        if at in self._wakes:
            return
        heappush(self._wakes, at)
        if self._wakes[0] == at:
            self._set_alarm()

    def _set_alarm(self) -> None:
        if self._wake_handle is not None:
            self._wake_handle.cancel()
        self._wake_handle = asyncio.get_running_loop().call_at(self._wakes[0], self._wake)

    def _wake(self) -> None:
        # The loop may be early by the resolution of its clock.
        now = max(self._now(), self._wakes[0])
        while self._wakes and self._wakes[0] <= now:
            heappop(self._wakes)
        try:
            self._carry_out(self._core.wake(now))
        except AntecedeError as error:
            self._fail(error)
        if self._wakes:
            self._set_alarm()

    def _tick(self) -> None:
        if self._failure is not None or self._listener.groups.get(self.name) is not self:
            return
        named = [name for name, link in self._links.items() if link.connected]
        try:
            self._carry_out(self._core.tick(named, self._now()))
            if self._recording is not None:
                self._recording.flush()
            if self._settings.missing_after_s is not None:
                self._look_for_missing(self._settings.missing_after_s)
        except AntecedeError as error:
            self._fail(error)
        self._progress.set()
        self._ticker = asyncio.get_running_loop().call_later(_TICK_S, self._tick)

    def _look_for_missing(self, limit_s: float) -> None:
        held = {one.message: one for one in self._core.held()}
        for message in [message for message in self._waiting_since if message not in held]:
            del self._waiting_since[message]
        for (message, one), missing in zip(held.items(), self.held(), strict=True):
            if missing.waited_s >= limit_s and message not in self._reported:
                self._reported.add(message)
                self._log("missing", sender=missing.sender, number=missing.number)
                self._put(missing)
                if self._settings.on_missing == "exclude":
                    self._carry_out(self._core.shun(one))

    # -- links

    def _know(self, name: str, address: Address) -> None:
        """This is where a process listens: make sure that there is a link to it."""
        if name == self.me:
            return
        if self._addresses.get(name) == address and name in self._links:
            return
        self._hang_up(name)
        self._addresses[name] = address
        for link in self._unnamed:
            if link.address == address:
                self._end(link)
                self._unnamed.remove(link)
                break
        self._links[name] = self._dial(name, address)

    def _meet(self, name: str, incarnation: int) -> None:
        """A process has come in: a link that has led to a former life of it will not do, for what
        is put on it would be dropped with what was for that."""
        link = self._links.get(name)
        if name == self.me or (link is not None and link.incarnation in (None, incarnation)):
            return
        address = self._core.address_of(name)
        self._hang_up(name)
        self._addresses[name] = address
        self._links[name] = self._dial(name, address)

    def _dial(self, name: str | None, address: Address) -> Outgoing:
        self._dialled += 1
        number = self._dialled

        def hello() -> Hello:
            group, protocol = self.name, self.protocol_text
            return Hello(VERSION, group, protocol, self.me, self.incarnation, name, number)

        link = Outgoing(
            name,
            address,
            hello,
            self._listener.security,
            self.limits,
            self._welcomed,
            self._progress.set,
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
                is_final = error.is_final or self._now() > self._started + _PATIENCE_S
                if link in self._unnamed and is_final:
                    self._unnamed.remove(link)
                    self._refusals.append(f"{link.address[0]}:{link.address[1]}: {error}")
                    if len(self._refusals) >= len(self._seeds) and not self.members:
                        reasons = "; ".join(self._refusals)
                        self._fail(Refused(f"'{self.me}' may not join '{self.name}': {reasons}"))
                    return
                await asyncio.sleep(_REFUSED_S)
            except AntecedeError as error:
                self._fail(error)
                return

    def _log(self, event: str, **facts: Any) -> None:
        log(event, group=self.name, name=self.me, **facts)

    def _fail(self, error: AntecedeError) -> None:
        self._log("failed", reason=str(error))
        self._failure = error
        self._arrival.set()
        self._progress.set()

    def _welcomed(self, link: Outgoing, welcome: Welcome) -> None:
        self._log("connected", peer=welcome.receiver, reconnections=link.reconnections)
        if link in self._unnamed:
            self._unnamed.remove(link)
            former = self._links.get(welcome.receiver)
            if former is not None:
                self._end(link)
                return
            self._links[welcome.receiver] = link
            self._addresses[welcome.receiver] = link.address
        self._carry_out(self._core.welcomed(welcome.receiver, self._now()))

    def _part(self, name: str) -> None:
        """A process is no member any more. What it has to hear of that is on its way."""
        link = self._links.get(name)
        if link is None or link.is_full or not link.connected:
            self._hang_up(name)
            return

        def hang_up() -> None:
            if self._links.get(name) is link and name not in self.members:
                self._hang_up(name)

        asyncio.get_running_loop().call_later(_PARTING_S, hang_up)

    def _hang_up(self, name: str) -> None:
        link = self._links.pop(name, None)
        if link is not None:
            self._end(link)

    def _end(self, link: Outgoing) -> None:
        task = self._tasks.pop(link, None)
        if task is not None:
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            task.cancel()

    def _drop_links(self) -> None:
        for link in [*self._links.values(), *self._unnamed]:
            self._end(link)
        self._links.clear()
        self._unnamed.clear()
