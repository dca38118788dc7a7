"""A small network in virtual time for the members of one group, with every fault that a schedule
asks for. One schedule, one run: all randomness comes from the schedule's seed."""

import random
from collections import deque
from heapq import heappop, heappush
from math import inf
from types import ModuleType
from typing import Any

import msgspec

import antecede.groups as real_groups
from antecede.message import members, process_set

SETTLE_S = 30.0
"""How long the network is perfect at the end, so that everything can come to rest."""


REMEMBERED_DECISIONS = 4
"""Few, so that somebody now and then learns of its end when the group has forgotten how it came."""

LEAVING = ("crash-on", "cut-on", "bounce-on", "lose-on", "repeat-on")
"""The traps for packets that leave."""


class Action(msgspec.Struct, frozen=True, array_like=True):
    """One thing that happens. Kinds: send, crash, restart (also the first start of a process that
    joins), tell (to `mask`, one process), leave, part (`mask` against the rest), heal, mute
    (nothing leaves the process), unmute, deafen (nothing reaches it, but it is heard), undeafen,
    cut-link (nothing goes between the process and those in `mask`), mute-link (nothing goes from
    the process to those in `mask`), no-detours (nor through others, for good). Healing ends parts
    and links that are cut or mute.

    There are traps for packets of kind `name`: lose-on (only the copies to `mask` leave), crash-on
    (then the process dies), bounce-on (it dies and is back after `seconds`), cut-on (it is cut off
    for `seconds`), repeat-on (all leave, and come again after `seconds`), deaf-on (such a packet is
    lost when it comes, and the process is cut off)."""

    at: float
    kind: str
    process: int = 0
    mask: int = 0
    name: str = ""
    seconds: float = 1.5


class Schedule(msgspec.Struct, frozen=True, array_like=True):
    """A run, whole: who founds the group, the network, what happens."""

    seed: int
    founders: int
    processes: int
    loss: float
    duplication: float
    delay_s: float
    tail: float
    """The share of packets that take ten times longer."""
    tick_s: float
    actions: tuple[Action, ...]
    quorum: str = "majority"
    retains: bool = False
    fanout: int = 0
    on_wire: bool = False
    """Whether packets travel as bytes."""
    steady: bool = False
    """Whether nobody is silent for so long that it may be excluded."""
    spared: int = 0
    """The processes that nothing happens to: what they send is delivered by all of them"""
    prompt_s: float = 5.0
    """within this time."""
    trusts: bool = True
    """Whether members believe each other."""
    most: int = 0
    """How many members make newcomers wait,"""
    room_after_s: float = inf
    """and for how long."""


class Event(msgspec.Struct, frozen=True):
    """Something that an application saw or did."""

    kind: str
    at: float
    order: int
    """Its place among all events of the run."""
    view: int = 0
    members: tuple[tuple[int, int], ...] = ()
    message: int = 0
    messages: tuple[int, ...] = ()
    detail: str = ""


Life = tuple[int, int]


class Sent(msgspec.Struct, frozen=True):
    sender: Life
    to: int


class History(msgspec.Struct):
    """What the applications saw, life by life, and how it ended."""

    lives: dict[Life, list[Event]] = {}
    sent: dict[int, Sent] = {}
    alive: tuple[Life, ...] = ()
    """Who runs at the end."""
    buffered: dict[Life, int] = {}
    suspended: dict[Life, bool] = {}
    informed: dict[Life, int] = {}
    """The view that a member knows to be decided, though it has not come there."""
    remembered: dict[Life, tuple[int, int]] = {}
    """How many channels to members that are gone a member keeps, and how many decisions."""
    states: dict[Life, tuple[int, ...]] = {}
    packets: int = 0
    bytes_sent: int = 0


class Process:
    """One process: its present life, if any, and the application on top."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.incarnation = -1
        self.member: Any = None
        self.state: set[int] = set()
        self.traps: list[Action] = []
        self.effects: deque[tuple[Life, Any]] = deque()
        self.busy = False

    @property
    def life(self) -> Life:
        return (self.index, self.incarnation)


class Lab:
    """One run of a schedule with an implementation of groups (the real one, or a mutant)."""

    def __init__(self, schedule: Schedule, groups: ModuleType = real_groups) -> None:
        self.schedule = schedule
        self.groups = groups
        self.random = random.Random(schedule.seed)
        self.now = 0.0
        self.heap: list[tuple[float, int, str, Any]] = []
        self.sequence = 0
        self.parts: list[int] = []
        self.has_detours = True
        self.mute_links: set[tuple[int, int]] = set()
        """Sources and targets; a link that is cut is mute both ways."""
        self.muted = 0
        self.deaf = 0
        self.cut_off = 0
        self.names: dict[tuple[Life, int], int] = {}
        """What the schedule calls a message of a life, by its number there."""
        self.perfect = False
        self.history = History()
        self.numbers = 0
        self.events = 0
        self.quiet = False
        self.processes = [Process(index) for index in range(schedule.processes)]
        self.config = groups.GroupConfig(
            group=1,
            quorum=groups.Quorum(schedule.quorum),
            retains=schedule.retains,
            transfers_state=True,
            tick_s=schedule.tick_s,
            fanout=schedule.fanout,
            suspect_after_s=12 * schedule.tick_s,
            flush_timeout_s=10 * schedule.tick_s,
            retry_s=2.5 * schedule.tick_s,
            retry_limit_s=20 * schedule.tick_s,
            window=8,
            trusts=schedule.trusts,
            most=schedule.most,
            room_after_s=schedule.room_after_s,
            remembered_decisions=REMEMBERED_DECISIONS,
        )

    def run(self) -> History:
        schedule = self.schedule
        founding = self.groups.founding_view(tuple(range(schedule.founders)))
        for process in self.processes[: schedule.founders]:
            self._start(process, founding)
        for action in schedule.actions:
            self._at(action.at, "action", action)
        last = max([action.at for action in schedule.actions], default=0.0)
        self._at(last + 1.0, "action", Action(last + 1.0, "perfect"))
        end = last + SETTLE_S * schedule.tick_s / 0.1
        while self.heap and self.heap[0][0] <= end and not self.quiet:
            self.now, _, kind, what = heappop(self.heap)
            getattr(self, f"_on_{kind}")(what)
        self._close()
        return self.history

    # The network.

    def _at(self, time: float, kind: str, what: Any) -> None:
        self.sequence += 1
        heappush(self.heap, (time, self.sequence, kind, what))

    def _transmit(self, process: Process, effect: Any) -> None:
        packet = effect.packet
        if not self.has_detours and type(packet.body).__name__ == "Detour":
            return
        targets = list(members(effect.to))
        trap = self._sprung(process, LEAVING, packet)
        if trap is not None and trap.kind != "repeat-on":
            targets = [target for target in targets if trap.mask >> target & 1]
        wire: Any = self.groups.encode(packet) if self.schedule.on_wire else packet
        for target in targets:
            self.history.packets += 1
            if self.schedule.on_wire:
                self.history.bytes_sent += len(wire)
            self._carry(process.index, target, wire)
            if trap is not None and trap.kind == "repeat-on":
                self._at(self.now + trap.seconds, "packet", (process.index, target, wire))
        if trap is not None:
            self._spring(process, trap)

    def _spring(self, process: Process, trap: Action) -> None:
        match trap.kind:
            case "cut-on":
                self._cut_off(process, trap)
            case "crash-on":
                self._crash(process)
            case "bounce-on":
                self._crash(process)
                again = Action(0.0, "restart", process.index)
                self._at(self.now + trap.seconds, "action", again)

    def _cut_off(self, process: Process, trap: Action) -> None:
        self.cut_off |= 1 << process.index
        self._at(self.now + trap.seconds, "action", Action(0.0, "reconnect", process.index))

    def _sprung(self, process: Process, kinds: tuple[str, ...], packet: Any) -> Action | None:
        name = type(packet.body).__name__
        for trap in process.traps:
            if trap.kind in kinds and trap.name == name:
                process.traps.remove(trap)
                return trap
        return None

    def _carry(self, source: int, target: int, wire: Any) -> None:
        schedule, draw = self.schedule, self.random.random
        if self.perfect:
            self._at(self.now + schedule.delay_s, "packet", (source, target, wire))
            return
        if (self.muted | self.cut_off) >> source & 1 or self._apart(source, target):
            return
        copies = 1 + (draw() < schedule.duplication)
        for _ in range(copies):
            if draw() >= schedule.loss:
                delay = self.random.expovariate(1 / schedule.delay_s)
                if draw() < schedule.tail:
                    delay *= 10
                self._at(self.now + delay, "packet", (source, target, wire))

    def _apart(self, source: int, target: int) -> bool:
        return (source, target) in self.mute_links or any(
            (part >> source & 1) != (part >> target & 1) for part in self.parts
        )

    def _on_packet(self, what: tuple[int, int, Any]) -> None:
        _, target, wire = what
        process = self.processes[target]
        if process.member is not None and not (self.deaf | self.cut_off) >> target & 1:
            packet = self.groups.decode(wire) if self.schedule.on_wire else wire
            trap = self._sprung(process, ("deaf-on",), packet)
            if trap is not None:
                self._cut_off(process, trap)
                return
            self._note_told(process, packet)
            self._note_held(process, packet)
            self._carry_out(process, process.member.receive(packet, self.now))

    def _note_told(self, process: Process, packet: Any) -> None:
        """Note what one member tells another that is in its view: it is heard, or overheard."""
        view, is_told = process.member.view, type(packet.body).__name__ == "Tell"
        if not is_told or view is None or packet.view > view.number:
            return
        if packet.body.incarnation == process.incarnation and packet.source in view.members:
            message, sender = int(packet.body.payload), tuple(packet.source)
            self._log(process, "came", message=message, members=(sender,))

    def _note_held(self, process: Process, packet: Any) -> None:
        """Note a message that comes to a member before it has answered a flush of the view, with
        all that precedes it there: it may come long before it can be delivered. Where members do
        not trust each other, such claims do not count."""
        view, body = process.member.view, packet.body
        if type(body).__name__ != "Data" or view is None or packet.view != view.number:
            return
        if self.schedule.trusts and not process.member.core.frozen:
            base = process.member.state.base
            before = tuple(
                self.names[tuple(sender), base[rank] + number]
                for rank, sender in enumerate(view.members)
                for number in range(1, body.vector[rank] + (rank != body.rank))
            )
            message = _number(body)
            self._log(process, "held", view=view.number, message=message, messages=before)

    def _on_wake(self, what: tuple[Process, Life]) -> None:
        process, life = what
        if process.member is not None and process.life == life:
            self._carry_out(process, process.member.wake(self.now))

    def _on_probe(self, what: None) -> None:
        """Whether all has come to rest in one view: then the run may end before its time."""
        running = [process for process in self.processes if process.member is not None]
        lives = [process.life for process in running]
        self.quiet = all(
            process.member.view is not None
            and sorted(process.member.view.members) == lives
            and not process.member.buffered()
            and not process.member.state.unannounced
            and not process.member.state.suspended
            and not process.member.state.leaving
            for process in running
        )
        self._at(self.now + 0.5, "probe", None)

    # What happens.

    def _on_action(self, action: Action) -> None:
        process = self.processes[action.process]
        match action.kind:
            case "send":
                self._send(process, action.mask, int(action.name or -1))
            case "tell":
                self._tell(process, action.mask.bit_length() - 1)
            case "crash":
                self._crash(process)
            case "deaf-on" | "crash-on" | "cut-on" | "bounce-on" | "lose-on" | "repeat-on":
                process.traps.append(action)
            case "restart":
                if process.member is None:
                    self._start(process, None)
            case "leave":
                if process.member is not None:
                    self._log(process, "leave")
                    self._carry_out(process, process.member.leave(self.now))
            case "part":
                self.parts.append(action.mask)
            case "no-detours":
                self.has_detours = False
            case "cut-link" | "mute-link":
                for other in members(action.mask):
                    self.mute_links.add((action.process, other))
                    if action.kind == "cut-link":
                        self.mute_links.add((other, action.process))
            case "heal":
                self.parts.clear()
                self.mute_links.clear()
            case "mute":
                self.muted |= 1 << action.process
            case "unmute":
                self.muted &= ~(1 << action.process)
            case "deafen":
                self.deaf |= 1 << action.process
            case "undeafen":
                self.deaf &= ~(1 << action.process)
            case "reconnect":
                self.cut_off &= ~(1 << action.process)
            case "perfect":
                self.perfect = True
                self.muted = self.deaf = self.cut_off = 0
                self._at(self.now + 1.0, "probe", None)
                self.parts.clear()
                self.mute_links.clear()
                for running in self.processes:
                    running.traps.clear()

    def _start(self, process: Process, founding: Any) -> None:
        process.incarnation += 1
        process.state = set()
        everybody = process_set(range(self.schedule.processes))
        process.member = self.groups.GroupMember(
            self.config,
            self.groups.MemberId(*process.life),
            founding=founding,
            contacts=0 if founding else everybody,
        )
        self.history.lives[process.life] = []
        self._carry_out(process, process.member.start(self.now))

    def _crash(self, process: Process) -> None:
        if process.member is not None:
            self._log(process, "crash")
            process.member = None
            process.traps.clear()

    def _send(self, process: Process, to: int, reply_by: int) -> None:
        member = process.member
        if member is None or member.state.leaving:
            return
        self.numbers += 1
        self.history.sent[self.numbers] = Sent(process.life, to)
        self.names[process.life, member.next_number] = self.numbers
        self._log(process, "send", message=self.numbers)
        payload = msgspec.msgpack.encode((self.numbers, reply_by))
        self._carry_out(process, member.send(payload, self.now, to))

    def _tell(self, process: Process, target: int) -> None:
        member = process.member
        if member is None or member.view is None:
            return
        for other in member.view.members:
            if other.process == target:
                self.numbers += 1
                self._log(process, "tell", message=self.numbers, members=(tuple(other),))
                effects = member.tell(target, str(self.numbers).encode(), self.now)
                self._carry_out(process, effects)

    # The application.

    def _carry_out(self, process: Process, effects: list[Any]) -> None:
        """Effects are carried out first in, first out, also those that they cause."""
        process.effects.extend((process.life, effect) for effect in effects)
        if process.busy:
            return
        process.busy = True
        while process.effects:
            life, effect = process.effects.popleft()
            if life == process.life and process.member is not None:
                self._apply(process, effect)
        process.busy = False

    def _apply(self, process: Process, effect: Any) -> None:
        kind = type(effect).__name__
        if kind == "Transmit":
            self._transmit(process, effect)
        elif kind == "Wake":
            self._at(effect.at, "wake", (process, process.life))
        else:
            getattr(self, f"_see_{kind.lower()}")(process, effect)

    def _log(self, process: Process, kind: str, **fields: Any) -> None:
        self.events += 1
        self.history.lives[process.life].append(Event(kind, self.now, self.events, **fields))

    def _see_deliver(self, process: Process, effect: Any) -> None:
        message = effect.message
        number, reply_by = msgspec.msgpack.decode(message.payload)
        self._log(process, "deliver", message=number, view=message.view)
        if not self.history.sent[number].to:
            process.state.add(number)
        if self.schedule.retains and number % 3:
            process.member.release([message.id], self.now)
            self._log(process, "release", message=number)
        if reply_by == process.index:
            self._send(process, 0, -1)

    def _see_viewinstalled(self, process: Process, effect: Any) -> None:
        view = effect.view
        if effect.state:
            process.state = set(msgspec.msgpack.decode(effect.state))
        known = tuple(sorted(process.state))
        unreleased = tuple(
            _number(message)
            for message in process.member.unreleased()
            if message.view < view.number
        )
        handed = tuple(_number(message) for message in effect.handed)
        lives = tuple((member.process, member.incarnation) for member in view.members)
        self._log(process, "view", view=view.number, members=lives, messages=known)
        self._log(process, "unreleased", view=view.number, messages=unreleased)
        if handed:
            self._log(process, "handed", view=view.number, messages=handed)
        if effect.overheard:
            overheard = tuple(int(payload) for payload in effect.overheard)
            self._log(process, "overheard", view=view.number, messages=overheard)

    def _see_statewanted(self, process: Process, effect: Any) -> None:
        content = msgspec.msgpack.encode(sorted(process.state))
        self._carry_out(process, process.member.provide_state(effect.view, content, self.now))

    def _see_stable(self, process: Process, effect: Any) -> None:
        """Looks into the others: have they really received it?"""
        numbers = tuple(self.names[sender, number] for sender, number in effect.messages)
        self._log(process, "stable", messages=numbers)
        view = process.member.state.view
        for sender, number in effect.messages:
            for member in view.members:
                other = self.processes[member.process]
                if other.member is None or other.life != member:
                    continue
                if not _has_received(other.member.state, view.number, sender, number):
                    detail = f"{sender}:{number} is said to be stable; {member} lacks it"
                    self._log(process, "unstable", detail=detail)

    def _see_told(self, process: Process, effect: Any) -> None:
        told = int(effect.payload.decode())
        self._log(process, "told", message=told, members=(tuple(effect.sender),))

    def _see_suspended(self, process: Process, effect: Any) -> None:
        self._log(process, "suspended", view=effect.view, detail=f"{len(effect.reached)} reached")

    def _see_resumed(self, process: Process, effect: Any) -> None:
        self._log(process, "resumed", view=effect.view)

    def _see_stopped(self, process: Process, effect: Any) -> None:
        lost = tuple(_number(message) for message in effect.undelivered)
        reason = "doubt" if effect.in_doubt else str(effect.reason)
        self._log(process, "stopped", messages=lost, detail=reason)
        process.member = None
        if effect.reason == "excluded":
            again = Action(self.now, "restart", process.index)
            self._at(self.now + self.schedule.tick_s, "action", again)

    def _close(self) -> None:
        running = [process for process in self.processes if process.member is not None]
        self.history.alive = tuple(process.life for process in running)
        for process in running:
            self.history.buffered[process.life] = process.member.buffered()
            self.history.suspended[process.life] = process.member.state.suspended
            state, view = process.member.state, process.member.state.view
            departed = [member for member in state.channels if view.rank(member) is None]
            self.history.remembered[process.life] = (len(departed), len(state.decisions))
            if process.member.state.decided is not None:
                decided = process.member.state.decided.view.number
                self.history.informed[process.life] = decided
            self.history.states[process.life] = tuple(sorted(process.state))


def _has_received(state: Any, view: int, sender: Any, number: int) -> bool:
    if state.view.number != view:
        return bool(state.view.number > view)
    rank = state.view.rank(sender)
    return rank is None or bool(state.base[rank] + state.received[rank] >= number)


def _number(message: Any) -> int:
    number: int = msgspec.msgpack.decode(message.payload)[0]
    return number
