"""One group of a daisy at one process: the member of the group, what the group remembers, and what
this process has to send into it."""

from collections.abc import Container, Iterable
from operator import attrgetter

import msgspec

from antecede.groups import (
    EVERYBODY,
    Effect,
    GroupConfig,
    GroupMember,
    GroupMessageId,
    MemberId,
    Quorum,
    View,
    founding_view,
)
from antecede.groups.packets import Decide, Join, Packet
from antecede.message import MessageId, ProcessSet
from antecede.overlays.daisy.items import (
    Ahead,
    Carry,
    Item,
    carries,
    carry,
    decode_items,
    encode_items,
    pack,
    plain,
    unpack,
)
from antecede.overlays.daisy.options import DaisyOptions
from antecede.overlays.daisy.plan import Node
from antecede.overlays.daisy.records import Kept, LayerState, Memory
from antecede.overlays.daisy.rest import Rest

EPOCHS = 1 << 32
"""The number of a group is its index plus its epoch times this: a group of servers that is founded
anew is another group."""
LEFT = 1 << 48
"""As an epoch: later than all. A group that is bound to it never takes part in that group of
servers again (G5)."""
_place = attrgetter("place")
ABOVE = -1
"""In `Memory.missing_batches`: the batch of the group above, which comes through whoever serves."""


def last_view_key(group: int) -> int:
    """In `Memory.missing_batches`: what any member of the last view brings of a local group that
    gave way to this one (C5). Of such a number, the group."""
    return -2 - group


TAKING_BATCHES = -1
"""As `Founding.last_batch_place`: not all of what came in batches has been taken."""
_CROWDED = 2
"""How many times as large as it should be a local group is when newcomers wait for its split: for
`forget_after_s`, since it may never be split."""


class Layer:
    """One group at one process: its member in it, what the group remembers, and what this process
    has to send into it."""

    def __init__(self, process: int, node: Node, options: DaisyOptions, state: LayerState) -> None:
        self.process = process
        self.node = node
        self.options = options
        self.state = state
        self.config = GroupConfig(
            group=node.index + state.epoch * EPOCHS,
            quorum=options.quorum,
            transfers_state=True,
            tick_s=options.tick_s,
            suspect_after_s=options.suspect_after_s,
            flush_timeout_s=options.flush_timeout_s,
            retry_s=options.retry_s,
            retry_limit_s=options.retry_limit_s,
            fanout=options.fanout,
            window=options.window,
            detours=options.detours,
            most=_CROWDED * options.split_above if _splits(node, options) else 0,
            room_after_s=options.forget_after_s,
        )
        me = MemberId(process, state.incarnation)
        if state.member:  # it has been started: who founded the group does not matter any more
            contacts = state.contacts or 1 << process + 1
            self.member = GroupMember(self.config, me, contacts=contacts)
            self.member.restore(state.member)
        elif state.contacts:
            self.member = GroupMember(self.config, me, contacts=state.contacts)
        else:
            self.member = GroupMember(self.config, me, founding=founding_view(node.founders))
        self.rest = Rest(state, options, self.member)

    # What it is.

    @property
    def memory(self) -> Memory:
        return self.state.memory

    @property
    def view(self) -> View | None:
        return self.member.core.view

    @property
    def view_number(self) -> int:
        """The number of the present view; 0 if this process is in none."""
        view = self.view
        return 0 if view is None else view.number

    @property
    def here(self) -> ProcessSet:
        """Who is in the present view."""
        view = self.view
        return 0 if view is None else view.processes

    @property
    def is_in(self) -> bool:
        return self.member.core.view is not None

    @property
    def is_lost(self) -> bool:
        """Whether it is not in the group (or has to go), or the group has lost its quorum."""
        group = self.member.core
        return group.view is None or group.state.suspended or self.member.is_left_out

    @property
    def is_server(self) -> bool:
        """Whether this process serves the group: it is the most senior member."""
        return self.member.core.is_senior

    @property
    def waits_for_groups(self) -> bool:
        """Whether a batch is the matter of a group, not of the server that leaves (F3): the next
        one brings it. With `survivors`, those who are away count for dead, unless groups of servers
        come and go: then the groups below are there, whoever serves them."""
        options = self.options
        is_early = options.forward != "stable" or options.reshapes
        return self.node.level > 0 and (is_early or options.quorum is Quorum.MAJORITY)

    @property
    def is_open(self) -> bool:
        """Whether messages of a group below are sent up now: else they come with its batch, or go
        into the group after this one."""
        return not self.state.founding.owed_batches - {ABOVE} and not self.memory.frozen

    @property
    def forget_after_s(self) -> float:
        """How long one who is away is waited for here. A group of servers may itself wait for a
        group that has died, and be away meanwhile: those above it wait for longer. Where groups
        split and merge, levels come and go: there it is longer by the time to be back alone."""
        options, above = self.options, max(1, self.node.level) - 1
        if options.evolves:
            return options.forget_after_s + above * options.silences_back * options.suspect_after_s
        return options.forget_after_s * (1 + above)

    def in_order(self) -> list[Kept]:
        """The messages that the group keeps, in the order of their delivery."""
        kept = self.state.memory.kept
        return sorted(kept.values(), key=_place) if kept else []

    def has_unstable_batches(self) -> bool:
        """Whether some of what came in batches is not stable: then nothing else is sent on."""
        merged = self.state.founding.last_batch_place
        if merged > 0 and all(k.stable for k in self.memory.kept.values() if k.place <= merged):
            self.state.founding.last_batch_place = merged = 0
        return merged != 0

    @property
    def has_begun(self) -> bool:
        """Whether the group waits for no batch, and all that came in batches is stable."""
        return not self.memory.missing_batches and not self.has_unstable_batches()

    def stable_with(self, within: GroupMessageId) -> GroupMessageId | None:
        """The group message that has to be stable before a message that came in this one is: after
        a merge all of the batches, for a member that lacks one of these has put everything aside.
        """
        if within not in self.state.founding.stable_aside:
            return within
        return min(self.state.founding.unstable_batches, default=None)

    def has_passed(self, message: MessageId) -> bool:
        """Whether the group has had this message."""
        return message.number <= self.state.memory.passed.get(message.sender, 0)

    def note_passed(self, message: MessageId) -> None:
        seen = self.state.memory.passed
        seen[message.sender] = max(seen.get(message.sender, 0), message.number)

    def accepts(self, packet: Packet) -> bool:
        """Whether a packet is one of this group as it is here. Of two parts that suspect each other
        both may have gone on (`Quorum.SURVIVORS`), with views of the same number: a stranger's
        packet is of the other part. Otherwise a stranger may know how this view has ended. What is
        malformed is refused before anything changes."""
        view = self.member.core.view
        if view is None or packet.view != view.number:
            return type(packet.body) is not Join or not self._is_early(packet.source)
        if not self.member.knows(packet.source) and (
            self.options.quorum is Quorum.SURVIVORS or not isinstance(packet.content, Decide)
        ):
            return False
        self.member.check(packet)
        return True

    def _is_early(self, member: MemberId) -> bool:
        """Whether a newcomer asks to be let into a group that has not begun: those in whose place
        it is may not know of it, and keep nothing for it. Who has been in such a group is none."""
        memory, process = self.memory, member.process
        if self.node.level or not memory.missing_batches or process not in self.options.latecomers:
            return False
        is_known = process in memory.arrived_latecomers or process in memory.away
        return not member.incarnation and not is_known

    def has_received(self, process: int, number: int) -> bool:
        """Whether a process has received what it was told under this number, or has left."""
        is_here = self.view is not None and self.view.processes >> process & 1
        return not is_here or self.member.acknowledged(process)[0] >= number

    # Sending.

    def send(self, item: Carry | Ahead, now: float) -> list[Effect]:
        """Send a message into the group, with all that waits for the next payload."""
        carried = plain(item)
        self._note_sent(carried)
        if not self.is_in or self.state.moving.gives_way_by:
            self.state.out.outbox.append(pack(carried))
            return []
        if self.options.pack_s:
            self._wait_with(item, now + self.options.pack_s)
            return []
        return self._issue([item], now)

    def bring(self, items: tuple[Item, ...], now: float) -> list[Effect]:
        """Send a batch, the first payload in a group that is founded anew."""
        for item in items:
            if isinstance(item, Carry):
                self._note_sent(item)
        return self.member.send(encode_items(items), now, EVERYBODY)

    def _note_sent(self, item: Carry) -> None:
        last = self.state.out.last_sent
        last[item.sender] = max(last.get(item.sender, 0), item.number)

    def is_new(self, message: MessageId) -> bool:
        """Whether the group has not had this message, nor was it sent from here."""
        last_sent = self.state.out.last_sent.get(message.sender, 0)
        return message.number > last_sent and not self.has_passed(message)

    def tell(self, item: Item, now: float) -> None:
        """Put word into the next payload, which is sent after `tidy_s` at the latest."""
        self._wait_with(item, now + self.options.tidy_s)

    def tell_once(self, item: Item, now: float) -> None:
        """Put word into the next payload, unless it is in it."""
        if pack(item) not in self.state.out.items:
            self.tell(item, now)

    def _wait_with(self, item: Item, at: float) -> None:
        """Put an item into the next payload, which is sent at this time at the latest."""
        out = self.state.out
        out.items_due_at = min(at, out.items_due_at) if out.items else at
        out.items.append(pack(item))

    def unsent(self) -> list[bytes]:
        """The messages that wait for a payload or for the process to be in."""
        waiting = (*self.state.out.outbox, *self.state.out.items)
        return [pack(item) for item in self.carries(map(unpack, waiting))]

    def carries(self, items: Iterable[Item]) -> list[Carry]:
        """The messages among these items. Among servers, what came ahead is none: it will come in
        its turn, from the group that it belongs to."""
        if self.node.level:
            items = [item for item in items if isinstance(item, Carry)]
        return carries(items)

    def all_messages(self) -> list[bytes]:
        """All messages that this process has in the group, each once: kept, put aside, sent but not
        issued, and not sent."""
        kept = [pack(carry(kept.message, kept.clock)) for kept in self.in_order()]
        queued = [
            pack(item)
            for payload in self.member.queued()
            for item in self.carries(decode_items(payload))
        ]
        waiting = (*self.state.out.resend, *self.put_aside(), *queued, *self.unsent())
        return list(dict.fromkeys((*kept, *waiting)))

    def to_bring(
        self, stored: Iterable[bytes], from_above: Container[MessageId] = ()
    ) -> list[bytes]:
        """Of what has not been delivered here, what one who comes back brings along: into a local
        group what is from there, and into one that has not begun what is from the group that gave
        way to it. All else is with the servers, or with the groups of its senders: from here it
        would rise to the servers again, ahead of what precedes it. So is what came `from_above`,
        wherever its sender lives: what precedes it comes from there."""
        if self.node.level:
            return list(stored)
        items = self.carries(map(unpack, stored))
        home = self.node.processes | (self.state.predecessors if self.memory.missing_batches else 0)
        items = [item for item in items if home >> item.sender & 1]
        own = self.process
        return [pack(one) for one in items if one.sender == own or one.id not in from_above]

    def put_aside(self) -> list[bytes]:
        """The messages that wait for batches."""
        aside = [unpack(stored) for _, _, stored in self.memory.aside]
        return [pack(item) for item in self.carries(aside)]

    def send_words(self, items: Iterable[Item], now: float) -> list[Effect]:
        """Send words that cannot wait, in one payload."""
        return self._issue(list(items), now)

    def put_under(self, parent: int | None) -> None:
        """Put the group under another group of servers, or under none."""
        self.node = msgspec.structs.replace(self.node, parent=parent)

    def flush_items(self, now: float) -> list[Effect]:
        """Send what waits for a payload, if its time has come."""
        out = self.state.out
        if not out.items or now < out.items_due_at or not self.is_in:
            return []
        return self._issue([], now)

    def _issue(self, items: list[Item], now: float) -> list[Effect]:
        if self.member.state.leaving:  # messages come along when it is back
            self.state.out.items += map(pack, items)
            return []
        payload = encode_items((*items, *map(unpack, self.state.out.items)))
        self.state.out.items = []
        return self.member.send(payload, now, EVERYBODY)


def _splits(node: Node, options: DaisyOptions) -> bool:
    """Whether somebody splits the group when it gets too large."""
    return not node.level and (node.parent is not None or options.reshapes)


def joining(
    process: int,
    node: Node,
    options: DaisyOptions,
    incarnation: int,
    epoch: int,
    contacts: ProcessSet,
) -> Layer:
    """A process that is about to ask to be let in."""
    others = contacts & ~(1 << process)
    return Layer(process, node, options, LayerState(node.index, incarnation, epoch, others))


def founding(process: int, node: Node, options: DaisyOptions) -> Layer:
    """A founder of a group of the plan."""
    return Layer(process, node, options, LayerState(node.index, 0, 0, 0))


def founding_anew(
    process: int,
    node: Node,
    options: DaisyOptions,
    epoch: int,
    processes: tuple[int, ...],
    whose: dict[int, int],
    gone: Iterable[int] = (),
) -> Layer:
    """A founder of a group in the place of others: of servers that had all died (in a new epoch),
    or of local groups that give way (`gone`). It begins with what all of them bring along; `whose`:
    by founder, the process or group whose batch it brings."""
    anew = msgspec.structs.replace(node, founders=processes)
    layer = Layer(process, anew, options, LayerState(node.index, 0, epoch, 0))
    layer.memory.missing_batches = {*whose.values(), *(() if node.parent is None else (ABOVE,))}
    layer.state.founding.owed_batches = layer.memory.missing_batches & {whose[process], ABOVE}
    layer.memory.missing_batches.update(map(last_view_key, gone))
    return layer
