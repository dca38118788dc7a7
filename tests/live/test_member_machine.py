"""The machine of one member, without sockets."""

import pytest

from antecede import groups
from antecede.errors import MalformedStamp
from antecede.groups import GroupConfig, MemberId
from antecede.groups.packets import Ask
from antecede.live import early
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.epoch import TooEarly
from antecede.live.ordering.items import ITEM_BYTES, Direct, Introduce, Membership, Report
from antecede.live.outputs import Identity
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.roster import Entry


def founder() -> MemberMachine:
    identity = Identity("a", ("127.0.0.1", 1), 1)
    core = MemberMachine(
        identity, ProtocolChoice("vector", {}), GroupConfig(transfers_state=True), founds=True
    )
    core.start(0.0)
    return core


def test_too_much_before_its_time_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The link brings it again, so nothing of it may have been done."""
    monkeypatch.setattr(early, "_EARLY_BYTES", 5 * ITEM_BYTES)
    core, report, text = founder(), Report(1, 0, 0, 0), Direct(b"text")
    core.roster.add(Entry(1, "b", "127.0.0.1", 2))
    core._suspended = True
    done: list[object] = []
    monkeypatch.setattr(core, "_control", lambda *what: done.append(what))
    for _ in range(2):
        core.receive("b", 1, [text, report, report], 0.0)
    for _ in range(2):
        with pytest.raises(TooEarly, match="before its time"):
            core.receive("b", 1, [text, report, report], 0.0)
    assert len(done) == 2
    assert core.receive("b", 1, [report], 0.0) == []


def test_who_sent_what_cannot_be_right_before_its_time_is_heard_no_more() -> None:
    """By the time it is looked at, the link at hand may be another one: that is not to blame."""
    core, ask = founder(), Introduce("127.0.0.1", 3)
    core.roster.add(Entry(1, "b", "127.0.0.1", 2))
    core.roster.add(Entry(2, "c", "127.0.0.1", 3))
    core._suspended = True
    core.receive("b", 1, [Report(1, 0, 0, 0)], 0.0)  # It does not belong to this view.
    core._suspended = False
    later = Report(2, 0, 0, 0)
    assert core.receive("c", 1, [ask, later], 0.0)
    assert core.receive("b", 1, [ask], 0.0) == []


def test_nobody_speaks_for_another_and_strangers_not_at_all() -> None:
    core = founder()
    core.roster.add(Entry(1, "b", "127.0.0.1", 2))
    assert core.receive("stranger", 1, [Direct(b"text")], 0.0) == []
    with pytest.raises(MalformedStamp, match="no member"):
        core.receive("stranger", 1, [Report(2, 0, 0, 0)], 0.0)
    assert core.member is not None
    for source in (MemberId(0, 1), MemberId(1, 2)):
        packet = groups.Packet(core.member.config.group, source, 1, Ask(()))
        with pytest.raises(MalformedStamp, match="on a link of 'b'"):
            core.receive("b", 1, [Membership(groups.encode(packet))], 0.0)
