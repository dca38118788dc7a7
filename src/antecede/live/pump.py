"""What moves behind a group: what the links bring is fed to the pure machine (`machine`),
and what that returns is carried out. No task or future is made for a message.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final

from antecede.errors import AntecedeError, BrokenInvariant, Misuse
from antecede.files import write_whole
from antecede.live.alarm import Alarm
from antecede.live.durable.journal import Journal
from antecede.live.durable.write_ahead import WriteAhead
from antecede.live.events import (
    Counted,
    Excluded,
    Gap,
    Interrupted,
    Missing,
    Restored,
    Settings,
    State,
    StateWanted,
)
from antecede.live.inbox import Inbox
from antecede.live.logs import LOGGER, log, log_warning
from antecede.live.lookout import Lookout
from antecede.live.machine import Machine
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.confirmed import FullyDelivered
from antecede.live.ordering.effects import Arrived, Delivery, Sent, ToPeers, ViewChange
from antecede.live.ordering.epoch import TooEarly
from antecede.live.ordering.items import decode_items
from antecede.live.outputs import (
    Dropped,
    Kept,
    Known,
    Left,
    Moved,
    OlderLog,
    Output,
    ReadPast,
    Recall,
    Remember,
    Told,
    ToPeer,
)
from antecede.live.patience import Patience
from antecede.live.recorder import Recorder
from antecede.live.seeds import SeedFinder, SomeSeeds
from antecede.live.ticking import Ticker
from antecede.live.transmission import Transmission
from antecede.live.transport.frames import BadFrame
from antecede.live.transport.handshake import VERSION, Hello
from antecede.live.transport.incoming import Listener, Received
from antecede.live.transport.links import LinkOwner, Links
from antecede.live.transport.outgoing import Address
from antecede.order import Notice, Wake

_DELIVERIES: Final = frozenset((Delivery,))


class Pump:
    """One process in one group."""

    def __init__(
        self,
        name: str,
        core: Machine,
        listener: Listener,
        peers: Sequence[Address],
        settings: Settings,
        may_join: Callable[[str], bool],
        recording: Recorder | None,
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
        self.core = core
        self._machine = core if isinstance(core, MemberMachine) else None
        """The same where members come and go: what overlays do not do is asked of this one."""
        self._listener = listener
        self.settings = settings
        self.recording = recording
        self.write_ahead: WriteAhead | None = None
        """Of a durable member."""
        if journal is not None:
            self.write_ahead = WriteAhead(
                journal, lambda outputs: self.carry_out(outputs, kept=True), self.fail
            )
        self._stamp_type = core.stamp_type
        self._progress: asyncio.Event = asyncio.Event()
        """Set whenever a sender that waits should look again."""
        self._alarm = Alarm(self._wake)
        self._ticker = Ticker(self._tick, self._note_stall)
        self._waiting = 0
        """Tasks that wait for something to change."""
        self.counters = Counted()
        self.view_number = 0
        self.condition = "joining"
        """joining, member, interrupted, excluded or left: for people."""
        self.has_left = False
        self.is_leaving = False
        self._told_to_leave = False
        self.failure: AntecedeError | None = None
        self._patience = Patience(core)
        self._dialled = Links(
            LinkOwner(
                name,
                self.me,
                self._hello,
                self._welcomed,
                self._progress.set,
                self.fail,
                lambda other: other in self.members,
                lambda: bool(self.members),
                core.lets_back_in,
            ),
            [address for address in peers if address != core.identity.address],
            listener.security,
            settings.links,
            keeps_asking=bool(seeds),
        )
        self.links = self._dialled.by_name
        self.transmission = Transmission(
            self._dialled,
            lambda other: other in self.members,
            self._act,
            repairs_loss=core.repairs_loss,
            lags_s=settings.lags_s,
            run_bytes=settings.links.item_bytes // 2,
        )
        self._finder: SeedFinder | None = None
        if seeds:
            self._finder = SeedFinder(
                seeds,
                core.identity.address,
                found=self._dialled.seek,
                is_own=core.be_seed,
                is_in=lambda: bool(self.members),
                failed=self.fail,
            )
        self._joining_since = 0.0
        self.inbox = Inbox(core.take, self._report_taken, self.write_ahead)
        self.lookout = Lookout(
            name, core, self._dialled, self._finder, settings, self.inbox, self.fail
        )

    @property
    def members(self) -> tuple[str, ...]:
        """The members of the current view; empty before the first."""
        return self.core.members()

    # -- life

    def start(self) -> None:
        self._listener.groups[self.name] = self
        if self.write_ahead is not None:
            self.inbox.events += self.write_ahead.recalled()
        self._dialled.start()
        if self._finder is not None:
            self._finder.start()
        self._joining_since = self.now()
        self.carry_out(self.core.start(self.now()))
        self._ticker.tick()

    async def close(self) -> None:
        """Stop at once, without a word to the others."""
        self.has_left = True
        self._listener.groups.pop(self.name, None)
        self._alarm.cancel()
        self._ticker.stop()
        if self._finder is not None:
            self._finder.stop()
        self._dialled.drop()
        self._listener.drop(self.name)
        await self._dialled.ended()
        if self.write_ahead is not None:
            self.write_ahead.close()
        if self.recording is not None:
            self.recording.close("leave" if self.condition == "left" else "crash")
        self.inbox.arrival.set()
        self._progress.set()

    async def leave(self, drain_s: float) -> None:
        """Leave, after what was sent has reached everybody or the time is over. If it is cancelled
        before the others are told, this process is a member as before; after that it is about to
        leave, and `leave` may be called again."""
        if self.has_left or self.failure is not None:
            return
        self.is_leaving = True
        try:
            async with asyncio.timeout(drain_s):
                await self.until(lambda: not self.core.unsettled)
                if not self._told_to_leave:
                    self._told_to_leave = True
                    self.carry_out(self.core.leave(self.now()))
                await self.until(lambda: self.has_left)
                await self.until(lambda: self.transmission.has_left)
        except TimeoutError:
            pass  # So be it.
        except asyncio.CancelledError:
            self.is_leaving = self._told_to_leave
            raise
        self.has_left = True

    def membership(self) -> MemberMachine:
        """For what members of a group do, and processes of an overlay do not."""
        if self._machine is None:
            raise Misuse(
                f"{self.core.protocol} is an overlay: it has no contexts, hands no state to "
                "newcomers, and decides by itself whom it goes on without"
            )
        return self._machine

    # -- for the listener

    def take(self, sender: str, incarnation: int, items: memoryview) -> None:
        """A batch from a peer."""
        if self.failure is not None:
            return
        try:
            decoded = decode_items(items, self._stamp_type)
            outputs = self.core.receive(sender, incarnation, decoded, self.now())
        except TooEarly:
            raise
        except Exception as error:
            # Whatever it is, these bytes are the reason: their sender's link ends, and no more.
            facts = {"event": "accused", "group": self.name, "name": self.me, "peer": sender}
            what = f"'{sender}' sent '{self.me}' what cannot be right: {error!r}"
            log_warning(what, **facts, reason=repr(error))
            self._act(lambda: self.core.accuse(sender, self.now()))
            raise BadFrame(f"{type(error).__name__}: {error}") from error
        self._act(lambda: outputs)
        if self._ticker.is_calm and self.core.has_news:
            self._ticker.hurry()

    def key_for(self, name: str, incarnation: int) -> bytes:
        """By which this process knows that life of another one where others hand on its words."""
        return self.core.key_for(name, incarnation)

    def _act(self, think: Callable[[], Sequence[Output]]) -> None:
        """Let the machine think, and carry out what it wants. An error here is this member's own:
        it fails, in so many words, and is silent from then on, so that the others go on."""
        try:
            self.carry_out(think())
        except AntecedeError as error:
            self.fail(error)
        except Exception as error:  # noqa: BLE001 - it is not lost in a callback of the loop
            self.fail(BrokenInvariant(f"{type(error).__name__}: {error}"))
            LOGGER.exception("antecede failed")

    # -- for the application

    async def until(self, condition: Callable[[], bool]) -> None:
        self._waiting += 1
        self._ticker.hurry()
        try:
            while not condition():
                self._progress.clear()
                await self._progress.wait()
        finally:
            self._waiting -= 1

    def _report_taken(self) -> None:
        self.carry_out(self.core.tick((), self.now(), len(self.inbox.events)))

    def held(self) -> list[Missing]:
        """What has arrived and is not delivered, and what each message waits for."""
        return self._patience.held(self.now())

    # -- inside

    @staticmethod
    def now() -> float:
        return asyncio.get_running_loop().time()

    def carry_out(self, outputs: Sequence[Output], *, kept: bool = False) -> None:
        if self.write_ahead is not None and not kept:
            self.write_ahead.stage(outputs)
            return
        inbox = self.inbox
        if self.recording is None and _DELIVERIES.issuperset(map(type, outputs)):
            self.counters.deliveries += len(outputs)  # As what a link brings mostly comes to.
            inbox.events.extend(outputs)  # type: ignore[arg-type]
            outputs = ()
        for output in outputs:
            kind = type(output)
            if kind is ToPeers:
                self.transmission.to_all(output)  # type: ignore[arg-type]
            elif kind is ToPeer:
                self.transmission.to_one(output.name, output.item)  # type: ignore[union-attr, arg-type]
            elif kind is Delivery:
                self.counters.deliveries += 1
                inbox.events.append(output)  # type: ignore[arg-type]
                if self.recording is not None:
                    self._record(output)  # type: ignore[arg-type]
            else:
                self._carry_out_rarely(output)
        if inbox.events and not inbox.arrival.is_set():
            inbox.arrival.set()

    def _carry_out_rarely(self, output: Output) -> None:
        match output:
            case Wake():
                self._alarm.set(output.at)
            case Sent():
                self.counters.stamp_bytes += output.stamp_bytes
                if self.recording is not None:
                    self.recording.send(output, self.core.name_of, self.core.own_base)
            case Arrived():
                if self.recording is not None:
                    base = self.core.base_of(output.sender)
                    self.recording.receive(output, self.core.name_of, base)
            case Known():
                if output.incarnation is not None:
                    self._dialled.meet(output.name, output.incarnation, output.address)
                elif output.name != self.me:
                    self._dialled.know(output.name, output.address, dials=output.is_wanted)
            case ViewChange():
                self._tell_view(output)
                self._relink(output)
            case Moved():
                self._relink(output.change)
            case Told():
                self._tell_view(output.change)
            case FullyDelivered():
                self.counters.fully.count += 1
                self.counters.fully.sum_s += output.since_s
                self.inbox.put(output)
            case State() | StateWanted() | Gap() | Notice():
                self._log(type(output).__name__.lower())
                self.inbox.put(output)
            case Interrupted():
                self.condition = "interrupted"
                self._log("interrupted", reached=output.reached)
                self.inbox.put(output)
            case Restored():
                self.condition = "member"
                self._log("restored")
                self.inbox.put(output)
                self._progress.set()
            case Excluded():
                self._begin_anew(output)
            case Left():
                self.has_left = True
                self.condition = "left"
                asyncio.get_running_loop().call_soon(self._dialled.ask)  # After the last words.
                self._log("left")
                self.inbox.arrival.set()
                self._progress.set()
            case _:
                self._carry_out_with_memory(output)

    def _carry_out_with_memory(self, output: Output) -> None:
        """What has to do with a log, or with stable memory."""
        match output:
            case Kept():
                self._deliver_kept(output)
            case Dropped():
                self._record(output.delivery)
            case Remember():
                write_whole(output.file, output.memory, durable=True)
            case OlderLog() if self.write_ahead is not None:
                self.fail(self.write_ahead.refused(output, self.me))
            case ReadPast() if self.write_ahead is not None:
                answer = self.write_ahead.read_past(output)
                self.transmission.to_one(answer.name, answer.item)
            case Recall() if self.write_ahead is not None:
                found = self.write_ahead.journal.own(output.after, output.upto)
                self.carry_out(self.membership().recalled(found, self.now()))

    def _deliver_kept(self, kept: Kept) -> None:
        """What a durable member delivers is in its log by now."""
        self.counters.deliveries += 1
        if self.write_ahead is not None:
            self.write_ahead.waits(kept)
        self.inbox.put(kept.delivery)
        if kept.is_counted:
            self._record(kept.delivery)

    def _record(self, delivery: Delivery) -> None:
        if self.recording is not None and delivery.member is not None:
            self.recording.deliver(delivery, self.core.base_of(delivery.member))

    def _tell_view(self, change: ViewChange) -> None:
        if self.recording is not None:
            self.recording.view(change.lamport, change.number, change.members)
        self.counters.views += 1
        self._log("view", number=change.number, members=change.members, departed=change.departed)
        self.view_number = change.number
        self.condition = "member"
        self.lookout.is_in()
        self.inbox.put(change)
        self._patience.begin()
        self._progress.set()

    def _relink(self, change: ViewChange) -> None:
        for name in change.departed:
            if name not in change.members:
                self._dialled.part(name)
        for name, life in zip(change.members, change.lives, strict=True):
            if name != self.me:
                self._dialled.meet(name, life.incarnation, self.core.address_of(name))

    def _begin_anew(self, excluded: Excluded) -> None:
        """Everybody has to greet this process again."""
        self.incarnation = excluded.incarnation
        if self.recording is not None:
            self.recording.begin(self.incarnation)
        addresses = dict(self._dialled.addresses)
        self._dialled.drop()
        self._listener.drop(self.name)
        self.received.clear()
        self.inbox.begin_anew()
        self.condition = "excluded"
        self._joining_since = self.now()
        self._log("excluded", incarnation=self.incarnation)
        self.inbox.put(excluded)
        for name, address in addresses.items():
            self._dialled.know(name, address)
        if self._finder is not None:
            self._finder.looked = False

    def _note_stall(self, seconds: float) -> None:
        """Tell own stalls from others' silence."""
        self.core.excuse(seconds, self.now())
        self.counters.stalls += 1

    def _wake(self, now: float) -> None:
        self._ticker.note_stall()
        if self.failure is not None:
            return  # Silent from now on, so that the others go on without this process.
        self._act(lambda: self.core.wake(now))

    def _tick(self) -> bool | None:
        if self.failure is not None or self._listener.groups.get(self.name) is not self:
            return None
        self._act(self._look_around)
        self._progress.set()
        return not (self._waiting or self.inbox.events or self.core.has_news)

    def _look_around(self) -> Sequence[Output]:
        """What has to be done now and then."""
        there: Sequence[str] = ()
        if self._is_outside:
            self.lookout.tell_waiting(self.now() - self._joining_since)
            there = [name for name, link in self.links.items() if link.connected]
        if self.recording is not None:
            self.recording.flush()
        if self.settings.missing_after_s is not None:
            self._look_for_missing(self.settings.missing_after_s)
        for name in self.lookout.look_for_slow(len(self.inbox.events), self.now()):
            self.carry_out(self.membership().find_slow(name))
        tried_all = self._finder is None or (self._finder.looked and self._dialled.tried_all)
        waiting = len(self.inbox.events)
        return self.core.tick(there, self.now(), waiting, tried_all=tried_all)

    @property
    def _is_outside(self) -> bool:
        return self.condition in ("joining", "excluded")

    def waits_for(self) -> dict[str, str]:
        """While this process is not in the group: by peer, why not. Under the empty name, what is
        missing besides."""
        return self.lookout.waits_for() if self._is_outside else {}

    def _look_for_missing(self, limit_s: float) -> None:
        for held, missing in self._patience.exhausted(limit_s, self.now()):
            self._log("missing", sender=missing.sender, number=missing.number)
            self.inbox.put(missing)
            if self.settings.on_missing == "exclude":
                self.carry_out(self.membership().shun(held, self.now()))

    def _hello(self, receiver: str | None, link: int) -> Hello:
        group, protocol = self.name, self.protocol_text
        return Hello(VERSION, group, protocol, self.me, self.incarnation, receiver, link)

    def _welcomed(self, name: str, incarnation: int, key: bytes) -> None:
        self._act(lambda: self.core.welcomed(name, incarnation, self.now(), key))
        self._progress.set()

    def _log(self, event: str, **facts: Any) -> None:
        log(event, group=self.name, name=self.me, **facts)

    def fail(self, error: AntecedeError) -> None:
        if self.failure is not None:
            return
        self._log("failed", reason=str(error))
        self.failure = error
        self.inbox.arrival.set()
        self._progress.set()
