"""Guided fuzzing: the same runs from the same seeds, wherever they are made; what is new is kept,
and what is mutated stays within what a protocol promises to bear."""

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from antecede.errors import Misuse
from antecede.fuzzing import draw, judge
from antecede.fuzzing.drawing import silence_s
from antecede.fuzzing.guided import Corpus, corpus_before, explain, propose, run_guided
from antecede.fuzzing.ledger import Ledger
from antecede.fuzzing.mutation import MUTATIONS, mutate, plain_fields
from antecede.fuzzing.slices import Kept, Slice
from antecede.groups import Quorum
from antecede.overlays.daisy.options import DaisyOptions
from antecede.pipeline.campaigns import fuzz as running
from antecede.protocols import find, names
from antecede.simulate.duty import loses, may_lose
from tests.cli.conftest import Antecede, antecede
from tests.mutants import mutants_of, mutated

__all__ = ["antecede"]


@pytest.fixture(autouse=True)
def short_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "GUIDED_ROUND", 20)
    monkeypatch.setattr(running, "GUIDED_SLICE", 5)


def kept(features: tuple[int, ...], events: int = 10, seed: int = 1) -> Kept:
    return Kept((seed,), b"{}", features, (), events)


def test_only_what_is_new_or_much_shorter_is_kept() -> None:
    corpus = Corpus([kept((1, 2)), kept((1,)), kept((2,), events=4), kept((2, 3), events=3)])
    assert [one.features for one in corpus.entries] == [(1, 2), (2,), (2, 3)]
    assert corpus.features == {1, 2, 3}


def test_what_only_one_reaches_is_picked_as_often_as_what_all_reach() -> None:
    from antecede.fuzzing.chance import Chance  # noqa: PLC0415 - nowhere else here

    corpus = Corpus([kept((1,), seed=1), kept((2,), seed=2), kept((1, 3), seed=3)])
    chance = Chance(1)
    picked = Counter(corpus.pick(chance).lineage[0] for _ in range(300))
    assert picked.keys() == {1, 2, 3}
    assert min(picked.values()) > 60


@pytest.mark.parametrize("protocol", names())
def test_mutants_are_scenarios_that_the_protocol_bears(protocol: str) -> None:
    for seed in range(1, 9):
        parent = draw(protocol, seed)
        for number in range(6):
            child = mutate(plain_fields(parent), (0.5, 2.0, 7.0), 100 * seed + number)
            assert child.to_json() != parent.to_json()
            assert may_lose(find(protocol).traits) or not loses(child)
            if silence_s(find(protocol)):
                options = child.order_options
                assert isinstance(options, DaisyOptions)
                assert not child.network.fifo
                assert not child.network.partitions or options.quorum is Quorum.MAJORITY
            parent = child


def test_every_mutation_changes_something() -> None:
    from antecede.fuzzing.chance import Chance  # noqa: PLC0415 - nowhere else here

    fields = [plain_fields(draw("daisy", seed)) for seed in range(1, 41)]
    for mutation in set(MUTATIONS):
        changed = 0
        for number, one in enumerate(fields):
            other = msgspec.json.decode(msgspec.json.encode(one))
            mutation(other, (1.0, 5.0), Chance(number))
            changed += other != msgspec.json.decode(msgspec.json.encode(one))
        assert changed > len(fields) / 8, mutation


def runs_of(ledger: Ledger) -> list[Any]:
    return sorted((msgspec.to_builtins(done) for done in ledger.done), key=str)


def fuzzed(ledger: Ledger, runs: int, **more: Any) -> Ledger:
    running.fuzz(None, ["fifo", "piggyback"], ledger, runs=runs, is_guided=True, **more)
    return ledger


def test_the_same_runs_come_out_in_one_go_and_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the work is cut off in the middle of a round, and in any order of its slices."""
    whole = fuzzed(Ledger(), 100)

    def interrupted(spark: Any, items: Any, task: Any, **_: Any) -> Any:
        for place, item in enumerate(reversed(items)):
            if place == 2:
                raise KeyboardInterrupt
            yield task(item)

    with monkeypatch.context() as patched:
        patched.setattr(running, "spread", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fuzzed(Ledger(tmp_path), 100)
    assert 0 < Ledger(tmp_path).runs < 100
    fuzzed(Ledger(tmp_path), 60)
    parts = fuzzed(Ledger(tmp_path), 100)
    assert parts.runs == 100
    assert runs_of(parts) == runs_of(whole)
    assert any(len(one.lineage) > 1 for done in whole.done for one in done.kept or ())


def test_a_lineage_explains_a_scenario() -> None:
    first = run_guided(Slice("daisy", 1, 8), Corpus())
    corpus = corpus_before("daisy", 100, [first])
    assert corpus.entries
    lineages = set()
    for seed in range(100, 106):
        lineage, scenario = propose("daisy", seed, corpus)
        lineages.add(len(lineage))
        assert explain("daisy", lineage).to_json() == scenario.to_json()
    assert 2 in lineages


def test_what_is_watched_is_judged_the_same() -> None:
    for protocol in ("daisy", "vector", "separators"):
        scenario = draw(protocol, 3)
        watched = judge(scenario, is_watched=True)
        assert watched.reached is not None
        assert watched.reached.features
        assert judge(scenario) == msgspec.structs.replace(watched, reached=None)


def test_a_failure_is_found_shrunk_and_explained(antecede: Antecede, tmp_path: Path) -> None:
    [mutant] = [one for one in mutants_of("vector") if one.name == "sender-not-compared"]
    ledger = Ledger(tmp_path)
    [finding, *_] = running.fuzz(
        None,
        ["vector"],
        ledger,
        runs=60,
        is_guided=True,
        shrink_runs=50,
        order_type=mutated("vector", mutant),
    )
    assert finding.found.lineage
    assert "guided fuzzing (vector, lineage " in finding.scenario
    assert (tmp_path / "failures" / finding.file_name).exists()
    told = antecede(
        "fuzz",
        "--protocol",
        "vector",
        "--runs",
        60,
        "--guided",
        "--master",
        "here",
        "--out",
        tmp_path,
    )
    assert told.status == 1
    assert "reached something new" in told.out
    assert "(lineage " in told.out
    with pytest.raises(Misuse, match="the runs in the folder are guided; take another folder"):
        running.fuzz(None, ["vector"], Ledger(tmp_path), runs=60)


def test_what_goes_to_executors_can_be_pickled() -> None:
    import pickle  # noqa: PLC0415 - nowhere else here

    corpus = corpus_before("fifo", 100, [run_guided(Slice("fifo", 1, 10), Corpus())])
    task = partial(run_guided, corpus=corpus)
    again = pickle.loads(pickle.dumps(task))
    assert again(Slice("fifo", 100, 10)) == task(Slice("fifo", 100, 10))
