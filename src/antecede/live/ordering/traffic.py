"""What passes through the protocol of a view: others' packets to it, its own to the links, and what
it delivers to the application, with what that counts for (`weight`) until it is taken.

Messages that came as one item (`Run`) are ordered and delivered as one: they wait behind the first
of them, and are not looked at one by one.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappush
from itertools import count as counting
from itertools import repeat
from typing import Any, Final

from antecede.errors import MalformedStamp, Misuse
from antecede.groups import MemberId
from antecede.live.ordering.effects import Arrived, Delivery, Hold, Sent, SessionEffect, ToPeers
from antecede.live.ordering.epoch import Epoch, Peer, cannot_come
from antecede.live.ordering.incomplete import Context, DeliverIn
from antecede.live.ordering.items import (
    PREFIX_BYTES,
    UNIT_BYTES,
    Carried,
    Run,
    carried,
    encode_item,
    follows,
    is_beyond,
    prefix_of,
    unpack_prefix,
)
from antecede.live.ordering.seals import Seals
from antecede.message import Message, MessageId, ProcessSet, members, set_from_bytes
from antecede.order import Deliver, Effect, Notice, Transmit, Wake

Audience = tuple[Epoch, ProcessSet, int]
"""Whom a delivered message was for: ranks in an epoch, and the index of a group."""
WINDOW: Final = 8192
"""How many units a receiver may lag behind, unless it is said."""
_LOOK_EVERY: Final = 256
"""Units from a peer between two looks at whether it keeps to the window."""


class Traffic:
    """Of one member, through all views."""

    def __init__(
        self,
        *,
        hold: Hold,
        window: int,
        seals: Seals | None,
        records: bool,
        labels: Sequence[str],
        has_groups: bool,
    ) -> None:
        self._hold = hold
        self._window = window
        self._seals = seals
        self._sealed: tuple[Message | None, bytes] = (None, b"")
        """The last own message and its tags."""
        self._records = records
        self._labels = labels
        self._has_groups = has_groups
        self.now = 0.0
        self.lamport = 0
        self.wakes: list[float] = []
        """When the protocol asked to be woken in this epoch, as a heap."""
        self.untaken: dict[MemberId, int] = {}
        """Units (`weight`) of each member's messages that the application has yet to take."""
        self.audience: deque[Audience] | None = None
        """Where somebody wants to know: of every delivery so far, whom it was for."""

    def begin(self, epoch: Epoch) -> None:
        """A view begins."""
        self.wakes.clear()
        self.untaken = {member: self.untaken.get(member, 0) for member in epoch.members}
        epoch.group_count = max(epoch.group_count, len(self._labels))

    def taken(self, deliveries: Iterable[Delivery]) -> None:
        """The application has taken these messages."""
        untaken = self.untaken
        for one in deliveries:
            if one.member in untaken:
                untaken[one.member] -= 1 + (PREFIX_BYTES + len(one.payload)) // UNIT_BYTES

    def carry(
        self,
        epoch: Epoch,
        rank: int,
        item: Carried[Any],
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        """A packet has come."""
        packet = item.packet(rank)
        message = packet.message
        if message is None:
            if not epoch.is_settling:
                self.apply(epoch, epoch.order.receive(packet, now), effects)
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
        order_effects = [] if epoch.is_settling else epoch.order.receive(packet, now)
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
                        self.apply(epoch, order_effects[1:], effects)
                    return
            epoch.hold(message)
            if not order_effects:
                epoch.arrived_at[message.id] = now
                return
        # Else it is known from a survivor's copy, or delivered: it came inside another packet.
        if order_effects:
            self.apply(epoch, order_effects, effects)
        if message.id in epoch.undelivered:
            epoch.arrived_at[message.id] = now

    def take_run(
        self,
        epoch: Epoch,
        rank: int,
        run: Run[Any],
        now: float,
        effects: list[SessionEffect],
    ) -> None:
        """Messages have come together."""
        peer, count = epoch.peers[rank], len(run.payloads)
        if run.tags and len(run.tags) != count:
            raise MalformedStamp("tags", f"are {len(run.tags)}, for {count} messages")
        if epoch.is_settling or self._records:
            for item in run.one_by_one(rank):
                self.carry(epoch, rank, item, now, effects)
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
            self.apply(epoch, more, effects)

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
            self._hold.sum_s += count * (self.now - since)
            self._hand_over_run(epoch, rank, run, units, effects)
            return more
        more = []  # Its sender has said of the others what it had said of others before.
        for item in run.one_by_one(rank):
            packet = item.packet(rank)
            before = epoch.hold(packet.message, before)  # type: ignore[arg-type]
            epoch.arrived_at[packet.message.id] = since  # type: ignore[union-attr]
            more += epoch.order.receive(packet, self.now)
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
            repeat(epoch.group_name(run.group) if self._has_groups else None),
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

    def apply(
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
                self.deliver(epoch, message, effects)
                if since is not None and message.id in epoch.behind:
                    order_effects += self._go_on(epoch, message.id, since, effects)
            elif kind is Transmit:
                self._transmit(epoch, effect, effects)  # type: ignore[arg-type]
            elif kind is DeliverIn:
                id_ = effect.message.id  # type: ignore[union-attr]
                head = (epoch.members[id_[0]], prefix_of(effect.message.payload)[1])  # type: ignore[union-attr]
                context = Context(epoch.number, effect.history, (head,))  # type: ignore[union-attr]
                self.deliver(epoch, effect.message, effects, context)  # type: ignore[union-attr]
            elif kind is Wake:
                heappush(self.wakes, effect.at)  # type: ignore[union-attr]
                effects.append(effect)  # type: ignore[arg-type]
            elif kind is not Notice:
                raise Misuse(f"{epoch.order.name} wants {effect!r}, which no link can do")

    def _transmit(self, epoch: Epoch, effect: Transmit, effects: list[SessionEffect]) -> None:
        to, names = epoch.recipients(effect.to)
        message = effect.packet.message
        tags = b"" if self._seals is None else self._tags(epoch, message)
        item = carried(epoch.number, effect.packet, tags)
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

    def deliver(
        self,
        epoch: Epoch,
        message: Message,
        effects: list[SessionEffect],
        context: Context | None = None,
    ) -> None:
        since = epoch.arrived_at.pop(message.id, None)
        if since is not None:
            self._hold.count += 1
            self._hold.sum_s += self.now - since
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
                epoch.group_name(message.group) if self._has_groups else None,
                True,
                lamport,
                member,
                self._labels[message.group] if self._labels else None,
                context,
            )
        )

    def sent_record(
        self, epoch: Epoch, message: Message, number: int, order_effects: Iterable[Effect]
    ) -> Sent:
        """Of an own message with this number over all views: for whoever records it."""
        entries = stamp_bytes = 0
        for effect in order_effects:
            if type(effect) is Transmit and effect.packet.message is message:
                stamp = effect.packet.stamp
                entries = max(entries, stamp.entries())
                stamp_bytes = max(stamp_bytes, len(encode_item(stamp)))
        to = tuple(epoch.view.members[rank] for rank in members(message.destinations))
        return Sent(number, self.lamport, to, entries, stamp_bytes)
