"""The programs of a size: all of them, and one of each class of symmetry."""

from collections import Counter
from itertools import permutations

import pytest

from antecede.errors import Misuse
from antecede.explore import Kind, Program, Send, programs
from antecede.explore.program import choices, default_kind
from antecede.message import Membership, members, process_set
from antecede.order import Addressing

CYCLE = (0b0011, 0b0110, 0b1101)


def _class_of(program: Program) -> frozenset[tuple[tuple[tuple[int, int], ...], ...]]:
    """The program under every renaming of the processes that maps groups to groups; a group goes by
    its members, which are different here."""
    membership = program.membership
    found = set()
    for names in permutations(range(membership.size)):

        def rename(bits: int, names: tuple[int, ...] = names) -> int:
            return process_set(names[p] for p in members(bits))

        if {rename(group) for group in membership.groups} != set(membership.groups):
            continue
        renamed = {
            names[p]: tuple((rename(send.destinations), send.group < 0) for send in sends)
            for p, sends in enumerate(program.sends)
        }
        found.add(tuple(renamed[p] for p in range(membership.size)))
    return frozenset(found)


def test_four_processes_and_five_messages() -> None:
    everything = programs(Membership(4), 5, Kind.UNICAST, renamings=())
    assert sum(1 for _ in everything) == 3**5 * 56
    # Burnside: of the renamings only the 6 exchanges of two processes leave a program as it is, 36
    # programs each: k messages of one of the two (3^k ways), the same of the other, and the rest
    # between the two processes that keep their names.
    unmoved = sum(3**k * (5 - 2 * k + 1) for k in range(3))
    assert unmoved == 36
    classes = (3**5 * 56 + 6 * unmoved) // 24
    assert sum(1 for _ in programs(Membership(4), 5, Kind.UNICAST)) == classes


@pytest.mark.parametrize(
    ("kind", "membership", "messages"),
    [
        (Kind.UNICAST, Membership(3), 3),
        (Kind.UNICAST, Membership(4), 2),
        (Kind.SETS, Membership(3), 2),
        (Kind.SETS_AND_SELF, Membership(3), 2),
        (Kind.GROUP, Membership(4), 4),
        (Kind.GROUPS, Membership(4, CYCLE), 3),
        (Kind.GROUPS, Membership(4, (0b0011, 0b1100)), 3),
    ],
)
def test_one_program_of_each_class(kind: Kind, membership: Membership, messages: int) -> None:
    classes = {_class_of(p) for p in programs(membership, messages, kind, renamings=())}
    chosen = Counter(map(_class_of, programs(membership, messages, kind)))
    assert set(chosen) == classes
    assert set(chosen.values()) == {1}


def test_groups_of_the_same_members_stay_apart() -> None:
    twins = Membership(2, (0b11, 0b11))
    sends = [program.sends for program in programs(twins, 1, Kind.GROUPS)]
    assert sends == [((Send(0b11, 0),), ()), ((Send(0b11, 1),), ())]


def test_whom_a_process_may_address() -> None:
    assert choices(Kind.UNICAST, Membership(3))[1] == [Send(0b001), Send(0b100)]
    assert choices(Kind.SETS, Membership(3))[1] == [Send(0b001), Send(0b100), Send(0b101)]
    assert len(choices(Kind.SETS_AND_SELF, Membership(3))[1]) == 7
    assert choices(Kind.GROUP, Membership(3))[1] == [Send(0b111, 0)]
    assert choices(Kind.GROUPS, Membership(4, CYCLE))[1] == [Send(0b0011, 0), Send(0b0110, 1)]


def test_addressing_and_groups_agree() -> None:
    with pytest.raises(Misuse, match="needs groups"):
        choices(Kind.GROUPS, Membership(3))
    with pytest.raises(Misuse, match="knows no groups"):
        choices(Kind.UNICAST, Membership(3, (0b111,)))


def test_what_is_explored_when_nothing_is_said() -> None:
    assert default_kind(Addressing.SETS, Membership(3)) is Kind.SETS
    assert default_kind(Addressing.SETS, Membership(4)) is Kind.UNICAST
    assert default_kind(Addressing.SETS, Membership(4, CYCLE)) is Kind.GROUPS
    assert default_kind(Addressing.ONE_GROUP, Membership(4)) is Kind.GROUP
    assert default_kind(Addressing.GROUPS, Membership(4)) is Kind.GROUP


def test_a_program_reads_well() -> None:
    program = Program(Membership(2), ((Send(0b10), Send(0b11)), ()))
    assert str(program) == "process 0 sends 0:1 to {1}, 0:2 to {0, 1}\nprocess 1 sends nothing"
