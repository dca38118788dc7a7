"""Why routers of a set on a tree have the same neighbours, and that on shortest ways they need
not."""

import pytest

from antecede.explore import Exploration, Program, Send
from antecede.fuzzing.judging import judge
from antecede.message import Membership, Message, process_set
from antecede.overlays.separators import SeparatorsOptions, tree
from antecede.overlays.separators.regions import regions_of
from antecede.overlays.separators.tree import Tree
from antecede.overlays.separators.ways import linked
from antecede.overlays.separators.zones import Place, Port, Structure, Zone, structure
from antecede.simulate.duty import Duty, duty
from antecede.topology import attach, load_topology
from tests.overlays.networks import TWIN_STAR, explore_all, factory, programs
from tests.overlays.test_crashes import scenario


def lopsided() -> Structure:
    """Applications 0, 1 and 2 around the routers {3, 4}; but 2 is linked to 4 alone."""
    star = structure(5, TWIN_STAR)
    both, (_, inner) = process_set([3, 4]), star.places[4].zones[2]
    zone = Zone((Port(1 << 2, 1 << 2), Port(1 << 4, inner.side)))
    end, door = zone.ports
    shared = star.places[3].zones[:2]
    places = (
        *star.places[:2],
        Place(1 << 2, ((zone, end),)),
        Place(both, shared),
        Place(both, (*shared, (zone, door))),
    )
    return Structure(places, star.hosts)


class Lopsided(Tree):
    """3 forwards into the zone of 1, and 4 into the others; what comes from 2, 3 does not get, so 4
    forwards it everywhere."""

    def forwarder(self, message: Message, place: int) -> int:
        is_shared = place == 1 and message.id.sender != 2
        return 3 if is_shared else 4


OPTIONS = SeparatorsOptions(zones=TWIN_STAR, applications=3, filters="none")


def explored(monkeypatch: pytest.MonkeyPatch, program: Program) -> Exploration:
    monkeypatch.setattr(tree, "_structure", lambda size, options: lopsided())
    return explore_all(factory(Lopsided, OPTIONS), 5, iter([program]))


def test_a_set_whose_members_have_different_neighbours_breaks_the_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2 sends m to 0 and 1; 4 forwards it to 0, which answers to 1. 3 has never heard of m."""
    sends = ((Send(1 << 1),), (), (Send(0b11),), (), ())
    found = explored(monkeypatch, Program(Membership(5), sends))
    assert found.failure is not None
    assert "0:1" in str(found.failure)
    assert "2:1" in str(found.failure)


def test_it_delivers_what_does_not_pass_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the schedule above is not a matter of how the structure was bent."""
    for program in programs(5, 3, 1, sets=True):
        assert explored(monkeypatch, program).passed


@pytest.mark.parametrize("crashed", ["b1.g2", "b2.g2"])
def test_on_shortest_ways_routers_with_other_neighbours_stand_in_for_each_other(
    crashed: str,
) -> None:
    """Two gateways of different networks are the border of a region, and one of them crashes."""
    topology = attach(load_topology("ring:4,2,2"))
    near = linked(topology.size, topology.links)
    hosts = topology.hosts
    options = SeparatorsOptions(
        links=topology.links, applications=hosts.bit_count(), routes="shortest"
    )
    first, second = map(topology.names.index, ("b1.g2", "b2.g2"))
    assert near[first] & ~(1 << second) != near[second] & ~(1 << first)
    assert 1 << first | 1 << second in regions_of(near, hosts, options).border
    run = scenario(
        "ring:4,2,2", [crashed], routes="shortest", suspect_after_s=2.0, write_ahead=True
    )
    assert duty(run) is Duty.SURVIVORS
    assert judge(run).failure is None
