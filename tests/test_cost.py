"""The cost model: its parts against independent counts, and some of its claims against runs."""

from math import exp

import msgspec
import numpy as np
import pytest

from antecede import advise as advising
from antecede.cost import MEASURES, Kind, Tree, closed, estimate, traffic_of, wire
from antecede.cost.delays import causal, mean_wait
from antecede.cost.fitted import fit, laws
from antecede.cost.traffic import Traffic, broadcast
from antecede.message import set_to_bytes
from antecede.simulate import Scenario, make_scenario
from bench import daisy_counts, scale
from bench.docs import ROOT

POINTS = [
    scale.Point("vector", {}, "broadcast", 6, 1.0, 60),
    scale.Point("vector", {}, "groups", 8, 1.0, 60, 5),
    scale.Point("matrix", {}, "unicast", 6, 1.0, 100),
    scale.Point("pairs", {}, "sets", 8, 1.0, 40, 3),
    scale.Point("optimal", {}, "unicast", 10, 1.0, 60),
    scale.Point("blocks-fast", {}, "broadcast", 8, 0.5, 60),
    scale.Point("bounded", {}, "unicast", 16, 0.5, 500),  # long: extra messages widen its numbers
    scale.Point("separators", {}, "unicast", 8, 0.5, 60, 0, (2, 2, 2, 0.5)),
]


@pytest.fixture(scope="module")
def entries() -> list[scale.Entry]:
    return [scale.run(point) for point in POINTS]


def test_what_is_claimed_holds(entries: list[scale.Entry]) -> None:
    found = [one for one in scale.held(entries) if one.figure.claimed]
    assert len(found) > 3 * len(POINTS)
    assert {one.measure for one in found} >= {"entries", "bytes", "packets", "ordering", "delay"}
    assert not [(one.entry.point, one.measure, one.error) for one in found if one.is_missed]


@pytest.mark.parametrize("measure", ["entries", "bytes", "state", "wait"])
def test_a_wrong_formula_is_caught(
    entries: list[scale.Entry], measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = closed._FORMS["matrix"]

    def wrong(options: closed.Options, traffic: Traffic) -> closed.Form:
        form = right(options, traffic)
        setattr(form, measure, getattr(form, measure) * 1.3)
        return form

    monkeypatch.setitem(closed._FORMS, "matrix", wrong)
    missed = [one for one in scale.held(entries) if one.is_missed]
    assert {one.entry.point.protocol for one in missed} == {"matrix"}


def test_a_wrong_law_is_caught() -> None:
    """A law that is off at the runs that it has not seen claims nothing."""
    right = [_entry(size, 3.0 * size) for size in (8, 12, 16)]
    law = scale.fitted([*right, _entry(24, 72.0, is_held=True)])["histories, unicast: entries"]
    assert law.worst == pytest.approx(0, abs=0.01)
    assert law.claims(right[0].traffic)
    law = scale.fitted([*right, _entry(24, 90.0, is_held=True)])["histories, unicast: entries"]
    assert not law.claims(right[0].traffic)


def _entry(size: int, value: float, *, is_held: bool = False) -> scale.Entry:
    point = scale.Point("histories", {}, "unicast", size, 1.0, 10, is_held=is_held)
    return scale.Entry(point, (0, 10), {"entries": value}, (), 0.0)


@pytest.mark.parametrize("protocol", ["histories", "piggyback"])
def test_a_law_in_bytes_is_not_claimed_where_numbers_have_grown(protocol: str) -> None:
    """Elements are: there are as many of them, and each takes more bytes."""
    for each, claimed in ((100, True), (600, False)):
        traffic = scale.Point(protocol, {}, "unicast", 12, 1.0, each).scenario()
        known = traffic_of(traffic)
        assert known is not None
        figures = estimate(protocol, {}, known)
        assert figures["entries"].claimed
        assert {figures[name].claimed for name in ("bytes", "ordering")} == {claimed}


def test_laws_are_read_and_have_been_tried() -> None:
    found = laws()
    assert len(found) > 30
    assert all(law.worst is None or law.worst >= 0 for law in found.values())
    traffic = traffic_of(_scenario())
    assert traffic is not None
    assert fit([(traffic, 1.0)]) is None


def test_numbers_take_as_many_bytes_as_they_do() -> None:
    for number in (0, 127, 128, 255, 256, 65_535, 65_536, 1 << 40):
        assert wire.count(number) == len(msgspec.msgpack.encode(number))
    for length in (0, 15, 16, 65_535, 65_536):
        assert wire.array(length) + length == len(msgspec.msgpack.encode([0] * length))
    for processes in (8, 2_000, 3_000, 600_000):
        everybody = set_to_bytes((1 << processes) - 1)
        assert wire.bits(processes) == len(msgspec.msgpack.encode(everybody))
    assert wire.counts(0, 200) == (128 + 2 * 72) / 200


@pytest.mark.parametrize("c", [0.0, 0.5, 3.0, 30.0])
def test_the_mean_wait_is_that_of_its_law(c: float) -> None:
    """Against a sum over the law itself."""
    times = np.linspace(0, 60, 200_001)
    late = 1 - (1 - np.exp(-times)) * np.exp(-c * np.exp(-times))
    assert mean_wait(c) == pytest.approx(float(np.trapezoid(late, times)), rel=1e-3)


def test_waits_among_very_many() -> None:
    """By broadcast c is √(n load); to one of very many, nothing is before a message."""
    waits = causal(broadcast(10**6, rate=10.0, delay_s=0.1)).wait
    assert waits == pytest.approx(mean_wait(1000.0), rel=0.01)
    to_one = msgspec.structs.replace(broadcast(10**6), kind=Kind.UNICAST, copies=1.0)
    assert causal(to_one).wait == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("destinations", [1, 4])
@pytest.mark.parametrize("sizes", [(8, 8), (4, 4, 4)])
def test_a_daisy_is_counted_as_elsewhere(sizes: tuple[int, ...], destinations: int) -> None:
    """Against the count of another module, which was held to the simulator at 4,096 processes."""
    traffic = msgspec.structs.replace(broadcast(64), kind=Kind.SETS, copies=float(destinations))
    found = closed.counted(tuple(map(float, sizes)), traffic)
    counted = daisy_counts.daisy(sizes, destinations)
    assert (found.packets, found.integers) == pytest.approx(tuple(counted))


def test_a_message_leaves_parts_of_a_tree() -> None:
    anybody, near = Tree(2, 3, 4), Tree(2, 3, 4, 0.8)
    assert anybody.leaves == pytest.approx((20 / 23, 12 / 23))
    assert near.leaves[0] < 0.2 < anybody.leaves[0]
    assert near.leaves_part(4) == pytest.approx(near.leaves[0])
    assert near.leaves_part(12) == pytest.approx(near.leaves[1])
    assert near.leaves_part(24) == 0


def _scenario(**fields: object) -> Scenario:
    return make_scenario(
        {"protocol": "none", "processes": 6, "workload": {"kind": "unicast"}, **fields}
    )


def test_traffic_that_the_model_does_not_know() -> None:
    assert traffic_of(_scenario()) is not None
    assert traffic_of(_scenario(network={"loss": 0.1})) is None
    assert traffic_of(_scenario(workload={"kind": "requests"})) is None
    assert traffic_of(_scenario(workload={"kind": "unicast", "cascade": 0.1})) is None
    constant = traffic_of(_scenario(network={"delay": "constant:0.1"}))
    assert constant is not None
    figures = estimate("vector", {}, constant)
    assert not figures["delay"].claimed
    assert figures["entries"].claimed
    assert set(figures) <= set(MEASURES)
    assert estimate("not-known", {}, constant) == {}
    lognormal = traffic_of(_scenario(network={"delay": "lognormal:0.1,1"}))
    assert lognormal is not None
    assert lognormal.delay_s == pytest.approx(0.1 * exp(0.5))


def test_advice_runs_no_hopeless_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(advising, "MANY", 3)
    monkeypatch.setattr(advising, "LONGEST", advising.FIRST)
    found = advising.advise({"processes": 5, "workload": {"kind": "broadcast"}})
    left_out = {one.name: one for one in found.unlikely}
    assert "matrix" in left_out
    assert left_out["matrix"].claimed
    run = [*found.finalists, *found.others]
    assert not left_out.keys() & {one.name for one in run}
    vector = next(one for one in run if one.protocol == "vector")
    assert vector.estimates[advising.Matters.BYTES] == pytest.approx(vector.bytes, rel=0.15)


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    code = page.partition("```python\n")[2].partition("```")[0]
    exec(compile(code, "docs/scale.md", "exec"), {})
    told = capsys.readouterr().out
    assert "entries: 200" in told
    assert "delay: " in told
