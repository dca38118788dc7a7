"""`antecede node` and `antecede chat` as people and scripts use them."""

import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Antecede, antecede
from tests.live.cluster import ENOUGH_S, MAIN, ROOT, cluster

__all__ = ["antecede"]  # a fixture


def run_command(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=ENOUGH_S, check=True,
    )  # fmt: skip
    return done.stdout


def test_two_nodes_their_status_and_their_trace(tmp_path: Path) -> None:
    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            common = ("--plain-tcp", "--record", str(tmp_path), "--suspect-after", "5")
            alice = await nodes.spawn(
                "alice", "-c", MAIN, "node", "--name", "alice", *common, "--serve", "127.0.0.1:0"
            )
            address = (await alice.says("listening"))["address"]
            serving = (await alice.says("serving"))["address"]
            bob = await nodes.spawn(
                "bob", "-c", MAIN, "node", "--name", "bob", *common, "--peer", address
            )
            await alice.until(lambda said: said.get("members") == ["alice", "bob"])
            bob.tell("hello")
            heard = await alice.says("deliver")
            assert (heard["sender"], heard["text"]) == ("bob", "hello")
            namesake = await nodes.spawn(
                "other", "-c", MAIN, "node", "--name", "alice", "--plain-tcp", "--peer", address
            )
            assert await namesake.over() == 2  # Refused, in a line and without a traceback.
            alice.tell("@nobody hello")
            assert "unknown here" in (await alice.says("error"))["text"]
            shown = await asyncio.to_thread(run_command, "node", "--status", serving)
            assert "alice in group group (vector" in shown
            assert "to bob: connected" in shown
            bob.process.kill()  # What it did is in its log.
            await alice.until(lambda said: said.get("departed") == ["bob"])
            assert alice.process.stdin is not None
            alice.process.stdin.close()
            assert await alice.over() == 0

    asyncio.run(run())
    assert "bob" in run_command("node", "--finish", str(tmp_path))
    assert "causal order was kept" in run_command("verify", str(tmp_path))


def test_a_durable_node(tmp_path: Path) -> None:
    """Its first life is killed; the second is given what the first had not seen."""

    async def run() -> None:
        async with cluster(tmp_path) as nodes:
            common = ("-c", MAIN, "node", "--plain-tcp", "--suspect-after", "1.5", "--durable")
            alice = await nodes.spawn("alice", *common, f"{tmp_path}/alice.log", "--name", "alice")
            address = (await alice.says("listening"))["address"]
            bob_as = (*common, f"{tmp_path}/bob.log", "--name", "bob", "--peer", address)
            bob = await nodes.spawn("bob", *bob_as)
            await alice.until(lambda said: said.get("members") == ["alice", "bob"])
            await bob.until(lambda said: said.get("members") == ["alice", "bob"])
            bob.process.kill()
            await alice.until(lambda said: said.get("departed") == ["bob"])
            alice.tell("while you were away")
            await alice.says("deliver")
            again = await nodes.spawn("bob", *bob_as, "--synchronous", "full")
            heard = await again.says("deliver")
            assert (heard["sender"], heard["text"]) == ("alice", "while you were away")
            await again.until(lambda said: said.get("members") == ["alice", "bob"])

    asyncio.run(run())


@pytest.mark.parametrize(
    ("without_order", "first"), [(False, "alice: question"), (True, "bob: answer")]
)
def test_chat_shows_what_order_is_for(without_order: bool, first: str, tmp_path: Path) -> None:
    """Alice's messages reach Carol late; with order Carol still sees the question first."""

    async def run() -> list[str]:
        flag = ["--without-order"] * without_order
        async with cluster(tmp_path) as nodes:
            alice = await nodes.spawn(
                "alice", "-c", MAIN, "chat", "alice", "--slow", "carol=6", *flag, text=True
            )
            greeting = await alice.until(lambda said: "--to" in said["line"])
            to = greeting["line"].split("--to ")[1].split()[0]
            bob = await nodes.spawn("bob", "-c", MAIN, "chat", "bob", "--to", to, *flag, text=True)
            await bob.until(lambda said: "alice, bob" in said["line"])
            carol = await nodes.spawn(
                "carol", "-c", MAIN, "chat", "carol", "--to", to, *flag, text=True
            )
            for one in (alice, bob, carol):
                await one.until(lambda said: "here now: alice, bob, carol" in said["line"])
            alice.tell("question")
            await bob.until(lambda said: said["line"] == "alice: question")
            bob.tell("answer")
            if not without_order:
                await carol.until(lambda said: said["line"] == "bob's line waits for alice's")
            await carol.until(lambda said: said["line"] == "alice: question")
            await carol.until(lambda said: said["line"] == "bob: answer")
            return [said["line"] for said in carol.said if ": " in said["line"]]

    lines = [line for line in asyncio.run(run()) if line.startswith(("alice: ", "bob: "))]
    assert lines[0] == first
    assert sorted(lines) == ["alice: question", "bob: answer"]  # Nothing appears twice.


def test_the_demo_shows_three_screens(antecede: Antecede, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("antecede.cli._chat_demo.LAG_S", 4.0)  # Also on a busy machine.
    told = antecede("chat", "--demo")
    assert told.status == 0
    ordered, unordered = told.out.split("Without order")
    carol = [line for line in ordered.splitlines() if line.startswith(" " * 40)]
    assert [line.strip() for line in carol] == [
        "bob's line waits for alice's", "alice: Who wants tea?", "bob: Me!",
    ]  # fmt: skip
    carol = [line for line in unordered.splitlines() if line.startswith(" " * 40)]
    assert [line.strip() for line in carol] == ["bob: Me!", "alice: Who wants tea?"]
    for half in (ordered, unordered):
        assert (half.count("alice: Who"), half.count("bob: Me!")) == (3, 3)
    assert "what are you called?" in antecede("chat").err


def test_what_is_typed_in_a_terminal_appears_once() -> None:
    """The terminal echoes it; then it is shown in its place, and the echo is gone."""
    ours, theirs = pty.openpty()
    chat = subprocess.Popen(
        [sys.executable, "-c", MAIN, "chat", "alice"],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=ROOT, close_fds=True,
    )  # fmt: skip
    os.close(theirs)
    seen = ""
    try:
        while "here now: alice" not in seen:
            seen += os.read(ours, 4096).decode()
        os.write(ours, b"hello\n")
        while seen.count("hello") < 2:
            seen += os.read(ours, 4096).decode()
        os.write(ours, b"\x04")  # The end of the input.
        assert chat.wait(ENOUGH_S) == 0
    finally:
        chat.kill()
        chat.wait()
        os.close(ours)
    echo, shown = seen.split("hello")[1:3]
    assert "\x1b[1A\r\x1b[2K" in echo
    assert "hello" not in shown


@pytest.mark.parametrize("lines", ["", "one\ntwo\n", "x" * 100_000 + "\n"])
def test_input_from_a_file(lines: str, tmp_path: Path) -> None:
    file = tmp_path / "lines"
    file.write_text(lines)
    with (file if lines else Path(os.devnull)).open() as source:
        said = subprocess.run(
            [sys.executable, "-c", MAIN, "node", "--name", "a", "--plain-tcp"],
            stdin=source, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
    events = map(json.loads, said.stdout.splitlines())
    heard = [event["text"] for event in events if event["event"] == "deliver"]
    assert heard == lines.splitlines()


def test_misuse(antecede: Antecede, tmp_path: Path) -> None:
    for flags, message in (
        (["--name", "a"], "--plain-tcp"),
        (["--plain-tcp"], "--name is missing"),
        (["--name", "a", "--plain-tcp", "--listen", "here"], "HOST:PORT"),
        (["--name", "a", "--plain-tcp", "--listen", "0.0.0.0:0"], "advertise"),
        (["--name", "a", "--plain-tcp", "--protocol", "daisy"], "overlay"),
        (["--name", "a", "--plain-tcp", "--authority", "x"], "no certificates"),
        (["--status", "127.0.0.1:1"], "nobody serves"),
        (["--name", "a", "--plain-tcp", "--record", f"{tmp_path}/file/x"], "cannot write"),
        (["--name", "a", "--plain-tcp", "--durable", f"{tmp_path}/file/x"], "cannot write"),
        (["--name", "a", "--plain-tcp", "--synchronous", "never"], "normal, full"),
        (["--name", "a", "--plain-tcp", "--durable", __file__], "is no log of a member"),
    ):
        (tmp_path / "file").touch()
        outcome = antecede("node", *flags)
        assert outcome.status == 2, flags
        assert message in outcome.err
