"""A million malformed inputs against the listening end of a live group: every one ends its own
connection at most, and nothing of it stays. `python -m bench.live_fuzz [ROUNDS [INPUTS]]`; with
`--write` it writes docs/results/live-malformed.md."""

import asyncio
import logging
import os
import sys
from pathlib import Path

from bench.docs import ROOT, markdown
from bench.live import machine
from bench.made import signed
from tests.live.malformed import fuzz

PAGE = ROOT / "docs" / "results" / "live-malformed.md"
HEAD = ("seed", "inputs", "connections closed at once", "cut short or right", "MiB afterwards")
ROUNDS = 10
ATTEMPTS = 100_000
INTRODUCTION = """# Malformed input

Written by `python -m bench.live_fuzz --write`; do not edit. Connections to a member that listens,
each with something wrong on it: random bytes, frames in another order, doubled, too long or cut
short, changed bytes, known words where they do not belong. After each, nothing of it may be left
behind; the member stays as it was, or the command fails. Memory is that of the whole process after
each round. {machine}.

"""


def main(rounds: int = ROUNDS, attempts: int = ATTEMPTS, *, write: bool = False) -> None:
    rows = []
    logging.getLogger("antecede.live").setLevel(logging.ERROR)  # Each is warned about.
    for seed in range(rounds):
        tally = asyncio.run(fuzz(seed, attempts))
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        mib = pages * os.sysconf("SC_PAGE_SIZE") / 2**20
        rows.append((str(seed), *(f"{one:,}" for one in (attempts, *tally.values())), f"{mib:.0f}"))
        told = zip(HEAD, rows[-1], strict=True)
        print(", ".join(f"{what}: {cell}" for what, cell in told), flush=True)
    if write:
        text = INTRODUCTION.format(machine=machine())
        PAGE.write_text(signed(text + markdown(HEAD, rows)), "utf-8")


if __name__ == "__main__":
    numbers = [int(one) for one in sys.argv[1:] if one != "--write"]
    main(*numbers, write="--write" in sys.argv[1:])
