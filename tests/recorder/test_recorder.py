"""The recorder: many threads and tasks, a SIGKILL, files of several processes; and pytest's
fixture."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from antecede.errors import CannotWrite, Misuse
from antecede.recorder import record
from antecede.verify import Answer
from antecede.view.audited import audit_logs

ROOT = Path(__file__).resolve().parents[2]


def test_files_of_several_processes_are_a_trace(tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.trace" for name in "pqr"]
    with record(files[0], "p") as p, record(files[1], "q") as q, record(files[2], "r") as r:
        p.send("m1", to=["q", "r"], text="first")
        q.receive("m1")
        q.deliver("m1")
        q.local("thinking")
        q.send("m2", to=["r"])
        r.deliver("m2")
        r.deliver("m1")
    found = audit_logs(files, tmp_path / "out")
    assert found.verdict.answer is Answer.BROKEN
    assert "r delivered m2 at 20" in found.verdict.witnesses[0].sentence()
    assert "without m1, which m2 directly depends on" in found.verdict.witnesses[0].sentence()


def test_threads_and_tasks(tmp_path: Path) -> None:
    """Every line is whole, and each is there once."""
    with record(tmp_path / "t.trace", "p") as rec:

        async def tasks(thread: int) -> None:
            async def task(number: int) -> None:
                for step in range(50):
                    rec.send(f"{thread}/{number}/{step}", to=["q"], text='naïve \n" text')
                    await asyncio.sleep(0)

            await asyncio.gather(*(task(number) for number in range(5)))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda thread: asyncio.run(tasks(thread)), range(4)))
    lines = [json.loads(line) for line in (tmp_path / "t.trace").read_text().splitlines()]
    assert len({line["message"] for line in lines[1:]}) == len(lines) - 1 == 1000


def test_a_sigkill_loses_nothing_that_was_recorded(tmp_path: Path) -> None:
    file = tmp_path / "t.trace"
    code = (
        "import sys\nfrom antecede.recorder import record\n"
        f"rec = record({str(file)!r}, 'p')\n"
        "for number in range(10 ** 9):\n"
        "    rec.send(number, to=['q'])\n    print(number, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        last = [child.stdout.readline() for _ in range(500)][-1]
        os.kill(child.pid, signal.SIGKILL)
    with record(file, "q") as rec:  # goes on in the same file
        rec.deliver(0)
    told = audit_logs([file], tmp_path / "out").verdict
    assert told.messages > int(last)
    assert (told.deliveries, told.answer) == (1, Answer.KEPT)


def test_a_last_line_that_is_not_whole(tmp_path: Path) -> None:
    file = tmp_path / "t.trace"
    with record(file, "p") as rec:
        rec.send("m", to=["q"])
        rec.deliver("m", at="q")
    file.write_bytes(file.read_bytes() + b'{"process":"q","ki')
    told = audit_logs([file], tmp_path / "out").verdict
    assert ([one.what for one in told.doubts], told.deliveries) == (["truncated"], 1)


def test_misuse(tmp_path: Path) -> None:
    rec = record(tmp_path / "t.trace", "p")
    with pytest.raises(Misuse, match=r"give a list of names, to=\['q'\]"):
        rec.send("m", to="q")
    rec.close()
    with pytest.raises(Misuse, match="the recording is closed"):
        rec.deliver("m")
    with pytest.raises(CannotWrite):
        record(tmp_path / "absent" / "t.trace", "p")
    if Path("/dev/full").exists():
        with pytest.raises(CannotWrite, match="No space left"):
            record("/dev/full", "p")


def test_it_needs_nothing_heavy() -> None:
    code = (
        "import sys\nfrom antecede.recorder import record\n"
        "heavy = {'pyarrow', 'numpy', 'numba', 'pandas', 'networkx', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def run_pytest(folder: Path, *arguments: str) -> str:
    """Whether or not the package is installed with its entry point."""
    command = [sys.executable, "-m", "pytest", "-p", "antecede.pytest_plugin", *arguments]
    command += ["-p", "no:cacheprovider", f"--basetemp={folder}", "-o", "addopts="]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    ).stdout


def test_the_example_fails_with_a_witness_and_a_page(tmp_path: Path) -> None:
    told = run_pytest(tmp_path / "base", "examples/orders/test_orders.py")
    assert "1 failed, 1 passed" in told, told
    assert "causal order was BROKEN: " in told
    assert "shipping delivered paid 1 at " in told
    page = told.partition("see file://")[2].split()[0]
    assert Path(page).stat().st_size > 10_000


def test_a_test_that_records_nothing_is_no_success(tmp_path: Path) -> None:
    file = tmp_path / "test_nothing.py"
    file.write_text(
        "def test_nothing(causal):\n    pass\n"
        "def test_sends(causal):\n    causal.send('m', to=['q'], at='p')\n"
    )
    told = run_pytest(tmp_path / "base", str(file))
    assert "2 failed" in told, told
    assert "there is no event in it" in told
    assert "there is no delivery to judge" in told
