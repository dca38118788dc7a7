"""What `antecede explore` says of how far it went."""

import json
import sys

import pytest

from antecede.cli import main

TWO = ("--messages", "2")
CUT = "wake-ups beyond {} of a process were not explored"


def _explore(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str
) -> str:
    monkeypatch.setattr(sys, "argv", ["antecede", "explore", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("max_wakes", ["0", "1"])
def test_wake_ups_that_were_cut_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], max_wakes: str
) -> None:
    piggyback = ("--protocol", "piggyback", "--processes", "2", *TWO, "--max-wakes", max_wakes)
    assert CUT.format(max_wakes) in _explore(monkeypatch, capsys, *piggyback)
    result = json.loads(_explore(monkeypatch, capsys, *piggyback, "--json"))
    assert (result["passed"], result["wakes_cut"]) == (True, True)
    assert result["max_wakes"] == int(max_wakes)


def test_wake_ups_that_nobody_asks_for_are_not_mentioned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    matrix = ("--protocol", "matrix", *TWO, "--max-wakes", "0")
    assert "wake-ups" not in _explore(monkeypatch, capsys, *matrix)
    assert json.loads(_explore(monkeypatch, capsys, *matrix, "--json"))["wakes_cut"] is False


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("none", "every delivery was as promised (no order)"),
        ("fifo", "every delivery was in order (FIFO)"),
        ("matrix", "every delivery was in order (causal)"),
    ],
)
def test_what_was_promised_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], protocol: str, words: str
) -> None:
    assert words in _explore(monkeypatch, capsys, "--protocol", protocol, *TWO)


def test_without_symmetry_there_are_more_programs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [
        json.loads(_explore(monkeypatch, capsys, "--protocol", "none", *TWO, *flag, "--json"))
        for flag in ((), ("--no-symmetry",))
    ]
    assert found[0]["programs"] < found[1]["programs"]
