"""Section 4.4 on the routed overlay: routers and processes that come back or are new, new links,
and the ways in which a newcomer gets to know what was left out."""

import pytest

from antecede.errors import Misuse
from antecede.fuzzing.judging import judge
from antecede.message import Membership, MessageId
from antecede.order import Awaited, Held, Packet, Scope
from antecede.overlays.separators import Separators, SeparatorsOptions
from antecede.overlays.separators.contexts import Context, Log
from antecede.overlays.separators.gossip import Word
from antecede.overlays.separators.shortest import Shortest
from antecede.simulate import Scenario, make_scenario
from tests.mutants import Mutant, mutated
from tests.overlays.graphs import SQUARE
from tests.overlays.search import run_changing
from tests.papers.harness import Network

MESH, TREE = "ring:4,2,2", "tree:2,2,2"


def changing(topology: str, options: dict[str, object], **changes: object) -> Scenario:
    return make_scenario(
        {
            "protocol": "separators",
            "topology": topology,
            "options": options,
            "messages": 120,
            "rate": 2.0,
            "workload": {"kind": "unicast", "cascade": 0.3},
            **changes,
        }
    )


WATCHED = [
    {"routes": "flood", "suspect_after_s": 1.5},
    {"routes": "flood", "suspect_after_s": 1.5, "forwarding": "all"},
    {"routes": "shortest", "suspect_after_s": 1.5, "write_ahead": True},
]


@pytest.mark.parametrize("options", WATCHED, ids=["flood", "flood-all", "shortest"])
@pytest.mark.parametrize("back", ["b1.g1", "p0"])
def test_who_has_crashed_comes_back(options: dict[str, object], back: str) -> None:
    crash = {"process": back, "time_s": 0.5, "back_s": 4.0}
    run = changing(MESH, options, crashes=[crash])
    assert run.latecomers
    assert judge(run).failure is None


@pytest.mark.parametrize("options", WATCHED, ids=["flood", "flood-all", "shortest"])
def test_routers_processes_and_links_are_new(options: dict[str, object]) -> None:
    joins = [{"process": "b1.g1", "time_s": 2.0}, {"process": "p3", "time_s": 3.0}]
    links = [{"between": ["b1.g2", "b3.g1"], "time_s": 2.5}]
    assert judge(changing(MESH, options, joins=joins, new_links=links)).failure is None


@pytest.mark.parametrize("routes", ["shortest", "flood"])
def test_two_parts_are_joined_by_a_router_that_is_new(routes: str) -> None:
    """Case ii: what was sent across before is delivered when there is a way."""
    options = {"routes": routes, "suspect_after_s": 1.5}
    joins = [{"process": "wan", "time_s": 3.0}]
    assert judge(changing("tree:2,1,2", options, joins=joins)).failure is None


@pytest.mark.parametrize("options", [{}, {"suspect_after_s": 1.5}, {"forwarding": "all"}])
def test_on_a_tree_processes_come_and_come_back(options: dict[str, object]) -> None:
    """Case i: nothing lies behind them."""
    joins = [{"process": "p3", "time_s": 2.0}]
    crash = {"process": "p1", "time_s": 0.5, "back_s": 3.0}
    assert judge(changing(TREE, options, joins=joins, crashes=[crash])).failure is None


def test_a_tree_lets_no_router_in() -> None:
    options = SeparatorsOptions(links=((0, 1), (1, 2)), latecomers=((3, 1),))
    with pytest.raises(Misuse, match="routes=direct lets no router in, and process 1 forwards"):
        Separators(0, Membership(4), options)


@pytest.mark.parametrize("routes", ["shortest", "flood"])
def test_others_let_in_who_is_watched(routes: str) -> None:
    options = SeparatorsOptions(links=((0, 1),), latecomers=((2, 1),), routes=routes)  # type: ignore[arg-type]
    with pytest.raises(Misuse, match="set suspect_after_s"):
        Separators(2, Membership(3), options)


def test_links_that_come_later_are_links() -> None:
    options = SeparatorsOptions(
        links=((0, 1), (1, 2)), later_links=((0, 2),), routes="flood", suspect_after_s=1.0
    )
    with pytest.raises(Misuse, match=r"later_links: \[0, 2\]"):
        Separators(0, Membership(3), options)


@pytest.mark.parametrize("routes", ["shortest", "flood"])
def test_random_networks_that_change(routes: str) -> None:
    assert [seed for seed in range(60) if run_changing(seed, routes=routes)] == []


PLANTED = [
    ("opens-a-link-without-what-came-before", "flood", "_pass(message, new)", "_pass(message, 0)"),
    (
        "forgets-headers-at-once",
        "flood",
        "        if self._changes and waiting:\n",
        "        if self._changes and waiting and not to:\n",
    ),
    (
        "sends-to-who-has-not-come",
        "flood",
        "return self._gossip.near & ~self.state.gossip.absent",
        "return self._gossip.near",
    ),
    (
        "tells-only-those-who-are-there",
        "shortest",
        "self._send(word, self.near)",
        "self._pass_on(word, self.near)",
    ),
    (
        "gap-in-a-log-stays",
        "shortest",
        "        if epoch > self.epoch:\n            for dead",
        "        if epoch > self.epoch and epoch not in self.deposits:\n            for dead",
    ),
    ("remembers-nothing", "shortest", "return freeze(Memory(self.state.logs))", 'return b""'),
]
SEEDS = (6, 6, 9, 173, 117, 101)


@pytest.mark.parametrize(("planted", "seed"), list(zip(PLANTED, SEEDS, strict=True)))
def test_a_planted_bug_is_found(planted: tuple[str, str, str, str], seed: int) -> None:
    name, routes, old, new = planted
    assert run_changing(seed, mutated("separators", Mutant(name, old, new)), routes=routes)
    assert not run_changing(seed, routes=routes)


NO_LOGS = Mutant(
    "new-ends-get-no-logs",
    "to = core.regions.border[region] & came",
    "to = 0",
)


@pytest.mark.parametrize("mutant", [None, NO_LOGS], ids=["as-it-is", "no-logs"])
def test_the_end_of_a_new_link_gets_the_logs(mutant: Mutant | None) -> None:
    """1:1 to 2 is slow. 0 leaves it out of what 1 sends to 3, which is a region. A link from 3 to 2
    comes, and 3 writes to 2 over it: 2 holds that until 0 has heard of the link."""
    make = Separators if mutant is None else mutated("separators", mutant)
    options = SeparatorsOptions(
        links=((0, 1), (0, 2), (0, 3), (1, 2), (2, 3)),
        later_links=((2, 3),),
        routes="shortest",
        regions=((3,),),
        suspect_after_s=1.0,
    )
    team = [make(process, Membership(4), options) for process in range(4)]
    net = Network(team)
    net.send(1, 2)
    m = net.send(1, 3)
    net.arrive(net.find(0, 1, m))
    net.arrive(net.find(3, 0, m))
    for here, there in ((2, 3), (3, 2)):
        net._apply(here, getattr(team[here], "connect")(there))  # noqa: B009 (a mutant has it)
    answer = net.send(3, 2)
    net.bring(answer, 2)
    (held,) = team[2].held()
    assert held == Held(answer, (Awaited(0, 1, Scope.REPORT, 0),))
    net.settle()
    answered = ["1:1", "3:1"] if mutant is None else ["1:1"]
    assert net.history.deliveries(2) == answered


# What was left out, and is lost with those who knew it.


def reported(*, write_ahead: bool) -> Network:
    """Region {4} between 0 and 2. 3 sends n to 5, on a slow link, and m to 4, through 0, which
    leaves n out and reports it to 2, through 1. There it is lost: 1 crashes, and 0 after it."""
    options = SeparatorsOptions(
        links=((0, 1), (1, 2), (0, 3), (2, 3), (0, 4), (2, 4), (2, 5)),
        routes="shortest",
        regions=((4,),),
        write_ahead=write_ahead,
    )
    net = Network([Separators(process, Membership(6), options) for process in range(6)])
    net.send(3, 5)
    m = net.send(3, 4)
    net.arrive(net.find(0, 3, m))
    net.arrive(net.find(1, 0))
    return net


def test_without_writing_ahead_a_report_is_lost_with_two_crashes() -> None:
    """m has come to 4, which writes to 5: nobody is left who knows what 2 has to know."""
    net = reported(write_ahead=False)
    net.arrive(net.find(4, 0, MessageId(3, 2)))
    net.arrive(net.find(2, 4, net.send(4, 5)))
    net.arrive(net.find(2, 3, MessageId(3, 1)))
    assert not any(
        flight.to == 2 and flight.packet.source not in (0, 1) for flight in net.in_flight
    )
    (held,) = net.orders[2].held()
    assert held.awaited == (Awaited(0, 1, Scope.REPORT, 0),)


def test_with_writing_ahead_nobody_inside_has_what_could_not_be_opened() -> None:
    net = reported(write_ahead=True)
    with pytest.raises(LookupError):
        net.find(4, 0, MessageId(3, 2))


WHOLE = [
    Mutant("leaves-in-parts", "if is_own and leaving:", "if False:"),
    Mutant("overtakes-itself", "not (entering.is_own and is_behind)", "True"),
]


@pytest.mark.parametrize("mutant", [None, *WHOLE], ids=["as-it-is", *(one.name for one in WHOLE)])
def test_what_is_sent_leaves_whole_and_in_order(mutant: Mutant | None) -> None:
    """0, at the border of {3}, sends to 1 and 3, and again to 1: if it crashes before the border
    has what it left out, nobody waits for a message that nobody has."""
    make = Separators if mutant is None else mutated("separators", mutant)
    options = SeparatorsOptions(links=SQUARE, routes="shortest", regions=((3,),), write_ahead=True)
    net = Network([make(process, Membership(4), options) for process in range(4)])
    net.send(0, 1, 3)
    net.send(0, 1)
    has_left = any(flight.packet.message is not None for flight in net.in_flight)
    assert has_left == (mutant is not None)
    net.settle()
    assert net.history.deliveries(1) == ["0:1", "0:2"]


def test_a_checkpoint_of_those_who_live_would_block() -> None:
    """Case iv, the first way: 3 separates 4 from the rest, and has crashed; 5 takes its place. What
    3 had left out is known to those who live; but they know more: n, which follows m and waits for
    it. Opened by what they know, m waits for n. So checkpoints are no way here: they would need a
    stop of all traffic before the crash."""
    options = SeparatorsOptions(
        links=((0, 3), (0, 1), (1, 2), (2, 3), (3, 4)),
        routes="shortest",
        regions=((4,),),
        latecomers=((5, 3),),
        suspect_after_s=1.0,
        tidy=0,
    )
    team = [Separators(process, Membership(6), options) for process in range(6)]
    net = Network(team)
    net.bring(net.send(2, 1), 1)
    x = net.send(2, 4)
    net.arrive(net.find(3, 2, x))
    net.arrive(net.find(4, 3, x))
    m = net.send(4, 1, 2)
    sent = net.find(3, 4, m)
    net.arrive(sent)
    net.arrive(net.find(2, 3, m))
    net.arrive(net.find(0, 3, m))  # and there it is lost: 0 crashes, and 3
    n = net.send(2, 1)
    net.bring(n, 1)
    five = team[5].machine
    assert isinstance(five, Shortest)
    known = Context({}, {})
    for process in (1, 2):
        known.merge(team[process].state.context)
    five.state.logs[0, 3] = Log(1, {1: known})
    net._apply(5, five.receive(Packet(2, None, Word(1, 2, 1, gone=(0, 3)))))
    net._apply(5, five.receive(sent.packet))  # 4 sends it again
    net.arrive(net.find(2, 5, m))
    net.arrive(net.find(1, 2, m))
    waiting = {one.message: one.awaited for one in team[1].held()}
    assert waiting == {m: (Awaited(*n),), n: (Awaited(*m),)}
