"""The loop: virtual time, the event queue, the processes, and what happens between them.

An event is ``(time, sequence, process, packet, flight)``. The sequence counts events in the order
in which they were scheduled, so ties are broken the same way every time. Where `packet` is None,
the event is no arrival and `flight` is what to do instead. Nothing outlives a run and nothing is
shared between runs: any number of them can go on in one process or in many.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import Any, Protocol

import msgspec

from antecede.errors import BrokenInvariant, MalformedStamp
from antecede.message import Message, MessageId, ProcessSet, members, process_set
from antecede.order import (
    Deliver,
    Effect,
    Event,
    Notice,
    Options,
    Order,
    Packet,
    Stamp,
    TakeBack,
    Transmit,
    Wake,
)
from antecede.overlays import Overlay
from antecede.simulate.excuses import Excuses, Telling, mark, telling
from antecede.simulate.fully import Fully, LastDeliveries
from antecede.simulate.leftover import Left, Leftover, explain
from antecede.simulate.lesser import group_of, make_order, scope_of
from antecede.simulate.links import Fate, Links
from antecede.simulate.notices import Chronicle, Fault, Noticed
from antecede.simulate.recorder import Recorder
from antecede.simulate.records import ARRIVE, HOP_DELIVER, HOP_RECEIVE, HOP_SEND, pack_record
from antecede.simulate.regrouping import Regroupings
from antecede.simulate.sampling import Carried as CarriedSoFar
from antecede.simulate.sampling import StateSampler
from antecede.simulate.scenario import Scenario
from antecede.simulate.undoing import Undoing, Undone
from antecede.simulate.workload import Send, traffic_of
from antecede.trace import CRASH, DELIVER, JOIN, NO_STAMP, RECEIVE, SEND, VIEW
from antecede.wire import encode_stamp

Entry = tuple[float, int, int, Packet[Any] | None, Any]
Receiver = Callable[[Packet[Any], float], list[Effect]]
Progress = Callable[[int], object]
"""Is told now and then how many messages have been sent."""

_CHUNK = 4096
"""Events between two looks at the recorder."""
_MEMBER_LISTS = 1024
"""Destination sets whose members are remembered."""


class Flight(msgspec.Struct, gc=False):
    """A message on its way: who has not received it, and who holds it without having delivered
    it."""

    unreceived: ProcessSet
    held: ProcessSet
    sent: float
    tag: int
    destinations: ProcessSet
    fates: dict[int, Fate] | None = None
    """What will happen to the copies that the protocol has not transmitted yet."""

    def left(self, message: MessageId) -> Left:
        """Its state at the end of a run."""
        delivered = self.destinations & ~self.unreceived & ~self.held
        return Left(message, self.unreceived, self.held, delivered)


class Observer(Protocol):
    """Is told what happens in a run, besides deliveries."""

    def sent(self, packet: Packet[Any]) -> None:
        """A process hands a packet to the network; the usual broadcast of plain protocols, whose
        copies are all alike, is left out."""

    def noticed(self, notice: Notice, now: float) -> None:
        """A process tells something."""

    def struck(self, process: int, fault: str) -> None:
        """A process crashes, returns or arrives."""


class Carried:
    """What the network carried: packets and the bytes of their stamps."""

    __slots__ = ("packets", "stamp_bytes")

    def __init__(self) -> None:
        self.packets = 0
        self.stamp_bytes = 0

    def add(self, packets: int, stamp_bytes: int) -> None:
        self.packets += packets
        self.stamp_bytes += packets * stamp_bytes


class Simulation:
    """One run of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        recorder: Recorder,
        order_type: type[Order] | None = None,
        *,
        survivors: Sequence[int] | None = None,
        observer: "Observer | None" = None,
    ) -> None:
        """Where the `survivors` are known, every message has its mark for a payload, and their
        states are kept when a gap is told (`antecede.simulate.excuses`). The `observer` is told
        what happens."""
        membership = scenario.membership
        make = self._make = order_type or scenario.order
        self._marked_for = survivors
        self._observer = observer
        self._told_gaps: dict[Telling, bytes] = {}
        options: Options = scenario.order_options
        if not isinstance(options, make.options_type):  # a variant has them in a class of its own
            options = msgspec.convert(options, make.options_type, from_attributes=True)
        self._scenario = scenario
        self._recorder = recorder
        self._orders: list[Order] = [
            make_order(scenario, make, process, membership, options)
            for process in range(membership.size)
        ]
        self._receivers: list[Receiver | None] = [self._receiver(order) for order in self._orders]
        """None at a process that has crashed, or has not come yet."""
        self._dead: ProcessSet = 0
        self._successors: dict[int, int] = {}
        """By process that crashed, the one as which it has come back, once that is a member."""
        self._awaited: dict[int, int] = {}
        """By process that asks to be let in, the one that it was before."""
        self.outside: dict[int, float] = {}
        """Who has asked to be let in, since when, while there was something left to happen."""
        self._absent = process_set(newcomer.process for newcomer in scenario.newcomers)
        """Who has not been let in yet, and comes for the first time."""
        self._is_overlay = issubclass(make, Overlay)
        self._hops: dict[MessageId, ProcessSet] = {}
        """Of the hop messages on their way, who has not received them."""
        self._links = Links(scenario)
        self._is_plain = (
            self._links.application.is_plain and self._links.is_direct and not self._is_overlay
        )
        self._traffic = traffic_of(scenario)
        self._opening = self._traffic.opening()
        self._next_opening: Send | None = None
        self._heap: list[Entry] = []
        self._sequence = count()
        self._bits = [1 << process for process in range(membership.size)]
        self._numbers = [0] * membership.size
        self._payload = bytes(scenario.payload_bytes)
        self._outstanding: dict[MessageId, Flight] = {}
        self._arrived: list[dict[MessageId, float]] = [{} for _ in self._orders]
        """By process, the held messages and when they arrived."""
        self._wakes: set[tuple[int, float]] = set()
        self._sends_due = 0
        self._last_progress = (0, 0.0)
        self._member_lists: dict[ProcessSet, tuple[int, ...]] = {}
        self._stamp: Stamp | None = None
        self._stamp_size = (NO_STAMP, NO_STAMP)
        self.now = 0.0
        self.events = 0
        self.peak_queue = 0
        self._sampler: StateSampler | None = None
        self.copies = Carried()
        self.control = Carried()
        self.chronicle = Chronicle()
        self._undelivered_for_crashed = 0
        self._flights: dict[MessageId, Flight] = {}
        """All messages, where deliveries may be taken back,"""
        self._for_crashed: Counter[MessageId] = Counter()
        """and how many of their copies were for crashed processes."""
        if make.traits.takes_back:
            recorder.undoing = Undoing()
        if scenario.fully_delivered is not None:
            recorder.last_deliveries = LastDeliveries()
        self._regroupings: Regroupings | None = None
        if scenario.regroupings:
            self._regroupings = Regroupings(scenario, self._orders, self._traffic, self)

    @property
    def orders(self) -> Sequence[Order]:
        """The protocol at each process, for whoever judges the run."""
        return self._orders

    @property
    def notices(self) -> Mapping[Notice, Noticed]:
        """What the protocol has told."""
        return self.chronicle.notices

    def leftover(self) -> Leftover:
        """Why what is undelivered is so."""
        left = [flight.left(id_) for id_, flight in self._outstanding.items()]
        return explain(left, self._undelivered_for_crashed, self._dead, self.excuses)

    @cached_property
    def excuses(self) -> Excuses:
        """What the run excuses, when it is over."""
        return Excuses(self._scenario, self.chronicle, self._dead, self.now, self._marked_states)

    def _marked_states(self) -> Mapping[Telling, bytes]:
        """The same run with a mark in every message: what the survivors had when gaps were told."""
        again = Simulation(
            self._scenario, Recorder(None, None), self._make, survivors=self._survivors()
        )
        again.run()
        return again._told_gaps

    def _survivors(self) -> list[int]:
        return [process for process, receive in enumerate(self._receivers) if receive is not None]

    def run(self, progress: Progress | None = None, states: StateSampler | None = None) -> None:
        """Until nothing is left to happen. `states` looks at the processes now and then, and at the
        traffic with every send."""
        self._sampler = states
        done = 0
        for crash in self._scenario.crashes:
            self._schedule(crash.time_s, self._scenario.index(crash.process), self._crash)
        for latecomer in self._scenario.latecomers:
            self._receivers[latecomer.process] = None
            self._schedule(latecomer.time_s, latecomer.process, self._join)
        if self._regroupings is not None:
            self._regroupings.begin()
        self._schedule_next_opening()
        try:
            while self._heap:
                done += min(len(self._heap), _CHUNK)
                self._run_some()
                if states is not None and done >= states.due:
                    states.look(self._orders, done)
                if self._recorder.flush_if_full() and progress is not None:
                    progress(self._recorder.messages)
        except MalformedStamp as error:
            name = self._scenario.protocol
            raise BrokenInvariant(f"{name} refuses what it has made itself: {error}") from error
        self._recorder.flush()
        self.events = next(self._sequence)

    def _run_some(self) -> None:
        """Some thousand events at most. The branch for a packet whose message is delivered at once
        is the hot spot of the simulator; everything else goes through the methods below."""
        heap, receivers, bits = self._heap, self._receivers, self._bits
        buffer, outstanding, reacts = self._recorder.buffer, self._outstanding, self._traffic.reacts
        now = self.now
        for _ in range(min(len(heap), _CHUNK)):
            now, _, process, packet, flight = heappop(heap)
            if packet is None:
                flight(process, now)
                continue
            receive = receivers[process]
            if receive is None:
                continue
            effects = receive(packet, now)
            bit = bits[process]
            if flight is not None and (unreceived := flight.unreceived) & bit:
                message = packet.message
                unreceived = flight.unreceived = unreceived ^ bit
                sender, number = message.id  # type: ignore[union-attr]
                if (
                    len(effects) == 1
                    and type(effect := effects[0]) is Deliver
                    and effect.message is message
                ):
                    buffer += pack_record(ARRIVE, process, sender, number, now, flight.sent, now)
                    if not unreceived and not flight.held:
                        del outstanding[message.id]
                    if reacts:
                        self._react(process, flight.tag, now, own=False)
                    continue
                buffer += pack_record(RECEIVE, process, sender, number, now, flight.sent, now)
                flight.held |= bit
                self._arrived[process][message.id] = now  # type: ignore[union-attr]
            if effects:
                self._apply(process, effects, now)
            self.peak_queue = max(self.peak_queue, len(self._arrived[process]))
        self.now = now

    def _schedule(self, time: float, process: int, action: Callable[[int, float], None]) -> None:
        heappush(self._heap, (time, next(self._sequence), process, None, action))

    def _schedule_next_opening(self) -> None:
        """Opening sends are scheduled one at a time, so that they need no room in the queue."""
        send = self._next_opening = next(self._opening, None)
        if send is not None:
            self._sends_due += 1
            self._schedule(send.time, send.process, self._open)

    def _open(self, process: int, now: float) -> None:
        if self._next_opening is not None:
            self._send(self._next_opening, now)
            self._schedule_next_opening()

    def _react(self, process: int, tag: int, now: float, own: bool) -> None:
        """A delivery causes sends, which happen after everything else that happens now."""
        if process >= self._scenario.applications.size and not self._is_overlay:
            process = self._scenario.latecomer(process).before
        for send in self._traffic.delivered(process, tag, now, own):
            self._sends_due += 1
            self._schedule(now, process, partial(self._answer, send))

    def _answer(self, send: Send, process: int, now: float) -> None:
        self._send(send, now)

    def _send(self, send: Send, now: float) -> None:
        """The application of a process sends a message."""
        if self._regroupings is not None:
            admitted = self._regroupings.admit(send)
            if admitted is None:
                self._sends_due -= not self._regroupings.is_flushing
                return
            send = admitted
        self._sends_due -= 1
        if self._successors or self._absent:
            send = self._current(send)
        process, destinations = send.process, send.destinations
        if self._receivers[process] is None or not destinations:
            return
        if self._sampler is not None:
            self._sampler.carried.append(
                CarriedSoFar(
                    now,
                    self.copies.packets,
                    self.copies.stamp_bytes,
                    self.control.packets,
                    self.control.stamp_bytes,
                )
            )
        number = self._numbers[process] = self._numbers[process] + 1
        id_ = MessageId(process, number)
        payload = self._payload if self._marked_for is None else mark(id_)
        group = group_of(self._scenario, send.tag, send.group)
        message = Message(id_, destinations, group, payload)
        own = destinations & self._bits[process]
        others = destinations ^ own
        dead = others & self._dead
        self._count_for_crashed(id_, dead.bit_count())
        flight = self._outstanding[id_] = Flight(others ^ dead, own, now, send.tag, destinations)
        if self._recorder.undoing is not None:
            self._flights[id_] = flight
        if not flight.unreceived | own:
            del self._outstanding[id_]
        effects = self._orders[process].send(message, now)
        if self._scenario.incomplete is not None:
            scope = scope_of(self._scenario, self._orders[process], message)
            self._recorder.note_scope(id_, scope)
        self._recorder.buffer += pack_record(SEND, process, process, number, now, now, now)
        copies = self._members(others)
        lane = self._links.application
        first = effects[0] if self._is_plain and effects else None
        if type(first) is Transmit and first.to == others and first.packet.message is message:
            # One stamp for all, over links that only delay: the usual case, and worth a short cut.
            packet = first.packet
            size = self._measure(packet.stamp)
            self._recorder.sends.append((destinations, *size))
            self.copies.add(len(copies), size[1])
            heap, next_sequence = self._heap, self._sequence.__next__
            for destination, delay in zip(copies, lane.delays(process, len(copies)), strict=True):
                heappush(heap, (now + delay, next_sequence(), destination, packet, flight))
            effects = effects[1:]
        else:
            self._recorder.sends.append((destinations, *self._size_of_copies(message, effects)))
            if not self._is_overlay:
                flight.fates = dict(zip(copies, lane.fates(process, copies), strict=True))
        if effects:
            self._apply(process, effects, now)

    def _size_of_copies(self, message: Message, effects: Iterable[Effect]) -> tuple[int, int]:
        """Elements and bytes of the largest stamp that a message sets out with."""
        entries = stamp_bytes = NO_STAMP
        for effect in effects:
            if type(effect) is Transmit and (
                effect.packet.message is message or effect.packet.stamp.messages()
            ):
                size = self._measure(effect.packet.stamp)
                entries, stamp_bytes = max(entries, size[0]), max(stamp_bytes, size[1])
        return entries, stamp_bytes

    def _measure(self, stamp: Stamp) -> tuple[int, int]:
        """Elements and bytes of a stamp. The same one is often met several times in a row."""
        if stamp is not self._stamp:
            self._stamp = stamp
            size = len(encode_stamp(stamp)) - stamp.payload_bytes()
            self._stamp_size = (stamp.entries(), size)
        return self._stamp_size

    def _apply(self, process: int, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Deliver:
                self._deliver(process, effect.message, now)  # type: ignore[union-attr]
            elif kind is Transmit:
                self._transmit(process, effect.packet, effect.to, now)  # type: ignore[union-attr]
            elif kind is Wake:
                self._ask_to_wake(process, max(now, effect.at))  # type: ignore[union-attr]
            elif kind is Notice:
                self._notice(process, effect, now)  # type: ignore[arg-type]
            elif kind is TakeBack:
                self._take_back(process, effect, now)  # type: ignore[arg-type]
            else:
                raise BrokenInvariant(f"{self._scenario.protocol} wants {effect!r}, no effect")

    def _notice(self, process: int, notice: Notice, now: float) -> None:
        if notice.event is Event.VIEW:
            if process in self._awaited:
                before = self._awaited.pop(process)
                self.outside.pop(process, None)
                if before == process:
                    self._absent &= ~self._bits[process]
                else:
                    self._successors[before] = process
                self._recorder.membership(JOIN, process, now)
            self._recorder.membership(VIEW, process, now)
        if notice.event is Event.GAP and self._marked_for is not None:
            states = (self._orders[survivor].snapshot() for survivor in self._marked_for)
            self._told_gaps.setdefault(telling(process, notice), b"".join(states))
        if self._observer is not None:
            self._observer.noticed(notice, now)
        self.chronicle.add(process, notice, now)

    def _deliver(self, process: int, message: Message, now: float) -> None:
        flight = self._outstanding.get(message.id)
        bit = self._bits[process]
        sender, number = message.id
        if flight is None or not (flight.unreceived | flight.held) & bit:
            is_addressed = message.destinations & bit
            fault = "delivers it twice" if is_addressed else "is none of its destinations"
            raise BrokenInvariant(
                f"{self._scenario.protocol}: message {message.id}: process {process} {fault}"
            )
        if flight.held & bit:
            flight.held ^= bit
            arrived = now if sender == process else self._arrived[process].pop(message.id)
            record = pack_record(DELIVER, process, sender, number, now, flight.sent, arrived)
        else:
            # It came inside another packet, ahead of its own.
            flight.unreceived ^= bit
            record = pack_record(ARRIVE, process, sender, number, now, flight.sent, now)
        self._recorder.buffer += record
        if not flight.unreceived and not flight.held:
            del self._outstanding[message.id]
        if self._traffic.reacts:
            self._react(process, flight.tag, now, own=sender == process)

    def _transmit(self, source: int, packet: Packet[Any], to: ProcessSet, now: float) -> None:
        """A copy of an application message meets the fate that was drawn for it when the message
        was sent; every other packet draws a new one."""
        message = packet.message
        destinations = self._members(to)
        is_control = message is None and not packet.stamp.messages()
        carried = self.control if is_control else self.copies
        size = self._measure(packet.stamp)
        carried.add(len(destinations), size[1])
        if self._observer is not None:
            self._observer.sent(packet)
        if self._is_overlay:
            self._send_hop(MessageId(source, packet.stamp.number), to, size, now)
        flight = None if message is None else self._outstanding.get(message.id)
        drawn: dict[int, Fate] = {}
        if flight is not None and flight.fates and message and message.id.sender == source:
            drawn = flight.fates
        undrawn = [destination for destination in destinations if destination not in drawn]
        fates = iter(self._links.control.fates(source, undrawn) if undrawn else ())
        for destination in destinations:
            fate = drawn.pop(destination) if destination in drawn else next(fates)
            for delay in fate:
                time = self._links.arrival(source, destination, now, delay)
                if time < inf:
                    heappush(self._heap, (time, next(self._sequence), destination, packet, flight))

    def _send_hop(self, hop: MessageId, to: ProcessSet, size: tuple[int, int], now: float) -> None:
        self._hops[hop] = to
        self._record_hop(HOP_SEND, hop.sender, hop, now)
        self._recorder.sends.append((to, *size))

    def _hop_receiver(self, order: Overlay) -> Callable[[Packet[Any], float], list[Effect]]:
        """How an overlay receives: what happens to hop messages is recorded, too."""
        process, bit = order.process, 1 << order.process

        def receive(packet: Packet[Any], now: float) -> list[Effect]:
            hop = MessageId(packet.source, packet.stamp.number)
            missing = self._hops.get(hop, 0)
            if missing & bit:
                self._record_hop(HOP_RECEIVE, process, hop, now)
                if missing == bit:
                    del self._hops[hop]
                else:
                    self._hops[hop] = missing ^ bit
            effects = order.receive(packet, now)
            for delivered in order.hops:
                self._record_hop(HOP_DELIVER, process, delivered, now)
            return effects

        return receive

    def _record_hop(self, kind: int, process: int, hop: MessageId, now: float) -> None:
        self._recorder.buffer += pack_record(kind, process, *hop, now, now, now)

    def _members(self, bits: ProcessSet) -> tuple[int, ...]:
        found = self._member_lists.get(bits)
        if found is None:
            if len(self._member_lists) == _MEMBER_LISTS:
                self._member_lists.clear()
            found = self._member_lists[bits] = tuple(members(bits))
        return found

    def _receiver(self, order: Order) -> Receiver:
        return self._hop_receiver(order) if isinstance(order, Overlay) else order.receive

    def _crash(self, process: int, now: float) -> None:
        """Nobody waits any more for what the process has not delivered."""
        if self._receivers[process] is None:
            return
        self.chronicle.faults.append(Fault(now, process, None, self._is_nothing_left()))
        if self._observer is not None:
            self._observer.struck(process, "crash")
        self._receivers[process] = None
        self.outside.pop(process, None)
        self._recorder.membership(CRASH, process, now)
        self._arrived[process].clear()
        bit = self._bits[process]
        self._dead |= bit
        for id_, flight in list(self._outstanding.items()):
            if (flight.unreceived | flight.held) & bit:
                self._count_for_crashed(id_, id_.sender != process)
                flight.unreceived &= ~bit
                flight.held &= ~bit
                if not flight.unreceived and not flight.held:
                    del self._outstanding[id_]

    # What changes of groups need.

    def schedule(self, time: float, process: int, action: Callable[[int, float], None]) -> None:
        self._schedule(time, process, action)

    def last_arrival(self) -> float | None:
        times = [time for time, _, _, packet, _ in self._heap if packet is not None]
        return max(times, default=None)

    def is_delivered(self) -> bool:
        return not self._outstanding

    def apply(self, process: int, effects: list[Effect], now: float) -> None:
        self._apply(process, effects, now)

    def send(self, send: Send, now: float) -> None:
        self._send(send, now)

    def _count_for_crashed(self, message: MessageId, copies: int) -> None:
        self._undelivered_for_crashed += copies
        if self._recorder.undoing is not None:
            self._for_crashed[message] += copies

    def _take_back(self, process: int, effect: TakeBack, now: float) -> None:
        """Some messages were never sent, and some deliveries at a process never made."""
        undoing = self._recorder.undoing
        if undoing is None:
            raise BrokenInvariant(f"{self._scenario.protocol} takes back what it promised not to")
        arrived: dict[MessageId, float] = {}
        if effect.deliveries:
            arrived = self._recorder.take_back(process, effect.deliveries, now)
        for message in set(effect.void) - undoing.void:
            undoing.void.add(message)
            flight = self._flights[message]
            flight.unreceived = flight.held = 0
            self._outstanding.pop(message, None)
            self._undelivered_for_crashed -= self._for_crashed.pop(message, 0)
            for held in self._arrived:
                held.pop(message, None)
        for message in effect.deliveries:
            if message not in undoing.void:
                self._flights[message].held |= self._bits[process]
                self._outstanding[message] = self._flights[message]
                self._arrived[process][message] = arrived[message]
        if effect.since >= 0:
            undoing.stopped_s = max(undoing.stopped_s, now - effect.since)

    @property
    def undone_violations(self) -> Sequence[str]:
        """Of histories that were taken back."""
        return self._recorder.undone_violations

    @property
    def flushed_s(self) -> tuple[float, ...]:
        """How long each change of groups had to wait, and all sends with it."""
        done = self._regroupings.done if self._regroupings is not None else ()
        return tuple([one.done_s - one.due_s for one in done])

    def fully(self) -> Fully | None:
        """What senders know of where their messages were delivered, if they do."""
        last = self._recorder.last_deliveries
        if last is None:
            return None
        known = [one for order in self._orders for one in getattr(order, "known", ())]
        return last.compare(known, self.now)

    def undone(self) -> Undone | None:
        """What was taken back, where that may happen."""
        undoing = self._recorder.undoing
        if undoing is None:
            return None
        agreements = sum(notice.event is Event.FAILED for notice in self.notices)
        counts = undoing.taken_back, len(undoing.void)
        return Undone(agreements, *counts, undoing.stopped_s, undoing.lost_s)

    def _join(self, process: int, now: float) -> None:
        """A process that crashed before is back, as a new one; or one comes for the first time."""
        order = self._orders[process]
        self._receivers[process] = self._receiver(order)
        latecomer = self._scenario.latecomer(process)
        before = self._awaited[process] = latecomer.before
        is_late = self._is_nothing_left()
        if self._observer is not None:
            self._observer.struck(before, "arrival" if before == process else "return")
        self.chronicle.faults.append(Fault(now, before, process, is_late))
        if not is_late:
            self.outside[process] = now
        self._apply(process, order.join(now, latecomer.talks_with), now)

    def _is_nothing_left(self) -> bool:
        """Whether nothing happens any more, but for faults that are due."""
        if self._sends_due or not self._outstanding:
            return not self._sends_due
        wake = self._wake
        return not any(
            packet is not None or action == wake for _, _, _, packet, action in self._heap
        )

    def _current(self, send: Send) -> Send:
        """The same send with those who have come back in the place of those they were, and for and
        from nobody who has yet to come."""
        is_there = not self._absent & self._bits[send.process]
        destinations = send.destinations & ~self._absent if is_there else 0
        for before, after in self._successors.items():
            if destinations & self._bits[before]:
                destinations ^= self._bits[before] | self._bits[after]
        process = self._successors.get(send.process, send.process)
        return msgspec.structs.replace(send, process=process, destinations=destinations)

    def _ask_to_wake(self, process: int, at: float) -> None:
        if (process, at) not in self._wakes:
            self._wakes.add((process, at))
            self._schedule(at, process, self._wake)

    def _wake(self, process: int, now: float) -> None:
        self._wakes.remove((process, now))
        if self._receivers[process] is not None and not self._is_over(now):
            self._apply(process, self._orders[process].wake(now), now)

    def _is_over(self, now: float) -> bool:
        """Whether only the protocol's own timers are left, which might go on for ever: everything
        is sent and delivered and nobody asks to be let in, or nothing has happened to the
        application for a long time."""
        progress = self._recorder.progress
        if progress != self._last_progress[0]:
            self._last_progress = (progress, now)
        if self._sends_due:
            return False
        if not self._outstanding and not self.outside:
            return True
        return now > self._last_progress[1] + self._scenario.patience_s
