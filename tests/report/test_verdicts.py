"""The verdict on a campaign: no promise was kept where nothing was delivered,
and it is no good one where what had to be delivered was not."""

import pytest

from antecede.report.verdicts import BROKEN, HELD, NO_PROMISE, OWING, UNKNOWN, Tally, banner

RUN = {
    "status": "ok",
    "promised": True,
    "messages": 3,
    "violations": 0,
    "undelivered": 0,
    "owed": 0,
}


@pytest.mark.parametrize(
    ("changes", "verdict", "headline"),
    [
        ({"deliveries": 3}, HELD, "Every promise of causal order was kept"),
        ({"deliveries": 0}, UNKNOWN, "Whether order was kept cannot be told"),
        ({"deliveries": 3, "violations": 1}, BROKEN, "Causal order was broken in 1 run"),
        ({"deliveries": 3, "undelivered": 1}, HELD, "Every promise of causal order was kept"),
        ({"deliveries": 3, "undelivered": 1, "owed": 1}, OWING, "was not in 1 run"),
        ({"deliveries": 3, "violations": 1, "owed": 1}, BROKEN, "was broken in 1 run"),
        ({"deliveries": 3, "promised": False}, NO_PROMISE, "No protocol here promises"),
    ],
)
def test_one_variant(changes: dict[str, object], verdict: str, headline: str) -> None:
    tally = Tally("vector")
    tally.add(RUN | changes)
    tally.judge()
    assert tally.verdict == verdict
    assert headline in str(banner([tally]))
