"""The routed overlay: a message crosses it hop by hop, in order from end to end."""

from random import Random
from typing import Literal

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.message import Membership, Message, MessageId, members
from antecede.order import Awaited, Deliver, Packet, Scope, Transmit
from antecede.overlays.separators import Hop, Separators, SeparatorsOptions
from antecede.overlays.separators.zones import Zones
from antecede.simulate import make_scenario, simulate
from antecede.topology import attach, load_topology
from tests.overlays.networks import (
    CHAPTER_5,
    TWIN_PATH,
    TWIN_STAR,
    explore_all,
    factory,
    programs,
    size_of,
)
from tests.papers.harness import Network, Send, early, run, undelivered

PATH = SeparatorsOptions(links=((0, 1), (1, 2), (2, 3)))


def team(size: int, options: SeparatorsOptions) -> list[Separators]:
    return [Separators(process, Membership(size), options) for process in range(size)]


def test_a_message_goes_hop_by_hop() -> None:
    orders = team(4, PATH)
    message = Message(MessageId(0, 1), 0b1010)
    (first,) = orders[0].send(message)
    assert isinstance(first, Transmit)
    assert (first.packet.source, first.to) == (0, 0b0010)
    delivered, second = orders[1].receive(first.packet)
    assert delivered == Deliver(message)
    assert isinstance(second, Transmit)
    assert (second.packet.source, second.packet.message, second.to) == (1, message, 0b0100)
    (third,) = orders[2].receive(second.packet)  # 2 only forwards
    assert isinstance(third, Transmit)
    assert orders[2].hops == [MessageId(1, 1)]
    assert orders[3].receive(third.packet) == [Deliver(message)]


def test_without_a_network_everybody_is_one_hop_away() -> None:
    orders = team(3, SeparatorsOptions())
    (hop,) = orders[0].send(Message(MessageId(0, 1), 0b110))
    assert isinstance(hop, Transmit)
    assert hop.to == 0b110


def test_what_is_held_waits_for_a_hop_message() -> None:
    net = Network(team(4, PATH))
    net.send(0, 3)
    net.bring(net.send(0, 1), 1)
    (held,) = net.orders[1].held()
    assert held.message == MessageId(0, 2)
    assert held.awaited == (Awaited(0, 1, Scope.HOP),)
    assert held.awaited[0].sentence() == "hop message 0:1"


def test_a_held_message_survives_a_snapshot() -> None:
    net = Network(team(4, PATH))
    net.send(0, 3)
    net.bring(net.send(0, 1), 1)
    resumed = Separators(1, Membership(4), PATH)
    resumed.restore(net.orders[1].snapshot())
    assert resumed.held() == net.orders[1].held()
    missing = net.find(1, 0, MessageId(0, 1)).packet
    assert resumed.receive(missing) == net.orders[1].receive(missing)


def test_of_two_routers_one_forwards_or_both_do() -> None:
    for forwarding, copies in (("one", 1), ("all", 2)):
        options = SeparatorsOptions(zones=TWIN_PATH, forwarding=forwarding)  # type: ignore[arg-type]
        net = Network(team(6, options))
        net.send(0, 1)
        net.settle()
        assert net.history.deliveries(1) == ["0:1"]
        at_four = [f for f in net.history.flights if f.to == 4]
        assert len(at_four) == copies


@pytest.mark.parametrize(
    ("zones", "applications", "forwarding", "sets"),
    [
        (TWIN_STAR, 3, "one", True),
        (TWIN_STAR, 3, "all", False),
        (TWIN_PATH, 2, "one", True),
    ],
)
def test_two_messages_in_all_schedules(
    zones: Zones, applications: int, forwarding: Literal["one", "all"], sets: bool
) -> None:
    options = SeparatorsOptions(zones=zones, applications=applications, forwarding=forwarding)
    size = size_of(zones)
    todo = programs(size, applications, 2, sets=sets)
    assert explore_all(factory(Separators, options), size, todo).passed


@pytest.mark.parametrize("links", [((0, 1), (1, 2), (2, 3)), ((0, 1), (0, 2), (1, 2), (2, 3))])
def test_three_messages_along_links_in_all_schedules(links: tuple[tuple[int, int], ...]) -> None:
    options = SeparatorsOptions(links=links)
    assert explore_all(factory(Separators, options), 4, programs(4, 4, 3)).passed


def random_run(options: SeparatorsOptions, size: int, applications: int, seed: int) -> None:
    chance = Random(seed)
    lines = []
    for _ in range(40):
        sender = chance.randrange(applications)
        to = chance.sample(range(applications), chance.randint(1, min(3, applications)))
        lines.append(Send(sender, tuple(sorted(to))))
    history = run(team(size, options), lines, seed, duplicate=0.1)
    assert early(history) == []
    assert undelivered(history) == []


@pytest.mark.parametrize("forwarding", ["one", "all"])
@pytest.mark.parametrize("gateways", [False, True])
def test_random_traffic_in_chapter_5(forwarding: str, gateways: bool) -> None:
    options = SeparatorsOptions(
        zones=CHAPTER_5,
        applications=6,
        forwarding=forwarding,  # type: ignore[arg-type]
        gateways=gateways,
    )
    for seed in range(6):
        random_run(options, 12, 6, seed)


@pytest.mark.parametrize("routes", ["direct", "tree"])
@pytest.mark.parametrize("source", ["tree:2,2,2,2", "ring:3,3,2", "clusters:3+4,2", "Abilene"])
def test_random_traffic_on_topologies(source: str, routes: str) -> None:
    topology = attach(load_topology(source))
    applications = topology.hosts.bit_count()
    options = SeparatorsOptions(
        links=topology.links,
        applications=applications,
        routes=routes,  # type: ignore[arg-type]
    )
    for seed in range(2):
        random_run(options, topology.size, applications, seed)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (SeparatorsOptions(zones=TWIN_STAR, applications=4), r"process 3, which shares.*\[4\]"),
        (SeparatorsOptions(zones=TWIN_STAR, filters=((3,),)), r"\[3\] is none of the sets"),
        (SeparatorsOptions(zones=TWIN_PATH), "no process 5"),
    ],
)
def test_what_cannot_be_is_refused_at_once(options: SeparatorsOptions, reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        Separators(0, Membership(5), options)


def test_routers_neither_send_nor_are_addressed() -> None:
    orders = team(5, SeparatorsOptions(zones=TWIN_STAR))
    with pytest.raises(Misuse, match=r"no application lives at \[3\]"):
        orders[0].send(Message(MessageId(0, 1), 0b01010))
    with pytest.raises(Misuse, match=r"no application lives at \[4\]"):
        orders[4].send(Message(MessageId(4, 1), 0b00001))


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        (Packet(3, Message(MessageId(0, 1), 0b1000), Hop(1, ())), "source"),
        (Packet(0, Message(MessageId(2, 1), 0b1000), Hop(1, ())), "sender"),
        (Packet(0, Message(MessageId(0, 1), 0b0001), Hop(1, ())), "destinations"),
        (Packet(0, Message(MessageId(0, 1), 0b10000), Hop(1, ())), "destinations"),
        (Packet(0, None, Hop(1, ())), "message"),
        (Packet(0, Message(MessageId(0, 1), 0b1000), Hop(0, ())), "number"),
        (Packet(0, Message(MessageId(0, 1), 0b1000), Hop(2, ((0, 1, (9,)),))), r"H\[0\]"),
        (Packet(0, Message(MessageId(0, 1), 0b1000), Hop(2, ((0, 1, ()),))), r"H\[0\]"),
    ],
)
def test_a_hop_that_cannot_be_is_refused(packet: Packet[Hop], field: str) -> None:
    order = Separators(1, Membership(4), PATH)
    before = order.snapshot()
    with pytest.raises(MalformedStamp, match=field):
        order.receive(packet)
    assert order.snapshot() == before


def test_far_destinations_are_listed_on_the_wire() -> None:
    size = 200
    links = tuple((process, process + 1) for process in range(size - 1))
    order = Separators(size - 2, Membership(size), SeparatorsOptions(links=links))
    order.send(Message(MessageId(size - 2, 1), 1 << size - 1))
    (hop,) = order.send(Message(MessageId(size - 2, 2), 1 << size - 1))
    assert isinstance(hop, Transmit)
    (cited,) = hop.packet.stamp.H
    assert cited == (size - 2, 1, (size - 1,))


def test_filters_can_be_chosen() -> None:
    sizes = {}
    for filters in ("none", ((11,),), "all"):
        options = SeparatorsOptions(zones=CHAPTER_5, applications=6, filters=filters)
        orders = team(12, options)
        chance = Random(1)
        lines = [Send(chance.randrange(6), tuple(chance.sample(range(6), 2))) for _ in range(120)]
        history = run(orders, lines, 1)
        assert early(history) == []
        sizes[filters] = sum(flight.packet.stamp.entries() for flight in history.flights)
    assert sizes["all"] < sizes[((11,),)] < sizes["none"]


def test_hosts_are_known() -> None:
    order = Separators(0, Membership(5), SeparatorsOptions(zones=TWIN_STAR))
    assert list(members(order.hosts)) == [0, 1, 2]


@pytest.mark.parametrize(
    ("routes", "name", "value"),
    [
        ("shortest", "filters", "none"),
        ("shortest", "forwarding", "all"),
        ("shortest", "zones", (((0,), (1,)),)),
        ("flood", "write_ahead", True),
        ("flood", "regions", ((0,),)),
        ("flood", "recovery", "memory"),
        ("tree", "regions", ((0,),)),
        ("direct", "write_ahead", True),
    ],
)
def test_options_that_the_routes_do_not_use_are_refused(
    routes: str, name: str, value: object
) -> None:
    options = SeparatorsOptions(routes=routes, **{name: value})  # type: ignore[arg-type]
    with pytest.raises(Misuse, match=f"^routes={routes} does not use {name}; leave it out, or set"):
        Separators(0, Membership(2), options)


@pytest.mark.parametrize(
    "network",
    [
        {"loss": 0.1},
        {"partitions": [{"sides": [[0]], "start_s": 0.1, "end_s": 1.0, "packets": "lost"}]},
    ],
)
def test_one_way_beside_a_flood_of_headers_needs_links_that_lose_nothing(
    network: dict[str, object],
) -> None:
    fields: dict[str, object] = {"protocol": "separators", "topology": "ring:4,2,2"}
    fields |= {"messages": 60, "network": network, "options": {"routes": "flood"}}
    with pytest.raises(Misuse, match=r"needs links that lose nothing.*or set forwarding=all"):
        make_scenario(fields)
    fields["options"] = {"routes": "flood", "forwarding": "all"}
    assert simulate(make_scenario(fields)).failure is None
