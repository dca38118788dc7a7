"""Durable members on random schedules: nothing lost, nothing doubled, causal order over all lives;
and what the checker says when something is broken on purpose."""

from pathlib import Path

import pytest

from antecede.live.durable.had import Had
from antecede.live.durable.hosting import Host
from antecede.live.durable.outbox import Outbox
from antecede.live.durable.threshold import Threshold
from antecede.live.durable.wishing import Wishing
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


def test_nothing_lost_doubled_or_out_of_order(tmp_path: Path) -> None:
    restarts = sent = 0
    for seed in range(25):
        world = run(tmp_path / str(seed), seed)
        assert not problems(world), f"seed {seed}: {problems(world)[:3]}"
        restarts += world.restarts
        sent += len(world.sent)
    assert restarts > 25
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
    monkeypatch.setattr(Wishing, "is_done", property(lambda wishing: True))
    found = found_with_a_bug(tmp_path)
    assert any("lacks" in problem for problem in found)


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
    monkeypatch.setattr(Threshold, "_is_in_state", lambda *_: False)
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
