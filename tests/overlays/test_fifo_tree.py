"""The baseline of the figures: a tree of single routers with FIFO links needs no stamp at all."""

from typing import Any

import pytest

from antecede.explore import Settings, explore
from antecede.message import Membership, Message
from antecede.order import Channels, Effect, Order, Packet, Transmit
from antecede.overlays.separators.tree import Hop, Tree
from antecede.overlays.separators.zones import Port, Zone
from antecede.protocols import deploy_for, network_options, parse_options


class Unstamped(Tree):
    """What comes is passed on at once."""

    def _hop(self, message: Message, zone: Zone, own: Port) -> list[Effect]:
        to = zone.next_hop(own, message.destinations)
        if not to:
            return []
        self.state.sent += 1
        return [Transmit(Packet(self.process, message, Hop(self.state.sent, ())), to)]

    def receive(self, packet: Packet[Any], now: float = 0.0) -> list[Effect]:
        message, hop = self._read(packet)
        self.hops = [hop.id]
        return self._pass_on(message, packet.source)


def passes(topology: str, channels: Channels, messages: int) -> bool:
    options = {"routes": "tree"}
    deployment = deploy_for("separators", options, topology)
    known = network_options("separators", options, deployment)
    parsed = parse_options("separators", {**options, **known})

    def make(process: int, membership: Membership) -> Order:
        return Unstamped(process, membership, parsed)

    settings = Settings(channels=channels)
    return explore(make, deployment.topology.size, messages, settings=settings).passed


@pytest.mark.parametrize("topology", ["tree:1,1,3", "ring:3,1,1"])
def test_single_routers_and_fifo_links_are_enough(topology: str) -> None:
    assert passes(topology, Channels.FIFO, 3)


def test_links_that_reorder_need_stamps() -> None:
    assert not passes("tree:1,1,3", Channels.ANY, 2)


def test_routers_that_stand_in_for_each_other_need_stamps() -> None:
    assert not passes("clusters:1+1+1,2", Channels.FIFO, 3)
