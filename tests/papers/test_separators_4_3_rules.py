"""Rodrigues and Verissimo, section 4.3: rule R9, its repairs, and what it refuses."""

from typing import Any

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, MessageId
from antecede.order import Packet
from antecede.orders._surroundings import Sides
from antecede.orders.histories import Entry, Histories, HistoriesOptions, Located, Timestamp
from tests.papers.harness import Early, Network, early
from tests.papers.neighbours import FIVE, NEWCOMER, PATH, Net, explore_all, factory

STAR = Net(4, ((0, 1), (1, 2), (1, 3)), (Sides((1,), (2, 3), (0,)),))
"""Gateway 1 between 0 and {2, 3}; R9 towards the latter only."""


def network(net: Net, order: type[Histories] = Histories, **repairs: bool) -> Network:
    options = net.options(**repairs)
    return Network([order(process, Membership(net.size), options) for process in range(net.size)])


def cited(net: Network, to: int, message: MessageId) -> list[str]:
    stamp = net.find(to, message.sender, message).packet.stamp
    return [f"{sender}:{number}" for sender, number, _ in stamp.H]


def test_a_gateway_leaves_out_what_stays_behind_it() -> None:
    net = network(STAR)
    net.send(1, 0)
    assert cited(net, 2, net.send(1, 2)) == []
    assert cited(net, 0, net.send(1, 0)) == ["1:1", "1:2"]  # not towards the back


def test_as_printed_the_own_messages_are_kept_until_they_are_reported_to_oneself() -> None:
    net = network(STAR, own_implied=False)
    net.send(1, 0)
    assert cited(net, 2, net.send(1, 2)) == ["1:1"]
    assert cited(net, 3, net.send(1, 3)) == ["1:2"]  # R6.2 has added the sender


def test_all_members_must_have_been_told() -> None:
    net = network(FIVE)
    net.send(2, 0)
    assert cited(net, 4, net.send(2, 4)) == ["2:1"]  # 3 has not been told
    net.settle()
    report = net.send(0, 2, 3)
    net.bring(report, 2)
    net.send(2, 1)
    assert "2:3" in cited(net, 4, net.send(2, 4))  # nor of this one
    net.bring(report, 3)
    first = net.send(0, 2, 3)
    net.bring(first, 2)
    second = net.send(0, 2, 3)
    net.bring(second, 2)
    assert str(first) not in cited(net, 4, net.send(2, 4))


@pytest.mark.parametrize(("gateways", "kept"), [(False, ["2:1"]), (True, [])])
def test_a_message_to_a_gateway_and_to_the_back(gateways: bool, kept: list[str]) -> None:
    """0 – 1 – 2 – 3: what 2 sent to 1 and 3 lies behind {2} or is addressed to its member."""
    path = Net(4, PATH.links, (Sides((1,), (0,), (2, 3)),))
    net = network(path, gateways=gateways)
    net.bring(net.send(2, 1, 3), 1)
    assert cited(net, 0, net.send(1, 0)) == kept


@pytest.mark.parametrize("own_implied", [False, True])
def test_a_message_that_also_goes_elsewhere_cites_everything(own_implied: bool) -> None:
    net = network(STAR, own_implied=own_implied)
    net.send(1, 0)
    assert cited(net, 2, net.send(1, 0, 2)) == ["1:1"]


class Unchecked(Histories):
    """R9 without the refusal."""

    def check_addressing(self, message: Message) -> None:
        """Anybody may be addressed."""

    def check(self, packet: Packet[Timestamp], message: Message) -> None:
        """From anybody."""


def test_a_message_to_a_stranger_would_overtake() -> None:
    net = network(STAR, Unchecked)
    net.send(1, 0)
    net.bring(net.send(1, 3), 3)
    net.bring(net.send(3, 0), 0)  # 3 and 0 are not linked
    assert early(net.history) == [Early(0, MessageId(1, 1), MessageId(3, 1))]


def test_a_message_to_a_stranger_is_refused() -> None:
    order = network(STAR).orders[3]
    before = order.snapshot()
    with pytest.raises(Misuse, match=r"3:1 is addressed to \[0\].*linked to \[1\] alone.*R9"):
        order.send(Message(MessageId(3, 1), 0b0011))
    assert order.snapshot() == before


def test_a_packet_of_a_stranger_is_refused() -> None:
    order = network(STAR).orders[0]
    with pytest.raises(MalformedStamp, match="source"):
        order.receive(Packet(3, Message(MessageId(3, 1), 1), Timestamp((), ())))


class Complement(Histories):
    """F as given, and everybody else is taken for B."""

    def is_behind(self, entry: Entry, cuts: list[Any]) -> bool:
        return any(not entry.A & cut.front and not cut.told & ~entry.C for cut in cuts)


def overtaking(order: type[Histories]) -> list[Early]:
    """1 sends to 3, then to 2, which sends to 3."""
    net = network(NEWCOMER, order)
    net.send(1, 3)
    net.bring(net.send(1, 2), 2)
    net.bring(net.send(2, 3), 3)
    return early(net.history)


def test_a_complement_leaves_out_too_much() -> None:
    assert overtaking(Complement) == [Early(3, MessageId(1, 1), MessageId(2, 1))]


def test_for_an_unknown_process_nothing_is_left_out() -> None:
    assert overtaking(Histories) == []
    assert explore_all(factory(NEWCOMER), 4, NEWCOMER.programs(3)).passed


class Appendix(Histories):
    """R6.2 and R6.3 of appendix A.5: the sender is not added, and carbon copies start empty. There
    are no R7 and R8."""

    def _unreported(self, destinations: int) -> Located:
        return super()._unreported(-1)  # more than anybody is ever told

    def _record_send(self, message: Message, unreported: Located) -> None:
        for entries in self.state.H.values():
            for entry in entries.values():
                entry.C |= message.destinations
        self._add_to_causal(*message.id, message.destinations)
        self._add_to_delivered(message.id)

    def _record_delivery(self, message: Message, stamp: Timestamp) -> None:
        for sender, number, wire in stamp.H:
            self._add_to_causal(sender, number, int.from_bytes(wire, "little"))
        self._add_to_causal(*message.id, message.destinations)


@pytest.mark.parametrize("own_implied", [False, True])
def test_by_the_appendix_r9_never_applies_unless_the_own_membership_is_implied(
    own_implied: bool,
) -> None:
    applied = 0

    class Counted(Appendix):
        def is_behind(self, entry: Entry, cuts: list[Any]) -> bool:
            nonlocal applied
            is_behind = super().is_behind(entry, cuts)
            applied += is_behind
            return is_behind

    make = factory(PATH, Counted, own_implied=own_implied)
    assert explore_all(make, PATH.size, PATH.programs(3)).passed
    assert (applied > 0) is own_implied


@pytest.mark.parametrize(
    ("links", "separators", "reason"),
    [
        ((), (), "give it links"),
        (((0, 4),), (), "no link 0 – 4"),
        (((1, 1),), (), "no link 1 – 1"),
        (PATH.links, (Sides((1,), (0, 2), (3,)),), "path 2, 3 leads from F to B and avoids S = 1"),
        (PATH.links, (Sides((1,), (0, 1), (3,)),), "S and F share 1"),
        (PATH.links, (Sides((1,), (0,), ()),), "B is empty"),
        (PATH.links, (Sides((1,), (0,), (7,)),), "B names processes"),
        (PATH.links, (Sides((1,), (0,), (-2,)),), "below 0"),
    ],
)
def test_what_is_no_network_or_no_separator_is_refused(
    links: tuple[tuple[int, int], ...], separators: tuple[Sides, ...], reason: str
) -> None:
    options = HistoriesOptions(rules="R1-R9", links=links, separators=separators)
    with pytest.raises(Misuse, match=reason):
        Histories(0, Membership(4), options)


def test_links_without_r9_are_refused() -> None:
    with pytest.raises(Misuse, match="for rule R9; the rules are R1-R8"):
        Histories(0, Membership(4), HistoriesOptions(links=PATH.links))


def test_a_separator_is_loaded_at_its_members_only() -> None:
    orders = network(PATH).orders
    assert [len(order._cuts) for order in orders] == [0, 2, 2, 0]  # type: ignore[attr-defined]
