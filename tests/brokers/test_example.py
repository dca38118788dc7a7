"""The example runs as its page says, against both brokers."""

from pathlib import Path

import pytest

from examples.questions.__main__ import PROGRAMS, main
from examples.questions.__main__ import broker as started
from tests.brokers.servers import require_program


@pytest.mark.parametrize("broker", sorted(PROGRAMS))
def test_the_shop(broker: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_program(PROGRAMS[broker])
    assert main(["--broker", broker, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "in causal order: 0 complaints, 780 earned\n  the auditor: 0 early deliveries" in told
    if broker == "redis":
        assert "as it comes: 80 complaints, 0 earned" in told
    assert (tmp_path / "page.html").stat().st_size > 10_000


def test_a_broker_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["--url", "redis://127.0.0.1:1", "--out", str(tmp_path)]) == 2
    assert "redis://127.0.0.1:1: " in capsys.readouterr().err


def test_a_broker_with_another_day(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    require_program("redis-server")
    with started("redis") as url:
        assert main(["--url", url, "--out", str(tmp_path)]) == 0
        assert main(["--url", url, "--out", str(tmp_path)]) == 2
    assert (
        "topics hold another day's messages: answers, orders, payments, questions; "
        in capsys.readouterr().err
    )
