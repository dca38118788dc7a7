"""docs/brokers.md keeps its word: its programs run."""

from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.brokers import servers
from tests.test_readme import fenced_blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "brokers.md"
BLOCKS = [block for block in fenced_blocks(PAGE.read_text("utf-8")) if block.language == "python"]


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    from confluent_kafka import Producer  # noqa: PLC0415

    started = []
    for make, variable, scheme in (
        (servers.redis, "REDIS_URL", "redis"),
        (servers.nats, "NATS_URL", "nats"),
    ):
        folder = tmp_path / scheme
        folder.mkdir()
        server = make(folder)
        server.start()
        started.append(server)
        monkeypatch.setenv(variable, f"{scheme}://127.0.0.1:{server.port}")
    host: Any = Producer({"bootstrap.servers": "x", "test.mock.num.brokers": 1, "log_level": 0})
    for broker in host.list_topics(timeout=20).brokers.values():
        monkeypatch.setenv("KAFKA", f"{broker.host}:{broker.port}")
    yield
    for server in started:
        server.kill()


@pytest.mark.usefixtures("environment")
def test_the_programs_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(BLOCKS) == 3
    for block in BLOCKS:
        exec(compile(block.text, f"{PAGE}:{block.line}", "exec"), ModuleType("program").__dict__)
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "questions Where shall we eat?",
        "answers At the corner: Where shall we eat?",
        "orders.alice",
        "orders 1",
    ]
