"""Small worlds around one idea: what each of them is about."""

import pytest

from antecede.drawn import FOR_EVER_S
from antecede.fuzzing import stories
from antecede.fuzzing.chance import Chance
from antecede.fuzzing.stories import PLOTS, Plot, draw_story
from antecede.simulate import Scenario, make_scenario

SILENCE_S = 2.0
BY_NAME = {plot.tell.__name__: plot for plot in PLOTS}


def told(plot: Plot, seed: int, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    """A story of this plot."""
    monkeypatch.setattr(stories, "PLOTS", (plot,))
    fields = draw_story(SILENCE_S, Chance(seed, "test"))
    fields["options"] = {"forget_after_s": 60.0, **fields["options"]}
    return make_scenario({"protocol": "daisy", "seed": seed, **fields})


@pytest.mark.parametrize("name", BY_NAME)
def test_a_story_is_small_and_random(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [told(BY_NAME[name], seed, monkeypatch) for seed in range(30)]
    assert len({one.to_toml() for one in drawn}) == len(drawn)
    assert all(one.applications.size <= 15 for one in drawn)
    assert all(one.message_limit <= 30 for one in drawn)
    assert all(one.network.partitions or one.crashes for one in drawn)


def test_last_words_are_shorter_than_a_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(30):
        story = told(BY_NAME["_at_once"], seed, monkeypatch)
        [cut] = story.network.partitions
        assert cut.end_s - cut.start_s < SILENCE_S
        assert {crash.process for crash in story.crashes} == {*cut.sides[0]}


def test_many_links_are_cut_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = [told(BY_NAME["_links"], seed, monkeypatch) for seed in range(30)]
    lasting = [one for one in drawn if one.network.partitions[0].end_s > FOR_EVER_S]
    assert 5 < len(lasting) < 25
