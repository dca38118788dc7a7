"""Rodrigues and Verissimo, section 4.4: processes that join, as printed and repaired."""

from collections.abc import Callable
from random import Random

import pytest

from antecede.errors import Misuse
from antecede.histories import Timely, TimelyOptions
from antecede.histories.history import Cited, History, merge
from antecede.histories.joins import Case, history_of, plan, refit, take_over
from antecede.message import Membership, Message, MessageId, members, process_set
from antecede.orders._surroundings import Surroundings
from antecede.orders.histories import Histories
from antecede.topology.separator import Separator
from tests.papers.harness import Network, early, undelivered
from tests.papers.joins_lab import OPTIONS, Flush, Lab, Way

# F = {0}, S = {1, 2}, B = {3, 4}, and the newcomer is 5, unless a test says otherwise.
f, p, w, b, u = range(5)


def detour(lab: Lab, newcomer: int) -> None:
    """f sends to the newcomer, which sends to b, faster than anything else."""
    to_newcomer = lab.send(f, newcomer)
    lab.bring(to_newcomer, newcomer)
    lab.bring(lab.send(newcomer, b), b)
    lab.settle()
    assert lab.missing() == []


# The four cases. Links after the join, as sets of neighbours.


def neighbours(size: int, *links: tuple[int, int]) -> list[int]:
    found = [0] * size
    for one, other in links:
        found[one] |= 1 << other
        found[other] |= 1 << one
    return found


PATH = ((0, 1), (1, 2))
CUT = Separator(members=0b010, front=0b001, back=0b100)


@pytest.mark.parametrize(("near", "front", "back"), [(0, 0b1001, 0b100), (2, 0b001, 0b1100)])
def test_case_i_a_newcomer_on_one_side_is_beside_the_separator(
    near: int, front: int, back: int
) -> None:
    found = plan(neighbours(4, *PATH, (3, near)), [CUT], 0b111, 3)
    assert found.case is Case.BESIDE
    assert found.separators == (Separator(0b010, front, back),)


def test_case_i_a_newcomer_that_knows_members_only_is_on_neither_side() -> None:
    found = plan(neighbours(4, *PATH, (3, 1)), [CUT], 0b111, 3)
    assert (found.case, found.separators) == (Case.BESIDE, (CUT,))


def test_case_ii_a_newcomer_between_parts_that_were_never_connected_is_a_new_separator() -> None:
    links = neighbours(6, *PATH, (3, 4), (5, 0), (5, 3))
    found = plan(links, [CUT], 0b11111, 5)
    assert found.case is Case.BRIDGES
    assert found.separators == (
        Separator(0b010, 0b100001, 0b100),  # 3 and 4 remain unknown to it
        Separator(0b100000, 0b00111, 0b11000),
        Separator(0b100000, 0b11000, 0b00111),
    )


def test_case_iii_a_way_round_the_separator_makes_the_newcomer_a_member() -> None:
    found = plan(neighbours(4, *PATH, (3, 0), (3, 2)), [CUT], 0b111, 3)
    assert found.case is Case.WIDENS
    assert found.separators == (Separator(0b1010, 0b001, 0b100),)


def test_case_iv_a_newcomer_takes_the_place_of_members_that_have_all_failed() -> None:
    found = plan(neighbours(4, *PATH, (3, 0), (3, 2)), [CUT], 0b101, 3)
    assert found.case is Case.RECONNECTS
    assert found.separators == (Separator(0b1000, 0b001, 0b100),)


def test_a_link_that_goes_round_the_newcomer_too_is_refused() -> None:
    with pytest.raises(Misuse, match="a new link is a change of topology of its own"):
        plan(neighbours(4, *PATH, (3, 0), (0, 2)), [CUT], 0b111, 3)


def test_a_newcomer_is_new_and_has_links_to_the_living() -> None:
    with pytest.raises(Misuse, match="must be new"):
        plan(neighbours(4, *PATH, (3, 0)), [CUT], 0b1111, 3)
    with pytest.raises(Misuse, match="must be new"):
        plan(neighbours(4, *PATH, (3, 1)), [CUT], 0b101, 3)


def test_case_ii_needs_no_history() -> None:
    """0 – 1 and 2 – 3 have talked among themselves; 4 connects 1 and 2."""
    links = neighbours(5, (0, 1), (2, 3), (1, 4), (2, 4))
    found = plan(links, [], 0b1111, 4)
    assert found.case is Case.BRIDGES
    for seed in range(40):
        chance = Random(seed)
        alone = [
            Histories(q, Membership(4), OPTIONS, Surroundings(q, links[q], ())) for q in range(4)
        ]
        net = Network(alone)
        for _ in range(12):
            net.send(*chance.choice([(0, 1), (1, 0), (2, 3), (3, 2)]))
            if chance.random() < 0.5:
                net.arrive(chance.choice(net.in_flight))
        around = [Surroundings(q, links[q], found.separators) for q in range(5)]
        joined = [refit(order, Membership(5), around[order.process]) for order in alone]
        newcomer = take_over(4, Membership(5), around[4], [], OPTIONS, case=found.case)
        net.orders = [*joined, newcomer]
        net._numbers.append(0)
        for _ in range(40):
            if net.in_flight and chance.random() < 0.6:
                net.arrive(chance.choice(net.in_flight))
            else:
                sender = chance.randrange(5)
                net.send(sender, chance.choice(list(members(links[sender]))))
        net.settle()
        assert early(net.history) == []
        assert undelivered(net.history) == []


# Case (iii).


def test_case_iii_the_history_of_one_member_is_not_enough() -> None:
    """w has been told, but does not know it yet."""

    def run(way: Way) -> list[str]:
        lab = Lab(1, 2, 2)
        lab.send(w, b)
        lab.send(w, p)  # on its way, and cites the first
        m = lab.send(w, f)  # leaves it out
        lab.bring(m, f)
        detour(lab, lab.join(way))
        return lab.overtaken()

    assert run(Way.ONE_MEMBER) == ["5:1 overtakes 2:1 at 3"]  # of p alone
    assert run(Way.MEMBERS) == []


def test_case_iii_a_member_must_not_go_on_between_its_history_and_the_new_separator() -> None:
    def run(*, at_once: bool) -> list[str]:
        lab = Lab(1, 2, 2)
        newcomer, change = lab.announce()
        histories = lab.histories(Way.MEMBERS)
        lab.separators = change.separators
        if at_once:
            lab.install()
        n = lab.send(p, b)
        lab.send(p, w)
        lab.bring(lab.send(p, f), f)
        assert n == MessageId(p, 1)
        if not at_once:
            lab.install()
        lab.start(newcomer, histories)
        detour(lab, newcomer)
        return lab.overtaken()

    assert run(at_once=False) == ["5:1 overtakes 1:1 at 3"]
    assert run(at_once=True) == []


# Case (iv), and case (iii) after a failure.


def test_witnesses_as_printed_reported_is_not_delivered() -> None:
    """p sends n to b, r to w, and m to f, which cites r only; p fails; the newcomer asks w before
    r has arrived there."""

    def run(flush: Flush) -> list[str]:
        lab = Lab(1, 1, 2, witnesses=1)  # F = {0}, the gateway 1, B = {2, 3}, the witness 4
        gateway, back, witness = 1, 2, 4
        lab.send(gateway, back)
        lab.send(gateway, witness)
        m = lab.send(gateway, f)
        assert [cited[:2] for cited in lab.record.flights[-1].packet.stamp.H] == [(1, 2)]
        lab.bring(m, f)
        lab.crash(gateway)
        newcomer = lab.join(Way.ONE_MEMBER, flush)
        lab.bring(lab.send(f, newcomer), newcomer)
        lab.bring(lab.send(newcomer, back), back)
        lab.settle()
        assert lab.missing() == []
        return lab.overtaken()

    assert run(Flush.NOTHING) == ["5:1 overtakes 1:1 at 2"]
    assert run(Flush.OF_FAILED) == []
    assert run(Flush.TO_MEMBERS) == []


def test_what_failed_members_have_sent_is_not_all_that_must_arrive() -> None:
    """u, which is alive, has told w; p knows that it has, and fails."""

    def run(flush: Flush) -> list[str]:
        lab = Lab(1, 2, 2)
        lab.send(u, b)
        lab.send(u, w)  # on its way, and cites the first
        lab.bring(lab.send(u, p), p)  # cites both
        m = lab.send(p, f)  # leaves the first out
        assert [cited[:2] for cited in lab.record.flights[-1].packet.stamp.H] == [(u, 2)]
        lab.bring(m, f)
        lab.crash(p)
        detour(lab, lab.join(Way.MEMBERS, flush))
        return lab.overtaken()

    assert run(Flush.OF_FAILED) == ["5:1 overtakes 4:1 at 3"]
    assert run(Flush.TO_MEMBERS) == []


def test_a_checkpoint_as_printed_misses_what_only_the_failed_member_knew() -> None:
    def run(flush: Flush) -> list[str]:
        lab = Lab(1, 1, 3)  # F = {0}, S = {1}, B = {2, 3, 4}
        lab.send(1, b)
        lab.bring(lab.send(1, f), f)
        lab.crash(1)
        detour(lab, lab.join(Way.CHECKPOINT, flush))
        return lab.overtaken()

    assert run(Flush.NOTHING) == ["5:1 overtakes 1:1 at 3"]
    assert run(Flush.OF_FAILED) == []


def test_without_a_checkpoint_the_newcomer_knows_nothing_of_the_living() -> None:
    def run(way: Way) -> list[str]:
        lab = Lab(1, 1, 3)
        lab.send(u, b)
        lab.bring(lab.send(u, 1), 1)
        lab.bring(lab.send(1, f), f)
        lab.crash(1)
        detour(lab, lab.join(way, Flush.OF_FAILED))
        return lab.overtaken()

    assert run(Way.NOBODY) == ["5:1 overtakes 4:1 at 3"]
    assert run(Way.CHECKPOINT) == []


def test_the_stable_memory_of_the_last_member_to_fail_is_not_enough() -> None:
    def run(way: Way) -> list[str]:
        lab = Lab(1, 2, 2)
        lab.send(p, b)
        lab.send(p, w)
        lab.bring(lab.send(p, f), f)
        lab.crash(p)
        lab.crash(w)
        detour(lab, lab.join(way))
        return lab.overtaken()

    assert run(Way.LAST_STABLE) == ["5:1 overtakes 1:1 at 3"]
    assert run(Way.STABLE) == []


def test_a_message_that_never_left_is_not_in_the_stable_memory() -> None:
    """Else whoever takes the memory over cites it, and its destination waits for ever."""
    lab = Lab(1, 1, 2)
    lab.send(1, 2)
    lab.keepers[1].send(Message(MessageId(1, 2), process_set([f])))  # and fails before it leaves
    lab.crash(1)
    stored = History.from_bytes(lab.memories[1].stored)
    assert [cited[:2] for cited in stored.entries] == [(1, 1)]
    newcomer = lab.join(Way.STABLE)
    lab.send(newcomer, f)
    lab.settle()
    assert lab.missing() == []


# A recovered process is a new process.


def test_a_process_that_comes_back_under_its_old_number_is_not_heard() -> None:
    net = Network([Histories(process, Membership(2)) for process in range(2)])
    net.bring(net.send(0, 1), 1)
    again = Histories(0, Membership(2))
    (transmit,) = again.send(Message(MessageId(0, 1), 0b10, payload=b"another"))
    assert net.orders[1].receive(transmit.packet) == []  # type: ignore[union-attr]


@pytest.mark.parametrize("known", [Cited(3, 1, 0b001, 0), Cited(1, 1, 0b1001, 0)])
def test_a_process_that_comes_back_under_its_old_number_is_refused(known: Cited) -> None:
    around = Surroundings(3, 0b101, (Separator(0b1000, 0b001, 0b100),))
    with pytest.raises(Misuse, match="joins as a new process with a new number"):
        take_over(3, Membership(4), around, [History((known,))])


@pytest.mark.parametrize("case", [None, Case.BESIDE, Case.WIDENS, Case.RECONNECTS])
@pytest.mark.parametrize(
    ("S", "needed"),
    [
        (0b1010, r"of all its members that are alive, \[1\]"),
        (0b1000, r"from stable memory, or those of all of \[0, 2\] that are alive"),
    ],
)
def test_a_newcomer_in_a_separator_is_told_whose_histories_it_needs(
    S: int, needed: str, case: Case | None
) -> None:
    around = Surroundings(3, 0b101, (Separator(S, 0b001, 0b100),))
    with pytest.raises(Misuse, match=needed):
        take_over(3, Membership(4), around, [], OPTIONS, case=case)
    ignorant = take_over(3, Membership(4), around, iter([History()]), OPTIONS, case=case)
    assert history_of(ignorant) == History()  # the members knew nothing, which they said


def test_case_i_needs_no_history() -> None:
    around = Surroundings(3, 0b001, (Separator(0b0010, 0b1001, 0b0100),))
    assert history_of(take_over(3, Membership(4), around, [])) == History()


def test_a_membership_does_not_shrink() -> None:
    with pytest.raises(Misuse, match="does not shrink"):
        refit(Histories(0, Membership(3)), Membership(2), Surroundings(0, 0b10, ()))


# The repaired ways under random failures, and the printed ones for comparison.


def campaign(
    seed: int, lab: Lab, fail: Callable[[Lab, Random], list[int]], way: Way, flush: Flush
) -> Lab:
    """Traffic, failures, a join; and once more."""
    chance = Random(seed)
    for _ in range(2):
        lab.play(chance, chance.randrange(10, 40))
        for member in fail(lab, chance):
            lab.crash(member)
            lab.play(chance, chance.randrange(6))
        lab.join(way, flush)
        lab.play(chance, chance.randrange(10, 40))
    lab.settle(chance)
    return lab


def all_gateways(lab: Lab, chance: Random) -> list[int]:
    gateways = list(members(lab.gateways & lab.alive))
    chance.shuffle(gateways)
    return gateways


def one_gateway(lab: Lab, chance: Random) -> list[int]:
    return all_gateways(lab, chance)[:1]


def nobody(lab: Lab, chance: Random) -> list[int]:
    return []


REPAIRED = {
    "(iii)": (2, 0, nobody, Way.MEMBERS, Flush.NOTHING),
    "(iii) after a failure": (2, 0, one_gateway, Way.MEMBERS, Flush.TO_MEMBERS),
    "(iv) witnesses": (1, 2, all_gateways, Way.MEMBERS, Flush.TO_MEMBERS),
    "(iv) checkpoint": (2, 0, all_gateways, Way.CHECKPOINT, Flush.OF_FAILED),
    "(iv) stable memory": (2, 0, all_gateways, Way.STABLE, Flush.NOTHING),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repaired_joins_keep_causal_order_under_random_failures(name: str) -> None:
    gateways, witnesses, fail, way, flush = REPAIRED[name]
    for seed in range(200):
        lab = campaign(seed, Lab(1, gateways, 2, witnesses), fail, way, flush)
        assert lab.overtaken() == [], f"seed {seed}"
        assert lab.missing() == [], f"seed {seed}"


@pytest.mark.parametrize(("way", "seeds"), [(Way.CHECKPOINT, 60), (Way.NOBODY, 60)])
def test_the_random_failures_would_find_a_fault(way: Way, seeds: int) -> None:
    found = [
        seed
        for seed in range(seeds)
        if campaign(seed, Lab(1, 2, 2), all_gateways, way, Flush.NOTHING).overtaken()
    ]
    assert found


def test_a_newcomer_knows_what_the_members_know_and_no_more() -> None:
    lab = Lab(1, 2, 2)
    lab.play(Random(5), 60)
    merged = merge(*lab.histories(Way.MEMBERS), fifo=True)
    newcomer = lab.join(Way.MEMBERS)
    assert history_of(lab.orders[newcomer]) == merged
    assert lab.orders[newcomer].state.D == [0] * 6


def test_an_order_that_keeps_more_than_histories_is_refused() -> None:
    timely = Timely(0, Membership(2), TimelyOptions(delta_s=1.0))
    surroundings = Surroundings(0, 0b10, ())
    with pytest.raises(Misuse, match="Timely keeps more"):
        refit(timely, Membership(3), surroundings)
