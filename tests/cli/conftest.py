"""Running the command in this process."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from antecede.cli import main


class Outcome(NamedTuple):
    """How a command ended: its exit status, and what it printed."""

    status: int
    out: str
    err: str


Antecede = Callable[..., Outcome]


@pytest.fixture
def antecede(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Antecede:
    """`antecede(argument, ...)` runs the command."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["antecede", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        status = exit_.value.code
        captured = capsys.readouterr()
        return Outcome(status if isinstance(status, int) else 0, captured.out, captured.err)

    return run
