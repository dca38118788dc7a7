"""Fully delivered messages (Rodrigues, Verissimo, section 4.5) in the simulator: their delay."""

from pathlib import Path
from typing import Any

import pytest

from antecede.errors import Misuse
from antecede.histories.evidence import Confirming
from antecede.message import MessageId
from antecede.simulate import Summary, load_scenario, make_scenario, simulate
from antecede.simulate.fully import Fully, LastDeliveries

FILE = Path(__file__).resolve().parent.parent.parent / "scenarios" / "fully-delivered.toml"


def run(asked: dict[str, Any], **changes: Any) -> Summary:
    plain = load_scenario(FILE).model_dump(by_alias=True, exclude_none=True)
    return simulate(make_scenario({**plain, **changes, "fully_delivered": asked}))


def fully(summary: Summary) -> Fully:
    assert summary.failure is None
    assert summary.violations == summary.undelivered == 0
    assert summary.fully is not None
    assert summary.fully.premature == 0
    return summary.fully


def test_by_acknowledgements_senders_know_of_most() -> None:
    found = fully(run({"kind": "evidence"}))
    assert found.known > 0.9 * found.messages
    assert 0 < found.after_s.mean < found.since_s.mean


def test_as_printed_they_hardly_ever_know() -> None:
    printed = fully(run({"kind": "evidence", "evidence": "timestamps"}))
    exempt = fully(run({"kind": "evidence", "evidence": "exempt"}))
    assert printed.known < 0.2 * printed.messages < 0.7 * exempt.messages < exempt.known


def test_by_time_they_know_after_delta() -> None:
    found = fully(run({"kind": "time", "delta_s": 0.25}))
    assert found.known > 0.9 * found.messages
    assert found.since_s.mean == pytest.approx(0.25)
    assert found.since_s.maximum == pytest.approx(0.25)


def test_a_network_that_may_take_longer_is_refused() -> None:
    with pytest.raises(Misuse, match="s or longer; give it a constant"):
        run({"kind": "time", "delta_s": 0.1})
    with pytest.raises(Misuse, match="may take"):
        run({"kind": "time", "delta_s": 0.25}, network={"delay": "exponential:0.01"})
    with pytest.raises(Misuse, match="known to histories"):
        run({"kind": "evidence"}, protocol="vector")


def test_whoever_believes_too_soon_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """One destination is taken for all."""
    confirm = Confirming._confirm
    monkeypatch.setattr(Confirming, "_confirm", lambda self, key, _: confirm(self, key, -1))
    summary = run({"kind": "evidence"})
    assert summary.failure is not None
    assert summary.failure.kind == "premature"


def test_what_is_counted() -> None:
    last = LastDeliveries()
    first, second = MessageId(0, 1), MessageId(0, 2)
    last.send(first, 0b110, 1.0)
    last.send(second, 0b110, 1.5)
    last.deliver(first, 1, 2.0)
    last.deliver(first, 2, 3.0)
    last.deliver(second, 1, 3.0)
    found = last.compare([(first, 4.0), (second, 5.0)], until_s=9.0)
    assert (found.known, found.messages, found.premature) == (2, 1, 1)
    assert last.compare([(first, 2.5)], until_s=9.0).premature == 1
    assert last.compare([(first, 4.0)], until_s=3.5).known == 0
