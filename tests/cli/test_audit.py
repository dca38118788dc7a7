"""`verify`, `explain` and `import`, on good traces and on broken ones."""

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Antecede
from tests.trace.builders import deliver, event, positioned, receive, send, table

ROWS = positioned(
    *[send("p", 1, "q", time=0.0), send("p", 2, "q", time=1.0)],
    *[receive("q", "p:2", time=2.0), receive("q", "p:1", time=3.0)],
    *[deliver("q", "p:1", time=3.5), deliver("q", "p:2", time=5.0)],
)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return tmp_path / "t.parquet"


def test_verify_tells_where_the_time_went(antecede: Antecede, trace: Path) -> None:
    pq.write_table(table(*ROWS), trace)
    outcome = antecede("verify", trace)
    assert outcome.status == 0
    assert outcome.out.splitlines() == [
        "1 run, 2 messages, 2 deliveries",
        "undelivered: 0",
        (
            "held, on average: 0.5 s for messages that had not arrived (forced), 0.25 s for "
            "messages that were held themselves (inherited), 1 s without need (own)"
        ),
        "causal order was kept",
    ]
    told = json.loads(antecede("verify", trace, "--json").out)
    assert told["delays"] == {
        "deliveries": 2,
        "mean_forced_s": 0.5,
        "mean_inherited_s": 0.25,
        "mean_own_s": 1.0,
    }


def test_both_engines_agree(antecede: Antecede, trace: Path) -> None:
    rows = [*ROWS[:4], deliver("q", "p:2", position=9)]
    pq.write_table(table(*rows), trace)
    kernel, oracle = (antecede("verify", trace, "--engine", e) for e in ("local", "oracle"))
    assert kernel.status == oracle.status == 1
    assert kernel.out.splitlines()[-2:] == oracle.out.splitlines()[-2:]
    unknown = antecede("verify", trace, "--engine", "steam")
    assert (unknown.status, unknown.out) == (2, "")
    assert "there is no engine 'steam'" in unknown.err


def test_explain(antecede: Antecede, trace: Path) -> None:
    pq.write_table(table(*ROWS), trace)
    outcome = antecede("explain", trace, "--process", "q", "--message", "p:2")
    assert outcome.status == 0
    assert outcome.out.startswith("q received p:2 at 2 s and delivered it at 5 s: held for 3 s.\n")
    told = json.loads(
        antecede("explain", trace, "--process", "q", "--message", "p:2", "--json").out
    )
    assert (told["forced_s"], told["inherited_s"], told["own_s"]) == (1.0, 0.5, 1.5)
    pq.write_table(table(*ROWS[:3], deliver("q", "p:2", position=9)), trace)
    broken = antecede("explain", trace, "--process", "q", "--message", "p:2")
    assert broken.status == 1
    assert "Causal order was BROKEN: q delivered p:2 without p:1" in broken.out
    wrong = antecede("explain", trace, "--process", "q", "--message", "p:9")
    assert (wrong.status, wrong.out) == (2, "")


def test_import(antecede: Antecede, tmp_path: Path) -> None:
    log, out = tmp_path / "log.csv", tmp_path / "t.parquet"
    log.write_text("host,kind,message\np,send,m\nq,recv,m\n")
    arguments = ("import", "csv", log, "--column", "process=host", "--kind", "deliver=recv")
    outcome = antecede(*arguments, "--out", out)
    assert outcome.status == 0
    assert outcome.out == f"1 run, 1 message, 1 delivery written to {out}\n"
    assert outcome.err.startswith(
        "antecede: assumed: the log does not say whom messages are addressed to"
    )
    assert antecede("verify", out).status == 3
    assert antecede(*arguments, "--out", out).status == 2
    told = json.loads(antecede(*arguments, "--out", out, "--force", "--json").out)
    assert (told["runs"], told["deliveries"], len(told["assumed"])) == (1, 1, 1)
    for more, mistake in (
        (("--order", "x"), "--order says nothing about the format csv"),
        (("--column", "host"), "--column host: write it as NAME=VALUE"),
    ):
        wrong = antecede("import", "csv", log, "--out", tmp_path / "new", *more)
        assert (wrong.status, wrong.out) == (2, "")
        assert mistake in wrong.err


def test_an_empty_trace_and_one_event(antecede: Antecede, trace: Path) -> None:
    pq.write_table(table(), trace)
    outcome = antecede("verify", trace)
    assert (outcome.status, outcome.out.splitlines()[0]) == (
        3,
        "0 runs, 0 messages, 0 deliveries",
    )
    for row, messages in ((send("p", 1, ()), 1), (event("join", "p"), 0)):
        pq.write_table(table(row), trace)
        outcome = antecede("verify", trace)
        assert outcome.status == 3
        assert outcome.out.startswith(f"1 run, {messages} message")


def test_names_with_spaces_and_in_other_scripts(antecede: Antecede, trace: Path) -> None:
    rows = [
        send("Zoë Å", 1, ["東京 1"]),
        send("Zoë Å", 2, ["東京 1"]),
        deliver("東京 1", "Zoë Å:2"),
    ]
    pq.write_table(table(*positioned(*rows)), trace)
    outcome = antecede("verify", trace)
    assert outcome.status == 1
    assert (
        "東京 1 delivered Zoë Å:2 without Zoë Å:1, which Zoë Å:2 directly depends on" in outcome.out
    )
    assert antecede("explain", trace, "--process", "東京 1", "--message", "Zoë Å:2").status == 1


@pytest.mark.parametrize(
    ("damage", "mistake"),
    [
        pytest.param(
            lambda whole: whole.drop_columns(["seq"]), "column 'seq' is missing", id="gone"
        ),
        pytest.param(
            lambda whole: whole.set_column(
                whole.schema.get_field_index("number"), "number", pa.array(["1"] * len(whole))
            ),
            "column 'number' has type string, expected int64",
            id="type",
        ),
    ],
)
def test_wrong_columns(antecede: Antecede, trace: Path, damage: object, mistake: str) -> None:
    assert callable(damage)
    pq.write_table(damage(table(*ROWS)), trace)
    outcome = antecede("verify", trace)
    assert (outcome.status, outcome.out) == (2, "")
    assert mistake in outcome.err


def test_a_corrupt_file_gets_no_half_verdict(antecede: Antecede, tmp_path: Path) -> None:
    pq.write_table(table(*ROWS), tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[: len(whole) // 2])
    outcome = antecede("verify", tmp_path)
    assert (outcome.status, outcome.out) == (2, "")
    assert "b.parquet" in outcome.err
    assert "damaged" in outcome.err


def test_small_traces_are_verified_without_numba(trace: Path) -> None:
    """It takes longer to import than they take."""
    pq.write_table(table(*ROWS), trace)
    code = (
        "import sys, antecede.cli, antecede.imports\n"
        "from antecede.verify import verify_trace\n"
        f"assert verify_trace({str(trace)!r}).deliveries == 2\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_verify_finds_holes_when_asked(antecede: Antecede, trace: Path) -> None:
    """The first message is lost for good, and the second waits for it for ever."""
    rows = positioned(*[send("p", 1, "q"), send("p", 2, "q"), receive("q", "p:2")])
    pq.write_table(table(*rows), trace)
    assert antecede("verify", trace).status == 3
    outcome = antecede("verify", trace, "--holes")
    assert outcome.status == 1
    assert outcome.out.splitlines()[-2:] == [
        "persistent causal holes: 1",
        "  q never delivered p:1, whose sender survived; p:2 waited for it",
    ]
    told = json.loads(antecede("verify", trace, "--holes", "--json").out)
    assert [hole["message"] for hole in told["holes"]] == ["p:1"]
    pq.write_table(table(*ROWS), trace)
    assert antecede("verify", trace, "--holes").status == 0
