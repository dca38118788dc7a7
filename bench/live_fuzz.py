"""A million malformed inputs against the listening end of a live group: every one ends its own
connection at most, and nothing of it stays."""

import asyncio
import resource

from tests.live.malformed import fuzz

ROUNDS = 10
ATTEMPTS = 100_000


def main(rounds: int = ROUNDS, attempts: int = ATTEMPTS) -> None:
    for seed in range(rounds):
        tally = asyncio.run(fuzz(seed, attempts))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"seed {seed}: {attempts:,} inputs, {tally['closed']:,} connections closed, "
            f"{tally['open']:,} cut short or right; {memory:.0f} MiB at most so far",
            flush=True,
        )
