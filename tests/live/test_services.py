"""The three services of `examples/services`: one is killed, nothing is lost."""

from pathlib import Path

import pytest

from examples.services.__main__ import main


def test_one_is_killed_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--orders", "12", "--out", str(tmp_path / "shop")]) == 0
    told = capsys.readouterr().out
    assert "killed: stock" in told
    assert "complaints: 0" in told
    assert "charged: 12 orders; earned 198 of 198" in told
    assert " 0 out of order" in told
    lives = {file.stem for file in (tmp_path / "shop" / "traces").iterdir()}
    assert sum("stock" in life for life in lives) >= 2
    assert main(["--out", str(tmp_path / "shop")]) == 2
    assert "name a new folder" in capsys.readouterr().err
