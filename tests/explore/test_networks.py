"""Programs that respect a network: neighbours of R9, hosts of an overlay; and bugs found there."""

from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.explore import explore
from antecede.message import Membership, members
from antecede.order import Order
from antecede.orders.histories import Entry, Histories, HistoriesOptions
from antecede.overlays.separators import Separators
from antecede.protocols import deploy_for, network_options, parse_options
from tests.overlays.networks import PerMessage

R9 = {"rules": "R1-R9"}


class Untold(Histories):
    """R9 without its condition that all of S have heard of what is left out."""

    def is_behind(self, entry: Entry, cuts: list[Any]) -> bool:
        return any(not entry.A & ~cut.back for cut in cuts)


def on(
    order: type[Order], name: str, topology: str, options: dict[str, Any], messages: int
) -> bool:
    """Whether an order stands in for the protocol of this name on a network."""
    deployment = deploy_for(name, options, topology)
    parsed = parse_options(name, {**options, **network_options(name, options, deployment)})

    def make(process: int, membership: Membership) -> Order:
        return order(process, membership, parsed)

    return explore(make, deployment.topology.size, messages).passed


@pytest.mark.parametrize("topology", ["ring:3,1,1", "clusters:1+1,2", "largest:Arpanet196912"])
def test_r9_holds_on_a_network(topology: str) -> None:
    found = explore("histories", None, 3, topology=topology, options=R9)
    assert found.passed
    assert found.programs > 100


def test_a_wrong_r9_is_found() -> None:
    """Word of it comes back through the gateway that has not heard of it."""
    assert not on(Untold, "histories", "clusters:1+1,2", R9, 4)


def test_routers_are_explored_and_those_that_take_turns_are_found_out() -> None:
    assert on(Separators, "separators", "clusters:1+1,2", {}, 2)
    assert not on(PerMessage, "separators", "clusters:1+1,2", {}, 2)


def test_only_neighbours_and_hosts_are_addressed() -> None:
    options = {**R9, "links": [[0, 1], [1, 2]]}
    order = Histories(0, Membership(3), HistoriesOptions(rules="R1-R9", links=((0, 1), (1, 2))))
    assert list(members(order.reach)) == [0, 1]
    assert explore("histories", 3, 1, options=options, symmetry=False).programs == 5
    assert explore("separators", None, 1, topology="tree:1,1,2").programs == 2


@pytest.mark.parametrize(
    ("protocol", "options", "match"),
    [
        ("vector", {}, "vector knows no network"),
        ("histories", {}, "rules=R1-R9"),
        ("separators", {"links": [[0, 1]]}, r"drop the options \['links'\]"),
    ],
)
def test_what_cannot_be_on_a_network(protocol: str, options: dict[str, Any], match: str) -> None:
    with pytest.raises(Misuse, match=match):
        explore(protocol, None, 1, topology="ring:3,1,1", options=options)


def test_a_network_with_nobody_to_address() -> None:
    with pytest.raises(Misuse, match="'group': no process can"):
        explore("histories", None, 1, topology="ring:4,1,1", options=R9, addressing="group")
