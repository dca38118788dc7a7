"""What every command does: help, JSON, exit statuses, one clear message."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import antecede as package
import antecede_command
from antecede.cli import COMMANDS, load
from antecede.cli._plain import flowed
from antecede.cli._shared import Spoken, progress_bar
from antecede.protocols import find, names
from antecede.simulate import make_scenario, simulate
from tests.cli.conftest import Antecede

SMALL = ("--processes", 3, "--messages", 40)


@pytest.mark.parametrize(
    "command", [name for name in COMMANDS if name not in ("broker", "campaign", "topology")]
)
def test_help_has_an_example(
    antecede: Antecede, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And those that need nothing but a trace, and no time, work."""
    outcome = antecede(command, "--help")
    assert outcome.status == 0
    assert re.search(rf"Example: antecede {command}\b", outcome.out)
    if command in ("certs", "examples", "explain", "protocols", "verify"):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("COLUMNS", "80")
        simulate(make_scenario({"protocol": "vector", "processes": 4, "messages": 100}),
                 "run.parquet")  # fmt: skip
        example = load(command).help.partition("Example: antecede ")[2]
        told = antecede(*example.split())
        assert told.status == 0, told.err
        assert command != "protocols" or max(map(len, told.out.splitlines())) <= 80


def test_paragraphs_of_help_flow() -> None:
    assert flowed("a with\n--flag on\n\n- b\n- c") == "a with --flag on\n\n- b\n- c"


def test_commands_are_listed_without_being_imported() -> None:
    """What help needs is typer and the core: no other command's libraries."""
    heavy = ("numba", "numpy", "networkx", "pandas", "pyarrow", "pydantic", "pyspark", "asyncio")
    code = (
        "import sys; sys.argv = ['antecede', '--help']; from antecede.cli import main\n"
        "try: main()\n"
        f"finally: print([name for name in {heavy} if name in sys.modules], file=sys.stderr)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stderr == "[]\n"
    assert all(f" {name} " in told.stdout for name in COMMANDS)
    assert "<bool>" not in told.stdout


@pytest.mark.parametrize(
    ("package", "status", "out"),
    [
        ("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n", 130, ""),
        (("import sys, types, signal\nsys.modules['antecede.cli'] = cli = types.ModuleType('cli')\n"
         "cli.main = lambda: print(signal.getsignal(signal.SIGINT).__name__)\n"),
         0, "default_int_handler\n"),
    ],
    ids=["while it is imported", "afterwards"],
)  # fmt: skip
def test_control_c_is_silent_before_the_command_begins(
    tmp_path: Path, package: str, status: int, out: str
) -> None:
    (tmp_path / "antecede.py").write_text(package)
    code = (
        f"import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path[:0] = [{str(tmp_path)!r}, {str(Path(antecede_command.__file__).parents[1])!r}]\n"
        f"import antecede_command; antecede_command.main()"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stdout, told.stderr) == (status, out, "")


def test_the_version_is_the_package_s(antecede: Antecede) -> None:
    assert antecede("--version").out == f"antecede {package.__version__}\n"
    assert version("antecede") == package.__version__


@pytest.mark.parametrize("command", [["protocols"], ["protocols", "--json"], ["verify", "TRACE"]])
def test_output_that_nobody_reads_is_no_verdict(command: list[str], tmp_path: Path) -> None:
    trace = tmp_path / "run.parquet"
    simulate(make_scenario({"protocol": "vector", "processes": 2, "messages": 5}), trace)
    arguments = [str(trace) if word == "TRACE" else word for word in command]
    reader, writer = os.pipe()
    os.close(reader)
    for out, status in ((writer, 141), (os.open("/dev/full", os.O_WRONLY), 2)):
        told = subprocess.run(
            [sys.executable, "-m", "antecede", *arguments],
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(out)
        assert told.returncode == status
        assert "Traceback" not in told.stderr


def test_protocols_lists_all_of_them(antecede: Antecede) -> None:
    outcome = antecede("protocols")
    assert outcome.status == 0
    rows = outcome.out.partition("\n\n")[0].splitlines()[1:]
    assert [row.split()[0] for row in rows] == list(names())
    assert max(map(len, rows)) <= 80
    plain = json.loads(antecede("protocols", "--json").out)
    assert [protocol["name"] for protocol in plain] == list(names())
    survives = {row.split()[0]: row for row in rows}
    assert "  loss, crashes" in survives["daisy"]
    assert "  loss" in survives["piggyback"]
    assert "loss" not in survives["vector"]
    assert "  crashes*" in survives["separators"]


@pytest.mark.parametrize("name", names())
def test_one_protocol_is_told_whole(antecede: Antecede, name: str) -> None:
    told = antecede("protocols", name).out
    order = find(name)
    assert told.startswith(f"{name}: {order.traits.title}\n")
    for option in order.options_type.__struct_fields__:
        assert f"\n  {option} = " in told
        assert f"`{option}`" in told.partition("Options, each")[2] or name == "daisy"


def test_simulate_prints_a_table_and_nothing_else(antecede: Antecede) -> None:
    outcome = antecede("simulate", "--protocol", "vector", *SMALL)
    assert outcome.status == 0
    assert outcome.err == ""
    header, row = outcome.out.splitlines()[:2]
    assert header.split()[:3] == ["protocol", "messages", "deliveries"]
    assert row.split()[:3] == ["vector", "40", "120"]


def test_a_protocol_is_told_in_whole_sentences(
    antecede: Antecede, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Points of a list are filled, maps of the code left out, and costs come from the model."""
    monkeypatch.setenv("COLUMNS", "80")
    told = antecede("protocols", "daisy").out
    assert "has been\n  delivered there*: then no crash can take" in told
    assert "====" not in told
    assert "The core and the parts" not in told
    assert re.search(r"^costs +a stamp of \d+ B, ", told, re.MULTILINE)
    assert "\n   " not in antecede("protocols", "histories").out.partition("\npaper ")[0]
    bounded = antecede("protocols", "bounded").out
    assert "  k = 2n\n" in bounded
    assert "null" not in bounded + antecede("protocols", "separators").out


def test_a_protocol_that_breaks_its_contract_is_told_so(
    antecede: Antecede, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "delivers_twice.py").write_text(
        "from antecede import Deliver, find\n\n\n"
        "class Twice(find('fifo')):\n"
        "    def receive(self, packet, now=0.0):\n"
        "        effects = super().receive(packet, now)\n"
        "        return effects + [one for one in effects if isinstance(one, Deliver)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    told = antecede("simulate", "--protocol", "delivers_twice:Twice", "--processes", 3)
    assert told.status == 2
    assert "delivers it twice: the protocol breaks its contract" in told.err


def test_all_protocols_see_the_same_traffic(antecede: Antecede) -> None:
    outcome = antecede("simulate", "--protocol", "all", *SMALL, "--rate", 50, "--json")
    summaries = {summary["protocol"]: summary for summary in json.loads(outcome.out)}
    assert list(summaries) == list(names())
    assert {summary["messages"] for summary in summaries.values()} == {40}
    assert summaries["none"]["violations"] > 0
    assert summaries["vector"]["violations"] == summaries["pairs"]["violations"] == 0
    assert summaries["vector"]["delay_s"] == summaries["pairs"]["delay_s"]
    assert outcome.status == 0


def test_all_says_which_protocols_cannot_carry_the_traffic(antecede: Antecede) -> None:
    outcome = antecede("simulate", "--protocol", "all", *SMALL, "--workload", "unicast")
    assert outcome.status == 0
    assert "Left out: vector: workload: 'unicast' addresses any set of processes" in outcome.out


def test_a_scenario_file_is_overridden_by_flags(antecede: Antecede, tmp_path: Path) -> None:
    scenario = tmp_path / "run.toml"
    scenario.write_text('protocol = "vector"\nprocesses = 3\nmessages = 30\n')
    outcome = antecede("simulate", "--scenario", scenario, "--messages", 20, "--json")
    assert json.loads(outcome.out)["messages"] == 20


def test_what_simulate_writes_verify_reads(antecede: Antecede, tmp_path: Path) -> None:
    kept, broken = tmp_path / "kept.parquet", tmp_path / "broken.parquet"
    antecede("simulate", "--protocol", "vector", *SMALL, "--out", kept)
    antecede("simulate", "--protocol", "none", *SMALL, "--rate", 50, "--out", broken)
    outcome = antecede("verify", kept)
    assert outcome.status == 0
    assert "causal order was kept" in outcome.out
    outcome = antecede("verify", broken)
    assert outcome.status == 1
    assert re.search(r"p\d delivered p\d:\d+ at \S+ s without p\d:\d+", outcome.out)
    verdict = json.loads(antecede("verify", broken, "--json").out)
    assert verdict["violations"] >= len(verdict["witnesses"]) > 0
    assert verdict["runs"] == 1


def test_all_writes_one_trace_of_many_runs(antecede: Antecede, tmp_path: Path) -> None:
    antecede("simulate", "--protocol", "all", *SMALL, "--out", tmp_path / "traces")
    verdict = json.loads(antecede("verify", tmp_path / "traces", "--json").out)
    assert verdict["runs"] == len(names())


def test_explore_passes_and_fails(antecede: Antecede) -> None:
    outcome = antecede("explore", "--protocol", "vector", "--messages", 3)
    assert outcome.status == 0
    assert "every delivery was in order" in outcome.out
    outcome = antecede("explore", "--protocol", "fifo", "--expect", "causal", "--messages", 3)
    assert outcome.status == 1
    assert "1. process" in outcome.out
    outcome = antecede(
        "explore", "--protocol", "none", "--expect", "fifo", "--messages", 2, "--json"
    )
    result = json.loads(outcome.out)
    assert result["passed"] is False
    assert result["failure"]["steps"]


def test_explore_takes_groups(antecede: Antecede) -> None:
    groups = ("--group", "0,1", "--group", "1,2")
    outcome = antecede("explore", "--protocol", "vector", "--messages", 3, *groups)
    assert outcome.status == 0


BAD = [
    (["simulate", "--protocol", "vectr", *SMALL], "there is no protocol 'vectr'; there are"),
    (["simulate", "--protocol", "vector", "--processes", 0], "processes: "),
    (["simulate"], "name a protocol"),
    (["simulate", "--protocol", "vector", *SMALL, "--crash", "soon"], "PROCESS@SECONDS"),
    (["simulate", "--protocol", "vector", *SMALL, "--option", "carry"], "NAME=VALUE"),
    (["simulate", "--protocol", "vector", *SMALL, "--option", "carry=some"], "carry"),
    (["simulate", "--protocol", "vector", *SMALL, "--k", 3], "it knows: carry"),
    (["simulate", "--protocol", "vector", *SMALL, "--workload", "unicast"], "any set of processes"),
    (["simulate", "--protocol", "all", *SMALL, "--loss", 2], "network.loss"),
    (["simulate", "--protocol", "vector", *SMALL, "--delay", "often"], "no kind of delay"),
    (["explore", "--protocol", "vector", "--group", "a,b"], "such as 0,1,2"),
    (["explore", "--protocol", "vector", "--expect", "magic"], "nothing, fifo, causal"),
    (["verify", "nowhere.parquet"], "nowhere.parquet"),
    (["fly"], "fly"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=lambda value: str(value)[:60])
def test_misuse_is_one_clear_message(
    antecede: Antecede, arguments: list[object], words: str
) -> None:
    outcome = antecede(*arguments)
    assert outcome.status == 2
    assert words in outcome.err
    assert outcome.out == ""
    assert "Traceback" not in outcome.err


def test_every_mistake_of_a_scenario_file_is_named(antecede: Antecede, tmp_path: Path) -> None:
    scenario = tmp_path / "bad.toml"
    scenario.write_text(
        'protocol = "vectr"\nprocesses = 0\n\n[network]\nloss = 2.0\ndelay = "exponential:0.1"\n'
    )
    outcome = antecede("simulate", "--scenario", scenario)
    assert outcome.status == 2
    assert f"{scenario}: 3 mistakes" in outcome.err
    for words in ("line 1: protocol", "line 2: processes", "line 5: network.loss"):
        assert words in outcome.err


def test_an_existing_output_is_refused_without_force(antecede: Antecede, tmp_path: Path) -> None:
    out = tmp_path / "run.parquet"
    command = ("simulate", "--protocol", "vector", *SMALL, "--out", out)
    assert antecede(*command).status == 0
    before = out.read_bytes()
    outcome = antecede(*command, "--seed", 9)
    assert outcome.status == 2
    assert "--force" in outcome.err
    assert out.read_bytes() == before
    assert antecede(*command, "--seed", 9, "--force").status == 0
    assert out.read_bytes() != before


def test_loss_on_fifo_channels_is_outside_the_promise(antecede: Antecede) -> None:
    lossy = ("--processes", 4, "--messages", 300, "--loss", 0.1, "--json")
    outcome = antecede("simulate", "--protocol", "blocks-fast", *lossy)
    assert json.loads(outcome.out)["violations"] > 0
    assert outcome.status == 0


def test_all_refuses_before_it_runs_anything(antecede: Antecede, tmp_path: Path) -> None:
    (tmp_path / "vector.parquet").write_bytes(b"mine")
    outcome = antecede("simulate", "--protocol", "all", *SMALL, "--out", tmp_path)
    assert outcome.status == 2
    assert "vector.parquet exists already" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["vector.parquet"]


def test_a_folder_that_cannot_be_made_is_named(antecede: Antecede, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    out = tmp_path / "file" / "run.parquet"
    outcome = antecede("simulate", "--protocol", "vector", *SMALL, "--out", out)
    assert outcome.status == 2
    assert f"cannot write {out}" in outcome.err


def test_progress_without_a_terminal_is_a_line_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress_bar("soon over", 3) as tick:
        tick(1)
    Spoken(every_s=0.0)("runs: 3 of 9")
    assert capsys.readouterr().err == "runs: 3 of 9\n"
