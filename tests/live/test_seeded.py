"""Whole members with seeds come into one group whatever happens at the start; and without a rule
that this needs, they do not."""

import inspect
import types

import pytest

from antecede.groups import GroupConfig, MemberId, View, ViewInstalled
from antecede.live import entrance, member_machine
from antecede.live.member_machine import MemberMachine
from antecede.live.ordering.items import Introduced
from antecede.live.ordering.offers import Subject, Wanted
from antecede.live.outputs import Identity, ToPeer
from antecede.live.protocol_choice import ProtocolChoice
from antecede.live.roster import Entry, encode_entries
from tests.live.seeded_ledger import Ledger
from tests.live.seeded_world import MakeMachine, run

MUTANTS = {
    "a first member says so before anything else": (
        "        core.out += core.seeding.tell_founders(core.identity.name)\n",
        "",
        (6, 16),
    ),
    "who is not let in asks again, as if it had never been known": (
        "self._entrance.knocking.gives_up(now)",
        "False",
        (21, 26),
    ),
    "the latest view counts, where most have been started anew": (
        "view = None if core.member is None else core.member.view\n        if view",
        "view = core.session and core.session.epoch and core.session.epoch.view\n        if view",
        (60976,),
    ),
}
"""What replaces what, and runs in which it is missed."""


def planted(old: str, new: str) -> MakeMachine:
    """The machine with this bug, in its own file or in that of its entrance."""
    sources = [inspect.getsource(module) for module in (entrance, member_machine)]
    assert sum(source.count(old) for source in sources) == 1
    module = types.ModuleType("antecede.live.planted")
    for source in sources:  # The second finds in the namespace what the first defines.
        text = source.replace(old, new).replace(f"from {entrance.__name__} import Entrance\n", "")
        exec(compile(text, "planted", "exec"), vars(module))
    make: MakeMachine = module.MemberMachine
    return make


def test_everybody_comes_into_one_group() -> None:
    assert [run(seed, talks=seed % 2 == 1) for seed in range(10)] == [""] * 10


def test_what_no_log_has_that_can_be_asked_comes_from_its_sender() -> None:
    """All have died. Who returns asks one that came later than what it missed; its senders are
    newcomers, too, or have yet to return."""
    assert run(3065, talks=True) == ""


BOTH, ALL = {"a": 1, "b": 1}, {"a": 1, "b": 1, "c": 1}


def judged(story: str, *, life: int = 1) -> list[str]:
    """b sends y upon x of a; c sees what the story says: messages, and views by their members. x is
    of this life of a."""
    ledger = Ledger()
    readers = {name: ledger.add(name) for name in "abc"}
    ledger.begun |= {"a", "b", "c"}
    for reader in readers.values():
        reader.enter(ALL)
    ledger.send(readers["a"], b"x", 1)
    readers["b"].see(b"x", "a", 1, is_past=False)
    ledger.send(readers["b"], b"y", 1)
    for name, message in (("a", b"x"), ("b", b"y")):
        ledger.write(readers[name], message)
        if message not in readers[name].seen:
            readers[name].see(message, name, 1, is_past=False)
    readers["a"].see(b"y", "b", 1, is_past=False)
    for name in "ab":
        readers[name].enter(BOTH)
    for what in story.split():
        if what.isupper():
            readers["c"].enter({name.lower(): 1 for name in what})
        else:
            sender = {"x": "a", "y": "b"}[what]
            readers["c"].see(what.encode(), sender, life if what == "x" else 1, is_past=False)
    return ledger.problems()


def test_the_judge_finds_what_is_wrong() -> None:
    assert not judged("x y")
    assert judged("x") == ["c never saw b'y'"]
    assert judged("x y y") == ["c saw b'y' twice"]
    assert judged("y x") == ["c saw b'y' before b'x'"]
    assert not judged("y C x")  # a and b are gone,
    assert not judged("y x", life=2)  # or a is back.
    assert judged("y ABC AC x") == ["c saw b'y' before b'x'"]
    assert judged("x AB y") == ["c went on without b'y'"] * 2  # Both others have it.


@pytest.mark.parametrize("name", MUTANTS)
def test_each_rule_is_needed(name: str) -> None:
    old, new, seeds = MUTANTS[name]
    for seed in seeds:
        assert run(seed) == ""
        assert run(seed, planted(old, new))


def answered(make: MakeMachine) -> bool:
    """`b` was introduced after this newcomer, and is told of their view before it."""
    identity, config = Identity("me", ("me", 1), 3), GroupConfig(transfers_state=True)
    core = make(identity, ProtocolChoice("vector", {}), config, founds=False, wants_state=True)
    roster = [Entry(number, name, name, 1) for number, name in enumerate(("a", "me", "b"))]
    core.receive("a", 1, [Introduced(1, tuple(roster[:2]))], 0.0)
    core.receive("b", 2, [Wanted(2, 2, Subject.STATE)], 0.0)
    view = View(2, (MemberId(0, 1), MemberId(2, 2), MemberId(1, 3)))
    core._install(ViewInstalled(view, (view.members[2],), (), encode_entries(tuple(roster))), 0.0)
    return any(isinstance(one, ToPeer) and one.name == "b" for one in core.wake(0.0))


def test_newcomers_of_one_view_answer_each_other() -> None:
    assert answered(MemberMachine)
    kept = "                        self.early.keep((sender, incarnation, (item,)))\n"
    assert not answered(planted(kept, "                        pass\n"))
