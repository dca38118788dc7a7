"""A protocol among members that come and go: view by view, with nothing lost between two views.

The substrate (`antecede.groups`) agrees on views; this machine runs any protocol inside each of
them, on links that are reliable and FIFO as long as both ends live. When a view ends, every
survivor hands the messages of departed members on to the survivors they are for, then says that it
is done. Who has heard that from all survivors has everything that any of them has: it delivers what
is left in the order of Lamport numbers, and goes on in the next view with a fresh protocol. If
somebody else departs meanwhile, the same is done again for the view that the group has come to.

So every message of a survivor reaches every survivor it is for, and whatever one survivor delivered
in a view reaches the others before the next. What only departed members had is gone, as if it had
never been sent. A member of which the others have not heard yet that they settled a view keeps
that view's copies.

It is pure: inputs return effects, to be carried out in order.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import count as counting
from itertools import repeat
from typing import Any, Final

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.groups import MemberId, View
from antecede.live.ordering.aside import Aside, Ordered
from antecede.live.ordering.confirmed import Confirmed
from antecede.live.ordering.effects import (
    Arrived,
    Delivery,
    Hold,
    Sent,
    SessionEffect,
    ToPeers,
    ViewChange,
)
from antecede.live.ordering.epoch import Epoch, OrderFactory, Peer, cannot_come
from antecede.live.ordering.incomplete import Context, ContextOrder, DeliverIn, Head
from antecede.live.ordering.items import (
    LARGEST,
    PART_BYTES,
    PREFIX_BYTES,
    UNIT_BYTES,
    Carried,
    Report,
    Run,
    Settle,
    carry,
    encode_item,
    follows,
    in_parts,
    is_beyond,
    new_id,
    pack_prefix,
    prefix_of,
    unpack_prefix,
)
from antecede.live.ordering.seals import Seals
from antecede.message import (
    NO_GROUP,
    Message,
    MessageId,
    ProcessSet,
    members,
    process_set,
    set_from_bytes,
)
from antecede.order import Deliver, Effect, Held, Notice, Transmit, Wake

Audience = tuple[Epoch, ProcessSet, int]
"""Whom a delivered message was for: ranks in an epoch, and the index of a group."""
WINDOW: Final = 8192
"""How many units a receiver may lag behind, unless it is said."""
_LOOK_EVERY: Final = 256
"""Units from a peer between two looks at whether it keeps to the window."""


class Session:
    """One member. `groups` are overlapping groups of processes inside the membership, if any."""

    def __init__(
        self,
        me: MemberId,
        make_order: OrderFactory,
        groups: Mapping[str, Iterable[int]] | None = None,
        *,
        name_of: Callable[[MemberId], str] = str,
        hold: Hold | None = None,
        labels: Sequence[str] = (),
        records: bool = False,
        sent: int = 0,
        part_bytes: int = PART_BYTES,
        confirms: bool = False,
        seals: Seals | None = None,
        window: int = WINDOW,
    ) -> None:
        self.me = me
        self._confirms = confirms
        """Whether to tell which own messages are delivered everywhere."""
        self._seals = seals
        self._sealed: tuple[Message | None, bytes] = (None, b"")
        """The last own message and its tags."""
        self._window = max(window, WINDOW)
        self._aside = Aside(self._window)
        self._put_before: dict[MemberId, int] = {}
        """By member, units sent to it in former views."""
        self.liars: set[MemberId] = set()
        """Who sent, before its time, what cannot be right."""
        self.has_news = False
        """Whether there may be something to report."""
        self.forged = 0
        """Copies that were not what their senders had sealed."""
        self._part_bytes = part_bytes
        """How much of what departed members sent is handed on at once."""
        self._labels = tuple(labels)
        self._make_order = make_order
        self._groups = groups or {}
        self._records = records
        self._name_of = name_of
        self._hold = hold or Hold()
        self._now = 0.0
        self._epoch: Epoch | None = None
        self._later: deque[View] = deque()
        """Views that the group has come to since the epoch's; while there are any, it settles."""
        self._settled: list[Epoch] = []
        """Former epochs that not everybody is known to have settled."""
        self._sent = sent
        """The number of the last own message, in this life or, where that goes on, in all."""
        self.audience: deque[Audience] | None = None
        """Where somebody wants to know: of every delivery so far, whom it was for."""
        self._wakes: list[float] = []
        """When the protocol asked to be woken in this epoch, as a heap."""
        self.untaken: dict[MemberId, int] = {}
        """Units (`weight`) of each member's messages that the application has yet to take."""
        self.lamport = 0
        self._heads: tuple[Head, ...] = ()
        """The last message sent, if it is in a context."""

    @property
    def epoch(self) -> Epoch | None:
        return self._epoch

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now: nobody who cannot tell them from others' is there."""
        epoch = self._epoch
        if epoch is None or self._later:
            return False
        if self._seals is not None and not epoch.has_keys:
            epoch.has_keys = self._seals.has_all(epoch.members, epoch.names, epoch.me)
            return epoch.has_keys
        return True

    # -- inputs

    def install(self, view: View, now: float) -> list[SessionEffect]:
        """The group has come to a view that this member belongs to."""
        self._now = now
        effects: list[SessionEffect] = []
        if self._epoch is None:
            self._enter(view, now, effects)
            return effects
        self._later.append(view)
        for epoch in [*self._settled, self._epoch]:
            self._say_settled(epoch, view, effects)
        self._take_due_settles(self._epoch)
        self._settle_if_complete(now, effects)
        return effects

    def send(
        self,
        payload: bytes,
        to: Iterable[int] | None,
        now: float,
        *,
        group: str | None = None,
        label: str | None = None,
        context: Context | None = None,
    ) -> list[SessionEffect]:
        """Send to these processes, to a group, or to everybody in the view. Members that have
        departed are left out; `is_open` has to be true."""
        epoch = self._epoch
        if epoch is None or self._later:
            raise Misuse("the group is changing its view; wait until is_open")
        destinations, local_group = self._address(epoch, to, group)
        if self._labels:
            local_group = self._label(label)
        lamport = min(self.lamport + 1, LARGEST)
        message = Message(
            new_id(epoch.me, epoch.sent + 1),
            destinations,
            local_group,
            pack_prefix(lamport, self._sent + 1) + payload,
        )
        order = epoch.order
        if type(order) is ContextOrder:
            if context is not None and context.view != epoch.number:
                context = Context()
            history = None if context is None else context.history
            order_effects = order.send_in(history, message, now)
            self._heads = () if context is None else ((self.me, self._sent + 1),)
        else:
            order_effects = order.send(message, now)  # Refuses what it cannot address.
        epoch.sent += 1
        self._sent += 1
        self.lamport = lamport
        epoch.note_sent(message, self._sent, now)
        effects: list[SessionEffect] = []
        if self._records:
            after = None if context is None else context.heads
            sent = self._sent_record(epoch, message, lamport, order_effects)
            effects.append(msgspec.structs.replace(sent, label=label, after=after))
        self._apply(epoch, order_effects, effects)
        if len(epoch.members) == 1:  # nobody reports
            self._now = now
            self._confirm(effects)
        return effects

    def receive(
        self,
        sender: MemberId,
        items: Sequence[Ordered],
        now: float,
        effects: list[SessionEffect] | None = None,
    ) -> list[SessionEffect]:
        """A member's link has brought these. Where one of them cannot be right, what was before it
        has been done: its effects are in the caller's list, if there is one."""
        self._now = now
        self.has_news = True
        if effects is None:
            effects = []
        epoch = self._epoch
        if items and (epoch is None or items[-1].view > epoch.number or type(items[-1]) is Settle):
            self._aside.check_room(sender, items, 0 if epoch is None else epoch.number)
        rank = None if epoch is None else epoch.ranks.get(sender)
        for item in items:
            if epoch is None or item.view > epoch.number:
                self._aside.put(sender, item, None if epoch is None else epoch.number)
            elif item.view < epoch.number:
                continue
            elif type(item) is Run and rank is not None and not self._later:
                self._take_run(epoch, rank, item, now, effects)  # As nearly all of them,
            elif type(item) is Carried and rank is not None and not self._later:
                self._carry(epoch, rank, item, now, effects)  # or one by one.
            else:
                self._take(epoch, sender, item, now, effects)
                epoch = self._epoch  # It may have been settled, and the next one entered.
                rank = None if epoch is None else epoch.ranks.get(sender)
        return effects

    def forget(self, sender: MemberId) -> None:
        """This member is not believed any more: nothing that it said before its time counts, and
        what it sent is not handed on."""
        self._aside.forget(sender)
        epoch = self._epoch
        if epoch is not None and sender in epoch.ranks:
            epoch.peers[epoch.ranks[sender]].forget()

    def wake(self, now: float) -> list[SessionEffect]:
        """A time that somebody asked for has come; the protocol is woken if it was the one."""
        effects: list[SessionEffect] = []
        due = False
        while self._wakes and self._wakes[0] <= now:
            heappop(self._wakes)
            due = True
        if due and self._epoch is not None and not self._later:
            self._apply(self._epoch, self._epoch.order.wake(now), effects)
        return effects

    def take(self, deliveries: Iterable[Delivery]) -> None:
        """The application has taken these messages."""
        untaken = self.untaken
        for one in deliveries:
            if one.member in untaken:
                untaken[one.member] -= 1 + (PREFIX_BYTES + len(one.payload)) // UNIT_BYTES
        self.has_news = True

    def report(self) -> list[SessionEffect]:
        """Tell the others what has come, where that has changed; to be called now and then."""
        epoch = self._epoch
        if epoch is None or not self.has_news:
            return []
        self.has_news = False
        effects: list[SessionEffect] = []
        epoch.told_units = epoch.stable_units
        for rank in self._others(epoch):
            member = epoch.view.members[rank]
            untaken = self.untaken.get(member, 0) + epoch.waiting[rank]
            received, held = epoch.peers[rank].received, epoch.held_back(rank)
            item = Report(epoch.number, received, untaken, epoch.stable, held)
            if item != epoch.told[rank]:
                epoch.told[rank] = item
                effects.append(ToPeers((epoch.names[rank],), encode_item(item), (member,)))
        return effects

    def report_again(self, name: str) -> None:
        """A link has broken, and what was told last may not have come."""
        epoch = self._epoch
        if epoch is not None and name in epoch.names:
            epoch.told[epoch.names.index(name)] = None
            self.has_news = True

    def reached(self) -> int:
        """Up to this number own messages have reached everybody they are for who is still there."""
        for epoch in self._settled:
            if not epoch.gone_on.issuperset(self._others(epoch)):
                return epoch.reached
        return self._sent if self._epoch is None else self._epoch.reached

    @property
    def sent(self) -> int:
        """The number of the last message sent."""
        return self._sent

    def renumber(self, sent: int) -> None:
        """Before anything is sent in this life: this is the number of the last message."""
        if self._epoch is not None and self._epoch.sent:
            raise Misuse("messages of this life have their numbers")
        self._sent = sent
        if self._epoch is not None:
            self._epoch.base = sent
            self._epoch.skipped.clear()

    def skip_number(self) -> None:
        """The next number is that of a message for which nobody is left."""
        self._sent += 1
        if self._epoch is not None:
            self._epoch.skipped.append(self._epoch.sent)

    def held(self) -> list[Held]:
        """What the protocol holds and why, in ranks of the current view."""
        return self._epoch.order.held() if self._epoch is not None else []

    # -- inside

    def _address(
        self, epoch: Epoch, to: Iterable[int] | None, group: str | None
    ) -> tuple[ProcessSet, int]:
        if group is not None:
            if group not in epoch.groups:
                raise Misuse(f"group '{group}' has no members in this view")
            return epoch.groups[group], epoch.group_index(group)
        if to is None:
            return epoch.everybody, NO_GROUP if self._groups else 0
        wanted = set(to)
        ranks = [rank for member, rank in epoch.ranks.items() if member.process in wanted]
        if not ranks:
            raise Misuse("none of the destinations is a member of the current view")
        return process_set(ranks), NO_GROUP

    def _label(self, label: str | None) -> int:
        if label not in self._labels:
            raise Misuse(f"there is no label {label!r}; there are {', '.join(self._labels)}")
        return self._labels.index(label)

    def context(self) -> Context:
        """That of the last message sent, with it."""
        epoch = self._epoch
        if epoch is None or not isinstance(epoch.order, ContextOrder):
            raise Misuse("the application holds no contexts here: join with protocol='contexts'")
        return Context(epoch.number, epoch.order.after, self._heads)

    def _others(self, epoch: Epoch) -> list[int]:
        """The ranks of an epoch that are still there, without this member's own."""
        latest = self._later[-1] if self._later else self._epoch.view if self._epoch else epoch.view
        return [rank for rank in epoch.survivors(latest) if rank != epoch.me]

    def _enter(self, view: View, now: float, effects: list[SessionEffect]) -> None:
        former = self._epoch
        if former is not None:
            self._put_before = {
                member: self._put_before.get(member, 0) + former.put_to(rank)
                for member, rank in former.ranks.items()
                if member in view.members
            }
        names = tuple(map(self._name_of, view.members))
        self.has_news = True
        self._epoch = epoch = Epoch(view, self.me, names, self._make_order, self._groups)
        epoch.base = self._sent
        if self._confirms:
            epoch.confirmed = Confirmed(len(view.members))
        epoch.group_count = max(epoch.group_count, len(self._labels))
        self._wakes.clear()
        self.untaken = {member: self.untaken.get(member, 0) for member in view.members}
        before = former.view.members if former is not None else ()
        joined = [member for member in view.members if member not in before]
        departed = [member for member in before if member not in view.members]
        self.lamport += 1
        came, went = (tuple(map(self._name_of, some)) for some in (joined, departed))
        effects.append(ViewChange(view.number, names, came, went, view.members, self.lamport))
        if former is not None:
            self._settled.append(former)
        for later in self._later:
            self._say_settled(epoch, later, effects)
        for sender, item in self._aside.take(view.number):
            if self._epoch is epoch:
                self._take_late(epoch, sender, item, now, effects)
        self._settle_if_complete(now, effects)

    def _take_late(
        self,
        epoch: Epoch,
        sender: MemberId,
        item: Ordered,
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        """What was put aside. Nobody is to blame now but who sent it, whose link may not be the one
        at hand."""
        if sender not in self.liars:
            try:
                self._take(epoch, sender, item, now, effects)
            except Exception:  # noqa: BLE001 - whatever it is, these bytes are the reason
                self.liars.add(sender)

    def _take(
        self,
        epoch: Epoch,
        sender: MemberId,
        item: Ordered,
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        rank = epoch.ranks.get(sender)
        if rank is None:
            raise MalformedStamp("view", f"{item.view} does not contain {sender}")
        if self._later and sender not in self._later[-1].members:
            # What others have not seen of a departed member must not be seen here either.
            return
        if type(item) is Carried:
            self._carry(epoch, rank, item, now, effects)
        elif type(item) is Run:
            self._take_run(epoch, rank, item, now, effects)
        elif type(item) is Settle:
            self._aside.count(sender, item)
            epoch.peers[rank].settles.append(item)
            self._take_settles(epoch, rank)
            self._settle_if_complete(now, effects)
        elif type(item) is Report:
            former, held = self._put_before.get(sender, 0), item.undelivered
            epoch.note_report(rank, item.received, item.untaken, item.stable, held, former)
            if epoch.stable_units - epoch.told_units > self._window // 4:
                effects += self.report()  # Others keep what they do not know to be stable.
            self._forget_settled(sender, item.view, effects)
            self._confirm(effects)

    def _carry(
        self,
        epoch: Epoch,
        rank: int,
        item: Carried[Any],
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        packet = item.packet(rank)
        message = packet.message
        if message is None:
            if not self._later:
                self._apply(epoch, epoch.order.receive(packet, now), effects)
            return
        peer, number, payload = epoch.peers[rank], item.number, item.payload
        if number <= peer.last or len(payload) < PREFIX_BYTES or is_beyond(payload):
            raise cannot_come(message, peer.last)
        if message.destinations > epoch.everybody or message.group >= epoch.group_count:
            raise MalformedStamp("destinations", f"are not of view {epoch.number}")
        if peer.received >= peer.check_at:
            self._check_window(epoch, rank, peer)
        # While a view is settled the protocol stands still and messages are only collected: it
        # might learn from inside a packet of what the departed sent, after the last word on them.
        order_effects = [] if self._later else epoch.order.receive(packet, now)
        peer.last = number
        units = 1 + len(payload) // UNIT_BYTES
        peer.received += units
        if self._records:
            lamport, own_number = prefix_of(payload)
            self.lamport = max(self.lamport, lamport) + 1
            effects.append(Arrived(epoch.view.members[rank], own_number, self.lamport))
        if number not in peer.copies:
            peer.copies[number] = message
            peer.kept += units
            if item.tags:
                peer.tags[number] = item.tags
            if order_effects:
                first = order_effects[0]
                if type(first) is Deliver and first.message is message:
                    self._hand_over(epoch, message, effects)
                    if len(order_effects) > 1:
                        self._apply(epoch, order_effects[1:], effects)
                    return
            epoch.hold(message)
            if not order_effects:
                epoch.arrived_at[message.id] = now
                return
        # Else it is known from a survivor's copy, or delivered: it came inside another packet.
        if order_effects:
            self._apply(epoch, order_effects, effects)
        if message.id in epoch.undelivered:
            epoch.arrived_at[message.id] = now

    def _take_run(
        self,
        epoch: Epoch,
        rank: int,
        run: Run[Any],
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        peer, count = epoch.peers[rank], len(run.payloads)
        if run.tags and len(run.tags) != count:
            raise MalformedStamp("tags", f"are {len(run.tags)}, for {count} messages")
        if self._later or self._records:
            for item in run.carried(rank):
                self._carry(epoch, rank, item, now, effects)
            return
        packet = run.packet(rank)
        message: Message = packet.message  # type: ignore[assignment]
        if run.number <= peer.last:
            raise cannot_come(message, peer.last)
        if message.destinations > epoch.everybody or message.group >= epoch.group_count:
            raise MalformedStamp("destinations", f"are not of view {epoch.number}")
        if peer.received >= peer.check_at:
            self._check_window(epoch, rank, peer)
        units = run.weight()
        more = epoch.order.receive_run(packet, count)
        is_delivered = more is not None
        if more is None:
            run.advanced(rank, count - 1)
            more = epoch.order.receive(packet, now)
        peer.last = run.last
        peer.received += units
        peer.kept += units
        peer.runs.append((run, units))
        if is_delivered:
            self._hand_over_run(epoch, rank, run, units, effects)
        else:
            epoch.hold_run(message, run, units)
            epoch.arrived_at[message.id] = now
        if more:
            self._apply(epoch, more, effects)

    def _go_on(
        self, epoch: Epoch, first: MessageId, since: float, effects: list[SessionEffect]
    ) -> list[Effect]:
        """The first message of a run was held and is delivered: so are those behind it. Gives what
        the protocol wants done besides."""
        rank, (run, before) = first[0], epoch.behind.pop(first)
        units, count = run.weight(), len(run.payloads)
        epoch.waiting[rank] -= units
        more = epoch.order.receive_run(run.packet(rank), count)
        if more is not None:
            self._hold.count += count
            self._hold.sum_s += count * (self._now - since)
            self._hand_over_run(epoch, rank, run, units, effects)
            return more
        more = []  # Its sender has said of the others what it had said of others before.
        for item in run.carried(rank):
            packet = item.packet(rank)
            before = epoch.hold(packet.message, before)  # type: ignore[arg-type]
            epoch.arrived_at[packet.message.id] = since  # type: ignore[union-attr]
            more += epoch.order.receive(packet, self._now)
        return more

    def _hand_over_run(
        self, epoch: Epoch, rank: int, run: Run[Any], units: int, effects: list[SessionEffect]
    ) -> None:
        count, member = len(run.payloads), epoch.members[rank]
        lamports = run.delivered_at(self.lamport)
        self.lamport = max(self.lamport + count, run.lamport + (count - 1) * run.step + 1)
        self.untaken[member] += units
        if self.audience is not None:
            to = set_from_bytes(run.destinations)
            self.audience.extend(repeat((epoch, to, run.group), count))
        effects += map(
            Delivery,
            repeat(epoch.names[rank]),
            run.payloads,
            counting(run.own_number),
            repeat(epoch.group_name(run.group) if self._groups else None),
            repeat(True),
            lamports,
            repeat(member),
            repeat(self._labels[run.group] if self._labels else None),
        )

    def _check_window(self, epoch: Epoch, rank: int, peer: Peer) -> None:
        """A sender waits for the slowest receiver, and says in time what has reached everybody. So
        what is not taken is at most the window, and what others may lack is little more; as much
        again is for reports that are under way."""
        peer.check_at = peer.received + _LOOK_EVERY
        untaken = epoch.waiting[rank] + self.untaken.get(epoch.members[rank], 0)
        if max(untaken, peer.kept) > 2 * self._window:
            reason = f"{untaken} not taken and {peer.kept} kept, of {self._window}"
            raise MalformedStamp("window", f"is not kept to: {reason}")

    def _apply(
        self, epoch: Epoch, order_effects: list[Effect], effects: list[SessionEffect]
    ) -> None:
        """What the protocol wants done, and what that brings about, which is added to it."""
        for effect in order_effects:
            kind = type(effect)
            if kind is Deliver:
                message = effect.message  # type: ignore[union-attr]
                if message.id[0] == epoch.me:
                    self._hand_over(epoch, message, effects)
                    continue
                since = epoch.arrived_at.get(message.id) if epoch.behind else None
                self._deliver(epoch, message, effects)
                if since is not None and message.id in epoch.behind:
                    order_effects += self._go_on(epoch, message.id, since, effects)
            elif kind is Transmit:
                self._transmit(epoch, effect, effects)  # type: ignore[arg-type]
            elif kind is DeliverIn:
                id_ = effect.message.id  # type: ignore[union-attr]
                head = (epoch.members[id_[0]], prefix_of(effect.message.payload)[1])  # type: ignore[union-attr]
                context = Context(epoch.number, effect.history, (head,))  # type: ignore[union-attr]
                self._deliver(epoch, effect.message, effects, context)  # type: ignore[union-attr]
            elif kind is Wake:
                heappush(self._wakes, effect.at)  # type: ignore[union-attr]
                effects.append(effect)  # type: ignore[arg-type]
            elif kind is not Notice:
                raise Misuse(f"{epoch.order.name} wants {effect!r}, which no link can do")

    def _transmit(self, epoch: Epoch, effect: Transmit, effects: list[SessionEffect]) -> None:
        to, names = epoch.recipients(effect.to)
        message = effect.packet.message
        tags = b"" if self._seals is None else self._tags(epoch, message)
        item = carry(epoch.number, effect.packet, tags)
        if message is None or not epoch.makes_runs:
            effects.append(ToPeers(names, encode_item(item), to))
            return
        former, epoch.last_sent = epoch.last_sent, item
        is_next = former is not None and follows(former, item, epoch.me)
        effects.append(ToPeers(names, item, to, is_next))

    def _tags(self, epoch: Epoch, message: Message | None) -> bytes:
        """By which destinations know an own message."""
        if message is None or self._seals is None:
            return b""
        if self._sealed[0] is not message:
            self._sealed = (message, self._seals.seal(epoch.number, epoch.names, message))
        return self._sealed[1]

    def _deliver(
        self,
        epoch: Epoch,
        message: Message,
        effects: list[SessionEffect],
        context: Context | None = None,
    ) -> None:
        since = epoch.arrived_at.pop(message.id, None)
        if since is not None:
            self._hold.count += 1
            self._hold.sum_s += self._now - since
        epoch.note_delivered(message)
        self._hand_over(epoch, message, effects, context)

    def _hand_over(
        self,
        epoch: Epoch,
        message: Message,
        effects: list[SessionEffect],
        context: Context | None = None,
    ) -> None:
        payload = message.payload
        lamport, number = unpack_prefix(payload)
        if lamport < self.lamport:  # noqa: PLR1730 - here max() would be felt
            lamport = self.lamport
        self.lamport = lamport = lamport + 1
        rank = message.id[0]
        member = epoch.members[rank]
        self.untaken[member] += 1 + len(payload) // UNIT_BYTES
        if self.audience is not None:
            self.audience.append((epoch, message.destinations, message.group))
        effects.append(
            Delivery(
                epoch.names[rank],
                payload[PREFIX_BYTES:],
                number,
                epoch.group_name(message.group) if self._groups else None,
                True,
                lamport,
                member,
                self._labels[message.group] if self._labels else None,
                context,
            )
        )

    def _sent_record(
        self, epoch: Epoch, message: Message, lamport: int, order_effects: Iterable[Effect]
    ) -> Sent:
        entries = stamp_bytes = 0
        for effect in order_effects:
            if type(effect) is Transmit and effect.packet.message is message:
                stamp = effect.packet.stamp
                entries = max(entries, stamp.entries())
                stamp_bytes = max(stamp_bytes, len(encode_item(stamp)))
        to = tuple(epoch.view.members[rank] for rank in members(message.destinations))
        return Sent(self._sent, lamport, to, entries, stamp_bytes)

    def _say_settled(self, epoch: Epoch, view: View, effects: list[SessionEffect]) -> None:
        """The last word in an epoch to everybody who is still there in this view."""
        survivors = epoch.survivors(view)
        departed = [rank for rank in range(len(epoch.view.members)) if rank not in survivors]
        for rank in survivors:
            if rank == epoch.me:
                continue
            to, names = epoch.recipients(1 << rank)
            *parts, last = in_parts(epoch.copies_for(rank, departed), self._part_bytes)
            items = [Settle(epoch.number, view.number, part, more=True) for part in parts]
            items.append(Settle(epoch.number, view.number, last))
            effects += [ToPeers(names, encode_item(item), to) for item in items]

    def _take_due_settles(self, epoch: Epoch) -> None:
        """The group has come to a later view: what others said of it before counts now."""
        for rank in range(len(epoch.peers)):
            if epoch.peers[rank].settles:
                try:
                    self._take_settles(epoch, rank)
                except Exception:  # noqa: BLE001 - whatever it is, these bytes are the reason
                    self.liars.add(epoch.members[rank])

    def _take_settles(self, epoch: Epoch, rank: int) -> None:
        """Take a member's last words in an epoch, if the view that it means has come here: only
        then is it known who has departed."""
        peer, latest = epoch.peers[rank], self._later[-1] if self._later else None
        if latest is None:
            return
        due = [item for item in peer.settles if item.attempt <= latest.number]
        peer.settles = [item for item in peer.settles if item.attempt > latest.number]
        departed = {*range(len(epoch.peers))}.difference(epoch.survivors(latest))
        self._aside.count_taken(epoch.members[rank], due)
        for item in due:
            limit = 2 * self._window
            self.forged += epoch.add_copies(item.copies, departed, self._seals, limit)
            if not item.more:
                epoch.settled_with[rank] = max(item.attempt, epoch.settled_with.get(rank, 0))

    def _settle_if_complete(self, now: float, effects: list[SessionEffect]) -> None:
        epoch = self._epoch
        if epoch is None or not self._later:
            return
        attempt = self._later[-1].number
        if all(epoch.settled_with.get(rank, 0) >= attempt for rank in self._others(epoch)):
            for message in epoch.leftovers():
                self._deliver(epoch, message, effects)
            self._enter(self._later.popleft(), now, effects)

    def _confirm(self, effects: list[SessionEffect]) -> None:
        """Tell which own messages are delivered everywhere by now, in their order."""
        if not self._confirms:
            return
        for epoch in [*self._settled, *([self._epoch] if self._epoch else [])]:
            is_current = epoch is self._epoch
            is_over = not is_current and epoch.gone_on.issuperset(self._others(epoch))
            self._tell_confirmed(epoch, effects, is_over)
            if not (is_current or is_over):
                return

    def _tell_confirmed(self, epoch: Epoch, effects: list[SessionEffect], is_over: bool) -> None:
        if epoch.confirmed is not None:
            found = epoch.confirmed.take(self._now, is_over=is_over)
            if found is not None:
                effects.append(found)

    def _forget_settled(self, sender: MemberId, view: int, effects: list[SessionEffect]) -> None:
        """A member is known to have settled everything before this view."""
        for epoch in list(self._settled):
            if sender in epoch.ranks and epoch.number < view:
                epoch.gone_on.add(epoch.ranks[sender])
                if epoch.gone_on.issuperset(self._others(epoch)):
                    self._settled.remove(epoch)
                    self._tell_confirmed(epoch, effects, is_over=True)
