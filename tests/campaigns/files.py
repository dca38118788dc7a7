"""Campaign files for tests."""

from pathlib import Path

SMALL = """name = "small"
question = "Is it right?"
seeds = 2
processes = [3]
traces = "interesting"
protocols = ["vector", "fifo", "none"]

[[networks]]
name = "flat"
delay = "exponential:0.2"

[[workloads]]
name = "broadcast"
kind = "broadcast"
messages = "8n"
rate = 20.0

[[workloads]]
name = "sets"
kind = "multicast"
size = "n/2"
messages = 20
"""


def save(folder: Path, text: str = SMALL) -> Path:
    file = folder / "campaign.toml"
    file.write_text(text)
    return file
