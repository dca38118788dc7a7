"""What a hostile member cannot do (docs/security.md), rule by rule, on the pure machines: each rule
has a check, and a mutant without the rule that fails it. `tests/live/test_hostile.py` tries them
with real processes."""

import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antecede.errors import BadInput, MalformedStamp
from antecede.groups import GroupConfig, GroupMember, MemberId, Transmit, View
from antecede.groups.acceptor import Acceptor
from antecede.groups.core import Core
from antecede.groups.flush import Flushing
from antecede.groups.packets import (
    Accept,
    Accepted,
    Ballot,
    Body,
    Decide,
    Decision,
    Packet,
    Prepare,
    Promise,
    Report,
    Vouch,
)
from antecede.live.disputes import Disputes
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.aside import Aside
from antecede.live.ordering.epoch import Epoch
from antecede.live.ordering.items import RUN, Carried, Copy, Run, Settle, pack_prefix
from antecede.live.ordering.items import Report as Told
from antecede.live.ordering.seals import Seals
from antecede.live.ordering.session import Session
from antecede.live.ordering.traffic import WINDOW, Traffic
from antecede.orders.none import Empty
from antecede.protocols import create
from tests.live import test_calm, test_member_machine

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
CONFIG = GroupConfig(suspect_after_s=2.0, trusts=False, detours=False)
FIVE = tuple(MemberId(process, 0) for process in range(5))
VIEW = View(1, FIVE)
NOTHING = (0,) * 5
WITHOUT_2 = Decision(View(2, (*FIVE[:2], *FIVE[3:])), NOTHING)
BALLOT = Ballot(7, 0)


class Honest:
    """A member of five, or fewer, which hears what the others say; the first of them is hostile."""

    def __init__(self, process: int = 4, size: int = 5) -> None:
        self.nothing = (0,) * size
        view = View(1, FIVE[:size])
        self.member = GroupMember(CONFIG, FIVE[process], founding=view)
        self.said: list[Body] = []
        self.now = 0.0
        self._note(self.member.start(0.0))

    def _note(self, effects: list[Any]) -> None:
        self.said += [one.packet.body for one in effects if isinstance(one, Transmit)]

    def hear(self, process: int, body: Body) -> None:
        self._note(self.member.receive(Packet(0, FIVE[process], 1, body), self.now))

    def pass_time(self, seconds: float, *speaking: int) -> None:
        """These say that they live, all the time."""
        until = self.now + seconds
        while self.now < until:
            self.now += 0.05
            for process in speaking:
                self.hear(process, Report(self.nothing))
            self._note(self.member.wake(self.now))

    def has_accepted(self) -> bool:
        return any(
            isinstance(one, Vouch) or (isinstance(one, Accepted) and one.complete)
            for one in self.said
        )

    @property
    def view(self) -> int:
        assert self.member.view is not None
        return self.member.view.number


# What must hold.


def a_word_decides_nothing() -> None:
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    honest.hear(1, Decide(WITHOUT_2))
    assert honest.view == 1


def who_is_heard_is_not_left_out() -> None:
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    honest.hear(0, Prepare(BALLOT, NOTHING))
    honest.hear(0, Accept(BALLOT, WITHOUT_2))
    assert not honest.has_accepted()
    assert honest.view == 1


def nor_by_a_decision() -> None:
    """The one who leads and another one are half of four, with the most senior member."""
    honest = Honest(3, size=4)
    honest.pass_time(0.5, 0, 1, 2)
    honest.hear(0, Prepare(BALLOT, honest.nothing))
    honest.hear(0, Decide(Decision(View(2, (*FIVE[:2], FIVE[3])), honest.nothing)))
    honest.pass_time(0.5, 0, 1, 2)
    assert honest.view == 1


def who_is_silent_is() -> None:
    """The rule above must not keep the group from going on."""
    honest = Honest()
    honest.pass_time(1.8, 0, 1, 3)
    honest.hear(0, Prepare(BALLOT, NOTHING))
    honest.hear(0, Accept(BALLOT, WITHOUT_2))
    assert honest.has_accepted()


def who_insists_goes_itself() -> None:
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    for _ in range(60):
        honest.hear(0, Prepare(BALLOT, NOTHING))
        honest.hear(0, Accept(BALLOT, WITHOUT_2))
        honest.pass_time(0.1, 0, 1, 2, 3)
    assert honest.member.core.suspected(0)
    assert not honest.has_accepted()


def who_leads_next_is_not_blamed_for_it() -> None:
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    for _ in range(60):
        honest.hear(0, Prepare(BALLOT, NOTHING))
        honest.hear(0, Accept(BALLOT, WITHOUT_2))
        honest.pass_time(0.1, 0, 1, 2, 3)
    honest.hear(1, Prepare(Ballot(8, 1), NOTHING))
    honest.pass_time(1.0, 0, 1, 2, 3)
    assert honest.member.core.suspected(0)
    assert not honest.member.core.suspected(1)


def what_another_accepted_is_accepted_again() -> None:
    """A leader may have to propose what its predecessor did."""
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    honest.hear(0, Prepare(BALLOT, NOTHING))
    honest.hear(3, Vouch(Ballot(1, 1), WITHOUT_2))
    honest.hear(0, Accept(BALLOT, WITHOUT_2))
    assert honest.has_accepted()


def an_honest_leader_takes_back_who_is_heard_again() -> None:
    honest = Honest(0)
    honest.pass_time(2.5, 1, 3, 4)
    ballots = [one.ballot for one in honest.said if isinstance(one, Prepare)]
    for process in (1, 3, 4):
        honest.hear(process, Promise(ballots[-1], NOTHING, Ballot(0, 0), None))
    assert any(isinstance(one, Accept) for one in honest.said)
    honest.pass_time(0.5, 1, 2, 3, 4)
    later = [one.ballot for one in honest.said if isinstance(one, Prepare)]
    assert later[-1] > ballots[-1]
    honest.said.clear()
    for process in (1, 2, 3, 4):
        honest.hear(process, Promise(later[-1], NOTHING, Ballot(0, 0), None))
    proposed = [one.decision for one in honest.said if isinstance(one, Accept)]
    assert proposed
    assert FIVE[2] in proposed[-1].view.members


def only_the_most_senior_leads() -> None:
    honest = Honest()
    honest.pass_time(0.5, 0, 1, 2, 3)
    honest.hear(1, Prepare(BALLOT, NOTHING))
    assert not any(isinstance(one, Promise) for one in honest.said)


def claims_of_an_acceptance_need_a_quorum() -> None:
    """Else one that promises could have anything proposed."""
    honest = Honest(0)
    honest.pass_time(0.5, 1, 2, 3, 4)
    honest.hear(4, Report(NOTHING, leaving=True))  # A reason to change the view.
    honest.pass_time(0.1, 1, 2, 3)
    (ballot,) = {one.ballot for one in honest.said if isinstance(one, Prepare)}
    honest.hear(1, Promise(ballot, NOTHING, Ballot(6, 1), WITHOUT_2))
    for process in (2, 3, 4):
        honest.hear(process, Promise(ballot, NOTHING, Ballot(0, 0), None))
    proposed = [one.decision for one in honest.said if isinstance(one, Accept)]
    assert proposed
    assert all(FIVE[2] in one.view.members for one in proposed)


def who_promises_what_does_not_come_goes() -> None:
    honest = Honest(0)
    honest.pass_time(0.5, 1, 2, 3, 4)
    honest.hear(4, Report(NOTHING, leaving=True))
    lie = (0, 5, 0, 0, 0)
    for _ in range(200):
        ballots = [one.ballot for one in honest.said if isinstance(one, Prepare)]
        if ballots:
            honest.hear(1, Promise(ballots[-1], lie, Ballot(0, 0), None))
            for process in (2, 3, 4):
                honest.hear(process, Promise(ballots[-1], NOTHING, Ballot(0, 0), None))
        honest.pass_time(0.05, 1, 2, 3)
    proposed = [one.decision for one in honest.said if isinstance(one, Accept)]
    assert proposed
    assert FIVE[1] not in proposed[-1].view.members


def nobody_has_what_was_not_sent() -> None:
    with pytest.raises(MalformedStamp, match="claims"):
        Honest().hear(1, Report((0, 0, 0, 0, 9)))


# The same of messages.


def talk(window: int = WINDOW, seals: Seals | None = None) -> Session:
    made = Session(
        FIVE[4],
        lambda process, membership: create("none", process, membership),
        window=window,
        seals=seals,
    )
    made.install(VIEW, 0.0)
    return made


def carried(number: int, payload: bytes, view: int = 1) -> Carried[Empty]:
    return Carried(view, number, b"\x1f", 0, payload, Empty())


def numbers_have_a_bound() -> None:
    for prefix in ((1 << 63, 1), (1, 1 << 63)):
        with pytest.raises(MalformedStamp):
            talk().receive(FIVE[0], [carried(1, pack_prefix(*prefix))], 0.0)


def the_window_is_kept_to() -> None:
    session, body = talk(), pack_prefix(1, 1) + bytes(64 * 1024)
    flood = [carried(number, body) for number in range(1, 1000)]
    with pytest.raises(MalformedStamp, match="window"):
        session.receive(FIVE[0], flood, 0.0)
    assert session.traffic.untaken[FIVE[0]] <= 3 * WINDOW


def run_of(number: int, *payloads: bytes) -> Run[Empty]:
    return Run(1, number, b"\x1f", 0, 1, 1, number, payloads, Empty())


def runs_keep_to_the_window() -> None:
    session, bodies = talk(), [bytes(4 * 1024)] * RUN
    flood = [run_of(number, *bodies) for number in range(1, 100 * RUN, RUN)]
    with pytest.raises(MalformedStamp, match="window"):
        session.receive(FIVE[0], flood, 0.0)
    assert session.traffic.untaken[FIVE[0]] <= 3 * WINDOW


def runs_come_after_what_has_come() -> None:
    session = talk()
    session.receive(FIVE[0], [run_of(1, b"a", b"b")], 0.0)
    with pytest.raises(MalformedStamp, match="number"):
        session.receive(FIVE[0], [run_of(2, b"c", b"d")], 0.0)


def runs_have_as_many_tags_as_messages() -> None:
    with pytest.raises(MalformedStamp, match="tags"):
        talk().receive(FIVE[0], [msgspec.structs.replace(run_of(1, b"a", b"b"), tags=(b"",))], 0.0)


def views_far_ahead_are_refused() -> None:
    with pytest.raises(MalformedStamp, match="view"):
        talk().receive(FIVE[0], [carried(1, pack_prefix(1, 1), view=1000)], 0.0)


def little_is_kept_for_the_next_view() -> None:
    session, body = talk(), pack_prefix(1, 1) + bytes(64 * 1024)
    flood = [carried(number, body, view=2) for number in range(1, 1000)]
    with pytest.raises(BadInput, match="before its time"):
        session.receive(FIVE[0], flood, 0.0)


def reports_claim_no_more_than_was_sent() -> None:
    for report in (Told(1, 1 << 60, 0, 0), Told(1, 0, 1 << 60, 0)):
        with pytest.raises(MalformedStamp):
            talk().receive(FIVE[0], [report], 0.0)


def _hand_on(sender: int) -> Session:
    """The third has departed; the first hands on what a member never said."""
    session = talk(seals=Seals(bytes(32)))
    session.install(WITHOUT_2.view, 0.0)
    forged = Copy(sender, 1, b"\x1f", 0, pack_prefix(1, 1) + b"forged")
    session.receive(FIVE[0], [Settle(1, 2, (forged,))], 0.0)
    return session


def copies_are_sealed() -> None:
    session = _hand_on(2)
    assert session.epoch is not None
    assert session.settling.forged == 1
    assert not session.epoch.peers[2].copies


def copies_are_of_the_departed() -> None:
    with pytest.raises(MalformedStamp, match="still here"):
        _hand_on(3)


def _no_words_before_their_time() -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_member_machine.test_too_much_before_its_time_is_refused_whole(patch)


class Rule(msgspec.Struct, frozen=True):
    """A sentence of the page, what must hold, and the text without which it does not."""

    sentence: str
    check: Callable[[], None]
    owner: Any
    name: str
    old: str
    new: str = "False"


KILL, SPEAK = "Every number has a bound", "What a link brings is of the life at its other end"
EVICT, STARVE = "each member hears so from that quorum", "Per peer are kept at most"
FAIR = "nobody accepts a view without a member that it hears itself"
LIES = "each ends the one who is to blame"
COPIES = "only once this member's own membership says that it has departed"
RULES = (
    Rule(KILL, numbers_have_a_bound, Traffic, "carry", "is_beyond(payload)"),
    Rule(
        SPEAK, test_member_machine.test_nobody_speaks_for_another_and_strangers_not_at_all,
        MemberMachine, "_membership", "packet.source != source",
    ),
    Rule(
        SPEAK, test_member_machine.test_nobody_speaks_for_another_and_strangers_not_at_all,
        MemberMachine, "_control", "if sender in self.members():", "if True:",
    ),
    Rule(COPIES, copies_are_of_the_departed, Epoch, "add_copies", "sender not in departed"),
    Rule("only with its seal", copies_are_sealed, Epoch, "add_copies", "seals is not None"),
    Rule(EVICT, a_word_decides_nothing, Acceptor, "_learn_if_vouched", "core.is_quorum(vouching)",
         "True"),
    Rule(FAIR, who_is_heard_is_not_left_out, Acceptor, "on_accept",
         "not self._is_fair(rank, body.decision)"),
    Rule(FAIR, nor_by_a_decision, Acceptor, "on_word",
         "self._is_fair(rank, decision) and ", ""),
    Rule(FAIR, who_is_silent_is, Core, "may_go",
         "peer.heard_at < self.now - 1.5 * self.config.late_after_s"),
    Rule(FAIR, who_insists_goes_itself, Core, "_has_failed",
         "self.now - state.refused_at > 2 * self.config.suspect_after_s"),
    Rule("Who leads next begins without blame", who_leads_next_is_not_blamed_for_it, Acceptor,
         "promise", "state.frozen_at, state.refused_at = core.now, inf",
         "state.frozen_at = core.now"),
    Rule(FAIR, what_another_accepted_is_accepted_again, Acceptor, "_is_fair",
         "self._is_vouched(decision, leader)"),
    Rule("A leader that hears it again proposes anew",
         an_honest_leader_takes_back_who_is_heard_again, Flushing, "_press",
         "self._is_back(flush.decision)"),
    Rule("a quorum can have accepted", claims_of_an_acceptance_need_a_quorum, Flushing, "_earlier",
         "self.core.config.trusts", "True"),
    Rule("leads a change of views", only_the_most_senior_leads, Core, "may_lead",
         "self.config.trusts", "True"),
    Rule("more than half of all but the accused", test_calm.test_the_word_of_most_others_counts,
         Disputes, "is_won", "2 * len(accusers) > len(members) - 1", "bool(accusers)"),
    Rule(STARVE, the_window_is_kept_to, Traffic, "_check_window",
         "max(untaken, peer.kept) > 2 * self._window"),
    Rule(STARVE, runs_keep_to_the_window, Traffic, "take_run", "peer.received >= peer.check_at"),
    Rule(LIES, runs_come_after_what_has_come, Traffic, "take_run", "run.number <= peer.last"),
    Rule(LIES, runs_have_as_many_tags_as_messages, Traffic, "take_run",
         "len(run.tags) != count"),
    Rule(STARVE, little_is_kept_for_the_next_view, Aside, "check_room",
         "> self._most_bytes", "< 0"),
    Rule(STARVE, _no_words_before_their_time, MemberMachine, "receive",
         "not self.early.has_room(sender, aside)"),
    Rule(LIES, views_far_ahead_are_refused, Aside, "put",
         "item.view > view + _VIEWS_AHEAD"),
    Rule(LIES, reports_claim_no_more_than_was_sent, Epoch, "note_report",
         "received > self._put[rank]"),
    Rule(LIES, reports_claim_no_more_than_was_sent, Epoch, "note_report",
         "untaken > self._put[rank] + former"),
    Rule(LIES, nobody_has_what_was_not_sent, GroupMember, "check", "not self.config.trusts"),
    Rule(LIES, who_promises_what_does_not_come_goes, Flushing, "_restart",
         "not self.core.config.trusts"),
)  # fmt: skip


def plant(patch: pytest.MonkeyPatch, rule: Rule) -> None:
    """Take the rule away."""
    source = textwrap.dedent(inspect.getsource(getattr(rule.owner, rule.name)))
    assert source.count(rule.old) == 1, f"{rule.owner.__name__}.{rule.name}: {rule.old}"
    namespace: dict[str, Any] = {}
    exec(source.replace(rule.old, rule.new), vars(sys.modules[rule.owner.__module__]), namespace)
    patch.setattr(rule.owner, rule.name, namespace[rule.name])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: f"{rule.name}: {rule.old}")
def test_each_rule_is_needed(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds, and without the rule it does not; the page says so."""
    rule.check()
    assert rule.sentence in " ".join(PAGE.read_text("utf-8").split())
    plant(monkeypatch, rule)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        rule.check()
