"""Flooded headers: causal order without stamps, on any network with FIFO links."""

from random import Random

import pytest

from antecede.errors import BadInput, MalformedStamp
from antecede.message import Membership, Message, MessageId
from antecede.order import Awaited, Channels, Order, Packet
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.flood import Flood, Header, Payload, Stamps
from antecede.topology import attach, load_topology
from tests.mutants import Mutant, mutated
from tests.overlays.graphs import HEXAGON, PRISM, SMALL, SQUARE
from tests.overlays.lab import Lab
from tests.overlays.networks import explore_all, factory, programs
from tests.papers.harness import History, Network, Send, early, run, undelivered


def flooding(links: tuple[tuple[int, int], ...], forwarding: str = "one") -> SeparatorsOptions:
    return SeparatorsOptions(links=links, routes="flood", forwarding=forwarding)  # type: ignore[arg-type]


def team(size: int, options: SeparatorsOptions) -> list[Separators]:
    return [Separators(process, Membership(size), options) for process in range(size)]


def test_a_header_goes_everywhere_and_the_message_takes_one_way() -> None:
    net = Network(team(4, flooding(SQUARE)))
    net.send(0, 1)
    net.settle()
    stamps = [flight.packet.stamp for flight in net.history.flights]
    links, nodes = 4, 4
    assert sum(isinstance(stamp, Header) for stamp in stamps) == 2 * links - nodes + 1
    assert sum(isinstance(stamp, Payload) for stamp in stamps) == 1
    assert net.history.deliveries(1) == ["0:1"]


def waiting() -> Network:
    """2 has the header of 0:1 by way of 3, not yet the message; then 3 sends to it."""
    net = Network(team(4, flooding(SQUARE)))
    net.send(0, 2)
    net.arrive(net.find(3, 0))
    net.arrive(net.find(2, 3))
    net.send(3, 2)
    net.arrive(net.find(2, 3))
    net.arrive(net.find(2, 3))
    return net


def test_a_message_waits_for_those_before_it() -> None:
    net = waiting()
    (held,) = net.orders[2].held()
    assert (held.message, held.awaited) == (MessageId(3, 1), (Awaited(0, 1),))
    net.settle()
    assert net.history.deliveries(2) == ["0:1", "3:1"]


def test_a_held_message_survives_a_snapshot() -> None:
    net = waiting()
    resumed = Separators(2, Membership(4), flooding(SQUARE))
    resumed.restore(net.orders[2].snapshot())
    assert resumed.held() == net.orders[2].held()
    assert resumed.snapshot() == net.orders[2].snapshot()


def test_it_needs_fifo_links_and_the_others_do_not() -> None:
    assert team(4, flooding(SQUARE))[0].traits.channels is Channels.FIFO
    assert Separators(0, Membership(2)).traits.channels is Channels.ANY
    assert Separators.traits_under(flooding(SQUARE)).channels is Channels.FIFO


@pytest.mark.parametrize(
    ("name", "forwarding", "applications"),
    [("path", "one", 4), ("square", "all", 4), ("square", "one", 2)],
)
def test_two_messages_in_all_schedules(name: str, forwarding: str, applications: int) -> None:
    size, links = SMALL[name]
    make = factory(Separators, flooding(links, forwarding))
    assert explore_all(make, size, programs(size, applications, 2)).passed


def random_run(
    make: type[Order], options: SeparatorsOptions, size: int, seed: int, *, fifo: bool = True
) -> History:
    chance = Random(seed)
    applications = options.applications or size
    lines = []
    for _ in range(40):
        to = chance.sample(range(applications), chance.randint(1, min(3, applications)))
        lines.append(Send(chance.randrange(applications), tuple(sorted(to))))
    orders = [make(process, Membership(size), options) for process in range(size)]
    return run(orders, lines, seed, fifo=fifo, duplicate=0.1)


@pytest.mark.parametrize("forwarding", ["one", "all"])
@pytest.mark.parametrize("source", ["ring:3,3,2", "Abilene"])
def test_random_traffic_on_topologies(source: str, forwarding: str) -> None:
    topology = attach(load_topology(source))
    options = SeparatorsOptions(
        links=topology.links,
        applications=topology.hosts.bit_count(),
        routes="flood",
        forwarding=forwarding,  # type: ignore[arg-type]
    )
    for seed in range(3):
        history = random_run(Separators, options, topology.size, seed)
        assert (early(history), undelivered(history)) == ([], [])


def test_without_fifo_links_the_order_breaks() -> None:
    options = flooding(SQUARE, "all")
    assert any(early(random_run(Separators, options, 4, seed, fifo=False)) for seed in range(9))


MUTANTS = [
    Mutant(
        name="delivers-as-it-comes",
        old="while queue and queue[0] in arrived:\n"
        "            effects.append(Deliver(arrived.pop(queue.pop(0))))",
        new="for one in [one for one in queue if one in arrived]:\n"
        "            queue.remove(one)\n"
        "            effects.append(Deliver(arrived.pop(one)))",
    ),
    Mutant(
        name="headers-take-shortest-ways",
        old="self._announce(message, self._open & ~(1 << packet.source))",
        new="self._announce(message, sum(1 << n for n, _ in self._gossip.ways.next_hops("
        "message.destinations & ~(1 << packet.source))))",
    ),
    Mutant(
        name="passes-no-header-that-names-it",
        old="effects = self._announce(message, self._open & ~(1 << packet.source))",
        new="effects = self._announce(message, 0 if message.destinations >> self.process & 1 else "
        "self._open & ~(1 << packet.source))",
    ),
]


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant) -> None:
    broken = mutated("separators", mutant)
    assert any(lab_run(broken, flooding(HEXAGON), 6, seed) for seed in range(400))


def lab_run(make: type[Order], options: SeparatorsOptions, size: int, seed: int) -> str:
    orders = [make(process, Membership(size), options) for process in range(size)]
    return Lab(orders, range(size), Random(seed)).run(10)


def test_random_runs_with_slow_links() -> None:
    for seed in range(100):
        for links in (HEXAGON, PRISM):
            assert lab_run(Separators, flooding(links), 6, seed) == ""


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        (Packet(2, None, Header(1, 3, 1, b"\1")), "source"),
        (Packet(1, None, Header(1, 9, 1, b"\1")), "sender"),
        (Packet(1, None, Header(1, 0, 1, b"\1")), "sender"),
        (Packet(1, None, Header(1, 2, 0, b"\1")), "number"),
        (Packet(1, None, Header(1, 2, 1, b"\x10")), "destinations"),
        (Packet(1, None, Payload(1, b"\1")), "message"),
        (Packet(1, Message(MessageId(1, 1), 1), Payload(1, b"\1")), "number"),
    ],
)
def test_what_cannot_be_is_refused(packet: Packet[Stamps], field: str) -> None:
    order = Flood(0, Membership(4), flooding(SQUARE))
    before = order.snapshot()
    with pytest.raises(MalformedStamp, match=field):
        order.receive(packet)
    assert order.snapshot() == before


def test_a_network_in_pieces_is_refused() -> None:
    with pytest.raises(BadInput, match="not connected"):
        Separators(0, Membership(4), flooding(((0, 1), (2, 3))))
