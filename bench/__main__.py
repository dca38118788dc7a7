"""`python -m bench [NAME ...]`: run the benchmarks, or those that are named.

Every figure is CPU time of one process on the machine that is printed first; machines differ and
are noisy, so read the ratios, which come from one run.
"""

import os
import platform
import sys
from collections.abc import Callable

from bench import (
    around,
    brokers,
    campaign,
    daisy,
    daisy_grow,
    endurance,
    fuzz,
    live,
    live_floods,
    live_fuzz,
    live_returns,
    live_scale,
    live_seals,
    live_soak,
    machines,
    queue,
    separators,
    simulator,
    sizes,
    spark,
    verification,
    view,
)

BENCHMARKS: dict[str, Callable[[], None]] = {
    "simulator": simulator.main,
    "machines": machines.main,
    "queue": queue.main,
    "sizes": sizes.main,
    "separators": separators.main,
    "daisy": daisy.main,
    "daisy-grow": daisy_grow.main,
    "endurance": endurance.main,
    "verification": verification.main,
    "around": around.main,
    "spark": spark.main,
    "campaign": campaign.main,
    "fuzz": fuzz.main,
    "view": view.main,
    "live": live.main,
    "live-fuzz": live_fuzz.main,
    "live-soak": live_soak.main,
    "live-seals": live_seals.main,
    "live-returns": live_returns.main,
    "live-scale": live_scale.main,
    "live-floods": live_floods.main,
    "brokers": brokers.main,
}


def main() -> None:
    chosen = sys.argv[1:] or list(BENCHMARKS)
    unknown = [name for name in chosen if name not in BENCHMARKS]
    if unknown:
        sys.exit(f"bench: no benchmark {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name in chosen:
        print(f"\n== {name}: {(sys.modules[BENCHMARKS[name].__module__].__doc__ or '').strip()}\n")
        BENCHMARKS[name]()


if __name__ == "__main__":
    main()
