"""All programs of a size: the counts add up, whoever does the work."""

import pytest

from antecede.errors import Misuse
from antecede.explore import Explorer, Kind, Settings, explore, programs
from antecede.explore import survey as survey_module
from antecede.message import Membership
from antecede.order import Gives
from antecede.protocols import find

CHAIN = (0b011, 0b110)


def test_small_programs_come_first_and_all_are_explored() -> None:
    told: list[tuple[int, int, int]] = []
    found = explore("vector", 3, 3, groups=CHAIN, progress=lambda *now: told.append(now))
    membership = Membership(3, CHAIN)
    sizes = [sum(1 for _ in programs(membership, size, Kind.GROUPS)) for size in (1, 2, 3)]
    assert found.passed
    assert found.programs == sum(sizes)
    assert [done for done, _, _ in told] == list(range(1, sum(sizes) + 1))
    assert told[-1] == (sum(sizes), sum(sizes), found.states)


def test_several_jobs_find_the_same() -> None:
    alone = explore("vector", 3, 3, groups=CHAIN)
    together = explore("vector", 3, 3, groups=CHAIN, jobs=2)
    assert together.passed
    assert (together.programs, together.schedules) == (alone.programs, alone.schedules)
    settings = Settings(expect=Gives.CAUSAL)
    alone = explore("fifo", 3, 3, settings=settings)
    together = explore("fifo", 3, 3, settings=settings, jobs=2)
    assert together.failure == alone.failure
    assert together.failure is not None


def test_options_reach_the_protocol() -> None:
    """Vectors of the sender's own groups do not suffice on a cycle of groups."""
    cycle = (0b011, 0b110, 0b101)
    assert explore("vector", 3, 3, groups=cycle).passed
    failure = explore("vector", 3, 3, groups=cycle, options={"carry": "own"}).failure
    assert failure is not None
    assert failure.options == {"carry": "own"}


def test_tables_emptied_in_between_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = explore("matrix", 3, 3)
    monkeypatch.setattr(survey_module, "_MAX_NODES", 10)
    again = explore("matrix", 3, 3)
    assert (again.programs, again.schedules) == (alone.programs, alone.schedules)
    assert again.passed


def test_symmetry_changes_no_verdict() -> None:
    assert explore("matrix", 3, 3, symmetry=False).passed
    settings = Settings(expect=Gives.CAUSAL)
    assert explore("fifo", 3, 3, settings=settings, symmetry=False).failure is not None


def test_wake_ups_of_all_alike_are_symmetric() -> None:
    settings = Settings(max_wakes=(1, 1, 1))
    assert explore("none", 3, 2, settings=settings).passed
    uneven = Settings(max_wakes=(0, 1, 0))
    found = explore("none", 3, 2, settings=uneven)
    assert found.passed
    assert found.renamings == 2  # only processes 0 and 2 are alike


def test_what_was_learnt_is_kept() -> None:
    """The second time a program is explored, no delivery has to be judged again."""
    explorer = Explorer(find("vector"), Membership(3))
    program = next(programs(Membership(3), 2, Kind.GROUP))
    assert explorer.explore(program).deliveries_checked > 0
    assert explorer.explore(program).deliveries_checked == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"protocol": "nonesuch"}, "there is no protocol"),
        ({"processes": 0}, "at least one process"),
        ({"messages": 0}, "one message"),
        ({"jobs": 0}, "one job"),
        ({"groups": (0b1000,)}, "only processes 0 to 2"),
        ({"groups": (0,)}, "has members"),
        ({"addressing": "nonesuch"}, "addressing is one of unicast, sets"),
        ({"addressing": "groups"}, "needs groups"),
        ({"protocol": find("none"), "jobs": 2}, "by its name"),
        ({"options": {"carry": "own"}}, "options of none"),
        ({"settings": Settings(max_wakes=(0, 1))}, "2 numbers for 3 processes"),
    ],
)
def test_misuse(arguments: dict[str, object], reason: str) -> None:
    usual: dict[str, object] = {"protocol": "none", "processes": 3, "messages": 2}
    with pytest.raises(Misuse, match=reason):
        explore(**(usual | arguments))  # type: ignore[arg-type]


def test_a_protocol_that_watches_the_clock_is_refused() -> None:
    """Its wake-ups never end."""
    with pytest.raises(Misuse, match="wake-ups never end"):
        explore("daisy", processes=2, messages=1)
