"""What stands in a page is what stands in the trace: packed here, taken apart by other means."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BrokenInvariant, CannotWrite, Misuse
from antecede.trace import APP, DELIVER, HOP, SEND, read_trace
from antecede.verify import explain, verify_trace
from antecede.view import dataset, page, write_shiviz, write_view
from antecede.view.excerpt import Excerpt, choose_events
from antecede.view.pack import fold_signs, pack
from antecede.view.waits import NEVER_CAME, NOTHING, find_waits
from tests.trace.builders import deliver, load, positioned, receive, send
from tests.view.runs import HELD, OVERTAKEN, PLANTED, only_run, page_of, simulated, write_rows


def unpack(text: str) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    whole = zlib.decompress(base64.b64decode(text))
    size = int.from_bytes(whole[:4], "little")
    header = json.loads(whole[4 : 4 + size])
    columns, at = {}, 4 + size
    for column in header["columns"]:
        length, planes = column["length"], column["planes"]
        cut = np.frombuffer(whole[at : at + length * planes], np.uint8).reshape(planes, length)
        cells = np.zeros((length, 8), np.uint8)
        cells[:, :planes] = cut.T
        columns[column["name"]] = cells.view("<f8" if column["float"] else "<u8")[:, 0]
        at += length * planes
    assert at == len(whole)
    return header, columns


def test_columns_of_any_size_come_back() -> None:
    small, large = np.array([0, 1, 255]), np.array([0, 256, 2**32 - 1])
    times = np.array([0.1, -3.5, np.nan, 1e300])
    header, columns = unpack(
        pack({"title": "é<b>"}, {"small": small, "large": large, "times": times})
    )
    assert header["title"] == "é<b>"
    np.testing.assert_array_equal(columns["small"], small)
    np.testing.assert_array_equal(columns["large"], large)
    np.testing.assert_array_equal(columns["times"], times)
    with pytest.raises(BrokenInvariant, match="column n does not fit"):
        pack({}, {"n": np.array([2**32])})
    np.testing.assert_array_equal(fold_signs(np.array([0, -1, 1, -2, 2])), [0, 1, 2, 3, 4])


def test_waits_are_those_of_the_auditor() -> None:
    run = load(*HELD)
    waits = find_waits(run)
    assert waits.delivered.tolist()[6:] == [NOTHING, 6, 7]
    assert waits.arrived.tolist()[6:] == [NOTHING, 5, 5]
    assert not waits.is_early().any()
    early = find_waits(load(*PLANTED))
    assert np.flatnonzero(early.is_early()).tolist() == [6]
    assert early.delivered[6] == 8


def test_a_predecessor_that_never_comes() -> None:
    rows = [send("p", 1, "q"), send("p", 2, "q"), receive("q", "p:2"), deliver("q", "p:2")]
    waits = find_waits(load(*positioned(*rows)))
    assert waits.delivered[3] == NEVER_CAME
    assert waits.missing.tolist() == [[0], [1]]


@pytest.mark.parametrize("protocol", ["none", "fifo", "vector", "separators"])
def test_early_deliveries_are_those_that_verify_counts(tmp_path: Path, protocol: str) -> None:
    fields = {"topology": "tree:2,2,2", "processes": None} if protocol == "separators" else {}
    trace = simulated(tmp_path / "t.parquet", protocol, **fields)
    waits = find_waits(only_run(trace))
    counts = [verify_trace(trace, layer).violations for layer in ("app", "hop")]
    assert int(waits.is_early().sum()) == sum(counts)
    assert (sum(counts) > 0) == (protocol in ("none", "fifo"))


def test_what_a_message_waited_for_is_what_explain_says_last(tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "vector")
    run = only_run(trace)
    waits = find_waits(run)
    events = run.events
    held = np.flatnonzero(waits.delivered >= 0)
    assert len(held) > 20
    for event in held[::9].tolist():
        process = run.name_of(int(events.process[event]))
        told = explain(trace, process, run.message_of(event))
        assert told.waited_for[-1].message == run.message_of(int(waits.delivered[event]))


def test_large_traces_round_their_times_and_small_ones_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = only_run(simulated(tmp_path / "t.parquet", "vector"))
    waits = find_waits(run)
    everything = choose_events(run, waits)
    for exact in (True, False):
        monkeypatch.setattr(dataset, "EXACT", 10**6 if exact else 0)
        header, columns = unpack(dataset.pack_run(run, waits, everything, "t", {}))
        if exact:
            np.testing.assert_array_equal(columns["time"], run.events.time)
        else:
            folded = columns["time"].astype(np.int64)
            steps = (folded >> 1) ^ -(folded & 1)
            time = header["origin"] + np.cumsum(steps) / header["per_second"]
            np.testing.assert_allclose(time, run.events.time, atol=1e-8)


def test_an_excerpt_holds_whole_messages_around_what_matters(tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "none")
    run = only_run(trace)
    waits = find_waits(run)
    excerpt = choose_events(run, waits, limit=100)
    assert excerpt.around == "the first early delivery"
    assert int(np.argmax(waits.is_early())) in excerpt.kept
    assert 20 <= len(excerpt.kept) <= 100
    events = run.events
    kept = np.isin(events.message, events.message[excerpt.kept])
    np.testing.assert_array_equal(np.flatnonzero(kept), excerpt.kept)
    chosen = choose_events(run, waits, limit=100, around="p5:2")
    assert chosen.around == "message p5:2"
    sends = (events.kind == SEND) & (events.sender == run.processes.index("p5"))
    assert int(np.flatnonzero(sends)[1]) in chosen.kept
    header, columns = unpack(dataset.pack_run(run, waits, excerpt, "t", {}))
    assert header["excerpt"]["events"] == len(run.events)
    assert len(columns["what"]) == header["excerpt"]["kept"] == len(excerpt.kept)
    assert np.count_nonzero(columns["what"] == DELIVER) == len(columns["wait_delivered"])


@pytest.mark.parametrize(
    ("protocol", "around"), [("none", "the first early delivery"), ("vector", "the beginning")]
)
def test_a_long_run_is_not_read_as_a_whole(
    protocol: str, around: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = simulated(tmp_path / "t.parquet", protocol)
    rows = pq.read_table(trace)
    pq.write_table(rows, trace, row_group_size=20)
    verdict = verify_trace(trace)
    monkeypatch.delattr(page, "read_trace")
    text, _ = page._pack(trace, None, None, None, 100)
    header, columns = unpack(text)
    assert header["excerpt"]["around"] == around
    assert header["excerpt"]["events"] == len(rows)
    assert 20 <= len(columns["what"]) <= 100
    assert header["early"] is None
    is_early = columns["wait_delivered"] % 2 == 1  # never, or steps ahead
    assert is_early.any() == bool(verdict.witnesses)


def header_of(trace: Path, around: str, layer: int | None = None) -> dict[str, Any]:
    """What a page for twenty events says of a trace in small row groups."""
    pq.write_table(pq.read_table(trace), trace, row_group_size=4)
    header, columns = unpack(page._pack(trace, None, layer, around, 20)[0])
    return {**header, "kept": columns["what"].tolist()}


def test_a_part_of_a_run_claims_no_order(tmp_path: Path) -> None:
    """b:1 overtakes a:1, which is sent long before it and delivered long after it."""
    trace = write_rows(tmp_path / "t.parquet", *OVERTAKEN)
    assert verify_trace(trace).violations == 1
    header = header_of(trace, "b:1")
    assert header["early"] is None
    assert header["excerpt"]["unread"] == {"before": True, "behind": True}
    (doubt,) = header["doubts"]
    assert "rows, those around message b:1, were judged: a message from before" in doubt
    assert header_of(trace, "a:1")["doubts"] == []  # what has a beginning is judged


def test_a_message_of_one_layer_and_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other layer has the same message elsewhere; no way leads over the whole trace."""
    monkeypatch.delattr(page, "read_trace")
    hops = [send("a", 1, "c", layer="hop"), deliver("c", "a:1", layer="hop")]
    far = [row for n in range(1, 60) for row in (send("d", n, "e"), deliver("e", f"d:{n}"))]
    rows = [*hops, *far, send("a", 1, "b"), deliver("b", "a:1")]
    trace = write_rows(tmp_path / "t.parquet", *positioned(*rows))
    for layer, behind in ((None, False), (APP, False), (HOP, True)):
        assert header_of(trace, "a:1", layer)["excerpt"]["unread"]["behind"] == behind
    called = ["order" if row["kind"] == "send" and row["sender"] == "a" else "" for row in rows]
    table = pq.read_table(trace).append_column("message", pa.array(called))
    pq.write_table(table, trace)
    told = header_of(trace, "order")
    assert (told["open_at"], told["excerpt"]["around"]) == ("a:1", "message order")
    assert not told["excerpt"]["unread"]["behind"]


def test_an_excerpt_keeps_the_numbers_of_its_messages(tmp_path: Path) -> None:
    run = only_run(simulated(tmp_path / "t.parquet", "vector"))
    waits = find_waits(run)
    kept = choose_events(run, waits, limit=200, around="p2:6").kept
    sends = kept[run.events.kind[kept] == SEND]
    _, columns = unpack(dataset.pack_run(run, waits, Excerpt(kept, "message p2:6"), "t", {}))
    np.testing.assert_array_equal(columns["number"], run.events.number[sends])
    _, columns = unpack(dataset.pack_run(run, waits, choose_events(run, waits), "t", {}))
    assert "number" not in columns


@pytest.mark.parametrize("around", ["p5", "nobody:1", "p5:999"])
def test_an_unknown_message_is_refused(tmp_path: Path, around: str) -> None:
    trace = write_rows(tmp_path / "t.parquet", *PLANTED)
    with pytest.raises(Misuse):
        page_of(trace, around=around)
    assert not trace.with_suffix(".html").exists()


def test_nothing_is_overwritten_or_half_written(tmp_path: Path) -> None:
    trace = write_rows(tmp_path / "t.parquet", *PLANTED)
    taken = tmp_path / "taken.html"
    taken.write_text("mine")
    for write in (write_view, write_shiviz):
        with pytest.raises(Misuse, match="--force"):
            write(trace, taken)
        with pytest.raises(Misuse, match="is a folder"):
            write(trace, tmp_path)
        with pytest.raises(CannotWrite):
            write(trace, tmp_path / "missing" / "x.html")
    assert taken.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t.parquet", "taken.html"]


def test_one_of_several_runs_has_to_be_named(tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    folder.mkdir()
    for seed in (1, 2):
        simulated(folder / f"{seed}.parquet", "fifo", seed=seed)
    simulated(folder / "none.parquet", "none", seed=2)
    with pytest.raises(Misuse, match="more than one run; name one with --run: fifo-1, fifo-2, "):
        write_view(folder, tmp_path / "x.html")
    page = write_view(
        folder, tmp_path / "x.html", run="fifo-2", compare=folder, compare_run="none-2"
    )
    texts = page.read_text(encoding="utf-8").split('class="trace">')[1:]
    headers = [unpack(text.partition("<")[0])[0] for text in texts]
    assert [header["run"] for header in headers] == ["fifo-2", "none-2"]
    with pytest.raises(Misuse, match="same traffic: seed is 2 in one and 1 in the other"):
        write_view(folder, tmp_path / "y.html", run="fifo-2", compare=folder, compare_run="fifo-1")


def test_groupings_come_from_the_scenario(tmp_path: Path) -> None:
    trace = simulated(tmp_path / "t.parquet", "separators", topology="tree:2,2,2", processes=None)
    text = page_of(trace).read_text(encoding="utf-8").split('class="trace">')[1]
    header, _ = unpack(text.partition("<")[0])
    assert set(header["groupings"]) == {"node", "zone", "outer zone"}
    assert set(header["groupings"]["outer zone"]) == {"", "o1", "o2"}
    by_name = dict(zip(header["processes"], header["groupings"]["node"], strict=True))
    assert by_name["p0"] in by_name
    assert len(set(by_name.values())) > 1
    groups = simulated(tmp_path / "g.parquet", "histories", groups={"layout": "ring", "count": 3})
    text = page_of(groups).read_text(encoding="utf-8").split('class="trace">')[1]
    header, _ = unpack(text.partition("<")[0])
    assert len(set(header["groupings"]["group"])) > 1


def test_read_back_by_the_importer(tmp_path: Path) -> None:
    from antecede.imports import import_shiviz, write_imported  # noqa: PLC0415 - only here

    trace = simulated(tmp_path / "t.parquet", "none")
    log = write_shiviz(trace, tmp_path / "t.log")
    again = tmp_path / "again.parquet"
    patterns = {kind: rf"^{kind} (?P<message>\S+)$" for kind in ("send", "deliver")}
    write_imported(import_shiviz(log, None, *patterns.values(), broadcast=False), again)
    before, after = verify_trace(trace), verify_trace(again)
    assert before.violations > 0
    assert (after.messages, after.deliveries) == (before.messages, before.deliveries)
    assert after.violations == before.violations
    assert len(import_shiviz(log).runs()[0].events) > 0


def test_an_empty_trace_has_no_log(tmp_path: Path) -> None:
    trace = write_rows(tmp_path / "t.parquet")
    assert read_trace(trace).runs == []
    with pytest.raises(Misuse, match="is empty"):
        write_shiviz(trace, tmp_path / "t.log")
