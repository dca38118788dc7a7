"""What scenarios ask for besides causal order is drawn, and what is wrong with it is found."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from antecede.fuzzing import draw, judge
from antecede.fuzzing.shrinking import shrink
from antecede.histories.labels import Labels
from antecede.histories.priorities import Priorities
from antecede.orders import create
from antecede.simulate import Scenario, incomplete, make_scenario
from antecede.simulate.fully import Evident, Synchronous
from antecede.simulate.regrouping import Regroupings

SEEDS = range(1, 141)


def asked(scenario: Scenario) -> str:
    """What for; nothing, mostly."""
    if scenario.incomplete is not None:
        return scenario.incomplete.kind
    if scenario.fully_delivered is not None:
        return scenario.fully_delivered.kind
    return "regroupings" if scenario.regroupings else ""


def test_everything_is_asked_for() -> None:
    protocols = ("blocks-fast", "histories", "optimal", "piggyback", "daisy", "none")
    scenarios = {name: [draw(name, seed) for seed in SEEDS] for name in protocols}
    found = {name: Counter(map(asked, drawn)) for name, drawn in scenarios.items()}
    assert {*found["optimal"]} == {"", "labels"}
    assert {*found["blocks-fast"]} == {"", "labels", "regroupings"}
    assert {*found["histories"]} == {"", "labels", "priorities", "contexts", "time", "evidence"}
    for name in ("piggyback", "daisy", "none"):
        assert {*found[name]} == {""}
    incomplete_ones = [one.incomplete for drawn in scenarios.values() for one in drawn]
    assert any(getattr(one, "bypass", 0) for one in incomplete_ones)
    assert any(getattr(one, "merge", 0) for one in incomplete_ones)


def no_order(self: Labels, label: int) -> Any:
    return create("none", self.process, self.membership)


def missing_of_one_level(self: Priorities, packet: Any) -> Any:
    own = packet.message.group
    return (one for one in MISSING(self, packet) if one[0] == own)


MISSING = Priorities._missing


def confirmed_by_one(self: Evident, key: tuple[int, int], process: int) -> None:
    CONFIRM(self, key, self.state.unconfirmed.get(key, process))


CONFIRM = Evident._confirm


def known_too_soon(self: Synchronous, message: Any, now: float = 0.0) -> Any:
    self.known.append((message.id, now + self.options.delta_s / 5))
    return SEND(self, message, now)


SEND = Synchronous.send


def no_flush(self: Regroupings, process: int, now: float) -> None:
    self._change(now)


PLANTED: dict[str, tuple[str, str, Any, str, Callable[..., Any]]] = {
    "labels without order": ("optimal", "labels", Labels, "_order", no_order),
    "priorities apart": ("histories", "priorities", Priorities, "_missing", missing_of_one_level),
    "merging forgets": ("histories", "contexts", incomplete, "merge", lambda first, _: first),
    "one is enough": ("histories", "evidence", Evident, "_confirm", confirmed_by_one),
    "too soon": ("histories", "time", Synchronous, "send", known_too_soon),
    "no flush": ("blocks-fast", "regroupings", Regroupings, "_flush", no_flush),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    protocol, kind, place, what, bug = PLANTED[name]
    drawn = [one for one in (draw(protocol, seed) for seed in SEEDS) if asked(one) == kind]
    assert all(judge(one).failure is None for one in drawn)
    monkeypatch.setattr(place, what, bug)
    failing = [(one, failure) for one in drawn if (failure := judge(one).failure) is not None]
    assert failing
    shrunk = shrink(*failing[0], most_runs=60)
    assert asked(shrunk.scenario) == kind  # which it takes
    assert shrunk.scenario.message_limit <= failing[0][0].message_limit


def test_labels_are_refused_where_messages_travel_in_stamps() -> None:
    for protocol in ("piggyback", "daisy"):
        with pytest.raises(Exception, match="puts messages into its stamps"):
            make_scenario({"protocol": protocol, "processes": 4, "incomplete": {"kind": "labels"}})
