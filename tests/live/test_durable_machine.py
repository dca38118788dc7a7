"""Durable members on random schedules: nothing lost, nothing doubled, causal order over all lives;
and what the checker says when something is broken on purpose."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from antecede.live.durable.admission import Admission
from antecede.live.durable.deduplication import Had
from antecede.live.durable.hosting import Host
from antecede.live.durable.outbox import Outbox
from antecede.live.durable.remembered import Remembered
from antecede.live.durable.state_request import StateRequest
from antecede.live.ordering.offers import PastRow
from antecede.live.outputs import Output
from tests.live.durable_checks import problems, state_problems
from tests.live.durable_world import World, last_sent


def run(folder: Path, seed: int, **settings: int) -> World:
    folder.mkdir(parents=True)
    world = World(folder, seed, durable=2 + seed % 3, others=seed % 2, **settings)  # type: ignore[arg-type]
    world.run(steps=600, changes=0.05)
    for process in world.processes:
        if process.journal is not None:
            process.journal.close()
    return world


def test_nothing_lost_doubled_or_out_of_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(World, "packs", True)
    restarts = sent = runs = 0
    for seed in range(25):
        world = run(tmp_path / str(seed), seed)
        assert not problems(world), f"seed {seed}: {problems(world)[:3]}"
        restarts += world.restarts
        sent += len(world.sent)
        runs += world.runs
    assert min(restarts, runs) > 25
    assert sent > 500


def found_with_a_bug(folder: Path) -> list[str]:
    return [problem for seed in range(12) for problem in problems(run(folder / str(seed), seed))]


def test_without_dropping_what_was_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Had, "add", lambda *_: True)
    assert any("twice" in problem for problem in found_with_a_bug(tmp_path))


def test_without_sending_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget(outbox: Outbox, *_: object) -> None:
        outbox.has_to_resend = False
        kept, session = outbox._remembered, outbox._company.session
        while kept is not None and session.sent < last_sent(kept):
            session.skip_number()

    monkeypatch.setattr(Outbox, "resend", forget)
    assert any("lacks" in problem for problem in found_with_a_bug(tmp_path))


def test_with_the_past_after_the_present(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer that does not wait for what it missed."""
    monkeypatch.setattr(StateRequest, "is_done", property(lambda wishing: True))
    found = found_with_a_bug(tmp_path)
    assert any("lacks" in problem for problem in found)


def all_who_knew_go(folder: Path, *, together: bool) -> list[str]:
    """p1 and p2 go while p0 (and p3, if they come `together`) waits for the past, and return:
    what p1 sent before had come to p2 alone. Where p3 comes later, it is after p2, and p0 goes
    before p1 returns, so that the most senior member has everything and p3 has not."""
    folder.mkdir(parents=True)
    world = World(folder, 0, durable=4, others=0)
    p0, p1, p2, p3 = world.processes
    for one in (p0, p3):
        world.exclude(one)
        world.drain()
    world.send(p1)
    world.drain()
    for one in (p1, p2):
        assert one.admission is not None
        one.admission.host.asked = lambda *_: []  # type: ignore[method-assign]  # too busy
    for one in (p0, p3) if together else (p0,):
        world.come(one)
    world.go_on()
    world.send(p1)
    world.go_on()
    for one in (p2, p1):
        assert one.admission is not None
        del one.admission.host.asked
        world.exclude(one)
        world.go_on()
    world.drain()
    for one in (p2,) if together else (p2, p3):
        world.come(one)
        world.drain()
    # Nobody knew, or who answers was not whole and says so.
    assert [gap.senders for gap in p0.gaps] == [("p1", "p2", "p3")]
    assert [gap.senders for gap in p3.gaps] == [("p1", "p2") if together else ("p1",)]
    if not together:
        world.exclude(p0)
        world.drain()
    world.come(p1)
    world.drain()
    if not together:
        world.come(p0)
        world.drain()
    for one in world.processes:
        assert one.journal is not None
        one.journal.close()
    return problems(world, causal=False, certain=False)


def whoever_goes(folder: Path, seeds: Iterable[int]) -> list[str]:
    """Killed or excluded, and perhaps all who knew what others have missed."""
    found = []
    for seed in seeds:
        (folder / str(seed)).mkdir(parents=True)
        world = World(folder / str(seed), seed, durable=3 + seed % 2, others=0, spares_nobody=True)
        world.run(steps=600, changes=0.08)
        causal = not any(process.gaps for process in world.processes)
        found += problems(world, causal=causal, certain=False)
        for process in world.processes:
            if process.journal is not None:
                process.journal.close()
    return found


def test_all_who_knew_the_past_go(tmp_path: Path) -> None:
    assert not all_who_knew_go(tmp_path / "together", together=True)
    assert not all_who_knew_go(tmp_path / "apart", together=False)
    assert not whoever_goes(tmp_path, (8, 16, 18, 24, 46))


def test_with_the_last_message_for_all_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Remembered, "whole", lambda kept, source, _: kept.last.get(source, 0))
    assert all_who_knew_go(tmp_path / "together", together=True)
    assert whoever_goes(tmp_path, (8,))


def test_with_what_the_most_senior_has_for_what_all_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def of_the_first(request: StateRequest) -> int | None:
        first = request._company.durable_others[:1]
        return request._known_there.get(first[0]) if first else None

    monkeypatch.setattr(StateRequest, "known_there", property(of_the_first))
    assert all_who_knew_go(tmp_path / "apart", together=False)


def test_with_nothing_of_the_past_before_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a log brings closes no hole."""
    deliver = Admission._deliver_past

    def beyond(admission: Admission, kept: Remembered, row: PastRow, out: list[Output]) -> None:
        if row.number > kept.last.get((row.sender, row.series), 0):
            deliver(admission, kept, row, out)

    monkeypatch.setattr(Admission, "_deliver_past", beyond)
    assert whoever_goes(tmp_path, (46,))


def test_with_a_later_life_for_a_former_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer that refuses a junior, because its former life was senior."""
    refuse = Host.refuse

    def by_name(host: Host, lives: Iterable[tuple[str, int]]) -> list[Output]:
        names = {name for name, _ in lives}
        return refuse(host, [(name, one.life) for name, one in host._early if name in names])

    monkeypatch.setattr(Host, "refuse", by_name)
    assert whoever_goes(tmp_path, (18,))


def test_the_order_that_others_keep(tmp_path: Path) -> None:
    """Protocols that address sets, and members that come while others talk."""
    for seed in range(10):
        (tmp_path / str(seed)).mkdir()
        world = World(tmp_path / str(seed), seed, protocol="optimal", begins_in_peace=seed % 2 == 0)
        world.run(steps=500, changes=0.05)
        found = problems(world) if seed % 2 == 0 else []
        found += [problem for problem in problems(world, causal=False) if "twice" in problem]
        assert not found, f"seed {seed}: {found[:3]}"
        for process in world.processes:
            if process.journal is not None:
                process.journal.close()


def test_all_die_at_once_and_found_the_group_anew(tmp_path: Path) -> None:
    for seed in range(12):
        (tmp_path / str(seed)).mkdir()
        world = World(tmp_path / str(seed), seed, others=0)
        for _ in range(3):
            for _ in range(150):
                world.step()
            for process in world.alive():
                world.crash(process)
            first, *others = world.random.sample(world.processes, len(world.processes))
            world.found(first)
            for process in others:
                world.come(process)
        world.drain()
        # Who saw what others have to send again may be the first to send.
        found = problems(world, causal=False)
        assert not found, f"seed {seed}: {found[:3]}"
        for process in world.processes:
            if process.journal is not None:
                process.journal.close()


def with_states(folder: Path, seeds: int) -> tuple[list[str], int]:
    found, restarts = [], 0
    for seed in range(seeds):
        world = World(folder, seed, durable=0, others=3 + seed % 3, wants_state=True)
        world.run(steps=600, changes=0.05)
        found += [f"seed {seed}: {problem}" for problem in state_problems(world)]
        restarts += world.restarts
    return found, restarts


def test_newcomers_have_what_the_others_have(tmp_path: Path) -> None:
    found, restarts = with_states(tmp_path, 60)
    assert not found, found[:3]
    assert restarts > 60


def test_a_state_of_another_view(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newcomer that delivers what the state of the second giver contains already."""
    monkeypatch.setattr(Admission, "_is_in_state", lambda *_: False)
    found, _ = with_states(tmp_path, 60)
    assert any("twice" in problem for problem in found)


def test_a_second_giver_that_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = Host._want_state

    def once(host: Host, members: object, me: object) -> object:
        known = [one for one in host._newcomers.values() if one.name in asked]
        if known:
            return []
        asked.update(one.name for one in host._newcomers.values())
        return ask(host, members, me)  # type: ignore[arg-type]

    asked: set[str] = set()
    monkeypatch.setattr(Host, "_want_state", once)
    found, _ = with_states(tmp_path, 10)
    assert any("no state" in problem for problem in found)
