"""The tree of sets and zones, and the refusal of everything else."""

import pytest

from antecede.errors import Misuse
from antecede.message import members, process_set
from antecede.overlays.separators.zones import Links, Zones, structure
from tests.overlays.networks import CHAPTER_5, TWIN_PATH, TWIN_STAR, size_of


def test_a_hop_goes_to_all_members_of_the_next_set() -> None:
    place = structure(6, TWIN_PATH).places[2]
    (left, from_left), (right, from_right) = place.zones
    assert list(members(right.next_hop(from_right, 1 << 1))) == [4, 5]
    assert list(members(left.next_hop(from_left, 0b11))) == [0]
    assert right.next_hop(from_right, 1 << 0) == 0  # that way leads elsewhere


def test_one_hop_serves_all_sets_of_a_zone() -> None:
    """A local network of 0, 1, 2 and the routers {3, 4}, with 5 beyond them."""
    zones: Zones = (((0,), (1,), (2,), (3, 4)), ((3, 4), (5,)))
    place = structure(6, zones).places[0]
    ((zone, own),) = place.zones
    assert list(members(zone.next_hop(own, process_set([1, 5])))) == [1, 3, 4]
    assert list(members(zone.beyond(own))) == [1, 2, 3, 4, 5]


def test_hosts_are_alone_in_their_sets() -> None:
    assert list(members(structure(5, TWIN_STAR).hosts)) == [0, 1, 2]
    assert list(members(structure(12, CHAPTER_5).hosts)) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 11]


def test_neighbours_share_a_zone_and_not_a_set() -> None:
    found = structure(size_of(CHAPTER_5), CHAPTER_5)
    assert list(members(found.neighbours(9))) == [6, 11]
    assert list(members(found.neighbours(11))) == [7, 8, 9, 10]


@pytest.mark.parametrize(
    ("size", "zones", "reason"),
    [
        (4, (((0,), (1, 2)), ((1,), (3,))), r"process 1 belongs to two sets, \{1, 2\} and \{1\}"),
        (4, (((0,), (1,)), ((1,), (2,))), "process 3 is in no zone"),
        (3, (((0,), (1,)), ((1,), (2,)), ((2,), (0,))), "do not form a tree: two ways lead to"),
        (4, (((0,), (1, 2)), ((1, 2), (3,)), ((3,), (0,))), "do not form a tree: two ways"),
        (4, (((0,), (1,)), ((2,), (3,))), r"tree: no way leads from \{0\} to \{2\}"),
        (2, (((0,), (1,)), ((0,), (1,))), "do not form a tree: two ways"),
        (2, (((0, 1),),), "fewer than two sets"),
        (2, (((0,), (1,), ()),), "empty set"),
        (2, (((0,), (2,)),), "no process 2"),
        (2, (((0,), (-1,)),), "no process -1"),
    ],
)
def test_what_is_no_tree_is_refused(size: int, zones: Zones, reason: str) -> None:
    with pytest.raises(Misuse, match=reason):
        structure(size, zones)


LINKS: Links = ((0, 2), (0, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 1), (5, 1))


def test_a_hop_needs_its_links() -> None:
    structure(6, TWIN_PATH, LINKS)
    cut = tuple(link for link in LINKS if link != (3, 5))
    with pytest.raises(Misuse, match=r"all members of the next set.*3 and 5 are not linked"):
        structure(6, TWIN_PATH, cut)
