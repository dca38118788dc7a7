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

from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heappop

import msgspec

from antecede.errors import MalformedStamp, Misuse
from antecede.groups import MemberId, View
from antecede.live.ordering.aside import Aside, Ordered
from antecede.live.ordering.confirmed import Confirmed
from antecede.live.ordering.effects import Delivery, Hold, SessionEffect, ToPeers, ViewChange
from antecede.live.ordering.epoch import Epoch, OrderFactory
from antecede.live.ordering.incomplete import Context, ContextOrder, Head
from antecede.live.ordering.items import (
    LARGEST,
    PART_BYTES,
    Carried,
    Report,
    Run,
    Settle,
    encode_item,
    new_id,
    pack_prefix,
)
from antecede.live.ordering.seals import Seals
from antecede.live.ordering.settling import Settling
from antecede.live.ordering.traffic import WINDOW, Traffic
from antecede.message import NO_GROUP, Message, ProcessSet, process_set
from antecede.order import Held


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
        self._window = max(window, WINDOW)
        self._aside = Aside(self._window)
        self._put_before: dict[MemberId, int] = {}
        """By member, units sent to it in former views."""
        self.liars: set[MemberId] = set()
        """Who sent, before its time, what cannot be right."""
        self.has_news = False
        """Whether there may be something to report."""
        self._labels = tuple(labels)
        self._make_order = make_order
        self._groups = groups or {}
        self._records = records
        self._name_of = name_of
        self._epoch: Epoch | None = None
        self.settling = Settling(self._aside, seals, part_bytes=part_bytes, window=self._window)
        self.traffic = Traffic(
            hold=hold or Hold(),
            window=self._window,
            seals=seals,
            records=records,
            labels=self._labels,
            has_groups=bool(self._groups),
        )
        self._sent = sent
        """The number of the last own message, in this life or, where that goes on, in all."""
        self._heads: tuple[Head, ...] = ()
        """The last message sent, if it is in a context."""

    @property
    def epoch(self) -> Epoch | None:
        return self._epoch

    @property
    def is_open(self) -> bool:
        """Whether messages can be sent now: nobody who cannot tell them from others' is there."""
        epoch = self._epoch
        if epoch is None or epoch.is_settling:
            return False
        if self._seals is not None and not epoch.has_keys:
            epoch.has_keys = self._seals.has_all(epoch.members, epoch.names, epoch.me)
            return epoch.has_keys
        return True

    # -- inputs

    def install(self, view: View, now: float) -> list[SessionEffect]:
        """The group has come to a view that this member belongs to."""
        self.traffic.now = now
        effects: list[SessionEffect] = []
        if self._epoch is None:
            self._enter(view, now, effects)
            return effects
        self.settling.later.append(view)
        self._epoch.is_settling = True
        for epoch in [*self.settling.former, self._epoch]:
            self.settling.say(epoch, view, effects)
        self.liars.update(self.settling.take_due(self._epoch))
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
        epoch, traffic = self._epoch, self.traffic
        if epoch is None or epoch.is_settling:
            raise Misuse("the group is changing its view; wait until is_open")
        destinations, local_group = self._address(epoch, to, group)
        if self._labels:
            local_group = self._label(label)
        lamport = min(traffic.lamport + 1, LARGEST)
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
        traffic.lamport = lamport
        epoch.note_sent(message, self._sent, now)
        effects: list[SessionEffect] = []
        if self._records:
            after = None if context is None else context.heads
            sent = traffic.sent_record(epoch, message, self._sent, order_effects)
            effects.append(msgspec.structs.replace(sent, label=label, after=after))
        traffic.apply(epoch, order_effects, effects)
        if self._confirms and len(epoch.members) == 1:  # nobody reports
            self.settling.confirm(epoch, now, effects)
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
        traffic = self.traffic
        traffic.now = now
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
            elif type(item) is Run and rank is not None and not epoch.is_settling:
                traffic.take_run(epoch, rank, item, now, effects)  # As nearly all of them,
            elif type(item) is Carried and rank is not None and not epoch.is_settling:
                traffic.carry(epoch, rank, item, now, effects)  # or one by one.
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
        due, wakes = False, self.traffic.wakes
        while wakes and wakes[0] <= now:
            heappop(wakes)
            due = True
        epoch = self._epoch
        if due and epoch is not None and not epoch.is_settling:
            self.traffic.apply(epoch, epoch.order.wake(now), effects)
        return effects

    def take(self, deliveries: Iterable[Delivery]) -> None:
        """The application has taken these messages."""
        self.traffic.taken(deliveries)
        self.has_news = True

    def report(self) -> list[SessionEffect]:
        """Tell the others what has come, where that has changed; to be called now and then."""
        epoch = self._epoch
        if epoch is None or not self.has_news:
            return []
        self.has_news = False
        effects: list[SessionEffect] = []
        epoch.told_units = epoch.stable_units
        for rank in self.settling.others(epoch, epoch):
            member = epoch.view.members[rank]
            untaken = self.traffic.untaken.get(member, 0) + epoch.waiting[rank]
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
        for epoch in self.settling.former:
            if not self.settling.is_over(epoch, self._epoch):
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
        epoch = self._epoch
        if epoch is None:
            return []
        held = {one.message: one for one in epoch.order.held()}
        for first, (run, _) in epoch.behind.items():
            awaited = held[first].awaited if first in held else ()
            ids = [new_id(first[0], number) for number in range(run.number, run.last + 1)]
            held |= {id_: Held(id_, awaited) for id_ in ids}
        return [held[id_] for id_ in sorted(held)]

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
        later = self.settling.later
        epoch.is_settling = bool(later)
        self.traffic.begin(epoch)
        before = former.view.members if former is not None else ()
        joined = [member for member in view.members if member not in before]
        departed = [member for member in before if member not in view.members]
        self.traffic.lamport += 1
        came, went = (tuple(map(self._name_of, some)) for some in (joined, departed))
        effects.append(
            ViewChange(view.number, names, came, went, view.members, self.traffic.lamport)
        )
        if former is not None:
            self.settling.former.append(former)
        for one in later:
            self.settling.say(epoch, one, effects)
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
        later = self.settling.later
        if later and sender not in later[-1].members:
            # What others have not seen of a departed member must not be seen here either.
            return
        if type(item) is Carried:
            self.traffic.carry(epoch, rank, item, now, effects)
        elif type(item) is Run:
            self.traffic.take_run(epoch, rank, item, now, effects)
        elif type(item) is Settle:
            self.settling.hear(epoch, rank, item)
            self._settle_if_complete(now, effects)
        elif type(item) is Report:
            former, held = self._put_before.get(sender, 0), item.undelivered
            epoch.note_report(rank, item.received, item.untaken, item.stable, held, former)
            if epoch.stable_units - epoch.told_units > self._window // 4:
                effects += self.report()  # Others keep what they do not know to be stable.
            self.settling.note_gone_on(sender, item.view, epoch, now, effects)
            if self._confirms:
                self.settling.confirm(epoch, now, effects)

    def _settle_if_complete(self, now: float, effects: list[SessionEffect]) -> None:
        epoch = self._epoch
        if epoch is not None and self.settling.is_complete(epoch):
            for message in epoch.leftovers():
                self.traffic.deliver(epoch, message, effects)
            self._enter(self.settling.later.popleft(), now, effects)
