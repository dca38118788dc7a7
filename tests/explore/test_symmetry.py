"""The explorer takes processes for alike only where nothing tells them apart.

Every option of every protocol is tried: those with a few values with all of them, the others with
the examples below. An option without a statement or without examples fails.
"""

import types
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from random import Random
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

from antecede.errors import BadInput, Misuse
from antecede.explore import Explorer, Kind, OrderFactory, Program, Settings, explore, programs
from antecede.explore.program import choices, renamed_program
from antecede.explore.schedule import factory_of
from antecede.explore.symmetry import Renaming, renamings, symmetries
from antecede.message import Membership
from antecede.order import Addressing, Order, Says, stated
from antecede.protocols import find, names
from tests.explore.alike import difference

SIZE = 3
WAKES = (1,) * SIZE
LINE = [[0, 1], [1, 2]]
ACROSS = {"rules": "R1-R9", "links": LINE}

EXAMPLES: dict[str, list[dict[str, Any]]] = {
    "blocks-fast silence_s": [{"silence_s": 0.5}],
    "blocks-relative silence_s": [{"silence_s": 0.5}],
    "blocks-slow silence_s": [{"silence_s": 0.5}],
    "bounded k": [{"k": 3}, {"k": 9}, {"k": [3, 4, 9]}, {"k": [3, 9, 3]}, {"k": [9, 9, 9]}],
    "histories rules": [ACROSS],
    "histories links": [ACROSS, {**ACROSS, "links": [[0, 1], [1, 2], [0, 2]]}],
    "histories separators": [
        {**ACROSS, "separators": [{"members": [1], "front": [0], "back": [2]}]},
        {
            **ACROSS,
            "separators": [
                {"members": [1], "front": [0], "back": [2]},
                {"members": [1], "front": [2], "back": [0]},
            ],
        },
    ],
    "pairs beat_s": [{"beat_s": 1.0}],
    "pairs repeat_s": [{"repeat_s": 1.0}],
    "pairs suspect_after_s": [{"suspect_after_s": 1.0}],
    "piggyback cleanup_interval_s": [{"cleanup_interval_s": 1.0}],
    "piggyback leave_out_s": [{"leave_out_s": 0.5}],
    "piggyback repeat_s": [{"repeat_s": 1.0}],
    "separators links": [{"links": LINE}, {"links": [[0, 1], [0, 2]]}],
    "separators applications": [{"applications": 2, "links": [[0, 2], [1, 2]]}],
    "separators zones": [{"links": LINE, "zones": [[[0], [1]], [[1], [2]]]}],
    "separators suspect_after_s": [{"suspect_after_s": 0.0}],
    "separators latecomers": [{"latecomers": []}],
    "separators later_links": [{"later_links": []}],
    "separators tidy": [{"routes": "shortest", "tidy": 1}],
    "separators write_ahead": [{"routes": "shortest", "write_ahead": True}],
    "separators recovery": [{"routes": "shortest", "recovery": "memory"}],
    "separators regions": [{"routes": "shortest", "links": LINE, "regions": [[1]]}],
    "separators filters": [{"links": LINE, "filters": [[1]]}, {"links": LINE, "filters": "none"}],
}


def _values(kind: Any) -> tuple[Any, ...]:
    """All values of a type that has few."""
    if kind is bool:
        return (False, True)
    if get_origin(kind) is Literal:
        return get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return tuple(member.value for member in kind)
    if get_origin(kind) is types.UnionType:
        return tuple(value for one in get_args(kind) for value in _values(one))
    return ()


def _examples(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    order = find(name)
    hints = get_type_hints(order.options_type)
    yield name, {}
    for option in order.options_type.__struct_fields__:
        few = [{option: value} for value in _values(hints[option])]
        examples = few + EXAMPLES.get(f"{name} {option}", [])
        # R9 needs links, and these routes, which examples of their own give; what is taken back is
        # not explored.
        refused = (
            *({"rules": "R1-R9"}, {"recovery": "rollback"}),
            *({"write_ahead": True}, {"recovery": "memory"}),
        )
        yield from [(name, example) for example in examples if example not in refused]


EXPLORED = [name for name in names() if not find(name).traits.survives_crashes]
CASES = [case for name in EXPLORED for case in _examples(name)]


@pytest.mark.parametrize("name", names())
def test_every_option_states_what_it_says_of_single_processes(name: str) -> None:
    options = find(name).options_type
    assert set(options.says) == set(options.__struct_fields__)


@pytest.mark.parametrize("name", EXPLORED)
def test_every_option_is_tried(name: str) -> None:
    order = find(name)
    tried = {option for _, example in _examples(name) for option in example}
    assert tried == set(order.options_type.__struct_fields__), "add it to EXAMPLES"
    for key in EXAMPLES:
        protocol, option = key.split()
        assert option in find(protocol).options_type.__struct_fields__, f"{key} is no option"


def _of(factory: OrderFactory, membership: Membership) -> list[Renaming]:
    orders = [factory(process, membership) for process in range(membership.size)]
    return symmetries(orders, (1,) * membership.size)


def _kinds(order: type[Order]) -> list[Kind]:
    is_any = order.traits.addressing is Addressing.SETS
    return [Kind.UNICAST, Kind.SETS] if is_any else [Kind.GROUP]


def _unequal_verdicts(
    factory: OrderFactory, kind: Kind, membership: Membership, found: list[Renaming]
) -> list[Program]:
    """The programs with another verdict than the one that stands for them, of all there are of two
    messages."""
    wakes = int(factory(0, membership).traits.null_messages)
    explorer = Explorer(factory, membership, Settings(max_wakes=wakes))
    verdicts = defaultdict(set)
    classes = {program.sends: program for program in programs(membership, 2, kind, found)}
    for program in programs(membership, 2, kind, ()):
        (chosen,) = {renamed_program(program, one).sends for one in found} & classes.keys()
        failure = explorer.explore(program).failure
        verdicts[chosen].add(failure and failure.kind)
    return [classes[chosen] for chosen, seen in verdicts.items() if len(seen) > 1]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n} {o}" for n, o in CASES])
def test_a_program_has_the_verdict_of_the_one_that_stands_for_it(
    name: str, options: dict[str, Any]
) -> None:
    factory = factory_of(name, options)
    scopes = [(kind, Membership(SIZE)) for kind in _kinds(find(name))]
    if find(name).traits.addressing >= Addressing.GROUPS:
        scopes.append((Kind.GROUPS, Membership(SIZE, (0b011, 0b110, 0b101))))
    for kind, membership in scopes:
        found = _of(factory, membership)
        if len(found) > 1:
            assert not _unequal_verdicts(factory, kind, membership, found)


def _differences(factory: OrderFactory, membership: Membership, found: list[Renaming]) -> list[str]:
    """Runs of longer programs that part from their renamed selves."""
    random = Random(1)
    parted = []
    for kind in _kinds(type(factory(0, membership))):
        allowed = choices(kind, membership)
        for seed in range(15):
            sends: list[list[Any]] = [[] for _ in range(membership.size)]
            for _ in range(8):
                process = random.randrange(membership.size)
                sends[process].append(random.choice(allowed[process]))
            program = Program(membership, tuple(map(tuple, sends)))
            parted.append(difference(factory, program, random.choice(found), seed))
    return [one for one in parted if one]


@pytest.mark.parametrize(("name", "options"), CASES, ids=[f"{n} {o}" for n, o in CASES])
def test_renamed_processes_do_the_same(name: str, options: dict[str, Any]) -> None:
    factory = factory_of(name, options)
    for size in (SIZE, 4):
        membership = Membership(size)
        with suppress(Misuse, BadInput):  # an example is for three processes
            factory(0, membership)
            assert not _differences(factory, membership, _of(factory, membership))


def test_what_is_told_apart() -> None:
    def count(name: str, options: dict[str, Any]) -> int:
        return len(_of(factory_of(name, options), Membership(SIZE)))

    assert count("matrix", {}) == 6
    assert count("histories", ACROSS) == 2
    (line,) = [e for e in EXAMPLES["histories separators"] if len(e["separators"]) == 1]
    assert count("histories", line) == 1
    assert count("separators", {"links": LINE}) == 1
    assert count("blocks-slow", {"total": True}) == 1
    assert count("bounded", {}) == 1  # of two columns that are equally full, the first is sent
    presumed = {
        len(symmetries([find("bounded")(p, Membership(3), find("bounded").options_type(k=k))
                        for p in range(3)], WAKES, presume_alike=True))
        for k in (3, [3, 9, 3], [3, 4, 9])
    }  # fmt: skip
    assert presumed == {6, 2, 1}


def test_programs_that_the_names_decide() -> None:
    """Process 0 may not address process 2, nor 2 process 0: they are alike, and 1 is not."""
    found = explore("histories", 3, 1, addressing="unicast", options=ACROSS)
    assert (found.programs, found.renamings) == (2, 2)
    found = explore("bounded", 3, 3, addressing="unicast", options={"k": [3, 4, 9]})
    assert found.programs == 110
    assert found.renamings == 1


# Planted: symmetries that are too large.


def test_links_that_are_taken_to_say_nothing_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    options = find("histories").options_type
    monkeypatch.setattr(options, "says", {**options.says, "links": Says.NOTHING})
    factory = factory_of("histories", ACROSS)
    found = _of(factory, Membership(SIZE))
    assert len(found) == 6
    assert _unequal_verdicts(factory, Kind.UNICAST, Membership(SIZE), found)
    assert _differences(factory, Membership(SIZE), found)


def test_a_list_of_k_that_is_taken_to_say_nothing_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find("bounded").options_type, "says", stated(k=Says.NOTHING))
    monkeypatch.setattr(find("bounded"), "traits", find("matrix").traits)
    factory = factory_of("bounded", {"k": [3, 4, 9]})
    found = _of(factory, Membership(SIZE))
    assert len(found) == 6
    assert _differences(factory, Membership(SIZE), found)


def test_ties_that_are_taken_to_decide_nothing_are_caught() -> None:
    four = Membership(4)
    assert _differences(factory_of("bounded", {"k": 4}), four, renamings(four))


def test_an_option_of_which_nothing_is_stated_tells_all_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(find("pairs").options_type, "says", stated())
    assert len(_of(find("pairs"), Membership(SIZE))) == 1
