"""The loop: virtual time, the processes, and what happens between them.

Nothing outlives a run and nothing is shared between runs: any number of them can go on in one
process or in many. What is due stands in `agenda`, who takes part in `attendance`, what is on its
way in `flights`; packets go through `transport`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from heapq import heappop
from itertools import product
from math import inf

import msgspec

from antecede.errors import BrokenInvariant, MalformedStamp
from antecede.message import Message, MessageId
from antecede.order import Deliver, Effect, Event, Notice, Options, Order, TakeBack, Transmit, Wake
from antecede.overlays import Overlay
from antecede.simulate.agenda import Agenda
from antecede.simulate.attendance import Attendance
from antecede.simulate.clocks import Clocks
from antecede.simulate.excuses import Excuses, States, Telling, mark, telling
from antecede.simulate.flights import Flights
from antecede.simulate.fully import Fully, LastDeliveries
from antecede.simulate.incomplete import group_of, make_order, scope_of
from antecede.simulate.leftover import Leftover, explain
from antecede.simulate.notices import Chronicle, Fault, Noticed
from antecede.simulate.observer import Observer
from antecede.simulate.recorder import Recorder
from antecede.simulate.records import ARRIVE, pack_record
from antecede.simulate.regrouping import Regroupings
from antecede.simulate.sampling import StateSampler
from antecede.simulate.scenario import Scenario
from antecede.simulate.transport import Carried, Transport
from antecede.simulate.undoing import Undoing, Undone
from antecede.simulate.workload import Send, traffic_of
from antecede.trace import CRASH, DELIVER, JOIN, RECEIVE, SEND, VIEW

Progress = Callable[[int], object]
"""Is told now and then how many messages have been sent."""

_CHUNK = 4096
"""Events between two looks at the recorder."""


class Simulation:
    """One run of a scenario."""

    def __init__(
        self,
        scenario: Scenario,
        recorder: Recorder,
        order_type: type[Order] | None = None,
        *,
        survivors: Sequence[int] | None = None,
        observer: Observer | None = None,
        counts: bool = True,
    ) -> None:
        """Where the `survivors` are known, every message has its mark for a payload, and their
        states are kept when a gap is told (`antecede.simulate.excuses`). The `observer` is told
        what happens. `counts`: whether to count what packets carry besides messages."""
        membership = scenario.membership
        make = self._make = order_type or scenario.order
        self._marked_for = survivors
        self._observer = observer
        self._told_gaps: dict[Telling, States] = {}
        options: Options = scenario.order_options
        if not isinstance(options, make.options_type):  # a variant has them in a class of its own
            options = msgspec.convert(options, make.options_type, from_attributes=True)
        self._scenario = scenario
        self._recorder = recorder
        self._orders: list[Order] = [
            make_order(scenario, make, process, membership, options)
            for process in range(membership.size)
        ]
        is_overlay = issubclass(make, Overlay)
        self._agenda = Agenda()
        self._transport = Transport(scenario, recorder, self._agenda, observer, is_overlay, counts)
        self._clocks = Clocks(scenario) if scenario.clocks else None
        receivers = [self._transport.receiver(order, self._clocks) for order in self._orders]
        self._attendance = Attendance(scenario, receivers)
        self._flights = Flights(membership.size, keeps_all=make.traits.takes_back)
        self._traffic = traffic_of(scenario)
        self._opening = self._traffic.opening()
        self._next_opening: Send | None = None
        self._bits = [1 << process for process in range(membership.size)]
        self._numbers = [0] * membership.size
        self._payload = bytes(scenario.payload_bytes)
        self._wakes: dict[tuple[int, float], float] = {}
        """By process and time at which it is woken: the time that it has asked for."""
        self._sends_due = 0
        self._last_progress = (0, 0.0)
        self._gave_up_s = inf
        """When patience ran out. Packets that were held somewhere may still arrive, much later."""
        self.now = 0.0
        self.events = 0
        self.peak_queue = 0
        self._sampler: StateSampler | None = None
        self.chronicle = Chronicle(
            {notice.where: notice for order in self._orders for notice in order.founding()}
        )
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

    @property
    def outside(self) -> Mapping[int, float]:
        """Who has asked to be let in, and since when, while there was something left to happen."""
        return self._attendance.outside

    @property
    def copies(self) -> Carried:
        """Packets that carried messages."""
        return self._transport.copies

    @property
    def control(self) -> Carried:
        """The others."""
        return self._transport.control

    def leftover(self) -> Leftover:
        """Why what is undelivered is so."""
        flights = self._flights
        return explain(flights.left(), flights.for_crashed, self._attendance.dead, self.excuses)

    @cached_property
    def excuses(self) -> Excuses:
        """What the run excuses, when it is over."""
        dead = self._attendance.dead
        known = (self._marked_states, self._flights.left())
        over_s = min(self.now, self._gave_up_s)
        return Excuses(self._scenario, self.chronicle, dead, over_s, *known)

    def _marked_states(self) -> Mapping[Telling, States]:
        """The same run with a mark in every message: what the survivors had when gaps were told."""
        survivors = self._attendance.survivors()
        again = Simulation(
            self._scenario, Recorder(None, None), self._make, survivors=survivors, counts=False
        )
        again.run()
        return again._told_gaps

    def run(self, progress: Progress | None = None, states: StateSampler | None = None) -> None:
        """Until nothing is left to happen. `states` looks at the processes now and then, and at the
        traffic with every send."""
        self._sampler = states
        done = 0
        for crash in self._scenario.crashes:
            self.schedule(crash.time_s, self._scenario.index(crash.process), self._crash)
        for latecomer in self._scenario.latecomers:
            self.schedule(latecomer.time_s, latecomer.process, self._join)
        for first, second, time_s in self._scenario.link_times:
            self.schedule(time_s, first, partial(self._connect, second))
        if self._regroupings is not None:
            self._regroupings.begin()
        self._schedule_next_opening()
        try:
            while self._agenda.heap:
                done += min(len(self._agenda.heap), _CHUNK)
                self._run_some()
                if states is not None and done >= states.due:
                    states.look(self._orders, done)
                if self._recorder.flush_if_full() and progress is not None:
                    progress(self._recorder.messages)
        except MalformedStamp as error:
            name = self._scenario.protocol
            raise BrokenInvariant(f"{name} refuses what it has made itself: {error}") from error
        self._recorder.flush()
        self.events = next(self._agenda.sequence)

    def _run_some(self) -> None:
        """Some thousand events at most. The branch for a packet whose message is delivered at once
        is the hot spot of the simulator; everything else goes through the methods below."""
        heap, receivers = self._agenda.heap, self._attendance.receivers
        bits, buffer, reacts = self._bits, self._recorder.buffer, self._traffic.reacts
        outstanding, arrived = self._flights.outstanding, self._flights.arrived
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
                arrived[process][message.id] = now  # type: ignore[union-attr]
            if effects:
                self._apply(process, effects, now)
            self.peak_queue = max(self.peak_queue, len(arrived[process]))
        self.now = now

    def _schedule_next_opening(self) -> None:
        """Opening sends are scheduled one at a time, so that they need no room in the queue."""
        send = self._next_opening = next(self._opening, None)
        if send is not None:
            self._sends_due += 1
            self.schedule(send.time, send.process, self._open)

    def _open(self, process: int, now: float) -> None:
        if self._next_opening is not None:
            self._send(self._next_opening, now)
            self._schedule_next_opening()

    def _react(self, process: int, tag: int, now: float, own: bool) -> None:
        """A delivery causes sends, which happen after everything else that happens now."""
        process = self._attendance.before(process)
        for send in self._traffic.delivered(process, tag, now, own):
            self._sends_due += 1
            self.schedule(now, process, partial(self._answer, send))

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
        send = self._attendance.current(send)
        process, destinations = send.process, send.destinations
        if self._attendance.receivers[process] is None or not destinations:
            return
        if self._sampler is not None:
            self._sampler.carried.append(self._transport.so_far(now))
        number = self._numbers[process] = self._numbers[process] + 1
        id_ = MessageId(process, number)
        payload = self._payload if self._marked_for is None else mark(id_)
        group = group_of(self._scenario, send.tag, send.group)
        message = Message(id_, destinations, group, payload)
        flight = self._flights.start(id_, destinations, self._attendance.dead, now, send.tag)
        effects = self._orders[process].send(message, self.shown(process, now))
        if self._scenario.incomplete is not None:
            scope = scope_of(self._scenario, self._orders[process], message)
            self._recorder.note_scope(id_, scope)
        self._recorder.buffer += pack_record(SEND, process, process, number, now, now, now)
        effects = self._transport.set_out(message, flight, effects, now)
        if effects:
            self._apply(process, effects, now)

    def _apply(self, process: int, effects: Iterable[Effect], now: float) -> None:
        for effect in effects:
            kind = type(effect)
            if kind is Deliver:
                self._deliver(process, effect.message, now)  # type: ignore[union-attr]
            elif kind is Transmit:
                self._transmit(process, effect, now)  # type: ignore[arg-type]
            elif kind is Wake:
                self._ask_to_wake(process, effect.at, now)  # type: ignore[union-attr]
            elif kind is Notice:
                self._notice(process, effect, now)  # type: ignore[arg-type]
            elif kind is TakeBack:
                self._take_back(process, effect, now)  # type: ignore[arg-type]
            else:
                raise BrokenInvariant(f"{self._scenario.protocol} wants {effect!r}, no effect")

    def _notice(self, process: int, notice: Notice, now: float) -> None:
        if notice.event is Event.VIEW:
            if self._attendance.let_in(process):
                self._recorder.membership(JOIN, process, now)
            self._recorder.membership(VIEW, process, now)
        if notice.event is Event.GAP and self._marked_for is not None:
            states = {one: self._orders[one].snapshot() for one in self._marked_for}
            self._told_gaps.setdefault(telling(process, notice), states)
        if self._observer is not None:
            self._observer.noticed(notice, now)
        self.chronicle.add(process, notice, now)

    def _deliver(self, process: int, message: Message, now: float) -> None:
        outstanding, bit = self._flights.outstanding, self._bits[process]
        flight = outstanding.get(message.id)
        sender, number = message.id
        if flight is None or not (flight.unreceived | flight.held) & bit:
            is_addressed = message.destinations & bit
            fault = "delivers it twice" if is_addressed else "is none of its destinations"
            raise BrokenInvariant(
                f"{self._scenario.protocol}: message {message.id}: process {process} {fault}"
            )
        if flight.held & bit:
            flight.held ^= bit
            arrived = now if sender == process else self._flights.arrived[process].pop(message.id)
            record = pack_record(DELIVER, process, sender, number, now, flight.sent, arrived)
        else:
            # It came inside another packet, ahead of its own.
            flight.unreceived ^= bit
            record = pack_record(ARRIVE, process, sender, number, now, flight.sent, now)
        self._recorder.buffer += record
        if not flight.unreceived and not flight.held:
            del outstanding[message.id]
        if self._traffic.reacts:
            self._react(process, flight.tag, now, own=sender == process)

    def _transmit(self, process: int, effect: Transmit, now: float) -> None:
        message = effect.packet.message
        flight = None if message is None else self._flights.outstanding.get(message.id)
        self._transport.transmit(process, effect.packet, effect.to, flight, now)

    def _crash(self, process: int, now: float) -> None:
        if self._attendance.receivers[process] is None:
            return
        self.chronicle.faults.append(Fault(now, process, None, self._is_nothing_left()))
        if self._observer is not None:
            self._observer.struck(process, "crash")
        self._attendance.crash(process, self._orders[process].remembered())
        self._recorder.membership(CRASH, process, now)
        self._flights.crash(process)

    # What changes of groups need.

    def schedule(self, time: float, process: int, action: Callable[[int, float], None]) -> None:
        self._agenda.schedule(time, process, action)

    def shown(self, process: int, now: float) -> float:
        """What the clock of a process shows."""
        return now if self._clocks is None else self._clocks.shown(process, now)

    def last_arrival(self) -> float | None:
        return self._agenda.last_arrival()

    def is_delivered(self) -> bool:
        return not self._flights.outstanding

    def apply(self, process: int, effects: list[Effect], now: float) -> None:
        self._apply(process, effects, now)

    def send(self, send: Send, now: float) -> None:
        self._send(send, now)

    def _take_back(self, process: int, effect: TakeBack, now: float) -> None:
        """Some messages were never sent, and some deliveries at a process never made."""
        undoing = self._recorder.undoing
        if undoing is None:
            raise BrokenInvariant(f"{self._scenario.protocol} takes back what it promised not to")
        arrived: dict[MessageId, float] = {}
        if effect.deliveries:
            arrived = self._recorder.take_back(process, effect.deliveries, now)
        void = set(effect.void) - undoing.void
        undoing.void |= void
        again = [message for message in effect.deliveries if message not in undoing.void]
        self._flights.take_back(process, void, {message: arrived[message] for message in again})
        if effect.since >= 0:
            stopped_s = self.shown(process, now) - effect.since
            undoing.stopped_s = max(undoing.stopped_s, stopped_s)

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
        latecomer = self._scenario.latecomer(process)
        before = latecomer.before
        is_late = self._is_nothing_left()
        if self._observer is not None:
            self._observer.struck(before, "arrival" if before == process else "return")
        self.chronicle.faults.append(Fault(now, before, process, is_late))
        self._attendance.ask(latecomer, now, is_late)
        order.recall(self._attendance.memories.get(before, b""))
        shown = self.shown(process, now)
        self._apply(process, order.join(shown, latecomer.talks_with), now)
        for first, second, time_s in self._scenario.link_times:
            if before in (first, second) and time_s <= now:
                self._connect(second, first, now)

    def _connect(self, second: int, first: int, now: float) -> None:
        """A link is there, also for those who have come in the places of its ends."""
        for one, other in product(self._attendance.at(first), self._attendance.at(second)):
            for here, there in ((one, other), (other, one)):
                order = self._orders[here]
                if isinstance(order, Overlay):
                    self._apply(here, order.connect(there, self.shown(here, now)), now)

    def _is_nothing_left(self) -> bool:
        """Whether nothing happens any more, but for faults that are due."""
        if self._sends_due or not self._flights.outstanding:
            return not self._sends_due
        return self._agenda.is_idle(self._wake)

    def _ask_to_wake(self, process: int, at: float, now: float) -> None:
        due = max(now, at if self._clocks is None else self._clocks.due(process, at))
        if (process, due) not in self._wakes:
            self._wakes[process, due] = at
            self._agenda.schedule(due, process, self._wake)

    def _wake(self, process: int, now: float) -> None:
        at = self._wakes.pop((process, now))
        if self._attendance.receivers[process] is not None and not self._is_over(now):
            shown = now if self._clocks is None else self._clocks.shown(process, now, at)
            self._apply(process, self._orders[process].wake(shown), now)

    def _is_over(self, now: float) -> bool:
        """Whether only the protocol's own timers are left, which might go on for ever: everything
        is sent and delivered and nobody asks to be let in, or nothing has happened to the
        application for a long time."""
        progress = self._recorder.progress
        if progress != self._last_progress[0]:
            self._last_progress, self._gave_up_s = (progress, now), inf
        if self._sends_due:
            return False
        if not self._flights.outstanding and not self.outside:
            return True
        is_over = now > self._last_progress[1] + self._scenario.patience_s
        if is_over:
            self._gave_up_s = min(self._gave_up_s, now)
        return is_over
