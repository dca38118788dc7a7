"""What a process did first, where several files tell of it, in several units, grains and
directions: a verdict only from what is sure."""

from datetime import date, time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from antecede.errors import BadFile
from antecede.imports.imported import write_imported
from antecede.imports.logs import Wishes, import_logs
from antecede.verify import Answer, Verdict, explain, verify_trace

KEPT, BROKEN, CANNOT_TELL = Answer.KEPT, Answer.BROKEN, Answer.CANNOT_TELL
HEAD = "time,process,kind,message,to\n"
S = 1_714_564_800
MIXED = "whose times are not written alike"
STARTS = "whose times count from some start"
GRAIN = "differ by less than the coarser tells"
FALLS = "times of a file fall"
BACK = "times of a process run backwards"


def judged(folder: Path, *contents: str) -> Verdict:
    logs = [folder / f"{name}.csv" for name, _ in zip("abc", contents, strict=False)]
    for log, content in zip(logs, contents, strict=True):
        log.write_text(HEAD + content)
    write_imported(import_logs(logs, Wishes()).imported, folder / "trace", force=True)
    return verify_trace(folder / "trace")


def two(first: Any, second: Any, sends: tuple[Any, Any] = (S, S + 1)) -> list[str]:
    """q delivers n, then m by another file, at these times; p has sent m before n."""
    return [
        f"{sends[0]},p,send,m,q\n{sends[1]},p,send,n,q\n{first},q,deliver,n,\n",
        f"{second},q,deliver,m,\n",
    ]


UNITS = {
    # One unit in all files.
    "seconds": (two(S + 5, S + 7), BROKEN, ""),
    "milliseconds": (two((S + 5) * 1000, (S + 7) * 1000, (S * 1000, S * 1000 + 1)), BROKEN, ""),
    "texts": (two("2024-05-01T12:00:05Z", "2024-05-01T14:00:07+02:00",
                  ("2024-05-01T12:00:00Z", "2024-05-01T12:00:01Z")), BROKEN, ""),
    # One in each, which a size suggests; or no unit at all.
    "two units": (two((S + 5) * 1000, S + 7, (S * 1000, S * 1000 + 1)), CANNOT_TELL, MIXED),
    "a zone and none": (two("2024-05-01T12:00:05Z", "2024-05-01T12:00:07",
                            ("2024-05-01T12:00:00Z", "2024-05-01T12:00:01Z")), CANNOT_TELL, MIXED),
    "a unit and a text": (two(S + 5, "2024-05-01T12:00:07Z"), CANNOT_TELL, MIXED),
    # A counter of nanoseconds that passes what would be seconds of 1973.
    "a counter": (two(99_999_999, 100_000_001, (90_000_000, 91_000_000)), CANNOT_TELL, STARTS),
    "a counter in seconds": (two(5, 7, (1, 2)), CANNOT_TELL, STARTS),
    "no time": (two(0, S + 7), CANNOT_TELL, STARTS),
    # Seconds beside something finer: sure where they are a second apart.
    "grains": (two(f"{S + 5}", f"{S + 5.25:.2f}"), CANNOT_TELL, GRAIN),
    "a millisecond less": (two(f"{S + 5}", f"{S + 5.999:.3f}"), CANNOT_TELL, GRAIN),
    "a second apart": (two(f"{S + 5}", f"{S + 6.01:.2f}"), BROKEN, ""),
    "fine grains": (two(f"{S + 5.125:.3f}", f"{S + 5.126:.3f}"), BROKEN, ""),
    # A clock that is set back in the night from Saturday to Sunday.
    "an hour twice": (two("2024-10-27T02:59:58", "2024-10-27T02:59:59",
                          ("2024-10-27T01:00:00", "2024-10-27T01:00:01")), CANNOT_TELL,
                      "clocks may have been set back"),
    "an hour later": (two("2024-10-27T02:10:00", "2024-10-27T03:10:01",
                          ("2024-10-27T01:00:00", "2024-10-27T01:00:01")), BROKEN, ""),
    "another Sunday": (two("2024-12-29T02:10:00", "2024-12-29T02:11:00",
                           ("2024-12-29T01:00:00", "2024-12-29T01:00:01")), BROKEN, ""),
    "days": (two("2024-05-02", "2024-05-02T20:00:00", ("2024-05-01", "2024-05-01")), CANNOT_TELL,
             GRAIN),
}  # fmt: skip


@pytest.mark.parametrize("name", UNITS)
def test_times_of_several_files(tmp_path: Path, name: str) -> None:
    contents, answer, told = UNITS[name]
    verdict = judged(tmp_path, *contents)
    assert verdict.answer is answer
    assert [one.happened for one in verdict.doubts if told not in one.happened] == []
    assert bool(verdict.doubts) == bool(told)
    # In one file, none of which the times decide, the order of lines is enough.
    alone = judged(tmp_path, "".join(contents))
    assert (alone.answer is BROKEN) == (name != "two units")


def test_a_unit_is_not_decided_by_one_number(tmp_path: Path) -> None:
    """Read a number at a time, the first would be seconds and the second milliseconds: times would
    fall, and the log would be read from its end."""
    counts = [99_999_999_000, 99_999_999_500, 100_000_000_500, 100_000_001_000]
    rows = ("p,send,m,q", "p,send,n,q", "q,deliver,m,", "q,deliver,n,")
    verdict = judged(tmp_path, "".join(f"{at},{row}\n" for at, row in zip(counts, rows)))  # noqa: B905
    assert (verdict.answer, verdict.assumed) == (KEPT, ())


FORWARD = "".join(f"{S + at},{row}\n" for at, row in enumerate(
    ("p,send,m,q", "p,send,n,q", "q,deliver,m,", "p,send,o,q", "q,deliver,n,", "q,deliver,o,"),
))  # fmt: skip


def turned(content: str) -> str:
    return "".join(f"{row}\n" for row in reversed(content.splitlines()))


SET_BACK = f"{S},p,send,m,q\n{S + 1},p,send,n,q\n{S + 5},q,deliver,n,\n{S + 4},q,deliver,m,\n"
FLAT = f"{S},r,send,x,s\n{S},r,send,y,s\n{S + 9},s,deliver,y,\n{S + 9},s,deliver,x,\n"
NO_ORDER = (
    f"{S + 3},r,join,,\n{S + 4},t,join,,\n{S + 1},r,leave,,\n{S},p,send,m,q\n"
    f"{S + 1},p,send,n,q\n{S + 5},q,deliver,n,\n{S + 5},q,deliver,m,\n"
)
NEWEST = {
    "oldest first": ([FORWARD], KEPT, ""),
    "newest first": ([turned(FORWARD)], KEPT, ""),
    "both": ([turned(FORWARD), FORWARD.replace(",m,", ",a,").replace(",n,", ",b,")
              .replace(",o,", ",c,").replace(",p,", ",r,").replace(",q", ",s")], KEPT, ""),
    # A clock that was set back once, or twice, looks the same.
    "one fall": ([f"{S + 5},q,deliver,n,\n{S + 4},q,deliver,m,\n{S},p,send,m,q\n{S},p,send,n,q\n"],
                 CANNOT_TELL, FALLS),
    "a fall and a rise": ([SET_BACK], CANNOT_TELL, BACK),
    # Sorted by time, equal times may stand in any order.
    "ties": ([turned(FORWARD.replace(f"{S + 5}", f"{S + 4}"))], CANNOT_TELL, FALLS),
    "a flat file beside it": ([turned(FORWARD), FLAT], CANNOT_TELL, FALLS),
    # Times of a file that was sorted by something else say that lines have no order.
    "no order": ([NO_ORDER], CANNOT_TELL, ""),
    # Two files of one process: by time, unless a file's own order says otherwise.
    "two files turned": ([turned(FORWARD), f"{S + 99},q,join,,\n"], KEPT, ""),
    "a file runs backwards": ([SET_BACK, f"{S + 9},q,join,,\n"], CANNOT_TELL, BACK),
}  # fmt: skip


@pytest.mark.parametrize("name", NEWEST)
def test_the_newest_may_stand_first(tmp_path: Path, name: str) -> None:
    contents, answer, told = NEWEST[name]
    verdict = judged(tmp_path, *contents)
    assert verdict.answer is answer
    assert [one.happened for one in verdict.doubts if told not in one.happened] == []
    assert ("newest-first" in {one.what for one in verdict.assumed}) == (
        "turned" in name or name in {"newest first", "both", "one fall", "ties"}
        or "beside" in name
    )  # fmt: skip


def test_a_clock_set_back_in_a_recording_that_goes_on_in_another(tmp_path: Path) -> None:
    """Each file is in order, whatever its times say; joined by time they would not be."""
    begin = '{"antecede":"recording","version":1}\n'
    row = '{{"process":"{}","kind":"{}","message":"{}","destinations":["q"],"time":{}}}\n'
    first = [("p", "send", "m", S), ("p", "send", "n", S + 1),
             ("q", "deliver", "m", S + 9), ("q", "deliver", "n", S + 5)]  # fmt: skip
    (tmp_path / "a").write_text(begin + "".join(row.format(*one) for one in first))
    (tmp_path / "b").write_text(begin + f'{{"process":"q","kind":"join","time":{S + 20}}}\n')
    for names, answer in (("a", KEPT), ("ab", CANNOT_TELL)):
        logs = [tmp_path / name for name in names]
        write_imported(import_logs(logs, Wishes()).imported, tmp_path / "t", force=True)
        assert verify_trace(tmp_path / "t").answer is answer


# Where the order of one process is unsure.
SURE = f"{S},p,send,m,q\n{S + 1},p,send,n,q\n{S + 3},q,deliver,n,\n{S + 4},q,deliver,m,\n"
ELSEWHERE = f"{S},r,send,x,s\n{S + 9},s,deliver,x,\n{S + 8},s,join,,\n"
THROUGH = (  # r's clock is set back between what it delivers and what it sends
    f"{S},p,send,m,r q\n{S + 3},r,deliver,m,\n{S + 2},r,send,n,q\n{S + 4},q,deliver,n,\n"
    f"{S + 5},q,deliver,m,\n"
)


DIGITS = "".join(  # a date without anything between its parts is no number of milliseconds
    f"202405011200{at:02},{row.partition(',')[2]}\n" for at, row in enumerate(SURE.splitlines())
)


def test_a_date_of_digits_alone(tmp_path: Path) -> None:
    (witness,) = judged(tmp_path, DIGITS).witnesses
    assert " at 2.02405e+13 s (" in witness.sentence()


@pytest.mark.parametrize(
    ("content", "answer", "unsure"),
    [
        (SURE, BROKEN, []),
        (SURE + ELSEWHERE, BROKEN, ["s"]),
        (SURE.replace(f"{S + 4}", f"{S + 2}"), CANNOT_TELL, ["q"]),  # where it was overtaken
        (SURE.replace(f"{S + 1},p", f"{S - 1},p"), CANNOT_TELL, ["p"]),  # who sent both
        (THROUGH, CANNOT_TELL, ["r"]),  # who handed it on
        (THROUGH.replace("q,deliver,m", "t,join,") + ELSEWHERE, CANNOT_TELL, ["r", "s"]),
        (FORWARD + ELSEWHERE, CANNOT_TELL, ["s"]),  # nothing is early, and nothing is kept
    ],
)
def test_what_is_unsure_elsewhere_leaves_a_proof(
    tmp_path: Path, content: str, answer: Answer, unsure: list[str]
) -> None:
    verdict = judged(tmp_path, content)
    assert verdict.answer is answer
    told = [name for one in verdict.to_json()["assumed"] for name in one.get("unsure at", ())]
    assert sorted(set(told)) == unsure
    if verdict.witnesses:
        assert explain(tmp_path / "trace", "q", "n").answer is answer


TABLE: dict[str, list[Any]] = {
    "process": ["p", "p", "q", "q"],
    "kind": ["send", "send", "deliver", "deliver"],
    "message": ["m", "n", "n", "m"],
    "to": [["q"], ["q"], None, None],
}


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (pa.array([date(2024, 5, day) for day in (1, 2, 3, 4)], pa.date32()), "2024-05-03 00:00"),
        (pa.array([date(2024, 5, 1)] * 4, pa.date64()), "2024-05-01 00:00:00"),
        (pa.array([S, S + 1, S + 2, S + 3], pa.timestamp("s")), "2024-05-01 12:00:02"),
        (pa.array([S * 10**9 + at for at in range(4)], pa.timestamp("ns")), "2024-05-01 12:00:00"),
    ],
)
def test_times_of_parquet(tmp_path: Path, times: pa.Array, told: str) -> None:
    verdict = of_parquet(tmp_path, times)
    assert (verdict.answer, told in verdict.witnesses[0].sentence()) == (BROKEN, True)


@pytest.mark.parametrize(
    ("times", "told"),
    [
        (pa.array([time(12, 0, at) for at in range(4)], pa.time64("us")),
         "has a time of day without its date: '12:00:00', and 3 more"),
        (pa.array(range(4), pa.time32("s")), "has a time of day without its date"),
        (pa.array(range(4), pa.duration("s")), "is no time: '0:00:00'"),
        (pa.array([b"x"] * 4), "is no time: 'x'"),
        (pa.array(["12:00:01"] * 4), "has a time of day without its date: '12:00:01', and 3 more"),
    ],
)  # fmt: skip
def test_what_is_no_time_of_parquet(tmp_path: Path, times: pa.Array, told: str) -> None:
    with pytest.raises(BadFile, match="--column time= goes on without times") as caught:
        of_parquet(tmp_path, times)
    assert told in str(caught.value)
    assert of_parquet(tmp_path, times, time="").answer is BROKEN


def of_parquet(folder: Path, times: pa.Array, **columns: str) -> Verdict:
    pq.write_table(pa.table({**TABLE, "time": times}), folder / "log.parquet")
    imported = import_logs([folder / "log.parquet"], Wishes(columns=columns)).imported
    write_imported(imported, folder / "t", force=True)
    return verify_trace(folder / "t")
