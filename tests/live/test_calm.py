"""Calm: nothing is said twice, own stalls are not others' silence, newcomers do not share a number,
and the departed are forgotten."""

import pytest

from antecede.groups import GroupConfig, GroupMember, MemberId, founding_view
from antecede.groups.packets import Packet, Report
from antecede.live.disputes import Disputes
from antecede.live.introduction import Introduction
from antecede.live.ordering.items import Introduce
from antecede.live.ordering.seals import Seals
from antecede.live.outputs import Identity
from antecede.live.roster import Entry, Roster
from antecede.message import Message, MessageId
from tests.groups.planted import Mutant, planted
from tests.live.late_links import exclusions

CONFIG = GroupConfig(suspect_after_s=2.0, patience=5.0, trusts=False, detours=False)


def three() -> GroupMember:
    member = GroupMember(CONFIG, MemberId(0, 0), founding=founding_view((0, 1, 2)))
    member.start(0.0)
    return member


def hear(member: GroupMember, process: int, now: float) -> None:
    member.receive(Packet(0, MemberId(process, 0), 1, Report((0, 0, 0))), now)


def test_who_has_been_silent_and_came_back_is_waited_for_longer() -> None:
    member = three()
    for now in (0.5, 1.0):
        hear(member, 1, now)
        hear(member, 2, now)
    hear(member, 1, 2.8)  # A busy machine: but it lives.
    core = member.core
    core.now = 3.5
    assert core.suspected(2)
    core.now = 5.5
    assert not core.suspected(1)
    assert core.stretch() > 1.0
    core.now = 9.0
    assert core.suspected(1)  # Nobody is waited for for ever.
    core.now = 1e6
    assert core.limit_s(1) == 2.0  # It is forgotten in the end.


def test_an_own_stall_is_not_the_silence_of_others() -> None:
    member = three()
    hear(member, 1, 1.0)
    member.core.excuse(4.0, 5.0)
    member.core.now = 5.5
    assert not member.core.suspected(1)
    member.core.now = 8.5
    assert member.core.suspected(1)


LATE = (
    Mutant(
        "who has not come along yet is not heard",
        "excluded",
        "reception",
        "if packet.view < state.view.number and not self.core.config.trusts:",
        "if False:",
    ),
    Mutant(
        "the most senior member does not say whom it hears while all is not well",
        "excluded",
        "reporting",
        "vouches = not core.rank and not core.config.trusts",
        "vouches = False",
    ),
)


@pytest.mark.parametrize("seed", range(2))
def test_who_cannot_be_reached_yet_is_not_taken_for_dead(seed: int) -> None:
    """Sixteen members join, and their links stand only after up to ten seconds."""
    assert exclusions(seed) == ""


@pytest.mark.parametrize("mutant", LATE, ids=lambda mutant: mutant.name)
def test_late_links_need_every_rule(mutant: Mutant) -> None:
    assert mutant.expects in exclusions(0, groups=planted(mutant))


def test_newcomers_that_wait_for_a_change_of_views_have_numbers_of_their_own() -> None:
    """Their entries are in nobody's roster yet."""
    member = three()
    introduction = Introduction("a")
    introduction.found(Identity("a", ("127.0.0.1", 1), 0))
    numbers = []
    for name in ("b", "c", "d"):
        _, entry = introduction.let_in(member, name, Introduce("127.0.0.1", 2))
        assert entry is not None
        numbers.append(entry.number)
    assert numbers == [1, 2, 3]


def test_the_roster_forgets_and_gives_no_number_twice() -> None:
    roster = Roster()
    for number in range(1000):
        roster.add(Entry(number, f"m{number}", "127.0.0.1", number))
    roster.forget({0, 1})
    assert len(roster.entries()) == 2 + 256
    assert roster.named("m0") is not None
    assert roster.named("m2") is None
    assert roster.next_number() == 1000


def test_the_word_of_most_others_counts() -> None:
    disputes, members = Disputes(), ("a", "b", "c", "d")
    disputes.begin("d", "a", 0.0)
    assert not disputes.is_won("d", members)
    assert not disputes.is_lost(members, 1.0, 2.0)
    assert disputes.is_lost(members, 3.0, 2.0)
    disputes.hear("d", "d", members)  # Who is accused has no say,
    disputes.hear("d", "stranger", members)  # nor has who is not there.
    assert not disputes.is_won("d", members)
    disputes.hear("d", "b", members)
    assert disputes.is_won("d", members)
    assert not disputes.is_lost(members, 3.0, 2.0)


def test_a_seal_is_of_one_sender_for_one_destination_and_one_message() -> None:
    names = ("a", "b", "c")
    a, b, c = (Seals(bytes([byte]) * 32) for byte in b"abc")
    for name, one in (("b", b), ("c", c)):
        a.learn(name, 1, one.key_for("a", 1))
    message = Message(MessageId(0, 7), 0b111, 0, b"true")
    tags = a.seal(3, names, message)
    assert len(tags) == 16
    assert b.is_genuine(3, ("a", 1), 1, message, tags)
    assert c.is_genuine(3, ("a", 1), 2, message, tags)
    for view, sender, rank, what, seal in (
        (4, ("a", 1), 1, message, tags),
        (3, ("a", 2), 1, message, tags),
        (3, ("c", 1), 1, message, tags),
        (3, ("a", 1), 2, message, tags),
        (3, ("a", 1), 1, Message(MessageId(0, 8), 0b111, 0, b"true"), tags),
        (3, ("a", 1), 1, Message(MessageId(0, 7), 0b011, 0, b"true"), tags),
        (3, ("a", 1), 1, Message(MessageId(0, 7), 0b111, 0, b"forged"), tags),
        (3, ("a", 1), 1, message, b""),
    ):
        assert not b.is_genuine(view, sender, rank, what, seal)
