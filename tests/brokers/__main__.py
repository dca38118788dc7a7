"""`python -m tests.brokers [PROCESSES LANES MESSAGES [WHAT]]`: explore all small cases.

Minutes for 3 2 3, hours for 3 2 4. WHAT is lanes, crashes or numbers; all of them without it.
"""

import sys
import time
from collections.abc import Iterable
from typing import Any

from tests.brokers import lane_world, number_world
from tests.brokers.survey import lane_cases, number_cases
from tests.brokers.world import Flaw


def explore(title: str, explorer: Any, cases: Iterable[Any]) -> None:
    begun = time.process_time()
    explored = states = deliveries = 0
    for case in cases:
        search = explorer(case)
        try:
            search.search()
        except Flaw as flaw:
            sys.exit(f"{title}: {flaw} in {case}")
        explored += 1
        states += search.states
        deliveries += search.deliveries
    seconds = time.process_time() - begun
    print(
        f"{title}: {explored:,} cases, {states:,} states, {deliveries:,} deliveries judged, "
        f"no flaw; {seconds:.0f} s of CPU"
    )


def main() -> None:
    size = tuple(map(int, sys.argv[1:4])) or (3, 2, 3)
    wanted = sys.argv[4:] or ["lanes", "crashes", "numbers"]
    if len(size) != 3 or not set(wanted) <= {"lanes", "crashes", "numbers"}:
        sys.exit((__doc__ or "").strip())
    if "lanes" in wanted:
        explore("lanes", lane_world.Explorer, lane_cases(*size))
    if "crashes" in wanted:
        crashing = (case._replace(crashes=1 << 1) for case in lane_cases(*size))
        explore("lanes, one reader crashes", lane_world.Explorer, crashing)
    if "numbers" in wanted:
        explore("numbers", number_world.Explorer, number_cases(*size))


if __name__ == "__main__":
    main()
