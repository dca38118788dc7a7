"""One member at a time: what it refuses, says of itself and remembers."""

from pathlib import Path

import pytest

from antecede.errors import MalformedStamp, Misuse
from antecede.groups import (
    Deliver,
    Effect,
    GroupConfig,
    GroupMember,
    MemberId,
    Packet,
    Stable,
    Stopped,
    StopReason,
    Told,
    Transmit,
    View,
    ViewInstalled,
    Wake,
    decode,
    encode,
    founding_view,
)
from antecede.groups.packets import (
    Ask,
    Ballot,
    Data,
    Decide,
    Decision,
    Nack,
    Prepare,
    Promise,
    Report,
    Welcome,
)
from antecede.message import process_set

CONFIG = GroupConfig(group=3)
FOUNDERS = founding_view((0, 1, 2))


def founder(process: int, **settings: object) -> GroupMember:
    config = GroupConfig(group=3, **settings) if settings else CONFIG  # type: ignore[arg-type]
    member = GroupMember(config, MemberId(process, 0), founding=FOUNDERS)
    member.start(0.0)
    return member


def packet_from(process: int, body: object, view: int = 1) -> Packet:
    return Packet(3, MemberId(process, 0), view, body)  # type: ignore[arg-type]


def test_member_either_founds_or_joins() -> None:
    with pytest.raises(Misuse, match="contacts"):
        GroupMember(CONFIG, MemberId(0, 0))
    with pytest.raises(Misuse, match=r"5\.0 is not among the founders"):
        GroupMember(CONFIG, MemberId(5, 0), founding=FOUNDERS)
    with pytest.raises(Misuse, match="durations"):
        GroupConfig(tick_s=0.0)
    with pytest.raises(Misuse, match="no time to say anything"):
        GroupConfig(tick_s=1.5)
    with pytest.raises(Misuse, match="window"):
        GroupConfig(window=0)


def test_founder_starts_in_the_first_view() -> None:
    member = GroupMember(CONFIG, MemberId(1, 0), founding=FOUNDERS)
    installed, wake = member.start(0.0)
    assert installed == ViewInstalled(FOUNDERS, FOUNDERS.members)
    assert wake == Wake(CONFIG.tick_s)
    with pytest.raises(Misuse, match="started before"):
        member.start(0.1)


def test_own_message_is_delivered_at_once_and_goes_to_all_others() -> None:
    member = founder(0)
    transmit, deliver = member.send(b"hello", 0.0)
    assert isinstance(transmit, Transmit)
    assert transmit.to == process_set([1, 2])
    assert isinstance(deliver, Deliver)
    assert (deliver.message.payload, deliver.message.vector) == (b"hello", (1, 0, 0))
    assert str(deliver.message.id) == "0.0:1"
    assert member.next_number == 2


def test_message_becomes_stable_when_all_have_reported_it() -> None:
    member = founder(0)
    member.send(b"", 0.0)
    assert member.receive(packet_from(1, Report((1, 0, 0))), 0.1) == []
    assert member.buffered() == 1
    told, stable = member.receive(packet_from(2, Report((1, 0, 0))), 0.2)
    assert isinstance(stable, Stable)
    assert [str(identity) for identity in stable.messages] == ["0.0:1"]
    assert member.buffered() == 0
    assert isinstance(told, Transmit)
    assert isinstance(told.packet.body, Report)
    assert (told.to, told.packet.body.stable) == (process_set([1, 2]), (1, 0, 0))


def test_what_another_member_calls_stable_is_stable() -> None:
    member = founder(1)
    member.receive(packet_from(2, Data(2, (0, 0, 1), b"", b"")), 0.1)
    assert member.buffered() == 1
    (stable,) = member.receive(packet_from(0, Report((0, 0, 1), stable=(0, 0, 1))), 0.2)
    assert isinstance(stable, Stable)
    assert member.buffered() == 0


def reports(effects: list[Effect]) -> list[tuple[int, bool]]:
    """Whom reports go to, and whether they want an answer."""
    return [
        (effect.to, effect.packet.body.waits)
        for effect in effects
        if isinstance(effect, Transmit) and isinstance(effect.packet.body, Report)
    ]


def test_while_all_is_well_reports_go_to_the_sender_and_heartbeats_to_the_most_senior() -> None:
    member = founder(1, suspect_after_s=1.8)
    effects = member.receive(packet_from(2, Data(2, (0, 0, 1), b"", b"")), 0.1)
    assert reports(effects) == [(process_set([2]), False)]
    effects = member.receive(packet_from(2, Data(2, (0, 0, 2), b"", b"")), 0.11)
    assert reports(effects) == []  # not twice in a tick
    assert reports(member.wake(0.2)) == [(process_set([0, 2]), True)]  # the first heartbeat
    assert reports(member.wake(0.3)) == []
    assert reports(member.wake(0.55)) == []  # that of the most senior may still come
    assert reports(member.wake(0.86)) == [(process_set([0]), True)]


def test_who_is_late_is_asked_for_and_who_asks_is_answered() -> None:
    late = CONFIG.late_after_s
    member = founder(1)
    member.receive(packet_from(0, Report((0, 0, 0), heard=b"\x01")), late)
    assert reports(member.wake(late + 0.1)) == [(process_set([0, 2]), True)]
    member = founder(1)
    member.receive(packet_from(0, Report((0, 0, 0), heard=b"\x05")), late)
    assert reports(member.wake(late + 0.1)) == [(process_set([0]), True)]  # a heartbeat
    member.receive(packet_from(2, Report((0, 0, 0), waits=True)), late + 0.11)
    assert reports(member.wake(late + 0.16)) == [(process_set([2]), False)]


def test_held_message_names_what_it_waits_for() -> None:
    member = founder(0)
    body = Data(1, (0, 1, 2), b"", b"")
    (acknowledgement,) = member.receive(packet_from(1, body), 0.1)
    assert isinstance(acknowledgement, Transmit)
    (held,) = member.held()
    assert str(held.message) == "1.0:1"
    assert [str(identity) for identity in held.awaited] == ["2.0:1", "2.0:2"]


def test_gap_is_asked_for_at_once() -> None:
    member = founder(0)
    transmit, *_ = member.receive(packet_from(1, Data(1, (0, 3, 0), b"", b"")), 0.1)
    assert isinstance(transmit, Transmit)
    assert (transmit.to, transmit.packet.body) == (process_set([1]), Nack(1, 2))


def test_window_closes_until_messages_are_stable() -> None:
    member = founder(0, window=2)
    for _ in range(5):
        member.send(b"", 0.0)
    assert len(member.state.queue) == 3
    member.receive(packet_from(1, Report((2, 0, 0))), 0.1)
    member.receive(packet_from(2, Report((2, 0, 0))), 0.1)
    member.wake(0.2)
    assert len(member.state.queue) == 1
    assert member.next_number == 6


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (Data(3, (0, 0, 0), b"", b""), "rank"),
        (Data(1, (0, 0, 0), b"", b""), "vector"),
        (Data(1, (0, 1), b"", b""), "vector"),
        (Report((0, 0)), "received"),
        (Prepare(Ballot(1, 1), (0,)), "received"),
        (Nack(2, 1), "first"),
        (Decide(Decision(View(2, ()), (0, 0))), "cut"),
        (Decide(Decision(View(3, ()), (0, 0, 0))), "view"),
        (Ask((0, 0, 0, 0)), "received"),
        (Promise(Ballot(1, 1), (0, 0, 0), Ballot(0, 0), None, ((3, 2),)), "beyond"),
    ],
)
def test_malformed_packet_is_refused_and_changes_nothing(body: object, field: str) -> None:
    member = founder(0)
    before = member.snapshot()
    with pytest.raises(MalformedStamp, match=f"field '{field}'"):
        member.receive(packet_from(1, body), 0.1)
    assert member.snapshot() == before


def test_malformed_welcome_is_refused_and_changes_nothing() -> None:
    member = GroupMember(CONFIG, MemberId(5, 0), contacts=process_set([0]))
    member.start(0.0)
    before = member.snapshot()
    decision = Decision(View(2, (MemberId(0, 0), MemberId(5, 0))), (0,))
    with pytest.raises(MalformedStamp, match="field 'base'"):
        member.receive(packet_from(0, Welcome(decision, (0,), (), b"", ()), 2), 0.1)
    assert member.snapshot() == before


def test_newcomers_of_a_large_group_ask_its_sponsor_and_after_a_while_the_others() -> None:
    config = GroupConfig(fanout=2, trusts=False, detours=False)
    contacts = range(9)
    member = GroupMember(config, MemberId(9, 0), contacts=process_set(contacts), sponsor=4)
    asked = [effect.to for effect in member.start(0.0) if isinstance(effect, Transmit)]
    while member.tick_at < 0.9 * config.late_after_s:
        asked += [one.to for one in member.wake(member.tick_at) if isinstance(one, Transmit)]
    assert set(asked) == {1 << 4}
    later = 0
    for _ in contacts:
        for effect in member.wake(member.tick_at):
            if isinstance(effect, Transmit):
                assert effect.to >> 4 & 1
                later |= effect.to
    assert later == process_set(contacts)


def test_packet_of_another_group_is_refused() -> None:
    packet = Packet(4, MemberId(1, 0), 1, Report((0, 0, 0)))
    with pytest.raises(MalformedStamp, match="is 4, not 3"):
        founder(0).receive(packet, 0.1)


def test_packets_survive_the_wire_and_garbage_is_refused() -> None:
    packet = packet_from(1, Decide(Decision(FOUNDERS, (1, 2, 300))))
    assert decode(encode(packet)) == packet
    with pytest.raises(MalformedStamp):
        decode(b"\xc1")
    with pytest.raises(MalformedStamp):
        decode(encode(packet)[:-1])


def test_vector_on_the_wire_has_the_size_of_the_view() -> None:
    """A byte an entry as long as the view is young, whatever the numbers of its members."""
    small = encode(packet_from(0, Data(0, (1,) * 8, b"", b"")))
    large = encode(packet_from(0, Data(0, (1,) * 15, b"", b"")))
    assert len(large) - len(small) == 7


def test_duplicate_and_stranger_change_nothing() -> None:
    member = founder(0)
    body = Data(1, (0, 1, 0), b"", b"")
    effects = member.receive(packet_from(1, body), 0.1)
    assert [type(effect) for effect in effects] == [Deliver, Transmit]
    assert member.receive(packet_from(1, body), 0.1) == []  # it will be acknowledged again
    before = member.snapshot()
    assert member.receive(packet_from(1, body), 0.1) == []
    assert member.receive(packet_from(9, Report((0, 0, 0))), 0.1) == []
    assert member.snapshot() == before


def test_tell_is_repeated_until_heard_and_arrives_once_in_order() -> None:
    zero, one = founder(0), founder(1)
    first = zero.tell(1, b"first", 0.0)[0]
    second = zero.tell(1, b"second", 0.0)[0]
    assert isinstance(first, Transmit)
    assert isinstance(second, Transmit)
    early = one.receive(second.packet, 0.1)
    assert not [effect for effect in early if isinstance(effect, Told)]
    later = one.receive(first.packet, 0.1)
    told = [effect.payload for effect in later if isinstance(effect, Told)]
    assert told == [b"first", b"second"]
    assert not [e for e in one.receive(first.packet, 0.1) if isinstance(e, Told)]
    repeated = [e for e in zero.wake(0.5) if isinstance(e, Transmit) and e.packet == first.packet]
    assert len(repeated) == 1
    heard = next(effect for effect in later if isinstance(effect, Transmit))
    zero.receive(heard.packet, 0.6)
    assert not zero.state.channels[MemberId(1, 0)].outgoing


def test_tell_needs_another_member() -> None:
    with pytest.raises(Misuse, match="process 7 is not another member"):
        founder(0).tell(7, b"", 0.0)
    with pytest.raises(Misuse, match="process 0 is not another member"):
        founder(0).tell(0, b"", 0.0)


def test_nothing_can_be_told_after_the_end() -> None:
    member = founder(0)
    later = Decision(View(3, (MemberId(1, 0), MemberId(2, 0))), (0, 0))
    (stopped,) = member.receive(packet_from(1, Decide(later), view=2), 0.1)
    assert isinstance(stopped, Stopped)
    assert stopped.in_doubt is True
    with pytest.raises(Misuse, match="process 1 is not another member"):
        member.tell(1, b"", 0.2)


def test_next_life_says_how_the_view_of_the_last_one_ended_until_it_is_in() -> None:
    member, again = founder(2), GroupMember(CONFIG, MemberId(2, 1), contacts=process_set([0, 1]))
    decision = Decision(View(2, (MemberId(0, 0), MemberId(1, 0))), (0, 0, 0))
    member.receive(packet_from(0, Decide(decision)), 0.1)
    assert member.view is not None  # it stays for a while to tell the others
    member.wake(60.0)
    assert member.has_stopped
    again.follow(member)
    again.start(60.0)
    (answer,) = again.receive(packet_from(1, Report((0, 0, 0))), 60.1)
    assert answer == Transmit(Packet(3, again.me, 1, Decide(decision)), 1 << 1)
    assert not again.receive(packet_from(0, Report((0, 0)), view=2), 60.2)
    third = Decision(View(3, (*decision.view.members, again.me)), (0, 0))
    again.receive(packet_from(0, Welcome(third, (0, 0, 0), (), b"", ()), view=3), 60.3)
    assert list(again.state.decisions) == [3]


def test_decision_that_does_not_follow_its_view_is_refused() -> None:
    member = founder(2)
    before = member.snapshot()
    wrong = Decide(Decision(View(2, (MemberId(1, 0),)), ()))
    with pytest.raises(MalformedStamp, match="field 'view'"):
        member.receive(packet_from(1, wrong, view=7), 0.1)
    assert member.snapshot() == before


def test_suspended_member_acknowledges_nothing_until_it_resumes() -> None:
    member = founder(2)
    member.wake(5.0)
    assert member.state.suspended
    member.receive(packet_from(1, Data(1, (0, 1, 0), b"", b"")), 5.01)
    assert member.state.peers[2].row == (0, 0, 0)
    member.wake(5.1)
    assert member.state.peers[2].row == (0, 1, 0)


def test_nothing_can_be_sent_after_leaving() -> None:
    member = founder(0)
    member.leave(0.0)
    with pytest.raises(Misuse, match="cannot send"):
        member.send(b"", 0.1)


def test_leaving_before_being_in_gives_back_what_waited() -> None:
    member = GroupMember(CONFIG, MemberId(5, 0), contacts=process_set([0]))
    member.start(0.0)
    member.send(b"never", 0.0)
    assert member.view is None
    (stopped,) = member.leave(0.1)
    assert isinstance(stopped, Stopped)
    assert stopped.reason is StopReason.LEFT
    assert [message.payload for message in stopped.undelivered] == [b"never"]


def test_retained_until_released() -> None:
    member = founder(0, retains=True)
    member.send(b"kept", 0.0)
    for process in (1, 2):
        member.receive(packet_from(process, Report((1, 0, 0))), 0.1)
    assert member.buffered() == 0
    (kept,) = member.unreleased()
    assert kept.payload == b"kept"
    member.release([kept.id], 0.2)
    assert member.unreleased() == []


def test_alone_everything_is_stable_at_once() -> None:
    member = GroupMember(CONFIG, MemberId(0, 0), founding=founding_view((0,)))
    member.start(0.0)
    effects = member.send(b"", 0.0)
    assert [type(effect) for effect in effects] == [Deliver, Stable]


def test_early_wake_is_ignored() -> None:
    member = founder(0)
    assert member.wake(CONFIG.tick_s / 2) == []
    due = 2 * CONFIG.tick_s
    assert Wake(due + CONFIG.heartbeat_s) in member.wake(due)


def test_fanout_reports_to_some_in_turn_and_to_all_in_the_end() -> None:
    founding = founding_view((0, 1, 2, 3, 4))
    config = GroupConfig(group=3, fanout=1, suspect_after_s=60.0)
    member = GroupMember(config, MemberId(2, 0), founding=founding)
    member.start(0.0)
    member.leave(0.0)  # all have to know
    targets: list[int] = []
    for tick in range(1, 5):
        effects = member.wake(tick * config.tick_s)
        targets.extend(e.to for e in effects if isinstance(e, Transmit))
    assert sorted(targets) == [process_set([process]) for process in (0, 1, 3, 4)]


def test_the_example_in_the_documentation_runs() -> None:
    page = (Path(__file__).parents[2] / "docs" / "groups.md").read_text("utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    names: dict[str, object] = {}
    exec(example, names)
    effects = names["effects"]
    assert isinstance(effects, list)
    assert [type(effect) for effect in effects] == [Transmit, Deliver]
